"""Looks at locked labels are counted by their hash, and survive reopening and repair."""

from __future__ import annotations

from pathlib import Path

from adjudge.store import open_store
from adjudge.store.repair import repair


def test_looks_are_counted_for_each_hash_and_kept(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        assert store.n_looks("one") == 0
        assert [store.count_look("one"), store.count_look("one"), store.count_look("two")] == [1, 2, 1]
    with open_store(tmp_path / "s.db") as store:
        assert store.count_look("one") == 3
    repair(tmp_path / "s.db", tmp_path / "saved.db")
    with open_store(tmp_path / "saved.db", write=False) as store:
        assert (store.n_looks("one"), store.n_looks("two")) == (3, 1)
