"""Judged examples that users show a judge."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

from ..did_you_mean import nearest
from ..records import Example
from .encoding import SMALL_LIMIT, BadRowError, BrokenFileError, read_small
from .items import RESERVED, fields_of
from .json_rows import Row, texts
from .table import Problems, Table

KINDS = ("positive", "negative")


def read_examples(path: str | Path, inputs: Sequence[str]) -> tuple[Example, ...]:
    """The examples in a file, each with all of `inputs`, or one error that lists every problem.

    Other fields are kept, because a protocol may have optional inputs; an item's reserved keys are removed.
    """
    table = Table(path)
    problems = Problems(table)
    examples: list[Example] = []
    n_left = SMALL_LIMIT
    try:
        with contextlib.suppress(FileNotFoundError):  # a missing file is reported with the first row
            read_small(table.path)
        for row_number, row in table.rows(problems.add):
            n_left -= sum(map(len, texts(row)))
            if n_left < 0:  # a packed file may be small and hold far more
                raise BrokenFileError(
                    table.path, f"more than {SMALL_LIMIT // 1_000_000} MB of text. Give fewer examples."
                )
            faults = _example_faults(row, inputs)
            for text in faults:
                problems.add(row_number, text)
            try:
                examples += [] if faults else [_example(row)]
            except BadRowError as bad:
                problems.add(row_number, str(bad))
    except BrokenFileError as broken:
        if not problems:
            raise
        problems.add(0, broken.problem)
    if not examples and not problems:
        problems.add(0, "no examples. Give at least one, or leave the file out.")
    if problems:
        raise problems.error()
    return tuple(examples)


def _example_faults(row: Row, inputs: Sequence[str]) -> list[str]:
    """What a row lacks to be an example."""
    faults = []
    for name in inputs:
        if row.get(name) is None:
            near = nearest(name, set(row).difference(inputs))
            hint = (
                f"Rename '{near}' if that is the field." if near else "Add it: an example shows all inputs."
            )
            faults.append(f"field '{name}' is missing. {hint}")
    judgment, kind = row.get("judgment"), row.get("kind")
    if type(judgment) is not str or not judgment.strip():  # a `Number` does not count
        faults.append("field 'judgment' is missing or no text. Write what a good judge would answer.")
    if kind not in KINDS:
        shown = "missing" if kind is None else f"'{kind!s:.80}'"
        faults.append(f'field \'kind\' is {shown}. Write "positive" or "negative".')
    return faults


def _example(row: Row) -> Example:
    judgment, kind = str(row.pop("judgment")), row.pop("kind")
    for key in RESERVED:
        row.pop(key, None)
    return Example(fields_of(row), judgment, cast("Literal['positive', 'negative']", kind))
