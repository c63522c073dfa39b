"""The columns of a table of labels or scores: which are needed, which were meant, and the values of their
cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from ..did_you_mean import nearest
from .encoding import BadRowError, BrokenFileError
from .items import has_field, renamed
from .json_rows import Row
from .table import Problems, Table

CHOICES = ("a", "b", "tie")


_COLUMNS_SHOWN = 20
"""How many columns of a file a message lists."""


_ROWS_FOR_COLUMNS = 200
"""A column that is empty in so many rows counts as missing."""


def named_rows(
    table: Table,
    problems: Problems,
    needed: Sequence[str],
    defaults: Mapping[str, str],
    renames: Mapping[str, str] | None,
    *,
    has_map: bool = True,
) -> Iterator[tuple[int, Row]]:
    """The rows; a missing column is reported once, for the whole file, or has its default in every row. A
    column without a single value is missing.

    Without `has_map`, the command that reads them has no --map, and a column can only be renamed.
    """
    try:
        rows = _renamed_rows(table, problems, renames or {})
        first = list(islice(rows, _ROWS_FOR_COLUMNS))
        columns = dict.fromkeys(key for _, row in first for key in row)
        empty = {name for name in defaults if all(_is_blank(row.get(name)) for _, row in first)}
        absent = [name for name in needed if (name not in columns or name in empty) and first]
        # A column with a similar name is more likely misspelt than another thing.
        missing = [
            name
            for name in absent
            if name != "value" and (name not in defaults or _similar(name, columns, needed))
        ]
        if missing:
            problems.add(0, _missing_text(missing, list(columns), needed, has_map))
            return
        filled = {name: defaults[name] for name in absent if name in defaults}
        for row_number, row in chain(first, rows):
            yield row_number, _with_defaults(row, filled) if filled else row
    except BrokenFileError as broken:
        if not problems:
            raise
        problems.add(0, broken.problem)


def _is_blank(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _with_defaults(row: Row, defaults: Mapping[str, str]) -> Row:
    return row | {name: text for name, text in defaults.items() if _is_blank(row.get(name))}


def _renamed_rows(table: Table, problems: Problems, renames: Mapping[str, str]) -> Iterator[tuple[int, Row]]:
    seen: set[str] = set()
    n_rows = 0
    for row_number, row in table.rows(problems.add):
        n_rows += 1
        seen.update(field for field in renames.values() if field not in seen and has_field(row, field))
        try:
            yield row_number, renamed(row, renames) if renames else row
        except BadRowError as bad:
            problems.add(row_number, str(bad))
    for name, field in renames.items():
        if n_rows and field not in seen:
            problems.add(
                0,
                f"map {name}={field}: no row has a column '{field}'. Check the name, or say which file is"
                f" meant: --map labels.{name}={field}, --map scores.{name}={field}.",
            )


def columns_of(table: Table) -> list[str]:
    """The columns of the file itself, without those that have a default."""
    rows = islice(table.rows(lambda _number, _problem: None), _ROWS_FOR_COLUMNS)
    return list(dict.fromkeys(key for _, row in rows for key in row))


def no_values(what: str, columns: Iterable[str], advice: str) -> str:
    """What to say of a file in which no row has the value that all is about."""
    listed = list(columns)
    shown = ", ".join(listed[:_COLUMNS_SHOWN]) + (", …" if len(listed) > _COLUMNS_SHOWN else "")
    return f"no row has {what}. The columns are: {shown}. {advice}"


def _similar(name: str, columns: Iterable[str], needed: Sequence[str]) -> str:
    return nearest(name, [column for column in columns if column not in needed])


def _missing_text(
    missing: Sequence[str], columns: Sequence[str], needed: Sequence[str], has_map: bool
) -> str:
    """The missing columns, the columns of the file, and those that may be meant."""
    named = " and ".join(f"'{name}'" for name in missing)
    is_are = f"column {named} is" if len(missing) == 1 else f"columns {named} are"
    similar = {name: near for name in missing if (near := _similar(name, columns, needed))}
    hints = [f"Rename '{column}' to '{name}', if that is it." for name, column in similar.items()]
    shown = ", ".join(columns[:_COLUMNS_SHOWN]) + (", …" if len(columns) > _COLUMNS_SHOWN else "")
    if not hints and has_map:
        hints = [f"Name the column that holds it with --map {missing[0]}=COLUMN."]
    hints = hints or [f"Rename the column that holds it to '{missing[0]}'."]
    return " ".join([f"{is_are} missing; found: {shown}; needed: {', '.join(needed)}.", *hints])


def text_of_cell(row: Row, name: str, row_number: int, problems: Problems) -> str | None:
    value = row.get(name)
    if value is None or isinstance(value, list | dict) or not str(value).strip():
        problems.add(row_number, f"'{name}' is empty. Fill it in.")
        return None
    return str(value)


def finite_number(value: Any) -> float | None:
    """The number, also from a text; none where it is not finite, or a boolean."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and "_" not in str(value) else None
