"""Which column of a table is the task, the response, the system …, guessed by usual names.

A guess is proposed to the user, never used without consent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import DataError
from .table import Problems, Table

_NAMES = {
    "task": ("task", "instruction", "question", "prompt", "query", "input", "request", "user", "ticket"),
    "response": (
        "response",
        "answer",
        "output",
        "completion",
        "generation",
        "reply",
        "prediction",
        "text",
        "summary",
    ),
    "response_a": ("response_a", "answer_a", "output_a", "a"),
    "response_b": ("response_b", "answer_b", "output_b", "b"),
    "reference": ("reference", "expected", "gold", "ideal", "target", "reference_answer", "ground_truth"),
    "source": ("source", "context", "document", "article", "passage"),
    "system": ("system", "bot", "model", "variant", "version", "assistant"),
    "group": ("group", "conversation", "conversation_id", "doc_id", "document_id", "question_id"),
    "id": ("id", "item", "item_id", "uid", "key"),
}
"""input → the names that columns with it often have, the likeliest first"""


_ROWS = 50
"""Rows that are looked at."""


def first_columns(file: Path) -> dict[str, list[str]]:
    """The columns of the first rows, in their order, with their values."""
    table = Table(file)
    problems = Problems(table)
    columns: dict[str, list[str]] = {}
    for number, (_, row) in enumerate(table.rows(problems.add)):
        for name, value in row.items():
            columns.setdefault(name, []).append(str(value))
        if number >= _ROWS:
            break
    if not columns:
        raise problems.error() if problems else DataError(f"{file} has no rows. Give a file with items.")
    return columns


_LONGEST_ID = 64


_ID_WORDS = frozenset(("id", "no", "nr", "number", "num", "uid", "uuid", "guid", "key", "ref", "code"))
"""the last word of the name of a column that tells its rows apart, such as `ticket_no`"""


def guessed(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """input → column, by their names; without a name for the id, a column whose values are single words that
    all differ.

    Items with the same task belong to one group: they are not independent.
    """
    n_rows = max(map(len, columns.values()))
    keys = [name for name, values in columns.items() if _is_key(values, n_rows)]
    named_keys = {name: None for name in keys if _plain(name).rpartition("_")[2] in _ID_WORDS}
    guess = _by_name([name for name in columns if name not in named_keys])
    by_name = guess.pop("id", None)
    if by_name is not None and len(set(columns[by_name])) == len(columns[by_name]):
        guess["id"] = by_name  # a name alone makes no id: its values must differ
    elif free := [name for name in (*named_keys, *keys) if name not in guess.values()]:
        guess["id"] = free[0]
    tasks = columns[guess["task"]] if "task" in guess else ()
    if "group" not in guess and len(set(tasks)) < len(tasks):
        guess["group"] = guess["task"]
    return guess


def _is_key(values: Sequence[str], n_rows: int) -> bool:
    """Whether the values are short single words that all differ."""
    return len(set(values)) == len(values) == n_rows > 1 and all(
        0 < len(value) <= _LONGEST_ID and not re.search(r"\s", value.strip()) for value in values
    )


def _plain(column: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_")


def _by_name(columns: Sequence[str]) -> dict[str, str]:
    """input → column, by their names; a column is used once."""
    plain = {_plain(column): column for column in columns}
    is_pair = all(any(name in plain for name in _NAMES[side]) for side in ("response_a", "response_b"))
    wanted = [name for name in _NAMES if (name not in ("response_a", "response_b")) or is_pair]
    matches: dict[str, str] = {}
    for exact in (True, False):
        for name in wanted:
            if name in matches or (is_pair and name in ("response", "system")):
                continue
            for column in _candidates(_NAMES[name], plain, exact):
                if column not in matches.values():
                    matches[name] = column
                    break
    return {name: matches[name] for name in _NAMES if name in matches}


def _candidates(names: Sequence[str], plain: dict[str, str], exact: bool) -> list[str]:
    if exact:
        return [plain[name] for name in names if name in plain]
    long = [name for name in names if len(name) > 3]
    return [column for name in long for key, column in plain.items() if name in key.split("_")]
