"""The fields of an item, and where the quotations that a judge gave as evidence stand in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from ...records import FieldValue, Judgment, Message
from .shown_text import merge_spans, shorten
from .views import FieldView, Span, Turn

# Fields, and the evidence quoted from them


class Source:
    """A part of a field, prepared for finding quotations."""

    def __init__(self, part: str | Message) -> None:
        self.role = part.speaker if isinstance(part, Message) else ""
        self.text = part.shown if isinstance(part, Message) else part
        self.quotable = QuotableText(self.text)


def sources_of(value: FieldValue) -> list[Source]:
    """The parts of a field; the turns of a conversation with
    tools or images have the numbers that the judge sees.
    """
    parts = _parts(value)
    sources = [Source(part) for part in parts]
    if any(isinstance(part, Message) and not part.is_plain for part in parts):
        number = 0
        for part, source in zip(parts, sources, strict=True):
            number += not (isinstance(part, Message) and part.continues)
            source.role = f"turn {number}: {source.role}" if source.role else source.role
    return sources


def _parts(value: FieldValue) -> tuple[str | Message, ...]:
    return (value,) if isinstance(value, str) else value


def field_view(name: str, parts: Iterable[Source], quotes: Iterable[str], longest: int | None) -> FieldView:
    turns = []
    for part in parts:
        spans = merge_spans(span for quote in quotes for span in part.quotable.find(quote))
        turns.append(Turn(part.role, shorten(part.text, longest, spans)))
    return FieldView(name, tuple(turns))


def quotes_of(judgment: Judgment | None) -> Iterable[str]:
    for score in judgment.scores if judgment is not None else ():
        yield from score.evidence
    for element in judgment.checked if judgment is not None else ():
        for score in element.scores:
            yield from score.evidence


def fields_with(quote: str, sources: Mapping[str, Sequence[Source]]) -> tuple[str, ...]:
    return tuple(name for name, parts in sources.items() if any(part.quotable.find(quote) for part in parts))


# The same differences are ignored as where evidence is checked (`parse.judgment.grounded_share`): white
# space, case, the shape of quotation marks and dashes; an ellipsis stands for a gap.
_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "«": '"', "»": '"', "–": "-", "—": "-"}
)


_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…|\[\.{3}\]|\[…\])\s*")


_EDGES = " \t\n\"'`.,;:!?-…"


class QuotableText:
    """A text in normalized form, with the position of each normalized character in the original."""

    def __init__(self, text: str) -> None:
        characters: list[str] = []
        positions: list[int] = []
        for position, character in enumerate(text):
            if character.isspace():
                if characters and characters[-1] != " ":
                    characters.append(" ")
                    positions.append(position)
                continue
            for normal in _normalized(character):
                characters.append(normal)
                positions.append(position)
        self._normal = "".join(characters)
        self._positions = positions

    def find(self, quote: str) -> list[Span]:
        """The spans of all pieces of a quotation, in order; empty where a piece is missing."""
        spans: list[Span] = []
        start = 0
        for piece in _ELLIPSIS.split(" ".join(_normalized(quote).split()).strip(_EDGES)):
            wanted = piece.strip(_EDGES)
            if not wanted:
                continue
            match = self._normal.find(wanted, start)
            if match < 0:
                return []
            start = match + len(wanted)
            spans.append((self._positions[match], self._positions[start - 1] + 1))
        return spans


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold()
