"""What is counted for a whole store: a missing row is damage, one that is deleted meanwhile is not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adjudge.records import Label, Note, Review
from adjudge.store import Store, open_store
from adjudge.store.database_file import connect
from adjudge.store.labels import labels_of_rater, labels_with_runs
from adjudge.store.reviews import read_notes, read_reviews
from adjudge.store.rows import DamagedError

READERS: dict[str, tuple[str, Callable[[Any, int], Sequence[object]]]] = {
    "all labels": ("labels", lambda connection, _: labels_with_runs(connection)),
    "labels of a rater": ("labels", lambda connection, run: labels_of_rater(connection, run, "ann")),
    "reviews": ("reviews", read_reviews),
    "notes": ("notes", read_notes),
}


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, int]:
    """A store with three labels, reviews and notes of one run."""
    path = tmp_path / "s.db"
    with open_store(path) as store:
        run = store.start_run("one", {}, "x")
        _write(store, run)
    return path, run.id


def _write(store: Store, run: Any) -> None:
    store.put_labels([Label(f"i{k}", "tact", "ann", 3.0) for k in range(3)], run)
    for k in range(3):
        store.put_review(run, Review(f"i{k}", "p", "tact", "m", "ann", "judge"))
        store.put_note(run, Note(f"i{k}", "ann", "So."))


class Meanwhile:
    """A connection between whose statements another process deletes a row."""

    def __init__(self, connection: sqlite3.Connection, path: Path, table: str) -> None:
        self._connection, self._path, self._table = connection, path, table

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        found = self._connection.execute(*statement)
        with closing(sqlite3.connect(self._path)) as other:
            other.execute(f"DELETE FROM {self._table} WHERE id = (SELECT min(id) FROM {self._table})")
            other.commit()
        return found


@pytest.mark.parametrize("reader", READERS)
def test_a_row_that_is_deleted_while_others_are_read_is_no_damage(
    written: tuple[Path, int], reader: str
) -> None:
    (path, run), (table, read) = written, READERS[reader]
    with closing(connect(path, write=False, busy_seconds=5)) as connection:
        found = read(Meanwhile(connection, path, table), run)
        assert not connection.in_transaction
    assert len(found) in (1, 2, 3)


@pytest.mark.parametrize("reader", READERS)
def test_a_row_that_is_missing_is_damage(written: tuple[Path, int], reader: str) -> None:
    (path, run), (table, read) = written, READERS[reader]
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"DELETE FROM {table} WHERE id = 2")
        other.execute(f"UPDATE counts SET {table} = 3 WHERE run = 0")
        other.commit()
    with (
        closing(connect(path, write=False, busy_seconds=5)) as connection,
        pytest.raises(DamagedError, match=f"2 {table} found, 3 were written"),
    ):
        read(connection, run)


def test_a_rater_reads_only_the_own_labels(written: tuple[Path, int]) -> None:
    path, _ = written
    with open_store(path) as store:
        run = store.run("one")
        store.put_labels([Label("i1", "tact", "ben", 5.0)], run)
        store.put_labels([Label("i1", "tact", "ann", 1.0)])  # of no run
        assert [(label.item, label.value) for label in store.labels_of_rater(run, "ann")] == [
            ("i0", 3.0), ("i1", 3.0), ("i2", 3.0),
        ]  # fmt: skip
        assert store.labels_of_rater(run, "nobody") == []
