"""Several processes on one store pay once for each call; one that is killed loses only what was in flight."""

from __future__ import annotations

import asyncio
import collections
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import msgspec
import pytest
from test_store_records import a_call, a_judgment, a_reply, put_answered, started

from adjudge.store import Store, open_store, owners
from clock import PATIENCE_SECONDS

# Judges items 0 to n, as the engine does, and says on its output what it asks and what is confirmed.
JUDGE = """
import asyncio, os, sys
sys.path.insert(0, {tests!r})
from adjudge.store import open_store
from test_store_records import a_call, a_judgment, a_reply, an_item, started

def say(word, number):
    os.write(1, f"{{word}} {{number}}\\n".encode())  # one write: a kill cannot cut a line

async def ask(store, run, number):
    call = a_call(number)
    say("ask", number)
    await asyncio.sleep(0.001)
    assert await store.put(run, number, 0, call, a_reply(call), a_judgment(call))
    say("confirmed", number)

async def judge(store, run, first, last):
    await store.put_items(run, first, [an_item(number) for number in range(first, last)])
    done = store.finished(run, first, last - 1)
    todo = {{a_call(number).key: number for number in range(first, last) if (number, 0) not in done}}
    while todo:
        claim = await store.claim([a_call(number) for number in todo.values()])
        for key in store.reply_for(claim.answered):
            number = todo.pop(key)
            await store.put(run, number, 0, a_call(number), None, a_judgment(a_call(number)))
        await asyncio.gather(*(ask(store, run, todo.pop(key)) for key in claim.mine))
        await store.wait(claim.elsewhere)

with open_store({path!r}) as store:
    run = started(store, {run!r}, {run!r})
    for first in range(0, {n}, {window}):
        asyncio.run(judge(store, run, first, first + {window}))
    store.finish_run(run, "done")
"""


def judging(
    path: Path, *, n: int, run: str = "first", window: int = 20, output: IO[str] | int = subprocess.PIPE
) -> subprocess.Popen[str]:
    code = JUDGE.format(tests=str(Path(__file__).parent), path=str(path), run=run, n=n, window=window)
    return subprocess.Popen([sys.executable, "-c", code], stdout=output, stderr=subprocess.PIPE, text=True)


def counted(output: str, word: str) -> collections.Counter[int]:
    pairs = [line.split() for line in output.splitlines()]
    return collections.Counter(int(number) for said, number in pairs if said == word)


def content(path: Path, run: str = "first") -> list[object]:
    with open_store(path, write=False) as store:
        row = store.run(run)
        judged = [
            (each.item, each.call_index, each.call, each.error, each.judgment)
            for each in store.judgments(row)
        ]
        return [*judged, *((each.seq, each.call, each.reply) for each in store.asked(row))]


def kill_and_resume(path: Path, seed: int, *, n: int, window: int) -> None:
    """Kill the run at a random moment, look at the store, start again; until it is through."""
    chance = random.Random(seed)
    said = path.with_suffix(".txt")
    kills = 0
    while True:
        size = said.stat().st_size if said.exists() else 0
        with said.open("a") as output, judging(path, n=n, window=window, output=output) as process:
            # With its first line the start-up is over; from there on any moment will do.
            while said.stat().st_size == size and process.poll() is None:
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.06))
            process.kill()
            _, errors = process.communicate(timeout=60)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors
        kills += 1
        confirmed = {(number, 0) for number in counted(said.read_text(), "confirmed")}
        with open_store(path) as store:
            assert store.verify() == []
            assert confirmed <= store.finished(store.run("first"), 0, n).keys()
    assert kills > 0
    asked = counted(said.read_text(), "ask")
    assert asked.keys() == set(range(n))
    assert sum(asked.values()) <= n + window * kills


@pytest.mark.slow
def test_a_killed_run_loses_only_what_was_in_flight_and_ends_as_if_undisturbed(tmp_path: Path) -> None:
    with judging(tmp_path / "calm.db", n=300) as calm:
        calm.communicate(timeout=60)
    for seed in range(2):
        kill_and_resume(tmp_path / f"{seed}.db", seed, n=300, window=20)
    expected = content(tmp_path / "calm.db")
    assert len(expected) == 600
    for seed in range(2):
        assert content(tmp_path / f"{seed}.db") == expected


@pytest.mark.slow
def test_many_kills(tmp_path: Path) -> None:
    for seed in range(100, 125):
        kill_and_resume(tmp_path / f"{seed}.db", seed, n=600, window=50)


@pytest.mark.slow
def test_processes_that_start_at_once_ask_each_call_once(tmp_path: Path) -> None:
    """On a new file, on the same run and on two runs with the same calls."""
    names = ["first", "second", "first"]
    processes = [judging(tmp_path / "s.db", n=200, run=name) for name in names]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outputs
    asked = sum((counted(output, "ask") for output, _ in outputs), collections.Counter[int]())
    assert asked == dict.fromkeys(range(200), 1)
    assert len(content(tmp_path / "s.db")) == 400
    assert content(tmp_path / "s.db", "second") == content(tmp_path / "s.db")


def test_the_claims_of_a_killed_process_are_free_at_once(tmp_path: Path) -> None:
    code = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from adjudge.store import open_store
from test_store_records import a_call, started
store = open_store({str(tmp_path / "s.db")!r})
started(store)
async def claim():
    await store.claim([a_call(1)])
    print("claimed", flush=True)
    await asyncio.sleep(60)
asyncio.run(claim())
"""
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "claimed\n"

    async def take_over(store: Store) -> None:
        claim = await store.claim([a_call(1), a_call(2)])
        assert claim.mine == {a_call(2).key}
        assert claim.elsewhere == {a_call(1).key}
        assert {owner.pid for owner in store.owners()} == {os.getpid(), other.pid}
        assert store.run().status == "running"
        waiting = asyncio.create_task(store.wait(claim.elsewhere))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        other.kill()  # not yet reaped: a zombie still has its number
        await asyncio.wait_for(waiting, PATIENCE_SECONDS)
        assert (await store.claim([a_call(1)])).mine == {a_call(1).key}

    try:
        with open_store(tmp_path / "s.db") as store:
            asyncio.run(take_over(store))
            assert store.run().status == "interrupted"
    finally:
        other.kill()
        other.wait()
        other.stdout.close()


def claimed_elsewhere(path: Path, machine: str) -> None:
    """A call that a process on another machine is asking."""
    with open_store(path) as store:
        asyncio.run(put_answered(store, started(store), 0, 1))
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM replies")
        connection.execute(
            "INSERT INTO owners (id, machine, pid, started) VALUES (77, ?, 1, 'then')", (machine,)
        )
        connection.execute("UPDATE calls SET owner = 77")
    connection.close()


class Clock:
    """A clock that a test sets, in place of the one by which silence is measured."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(owners, "time", clock)
    return clock


def test_a_silent_process_is_given_up_after_the_lease_and_not_before(tmp_path: Path, clock: Clock) -> None:
    claimed_elsewhere(tmp_path / "s.db", "another-host|boot|pid")

    async def take_over(store: Store) -> None:
        assert (await store.claim([a_call(0)])).elsewhere == {a_call(0).key}
        waiting = asyncio.create_task(store.wait([a_call(0).key]))
        clock.now += owners.LEASE_SECONDS - 1
        assert (await store.claim([a_call(0)])).elsewhere == {a_call(0).key}
        assert not waiting.done()
        clock.now += 2
        await asyncio.wait_for(waiting, PATIENCE_SECONDS)
        assert (await store.claim([a_call(0)])).mine == {a_call(0).key}

    with open_store(tmp_path / "s.db") as store:
        asyncio.run(take_over(store))
        assert 77 not in {owner.id for owner in store.owners()}


def test_a_process_that_gives_signs_of_life_keeps_its_claims(tmp_path: Path, clock: Clock) -> None:
    claimed_elsewhere(tmp_path / "s.db", "another-host|boot|pid")

    async def watch(store: Store) -> None:
        waiting = asyncio.create_task(store.wait([a_call(0).key]))
        for _ in range(8):
            clock.now += 0.7 * owners.LEASE_SECONDS
            connection = sqlite3.connect(tmp_path / "s.db")
            with connection:
                connection.execute("UPDATE owners SET beats = beats + 1 WHERE id = 77")
            connection.close()
            assert (await store.claim([a_call(0)])).elsewhere == {a_call(0).key}
        assert not waiting.done()
        waiting.cancel()

    with open_store(tmp_path / "s.db") as store:
        asyncio.run(watch(store))


def test_a_store_whose_machine_was_restarted_meanwhile_is_looked_at_and_goes_on(tmp_path: Path) -> None:
    host = owners.machine_name().split("|")[0]
    claimed_elsewhere(tmp_path / "s.db", f"{host}|an earlier start|pid")

    async def claim(store: Store) -> None:
        assert (await store.claim([a_call(0)])).mine == {a_call(0).key}

    with open_store(tmp_path / "s.db") as store:
        assert [owner.pid for owner in store.owners()] == [os.getpid()]
        asyncio.run(claim(store))


def test_a_process_is_known_by_its_number_and_its_start() -> None:
    here = owners.Owner(1, owners.machine_name(), os.getpid(), owners.start_of(os.getpid()) or "", 0)
    assert not owners.is_gone(here)
    if sys.platform.startswith("linux"):
        assert owners.is_gone(msgspec.structs.replace(here, started="1"))
    assert owners.is_gone(msgspec.structs.replace(here, pid=2**22 + 5))
    assert not owners.is_gone(msgspec.structs.replace(here, pid=2**22 + 5, machine="another|boot|pid"))


def test_a_process_declared_lost_can_still_store_its_reply(tmp_path: Path) -> None:
    async def stall(store: Store, other: Store) -> None:
        run = started(store)
        call = a_call(0)
        await store.claim([call])
        connection = sqlite3.connect(tmp_path / "s.db")
        with connection:
            connection.execute("DELETE FROM owners WHERE id = ?", (store.owners()[0].id,))
        connection.close()
        assert (await other.claim([call])).mine == {call.key}
        assert await other.put(run, 0, 0, call, a_reply(call), a_judgment(call))
        assert not await store.put(run, 0, 0, call, a_reply(call, text="late"), a_judgment(call, 1.0))
        assert store.reply_for([call.key]) == {call.key: a_reply(call)}
        assert [judged.judgment for judged in store.judgments(run)] == [a_judgment(call)]

    with open_store(tmp_path / "s.db") as store, open_store(tmp_path / "s.db") as other:
        asyncio.run(stall(store, other))
