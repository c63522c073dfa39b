"""The size of a run shows neither in the memory that it takes nor in the time that each of its calls
takes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from test_store_records import a_call, put_answered, started

from adjudge.store import RunRow, Store, open_store


def store_with(path: Path, count: int) -> tuple[Store, RunRow]:
    store = open_store(path)
    run = started(store)

    async def judge() -> None:
        for first in range(0, count, 500):
            await put_answered(store, run, first, 500)

    asyncio.run(judge())
    return store, run


def peak_of_reading(store: Store, run: RunRow) -> int:
    tracemalloc.start()
    try:
        assert sum(1 for _ in store.judgments(run)) == sum(1 for _ in store.asked(run))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_reading_ten_times_as_much_takes_no_more_memory(tmp_path: Path) -> None:
    small, small_run = store_with(tmp_path / "small.db", 1000)
    large, large_run = store_with(tmp_path / "large.db", 10_000)
    with small, large:
        peak_of_reading(small, small_run)  # the first time, statements are prepared and kept
        # Bytes, not a ratio: what Python keeps for itself differs from run to run by a few hundred KB.
        assert peak_of_reading(large, large_run) < peak_of_reading(small, small_run) + 1_000_000


WHOLE_RUN = """
import asyncio, resource, sys
sys.path.insert(0, {tests!r})
from adjudge.store import open_store
from test_store_records import put_answered, started

async def judge(store, run, count):
    for first in range(0, count, 500):
        await put_answered(store, run, first, 500)

with open_store({path!r}) as store:
    run = started(store)
    asyncio.run(judge(store, run, {count}))
    assert sum(judged.judgment is not None for judged in store.judgments(run)) == {count}
    assert sum(len(store.finished(run, first, first + 999)) for first in range(0, {count}, 1000)) == {count}
    assert store.totals(run).judged == {count}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_a_run_of_100_000_takes_at_most_60_mb_more_than_one_of_1_000(tmp_path: Path) -> None:
    kilobytes = {}
    for count in (1000, 100_000):
        code = WHOLE_RUN.format(
            tests=str(Path(__file__).parent), path=str(tmp_path / f"{count}.db"), count=count
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        kilobytes[count] = int(done.stdout)
    assert kilobytes[100_000] - kilobytes[1000] <= 60 * 1024, kilobytes


@pytest.mark.slow
@pytest.mark.rate
def test_the_time_to_find_replies_grows_with_their_number_alone(tmp_path: Path) -> None:
    """In one store, a tenth of the replies take about a tenth of the time; the limit is generous."""
    store, run = store_with(tmp_path / "s.db", 50_000)
    keys = [a_call(number).key for number in range(50_000)]
    with store:
        seconds: dict[str, list[float]] = {"replies": [], "finished": []}
        for number in (5_000, 50_000):
            start = time.process_time()
            assert len(store.reply_for(keys[:number])) == number
            seconds["replies"].append(time.process_time() - start)
            start = time.process_time()
            assert len(store.finished(run, 0, number - 1)) == number
            seconds["finished"].append(time.process_time() - start)
    for few, many in seconds.values():
        assert many < 30 * max(few, 0.01), seconds
