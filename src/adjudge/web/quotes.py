"""Finds what a judge quotes in the text that it judged, as places in that text.

The same differences are overlooked as where evidence is checked (`parse.evidence`): white
space, case, the shape of quotation marks and dashes; an ellipsis stands for a gap.
"""

from __future__ import annotations

import re
import unicodedata

Span = tuple[int, int]

_ALIKE = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "«": '"', "»": '"', "–": "-", "—": "-"}
)
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.{3}\]|\[…\])\s*")
_EDGES = " \t\n\"'`.,;:!?-…"


class Text:
    """A text to look in, with the way back from its flat form."""

    def __init__(self, text: str) -> None:
        flat: list[str] = []
        places: list[int] = []
        for place, character in enumerate(text):
            if character.isspace():
                if flat and flat[-1] != " ":
                    flat.append(" ")
                    places.append(place)
                continue
            for one in unicodedata.normalize("NFKC", character).translate(_ALIKE).casefold():
                flat.append(one)
                places.append(place)
        self._flat = "".join(flat)
        self._places = places

    def find(self, quote: str) -> list[Span]:
        """The places of all pieces of a quotation, in their order; empty where one of them is missing."""
        spans: list[Span] = []
        at = 0
        for piece in _ELLIPSIS.split(_flat(quote).strip(_EDGES)):
            wanted = piece.strip(_EDGES)
            if not wanted:
                continue
            found = self._flat.find(wanted, at)
            if found < 0:
                return []
            at = found + len(wanted)
            spans.append((self._places[found], self._places[at - 1] + 1))
        return spans


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_ALIKE).casefold().split())


def apart(spans: list[Span]) -> list[Span]:
    """The same places without overlaps, in order."""
    kept: list[Span] = []
    for start, end in sorted(spans):
        if kept and start <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(kept[-1][1], end))
        else:
            kept.append((start, end))
    return kept
