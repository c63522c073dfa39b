"""SIGKILL at 200 random points of runs: what was paid for
is kept, and the result is that of an undisturbed run.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from adjudge.store import open_store
from fakeserver import Answer, FakeServer, Request, chat
from running import DIRECT, answers, ended, model_at, number_in, prompt_of, score_of, started
from stored import assert_stored_as_combined

KILLS = 200
ITEMS = 60
CONCURRENCY = 4
LATENCY = 0.02
NEEDED = ITEMS + ITEMS // 7
"""Calls of an undisturbed run: every seventh item is asked again."""


def judge(request: Request) -> Answer:
    """Gives every item its score; the seventh, fourteenth, … only when asked again."""
    number = number_in(request)
    if number % 7 == 0 and len(request.json["messages"]) <= 2:
        return chat(f"Feedback: about {prompt_of(request)[-20:]!r} I cannot decide.")
    return chat(f"Feedback: it is {number}. [RESULT] {score_of(number)}")


class Story(NamedTuple):
    """What happened to one run until it was done."""

    export: str
    n_kills: int
    lost: list[int]
    """for each kill, the calls that were asked and not stored"""
    n_requests: int


def n_stored(store: Path) -> int:
    """How many replies are durable; the store is opened as any reader would."""
    if not store.exists() or not store.stat().st_size:
        return 0
    with open_store(store, write=False) as opened:
        return sum(opened.totals(run).replies for run in opened.runs())


def exported(store: Path) -> str:
    done = ended(started("export", "last", "--store", store))
    assert done.code == 0, done.err
    return done.out


def story(folder: Path, seed: int, n_kills: int) -> Story:
    """Run, kill at a random moment, start again, and so on until the run is done."""
    dice = Random(seed)
    folder.mkdir()
    items, store = answers(folder / "items.jsonl", ITEMS), folder / "adjudge.db"
    lost: list[int] = []
    # A fixed name in place of the address, which is another for each server.
    with FakeServer(judge, latency=LATENCY, keep=0) as server:
        command = [
            "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--concurrency",
            str(CONCURRENCY), "-q",
        ]  # fmt: skip
        while len(lost) < n_kills:
            n_before = server.n_requests
            process = started(*command)
            if dice.random() < 0.8:
                while server.n_requests == n_before and process.poll() is None:
                    time.sleep(0.002)
                time.sleep(dice.uniform(0, 0.3))
            else:
                time.sleep(dice.uniform(0, 1.0))  # perhaps before the store is there
            if process.poll() is not None:
                assert ended(process).code == 0
                break
            process.kill()
            process.communicate()
            time.sleep(2 * LATENCY)  # what was under way to the server arrives
            lost.append(server.n_requests - n_stored(store) - sum(lost))
            if store.exists() and store.stat().st_size:
                assert_stored_as_combined(store)
        last = ended(started(*command))
        assert last.code == 0, last.err
        assert_stored_as_combined(store)
        return Story(exported(store).replace(server.url, "HOST"), len(lost), lost, server.n_requests)


def check(history: Story, expected: str) -> None:
    assert history.export == expected
    assert all(0 <= n_lost <= CONCURRENCY for n_lost in history.lost), history.lost
    assert history.n_requests == NEEDED + sum(history.lost)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The export of an undisturbed run."""
    history = story(tmp_path_factory.mktemp("undisturbed") / "run", 0, n_kills=0)
    assert history.n_requests == NEEDED
    assert len(history.export.splitlines()) == ITEMS
    return history.export


@pytest.mark.slow
def test_three_kills_cost_at_most_the_calls_in_flight(tmp_path: Path, expected: str) -> None:
    check(story(tmp_path / "run", 1, n_kills=3), expected)


@pytest.mark.slow
def test_200_kills_cost_at_most_the_calls_in_flight(
    tmp_path: Path, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = count(100)
    stories: list[Story] = []
    with ThreadPoolExecutor(2) as pool:
        while sum(history.n_kills for history in stories) < KILLS:
            pair = [next(seeds), next(seeds)]
            stories += pool.map(lambda seed: story(tmp_path / str(seed), seed, n_kills=4), pair)
    for finished in stories:
        check(finished, expected)
    n_kills, n_lost = (
        sum(history.n_kills for history in stories),
        sum(sum(history.lost) for history in stories),
    )
    with capsys.disabled():
        print(
            f"\n{n_kills} kills of {len(stories)} runs: every export as undisturbed, {n_lost} calls "
            f"asked again, {n_lost / n_kills:.2f} a kill with {CONCURRENCY} in flight"
        )
