"""Stores human labels. A rater's second label for the same thing replaces the first.

This file knows nothing of judges; a label only names the run whose items the rater was shown.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from ..records import Label
from . import rows
from .calls import as_json, insert_rows
from .counts import check_all, of_one_moment
from .rows import json_of

_INSERT = (f"INSERT OR REPLACE INTO labels ({rows.LABEL_SEALED}, checksum)", "")


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
            None if label.probability is None else float(label.probability),
            label.origin,
            label.text_hash,
        )
        for label in labels
    ]
    insert_rows(connection, _INSERT, [(*row, rows.label_checksum(row)) for row in new])


def stored_labels(connection: sqlite3.Connection, run: int | None) -> list[Label]:
    """The labels of a run, or of all runs; oldest first."""
    return [label for whose, label in labels_with_runs(connection) if run in (None, whose)]


def labels_with_runs(connection: sqlite3.Connection) -> list[tuple[int | None, Label]]:
    """All labels, each with the number of its run; oldest first."""
    return _read(connection, "ORDER BY id")


def labels_of_rater(connection: sqlite3.Connection, run: int, rater: str) -> list[Label]:
    """The labels of one rater on a run, oldest first: the labels of others are counted and not read."""
    found = _read(connection, "WHERE COALESCE(run, 0) = ? AND rater = ? ORDER BY id", (run, rater))
    return [label for _, label in found]


def _read(
    connection: sqlite3.Connection, which: str, values: tuple[int | str, ...] = ()
) -> list[tuple[int | None, Label]]:
    with of_one_moment(connection):
        check_all(connection, "labels")
        found = connection.execute(
            f"SELECT {rows.LABEL_SEALED}, checksum FROM labels {which}", values
        ).fetchall()
    labels = []
    for *row, stored in found:
        rows.check_label(tuple(row), stored)
        whose, item, criterion, name, value, *rest = row
        labels.append((whose, Label(item, criterion, name, msgspec.json.decode(value), *rest)))
    return labels


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


def seal_labels(connection: sqlite3.Connection, labels: Sequence[int]) -> None:
    found = connection.execute(
        f"SELECT {rows.LABEL_SEALED}, id FROM labels WHERE id IN (SELECT value FROM json_each(?))",
        (as_json(labels),),
    ).fetchall()
    connection.executemany(
        "UPDATE labels SET checksum = ? WHERE id = ?",
        [(rows.label_checksum(row[:-1]), row[-1]) for row in found],
    )
