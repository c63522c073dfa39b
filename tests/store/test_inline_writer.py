"""A store that need not outlive its process writes in its callers' threads: the same outcomes, no thread."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from test_store_records import a_call, a_judgment, a_reply, started

from adjudge.errors import StoreError
from adjudge.store import Store, open_store


async def put_many(store: Store, n: int) -> list[bool]:
    run = started(store)
    calls = [a_call(number) for number in range(n)]
    claim = await store.claim(calls)
    assert set(claim.mine) == {call.key for call in calls}
    puts = (
        store.put(run, number, 0, call, a_reply(call), a_judgment(call)) for number, call in enumerate(calls)
    )
    return list(await asyncio.gather(*puts))


@pytest.mark.parametrize("is_durable", [True, False])
def test_what_is_written_is_read_again(tmp_path: Path, is_durable: bool) -> None:
    with open_store(tmp_path / "s.db", is_durable=is_durable) as store:
        n_threads = sum(thread.name == "adjudge-store" for thread in threading.enumerate())
        assert n_threads == int(is_durable)
        assert asyncio.run(put_many(store, 50)) == [True] * 50
    with open_store(tmp_path / "s.db", write=False) as store:
        assert store.totals(store.runs()[0]).judged == 50


def test_work_of_one_turn_is_one_transaction_and_a_fault_is_its_callers_alone(tmp_path: Path) -> None:
    def fails() -> None:
        raise StoreError("this one")

    async def work(store: Store) -> list[object]:
        statements: list[str] = []
        store._access.connection.set_trace_callback(statements.append)
        soon = [store._access.soon(lambda: 1), store._access.soon(lambda: 2)]
        assert await asyncio.gather(*soon) == [1, 2]
        assert statements.count("BEGIN IMMEDIATE") == 1
        mixed = [store._access.soon(lambda: 1), store._access.soon(fails), store._access.soon(lambda: 3)]
        return list(await asyncio.gather(*mixed, return_exceptions=True))

    with open_store(tmp_path / "s.db", is_durable=False) as store:
        first, second, third = asyncio.run(work(store))
    assert (first, third) == (1, 3)
    assert isinstance(second, StoreError)


def test_threads_take_turns(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", is_durable=False) as store:
        counts: list[int] = []

        def add() -> None:
            for _ in range(50):
                counts.append(store._access.do(lambda: len(counts)))

        threads = [threading.Thread(target=add) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(counts) == 200
