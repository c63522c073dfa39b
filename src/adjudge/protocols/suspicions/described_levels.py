"""Finding the levels of a scale that a prompt describes: "Score 2: …", "10分代表…", "1점은 …"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import structs

from ...records import Scale
from .prompt import BLOT, Prompt


class DescribedLevel(NamedTuple):
    """A level, or a range of levels, that the text describes."""

    low: float
    high: float
    text: str
    start: int


_LONGEST_LIST = 100
"""No prompt describes more levels than this; a longer run of numbers is something else."""


_MOST_LEVELS = 11
"""A scale of more levels has no text for each."""


_NUM = r"\d{1,3}(?:\.\d{1,2})?"


_RANGE = rf"(?P<low>{_NUM})(?:\s{{0,2}}(?:-|–|—|~|～|to|到|至)\s{{0,2}}(?P<high>{_NUM}))?"


_UNIT = r"(?:\s?(?:points?|stars?|分|점))?"


_OPEN = r"[\s*_`\"'“\[(<#>|•·-]{0,12}"


_CLOSE = r"[*_`\"'”\])>|]{0,6}"


_NOUN = (
    r"(?:(?:an? |the )?(?:scores?|ratings?|levels?|grades?|得分|评分|分数|等级|级别|점수|수준|등급|평점)(?:"
    r" of)?\s?[:=]?\s?)?"
)


_SEP = (
    r"(?::|：|=|–|—|(?<!\d)-(?!\s?\d)|\||->|→|means\b|represents\b|indicates\b|if\b|when\b|"
    r"代表|表示|为|是|은|는)"
)


_LINE = re.compile(
    rf"^{_OPEN}{_NOUN}(?:<\w+>|[*_`\"\[(]){{0,3}}{_RANGE}{_UNIT}(?:</\w+>)?{_CLOSE}"
    rf"(?P<name>\s?\([^()\n]{{1,60}}\))?{_CLOSE}\s{{0,3}}{_SEP}\s{{0,3}}(?P<text>[^\s|][^\n]*?)(?=[,"
    rf";]\s\d{{1,3}}\s?[=:–-]\s?[^\W\d]|,?"
    r" (?:and|while) \d{1,3} (?:if|when|means|is|being)\b|$)",
    re.MULTILINE | re.IGNORECASE,
)


_NAME_FIRST = re.compile(
    rf"^[ \t*_#>•-]{{0,10}}(?P<name>[^\W\d][\w /'-]{{1,40}}?)\s?[\[(]{_RANGE}{_UNIT}[\])][*_]{{0,3}}\s?"
    r"(?:[:：–—-])[ \t*]{0,4}(?P<text>\S[^\n]*)",
    re.MULTILINE,
)


_BRACKETED = re.compile(
    rf"^[ \t*_#>•-]{{0,10}}\[?[^\W\d][\w -]{{1,24}}:\s?{_RANGE}\][*_]{{0,3}}\s?\(?(?P<text>[^\n]{{3,}})",
    re.MULTILINE,
)


_NUMBERED = re.compile(rf"^[ \t]{{0,6}}{_RANGE}[.)-]\s[*_]{{0,3}}(?P<text>\S[^\n]*)", re.MULTILINE)


_INLINE = re.compile(
    r"(?:(?:scores?|ratings?|grades?|value|level)(?: of)?"
    rf" [\"'`*\[(<]{{0,3}}{_RANGE}[\"'`*\])>]{{0,3}}{_UNIT}\s?"
    r"(?:means?|indicates?|indicating|represents?|representing|denotes?|is|being|would be|should"
    r" be|:|=|if|when|for)\s)"
    r"(?P<text>[^\n.;]{3,400}?)(?=[.;\n]|\Z|,? (?:and|while|whereas|but) (?:a |an |the"
    r" )?(?:score|rating|grade|value|\d))",
    re.IGNORECASE,
)


_SHORT = re.compile(
    rf"(?<![\w.+/-])[\"'`*]{{0,2}}{_RANGE}[\"'`*]{{0,2}}{_UNIT}\s?"
    r"(?:(?P<paren>\((?P<inside>[^()\d\n]{3,60})\))|(?:=|(?-i:if|when)|being|is"
    r" the|is|means?|meaning|represents?|representing|indicates?|"
    r"indicating|代表|表示|为|은|는|이|가)\s{0,2}(?P<text>[^\n.;,，。；\d]{2,60}))",
    re.IGNORECASE,
)


_LISTED = re.compile(rf"(?<=[,;]\s){_RANGE}{_UNIT}\s?[=:–-]\s?(?P<text>[^\W\d][^,;\n\d]{{1,60}})")


_LEVEL_ORDER = re.compile(
    r"\W*(?:read|review|compare|check|identify|assign|write|evaluate|provide|give|rate|analy[sz]e|determine|"
    r"list|consider|"
    r"examine|assess|look|think|find|count|note|explain|output|use|decide|extract|verify|understand|return)\b",
    re.IGNORECASE,
)


def level_lists(prompt: Prompt) -> list[list[DescribedLevel]]:
    """The lists of levels in a prompt: a new one begins where a level comes again."""
    lists: list[list[DescribedLevel]] = []
    for level in sorted(_levels(prompt), key=lambda level: level.start):
        near = lists[-1] if lists else []
        is_new = not near or any(level.low <= other.high and other.low <= level.high for other in near)
        if is_new or len(near) > _LONGEST_LIST:
            lists.append([level])
        else:
            near.append(level)
    kept = [levels for levels in lists if len(levels) > 1 and not _are_steps(levels)]
    return kept or _numbered(prompt)


def _numbered(prompt: Prompt) -> list[list[DescribedLevel]]:
    """A numbered list is a list of levels only if it has a number for each level and no others."""
    scales = [scale for _, scale in prompt.scales if scale.low is not None and scale.high is not None]
    lists: list[list[DescribedLevel]] = []
    for level, _ in _matches(_NUMBERED, prompt.words, scales):
        if lists and abs(level.low - lists[-1][-1].low) == 1 and level.start - lists[-1][-1].start < 600:
            lists[-1].append(level)
        else:
            lists.append([level])
    every = [whole_levels(scale) for scale in scales]
    return [
        levels
        for levels in lists
        if sorted(level.low for level in levels) in every and not _are_steps(levels)
    ]


def declared_levels(scale: Scale) -> list[DescribedLevel]:
    """The levels that the settings describe or name."""
    texts = {
        value: f"{scale.names.get(value, '')} {scale.levels.get(value, '')}"
        for value in (*scale.levels, *scale.names)
    }
    return [DescribedLevel(value, value, text.strip(), 0) for value, text in sorted(texts.items())]


def whole_levels(scale: Scale) -> list[float]:
    """All levels of a scale that has few enough to describe each; none of a scale like 0 to 100."""
    levels = structs.replace(scale, step=scale.step or 1.0).values(_MOST_LEVELS)
    return levels if len(levels) > 2 and levels[-1] == scale.high else []


def _levels(prompt: Prompt) -> Iterator[DescribedLevel]:
    scales = [scale for _, scale in prompt.scales if scale.low is not None and scale.high is not None]
    if not scales:
        return
    taken: list[tuple[int, int]] = []
    for pattern in (_LINE, _NAME_FIRST, _BRACKETED, _INLINE, _LISTED, _SHORT):
        matches = list(_matches(pattern, prompt.words, scales))
        new = [(level, end) for level, end in matches if not _within(level.start, taken)]
        taken = sorted([*taken, *((level.start, end) for level, end in new)])
        yield from (level for level, _ in new)


def _matches(
    pattern: re.Pattern[str], words: str, scales: Iterable[Scale]
) -> Iterator[tuple[DescribedLevel, int]]:
    for match in pattern.finditer(words):
        groups = match.groupdict()
        low = float(groups["low"])
        high = float(groups["high"] or low)
        on_scale = any(
            scale.low <= low <= high <= scale.high and (low, high) != (scale.low, scale.high)
            for scale in scales
            if scale.low is not None and scale.high is not None
        )
        if not on_scale:
            continue
        name, text = groups.get("name") or "", groups.get("text") or groups.get("inside") or ""
        start = match.start("low")
        yield (
            DescribedLevel(low, high, f"{name.strip(' ()')} {text}".strip().replace(BLOT, ""), start),
            match.end(),
        )


def _within(start: int, taken: list[tuple[int, int]]) -> bool:
    """Whether an offset lies in a stretch that another pattern has read already."""
    low, high = 0, len(taken)
    while low < high:
        middle = (low + high) // 2
        if taken[middle][0] <= start:
            low = middle + 1
        else:
            high = middle
    return low > 0 and start < taken[low - 1][1]


def _are_steps(levels: list[DescribedLevel]) -> bool:
    orders = sum(1 for level in levels if _LEVEL_ORDER.match(level.text))
    return orders * 2 > len(levels)
