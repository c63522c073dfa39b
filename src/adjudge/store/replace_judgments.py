"""Replaces all judgments of a run.

The new judgments are written beside the old ones, page by page, under the next reading number; one small
transaction then switches to that number. A process that is killed in between leaves the old judgments in
place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ..errors import StoreError
from ..records import Judgment
from . import rows
from .calls import insert_rows
from .runs import one_run, seal

_INSERT_JUDGMENT = ("INSERT OR REPLACE INTO judgments (run, reading, item, slot, body, checksum)", "")


NewJudgment = tuple[int, int, Judgment]
"""The number of the item, the index of the call, and the new judgment."""


# Replacing all judgments of a run. The new judgments are written beside the old ones, page by page,
# under the next reading number; one small transaction then switches to that number. A process that
# is killed in between leaves the old judgments in place.


def begin_reading(connection: sqlite3.Connection, name: str) -> tuple[int, int]:
    """The run's id and the number of a new reading; what an interrupted attempt left is deleted."""
    run = one_run(connection, name)
    if run.status == "running":
        raise StoreError(
            f"The run {run.name!r} is still running.\nWait until it ends, then run reread again."
        )
    (current,) = connection.execute("SELECT reading FROM runs WHERE id = ?", (run.id,)).fetchone()
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run.id, current))
    return run.id, current + 1


def write_reading(
    connection: sqlite3.Connection, run: int, reading: int, page: Sequence[NewJudgment]
) -> None:
    new = [(run, reading, item, index, *rows.judgment_columns(judgment)) for item, index, judgment in page]
    insert_rows(connection, _INSERT_JUDGMENT, new)


def finish_reading(connection: sqlite3.Connection, run: int, reading: int, n_written: int) -> None:
    """Switch to the new judgments. Calls without a new one, such as failed calls, keep the old one."""
    (n_stored,) = connection.execute(
        "SELECT count(*) FROM judgments WHERE run = ? AND reading = ?", (run, reading)
    ).fetchone()
    if n_stored != n_written:
        raise StoreError(
            "Another process parsed the replies of this run at the same time.\nIts judgments were "
            "not changed; run reread again."
        )
    connection.execute(
        """INSERT OR IGNORE INTO judgments
        SELECT run, ?, item, slot, body, checksum FROM judgments WHERE run = ? AND reading = ?""",
        (reading, run, reading - 1),
    )
    connection.execute("UPDATE runs SET reading = ? WHERE id = ?", (reading, run))
    seal(connection, run)
    # The triggers count the valid reading only: the new one was not valid when it was written.
    connection.execute(
        """UPDATE counts SET judgments = (SELECT count(*) FROM judgments WHERE run = :run AND reading =
        :reading)
        WHERE run = :run""",
        {"run": run, "reading": reading},
    )
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run, reading))
