"""Parquet and Excel as rows. polars is imported only here. Values become what JSON would give."""

from __future__ import annotations

import datetime
import decimal
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..errors import DataError
from .encoding import LINE_LIMIT, BadRowError, BrokenFileError, is_gzip, raw_blocks, read_whole
from .excel_bounds import check_excel
from .json_rows import Report, Row, WrittenNumber, refuse_long_fields, texts
from .parquet_bounds import check_parquet

if TYPE_CHECKING:
    import polars

    PolarsFrame = polars.DataFrame


ROWS_AT_ONCE = 5_000
BYTES_AT_ONCE = 16_000_000
"""Rows that become Python objects at the same time take no more, unless a single row does."""

PARQUET_MAGIC = b"PAR1"


def parquet_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """The rows with their numbers from 1. A compressed file (.parquet.gz) is held in memory."""
    return _frame_rows(_frames(path, polars_for("Parquet")), report)


def excel_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """The rows below the header of the first sheet, with their numbers from 1. The file is held in memory."""
    return _frame_rows(_first_sheet(path, polars_for("Excel")), report)


def polars_for(what: str) -> Any:
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise DataError(f"{what} needs polars. Install it: pip install 'adjudge[data]'") from None
    return pl


def _frame_rows(frames: Iterable[polars.DataFrame], report: Report) -> Iterator[tuple[int, Row]]:
    number = 0
    for frame in frames:
        for values in _values(frame):
            number += 1
            try:
                row = _parquet_row(values)
            except BadRowError as bad:
                report(number, str(bad))
            else:
                yield number, row


def _values(frame: polars.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows of a slice. A text that many rows share is stored once in a file, but copied for each row: so
    rows are taken by their size, and one that is far too large is not taken at all.
    """
    sizes = _row_sizes(frame)
    start = 0
    while start < len(frame):
        if sizes[start] > LINE_LIMIT:
            yield {"": _TooLarge(sizes[start])}
            start += 1
            continue
        end, size = start, 0
        while end < len(frame) and (end == start or size + sizes[end] <= BYTES_AT_ONCE):
            size += sizes[end]
            end += 1
        yield from frame[start:end].iter_rows(named=True)
        start = end


class _TooLarge(NamedTuple):
    """Stands for the values of a row that is too large to be read."""

    size: int


def _row_sizes(frame: polars.DataFrame) -> list[int]:
    """About how many bytes the texts and lists of each row take."""
    import polars as pl

    if not frame.width:
        return [0] * len(frame)
    sizes = [_size(pl.col(name), kind).cast(pl.UInt64) for name, kind in frame.schema.items()]
    return frame.select(pl.sum_horizontal(*sizes, ignore_nulls=True).alias("size"))["size"].to_list()


def _size(value: polars.Expr, kind: Any) -> polars.Expr:
    """An expression for the bytes of a value of a type."""
    import polars as pl

    if isinstance(kind, pl.String):
        return value.str.len_bytes()
    if isinstance(kind, pl.Binary):
        return value.bin.size()
    if isinstance(kind, pl.List):
        return value.list.eval(_size(pl.element(), kind.inner).cast(pl.UInt64).fill_null(0) + 8).list.sum()
    if isinstance(kind, pl.Array):
        return _size(value.arr.to_list(), pl.List(kind.inner))
    if isinstance(kind, pl.Struct):
        fields = (_size(value.struct.field(field.name), field.dtype) for field in kind.fields)
        return pl.sum_horizontal(pl.lit(8), *(size.cast(pl.UInt64).fill_null(0) for size in fields))
    return value.is_null().cast(pl.UInt64) + 8


def _first_sheet(path: Path, pl: Any) -> Iterator[polars.DataFrame]:
    data = read_whole(path)
    check_excel(path, data)
    try:
        yield pl.read_excel(io.BytesIO(data), engine="calamine", infer_schema_length=None)
    except ModuleNotFoundError:
        raise DataError("Excel files need fastexcel. Install it: pip install 'adjudge[data]'") from None
    # The reader of Excel files has its own errors, which it may not export; its panic is not an Exception.
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise BrokenFileError(
            path,
            f"not an Excel file that can be read ({str(error)[:200]}). Save it again as .xlsx, or as .csv.",
        ) from None


def _frames(path: Path, pl: Any) -> Iterator[polars.DataFrame]:
    """The table in slices, so that memory does not grow with the number of rows."""
    # Opened here for the usual messages about a missing or unreadable file.
    head = next(raw_blocks(path), b"")
    if not head:
        return
    if not head.startswith(PARQUET_MAGIC):
        raise BrokenFileError(path, "not a Parquet file. Write it again, or give it the right suffix.")
    try:
        source: io.BytesIO | Path = io.BytesIO(read_whole(path)) if is_gzip(path) else path
        if isinstance(source, Path):
            with source.open("rb") as opened:
                check_parquet(path, opened)
        else:
            check_parquet(path, source)
        # Without globbing: a file's name may contain [ ] or *.
        table = pl.scan_parquet(source, glob=False)
        start = 0
        while len(frame := table.slice(start, ROWS_AT_ONCE).collect()):
            yield frame
            start += len(frame)
    except BrokenFileError:
        raise
    # polars panics on some damaged files; a panic is not an Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise BrokenFileError(path, f"damaged Parquet data ({str(error)[:200]}). Write it again.") from None


def _parquet_row(values: dict[str, Any]) -> Row:
    if isinstance(large := values.get(""), _TooLarge):
        raise BadRowError(
            f"about {large.size // 1_000_000:,} MB in one record (the limit is {LINE_LIMIT // 1_000_000} MB)."
            " Shorten it."
        )
    row = {name: _json_value(name, value) for name, value in values.items()}
    for name, value in row.items():
        if any("\0" in text for text in texts(value)):
            raise BadRowError(f"NUL character in field '{name:.80}'. Remove it.")
    refuse_long_fields(row)
    return row


def _json_value(name: str, value: object) -> object:
    """A value as JSON would give it; dates and times in ISO 8601."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise BadRowError(f"field '{name:.80}' is {value}. Store null where there is no value.")
    if isinstance(value, int | float | decimal.Decimal):
        return WrittenNumber(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list):
        return [_json_value(name, entry) for entry in value]
    if isinstance(value, dict):
        return {key: _json_value(name, entry) for key, entry in value.items()}
    raise BadRowError(
        f"field '{name:.80}' holds {type(value).__name__}. Store it as text, a number or a list of them."
    )


def write_parquet(rows: Iterator[dict[str, Any]], columns: Mapping[str, type], file: IO[bytes]) -> None:
    """Write rows as one Parquet file; `columns` are their names with the Python type of each."""
    frame_of(rows, columns).write_parquet(file)


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> polars.DataFrame:
    """Rows as a polars frame; `columns` are their names with the Python type of each."""
    pl = polars_for("A frame")
    # Explicit types: two exports must have the same schema even if a column of one is empty.
    quotes = pl.List(pl.Struct({"quote": pl.String, "grounded": pl.Boolean}))
    kinds: dict[type, Any] = {
        **{str: pl.String, float: pl.Float64, int: pl.Int64, list: pl.List(pl.String)},
        **{tuple: quotes, dict: pl.String},
    }
    schema = {name: kinds[kind] for name, kind in columns.items()}
    # Names that differ from row to row fit into no schema: they are JSON text.
    maps = [name for name, kind in columns.items() if kind is dict]
    as_text = ({**row, **{name: msgspec.json.encode(row[name]).decode() for name in maps}} for row in rows)
    frame: polars.DataFrame = pl.DataFrame(list(as_text), schema=schema)
    return frame
