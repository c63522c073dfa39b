"""Scores that were made with other tools: a table with one value per row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, cast

from ..records import FieldValue, Item, Result
from .items import renamed
from .named_columns import CHOICES, finite_number, named_rows, text_of_cell
from .table import Problems, Table

_SCORE_NEEDS = ("item", "criterion", "value")


def read_scores(
    path: str | Path, renames: Mapping[str, str] | None = None, *, criterion: str = "score"
) -> tuple[Result, ...]:
    """Scores made with another tool, as results; or one error that lists every problem.

    `criterion` is the name of the criterion where the file has no column for it.
    """
    results: list[Result] = []
    table = Table(path)
    problems = Problems(table)
    for row_number, row in named_rows(table, problems, _SCORE_NEEDS, {"criterion": criterion}, renames):
        texts = {name: text_of_cell(row, name, row_number, problems) for name in ("item", "criterion")}
        value = row.get("value")
        number = None if value is None else finite_number(value)
        choice = value if isinstance(value, str) and value in CHOICES else None
        if value is not None and number is None and choice is None:
            problems.add(
                row_number, f"value '{value!s:.40}' is neither a number nor a, b or tie. Correct it."
            )
        if None in texts.values():
            continue
        results.append(
            Result(
                item=str(texts["item"]),
                protocol="",
                criterion=str(texts["criterion"]),
                model=str(row.get("model") or "scores"),
                status="unparsed" if value is None else "ok",
                system=str(row.get("system") or "all"),
                group=None if row.get("group") is None else str(row["group"]),
                value=number,
                choice=cast(Literal["a", "b", "tie"] | None, choice if number is None else None),
                n_samples=1,
                n_failed=int(value is None),
            )
        )
    if not results and not problems:
        problems.add(0, "no scores. Check that this is the right file.")
    if problems:
        raise problems.error()
    return tuple(results)


_SCORE_COLUMNS = ("item", "criterion", "value", "system", "group", "model")


def items_of_scores(path: str | Path, renames: Mapping[str, str] | None = None) -> Iterator[Item]:
    """The items of a file of scores with its other columns as their fields, for agreement by field."""
    table = Table(path)
    for _, original in table.rows(lambda _line, _problem: None):
        row = renamed(original, renames) if renames else original
        if row.get("item") is not None:
            fields = {
                name: str(value)
                for name, value in row.items()
                if name not in _SCORE_COLUMNS and value is not None
            }
            group = None if row.get("group") is None else str(row["group"])
            yield Item(id=str(row["item"]), fields=cast("dict[str, FieldValue]", fields), group=group)
