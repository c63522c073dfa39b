"""CSV and TSV as rows: a header, then one row a record, which may span lines.

Strict: a row whose cells do not fit the header, or whose quotes do not close, is a problem and
never shifted into place. Knows nothing of which columns a table should have, but knows a file of ours
by its header, and takes off the apostrophes that made it safe to open in a spreadsheet.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from .json_rows import FIELD_LIMIT, Report, Row, refuse_long_fields
from .lines import LINE_LIMIT, BadRowError, BrokenFileError, batches, utf8
from .spreadsheet import is_ours, unguarded


def csv_rows(path: Path, report: Report, delimiter: str) -> Iterator[tuple[int, Row]]:
    """The rows below the header with the lines at which they start.

    An empty cell is an absent field; an empty line is no row.
    """
    # The limit belongs to the whole process, so it is only ever raised. It also bounds what a
    # quote that is never closed can swallow.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))
    source = _TextLines(path)
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    header = _header(path, source, reader)
    has_guards = is_ours(header)
    while True:
        start = source.number + 1
        try:
            cells = next(reader, None)
            source.refuse_bad(start)
            if cells is None:
                return
            row = _row(header, [unguarded(cell) for cell in cells] if has_guards else cells)
        except BadRowError as bad:
            report(start, str(bad))
        except csv.Error as error:
            problem = _csv_problem(error)
            # After a quote that swallowed other lines no row is where it seems.
            if source.has_ended or source.number > start:
                raise BrokenFileError(path, f"line {start}: {problem}") from None
            report(start, problem)
        else:
            if row:
                yield start, row


def _header(path: Path, source: _TextLines, reader: Iterator[list[str]]) -> list[str]:
    """The first line that has cells. Without it no row has names, so every fault ends the reading."""
    header: list[str] = []
    start = 1
    try:
        while not header:
            start = source.number + 1
            header = next(reader)
            source.refuse_bad(start)
    except StopIteration:
        return []
    except BadRowError as bad:
        raise BrokenFileError(path, f"line {start}: {bad}") from None
    except csv.Error as error:
        raise BrokenFileError(path, f"line {start}: {_csv_problem(error)}") from None
    if len(header) == 1 and any(other in header[0] for other in ";\t"):
        raise BrokenFileError(
            path,
            f"line {start}: the header is one cell, '{header[0]:.80}'. Save the file with commas, or tabs as .tsv.",
        )
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        names = ", ".join(f"'{name:.80}'" for name in twice)
        raise BrokenFileError(
            path, f"line {start}: the header names {names} more than once. Give each column its own name."
        )
    return header


def _row(header: list[str], cells: list[str]) -> Row:
    if not cells:
        return {}
    if len(cells) != len(header):
        noun = "cell" if len(cells) == 1 else "cells"
        raise BadRowError(
            f"{len(cells)} {noun} where the header has {len(header)}. "
            "Quote a cell that holds the separator or a line end; leave missing cells empty."
        )
    row = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
    if sum(map(len, cells)) * 4 > FIELD_LIMIT:
        refuse_long_fields(row)
    # A row of empty cells is a row all the same: its place is kept, and what it lacks is told.
    return row or {header[0]: None}


def _csv_problem(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end" in text:
        return (
            "a quote that opens in this row is never closed. "
            "Close it, or double a quote that belongs to the text."
        )
    if "field limit" in text:
        return (
            f"a cell of more than {LINE_LIMIT // 1_000_000} MB (the limit is {FIELD_LIMIT // 1_000_000} MB). "
            "Shorten it, or close the quote that opens in this row."
        )
    if "new-line" in text:
        return (
            "a carriage return outside quotes. "
            "Save the file with line ends \\n or \\r\\n, and quote cells that hold one."
        )
    return f"quotes are not closed properly ({text}). Double each quote that belongs to a quoted text."


class _TextLines:
    """The lines that a CSV reader takes, as text.

    A line that is no proper text is remembered, not left out: it may lie inside a quoted cell,
    and the cells after it would move.
    """

    def __init__(self, path: Path) -> None:
        self._lines = (line for batch in batches(path) for line in batch)
        self._bad: tuple[int, BadRowError] | None = None
        self.number = 0
        self.has_ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = next(self._lines)
        except StopIteration:
            self.has_ended = True
            raise
        self.number += 1
        try:
            return utf8(line) + "\n"
        except BadRowError as bad:
            self._bad = self._bad or (self.number, bad)
            return line.decode("utf-8", "replace") + "\n"

    def refuse_bad(self, start: int) -> None:
        """`BadRowError` where a line of the row that began at `start` was no proper text."""
        if self._bad is not None:
            (number, bad), self._bad = self._bad, None
            raise bad if number == start else BadRowError(f"in line {number}: {bad}")
