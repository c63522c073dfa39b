"""Replaces the judgments of a run by a new reading of the same replies, all at once.

The new reading is written beside the old one, page by page; one small transaction then
makes it the valid one. Whoever is killed in between leaves the old reading as it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..errors import StoreError
from ..records import Judgment
from . import rows
from .calls import insert_rows
from .runs import one_run

_INSERT = ("INSERT OR REPLACE INTO judgments (run, reading, item, slot, body, checksum)", "")

NewJudgment = tuple[int, int, Judgment]
"""The number of the item, the slot, and what was read."""


def begin(connection: sqlite3.Connection, name: str) -> tuple[int, int]:
    """The run and the number of a new reading; what an earlier attempt left is cleared away."""
    run = one_run(connection, name)
    if run.status == "running":
        raise StoreError(f"The run {run.name!r} is going on.\nWait until it ends, then read it again.")
    (valid,) = connection.execute("SELECT reading FROM runs WHERE id = ?", (run.id,)).fetchone()
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run.id, valid))
    return run.id, valid + 1


def write(connection: sqlite3.Connection, run: int, reading: int, page: Sequence[NewJudgment]) -> None:
    new = [(run, reading, item, slot, *rows.judgment_row(judgment)) for item, slot, judgment in page]
    insert_rows(connection, _INSERT, new)


def make_valid(connection: sqlite3.Connection, run: int, reading: int, n_written: int) -> None:
    """Switch to the new reading. What it does not cover, such as calls that failed, keeps its judgment."""
    (found,) = connection.execute(
        "SELECT count(*) FROM judgments WHERE run = ? AND reading = ?", (run, reading)
    ).fetchone()
    if found != n_written:
        raise StoreError(
            "The run was read by another process at the same time.\nIts judgments were not changed; read it again."
        )
    connection.execute(
        """INSERT OR IGNORE INTO judgments
        SELECT run, ?, item, slot, body, checksum FROM judgments WHERE run = ? AND reading = ?""",
        (reading, run, reading - 1),
    )
    connection.execute("UPDATE runs SET reading = ? WHERE id = ?", (reading, run))
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run, reading))
