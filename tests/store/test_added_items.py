"""Items that are added to a run as they come: each once, whoever adds it, and with its number for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from adjudge.records import Item
from adjudge.store import Store, open_store


def item(name: str, text: str) -> Item:
    return Item(name, {"response": text})


def added(store: Store, *items: Item) -> list[tuple[int, str]]:
    run = store.start_run("live", {"items": {}}, "same")

    async def add() -> list[tuple[int, Item]]:
        return await store.add_items(run, items)

    return [(seq, one.id) for seq, one in asyncio.run(add())]


def test_the_same_item_keeps_its_number(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store:
        assert added(store, item("x", "1"), item("y", "2"), item("x", "1")) == [(0, "x"), (1, "y"), (0, "x")]
        assert added(store, item("y", "2"), item("z", "3")) == [(1, "y"), (2, "z")]


def test_the_same_id_with_another_text_is_another_item(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as store:
        assert added(store, item("x", "1"), item("x", "2"), item("x", "3")) == [
            (0, "x"),
            (1, "x-2"),
            (2, "x-3"),
        ]
        assert added(store, item("x", "3"), item("x", "2")) == [(2, "x-3"), (1, "x-2")]


def test_two_stores_on_one_file_see_each_others_items(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db") as one, open_store(tmp_path / "a.db") as two:
        assert added(one, item("x", "1")) == [(0, "x")]
        assert added(two, item("y", "2"), item("x", "1")) == [(1, "y"), (0, "x")]
        assert added(one, item("y", "2"), item("z", "3")) == [(1, "y"), (2, "z")]


def test_a_transaction_that_is_rolled_back_leaves_no_trace(tmp_path: Path) -> None:
    """Two jobs of one transaction: the second fails, and what the first has seen must not count."""
    with open_store(tmp_path / "a.db") as store:
        run = store.start_run("live", {"items": {}}, "same")

        def fail() -> None:
            raise ValueError("no")

        async def together() -> list[object]:
            jobs: list[Awaitable[object]] = [
                store.add_items(run, [item("x", "1")]),
                store.add_items(run, [item("x", "1"), item("y", "2")]),
                store._access.soon(fail),
            ]
            return await asyncio.gather(*jobs, return_exceptions=True)

        first, second, third = asyncio.run(together())
        assert isinstance(third, ValueError)
        assert [seq for seq, _ in second] == [0, 1]  # type: ignore[attr-defined]
        assert added(store, item("x", "1"), item("y", "2"), item("z", "3")) == [(0, "x"), (1, "y"), (2, "z")]
        assert [one.id for one in store.items(run)] == ["x", "y", "z"]
        assert [seq for seq, _ in first] == [0]  # type: ignore[attr-defined]
