"""Invitations in a store: one open one for each name, revoked for good, never copied into another store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from adjudge.errors import StoreError
from adjudge.results.merge import merge_stores
from adjudge.store import open_store
from adjudge.store.repair import examine, repair
from running import DIRECT, EXAMPLES, adjudge


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run with the invitations of two raters, one revoked, and one for reading all runs."""
    path = tmp_path / "s.db"
    replies = f"replay:{EXAMPLES / 'answers.replies.jsonl'}"
    done = adjudge(
        "run", EXAMPLES / "answers.jsonl", *DIRECT, "-m", replies, "--run", "tact", "--store", path
    )
    assert done.code == 0
    with open_store(path) as store:
        run = store.run("tact")
        store.invite("rater", "ann", "hash 1", run)
        store.invite("rater", "ben", "hash 2", run)
        store.invite("guest", "ann", "hash 3")
        assert store.revoke("rater", "ben", run)
    return path


def names(path: Path) -> list[tuple[str, bool]]:
    with open_store(path, write=False) as store:
        return [(one.name, one.revoked is None) for one in store.invitations("rater", store.run("tact"))]


def test_a_name_has_one_open_invitation_and_may_be_invited_again_after_it_was_revoked(path: Path) -> None:
    assert names(path) == [("ann", True), ("ben", False)]
    with open_store(path) as store:
        run = store.run("tact")
        with pytest.raises(StoreError):
            store.invite("rater", "ann", "hash 4", run)
        store.invite("rater", "ben", "hash 5", run)
        assert not store.revoke("rater", "cyd", run)
        assert not store.revoke("guest", "ben")
        assert [one.secret for one in store.invitations("guest")] == ["hash 3"]
    assert names(path) == [("ann", True), ("ben", False), ("ben", True)]


def test_invitations_follow_a_run_that_is_renamed_and_end_with_it(path: Path) -> None:
    with open_store(path) as store:
        store.rename_run("tact", "other")
        assert len(store.invitations("rater", store.run("other"))) == 2
        store.delete_run("other")
        assert store.invitations("guest") != []
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT kind FROM invitations").fetchall() == [("guest",)]
    connection.close()


def test_a_changed_invitation_is_damage_and_lets_nobody_in(path: Path, tmp_path: Path) -> None:
    assert examine(path) == []
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE invitations SET revoked = NULL WHERE name = 'ben'")
    connection.close()
    with pytest.raises(StoreError, match="damaged"):
        names(path)
    assert [(part.what, part.n) for part in examine(path)] == [("invitations", 1)]
    _, damage = repair(path, tmp_path / "new.db")
    assert [part.what for part in damage] == ["invitations"]
    assert names(tmp_path / "new.db") == [("ann", True)]


def test_repair_keeps_invitations_and_merge_brings_none_along(path: Path, tmp_path: Path) -> None:
    repair(path, tmp_path / "repaired.db")
    assert names(tmp_path / "repaired.db") == names(path)
    merge_stores(tmp_path / "merged.db", [path])
    assert names(tmp_path / "merged.db") == []
