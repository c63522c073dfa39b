"""Answers of several judges on the same items, made with another tool: what `cascade --scores` and `tune
--scores` read.

One row for each item and judge: `item`, the judge's name, and `choice` (a, b, tie or a class) or `value` (a
number); optional `confidence`, `price` (USD for one judgment) and `group`. An empty answer is a failed
judgment.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

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


def read_judge_answers(path: str | Path, name_column: str) -> tuple[JudgeAnswer, ...]:
    """The rows of a file; `name_column` holds the judge's name (`judge` or `candidate`). All problems are in
    one error."""
    table = Table(path)
    problems = Problems(table)
    answers: list[JudgeAnswer] = []
    seen: dict[tuple[str, str], int] = {}
    columns: dict[str, None] = {}
    needed = ("item", name_column)
    for row_number, row in named_rows(table, problems, needed, {}, None, has_map=False):
        columns.update(dict.fromkeys(row))
        answer = _answer_of(row, row_number, name_column, problems)
        if answer is None:
            continue
        key = answer.item, answer.judge
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
    given = row.get("choice") if not _is_empty(row.get("choice")) else row.get("value")
    if isinstance(given, bool | list | dict):
        problems.add(row_number, f"answer '{given!s:.40}' is neither a choice nor a number. Correct it.")
        return None
    if item is None or judge is None:
        return None
    group = row.get("group")
    return JudgeAnswer(
        item, judge, _choice_or_number(given), group=None if _is_empty(group) else str(group), **numbers
    )


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _choice_or_number(cell: object) -> float | str | None:
    if _is_empty(cell):
        return None
    number = finite_number(cell)
    if number is not None:
        return number
    text = str(cell).strip()
    return text.lower() if text.lower() in CHOICES else text


def read_labels_of_answers(path: str | Path, answers: Collection[JudgeAnswer]) -> LabelFile:
    """Labels whose values may also be the classes that the judges, or other labels, name."""
    classes = {answer.answer for answer in answers if isinstance(answer.answer, str)} - set(CHOICES)
    if classes:
        cells = (row.get("value") for _, row in Table(path).rows(lambda _line, _problem: None))
        texts = (str(cell).strip() for cell in cells if not _is_empty(cell))
        classes |= {text for text in texts if finite_number(text) is None and text not in CHOICES}
    return read_labels(path, classes=sorted(classes))
