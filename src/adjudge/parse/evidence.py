"""Checking what a judge quotes against what it judged, and what it said besides the answer."""

from __future__ import annotations

import re
import unicodedata

from .text import Span, masked, thoughts

_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "«": '"', "»": '"', "–": "-", "—": "-"}
)
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.{3}\]|\[…\])\s*")
_EDGES = " \t\n\"'`.,;:!?-…"


def grounded_share(evidence: tuple[str, ...], judged: str) -> float | None:
    """The share of quotations that stand word for word in the judged text; none without any.

    White space, case and the shape of quotation marks do not count; an ellipsis stands for a gap.
    """
    quotes = [quote for quote in evidence if quote.strip(_EDGES)]
    if not quotes:
        return None
    text = _flat(judged)
    return sum(_stands_in(_flat(quote), text) for quote in quotes) / len(quotes)


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


def said_in(text: str, answers: list[Span]) -> str:
    """The judge's prose: without its thoughts, and without a line that holds nothing but the answer."""
    plain = masked(text, thoughts(text)).replace("\ufffc", "")
    if len(plain) == len(text):
        for start, end in sorted(answers, reverse=True):
            line_start = plain.rfind("\n", 0, start) + 1
            line_end = plain.find("\n", end)
            line_end = len(plain) if line_end < 0 else line_end
            if line_end - line_start <= 60:
                plain = plain[:line_start] + plain[line_end + 1 :]
    return re.sub(
        r"\A\s*(?:feedback|explanation|evaluation explanation)\s*[:：]\s*", "", plain, flags=re.I
    ).strip()
