"""Scores of an audit that were made with another tool: each with its probe, and choices in both orders."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

from msgspec import Struct

from .json_rows import Row
from .named_columns import CHOICES, finite_number, named_rows, no_values, text_of_cell
from .table import Problems, Table


class ProbeScore(Struct, frozen=True):
    """The score (or choice) of an item under one probe of an audit; none where the judge failed."""

    item: str
    probe: str
    value: float | Literal["a", "b", "tie"] | None
    judge: str = "judge"
    criterion: str = "score"
    sample: str = ""
    group: str | None = None


class OrderChoice(Struct, frozen=True):
    """The choice of a pair in one order, in the item's frame; none where the judge failed."""

    item: str
    order: Literal["ab", "ba"]
    choice: Literal["a", "b", "tie"] | None
    judge: str = "judge"
    sample: str = ""
    group: str | None = None
    pair: str | None = None
    """identifies the two responses that were shown"""


def read_probe_scores(path: str | Path) -> tuple[tuple[ProbeScore, ...], tuple[OrderChoice, ...]]:
    """Scores under probes and choices in both orders, made elsewhere; or one error that lists every
    problem."""
    scores: list[ProbeScore] = []
    choices: list[OrderChoice] = []
    seen: dict[tuple[str, ...], int] = {}
    table = Table(path)
    problems = Problems(table)
    columns: dict[str, None] = {}
    for row_number, row in named_rows(table, problems, ("item",), {}, None, has_map=False):
        columns.update(dict.fromkeys(row))
        read = (
            _order_choice(row, row_number, problems)
            if "order" in row
            else _probe_score(row, row_number, problems)
        )
        if read is None:
            continue
        key = (
            (read.judge, read.item, read.order, read.sample)
            if isinstance(read, OrderChoice)
            else (read.judge, read.criterion, read.item, f"probe {read.probe}", read.sample)
        )
        if key in seen:
            problems.add(
                row_number,
                f"item '{read.item}' is there already ({table.unit} {seen[key]}). Keep one, or number them in"
                " a column 'sample'.",
            )
        seen.setdefault(key, row_number)
        if isinstance(read, OrderChoice):
            choices.append(read)
        else:
            scores.append(read)
    if not scores and not choices and not problems:
        problems.add(0, "no scores. Check that this is the right file.")
    if scores and "value" not in columns:
        problems.add(0, no_values("a value", columns, "Rename the one that holds the scores to 'value'."))
    if choices and "choice" not in columns:
        problems.add(0, no_values("a choice", columns, "Rename the one that holds the choices to 'choice'."))
    if problems:
        raise problems.error()
    return tuple(scores), tuple(choices)


def _probe_score(row: Row, row_number: int, problems: Problems) -> ProbeScore | None:
    if "probe" not in row:
        problems.add(
            row_number,
            "neither 'probe' nor 'order' is given. Needed: item, probe, value; or for pairs item, order,"
            " choice.",
        )
        return None
    texts = {name: text_of_cell(row, name, row_number, problems) for name in ("item", "probe")}
    value = row.get("value") or (0.0 if row.get("value") == 0 else None)
    number = None if value is None else finite_number(value)
    if value is not None and number is None and value not in CHOICES:
        problems.add(row_number, f"value '{value!s:.40}' is neither a number nor a, b or tie. Correct it.")
        return None
    if None in texts.values():
        return None
    return ProbeScore(
        item=str(texts["item"]),
        probe=str(texts["probe"]),
        value=number if number is not None else cast("Literal['a', 'b', 'tie'] | None", value),
        criterion=_or_default(row, "criterion", "score"),
        judge=_or_default(row, "judge", "judge"),
        sample=_or_default(row, "sample", ""),
        group=None if row.get("group") is None else str(row["group"]),
    )


def _lower(value: object) -> object:
    """A value without regard to case and outer spaces; none where it is empty."""
    return value.strip().lower() or None if isinstance(value, str) else value


def _order_choice(row: Row, row_number: int, problems: Problems) -> OrderChoice | None:
    item = text_of_cell(row, "item", row_number, problems)
    order, choice = (_lower(row.get(name)) for name in ("order", "choice"))
    if order not in ("ab", "ba"):
        problems.add(row_number, f"order '{order!s:.40}' is neither ab nor ba. Correct it.")
        return None
    if choice is not None and choice not in CHOICES:
        problems.add(
            row_number,
            f"choice '{choice!s:.40}' is none of a, b and tie. Correct it, or leave it empty for a failure.",
        )
        return None
    if item is None:
        return None
    return OrderChoice(
        item=item,
        order=order,
        choice=cast("Literal['a', 'b', 'tie'] | None", choice),
        judge=_or_default(row, "judge", "judge"),
        sample=_or_default(row, "sample", ""),
        group=None if row.get("group") is None else str(row["group"]),
        pair=None if row.get("pair") is None else str(row["pair"]),
    )


def _or_default(row: Row, name: str, default: str) -> str:
    value = row.get(name)
    return default if value is None or not str(value).strip() else str(value)
