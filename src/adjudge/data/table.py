"""Input tables as streams of rows with their numbers: JSONL, a JSON list, CSV, TSV, Parquet, Excel; also .gz.

A table may also come from standard input (`-`) or from the Hugging Face hub (`hf://…`). Knows nothing of what
the rows are about: items, labels, examples and recorded replies are read on top of this. A bad row is
reported and the stream continues, so that one pass finds every problem; where nothing after a fault can be
trusted, the stream ends with `BrokenFileError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from ..errors import DataError, problem_list
from .addresses import local_file
from .csv_rows import csv_rows
from .encoding import BrokenFileError, is_gzip
from .json_rows import Report, Row, jsonl_rows, list_rows, rows_of_lines
from .parquet_and_excel import excel_rows, parquet_rows

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xlsx")
"""The formats by suffix; each may be followed by .gz."""


class Table:
    """A file of rows. `unit` is what row numbers count: lines, or records where lines mean nothing."""

    def __init__(self, path: str | Path) -> None:
        self.path = local_file(path)
        self.name = str(self.path)
        """what messages call the file"""
        stem = self.path.with_suffix("") if is_gzip(self.path) else self.path
        self.suffix = stem.suffix.lower()
        by_record = (".json", ".parquet", ".xlsx", ".eval")
        self.unit: Literal["line", "record", "trace"] = "record" if self.suffix in by_record else "line"

    @property
    def is_by_line(self) -> bool:
        """Whether each line is one row."""
        return self.suffix in (".jsonl", ".ndjson")

    def rows(self, report: Report) -> Iterator[tuple[int, Row]]:
        """The rows with their numbers. For CSV the number is the line at which the row starts."""
        if self.suffix in (".jsonl", ".ndjson"):
            return jsonl_rows(self.path, report)
        if self.suffix == ".json":
            return list_rows(self.path, report)
        if self.suffix in (".csv", ".tsv"):
            return csv_rows(self.path, report, "," if self.suffix == ".csv" else "\t")
        if self.suffix == ".parquet":
            return parquet_rows(self.path, report)
        if self.suffix == ".xlsx":
            return excel_rows(self.path, report)
        if self.path.is_dir():
            raise BrokenFileError(self.path, "a folder, not a file. Name one file in it.")
        if self.suffix == ".eval":
            raise BrokenFileError(
                self.path,
                "a log of Inspect. Judge its samples with --traces auto, or see them with: adjudge traces"
                " FILE.",
            )
        known = ", ".join(SUFFIXES)
        raise BrokenFileError(
            self.path, f"format unknown by its name. Name it {known}, with .gz added if it is compressed."
        )


IN_MEMORY = "(given in Python)"
"""what messages call rows that no file holds"""


class LinesInMemory(Table):
    """Rows as JSON lines that no file holds, for a few items that come often: a file would cost more."""

    path, name, suffix = Path("items.jsonl"), IN_MEMORY, ".jsonl"
    unit = "line"

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines

    def rows(self, report: Report) -> Iterator[tuple[int, Row]]:
        return rows_of_lines([self._lines], report)


MOST_PROBLEMS = 1_000_000
"""Bad rows of one file that are kept: a small .gz can hold billions."""

_LISTED_SEPARATELY = 3
"""A problem on more rows than this is listed once for all of them."""


def _where(unit: str, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{unit} {numbers[0]}"
    first = ", ".join(str(number) for number in numbers[:3])
    return f"{unit}s {first}, … ({len(numbers):,} {unit}s)"


class Problems:
    """The problems of one file, added in any order and listed in the order of the file."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._problems: list[tuple[int, str]] = []
        self._texts: dict[str, str] = {}
        self.remark = ""
        """a sentence after the list of problems"""

    def add(self, row_number: int, text: str) -> None:
        """Add a problem of a row; the number 0 stands for the whole file."""
        if len(self._problems) >= MOST_PROBLEMS:
            self.remark = (
                f"Reading stopped at {self._table.unit} {row_number:,}: more than {MOST_PROBLEMS:,} problems."
            )
            raise self.error()
        # A million rows with the same problem share one text.
        self._problems.append((row_number, self._texts.setdefault(text, text)))

    def __len__(self) -> int:
        return len(self._problems)

    @property
    def of_file(self) -> bool:
        """Whether the whole file has a problem, which skipping rows does not solve."""
        return any(number == 0 for number, _ in self._problems)

    def row_numbers(self) -> set[int]:
        """The numbers of the bad rows."""
        return {number for number, _ in self._problems if number}

    def texts(self) -> tuple[str, ...]:
        """Each problem with its row numbers before it; those of the whole file first."""
        numbers_by_text: dict[str, list[int]] = {}
        for number, text in sorted(self._problems, key=lambda problem: problem[0]):
            numbers_by_text.setdefault(text, []).append(number)
        entries: list[tuple[list[int], str]] = []
        for text, numbers in numbers_by_text.items():
            if len(numbers) > _LISTED_SEPARATELY and 0 not in numbers:
                entries.append((numbers, text))
            else:
                entries += [([number], text) for number in numbers]
        entries.sort(key=lambda entry: entry[0][0])
        unit = self._table.unit
        return tuple(
            f"{_where(unit, numbers)}: {text}" if numbers != [0] else text for numbers, text in entries
        )

    def error(self) -> DataError:
        """All of them as one error."""
        message = problem_list(self._table.name, self.texts())
        return DataError(f"{message}\n{self.remark}" if self.remark else message)
