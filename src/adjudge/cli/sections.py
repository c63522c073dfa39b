"""Sections of text and tables on a terminal or as Markdown. Names in them are users': here they are made harmless."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from ..sections import Section
from .output import print_table, print_text, terminal_width


def print_sections(parts: Iterable[Section]) -> None:
    """Broken between words to the width of a terminal; a line for each line when it is piped."""
    from ..report.terminal import safe

    has_gap = False
    for part in parts:
        if part.depth > 1 and not has_gap:
            print_text("")
        _print_line(safe(part.title))
        for line in part.lines:
            _print_line(f"  {safe(line)}")
        sys.stdout.flush()
        has_table = any(any(row) for row in part.rows)
        if has_table:
            print_table(*_without_empty(part.columns, part.rows))
        # A table on a terminal has ended with an empty line already.
        has_gap = has_table and sys.stdout.isatty()


def _print_line(text: str) -> None:
    if not sys.stdout.isatty():
        print_text(text)
        return
    from .layout import wrapped

    for line in wrapped(text, terminal_width()):
        print_text(line)


def markdown_of(parts: Iterable[Section]) -> str:
    """For a paper, a pull request or a step summary."""
    from ..report.markdown import escaped

    blocks = []
    for part in parts:
        blocks.append(f"{'#' * part.depth} {escaped(part.title)}")
        blocks += [escaped(line.strip()) for line in part.lines]
        if part.rows:
            columns, rows = _without_empty(part.columns, part.rows)
            lines = [
                [escaped(name) for name in columns],
                ["---"] * len(columns),
                *([escaped(cell) for cell in row] for row in rows),
            ]
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(blocks)


def _without_empty(
    columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The table without remarks that no row has."""
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    return [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]
