"""Keeps what people said of items. A rater's second label of the same thing takes the place of the first.

This file knows nothing of judges; it only names the run whose items a rater was shown.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from ..records import Label
from .calls import insert_rows
from .rows import json_of

_COLUMNS = "item, criterion, rater, value, subject, probability, origin"
_INSERT = (f"INSERT OR REPLACE INTO labels (run, {_COLUMNS})", "")


def put_labels(connection: sqlite3.Connection, labels: Sequence[Label], run: int | None) -> None:
    """Store labels, of a run's items or of no run in particular."""
    new = [
        (
            run,
            label.item,
            label.criterion,
            label.rater,
            json_of(label.value).decode(),
            label.subject,
            label.probability,
            label.origin,
        )
        for label in labels
    ]
    insert_rows(connection, _INSERT, new)


def all_labels(connection: sqlite3.Connection, run: int | None) -> list[Label]:
    """The labels of a run, or with none all labels in the store, in the order they were given."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM labels WHERE :run IS NULL OR run = :run ORDER BY id", {"run": run}
    )
    return [
        Label(item, criterion, rater, msgspec.json.decode(value), subject, probability, origin)
        for item, criterion, rater, value, subject, probability, origin in found
    ]
