"""The objects of a file that other tools wrote: JSONL, JSON values one after another, or an archive of
Inspect.

Unlike `json_rows`, which refuses what an items file should not have, this takes whatever a tool exports:
wrappers around a list, one object alone, objects over several lines, objects as JSON texts, and tables as
pandas writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .encoding import BrokenFileError, read_text
from .json_rows import Row, WrittenNumber
from .peers.eval_archive import SUFFIX, read_eval_archive
from .table import Problems, Table

_DECODER = json.JSONDecoder(parse_float=WrittenNumber, parse_int=WrittenNumber)
_SPACE = re.compile(r"[\s,\x1e]*")
_WRAPPERS = ("data", "runs", "traces", "spans")
"""Keys of an object that holds nothing but a list of the records."""


def objects_in(table: Table, problems: Problems) -> Iterator[tuple[int, Row]]:
    """Each object of the file with its number: its line, or its place in a JSON file."""
    if table.suffix == SUFFIX:
        yield 1, read_eval_archive(table.path)
        return
    if table.suffix == ".parquet":
        yield from table.rows(problems.add)
        return
    if table.suffix != ".json":
        if not table.is_by_line:
            raise BrokenFileError(table.path, "traces come as JSON, JSONL or Parquet. Export them so.")
        yield from table.rows(problems.add)
        return
    for number, record in enumerate(_records(table), 1):
        if isinstance(record, dict):
            yield number, record
        else:
            problems.add(number, "not an object. Each trace must be one JSON object.")


def _records(table: Table) -> list[Any]:
    values = list(_values(table))
    if len(values) != 1:
        return values
    whole = values[0]
    if isinstance(whole, dict) and (rows := _rows_of_a_table(whole)) is not None:
        return rows
    for wrapper in _WRAPPERS:
        if isinstance(whole, dict) and isinstance(whole.get(wrapper), list):
            whole = whole[wrapper]
    return [_object_of_text(record) for record in whole] if isinstance(whole, list) else [whole]


def _rows_of_a_table(whole: Row) -> list[Row] | None:
    """The rows of a table as `DataFrame.to_json` writes it: by columns (its default), by index or split."""
    if list(whole) == ["columns", "index", "data"] and all(isinstance(row, list) for row in whole["data"]):
        return [dict(zip(whole["columns"], row, strict=False)) for row in whole["data"]]
    parts = list(whole.values())
    if not parts or not all(isinstance(part, dict) and part for part in parts):
        return None
    if all(key.isdecimal() for key in whole):
        return parts
    rows = list(parts[0])
    if all(key.isdecimal() for key in rows) and all(list(part) == rows for part in parts):
        return [{column: part[row] for column, part in whole.items()} for row in rows]
    return None


def _object_of_text(record: Any) -> Any:
    """The object that a text holds, such as `trace.to_json()` in a list; anything else as it is."""
    if not isinstance(record, str) or isinstance(record, WrittenNumber) or record.lstrip()[:1] != "{":
        return record
    try:
        return _DECODER.decode(record)
    except (RecursionError, ValueError):
        return record


def _values(table: Table) -> Iterator[Any]:
    """The JSON values of a file; exporters that print write one after another."""
    text = read_text(table.path)
    at = _after_space(text, 0)
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except RecursionError:
            raise BrokenFileError(table.path, "nested too deeply. Export fewer levels.") from None
        except ValueError as error:
            raise BrokenFileError(table.path, f"not JSON ({error}). Export the file again.") from None
        yield value
        at = _after_space(text, at)


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
