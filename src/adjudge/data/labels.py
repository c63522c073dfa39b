"""Human labels, and scores made with other tools: tables with one value per row.

Labels: `item, value`, optional `criterion, rater, subject, probability`. Scores: `item, value`, optional `system,
criterion, group, model`. Scores under probes, for an audit: `item, probe, value` or `item, order, choice`. A file without a column `criterion` is about the only criterion there is. A row with an empty value has not been filled in yet: it is counted, not read.
Other columns (the texts that a rater was shown) are ignored.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct

from ..records import FieldValue, Item, Label, Result, Subject
from .encoding import BadRowError, BrokenFileError
from .items import has_field, renamed
from .json_rows import Row
from .table import Problems, Table

CHOICES = ("a", "b", "tie")


class LabelFile(Struct, frozen=True):
    """The labels of a file, and how many of its rows have no value yet."""

    labels: tuple[Label, ...]
    n_empty: int = 0


def read_labels(
    path: str | Path, renames: Mapping[str, str] | None = None, classes: Collection[str] = ()
) -> LabelFile:
    """The labels of a file, or one error that lists every problem; `renames` is column → column of the file.

    `classes` are names that a value may be, besides a number, a, b and tie.
    Without a column `criterion` the criterion is "": `label_join` gives it the name of the only one that was judged.
    """
    known = {name.casefold(): name for name in classes}
    labels: list[Label] = []
    seen: dict[tuple[str, str, str | None, str], int] = {}
    n_empty = 0
    table = Table(path)
    problems = Problems(table)
    columns: dict[str, None] = {}
    for row_number, row in named_rows(table, problems, _LABEL_COLUMNS, _LABEL_DEFAULTS, renames):
        columns.update(dict.fromkeys(row))
        if row.get("value") is None:
            n_empty += 1
            continue
        label = _label(row, row_number, problems, known)
        if label is None:
            continue
        key = (label.item, label.criterion, label.subject, label.rater)
        if key in seen:
            problems.add(
                row_number,
                f"rater '{label.rater}' has already labelled item '{label.item}'{_on(label.criterion)} ({table.unit} "
                f"{seen[key]}). Keep one of the two, or name the raters in a column 'rater'.",
            )
        seen.setdefault(key, row_number)
        labels.append(label)
    if not labels and not problems:
        problems.add(
            0,
            f"no labels. The columns are: {', '.join(columns)}. Fill in the column 'value', or name yours: "
            "--map value=COLUMN.",
        )
    if problems:
        raise problems.error()
    return LabelFile(tuple(labels), n_empty)


def _on(criterion: str) -> str:
    return f" on '{criterion}'" if criterion else ""


_LABEL_COLUMNS = ("item", "criterion", "rater", "value")
_NO_CRITERION = "\0"
"""Stands for a missing column while a file is read: no cell can hold it."""
_LABEL_DEFAULTS = {"criterion": _NO_CRITERION, "rater": "rater"}
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
    """Scores under probes and choices in both orders, made elsewhere; or one error that lists every problem."""
    scores: list[ProbeScore] = []
    choices: list[OrderChoice] = []
    seen: dict[tuple[str, ...], int] = {}
    table = Table(path)
    problems = Problems(table)
    for row_number, row in named_rows(table, problems, ("item",), {}, None):
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
                f"item '{read.item}' is there already ({table.unit} {seen[key]}). Keep one, or number them in a column 'sample'.",
            )
        seen.setdefault(key, row_number)
        if isinstance(read, OrderChoice):
            choices.append(read)
        else:
            scores.append(read)
    if not scores and not choices and not problems:
        problems.add(0, "no scores. Check that this is the right file.")
    if problems:
        raise problems.error()
    return tuple(scores), tuple(choices)


def _probe_score(row: Row, row_number: int, problems: Problems) -> ProbeScore | None:
    if "probe" not in row:
        problems.add(
            row_number,
            "neither 'probe' nor 'order' is given. Needed: item, probe, value; or for pairs item, order, choice.",
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
        value=number if number is not None else cast(Literal["a", "b", "tie"] | None, value),
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
        choice=cast(Literal["a", "b", "tie"] | None, choice),
        judge=_or_default(row, "judge", "judge"),
        sample=_or_default(row, "sample", ""),
        group=None if row.get("group") is None else str(row["group"]),
        pair=None if row.get("pair") is None else str(row["pair"]),
    )


def _or_default(row: Row, name: str, default: str) -> str:
    value = row.get(name)
    return default if value is None or not str(value).strip() else str(value)


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
) -> Iterator[tuple[int, Row]]:
    """The rows; a missing column is reported once, for the whole file, or has its default in every row.

    An empty CSV cell leaves no key in its row, so one row is not enough to find the columns.
    """
    try:
        rows = _renamed_rows(table, problems, renames or {})
        first = list(islice(rows, _ROWS_FOR_COLUMNS))
        columns = dict.fromkeys(key for _, row in first for key in row)
        absent = [name for name in needed if name not in columns and first]
        # A column with a similar name is more likely misspelt than another thing.
        missing = [
            name
            for name in absent
            if name != "value" and (name not in defaults or _similar(name, columns, needed))
        ]
        if missing:
            problems.add(0, _missing_text(missing, list(columns), needed))
            return
        filled = {name: defaults[name] for name in absent if name in defaults}
        for row_number, row in chain(first, rows):
            yield row_number, row | filled if filled else row
    except BrokenFileError as broken:
        if not problems:
            raise
        problems.add(0, broken.problem)


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
            problems.add(0, f"map {name}={field}: no row has a column '{field}'. Check the name.")


def _similar(name: str, columns: Iterable[str], needed: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(name, [column for column in columns if column not in needed], 1)


def _missing_text(missing: Sequence[str], columns: Sequence[str], needed: Sequence[str]) -> str:
    """The missing columns, the columns of the file, and those that may be meant."""
    named = " and ".join(f"'{name}'" for name in missing)
    is_are = f"column {named} is" if len(missing) == 1 else f"columns {named} are"
    similar = {name: near[0] for name in missing if (near := _similar(name, columns, needed))}
    hints = [f"Rename '{column}' to '{name}', if that is it." for name, column in similar.items()]
    shown = ", ".join(columns[:_COLUMNS_SHOWN]) + (", …" if len(columns) > _COLUMNS_SHOWN else "")
    hints = hints or [f"Name the column that holds it with --map {missing[0]}=COLUMN."]
    return " ".join([f"{is_are} missing; found: {shown}; needed: {', '.join(needed)}.", *hints])


def _label(row: Row, row_number: int, problems: Problems, classes: Mapping[str, str]) -> Label | None:
    texts = {name: text_of_cell(row, name, row_number, problems) for name in ("item", "criterion", "rater")}
    value: Any = row["value"]
    named = classes.get(str(value).strip().casefold())
    number = None if named is not None else finite_number(value)
    if number is None and named is None and value not in CHOICES:
        known = f", nor one of {', '.join(classes.values())}" if classes else ""
        problems.add(
            row_number, f"value '{value!s:.40}' is neither a number nor a, b or tie{known}. Correct it."
        )
        return None
    subject = row.get("subject")
    if subject not in (None, "a", "b"):
        problems.add(
            row_number, f"subject '{subject!s:.40}' is neither a nor b. Correct it, or leave it out."
        )
        return None
    probability = row.get("probability")
    inclusion = None if probability is None else finite_number(probability)
    if probability is not None and (inclusion is None or not 0 < inclusion <= 1):
        problems.add(
            row_number,
            f"probability '{probability!s:.40}' is not between 0 and 1. Keep the value that adjudge sample wrote.",
        )
        return None
    if None in texts.values():
        return None
    return Label(
        item=str(texts["item"]),
        criterion=str(texts["criterion"]).removeprefix(_NO_CRITERION),
        rater=str(texts["rater"]),
        value=named if named is not None else number if number is not None else str(value),
        subject=cast(Subject | None, subject),
        probability=inclusion,
    )


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
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and "_" not in str(value) else None
