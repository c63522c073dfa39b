"""Sections of a card or a ranking as plain tables, without the columns that no row fills."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

MOST_ROWS = 80
"""Of a longer table the rest is counted; `--json` has all."""


class Section(Protocol):
    """What a card's and a ranking's sections have in common."""

    @property
    def title(self) -> str: ...
    @property
    def lines(self) -> tuple[str, ...]: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def rows(self) -> tuple[tuple[str, ...], ...]: ...


class PlainTable(Struct, frozen=True):
    """A heading with lines of text and a table, either of which may be empty."""

    title: str
    lines: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_hidden: int


def plain_tables(sections: Iterable[Section]) -> tuple[PlainTable, ...]:
    """All sections, in their order."""
    return tuple(_plain(section) for section in sections)


def _plain(section: Section) -> PlainTable:
    kept = [place for place in range(len(section.columns)) if any(row[place] for row in section.rows)]
    return PlainTable(
        title=section.title,
        lines=section.lines,
        columns=tuple(section.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in section.rows[:MOST_ROWS]),
        n_hidden=max(0, len(section.rows) - MOST_ROWS),
    )
