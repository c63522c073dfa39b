"""Checking what a judge quotes against what it judged, and what it said besides the answer."""

from __future__ import annotations

import re
import unicodedata

from ..records import Answer
from .lazy import lazily
from .text import ASIDE, Span, masked, thoughts

_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "«": '"', "»": '"', "–": "-", "—": "-"}
)
_ELLIPSIS = lazily(r"\s*(?:\.{3,}|…|\[\.{3}\]|\[…\])\s*")
_EDGES = " \t\n\"'`.,;:!?-…"


def grounded_share(evidence: tuple[str, ...], judged: str) -> float | None:
    """The share of quotations that stand word for word in the judged text; none without any.

    White space, case and the shape of quotation marks do not count; an ellipsis stands for a gap.
    """
    quotes = [flat for quote in evidence if (flat := _flat(quote)).strip(_EDGES)]
    if not quotes:
        return None
    text = _flat(judged)
    return sum(_stands_in(quote, text) for quote in quotes) / len(quotes)


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split())


def _stands_in(quote: str, text: str) -> bool:
    at = 0
    for piece in _ELLIPSIS.split(quote.strip(_EDGES)):
        wanted = piece.strip(_EDGES)
        found = text.find(wanted, at)
        if found < 0:
            return False
        at = found + len(wanted)
    return True


def said_in(text: str, answers: list[Span], answer: Answer) -> str:
    """The judge's prose: without its thoughts, without the marked answer, and without what announces it."""
    hidden = thoughts(text)
    plain = masked(text, hidden)
    for start, end in sorted(answers, reverse=True):
        first, last = _with_mark(plain, start, end, answer)
        line_start = plain.rfind("\n", 0, first) + 1
        line_end = plain.find("\n", last)
        line_end = len(plain) if line_end < 0 else line_end
        rest = plain[line_start:first] + plain[last:line_end]
        if len(rest) <= _LABEL_LINE and not _SAYS.search(_LABEL.sub("", rest)):
            first, last = line_start, line_end
        plain = plain[:first] + plain[last:]
    return _OPENING.sub("", plain.replace(ASIDE, "")).strip(" \t\n*")


_SAYS = lazily(r"[^\W\d_]")
_LABEL = lazily(
    r"(?:final |overall )?(?:score|rating|result|verdict|评分|得分|分数|점수|gpt-4回答|分|점)|\(?\d+\s?[-–~]\s?\d+\)?",
    re.I,
)
_OPENING = lazily(r"\A\s*(?:feedback|explanation|evaluation explanation)\s*[:：]\s*", re.I)
_MARK_REACH = 24
_LABEL_LINE = 100
"""A line longer than this says more than which answer it holds."""


def _with_mark(plain: str, start: int, end: int, answer: Answer) -> Span:
    """The place of a value together with the tag or marker that it belongs to."""
    before, after = (answer.marker or "", "") if answer.reader == "marker" else ("", "")
    if answer.reader == "tag":
        before, after = f"<{answer.tag}>", f"</{answer.tag}>"
    if answer.reader == "label" and answer.labels:
        before = answer.labels[0]
    if before:
        found = plain.lower().rfind(before.lower(), max(0, start - len(before) - _MARK_REACH), start)
        start = found if found >= 0 else start
    if after:
        found = plain.lower().find(after.lower(), end, end + len(after) + _MARK_REACH)
        end = found + len(after) if found >= 0 else end
    return start, end
