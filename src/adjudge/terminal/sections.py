"""Sections as the lines of a terminal, or of a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..sections import Section, cell_text, plain_lines
from ..terminal_text import Line
from ..untrusted import safe
from .tables import piped_table, table_lines, wrapped


def section_lines(sections: Iterable[Section], width: int | None) -> list[Line]:
    """Sections wrapped to `width` columns; without a width, each line and each table row is one line."""
    lines: list[Line] = []
    has_gap = False
    for section in sections:
        if section.depth > 1 and not has_gap:
            lines.append(("", ""))
        lines += _paragraph(section.title, width, "bold")
        for text in plain_lines(section):
            lines += _paragraph(f"  {text}", width)
        for notice in section.notices:
            lines += _paragraph(f"  ! {notice.text}", width, "bold yellow" if notice.is_severe else "yellow")
        table = _section_table(section, width)
        lines += table
        for text in section.notes:
            lines += _paragraph(f"  {text}", width, "dim")
        # A table already ends with an empty line.
        has_gap = bool(table) and not section.notes
    return lines


MOST_LINES = 30
"""The height of a first screen at 80 columns."""


_MOST_ROWS = (12, 10, 8, 6, 4, 2)
"""Rows of a table that are tried, until the screen fits."""


def fitted_sections(screen: Callable[[int], Sequence[Section]], width: int) -> Sequence[Section]:
    """The first screen with the largest number of rows for which it fits a terminal of this width."""
    for most_rows in _MOST_ROWS:
        sections = screen(most_rows)
        if len(section_lines(sections, width)) <= MOST_LINES:
            break
    return sections


def _paragraph(text: str, width: int | None, style: str = "") -> list[Line]:
    shown = safe(text)
    return [(line, style) for line in ([shown] if width is None else wrapped(shown, width))]


def _section_table(section: Section, width: int | None) -> list[Line]:
    """The table of a section between two empty lines; nothing if all cells are empty."""
    filled = section.filled()
    if not filled.columns:
        return []
    names = [column.name for column in filled.heads]
    rows = [[cell_text(value) for value in row] for row in filled.rows]
    if width is None:
        return piped_table(names, rows)
    spare = [column.name for column in filled.heads if column.is_spare]
    return [("", ""), *table_lines(names, rows, width, spare, is_of_numbers=True), ("", "")]
