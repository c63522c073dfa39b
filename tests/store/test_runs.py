"""Runs are found by their name, go on only as the same run, and can be listed, renamed and deleted."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from test_store_records import MANIFEST, a_call, a_judgment, a_reply, an_error, an_item, put_answered, started

from adjudge.errors import StoreError
from adjudge.records import Label
from adjudge.store import Store, Totals, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


def test_the_same_name_and_identity_go_on_with_the_run(store: Store) -> None:
    run = started(store)
    again = store.start_run("first", {**MANIFEST, "command": "another"}, "one")
    assert (run.is_resumed, again.is_resumed) == (False, True)
    assert again.id == run.id
    assert again.manifest == MANIFEST


def test_without_a_name_the_last_run_of_that_identity_goes_on(store: Store) -> None:
    run = started(store, None)
    assert run.name == "run-0001"
    assert started(store, None).id == run.id
    assert started(store, None, "two").name == "run-0002"


def test_a_generated_name_is_never_one_that_is_taken(store: Store) -> None:
    started(store, "run-0002")
    assert started(store, None, "two").name == "run-0003"


def test_another_identity_under_the_same_name_is_an_error_that_says_what_differs(store: Store) -> None:
    started(store)
    changed = {
        "items": {"file": "items.jsonl", "sha256": "cd" * 32},
        "models": ["fake:text=4", "x"],
        "command": "c",
    }
    with pytest.raises(StoreError) as error:
        store.start_run("first", changed, "two")
    message = str(error.value)
    assert "run 'first' already exists with different settings: 2 problems" in message
    assert "items: the items are not the same" in message
    assert "models[1]: nothing before, 'x' now" in message
    assert "items.file" not in message
    assert "command" not in message
    assert "--run" in message
    assert store.run("first").manifest == MANIFEST


@pytest.mark.parametrize("name", ["", "  ", "last"])
def test_some_names_are_refused(store: Store, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be named"):
        started(store, name)


def test_last_is_the_run_that_was_started_or_resumed_last(store: Store) -> None:
    first, second = started(store, "first"), started(store, "second", "two")
    assert store.run("last").id == second.id
    started(store, "first")
    assert store.run().id == first.id
    assert [run.name for run in store.runs()] == ["second", "first"]


def test_last_passes_over_the_runs_that_tests_leave_behind(store: Store) -> None:
    store.start_run("pytest/test_one/1f", MANIFEST, "one")
    assert store.run("last").name == "pytest/test_one/1f"
    store.start_run("mine", MANIFEST, "two")
    store.start_run("pytest/test_two/2e", MANIFEST, "three")
    assert store.run("last").name == "mine"


def test_a_run_that_is_not_there_is_an_error_that_names_those_that_are(store: Store) -> None:
    with pytest.raises(StoreError, match="store has no runs yet"):
        store.run()
    started(store)
    with pytest.raises(StoreError, match=r"no run 'frist'.*\n.*first"):
        store.run("frist")


def test_a_run_has_a_status_and_the_sum_of_its_times(store: Store) -> None:
    run = started(store)
    assert (run.status, run.ended) == ("running", None)
    store.finish_run(run, "stopped", 2.0)
    assert started(store).status == "running"
    store.finish_run(run, "done", 0.5)
    stored = store.run("first")
    assert (stored.status, stored.seconds) == ("done", 2.5)
    assert stored.ended is not None


def test_a_run_whose_store_was_closed_without_an_end_is_interrupted(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        started(store)
    with open_store(tmp_path / "s.db", write=False) as store:
        assert store.run("first").status == "interrupted"


def test_a_run_can_be_renamed_but_not_to_a_name_that_is_taken(store: Store) -> None:
    run = started(store)
    started(store, "second", "two")
    store.rename_run("first", "baseline")
    assert store.run("baseline").id == run.id
    with pytest.raises(StoreError, match="'second' already"):
        store.rename_run("baseline", "second")


def test_items_that_changed_under_a_run_are_refused(store: Store) -> None:
    run = started(store)

    async def put(*numbers: int) -> None:
        await store.put_items(run, 0, [an_item(number) for number in numbers])

    asyncio.run(put(0, 1))
    asyncio.run(put(0, 1, 2))
    assert [item.id for item in store.items(run)] == ["item-0", "item-1", "item-2"]
    with pytest.raises(StoreError, match=r"Item 'item-7'.*number 2"):
        asyncio.run(put(0, 7))


def test_deleting_a_run_keeps_the_replies_that_another_run_uses(store: Store, tmp_path: Path) -> None:
    first, second = started(store), started(store, "second", "two")

    async def judge() -> None:
        await put_answered(store, first, 0, 3)
        await store.put(second, 0, 0, a_call(1), None, a_judgment(a_call(1)))
        await store.put(first, 3, 0, a_call(3), an_error(a_call(3)), None)

    asyncio.run(judge())
    store.put_labels([Label("item-1", "polite", "ann", 4.0)], first)
    with pytest.raises(StoreError, match="still running"):
        store.delete_run("first")
    store.finish_run(first, "done")
    store.delete_run("first")

    assert [run.name for run in store.runs()] == ["second"]
    assert store.answered([a_call(number).key for number in range(4)]) == {a_call(1).key}
    assert [judged.judgment for judged in store.judgments(second)] == [a_judgment(a_call(1))]
    assert len(store.labels()) == 1
    assert rows_in(tmp_path / "s.db") == {
        "items": 0,
        "calls": 1,
        "replies": 1,
        "places": 1,
        "judgments": 1,
        "slots": 1,
    }


def test_deleting_a_run_leaves_what_is_being_asked(store: Store) -> None:
    first, second = started(store), started(store, "second", "two")
    call = a_call(1)

    async def ask_again() -> bool:
        await store.put(first, 0, 0, call, an_error(call), None)
        store.finish_run(first, "done")
        assert (await store.claim([call])).mine
        store.delete_run("first")
        return await store.put(second, 0, 0, call, a_reply(call), a_judgment(call))

    assert asyncio.run(ask_again())
    assert [asked.reply for asked in store.asked(second)] == [a_reply(call)]


def rows_in(path: Path) -> dict[str, int]:
    connection = sqlite3.connect(path)
    tables = ("items", "calls", "replies", "places", "judgments", "slots")
    counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    connection.close()
    return counts


def test_totals_are_counted_and_a_shared_reply_counts_once(store: Store) -> None:
    first, second = started(store), started(store, "second", "two")

    async def judge() -> None:
        await put_answered(store, first, 0, 2)
        await put_answered(store, second, 10, 1)
        for item in (0, 1):  # both places are answered by one reply, which the other run paid for
            await store.put(second, item, 0, a_call(0), None, a_judgment(a_call(0)))
        await store.put(second, 2, 0, a_call(2), an_error(a_call(2)), None)

    asyncio.run(judge())
    assert store.totals(second) == Totals(
        items=1,
        calls=4,
        failed={"server": 1},
        judged=3,
        replies=2,
        tokens_in=20,
        tokens_out=10,
        cost_usd=0.5,
        unpriced=0,
        paid_replies=1,
        paid_usd=0.25,
        seconds=1.0,
    )


def test_a_model_that_changes_its_name_is_seen(store: Store) -> None:
    run = started(store)

    async def judge_with_change() -> None:
        await put_answered(store, run, 0, 2)
        changed = msgspec.structs.replace(a_reply(a_call(2), cost=None), fingerprint="b")
        await store.put(run, 2, 0, a_call(2), changed, None)

    asyncio.run(judge_with_change())
    assert [(seen.model_name, seen.fingerprint, seen.n) for seen in store.models_seen(run)] == [
        ("fake", "", 2),
        ("fake", "b", 1),
    ]
    assert store.totals(run).unpriced == 1


def test_a_changed_text_is_shown_where_it_differs(store: Store) -> None:
    criterion = "Is the answer polite, complete and easy to follow for a person who reads it in a hurry, "
    store.start_run("one", {"criterion": f"{criterion}or is it rude?"}, "a")
    with pytest.raises(StoreError) as raised:
        store.start_run("one", {"criterion": f"{criterion}or is it long?"}, "b")
    assert "or is it rude?" in str(raised.value)
    assert "or is it long?" in str(raised.value)
