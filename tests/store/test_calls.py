"""A call is paid for once, an error is asked again, and what a run lacks is known."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from test_store_records import a_call, a_judgment, a_reply, an_error, an_item, put_answered, started

from adjudge.errors import StoreError
from adjudge.records import Call
from adjudge.store import RunRow, Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


def test_a_call_with_a_reply_is_not_claimed_again(store: Store) -> None:
    async def judge() -> None:
        await put_answered(store, started(store), 0, 2)
        claim = await store.claim([a_call(0), a_call(1), a_call(2)])
        assert claim.answered == {a_call(0).key, a_call(1).key}
        assert claim.mine == {a_call(2).key}

    asyncio.run(judge())


def test_a_call_that_is_being_asked_is_not_claimed_twice_even_here(store: Store) -> None:
    async def judge() -> None:
        assert (await store.claim([a_call(0), a_call(0)])).mine == {a_call(0).key}
        again = await store.claim([a_call(0)])
        assert again.mine == set()
        assert again.elsewhere == {a_call(0).key}

    asyncio.run(judge())


def test_a_call_that_failed_is_noted_in_its_run_and_free_to_be_asked_again(store: Store) -> None:
    run, call = started(store), a_call(0)

    async def judge() -> None:
        await store.put_items(run, 0, [an_item(0)])
        await store.claim([call])
        await store.put(run, 0, 0, call, an_error(call), a_judgment(call, 1.0))
        assert store.reply_for([call.key]) == {}
        assert store.finished(run, 0, 0).keys() == set()
        assert [judged.error for judged in store.judgments(run)] == [an_error(call).error]
        assert (await store.claim([call])).mine == {call.key}
        await store.put(run, 0, 0, call, a_reply(call), a_judgment(call))

    asyncio.run(judge())
    (judged,) = store.judgments(run)
    assert (judged.error, judged.judgment) == (None, a_judgment(call))
    assert store.finished(run, 0, 0).keys() == {(0, 0)}
    assert store.totals(run).failed == {}


def test_a_released_call_is_free(store: Store) -> None:
    async def judge() -> None:
        await store.claim([a_call(0), a_call(1)])
        await store.release([a_call(0).key])
        claim = await store.claim([a_call(0), a_call(1)])
        assert claim.mine == {a_call(0).key}
        assert claim.elsewhere == {a_call(1).key}

    asyncio.run(judge())


def test_of_two_replies_to_one_call_the_first_stands(store: Store) -> None:
    run, call = started(store), a_call(0)
    late = a_reply(call, text="Rude. 1")

    async def judge() -> None:
        assert await store.put(run, 0, 0, call, a_reply(call), a_judgment(call))
        assert await store.put(run, 0, 0, call, a_reply(call), a_judgment(call))
        assert not await store.put(run, 1, 0, call, late, a_judgment(call, 1.0))

    asyncio.run(judge())
    assert store.reply_for([call.key]) == {call.key: a_reply(call)}
    # The judgment of the reply that was not kept is not kept either: the place is still to be judged.
    assert [judged.judgment for judged in store.judgments(run)] == [a_judgment(call), None]
    assert store.finished(run, 0, 9).keys() == {(0, 0)}


def test_one_commit_can_hold_the_same_call_at_two_places(store: Store) -> None:
    run, call = started(store), a_call(0)

    async def judge() -> list[bool]:
        puts = [store.put(run, item, 0, call, a_reply(call), a_judgment(call)) for item in range(5)]
        return await asyncio.gather(*puts)

    assert asyncio.run(judge()) == [True] * 5
    assert len(store.finished(run, 0, 9)) == 5


def test_two_processes_may_note_the_same_slot(store: Store, tmp_path: Path) -> None:
    run = started(store)
    with open_store(tmp_path / "s.db") as other:
        # Each learns of the run before the other has written anything.
        for opened, slot, number in ((store, 0, 0), (other, 1, 1), (store, 1, 2)):
            call = msgspec.structs.replace(a_call(number), sample=slot)
            asyncio.run(put(opened, run, number, slot, call))
    assert store.finished(run, 0, 9).keys() == {(0, 0), (1, 1), (2, 1)}


async def put(store: Store, run: RunRow, item: int, slot: int, call: Call) -> None:
    await store.put(run, item, slot, call, a_reply(call), a_judgment(call))


def test_a_reply_that_is_there_already_is_not_sent_in_again(store: Store) -> None:
    first, second = started(store), started(store, "second", "two")

    async def judge() -> None:
        await put_answered(store, first, 0, 1)
        await store.put(second, 0, 3, a_call(0), None, a_judgment(a_call(0)))

    asyncio.run(judge())
    assert store.finished(second, 0, 0).keys() == {(0, 3)}
    assert [asked.reply for asked in store.asked(second)] == [a_reply(a_call(0))]


def test_a_slot_means_the_same_for_all_items(store: Store) -> None:
    run = started(store)
    other = msgspec.structs.replace(a_call(1), model="another")

    async def judge() -> None:
        await store.put(run, 0, 0, a_call(0), a_reply(a_call(0)), None)
        await store.put(run, 1, 0, other, a_reply(other), None)

    with pytest.raises(ValueError, match="slot 0 of the run"):
        asyncio.run(judge())


def test_judgments_come_in_the_order_of_items_and_slots_however_they_were_put(store: Store) -> None:
    run = started(store)
    places = [(item, slot) for item in range(12) for slot in range(3)]

    async def judge() -> None:
        await store.put_items(run, 0, [an_item(number) for number in range(12)])
        for item, slot in sorted(places, key=lambda place: hash((place, "mixed"))):
            call = a_call(item, sample=slot)
            await store.put(run, item, slot, call, a_reply(call), a_judgment(call))
        steps = msgspec.structs.replace(a_call(99), kind="steps", item="")
        await store.put(run, -1, 3, steps, a_reply(steps), None)

    asyncio.run(judge())
    first, *others = store.judgments(run)
    assert (first.item, first.seq, first.about.kind) == (None, -1, "steps")
    assert [(judged.seq, judged.call_index) for judged in others] == places
    assert [judged.item.id for judged in others if judged.item] == [f"item-{item}" for item, _ in places]
    assert [judged.about.sample for judged in others] == [slot for _, slot in places]


def test_a_stream_crosses_its_pages_without_a_gap(store: Store) -> None:
    run = started(store)

    async def judge() -> None:
        for start in range(0, 1300, 100):
            await put_answered(store, run, start, 100)

    asyncio.run(judge())
    assert [judged.seq for judged in store.judgments(run)] == list(range(1300))
    assert [asked.seq for asked in store.asked(run)] == list(range(1300))
    assert [item.line for item in store.items(run)] == list(range(1, 1301))
    keys = [a_call(number).key for number in range(1300)]
    assert list(store.reply_for(keys)) == keys


def test_reading_anew_replaces_the_judgments_and_keeps_those_of_failed_calls(store: Store) -> None:
    run = started(store)

    async def judge() -> None:
        await put_answered(store, run, 0, 3)
        await store.put_items(run, 3, [an_item(3)])
        await store.put(run, 3, 0, a_call(3), an_error(a_call(3)), a_judgment(a_call(3), 0.0))

    asyncio.run(judge())
    with pytest.raises(StoreError, match="still running"):
        store.replace_judgments(run, [])
    store.finish_run(run, "done")
    new = ((asked.seq, asked.call_index, a_judgment(asked.call, 2.0)) for asked in store.asked(run))
    assert store.replace_judgments(run, new) == 3
    values = [judged.judgment.scores[0].value for judged in store.judgments(run) if judged.judgment]
    assert values == [2.0, 2.0, 2.0, 0.0]
    assert store.totals(run).judged == 4


def test_a_reading_that_breaks_off_changes_nothing(store: Store) -> None:
    run = started(store)
    asyncio.run(put_answered(store, run, 0, 3))
    store.finish_run(run, "done")

    def broken() -> Iterator[tuple[int, int, object]]:
        for number in range(1500):
            yield 0, number, a_judgment(a_call(0), 1.0)
        raise RuntimeError("the reader has a bug")

    with pytest.raises(RuntimeError):
        store.replace_judgments(run, broken())  # type: ignore[arg-type]
    assert [judged.judgment for judged in store.judgments(run)] == [a_judgment(a_call(n)) for n in range(3)]
    assert store.replace_judgments(run, []) == 0
    assert store.totals(run).judged == 3


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE replies SET text = CAST(x'00' || CAST('Polite. 5' AS BLOB) AS BLOB)",
        "UPDATE replies SET text = 'Polite. 5'",
        "UPDATE replies SET text = x'7f'",
        "UPDATE replies SET tokens_out = 6",
        "UPDATE replies SET cost_usd = NULL",
        "UPDATE replies SET finish = 'length'",
        "UPDATE replies SET checksum = 'x'",
        "UPDATE replies SET checksum = checksum + 1",
    ],
)
def test_a_damaged_reply_is_set_aside_and_asked_again(store: Store, tmp_path: Path, damage: str) -> None:
    run = started(store)
    asyncio.run(put_answered(store, run, 0, 3))
    alter(tmp_path / "s.db", f"{damage} WHERE call = (SELECT id FROM calls WHERE key = '{a_call(1).key}')")

    assert store.finished(run, 0, 9).keys() == {(0, 0), (2, 0)}
    keys = [a_call(number).key for number in range(3)]
    assert store.reply_for(keys).keys() == {keys[0], keys[2]}
    assert alter(tmp_path / "s.db", "SELECT key FROM quarantine") == [(keys[1],)]

    async def ask_again() -> None:
        assert (await store.claim([a_call(1)])).mine == {keys[1]}
        await store.put(run, 1, 0, a_call(1), a_reply(a_call(1)), a_judgment(a_call(1)))

    asyncio.run(ask_again())
    assert len(store.finished(run, 0, 9)) == 3


def test_replies_that_changed_places_are_found(store: Store, tmp_path: Path) -> None:
    asyncio.run(put_answered(store, started(store), 0, 2))
    alter(tmp_path / "s.db", "UPDATE calls SET key = 'x' WHERE id = 1")
    alter(tmp_path / "s.db", f"UPDATE calls SET key = '{a_call(0).key}' WHERE id = 2")
    assert store.reply_for([a_call(0).key]) == {}


def test_a_reader_treats_a_damaged_reply_as_absent_and_leaves_it(store: Store, tmp_path: Path) -> None:
    asyncio.run(put_answered(store, started(store), 0, 2))
    alter(tmp_path / "s.db", "UPDATE replies SET seconds = 9 WHERE call = 1")
    with open_store(tmp_path / "s.db", write=False) as reader:
        assert len(reader.reply_for([a_call(0).key, a_call(1).key])) == 1
    assert store.verify() == [a_call(0).key]
    assert store.verify() == []


def test_a_damaged_judgment_is_read_again_from_its_reply(store: Store, tmp_path: Path) -> None:
    run = started(store)
    asyncio.run(put_answered(store, run, 0, 2))
    alter(tmp_path / "s.db", "UPDATE judgments SET body = x'00' || CAST('{}' AS BLOB) WHERE item = 1")
    assert store.finished(run, 0, 9).keys() == {(0, 0)}
    with pytest.raises(StoreError, match="damaged"):
        list(store.judgments(run))
    assert store.reply_for([a_call(1).key]) == {a_call(1).key: a_reply(a_call(1))}


def alter(path: Path, statement: str) -> list[tuple[object, ...]]:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(path)
    with connection:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows
