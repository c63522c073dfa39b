"""CSV and TSV as rows: a header, then records, which may span lines.

Strict: a record with a wrong number of cells or unclosed quotes is a problem.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .encoding import COLUMN_LIMIT, LINE_LIMIT, BadRowError, BrokenFileError, batches, check_blank, utf8
from .formulas import is_written_by_us, unguarded
from .json_rows import FIELD_LIMIT, Report, Row, refuse_long_fields


def csv_rows(
    path: Path, report: Report, delimiter: str, *, is_spaced: bool = False
) -> Iterator[tuple[int, Row]]:
    """The rows below the header with the lines at which they start.

    An empty cell is an absent field; an empty line is no row. Where the header has a space behind every
    separator (`item, rater, value`), the spaces behind those of the rows belong to no cell either.
    """
    # The limit is global to the process, so it is only ever raised. It also bounds the cell that an
    # unclosed quote makes.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))
    source = _TextLines(path)
    reader = csv.reader(source, delimiter=delimiter, strict=True, skipinitialspace=is_spaced)
    header = _header(path, source, reader)
    if delimiter == "," and len(header) == 1 and (other := _other_delimiter(header[0])):
        yield from csv_rows(path, report, other)
        return
    if not is_spaced and len(header) > 1 and all(name.startswith(" ") for name in header[1:]):
        yield from csv_rows(path, report, delimiter, is_spaced=True)
        return
    has_guards = is_written_by_us(header)
    n_blank = 0
    while True:
        start = source.number + 1
        try:
            cells = next(reader, None)
            source.refuse_bad(start)
            if cells is None:
                return
            row = _csv_row(header, [unguarded(cell) for cell in cells] if has_guards else cells)
        except BadRowError as bad:
            report(start, str(bad))
        except csv.Error as error:
            problem = _csv_problem(error)
            # After an unclosed quote that spans lines, no row starts where it seems to.
            if source.has_ended or source.number > start:
                raise BrokenFileError(path, f"line {start}: {problem}") from None
            report(start, problem)
        else:
            if row:
                yield start, row
            else:
                n_blank += 1
                check_blank(path, n_blank, source.number)


def _other_delimiter(cell: str) -> str | None:
    """The delimiter of a header that has no comma. Spreadsheets of many locales write semicolons to a .csv
    file."""
    return max((sign for sign in ";\t" if sign in cell), key=cell.count, default=None)


def _header(path: Path, source: _TextLines, reader: Iterator[list[str]]) -> list[str]:
    """The first line that has cells. Without a header no row has names, so every problem ends the file."""
    header: list[str] = []
    start = 1
    try:
        while not header:
            start = source.number + 1
            check_blank(path, start - 1, start - 1)
            header = next(reader)
            source.refuse_bad(start)
    except StopIteration:
        return []
    except BadRowError as bad:
        raise BrokenFileError(path, f"line {start}: {bad}") from None
    except csv.Error as error:
        raise BrokenFileError(path, f"line {start}: {_csv_problem(error)}") from None
    if len(header) > COLUMN_LIMIT:
        raise BrokenFileError(
            path,
            f"line {start}: the header names {len(header):,} columns; the limit is {COLUMN_LIMIT:,}. "
            "Keep the columns that are used.",
        )
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if repeated:
        names = ", ".join(f"'{name:.80}'" for name in repeated)
        raise BrokenFileError(
            path, f"line {start}: the header names {names} more than once. Give each column its own name."
        )
    return header


def _csv_row(header: list[str], cells: list[str]) -> Row:
    if not cells:
        return {}
    if len(cells) != len(header):
        noun = "cell" if len(cells) == 1 else "cells"
        raise BadRowError(
            f"{len(cells)} {noun} where the header has {len(header)}. "
            "Quote a cell that holds the separator or a line end; leave missing cells empty."
        )
    # An empty cell is a field without a value: an empty response is an output.
    row: Row = {name: cell or None for name, cell in zip(header, cells, strict=True)}
    if sum(map(len, cells)) * 4 > FIELD_LIMIT:
        refuse_long_fields(row)
    return row


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
    """The lines for a CSV reader, as text.

    A line that is not valid text is remembered, not left out: it may be inside a quoted cell,
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
        """`BadRowError` where a line of the row that began at `start` was not valid text."""
        if self._bad is not None:
            (number, bad), self._bad = self._bad, None
            raise bad if number == start else BadRowError(f"in line {number}: {bad}")
