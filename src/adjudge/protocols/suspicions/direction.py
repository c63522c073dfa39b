"""`direction`: the words of the prompt disagree about which end of the scale is good.

The evidence is in the words alone: lists of levels whose ends praise and blame, and sentences
like "higher is better". It is compared with itself and with the declared `best`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from ...records import Scale
from .described_levels import DescribedLevel, declared_levels, level_lists
from .prompt import Prompt, Suspicion
from .valence import valence_of

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
    r"(?:is|are|means?|meaning|indicates?|indicating|represents?|representing|reflects?|reflecting|signif\w+|"
    r"denot\w+|"
    r"correspond\w*(?: to)?|show\w*|=|being|,? ?the)"
)


_BETTER = (
    r"(?:a |an |the )?(?:\w+ ){0,2}?(?:better|best|stronger|superior|higher[- ]quality|greater quality|more"
    r" favou?rable)\b"
)


_WORSE = r"(?:a |an |the )?(?:\w+ ){0,2}?(?:worse|worst|poorer|inferior|lower[- ]quality)\b"


def _stated(comparative: str, verdict: str) -> str:
    return rf"\b(?:the )?{comparative}(?: the)? ?{_NOUN} ?{_LINK} {verdict}"


_SAYS_HIGH = re.compile(
    rf"{_stated('(?:higher|larger|bigger)', _BETTER)}|{_stated('(?:lower|smaller)', _WORSE)}"
    r"|越高[^。\n]{0,12}(?:好|优|佳|强)|越低[^。"
    r"\n]{0,12}(?:差|劣)|높을수록[^.\n]{0,16}(?:좋|우수|뛰어|훌륭)|낮을수록[^.\n]{0,16}(?:나쁘|나쁜)",
    re.IGNORECASE,
)


_SAYS_LOW = re.compile(
    rf"{_stated('(?:lower|smaller)', _BETTER)}|{_stated('(?:higher|larger|bigger)', _WORSE)}"
    r"|越低[^。\n]{0,12}(?:好|优|佳)|越高[^。"
    r"\n]{0,12}(?:差|劣)|낮을수록[^.\n]{0,16}(?:좋|우수|뛰어)|높을수록[^.\n]{0,16}(?:나쁘|나쁜)",
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


def _orientation(levels: list[DescribedLevel]) -> tuple[End, bool, DescribedLevel] | None:
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


def _described(levels: list[DescribedLevel]) -> str:
    bottom, top = min(levels, key=lambda level: level.low), max(levels, key=lambda level: level.high)
    return f"the levels say {bottom.low:g} = '{_head(bottom.text)}' and {top.high:g} = '{_head(top.text)}'"


def _head(text: str) -> str:
    words = " ".join(text.split()).strip("*_ -:")
    return words if len(words) <= 32 else words[:31].rstrip() + "…"
