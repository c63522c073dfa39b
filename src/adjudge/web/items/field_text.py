"""A field of an item as one text."""

from __future__ import annotations

from ...records import FieldValue, Message


def searched_text(value: FieldValue) -> str:
    """A field as one text."""
    if isinstance(value, str):
        return value
    return "\n".join(part.shown if isinstance(part, Message) else part for part in value)
