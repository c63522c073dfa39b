"""The fields of an item as text: a list line by line, messages as a transcript, entries with their
numbers."""

from __future__ import annotations

from collections.abc import Iterable

from ..records import FieldValue, Message
from .transcript import transcript


def field_text(value: FieldValue) -> str:
    """A field as text: a list line by line, messages as a transcript.

    The content of a message is indented, so that a line of it cannot look like another speaker's turn.
    """
    if isinstance(value, str):
        return value
    if any(isinstance(entry, Message) and not entry.is_plain for entry in value):
        return transcript(value).text
    entries = []
    for entry in value:
        if isinstance(entry, Message):
            lines = entry.content.split("\n")
            entries.append("\n".join([f"{entry.role}:", *(f"  {line}" if line else "" for line in lines)]))
        else:
            entries.append(entry)
    return "\n".join(entries)


def numbered_text(entries: Iterable[str], first: int = 1) -> str:
    """Entries with their numbers in brackets; further lines
    are indented, so that none looks like another entry.
    """
    blocks = []
    for number, entry in enumerate(entries, first):
        lines = entry.split("\n")
        blocks.append(
            "\n".join([f"[{number}] {lines[0]}", *(f"    {line}" if line else "" for line in lines[1:])])
        )
    return "\n".join(blocks)


def entry_texts(value: FieldValue) -> tuple[str, ...]:
    """The entries of a list as texts; a text is its only entry."""
    if isinstance(value, str):
        return (value,)
    return tuple(entry if isinstance(entry, str) else field_text((entry,)) for entry in value)
