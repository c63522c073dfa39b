"""Any table that a user gives, as a stream of rows with their place in the file.

JSONL, a JSON list, CSV, TSV and Parquet, packed with gzip or not. Knows nothing of what the rows
are about: items, labels, examples and recorded replies are read on top of this. A bad row
is reported and the stream goes on, so that one pass finds every problem; where nothing after a
fault can be trusted, the stream ends with `BrokenFileError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ..errors import DataError, listed
from .csv_rows import csv_rows
from .json_rows import Report, Row, jsonl_rows, list_rows
from .lines import BrokenFileError, is_gzip
from .parquet_rows import parquet_rows

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
"""The formats by the end of a file's name; each may be followed by .gz."""


class Table:
    """A file of rows. `unit` is what its places count: lines, or records where lines mean nothing."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        stem = self.path.with_suffix("") if is_gzip(self.path) else self.path
        self.suffix = stem.suffix.lower()
        self.unit: Literal["line", "record"] = "record" if self.suffix in (".json", ".parquet") else "line"

    @property
    def is_by_line(self) -> bool:
        """Whether each line is one row, so that a line number finds it."""
        return self.suffix in (".jsonl", ".ndjson")

    def rows(self, report: Report) -> Iterator[tuple[int, Row]]:
        """The rows with their places. For CSV the place is the line at which the row starts."""
        if self.suffix in (".jsonl", ".ndjson"):
            return jsonl_rows(self.path, report)
        if self.suffix == ".json":
            return list_rows(self.path, report)
        if self.suffix in (".csv", ".tsv"):
            return csv_rows(self.path, report, "," if self.suffix == ".csv" else "\t")
        if self.suffix == ".parquet":
            return parquet_rows(self.path, report)
        if self.path.is_dir():
            raise BrokenFileError(self.path, "a folder, not a file. Name one file in it.")
        known = ", ".join(SUFFIXES)
        raise BrokenFileError(
            self.path, f"format unknown by its name. Name it {known}, each with .gz too where it is packed."
        )


_TOLD_APART = 3
"""The same problem on more rows than this is told once."""


def _where(unit: str, places: list[int]) -> str:
    if len(places) == 1:
        return f"{unit} {places[0]}"
    first = ", ".join(str(place) for place in places[:3])
    return f"{unit}s {first}, … ({len(places):,} {unit}s)"


class Problems:
    """What is wrong with one file: gathered in any order, told in the file's order."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._found: list[tuple[int, str]] = []
        self._texts: dict[str, str] = {}
        self.remark = ""
        """what to say of them all, after them; no problem of its own"""

    def add(self, place: int, text: str) -> None:
        """A problem of the row at `place`; 0 for one of the file as a whole."""
        # A million rows with the same fault share one text.
        self._found.append((place, self._texts.setdefault(text, text)))

    def __len__(self) -> int:
        return len(self._found)

    @property
    def of_file(self) -> bool:
        """Whether the file as a whole has a problem, which leaving rows out does not cure."""
        return any(place == 0 for place, _ in self._found)

    def places(self) -> set[int]:
        """Where the bad rows stand."""
        return {place for place, _ in self._found if place}

    def texts(self) -> tuple[str, ...]:
        """Each problem with its place before it; those of the file as a whole first."""
        unit = self._table.unit
        places: dict[str, list[int]] = {}
        for place, text in sorted(self._found, key=lambda found: found[0]):
            places.setdefault(text, []).append(place)
        told = [
            (at, text)
            for text, found in places.items()
            for at in (
                [found] if len(found) > _TOLD_APART and 0 not in found else [[place] for place in found]
            )
        ]
        told.sort(key=lambda one: one[0][0])
        return tuple(f"{_where(unit, at)}: {text}" if at != [0] else text for at, text in told)

    def error(self) -> DataError:
        """All of them as one error."""
        told = listed(str(self._table.path), self.texts())
        return DataError(f"{told}\n{self.remark}" if self.remark else told)
