"""How many rows of a run were written, which tells whether one is missing."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from msgspec import Struct

from ..errors import StoreError
from . import rows


class RowCounts(Struct, frozen=True):
    """How many rows of a run were written; none where the file was made before they were counted."""

    items: int | None = None
    places: int | None = None
    judgments: int | None = None
    labels: int | None = None
    reviews: int | None = None
    notes: int | None = None


def kept(connection: sqlite3.Connection, run: int) -> RowCounts:
    """The counts of a run, or with the number 0 those of the whole store."""
    row = connection.execute(
        "SELECT items, places, judgments, labels, reviews, notes FROM counts WHERE run = ?", (run,)
    ).fetchone()
    if row is None:
        if run and connection.execute("SELECT 1 FROM runs WHERE id = ?", (run,)).fetchone() is None:
            raise StoreError("The run was deleted while it was being read.\nList the runs: adjudge runs.")
        raise rows.DamagedError(f"the counts of run number {run} are missing")
    if not all(value is None or (isinstance(value, int) and value >= 0) for value in row):
        raise rows.DamagedError(f"the counts of run number {run} are no numbers")
    return RowCounts(*row)


def check_count(what: str, before: int | None, n: int, after: int | None) -> None:
    """`DamagedError` where rows are missing. A run may grow while
    it is read: `before` and `after` are its counts then.
    """
    if before is not None and after is not None and not before <= n <= after:
        raise rows.DamagedError(f"{n} {what} found, {after} were written")


@contextlib.contextmanager
def of_one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is read inside is of one moment: others may write, and delete, between two statements."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")


def check_all(connection: sqlite3.Connection, table: str) -> None:
    """`DamagedError` where rows of a table that is counted for the whole store are missing."""
    written = getattr(kept(connection, 0), table)
    (n,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    check_count(table, written, n, written)
