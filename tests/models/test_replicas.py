"""Several servers as one judge: each call is answered by one of them, as long as one answers."""

from __future__ import annotations

import asyncio
import heapq
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from adjudge.errors import HostDown, ModelError, RateLimited
from adjudge.models import Model, Network, Parameters, parse_model
from adjudge.records import Call, Message, Reply
from fakeserver import Answer, FakeServer, Request, error, limited
from running import DIRECT, adjudge, answers, by_number, number_in, score_of


def replicas(*servers: FakeServer | str, name: str = "judge") -> str:
    addresses = (server if isinstance(server, str) else f"{server.url}/v1" for server in servers)
    return f"{','.join(addresses)}#{name}"


def unused() -> str:
    """An address where nothing listens."""
    with FakeServer() as server:
        return f"{server.url}/v1"


def a_call(number: int) -> Call:
    return Call(f"key {number}", "i", "p", (), "judge", (Message("user", f"answer {number}."),))


def replies(spec: str, n: int, **settings: float) -> tuple[Model, list[Reply]]:
    """The replies to `n` calls that are made at once."""

    async def ask() -> tuple[Model, list[Reply]]:
        network = Network(concurrency=8, backoff_seconds=0.02, **settings)
        model = parse_model(spec, network=network)
        tasks = [asyncio.ensure_future(model.ask(a_call(k), Parameters())) for k in range(n)]
        try:
            return model, await asyncio.gather(*tasks)
        finally:
            # Calls that still wait must not open a connection again.
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await network.close()

    return asyncio.run(ask())


def test_the_identity_of_a_judge_does_not_depend_on_its_replicas() -> None:
    two = parse_model("http://a:8000/v1,http://b:8000/v1#qwen3")
    three = parse_model("http://c/v1,https://d/v1/chat/completions,http://a:8000/v1/#qwen3")
    other = parse_model("http://a:8000/v1,http://b:8000/v1#other")
    assert two.identity == three.identity == two.name == "replicas#qwen3"
    assert other.identity != two.identity
    assert (two.n_hosts, three.n_hosts) == (2, 3)
    alias = parse_model("house=http://a/v1,http://b/v1#qwen3")
    assert (alias.name, alias.identity) == ("house", two.identity)


@pytest.mark.parametrize(
    "spec",
    [
        "http://a/v1,http://a/v1#x",
        "http://a/v1,http://b/v1",
        "http://a/v1,http://#x",
        "http://a/v1,http://u:p@b/v1#x",
    ],
)
def test_replicas_that_cannot_be_are_an_error(spec: str) -> None:
    with pytest.raises(ModelError) as failure:
        parse_model(spec)
    assert "u:p" not in str(failure.value)


def test_all_replicas_share_the_calls() -> None:
    with FakeServer(by_number, latency=0.01) as one, FakeServer(by_number, latency=0.01) as two:
        _, answered = replies(replicas(one, two), 40)
        assert all(reply.error is None for reply in answered)
        assert one.n_requests + two.n_requests == 40
        assert min(one.n_requests, two.n_requests) >= 5


def test_a_replica_that_cannot_be_reached_costs_no_call() -> None:
    with FakeServer(by_number) as server:
        gone = unused()
        model, answered = replies(replicas(gone, server), 30)
        assert all(reply.error is None for reply in answered)
        assert server.n_requests == 30
    assert [gone.split("/")[2] in text for text in model.warnings] == [True]


@pytest.mark.parametrize("fault", [500, 503])
def test_a_replica_that_fails_is_set_aside(fault: int) -> None:
    with FakeServer(lambda _: error(fault)) as broken, FakeServer(by_number, latency=0.005) as sound:
        _, answered = replies(replicas(broken, sound), 60)
        assert all(reply.error is None for reply in answered)
        assert sound.n_requests == 60
        assert broken.n_requests < 30


def test_a_call_that_fails_everywhere_fails_alone() -> None:
    def judge(request: Request) -> Answer:
        return error(500) if number_in(request) == 3 else by_number(request)

    with FakeServer(judge) as one, FakeServer(judge) as two:
        _, answered = replies(replicas(one, two), 10)
    assert [k for k, reply in enumerate(answered) if reply.error is not None] == [3]
    assert answered[3].error is not None
    assert answered[3].error.kind == "server"


def test_no_replica_at_all_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ModelError, match="Check the addresses"):
        replies(replicas(unused(), unused()), 3)


def test_replicas_that_are_down_for_too_long_stop_the_run() -> None:
    n_asked = 0

    def judge(request: Request) -> Answer:
        nonlocal n_asked
        n_asked += 1
        return by_number(request) if n_asked <= 4 else error(503)

    with FakeServer(judge) as one, FakeServer(judge) as two, pytest.raises(HostDown):
        replies(replicas(one, two), 20, outage_seconds=0.2)


def test_replicas_that_are_always_rate_limited_stop_the_run_after_the_patience() -> None:
    with FakeServer(lambda _: limited()) as one, FakeServer(lambda _: limited()) as two:
        with pytest.raises(HostDown, match=r"no replica of .* has replied for 0 seconds\. .*Rate limit"):
            replies(replicas(one, two), 5, outage_seconds=0.3)
        assert one.n_requests + two.n_requests < 200


def test_a_rate_limit_longer_than_the_patience_at_every_replica_stops_the_run() -> None:
    with FakeServer(lambda _: limited("3600")) as one, FakeServer(lambda _: limited("1800")) as two:
        with pytest.raises(RateLimited, match="longer than --patience"):
            replies(replicas(one, two), 3, outage_seconds=60)
        assert one.n_requests + two.n_requests < 20


@pytest.mark.parametrize("retry_after", [None, "3600"])
def test_calls_of_a_replica_that_is_rate_limited_beyond_the_patience_go_to_the_others(
    retry_after: str | None,
) -> None:
    with FakeServer(lambda _: limited(retry_after)) as one, FakeServer(by_number) as two:
        _, answered = replies(replicas(one, two), 20, outage_seconds=0.2)
        assert all(reply.error is None for reply in answered)
        assert two.n_requests == 20


def test_a_run_on_rate_limited_replicas_ends_with_the_code_for_later(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 3), tmp_path / "adjudge.db"
    with FakeServer(lambda _: limited()) as one, FakeServer(lambda _: limited()) as two:
        command = ["run", items, *DIRECT, "-m", replicas(one, two), "--store", store, "--patience", "0.01"]
        stopped = adjudge(*command)
        assert stopped.code == 5, stopped.err
        assert "To resume later, run the same command" in stopped.err
        assert "--patience MINUTES waits longer" in stopped.err


def test_what_one_replica_refuses_is_sent_to_none() -> None:
    def judge(request: Request) -> Answer:
        if "seed" in request.json:
            return error(400, "Unrecognized request argument supplied: seed")
        return by_number(request)

    async def ask(spec: str) -> list[str]:
        model = parse_model(spec)
        for number in range(6):
            reply = await model.ask(a_call(number), Parameters(seed=1))
            assert reply.error is None
        await model.close()
        return model.adjustments

    with FakeServer(judge) as one, FakeServer(judge) as two:
        assert len(asyncio.run(ask(replicas(one, two)))) == 1
        assert one.n_requests + two.n_requests == 7


def test_a_key_goes_to_the_replicas_it_is_given_for_and_to_no_other_host(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 12), tmp_path / "adjudge.db"
    with (
        FakeServer(by_number, latency=0.01) as one,
        FakeServer(by_number, latency=0.01) as two,
        FakeServer(by_number) as other,
    ):
        model = ["-m", f"house={replicas(one, two)}", "-m", f"other={other.url}/v1#judge"]
        done = adjudge(
            "run", items, *DIRECT, *model, "--key-env", "house=A_KEY", "--store", store, "-q",
            A_KEY="sk-of-the-house-123"
        )  # fmt: skip
        assert done.code == 0, done.err
        sent = {
            server.port: {request.headers.get("authorization") for request in server.requests}
            for server in (one, two, other)
        }
    assert sent[other.port] == {None}
    assert sent[one.port] | sent[two.port] == {"Bearer sk-of-the-house-123"}
    assert b"sk-of-the-house" not in store.read_bytes()


def test_a_run_is_resumed_with_other_replicas(tmp_path: Path) -> None:
    items, store = answers(tmp_path / "items.jsonl", 20), tmp_path / "adjudge.db"
    command = ["run", items, *DIRECT, "--store", store, "--json", "-q", "-m"]
    with FakeServer(by_number) as one, FakeServer(by_number) as two, FakeServer(by_number) as three:
        first = adjudge(*command, replicas(one, two), "--shard", "1/2")
        assert first.json["status"] == "stopped"
        n_before = two.n_requests
        assert one.n_requests + n_before == 10
        done = adjudge(*command, replicas(two, three, unused()))
        assert (done.code, done.json["status"]) == (0, "done")
        assert two.n_requests - n_before + three.n_requests == 10
    assert len(adjudge("runs", "--store", store, "--json").json) == 1
    rows = adjudge("export", "last", "--store", store).rows
    assert [row["score"] for row in rows] == [score_of(k) for k in range(1, 21)]
    assert {row["model"] for row in rows} == {"replicas#judge"}


# Speed


class Workers:
    """A judge that works on a few calls at a time, each for so long; the others wait."""

    def __init__(self, n: int, seconds: float, judge: Callable[[Request], Answer] = by_number) -> None:
        self.rate = n / seconds
        self._seconds, self._judge = seconds, judge
        self._free_at = [0.0] * n
        self.last_answer = 0.0

    def __call__(self, request: Request) -> Answer:
        now = time.monotonic()
        ends = max(now, heapq.heappop(self._free_at)) + self._seconds
        heapq.heappush(self._free_at, ends)
        self.last_answer = max(self.last_answer, ends)
        return self._judge(request).after(ends - now)

    def start_anew(self) -> None:
        self._free_at = [0.0] * len(self._free_at)


@pytest.mark.slow
def test_three_replicas_of_different_speed_of_which_one_dies_and_comes_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n_items = 1500
    items, store = answers(tmp_path / "items.jsonl", n_items), tmp_path / "adjudge.db"
    fast, middle, slow = workers = [Workers(4, 0.05), Workers(4, 0.1), Workers(4, 0.2)]
    died: list[float] = []

    def die_and_come_back(server: FakeServer) -> None:
        while server.n_answered < 60:
            time.sleep(0.01)
        died.append(time.monotonic())
        server.__exit__()
        time.sleep(3.0)
        middle.start_anew()
        with FakeServer(middle, port=server.port) as again:
            died.append(time.monotonic())
            ended.wait()
            came_back.append(again.n_answered)

    ended, came_back = threading.Event(), list[int]()
    with FakeServer(fast) as one, FakeServer(slow) as three:
        two = FakeServer(middle)
        two.__enter__()
        death = threading.Thread(target=die_and_come_back, args=(two,))
        command = ["run", items, *DIRECT, "-m", replicas(one, two, three), "--store", store, "--json", "-q"]
        death.start()
        begun = first_request(one)
        done = adjudge(*command, "--concurrency", "16")
        seconds = max(one.last_answer for one in workers) - begun()
        ended.set()
        death.join()
    assert done.code == 0, done.err
    rows = adjudge("export", "last", "--store", store).rows
    assert [row["score"] for row in rows] == [score_of(k) for k in range(1, n_items + 1)]
    assert came_back[0] > 20, "the replica that came back is used again"
    possible = sum(one.rate for one in workers) * seconds - middle.rate * (died[1] - died[0])
    with capsys.disabled():
        print(
            f"{n_items} calls in {seconds:.1f} s: {n_items / possible:.0%} of what the living replicas can do"
        )
    assert n_items / possible >= 0.85


def first_request(server: FakeServer) -> Callable[[], float]:
    """When the first request came in, asked for later."""
    moments: list[float] = []

    def watch() -> None:
        while not server.n_requests:
            time.sleep(0.002)
        moments.append(time.monotonic())

    threading.Thread(target=watch, daemon=True).start()
    return lambda: moments[0]
