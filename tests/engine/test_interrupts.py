"""A run that is stopped at any moment loses nothing it has paid for, and goes on with what is missing."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

import clock
from fakeserver import Answer, FakeServer, Request, chat
from running import DIRECT, adjudge, answers, asked_once, by_number, ended, model_at, started

N = 24


def until(server: FakeServer, n_requests: int, process: subprocess.Popen[str]) -> None:
    """Wait until a server was asked so often."""
    clock.until(lambda: server.n_requests >= n_requests or process.poll() is not None)
    assert server.n_requests >= n_requests, ended(process).err


def exported(store: Path) -> str:
    return adjudge("export", "last", "--store", store).out


def undisturbed(items: Path, server: FakeServer, store: Path) -> str:
    assert adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "-q").code == 0
    return exported(store)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_with_what_is_missing(stop: signal.Signals, tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", N), tmp_path / "adjudge.db"
    with FakeServer(by_number, latency=0.07, hold_from=9) as server:
        command = [
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--run", "mine",
            "--concurrency", "4",
        ]  # fmt: skip
        process = started(*command)
        until(server, 9, process)
        process.send_signal(stop)
        server.release()
        stopped = ended(process)
        n_before = server.n_requests
        status = adjudge("runs", "--store", store, "--json").json[0]["status"]
        again = adjudge(*command)
        assert server.n_requests == N, "those in flight were waited for, and none was asked twice"
        assert asked_once(server)
        assert n_before < N
        assert exported(store) == undisturbed(items, server, tmp_path / "other.db")
    assert (stopped.code, again.code) == (130, 0)
    assert status == "interrupted"
    assert "--run mine" in stopped.err
    assert "Traceback" not in stopped.err
    assert stopped.out == ""


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [3, N])
def test_a_run_that_waits_for_a_slow_judge_stops_without_its_reply(n_items: int, tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", n_items)
    with FakeServer(by_number, hold_from=1) as server:
        process = started(
            "run", items, *DIRECT, "-m", model_at(server), "--store", tmp_path / "s.db", "--concurrency", "2"
        )
        until(server, 2, process)
        process.send_signal(signal.SIGINT)
        assert ended(process).code == 130
        assert server.n_answered == 0


@pytest.mark.slow
def test_a_run_that_waits_for_the_calls_of_another_stops_without_them(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 3), tmp_path / "adjudge.db"
    with FakeServer(by_number, hold_from=1) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store]
        first = started(*command)
        until(server, 3, first)
        second = started(*command)
        assert second.stderr is not None
        assert second.stderr.readline()
        second.send_signal(signal.SIGINT)
        assert ended(second).code == 130
        assert (server.n_requests, server.n_answered) == (3, 0)
        first.send_signal(signal.SIGINT)
        assert ended(first).code == 130


@pytest.mark.slow
def test_a_run_stops_while_the_judge_writes_the_steps(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 2)
    with FakeServer(by_number, hold_from=1) as server:
        process = started(
            "run", items, "--criterion", "Is it a number?", "--steps", "generate", "-m", model_at(server),
            "--store", tmp_path / "s.db",
        )  # fmt: skip
        until(server, 1, process)
        process.send_signal(signal.SIGINT)
        stopped = ended(process)
        assert server.n_answered == 0
    assert stopped.code == 130
    assert "--steps generate" in stopped.err


@pytest.mark.slow
def test_a_killed_run_asks_again_only_for_what_was_in_flight(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", N), tmp_path / "adjudge.db"
    in_flight = 4
    with FakeServer(by_number, latency=0.05) as server:
        command = [
            "run",
            items,
            *DIRECT,
            "-m",
            model_at(server),
            "--store",
            store,
            "--concurrency",
            in_flight,
        ]
        command = [str(part) for part in command]
        for n_asked in (5, 14):
            server.hold_from = n_asked
            process = started(*command)
            until(server, n_asked, process)
            process.kill()
            process.communicate()
            server.release()
        assert adjudge("runs", "--store", store, "--json").json[0]["status"] == "interrupted"
        assert adjudge(*command).code == 0
        # A reply is lost only if the kill fell between its coming and its commit: those in flight, no others.
        assert N <= server.n_requests <= N + 2 * 2 * in_flight
        assert exported(store) == undisturbed(items, server, tmp_path / "other.db")


@pytest.mark.slow
def test_a_question_asked_again_is_not_lost_with_an_interrupted_run(tmp_path: Path) -> None:
    """The first reply is kept before the second is asked for: a kill in between costs the second alone."""
    items, store = answers(tmp_path / "items.jsonl", 3), tmp_path / "adjudge.db"

    def plan(request: Request) -> Answer:
        if len(request.json["messages"]) > 2:
            return chat("[RESULT] 3").after(3600 if server.n_requests <= 6 else 0)
        return chat("Feedback: I would rather not put it in a number.")

    with FakeServer(plan) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store]
        process = started(*command)
        until(server, 6, process)
        process.kill()
        process.communicate()
        assert adjudge(*command).code == 0
        assert server.n_requests == 9
        rows = adjudge("export", "last", "--store", store).rows
    assert [(row["score"], row["how"]) for row in rows] == [(3.0, "reask")] * 3


def test_nothing_is_asked_by_a_run_that_is_done(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 5), tmp_path / "adjudge.db"
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--json"]
        outcomes = [adjudge(*command) for _ in range(2)]
        assert server.n_requests == 5
    assert [outcome.code for outcome in outcomes] == [0, 0]
    assert outcomes[0].json["run"] == outcomes[1].json["run"]
