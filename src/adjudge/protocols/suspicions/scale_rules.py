"""`unlike-siblings`: one protocol of a family lacks what nearly all the others have.

Families are written by copying, and a part is easily lost on the way. Only what is missing or
different in one is reported, never what one has in addition; a family of fewer than four
protocols has no custom to depart from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from ...records import Scale
from .prompt_text import (
    BLOT,
    Level,
    Prompt,
    Suspicion,
    declared_levels,
    level_lists,
    objects_in,
    tokens_of,
    valence_of,
    whole_levels,
)

# `unanchored-levels`: some levels of the scale are described and others are left to guessing.
#
# Describing the two ends, or points at even distances from end to end, is a common and sound way
# to anchor a scale, and so is a word about what lies between; none of these is suspected.


UNANCHORED_LEVELS = "unanchored-levels"

_BETWEEN = re.compile(
    r"\bin[- ]between|\bintermediate|\bbetween (?:these|those|two|the (?:levels|anchors|ends|extremes))|\bhalf[- ]?points?\b|\binterpolat"
    r"|介于|之间的(?:分数|回答)|中间(?:分|档|值)|사이의|중간 (?:점수|단계|수준)",
    re.IGNORECASE,
)
_IN_PASSING = re.compile(
    r"(?:scores?|ratings?|grades?|levels?|points?|得分|评分|점수)\s(?:of |is |as |to |: ?)?[\"'*]?(\d{1,2})(?:\s?(?:-|–|~|～|to|or|到|至)\s?(\d{1,2}))?\b"
    r"|(\d{1,2})(?:\s?(?:-|–|~|～|到|至|、)\s?(\d{1,2}))?\s?(?:分|점|points?\b)",
    re.IGNORECASE,
)
"""A level that a sentence speaks of at all ("… can get a score of 5 to 6"), wherever the number stands."""


def unanchored_levels(prompt: Prompt) -> Iterator[Suspicion]:
    """The first list of levels that leaves levels of its scale out at uneven distances."""
    if _BETWEEN.search(prompt.words):
        return
    in_words = level_lists(prompt)
    for name, scale in prompt.scales:
        for levels in (*in_words, declared_levels(scale)):
            missing = _missing(levels, scale)
            if missing and not set(missing) <= _in_passing(prompt, scale):
                left_out = ", ".join(f"{level:g}" for level in missing)
                is_declared = not in_words or levels not in in_words
                yield Suspicion(
                    None if is_declared else levels[0].start,
                    f"the scale of '{name}' runs from {scale.low:g} to {scale.high:g}, but {left_out} are not described.",
                    "Describe them, or say what they are for (between the neighbouring levels).",
                    "scale",
                )
                return


def _in_passing(prompt: Prompt, scale: Scale) -> set[float]:
    spoken_of: set[float] = set()
    for match in _IN_PASSING.finditer(prompt.words):
        low = float(match[1] or match[3])
        high = float(match[2] or match[4] or low)
        if (low, high) != (scale.low, scale.high):
            spoken_of.update(level for level in whole_levels(scale) if low <= level <= high)
    return spoken_of


def _missing(levels: list[Level], scale: Scale) -> list[float]:
    every = whole_levels(scale)
    described = [
        level
        for level in every
        if any(described_level.low <= level <= described_level.high for described_level in levels)
    ]
    if len(described) < 3 or len(described) == len(every):
        return []
    gaps = {round(after - before, 9) for before, after in pairwise(described)}
    reaches_ends = described[0] == every[0] and described[-1] == every[-1]
    is_even = len(gaps) == 1 and reaches_ends
    # A list that touches neither end describes something else that is numbered.
    if described[0] != every[0] and described[-1] != every[-1]:
        return []
    return [] if is_even else [level for level in every if level not in described]


# `direction`: the words of the prompt disagree about which end of the scale is good.
#
# The evidence is in the words alone: lists of levels whose ends praise and blame, and sentences
# like "higher is better". It is compared with itself and with the declared `best`.


CONTRADICTING_DIRECTION = "direction"

End = Literal["high", "low"]


class _Evidence(NamedTuple):
    good: End
    is_plain: bool
    """said by quality words or in a sentence; a trait alone counts only against a declared `best`"""
    start: int | None
    text: str
    is_said: bool = False
    """in a sentence about the scale, which leaves nothing open"""


_NOUN = r"(?:scores?|ratings?|numbers?|values?|grades?|marks?|one|points?)?"
_LINK = (
    r"(?:is|are|means?|meaning|indicates?|indicating|represents?|representing|reflects?|reflecting|signif\w+|denot\w+|"
    r"correspond\w*(?: to)?|show\w*|=|being|,? ?the)"
)
_BETTER = r"(?:a |an |the )?(?:\w+ ){0,2}?(?:better|best|stronger|superior|higher[- ]quality|greater quality|more favou?rable)\b"
_WORSE = r"(?:a |an |the )?(?:\w+ ){0,2}?(?:worse|worst|poorer|inferior|lower[- ]quality)\b"


def _stated(comparative: str, verdict: str) -> str:
    return rf"\b(?:the )?{comparative}(?: the)? ?{_NOUN} ?{_LINK} {verdict}"


_SAYS_HIGH = re.compile(
    rf"{_stated('(?:higher|larger|bigger)', _BETTER)}|{_stated('(?:lower|smaller)', _WORSE)}"
    r"|越高[^。\n]{0,12}(?:好|优|佳|强)|越低[^。\n]{0,12}(?:差|劣)|높을수록[^.\n]{0,16}(?:좋|우수|뛰어|훌륭)|낮을수록[^.\n]{0,16}(?:나쁘|나쁜)",
    re.IGNORECASE,
)
_SAYS_LOW = re.compile(
    rf"{_stated('(?:lower|smaller)', _BETTER)}|{_stated('(?:higher|larger|bigger)', _WORSE)}"
    r"|越低[^。\n]{0,12}(?:好|优|佳)|越高[^。\n]{0,12}(?:差|劣)|낮을수록[^.\n]{0,16}(?:좋|우수|뛰어)|높을수록[^.\n]{0,16}(?:나쁘|나쁜)",
    re.IGNORECASE,
)


def contradicting_direction(prompt: Prompt) -> Iterator[Suspicion]:
    """The words against each other, then against each declared scale."""
    scales = [(name, scale) for name, scale in prompt.scales if scale.low is not None]
    if not scales:
        return
    evidence = [*_from_sentences(prompt), *_from_levels(prompt)]
    plain = [piece for piece in evidence if piece.is_plain]
    high = next((piece for piece in plain if piece.good == "high"), None)
    low = next((piece for piece in plain if piece.good == "low"), None)
    if high and low:
        yield _against(
            low, f"{low.text}, but {high.text}", "Make the prompt say one thing about which end is good."
        )
        return
    for name, scale in scales:
        contradiction = next(
            filter(None, (_contradiction(piece, scale) for piece in (*evidence, *_declared(scale)))), None
        )
        if contradiction:
            yield _against(
                contradiction,
                f"{contradiction.text}, {_declaration(name, scale)}",
                "Reverse the wording, or declare the other end as best.",
            )
            return


def _declaration(criterion: str, scale: Scale) -> str:
    if scale.best == "unknown":
        return "and nothing says outright that the low end is the good one"
    return (
        f"while criterion '{criterion}' has best = {scale.best:g}"
        if isinstance(scale.best, float)
        else f"while best is {scale.best}"
    )


def _against(evidence: _Evidence, message: str, todo: str) -> Suspicion:
    return Suspicion(evidence.start, f"{message}.", todo, "scale")


def _contradiction(evidence: _Evidence, scale: Scale) -> _Evidence | None:
    """The evidence, where it speaks against the scale's declared end.

    Where no end is declared, praise at the low end is still suspect: everyone who reads the
    scores later will take the high end for the good one.
    """
    if scale.best == "unknown":
        is_suspect = evidence.is_plain and evidence.good == "low" and not evidence.is_said
        return evidence if is_suspect else None
    declared: End = "high" if scale.direction == 1 else "low"
    if evidence.good == declared or (declared == "low" and not evidence.is_plain):
        return None
    return evidence


def _from_sentences(prompt: Prompt) -> Iterator[_Evidence]:
    ends: tuple[tuple[re.Pattern[str], End], ...] = ((_SAYS_HIGH, "high"), (_SAYS_LOW, "low"))
    for pattern, end in ends:
        if match := pattern.search(prompt.words):
            words = " ".join(match[0].split())
            yield _Evidence(end, True, match.start(), f"the prompt says '{words}'", True)


def _from_levels(prompt: Prompt) -> Iterator[_Evidence]:
    for levels in level_lists(prompt):
        if good_end := _orientation(levels):
            good, is_plain, first = good_end
            yield _Evidence(good, is_plain, first.start, _described(levels))


def _declared(scale: Scale) -> Iterator[_Evidence]:
    levels = declared_levels(scale)
    if len(levels) > 1 and (good_end := _orientation(levels)):
        yield _Evidence(good_end[0], good_end[1], None, _described(levels))


def _orientation(levels: list[Level]) -> tuple[End, bool, Level] | None:
    """Which end the texts of the outermost levels praise, and whether they say so plainly.

    Praise at one end and blame at the other is plain in quality words. Traits, or a quality word at
    one end alone ("5 = fails to answer"), count only against a declared `best`.
    """
    bottom, top = min(levels, key=lambda level: level.low), max(levels, key=lambda level: level.high)
    below, above = valence_of(bottom.text), valence_of(top.text)
    first = min(levels, key=lambda level: level.start)
    if below.quality * above.quality < 0:
        return ("high" if above.quality > 0 else "low"), True, first
    if below.any * above.any < 0:
        return ("high" if above.any > 0 else "low"), False, first
    if above.quality * below.quality == 0 and above.any * below.any <= 0 and (above.quality or below.quality):
        return ("high" if above.quality > below.quality else "low"), False, first
    return None


def _described(levels: list[Level]) -> str:
    bottom, top = min(levels, key=lambda level: level.low), max(levels, key=lambda level: level.high)
    return f"the levels say {bottom.low:g} = '{_head(bottom.text)}' and {top.high:g} = '{_head(top.text)}'"


def _head(text: str) -> str:
    words = " ".join(text.split()).strip("*_ -:")
    return words if len(words) <= 32 else words[:31].rstrip() + "…"


# `one-score-two-responses`: two responses are shown, and a criterion has one score for both.


ONE_SCORE_TWO_RESPONSES = "one-score-two-responses"

_RELATIVE = re.compile(
    r"\b(?:better|prefer\w*|tie|tied|equal\w*|same|(?:response|answer|assistant|output|model|summary) (?:[ab12]|one|two)|"
    r"first|second|former|latter|worse)\b|更好|相同|平局|더 나은|동일|비슷|\b[AB]\b",
    re.IGNORECASE,
)

_SCORE_EACH = re.compile(
    r"\b(?:two|both|2) (?:\w+ )?(?:scores|ratings|values|numbers|integers|grades)\b|\b(?:scores?|ratings?) (?:for|of|to) (?:each|both|assistants?"
    r"|responses? [a1])|\b(?:for|score|rate|grade|evaluate|assess) (?:each|both) (?:\w+ )?(?:assistants?|responses?|answers?|outputs?|summar(?:y|ies)|models?)\b|\beach (?:assistant|response|answer|output|summary|model) (?:receives|gets|is given)|两个(?:分数|评分)|各自的(?:分数|评分)|각각(?:의|에)? ?(?:점수|평점)",
    re.IGNORECASE,
)


def one_score_two_responses(prompt: Prompt) -> Iterator[Suspicion]:
    """Criteria with a scale whose place in the reply names no response.

    A scale that measures the distance between the two ("5 = B is much better") needs no subject.
    """
    pair = prompt.compared
    if pair is None or _is_relative(prompt):
        return
    alone = [name for name, _ in prompt.scales if not _has_subject(prompt, name)]
    if not alone:
        return
    shown = f"'{pair[0].label or pair[0].name}' and '{pair[1].label or pair[1].name}'"
    names = ", ".join(f"'{name}'" for name in alone[:6]) + (", …" if len(alone) > 6 else "")
    yield Suspicion(
        None,
        f"two responses are shown ({shown}), but a single score is read for {names}: it is not clear whose it is.",
        "Ask for a score for each response, with {subject} in its path; where the prompt asks only for the better one, "
        "take the scale out and read a choice.",
        "answer",
    )


def _has_subject(prompt: Prompt, criterion: str) -> bool:
    answer = prompt.protocol.answer
    path = answer.scores.get(criterion, answer.score)
    if path is not None:
        return "{subject}" in path
    # Other readers have no path to name a subject in, so there the words must ask for two scores.
    return bool(answer.subjects) or _SCORE_EACH.search(prompt.words) is not None


def _is_relative(prompt: Prompt) -> bool:
    lists = [*level_lists(prompt), *(declared_levels(scale) for _, scale in prompt.scales)]
    return any(sum(bool(_RELATIVE.search(level.text)) for level in levels) >= 2 for levels in lists)


# `example-is-answer`: the format is shown with one real score in it, which a judge may copy.


EXAMPLE_IS_ANSWER = "example-is-answer"


class _Shown(NamedTuple):
    value: float
    start: int


_NUM = r"(\d{1,3}(?:\.\d{1,2})?)"
_SCORE_KEY = re.compile(
    r"(?:overall_|final_|total_)?(?:score|rating|grade)(?:_value)?\Z|分数|评分|점수", re.IGNORECASE
)
_NUMBER_ALONE = re.compile(rf"[\"']?{_NUM}[\"']?\s*(?:#.*|//.*)?\Z")
_FOR_EXAMPLE = re.compile(
    rf"(?:\be\.g\.|\bexample(?=:)|\blooks? like(?: this)?|\bfor example|\bfor instance|\bsuch as|例如|比如|예를 들어|예:)[,:：]?\s?[\"'“`*]{{0,2}}{_NUM}[\"'”`*]{{0,2}}(?=\s?(?:[.)）。\n]|\Z))",
    re.IGNORECASE,
)
_ALONE = r"(?=[\"'”`*\])>]{0,4}(?:[.。]?\s*(?:\n|\Z)|[\"'”`.。,，]))"
"""What follows a number that stands alone: no range, no text of a level."""

_DOUBLE_BRACKETS = re.compile(rf"\[\[{_NUM}\]\]")


def example_is_answer(prompt: Prompt) -> Iterator[Suspicion]:
    """The scores that the shown format holds, where they are all the same one."""
    scales = [scale for _, scale in prompt.scales if scale.low is not None]
    if not scales:
        return
    levels = {level.start for levels in level_lists(prompt) for level in levels}
    shown = [answer for answer in _shown_answers(prompt) if answer.start not in levels]
    if len({answer.value for answer in shown}) == 1 and _is_on(shown[0].value, scales):
        times = f"{len(shown)} times" if len(shown) > 1 else "once"
        yield Suspicion(
            shown[0].start,
            f"the format is shown with the score {shown[0].value:g} in it ({times}) and with no other: judges copy it.",
            "Write a word instead of the number, such as SCORE.",
        )


def _is_on(value: float, scales: list[Scale]) -> bool:
    return any(scale.status_of(value) == "ok" for scale in scales)


def _shown_answers(prompt: Prompt) -> list[_Shown]:
    answer = prompt.protocol.answer
    answers = [_Shown(float(match[1]), match.start(1)) for match in _DOUBLE_BRACKETS.finditer(prompt.words)]
    if answer.tag:
        answers += _matches(prompt, rf"<{re.escape(answer.tag)}>\s?{_NUM}\s?</{re.escape(answer.tag)}>")
    if answer.marker:
        answers += _matches(prompt, rf"{re.escape(answer.marker)}\s{{0,2}}[(\[]?{_NUM}\b")
    for label in answer.labels:
        answers += _matches(prompt, rf"{re.escape(label)}\s?[:：]\s?[\[(<*]{{0,3}}{_NUM}{_ALONE}")
    if answer.reader in ("first_line", "label", "free"):
        answers += [_Shown(float(match[1]), match.start(1)) for match in _FOR_EXAMPLE.finditer(prompt.words)]
    if answer.reader == "json":
        answers += _in_objects(prompt)
    return sorted(set(answers), key=lambda match: match.start)


def _matches(prompt: Prompt, pattern: str) -> list[_Shown]:
    return [
        _Shown(float(match[1]), match.start(1)) for match in re.finditer(pattern, prompt.words, re.IGNORECASE)
    ]


def _in_objects(prompt: Prompt) -> list[_Shown]:
    answer = prompt.protocol.answer
    keys = {path.rpartition(".")[2] for path in (answer.score, *answer.scores.values()) if path}
    if "{criterion}" in keys:
        keys.update(name.lower() for name in prompt.protocol.criteria)
    return [
        _Shown(float(number[1]), start)
        for shown in objects_in(prompt.words)
        for key, (value, start) in shown.values.items()
        if (key in keys or _SCORE_KEY.match(key)) and (number := _NUMBER_ALONE.match(value))
    ]


UNLIKE_SIBLINGS = "unlike-siblings"

_AGREEING = 3
"""How many siblings must agree before a difference means anything."""

_PER_EXCEPTION = 8
"""One sibling in so many may be an exception too."""

_LONGEST_TITLE = 40
"""A longer line is a sentence, which every protocol words in its own way."""

_LINE = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*|\*\*|__|【)?([^\W\d_][^\n:：*】]{1,50}?)(?:\*\*|__|】)?[ \t]*[:：][ \t]*$",
    re.MULTILINE,
)
_HEADING = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]*([^\n]{2,60}?)[ \t]*$", re.MULTILINE)
_EXPLAIN = re.compile(
    r"\bexplain\b|\bjustify\b|\b(?:provide|give|write|state|include|add|with)\b[^.\n]{0,40}\b(?:explanation|justification|rationale|reason|feedback)"
    r"|(?:请|进行|给出|说明|写明|写出)[^。\n]{0,12}(?:解释|理由|原因)|(?:이유|근거)를|설명(?:하|해)",
    re.IGNORECASE,
)
_SHARED_LINE = 8
"""A line that is shorter than this in bytes is no sign of a common origin."""

_MOST_SHOWN = 5


def siblings_that_differ(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, Suspicion]]:
    """Each protocol that stands apart from the rest of its family, with all its differences in one.

    Protocols that score and protocols that compare are separate families.
    """
    for task in ("score", "compare"):
        yield from _compare([prompt for prompt in prompts if prompt.protocol.task == task])


def _compare(prompts: Sequence[Prompt]) -> Iterator[tuple[Prompt, Suspicion]]:
    if len(prompts) <= _AGREEING:
        return
    seen = [(prompt, _settings(prompt), _sections(prompt), _lines(prompt)) for prompt in prompts]
    for prompt, settings, sections, lines in seen:
        others = [entry for entry in seen if entry[0] is not prompt]
        if not _is_of_the_family(lines, [their_lines for *_, their_lines in others]):
            continue
        unlike = [
            *_lacking(sections, [their_sections for _, _, their_sections, _ in others]),
            *_different(settings, [their_settings for _, their_settings, _, _ in others]),
        ]
        if unlike:
            more = len(unlike) - _MOST_SHOWN
            shown = "; ".join(unlike[:_MOST_SHOWN]) + (f"; and {more} more" if more > 0 else "")
            yield (
                prompt,
                Suspicion(
                    prompt.user_start,
                    f"it differs from its {len(others)} siblings: {shown}.",
                    "Align it with them, or accept the difference with a reason.",
                ),
            )


def _is_of_the_family(parts: frozenset[str], others: Sequence[frozenset[str]]) -> bool:
    """Whether a line of it stands in most of the others too: folders side by side may be strangers."""
    counts = Counter(line for lines in others for line in lines if line in parts)
    return any(count >= _AGREEING and 2 * count >= len(others) for count in counts.values())


def _lines(prompt: Prompt) -> frozenset[str]:
    lines = (line.strip(f" \t{BLOT}") for line in prompt.words.split("\n"))
    return frozenset(line for line in lines if len(line.encode()) >= _SHARED_LINE)


def _is_custom(count: int, others: int) -> bool:
    return count >= _AGREEING and others - count <= others // _PER_EXCEPTION


def _lacking(parts: frozenset[str], others: Sequence[frozenset[str]]) -> list[str]:
    counts = Counter(section for sections in others for section in sections)
    return [
        f"it lacks {section}"
        for section in sorted(counts)
        if section not in parts and _is_custom(counts[section], len(others))
    ]


def _different(settings: Mapping[str, Hashable], others: Sequence[Mapping[str, Hashable]]) -> Iterator[str]:
    for key, value in settings.items():
        theirs, count = Counter(other[key] for other in others).most_common(1)[0]
        if theirs != value and _is_custom(count, len(others)):
            yield f"its {key} is {_shown(value)}, theirs is {_shown(theirs)}"


def _shown(value: Hashable) -> str:
    if isinstance(value, tuple | frozenset):
        return (
            "(" + ", ".join(map(str, sorted(value, key=str) if isinstance(value, frozenset) else value)) + ")"
        )
    return str(value)


def _settings(prompt: Prompt) -> dict[str, Hashable]:
    protocol = prompt.protocol
    scale = next((scale for _, scale in prompt.scales), None)
    return {
        "reader": protocol.answer.reader,
        "scale": (scale.low, scale.high, scale.step, scale.best) if scale else None,
        "set of inputs": frozenset((*protocol.inputs, *protocol.optional)),
        "language": (protocol.language.prompt, protocol.language.reply),
    }


def _sections(prompt: Prompt) -> frozenset[str]:
    """The parts of a prompt by name: headings, labels, and whether an explanation is asked for.

    Each counts with and without the words of the protocol's own name: "Fluency Score" and "Clarity
    Score" are the same section, and so is "Instruction" in a protocol on following instructions.
    """
    words = prompt.words
    names_of_prompt = {
        token
        for name in (*prompt.protocol.criteria, prompt.protocol.id.rpartition("/")[2])
        for token in tokens_of(name)
    }
    titles = [title for pattern in (_LINE, _HEADING) for title in pattern.findall(words)]
    names = {_plain(title, left_out) for title in titles for left_out in (names_of_prompt, set[str]())} - {""}
    sections = {f"the section '{name}'" for name in names}
    if _EXPLAIN.search(words) or prompt.protocol.answer.reason:
        sections.add("a request for an explanation")
    return frozenset(sections)


def _plain(title: str, names_of_prompt: set[str]) -> str:
    kept = [token for token in tokens_of(title) if token not in names_of_prompt and not token.isdigit()]
    name = " ".join(kept)
    return name if len(kept) <= 5 and len(name.encode()) <= _LONGEST_TITLE else ""
