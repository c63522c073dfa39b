"""Parquet as rows, by polars, which is imported only when a Parquet file is read.

Values become what JSON would give: texts, `Number`s, booleans, lists and objects. Knows nothing
of which columns a table should have.
"""

from __future__ import annotations

import datetime
import decimal
import io
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import DataError
from .json_rows import Number, Report, Row, refuse_long_fields, texts
from .lines import BadRowError, BrokenFileError, is_gzip, raw_blocks

if TYPE_CHECKING:
    import polars

ROWS_AT_ONCE = 5_000
_MAGIC = b"PAR1"


def parquet_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """The rows with their numbers from 1. A packed file (.parquet.gz) is held in memory as a whole."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise BrokenFileError(path, "Parquet needs polars. Install it: pip install 'adjudge[data]'") from None
    number = 0
    for frame in _frames(path, pl):
        for values in frame.iter_rows(named=True):
            number += 1
            try:
                row = _row(values)
            except BadRowError as bad:
                report(number, str(bad))
            else:
                yield number, row


def _frames(path: Path, pl: Any) -> Iterator[polars.DataFrame]:
    """The table in slices, so that memory does not grow with the number of rows."""
    # Opening it here gives the same messages for a file that is missing or may not be read.
    head = next(raw_blocks(path), b"")
    if not head:
        return
    if not head.startswith(_MAGIC):
        raise BrokenFileError(path, "not a Parquet file. Write it anew, or name it by what it is.")
    try:
        source = io.BytesIO(b"".join(raw_blocks(path))) if is_gzip(path) else path
        # Without globbing: a file's name may contain [ ] or *.
        table = pl.scan_parquet(source, glob=False)
        start = 0
        while len(frame := table.slice(start, ROWS_AT_ONCE).collect()):
            yield frame
            start += len(frame)
    # polars panics on some damaged files; a panic is no Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise BrokenFileError(path, f"damaged Parquet data ({str(error)[:200]}). Write it anew.") from None


def _row(values: dict[str, Any]) -> Row:
    row = {name: _plain(name, value) for name, value in values.items()}
    for name, value in row.items():
        if any("\0" in text for text in texts(value)):
            raise BadRowError(f"NUL character in field '{name:.80}'. Remove it.")
    refuse_long_fields(row)
    return row


def _plain(name: str, value: object) -> object:
    """A value in the terms of JSON; dates and times in ISO 8601."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise BadRowError(f"field '{name:.80}' is {value}. Store null where there is no value.")
    if isinstance(value, int | float | decimal.Decimal):
        return Number(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list):
        return [_plain(name, entry) for entry in value]
    if isinstance(value, dict):
        return {key: _plain(name, entry) for key, entry in value.items()}
    raise BadRowError(
        f"field '{name:.80}' holds {type(value).__name__}. Store it as text, a number or a list of them."
    )


def write_parquet(rows: Iterator[dict[str, Any]], columns: Mapping[str, type], file: IO[bytes]) -> None:
    """Write rows as one Parquet file; `columns` are their names with the Python type of each."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise DataError("Parquet needs polars. Install it: pip install 'adjudge[data]'") from None
    # The types are given, not guessed: two exports must fit together though a column of one is empty.
    kinds: dict[type, Any] = {str: pl.String, float: pl.Float64, int: pl.Int64, list: pl.List(pl.String)}
    schema = {name: kinds[kind] for name, kind in columns.items()}
    pl.DataFrame(list(rows), schema=schema).write_parquet(file)
