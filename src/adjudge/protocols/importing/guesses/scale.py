"""The scale that a prompt names, and its good end where the words say it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from msgspec import Struct

from ...asked.format import LOOKED_AT


class ScaleGuess(Struct, frozen=True):
    """A range that the prompt names, others that it names too, and whether it asks for whole numbers."""

    low: float
    high: float
    others: tuple[str, ...]
    is_integer: bool
    weight: int = 100
    """how clearly the prompt names it as the range of the score"""


_NUMBER = r"([0-9]{1,3}(?:\.[0-9])?)"
_BEFORE = r"(?<![0-9A-Za-z_.])"
_AFTER = r"(?![0-9A-Za-z_]|\.[0-9])"
_NOT_A_SCALE = (
    r"(?! ?(?:sentence|paragraph|word|step|bullet|line|token|minute|item|example|句|段|字|문장|단계))"
)
# What a level stands for is often said beside it: "from 0 (icy) to 3 (warm)", "1 = poor to 5 = excellent".
_GLOSS = r"(?: ?[(（][^()（）\n0-9]{1,60}[)）],?| ?= ?[^\W\d][^\W\d ]{0,20}(?: [^\W\d ]{1,20}){0,2}?,?)?"
_RANGES = (
    re.compile(
        rf"{_BEFORE}{_NUMBER} ?(?:점|分)?{_GLOSS} ?(?:-|–|—|~|～|〜|to|through|到|至|부터"
        rf"|에서) ?{_NUMBER}{_AFTER}{_NOT_A_SCALE}",
        re.IGNORECASE,
    ),
    re.compile(rf"\bbetween {_NUMBER}{_GLOSS} and {_NUMBER}{_AFTER}{_NOT_A_SCALE}", re.IGNORECASE),
)
_SCALE_WORDS = re.compile(r"scor|rat(?:e|ing)|scale|grade|points?|分|점|評価", re.IGNORECASE)
_CONFIDENCE = re.compile(r"confiden|certain|置信|확신|신뢰도", re.IGNORECASE)
_STEPS_BEFORE = re.compile(r"(?:steps?|lines?|pages?|turns?|步骤|단계) ?\Z", re.IGNORECASE)
_INTEGER = re.compile(r"\bintegers?\b|\bwhole numbers?\b|整数|정수|整数値", re.IGNORECASE)


_LEVEL = re.compile(
    r"(?:\b(?:scores?|levels?|ratings?|grades?|say|give|rate) ?(?:of )?[\"'(]?"
    r"|^[ \t]{0,8}[-*•]?[ \t]*\**[(\[]?)([0-9]{1,2}(?:\.[05])?)[)\]]?\**"
    r"(?:\s?\([^()\n]{1,60}\)|\s?stars?|分|점)?\**\s?(?:[:：=,]| [-–—] |\b if\b)",
    re.IGNORECASE | re.MULTILINE,
)
_LISTED = re.compile(r"(?<![0-9.])([01])((?:, ?[0-9]{1,2}){1,9},? (?:or|and) ([0-9]{1,2}))(?![0-9]|\.[0-9])")


def guess_scale(text: str) -> ScaleGuess | None:
    """The range that the prompt names most often near words for scores, or the levels that it lists."""
    text = text[:LOOKED_AT]
    counts: Counter[tuple[float, float]] = Counter()
    for pattern in _RANGES:
        for match in pattern.finditer(text):
            low, high = float(match[1]), float(match[2])
            around = text[max(0, match.start() - 60) : match.end() + 30]
            if (
                low not in (0, 1)
                or not low < high <= 100
                or _STEPS_BEFORE.search(text, max(0, match.start() - 12), match.start())
            ):
                continue
            # A confidence from 0 to 1 is asked for beside the score, not in its place.
            weight = 1 if _CONFIDENCE.search(around) else 100 if _SCALE_WORDS.search(around) else 10
            counts[low, high] += weight
    for match in _LISTED.finditer(text):
        if _SCALE_WORDS.search(text, max(0, match.start() - 80), match.end() + 30):
            counts[float(match[1]), float(match[3])] += 100
    if not counts and (levels := _levels(text)):
        counts[levels] += 100
    # A band inside the scale, such as "1 to 2" of 10, is no separate scale.
    widest = max(counts, default=None, key=lambda ends: ends[1] - ends[0])
    if widest is not None and widest[1] > 2:
        for ends in [
            ends for ends in counts if ends[0] == widest[0] and ends[1] <= 2 < widest[1] and ends != (0, 1)
        ]:
            counts[widest] += counts.pop(ends)
    if not counts:
        return None
    ((low, high), weight), *rest = counts.most_common()
    others = tuple(f"{other[0]:g}-{other[1]:g}" for other, _ in rest[:4])
    return ScaleGuess(low, high, others, _INTEGER.search(text) is not None, weight)


def scale_of_examples(text: str, key: str) -> ScaleGuess | None:
    """From 0 to 1, where the objects that a prompt shows have both ends behind the key of the score and
    nothing beyond."""
    shown = (
        re.findall(rf"[\"']?{re.escape(key)}[\"']?\s?:\s?([0-9]+(?:\.[0-9]+)?)\b", text[:LOOKED_AT])
        if key
        else []
    )
    values = {float(number) for number in shown}
    if {0.0, 1.0} <= values and max(values) == 1.0:
        return ScaleGuess(0.0, 1.0, (), False, 10)
    return None


def _levels(text: str) -> tuple[float, float] | None:
    """The ends of levels that are described one by one: `Score 1: …` to `Score 5: …`."""
    levels = sorted({float(match[1]) for match in _LEVEL.finditer(text)})
    if len(levels) < 3 or levels[0] not in (0, 1) or levels[-1] > 10:
        return None
    gaps = {round(after - before, 2) for before, after in pairwise(levels)}
    return (levels[0], levels[-1]) if len(gaps) <= 1 or levels[-1] in (5, 10) else None


_GOOD = (
    r"(?:excellent|best|perfect|outstanding|flawless|ideal|superb|exceptional|very good|completely answers"
    r"|(?:fully|completely|entirely|highly) (?:accura|correct|consisten|relevan|faithful|support"
    r"|fluen|clear|appropria|coheren)"
    r"|优秀|完美|最好|极好|非常好|훌륭|완벽|최고|우수|最高)"
)
_BAD = (
    r"(?:worst|terrible|completely (?:fails|inadequate|irrelevant|incorrect)|fails to|nonsens\w+"
    r"|(?:very )?poor|awful|bad|unacceptable|not at all|irrelevant|incorrect|inadequate|最差|很差|极差|较差"
    r"|최악|나쁨|미흡|最低)"
)
_NEGATION = re.compile(r"\b(?:not?|never|less|far from|without)\b|n't|不|没|아니|않", re.IGNORECASE)
_UP = re.compile(
    r"\bhigher (?:the )?(?:scores?|ratings?|values?|numbers?|is|means?|=)[^.\n]{0,60}?\b(?:better"
    r"|best|stronger|higher quality)"
    r"|越高[^。\n]{0,25}?(?:好|优|强|高)|높을수록[^.\n]{0,25}?(?:좋|우수|뛰어|높)|高いほど[^。\n]{0,25}?良",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\blower (?:the )?(?:scores?|ratings?|values?|numbers?|is|means?|=)[^.\n]{0,60}?\b(?:better|best)"
    r"|越低[^。\n]{0,25}?(?:好|优)|낮을수록[^.\n]{0,25}?(?:좋|우수)|低いほど[^。\n]{0,25}?良",
    re.IGNORECASE,
)


def guess_best(text: str, low: float, high: float) -> tuple[float, str] | None:
    """The good end where the words name it and nothing in them contradicts, with those words."""
    text = text[:LOOKED_AT]
    up = _UP.search(text) or _praised(text, high) or _level(text, low, _BAD)
    down = _DOWN.search(text) or _praised(text, low) or _level(text, high, _BAD)
    if up and not down:
        return high, up[0]
    if down and not up:
        return low, down[0]
    return None


def _praised(text: str, level: float) -> re.Match[str] | None:
    """A level that is called good, before its number or behind it: "3 is best", "the best score is 3"."""
    number = re.escape(f"{level:g}")
    before = (
        rf"\b(?:best|perfect) (?:possible )?(?:(?:score|rating|grade|mark|value"
        rf"|level)s? )?(?:is|=|:) ?(?:an? )?{number}{_AFTER}"
    )
    return _level(text, level, _GOOD) or re.search(before, text, re.IGNORECASE)


def _level(text: str, level: float, words: str) -> re.Match[str] | None:
    """A level of the scale followed by a word that praises or blames, with no other number between."""
    number = re.escape(f"{level:g}")
    pattern = rf"{_BEFORE}{number}(?![0-9]|\.[0-9])([^.。\n0-9]{{0,30}}?){words}"
    matches = re.finditer(pattern, text, re.IGNORECASE)
    return next((match for match in matches if not _NEGATION.search(match[1])), None)
