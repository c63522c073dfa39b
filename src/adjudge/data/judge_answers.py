"""Answers of several judges on the same items, made with another tool: what `cascade --scores` and `tune
--scores` read.

One row for each item and judge: `item`, the judge's name, and `choice` (a, b, tie or a class, which may be a
number or true and false) or `value` (a number); optional `confidence`, `price` (USD for one judgment),
`group` and `criterion`. An empty answer is a failed judgment.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from ..errors import DataError
from .json_rows import Row
from .labels import LabelFile, read_labels
from .named_columns import CHOICES, finite_number, named_rows, no_values, text_of_cell
from .table import Problems, Table


class JudgeAnswer(Struct, frozen=True):
    """What one judge says of one item."""

    item: str
    judge: str
    answer: float | str | None
    """a choice, a class or a score; none where the judgment failed"""
    confidence: float | None = None
    price: float | None = None
    group: str | None = None
    criterion: str | None = None
    is_choice: bool = False
    """whether the answer stands in the column `choice`: a number there is a class, near to no other"""


def read_judge_answers(path: str | Path, name_column: str) -> tuple[JudgeAnswer, ...]:
    """The rows of a file; `name_column` holds the judge's name (`judge` or `candidate`). All problems are in
    one error."""
    table = Table(path)
    problems = Problems(table)
    answers: list[JudgeAnswer] = []
    seen: dict[tuple[str, str, str | None], int] = {}
    columns: dict[str, None] = {}
    needed = ("item", name_column)
    for row_number, row in named_rows(table, problems, needed, {}, None, has_map=False):
        columns.update(dict.fromkeys(row))
        answer = _answer_of(row, row_number, name_column, problems)
        if answer is None:
            continue
        key = answer.item, answer.judge, answer.criterion
        if key in seen:
            problems.add(
                row_number,
                f"{name_column} '{answer.judge}' has already answered on item '{answer.item}' ({table.unit}"
                f" {seen[key]}). Keep one of the two.",
            )
        seen.setdefault(key, row_number)
        answers.append(answer)
    if not problems and all(answer.answer is None for answer in answers):
        advice = f"Needed: item, {name_column}, and choice or value."
        problems.add(0, no_values("an answer", columns, advice))
    if problems:
        raise problems.error()
    return tuple(answers)


def _answer_of(row: Row, row_number: int, name_column: str, problems: Problems) -> JudgeAnswer | None:
    item, judge = (text_of_cell(row, name, row_number, problems) for name in ("item", name_column))
    numbers: dict[str, float | None] = {}
    for name in ("confidence", "price"):
        cell = row.get(name)
        numbers[name] = None if _is_empty(cell) else finite_number(cell)
        if not _is_empty(cell) and (numbers[name] is None or (name == "price" and (numbers[name] or 0) < 0)):
            needed = "a finite number" if name == "confidence" else "a price in USD, 0 or more"
            problems.add(row_number, f"{name} '{cell!s:.40}' is not {needed}. Correct it, or leave it empty.")
            return None
    is_choice = not _is_empty(row.get("choice"))
    given = row.get("choice") if is_choice else row.get("value")
    if isinstance(given, list | dict) or (isinstance(given, bool) and not is_choice):
        problems.add(row_number, f"answer '{given!s:.40}' is neither a choice nor a number. Correct it.")
        return None
    if item is None or judge is None:
        return None
    group, criterion = (
        None if _is_empty(row.get(name)) else str(row[name]) for name in ("group", "criterion")
    )
    answer = _choice_or_number(given)
    return JudgeAnswer(
        item, judge, answer, group=group, criterion=criterion, is_choice=is_choice or isinstance(answer, str),
        **numbers,
    )  # fmt: skip


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _choice_or_number(cell: object) -> float | str | None:
    if _is_empty(cell):
        return None
    if isinstance(cell, bool):
        return str(cell).lower()
    number = finite_number(cell)
    if number is not None:
        return number
    text = str(cell).strip()
    return text.lower() if text.lower() in (*CHOICES, "true", "false") else text


def answers_about(answers: Collection[JudgeAnswer], criterion: str | None) -> tuple[JudgeAnswer, ...]:
    """The answers on one criterion: the one that is named, or the only one of the file."""
    names = list(dict.fromkeys(answer.criterion for answer in answers if answer.criterion is not None))
    if criterion is None and len(names) > 1:
        raise DataError(
            f"The scores are about several criteria ({', '.join(names)}). Choose one: --criterion NAME."
        )
    chosen = tuple(
        answer for answer in answers if None in (criterion, answer.criterion) or answer.criterion == criterion
    )
    if not chosen:
        raise DataError(f"--criterion {criterion}: the scores are about {', '.join(names)}.")
    return chosen


def criterion_of_labels(labels: LabelFile, answers: Collection[JudgeAnswer], given: str | None) -> str | None:
    """The criterion of the labels: the one that is named, or that of the scores where the labels have it."""
    named = next((answer.criterion for answer in answers if answer.criterion is not None), None)
    return given or (named if any(label.criterion == named for label in labels.labels) else None)


def read_labels_of_answers(path: str | Path, answers: Collection[JudgeAnswer]) -> LabelFile:
    """Labels whose values may also be the classes that the judges, or other labels, name."""
    classes = {answer.answer for answer in answers if isinstance(answer.answer, str)} - set(CHOICES)
    if classes:
        cells = (row.get("value") for _, row in Table(path).rows(lambda _line, _problem: None))
        texts = (str(cell).strip() for cell in cells if not _is_empty(cell))
        classes |= {text for text in texts if finite_number(text) is None and text.lower() not in CHOICES}
    return read_labels(path, classes=sorted(classes))
