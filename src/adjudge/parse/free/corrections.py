"""Where a judge takes an answer back: "Correction: x", "on second thought, x", "4 → 3", 更正, 수정.

The text must be narrow, folded and without emphasis, with everything repeated set aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...lazy_patterns import lazily


class Correction(NamedTuple):
    """Where a judge takes back what it said, and where the new answer would begin."""

    start: int
    at: int
    announced: bool
    """whether the words can mean nothing else; otherwise the new answer must stand close to them"""
    is_tied: bool
    """whether the words between make it an answer: "actually, I would give it"; or there are none"""


_CORRECTING: dict[str, str] = {
    "correction": r"\s?[:,–—-]",
    "edit": r"(?:ed)?\s?:",
    "update": r"d?\s?:",
    "on second ": r"(?:thoughts?|reading|look)\b",
    "on further ": r"(?:thought|reflection|consideration|reading|review)\b",
    "on closer ": r"(?:reading|inspection|look|reflection)\b",
    "on reflection": r"\b",
    "wait": r"(?=[\s,.!:;–—-])",
    "scratch that": r"\b",
    "changed my mind": r"\b",
    "let me ": r"(?:revise|correct|change|reconsider|rethink|adjust)\b",
    "reconsidering": r"\b",
    "i mean": r"t?\b(?=[\s,])",
    "oops": r"\b",
    "my mistake": r"\b",
    "i misread": r"\b",
    "no, ": r"",
    "sorry": r"\s?[,:]",
    "不,": r"",
    "不对": r"",
    "更正": r"",
    "重新考虑": r"",
    "重新评估": r"",
    "再想想": r"",
    "仔细一想": r"",
    "修正": r"",
    "纠正": r"",
    "정정": r"",
    "수정": r"",
    "다시 생각": r"[가-힣]{0,4}",
}
"""What announces a correction, each with what must follow it."""

_CHANGING: dict[str, str] = {
    "actually": r"\b",
    "rather": r"\b(?!\sthan)",
    "instead": r"\b(?!\sof)",
    "revis": r"(?:ed?|ing)\b",
    "lower": r"(?:ed|ing)?\b",
    "raise": r"d?\b",
    "reduc": r"(?:ed?|ing)\b",
    "increas": r"(?:ed?|ing)\b",
    "downgrad": r"(?:ed?|ing)\b",
    "adjust": r"(?:ed|ing)?\b",
    "chang": r"(?:ed?|ing)\b",
    "make that": r"\b",
    "no. ": r"",
    "->": r"",
    "=>": r"",
    "→": r"",
    "⇒": r"",
    "改为": r"",
    "改成": r"",
    "改到": r"",
    "调整为": r"",
    "降为": r"",
    "降到": r"",
    "升到": r"",
    "提高到": r"",
    "应为": r"",
}
"""What may change an answer, and may as well belong to the prose."""

_CUES = {
    word: (lazily(tail), words is _CORRECTING)
    for words in (_CORRECTING, _CHANGING)
    for word, tail in words.items()
}
_ASCII_CUES = [word for word in _CUES if word.isascii()]
MOST_CORRECTIONS = 20
"""How often one of these words is looked at."""

_TO_NEW_ANSWER = lazily(
    r"(?:[\s:,;.!\"'(\[…–—-]|(?:i'd|i'll|i'm|it's|that's|this|that|its|it|i|is|was|would|will|should|must|be|"
    r"the|my|to|as|of|at|say|think|feel|no|wait|so|now|"
    r"again|after|upon|re-?reading|re-?considering|reflection|final|overall|correct|corrected|revised|revise|"
    r"new|true|actual|right|more|like|fair|fairer|"
    r"too|high|low|generous|harsh|strict|lenient|down|up|only|just|better|best|winner|which|and|but|or|"
    r"rather|actually|instead|"
    r"a(?=\s(?:[0-9]|zero|one|two|three|four|five|six|seven|eight|nine|ten|score|rating))"
    r"|scor(?:e|ing)|rat(?:e|ing)|grade|answer|verdict|choice|choose|choosing|select|pick|prefer|go|with|"
    r"giv(?:e|ing)|mak(?:e|ing)|mean|meant|"
    r"lower(?:ing)?|rais(?:e|ing)|reduc(?:e|ing)|increas(?:e|ing)|chang(?:e|ed|ing)|set|assign|award|"
    r"deserves|merits|response|summary|mind)(?![a-z])"
    r"|最终|得分|评分|分数|应该|[应为给打到是我后]|점수는|점수를|점수){0,40}+"
)
_TYING = lazily(
    r"scor|rat(?:e|ing)|grade|answer|verdict|choice|choos|select|pick|prefer|go "
    r"with|giv|mak(?:e|ing)|lower|rais|chang|assign|award|deserve|merit|\bto\b|"
    r"i(?:'d|\swould)\ssay|分|给|打|점수"
)
_UNREAL = lazily(
    r"\b(?:(?<!i\s)would|could|might|may|can|not|never|consider(?:ed|ing)?|about|without|by|"
    r"(?<!had\s)(?<!have\s)(?<!need\s)(?<!decided\s)to)\s(?:\w{1,12}\s)?$|n't\s(?:\w{1,12}\s)?$"
)
"""What stands before a change that was not made: "more detail would raise it to 5"."""

_CLOSING_TAG = lazily(r"\s?</\w{1,20}>")
_CHANGED_TO_KOREAN = lazily(r"([0-9]++(?:\.[0-9]++)?+)\s?점?으?로\s?(?:최종\s?)?$")


def corrections(text: str, start: int) -> list[Correction]:
    """Where the judge may replace an answer that ended at `start`, in order."""
    closing = _CLOSING_TAG.match(text, start)
    start = closing.end() if closing else start
    cues = _ASCII_CUES if text.isascii() else _CUES
    rest = text[start:]
    # Most replies have none of the words: nothing more is done for those.
    present = [word for word in cues if word in rest]
    return (
        sorted(correction for word in present for correction in _corrections_by(text, start, word))
        if present
        else []
    )


def _corrections_by(text: str, start: int, word: str) -> Iterator[Correction]:
    tail, announced = _CUES[word]
    at = text.find(word, start)
    for _ in range(MOST_CORRECTIONS):
        if at < 0:
            return
        end = tail.match(text, at + len(word))
        if end and not (word[0].isascii() and text[at - 1 : at].isalpha()):
            yield _correction(text, start, at, end.end(), announced)
        at = text.find(word, at + len(word))


def _correction(text: str, start: int, cue: int, end: int, announced: bool) -> Correction:
    before = _CHANGED_TO_KOREAN.search(text, max(start, cue - 16), cue)
    if before:
        return Correction(cue, before.start(1), announced, True)
    if not announced and _UNREAL.search(text, max(start, cue - 32), cue):
        return Correction(cue, cue, announced, False)
    filler = _TO_NEW_ANSWER.match(text, end)
    at = filler.end() if filler else end
    is_close = cue - start <= 12 and not text[start:cue].strip(" ,;:.!–—-점分(\n").removeprefix("or")
    return Correction(cue, at, announced, is_close or _TYING.search(text, end, at) is not None)
