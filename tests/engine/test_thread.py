"""`adjudge.run` and `run_async` as a program uses them: in a script, beside an event loop, and
interrupted."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

import adjudge as package
from adjudge.engine import Prepared, Progress, Watcher
from adjudge.models import FakeModel
from adjudge.store import RunRow
from clock import soon, until
from fakeserver import FakeServer
from running import EXAMPLES, answers, by_number, ended, model_at, python, read_rows, score_of

ITEMS: list[dict[str, Any]] = [
    {"id": f"i{k}", "system": "s", "instruction": "Say a number.", "response": f"answer {k}."}
    for k in (1, 2, 3)
]
PROTOCOL = "prometheus/direct"
TACT = EXAMPLES / "tact.toml"

SCRIPT = """
import asyncio, json, sys
import adjudge

items, model, rubric, store, *ways = sys.argv[1:]
given = json.loads(items) if items.startswith("[") else items
options = dict(rubric=rubric, concurrency=2)

async def beside() -> adjudge.Run:
    # As in a notebook: an event loop is running in this thread.
    return adjudge.run(given, "prometheus/direct", model, **options)

async def waiting() -> adjudge.Run:
    ticks = 0
    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1
    task = asyncio.create_task(tick())
    run = await adjudge.run_async(given, "prometheus/direct", model, **options)
    task.cancel()
    assert ticks > 0, "the loop was not free for others"
    return run

for how in ways:
    options["store"] = store if len(ways) == 1 else f"{store}.{how}"
    if how == "script":
        run = adjudge.run(given, "prometheus/direct", model, **options)
    else:
        run = asyncio.run(beside() if how == "beside" else waiting())
    print(json.dumps([run.status, run.progress.done, [(r.item, r.value) for r in run.results()]]))
"""


@pytest.mark.slow
def test_a_run_works_in_a_script_beside_a_loop_and_in_async_code(tmp_path: Path) -> None:
    with FakeServer(by_number, latency=0.05) as server:
        store = tmp_path / "adjudge.db"
        ran = ended(
            python(SCRIPT, json.dumps(ITEMS), model_at(server), TACT, store, "script", "beside", "async")
        )
        assert ran.code == 0, ran.err
        assert server.n_requests == 9
    assert ran.rows == [["done", 3, [[f"i{k}", score_of(k)] for k in (1, 2, 3)]]] * 3
    assert ran.err == "", "no warning either: they are errors in this script"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["script", "beside", "async"])
def test_ctrl_c_stops_a_run_in_python_and_loses_nothing(how: str, tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 16), tmp_path / "adjudge.db"
    with FakeServer(by_number, latency=0.1, hold_from=5) as server:
        process = python(SCRIPT, items, model_at(server), TACT, store, how)
        until(lambda: server.n_requests >= 5 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        server.release()
        stopped = ended(process)
        assert stopped.code != 0
        assert "Interrupted" in stopped.err or "KeyboardInterrupt" in stopped.err
        assert server.n_requests < 16
        again = package.run(items, PROTOCOL, model_at(server), rubric=TACT, store=store, concurrency=2)
        assert (again.status, again.progress.done) == ("done", 16)
        assert server.n_requests <= 16 + (2 if how == "async" else 0), (
            "calls that were called off are asked again"
        )


def test_items_may_be_records_and_the_model_an_object(tmp_path: Path) -> None:
    items = [
        package.Item(
            row["id"], {"instruction": row["instruction"], "response": row["response"]}, system="s", group="g"
        )
        for row in ITEMS
    ]
    model = FakeModel(lambda call: f"[RESULT] {score_of(int(call.item[1:]))}", name="fake:own")
    run = package.run(items, PROTOCOL, model, rubric=TACT, store=tmp_path / "s.db")
    results = run.results()
    assert [(result.item, result.value, result.group) for result in results] == [
        (f"i{k}", float(score_of(k)), "g") for k in (1, 2, 3)
    ]
    assert model.n_asked == 3
    again = package.run(items, PROTOCOL, model, rubric=TACT, store=tmp_path / "s.db")
    assert (again.name, model.n_asked) == (run.name, 3)


def test_a_protocol_may_be_an_object(tmp_path: Path) -> None:
    protocol = package.load_protocol(PROTOCOL, rubric=TACT)
    run = package.run(ITEMS, protocol, "fake:text=[RESULT] 2", store=tmp_path / "s.db")
    assert [result.value for result in run.results()] == [2.0] * 3


def test_bad_items_from_python_are_an_error_with_all_of_them(tmp_path: Path) -> None:
    with pytest.raises(package.AdjudgeError, match=r"(?s)line 1.*line 2") as caught:
        package.run([{"id": "a"}, {"id": "b"}], PROTOCOL, "fake:text=1", rubric=TACT, store=tmp_path / "s.db")
    assert "instruction" in str(caught.value)
    with pytest.raises(package.AdjudgeError, match="item 1"):
        package.run([{"id": object()}], PROTOCOL, "fake:text=1", rubric=TACT, store=tmp_path / "s.db")


def test_a_watcher_receives_progress(tmp_path: Path) -> None:
    class Noting(Watcher):
        run = ""
        total = 0
        done: list[int]

        def started(self, run: RunRow, prepared: Prepared) -> None:
            self.run, self.total, self.done = run.name, prepared.n_items, []

        def progressed(self, progress: Progress) -> None:
            self.done.append(progress.done)

    noting = Noting()
    run = package.run(
        ITEMS, PROTOCOL, "fake:text=[RESULT] 2", rubric=TACT, store=tmp_path / "s.db", watcher=noting
    )
    assert (noting.run, noting.total, noting.done) == (run.name, 3, [1, 2, 3])


def test_a_cancelled_run_keeps_what_was_answered_and_says_that_it_was_interrupted(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 20), tmp_path / "adjudge.db"

    async def cancelled(model: str) -> None:
        task = asyncio.create_task(
            package.run_async(items, PROTOCOL, model, rubric=TACT, store=store, concurrency=2)
        )
        await soon(lambda: server.n_requests >= 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with FakeServer(by_number, latency=0.1) as server:
        asyncio.run(cancelled(model_at(server)))
        n_asked = server.n_requests
        assert n_asked < 20
        run = package.run(items, PROTOCOL, model_at(server), rubric=TACT, store=store, concurrency=2)
        assert server.n_requests == 20, "those in flight were waited for"
    assert run.progress.cached == n_asked


def test_a_broken_judge_is_a_failure_of_its_calls_and_not_of_the_run(tmp_path: Path) -> None:
    def says(call: package.Call) -> str:
        if call.item == "i2":
            raise ZeroDivisionError("the judge broke")
        return "[RESULT] 4"

    run = package.run(ITEMS, PROTOCOL, FakeModel(says), rubric=TACT, store=tmp_path / "s.db")
    assert [(result.value, result.status) for result in run.results()] == [
        (4.0, "ok"),
        (None, "no_reply"),
        (4.0, "ok"),
    ]
    assert run.progress.failed == 1


def test_rows_of_the_examples_run_from_python(tmp_path: Path) -> None:
    rows = read_rows(EXAMPLES / "products.jsonl")
    replies = EXAMPLES / "products.replies.jsonl"
    run = package.run(rows, "opinion-summary/faithfulness", f"replay:{replies}", store=tmp_path / "s.db")
    assert [result.value for result in run.results()] == [5.0, 1.0, 5.0, 3.0]
