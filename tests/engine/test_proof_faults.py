"""A thousand items on a host that goes wrong: nothing lost,
nothing scored wrongly, hardly slower than it must be.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

import fakeserver as fs
from adjudge.models import Network, Parameters, parse_model
from adjudge.models.timeouts import KNOWN_REPLIES, AdaptiveTimeout
from adjudge.records import Call, Message, Reply
from clock import PATIENCE_SECONDS
from fakeserver import Answer, FakeServer, Request

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from faults import Event, described, necessary, trial, union


@pytest.mark.slow
def test_a_thousand_items_on_a_faulty_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = trial(tmp_path, 1000, concurrency=64, latency=0.05, seed=1)
    with capsys.disabled():
        print(f"\n{described(outcome)}")
    assert min(outcome.faults.values()) >= 5, outcome.faults
    assert (outcome.n_lost, outcome.n_wrong) == (0, 0)
    assert outcome.ratio <= 1.5


def test_the_necessary_time_counts_overlapping_silences_once() -> None:
    assert union([(0.0, 1.0), (0.5, 1.5), (3.0, 4.0)]) == 2.5
    events = [
        Event(0.0, 1, "limited", 1.0),
        Event(0.0, 2, "limited", 1.0),
        Event(1.0, 1, "ok", 0.0),
        Event(1.0, 2, "hanging", 0.0),
        Event(11.0, 2, "ok", 0.0),
    ]
    assert necessary(events, latency=0.0, concurrency=2) == 11.0


# -- a request that is never answered

CALL = Call("key-1", "item-1", "p@1", ("clarity",), "m", (Message("user", "Judge this."),))


def asked(server: FakeServer, n: int, floor: float) -> list[Reply]:
    """Many calls, at most 20 at once, of which each may take an hour: waiting for that never ends."""

    async def run() -> list[Reply]:
        net = Network(concurrency=20, backoff_seconds=0.01, reply_floor_seconds=floor)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        async with asyncio.timeout(PATIENCE_SECONDS):
            replies = await asyncio.gather(
                *(model.ask(CALL, Parameters(timeout_seconds=3600)) for _ in range(n))
            )
        await net.close()
        return replies

    return asyncio.run(run())


@pytest.mark.parametrize("at", [1, 150], ids=["before anything is known", "later"])
def test_a_request_without_an_answer_is_given_up_once_others_show_how_long_it_takes(at: int) -> None:
    def one_hangs(_: Request) -> Answer:
        return fs.hang() if server.n_requests == at else fs.chat("4")

    with FakeServer(one_hangs, latency=0.005) as server:
        replies = asked(server, 200, floor=1.0)
        assert server.n_requests == 201
    assert {reply.text for reply in replies} == {"4"}


def test_a_reply_that_is_only_slow_has_all_the_time_at_the_second_attempt() -> None:
    slow = fs.chat("slow").after(2.5)

    def plan(_: Request) -> Answer:
        return slow if server.n_requests > KNOWN_REPLIES else fs.chat("4")

    with FakeServer(plan, latency=0.005) as server:
        replies = asked(server, KNOWN_REPLIES + 1, floor=1.0)
        n_requests = server.n_requests
    assert [reply.text for reply in replies].count("slow") == n_requests - KNOWN_REPLIES - 1 == 1
    assert not any(reply.error for reply in replies)


def test_patience_is_the_timeout_until_enough_is_known_and_never_more() -> None:
    patience = AdaptiveTimeout()
    assert patience.seconds(120) == 120
    for _ in range(KNOWN_REPLIES):
        patience.note(0.2)
    assert patience.seconds(120) == 10
    assert patience.seconds(5) == 5
    patience.note(4.0)
    assert patience.seconds(120) == 40
    patience.note(30.0)
    assert patience.seconds(120) == 120
