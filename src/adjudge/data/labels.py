"""Human labels: a table with one value per row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from msgspec import Struct, structs

from ..records import FieldValue, Label, Protocol, Subject
from .encoding import BadRowError
from .items import fields_of
from .json_rows import Row
from .label_scales import LabelScales
from .named_columns import CHOICES, columns_of, finite_number, named_rows, text_of_cell
from .table import Problems, Table
from .text_hash import text_hash_on


class LabelFile(Struct, frozen=True):
    """The labels of a file, and how many of its rows have no value yet."""

    labels: tuple[Label, ...]
    n_empty: int = 0
    n_of_other_texts: int = 0
    """labels that are not used: the text that they are of is not the one that was judged"""
    path: str = ""
    """the file; empty for labels of the store"""


_SAME: Mapping[str, str] = MappingProxyType({})


def read_labels(
    path: str | Path,
    renames: Mapping[str, str] | None = None,
    classes: Collection[str] = (),
    protocols: Collection[Protocol] = (),
    scales: LabelScales | None = None,
    text_columns: Mapping[str, str] = _SAME,
) -> LabelFile:
    """The labels of a file, or one error that lists every problem; `renames` is column → column of the file.

    `classes` are names that a value may be, besides a number, a, b and tie. `protocols` say which columns
    hold the judged text, for the hash of labels without one; `text_columns` is the field of an item → its
    column in the file of items, which the labels may have too. Labels must be on their `scales`, where these
    are known. Without a column `criterion` the criterion is "": `label_join` gives it the name of the only
    one that was judged.
    """
    known = {name.casefold(): name for name in classes}
    labels: list[Label] = []
    seen: dict[tuple[str, str, str | None, str], int] = {}
    n_empty = 0
    table = Table(path)
    problems = Problems(table)
    for row_number, row in named_rows(table, problems, _NEEDED, _LABEL_DEFAULTS, renames):
        if row.get("value") is None:
            n_empty += 1
            continue
        label = _label(row, row_number, problems, known)
        if label is None:
            continue
        if scales is not None and (problem := scales.problem(label)):
            problems.add(row_number, f"{problem} Correct it.")
            if not isinstance(label.value, str):
                problems.remark = scales.advice
            continue
        if label.text_hash is None and protocols:
            label = structs.replace(
                label, text_hash=hash_of_row(label.criterion, row, protocols, text_columns)
            )
        key = (label.item, label.criterion, label.subject, label.rater)
        if key in seen:
            problems.add(
                row_number,
                f"rater '{label.rater}' has already labelled item '{label.item}'{_on(label.criterion)}"
                f" ({table.unit} {seen[key]}). Keep one of the two, or name the raters in a column 'rater'.",
            )
        seen.setdefault(key, row_number)
        labels.append(label)
    if not labels and not problems:
        problems.add(
            0,
            f"no labels. The columns are: {', '.join(columns_of(table))}. Fill in the column 'value', or"
            " name yours: --map labels.value=COLUMN.",
        )
    if problems:
        raise problems.error()
    return LabelFile(tuple(labels), n_empty, path=str(path))


def hash_of_row(
    criterion: str,
    row: Row,
    protocols: Collection[Protocol],
    text_columns: Mapping[str, str] = _SAME,
) -> str | None:
    """The hash of the text that a criterion is about, where the row of a label file has it."""
    texts = {
        name.removesuffix(" (text)"): value
        for name, value in row.items()
        if name not in LABEL_COLUMNS and isinstance(value, str)
    }
    renamed = {field: texts[column] for field, column in text_columns.items() if column in texts}
    return text_hash_on(criterion, protocols, _as_judged({**renamed, **texts}))


def _as_judged(texts: Mapping[str, str]) -> Mapping[str, FieldValue]:
    """The texts of a row as fields of its item: messages in JSON are a conversation there."""
    try:
        return fields_of(dict(texts))
    except BadRowError:
        return texts  # the item has no such conversation


LABEL_COLUMNS = ("item", "criterion", "subject", "rater", "value", "probability", "text_hash")
"""The columns of a label file; `adjudge sample` puts the texts of the item after them."""


def _on(criterion: str) -> str:
    return f" on '{criterion}'" if criterion else ""


_NEEDED = ("item", "criterion", "rater", "value")


_NO_CRITERION = "\0"
"""Stands for a missing column while a file is read: no cell can hold it."""


_LABEL_DEFAULTS = {"criterion": _NO_CRITERION, "rater": "rater"}


def _label(row: Row, row_number: int, problems: Problems, classes: Mapping[str, str]) -> Label | None:
    texts = {name: text_of_cell(row, name, row_number, problems) for name in ("item", "criterion", "rater")}
    value: Any = row["value"]
    text = str(value).strip().casefold()
    named = classes.get(text, text if text in CHOICES else None)
    number = None if named is not None else finite_number(value)
    if number is None and named is None:
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
            f"probability '{probability!s:.40}' is not between 0 and 1. Keep the value that adjudge sample"
            " wrote.",
        )
        return None
    if None in texts.values():
        return None
    return Label(
        item=str(texts["item"]),
        criterion=str(texts["criterion"]).removeprefix(_NO_CRITERION).strip(),
        rater=str(texts["rater"]).strip(),
        value=named if named is not None else number if number is not None else str(value),
        subject=cast("Subject | None", subject),
        probability=inclusion,
        text_hash=None if row.get("text_hash") is None else str(row["text_hash"]).strip() or None,
    )
