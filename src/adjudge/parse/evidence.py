"""Whether the quotations that a judge gives as evidence stand in the text that it judged."""

from __future__ import annotations

import unicodedata

from ..lazy_patterns import lazily
from ..records import FieldValue, Item, Protocol, Subject

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


def quotes_stand(evidence: tuple[str, ...], judged: str) -> tuple[bool, ...]:
    """Whether each quotation stands in the judged text."""
    text = _flat(judged)
    return tuple(_stands_in(_flat(quote), text) for quote in evidence)


def judged_text(protocol: Protocol, item: Item | None, subject: Subject | None) -> str | None:
    """The text that quotations are to stand in: the judged
    response, or what the protocol names; none without it.
    """
    if item is None:
        return None
    name = "response" if subject is None else f"response_{subject}"
    texts = []
    for source in protocol.answer.evidence_in or (name,):
        field = protocol.field_for(source, item.fields)
        value = item.fields.get(field) if field is not None else None
        if value is not None:
            texts.append(_plain_text(value))
    return "\n".join(texts) if texts else None


def _plain_text(value: FieldValue) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(entry if isinstance(entry, str) else entry.content for entry in value)


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split())


def _stands_in(quote: str, text: str) -> bool:
    at = 0
    for piece in _ELLIPSIS.split(quote.strip(_EDGES)):
        wanted = piece.strip(_EDGES)
        place = text.find(wanted, at)
        if place < 0:
            return False
        at = place + len(wanted)
    return True
