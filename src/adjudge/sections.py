"""What a result says to a person: sections of text and tables, before anyone decides how they are shown.

The card, a ranking, a comparison and a gate make them; the command line prints them. Names in them are
users' words as they came.
"""

from __future__ import annotations

from msgspec import Struct


class Section(Struct, frozen=True):
    """A heading with lines of text and a table, either of which may be empty."""

    title: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    depth: int = 2
