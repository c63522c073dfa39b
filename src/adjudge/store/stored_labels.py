"""Stores human labels. A rater's second label for the same thing replaces the first.

This file knows nothing of judges; a label only names the run whose items the rater was shown.
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
    """Store labels, for a run's items or for no run in particular."""
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


def read_labels(connection: sqlite3.Connection, run: int | None, rater: str | None = None) -> list[Label]:
    """The labels of a run, or of all runs, and of one rater where one is named; oldest first."""
    label_rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM labels
        WHERE (:run IS NULL OR run = :run) AND (:rater IS NULL OR rater = :rater) ORDER BY id""",
        {"run": run, "rater": rater},
    )
    return [
        Label(item, criterion, name, msgspec.json.decode(value), subject, probability, origin)
        for item, criterion, name, value, subject, probability, origin in label_rows
    ]


def delete_label(connection: sqlite3.Connection, run: int, label: Label) -> bool:
    """Delete a label; false where it is gone already or has another value now."""
    deleted = connection.execute(
        "DELETE FROM labels WHERE run = ? AND item = ? AND criterion = ? AND rater = ?"
        " AND COALESCE(subject, '') = ? AND value = ?",
        (
            run,
            label.item,
            label.criterion,
            label.rater,
            label.subject or "",
            json_of(label.value).decode(),
        ),
    )
    return deleted.rowcount == 1
