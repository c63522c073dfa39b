"""Sections of text and tables on a terminal or as Markdown. Names in them are users': here they are made harmless."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from ..sections import Section
from .output import print_table, print_text


def print_sections(parts: Iterable[Section]) -> None:
    """On a terminal: tables as wide as it is."""
    from ..report.terminal import safe

    for part in parts:
        print_text(f"{'' if part.depth == 1 else chr(10)}{safe(part.title)}")
        for line in part.lines:
            print_text(f"  {safe(line)}")
        sys.stdout.flush()
        if part.rows:
            columns, rows = _without_empty(part.columns, part.rows)
            print_table([safe(name) for name in columns], [[safe(cell) for cell in row] for row in rows])


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
