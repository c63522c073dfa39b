"""Judged examples that a judge is shown: the inputs, the judgment of a good judge, and its kind.

Reads any table; knows the names of the inputs that it is told and nothing else of protocols.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from ..records import Example
from .fields import fields_of
from .items import RESERVED
from .json_rows import Row
from .lines import BadRowError, BrokenFileError
from .tables import Problems, Table

KINDS = ("positive", "negative")


def read_examples(path: str | Path, inputs: Sequence[str]) -> tuple[Example, ...]:
    """The examples in a file, each with all of `inputs`, or one error that lists every problem.

    Further fields are kept, since a protocol has optional inputs too; an item's reserved keys are not.
    """
    table = Table(path)
    problems = Problems(table)
    examples: list[Example] = []
    try:
        for place, row in table.rows(problems.add):
            wrong = _wrong(row, inputs)
            for text in wrong:
                problems.add(place, text)
            try:
                examples += [] if wrong else [_example(row)]
            except BadRowError as bad:
                problems.add(place, str(bad))
    except BrokenFileError as broken:
        if not problems:
            raise
        problems.add(0, broken.problem)
    if not examples and not problems:
        problems.add(0, "no examples. Give at least one, or leave the file out.")
    if problems:
        raise problems.error()
    return tuple(examples)


def _wrong(row: Row, inputs: Sequence[str]) -> list[str]:
    """What a row lacks to be an example."""
    wrong = []
    for name in inputs:
        if row.get(name) is None:
            near = difflib.get_close_matches(name, set(row).difference(inputs), n=1)
            hint = f"Rename '{near[0]}', if that is it." if near else "Add it: an example shows all inputs."
            wrong.append(f"field '{name}' is missing. {hint}")
    judgment, kind = row.get("judgment"), row.get("kind")
    if type(judgment) is not str or not judgment.strip():  # a number is no text
        wrong.append("field 'judgment' is missing or no text. Write what a good judge would answer.")
    if kind not in KINDS:
        given = "missing" if kind is None else f"'{kind!s:.80}'"
        wrong.append(f'field \'kind\' is {given}. Write "positive" or "negative".')
    return wrong


def _example(row: Row) -> Example:
    judgment, kind = str(row.pop("judgment")), row.pop("kind")
    for key in RESERVED:
        row.pop(key, None)
    return Example(fields_of(row), judgment, cast(Literal["positive", "negative"], kind))
