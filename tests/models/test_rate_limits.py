"""How much is sent at once, and what a host's headers ask us to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest

import fakeserver as fs
from adjudge.cli.progress import troubles
from adjudge.models import Network, Parameters, parse_model
from adjudge.models.rate_limits import HostLimiter, Outcome, Window
from adjudge.models.retry_after import stated_wait
from adjudge.records import Call, Message
from clock import PATIENCE_SECONDS, soon
from fakeserver import FakeServer

CALL = Call("key-1", "item-1", "p@1", ("clarity",), "m", (Message("user", "Judge this."),))


async def ask_many(server: FakeServer, n: int, net: Network) -> None:
    model = parse_model(f"{server.url}/v1#judge", network=net)
    replies = await asyncio.gather(*(model.ask(CALL, Parameters(max_tokens=10)) for _ in range(n)))
    await net.close()
    assert {reply.text for reply in replies} == {"4"}


def test_no_more_calls_are_in_flight_than_allowed() -> None:
    async def run(server: FakeServer) -> None:
        asking = asyncio.create_task(ask_many(server, 60, Network(concurrency=5)))
        await soon(lambda: server.in_flight == 4)  # a run starts with few
        server.release()
        await asking

    with FakeServer(hold_from=1, latency=0.01) as server:
        asyncio.run(run(server))
        assert server.most_in_flight == 5
        assert server.n_connections == 5


def test_concurrency_climbs_to_what_is_allowed_within_a_few_rounds() -> None:
    async def run() -> list[int]:
        limiter = HostLimiter("host", 256)
        in_flight = []
        while not in_flight or in_flight[-1] < 256:
            in_flight.append(int(limiter.limit))
            for _ in range(in_flight[-1]):
                await limiter.enter()
            for _ in range(in_flight[-1]):
                limiter.leave("ok")
        return in_flight

    assert len(asyncio.run(run())) <= 7


def test_a_host_that_answers_late_gets_fewer_calls_and_one_hanging_call_changes_nothing() -> None:
    slow = HostLimiter("host", 64)
    asyncio.run(played(slow, ["ok"] * 100 + ["late", "late", "ok"] * 60))
    assert slow.limit <= 4
    hanging = HostLimiter("host", 64)
    asyncio.run(played(hanging, ["ok"] * 300 + (["late"] + ["ok"] * 63) * 5))
    assert hanging.limit == 64


def test_concurrency_settles_near_what_a_host_takes() -> None:
    net = Network(concurrency=64, backoff_seconds=0.02)
    with FakeServer(latency=0.01, capacity=8, keep=0) as server:
        asyncio.run(ask_many(server, 600, net))
        n_requests = server.n_requests
    (limiter,) = net.limiters.values()
    assert 4 <= limiter.limit <= 30
    assert limiter.n_limited == n_requests - 600
    assert n_requests < 1500


def outcomes(share_limited: float, n: int, seed: int = 1) -> list[Outcome]:
    dice = Random(seed)
    return ["limited" if dice.random() < share_limited else "ok" for _ in range(n)]


async def played(limiter: HostLimiter, words: list[Outcome]) -> None:
    for word in words:
        await limiter.enter()
        limiter.leave(word)


@pytest.mark.parametrize("ceiling", [1, 2, 64])
def test_concurrency_never_falls_below_its_floor_and_recovers(ceiling: int) -> None:
    limiter = HostLimiter("host", ceiling)
    asyncio.run(played(limiter, ["limited"] * 500))
    assert limiter.limit == min(2, ceiling)
    asyncio.run(played(limiter, ["ok"] * 5000))
    assert limiter.limit == ceiling


def test_a_few_refusals_at_random_do_not_slow_a_run_down() -> None:
    limiter = HostLimiter("host", 64)
    asyncio.run(played(limiter, outcomes(0.05, 4000)))
    assert limiter.limit > 50
    asyncio.run(played(limiter, outcomes(0.5, 4000)))
    assert limiter.limit < 10


def test_calls_enter_in_the_order_in_which_they_came() -> None:
    async def run() -> list[int]:
        limiter = HostLimiter("host", 1)
        entered: list[int] = []

        async def send(number: int) -> None:
            await limiter.enter()
            entered.append(number)
            await asyncio.sleep(0)
            limiter.leave("ok")

        await asyncio.gather(*(send(number) for number in range(20)))
        return entered

    assert asyncio.run(run()) == list(range(20))


def test_a_call_let_in_and_called_off_in_the_same_moment_gives_its_place_back() -> None:
    async def run() -> int:
        limiter = HostLimiter("host", 1)
        await limiter.enter()
        waiting = asyncio.create_task(limiter.enter())
        await asyncio.sleep(0)
        limiter.leave("ok")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(limiter.enter(), PATIENCE_SECONDS)
        return limiter.in_flight

    assert asyncio.run(run()) == 1


def most_within(times: list[float], seconds: float) -> int:
    """The largest number of moments in any stretch of so many seconds."""
    return max(sum(1 for other in times if start <= other < start + seconds) for start in times)


@pytest.mark.parametrize("concurrency", [3, 50])
def test_the_limit_of_requests_holds_in_every_window_of_the_hosts_clock(concurrency: int) -> None:
    async def run(server: FakeServer) -> None:
        net = Network(concurrency=concurrency, rpm=10, window_seconds=0.3)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        await asyncio.gather(*(model.ask(CALL, Parameters()) for _ in range(45)))
        await net.close()

    dice = Random(3)
    with FakeServer(lambda _: fs.chat().after(dice.uniform(0, 0.08))) as server:
        asyncio.run(run(server))
        times = [request.seconds for request in server.requests]
    assert most_within(times, 0.3) <= 10


def test_the_limit_of_tokens_holds_in_every_window() -> None:
    window = Window(100, seconds=10)
    now, taken = 0.0, []
    dice = Random(5)
    for _ in range(300):
        amount = dice.randint(1, 60)
        at = window.ready_at(now, amount)
        assert at < float("inf")
        now = max(now, at)
        window.take(amount)
        used = dice.randint(1, amount)
        taken.append((now, used))
        window.release(now, amount, used)
        now += dice.uniform(0, 1)
    for start, _ in taken:
        assert sum(used for at, used in taken if start <= at < start + 10) <= 100
    assert now < 300 * 60 / 100 * 10


def test_what_is_in_flight_counts_against_the_limit_until_it_has_ended() -> None:
    window = Window(100, seconds=10)
    window.take(80)
    assert window.ready_at(1000.0, 20) == 1000.0
    assert window.ready_at(1000.0, 21) == float("inf")
    window.release(1000.0, 80, 30)
    assert window.ready_at(1001.0, 70) == 1001.0
    assert window.ready_at(1001.0, 71) == 1010.0


def test_a_call_larger_than_the_whole_window_goes_alone() -> None:
    window = Window(100, seconds=10)
    assert window.ready_at(0.0, 500) == 0.0
    window.take(500)
    assert window.ready_at(0.0, 1) == float("inf")
    window.release(0.0, 500, 500)
    assert window.ready_at(1.0, 500) == 10.0


def test_the_limit_of_tokens_is_kept_over_http_by_what_replies_really_used() -> None:
    with FakeServer(latency=0.01) as server:
        asyncio.run(ask_many(server, 16, Network(concurrency=20, tpm=100, window_seconds=0.2)))
        times = [request.seconds for request in server.requests]
    # Each reply counts 25 tokens: four calls fit in a window.
    assert most_within(times, 0.2) <= 4


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:01:00 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 60.0),
        ({"retry-after": "Thu, 01 Jan 2015 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:02 GMT"}, 2.0),
        ({"retry-after": "later"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-reset-tokens": ""}, None),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "5s"}, 5.0),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "5s",
                "x-ratelimit-remaining-tokens": "100",
            },
            1.0,
        ),
        ({"x-ratelimit-reset": "1767225630"}, 30.0),
        ({"anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:07Z"}, 7.0),
    ],
)
def test_the_wait_that_headers_state(headers: dict[str, str], seconds: float | None) -> None:
    assert stated_wait(headers, now=1767225600.0) == (None if seconds is None else pytest.approx(seconds))


def after_rounds(
    limiter: HostLimiter, n: int, seconds_of: Callable[[int], list[float]], longest: float
) -> float:
    """The longest time of a call in so many rounds of a host that answers L calls after `seconds_of(L)`."""

    async def run() -> float:
        slowest = 0.0
        for _ in range(n):
            times = seconds_of(int(limiter.limit))
            for _ in times:
                await limiter.enter()
            for seconds in times:
                limiter.leave("ok" if seconds <= longest else "late", seconds=seconds, longest=longest)
            slowest = max(slowest, *times)
        return slowest

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("places", "seconds", "longest"), [(2, 7.0, 30.0), (2, 7.0, 120.0), (1, 20.0, 120.0)]
)
def test_a_host_that_answers_a_few_at_a_time_gets_no_more_than_it_answers_in_time(
    places: int, seconds: float, longest: float
) -> None:
    limiter = HostLimiter("host", 64)
    slowest = after_rounds(limiter, 20, lambda n: [seconds * (k // places + 1) for k in range(n)], longest)
    assert slowest <= longest
    assert limiter.n_late == 0
    assert limiter.limit >= places


def test_one_call_that_hangs_does_not_send_a_slow_host_more_at_once() -> None:
    limiter = HostLimiter("host", 64)
    after_rounds(limiter, 10, lambda n: [7.0 * (k // 2 + 1) for k in range(n)], 30.0)
    settled = limiter.limit
    after_rounds(limiter, 1, lambda n: [31.0, *(7.0 * (k // 2 + 1) for k in range(n - 1))], 30.0)
    assert limiter.limit < 1.5 * settled


def test_a_host_that_always_takes_long_gets_all_that_is_allowed() -> None:
    random = Random(1)
    limiter = HostLimiter("host", 64)
    after_rounds(limiter, 12, lambda n: [random.uniform(60, 75) for _ in range(n)], 120.0)
    assert limiter.limit == 64


def ended(*outcomes: tuple[Outcome, str, float], outage_seconds: float = 600.0) -> HostLimiter:
    async def run() -> HostLimiter:
        limiter = HostLimiter("host", 4, outage_seconds=outage_seconds)
        for outcome, note, seconds in outcomes:
            await limiter.enter()
            limiter.leave(outcome, note=note, seconds=seconds, longest=120.0)
        return limiter

    return asyncio.run(run())


def test_what_a_run_waits_for_is_named_with_the_remedy() -> None:
    assert ended(("ok", "", 1.0)).trouble == ""
    limited = ended(("limited", "host answered 429:\nslow\x07 down", 1.0)).trouble
    assert "answered 429: slow" in limited
    assert "--patience: 10 min" in limited
    late = ended(("late", "host did not answer within 120 s", 120.0))
    assert "1 timeout so far (--timeout SECONDS waits longer)" in late.trouble
    again = ended(("late", "host did not answer", 120.0), ("ok", "", 1.0)).trouble
    assert "did not answer" not in again
    assert "1 timeout so far" in again


def test_a_host_that_limits_the_rate_is_named_on_the_line_of_progress() -> None:
    async def run(server: FakeServer) -> str:
        net = Network(concurrency=4, backoff_seconds=0.01, outage_seconds=PATIENCE_SECONDS)
        models = [parse_model(f"{server.url}/v1#{name}", network=net) for name in ("one", "two")]
        asking = asyncio.create_task(models[0].ask(CALL, Parameters()))
        await soon(lambda: bool(models[1].trouble))
        words = troubles(models)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await net.close()
        return words

    with FakeServer(default=fs.error(429, "slow down")) as server:
        words = asyncio.run(run(server))
    assert words.count("429") == 1, "two judges of one host wait for the same reason"
    assert "--patience" in words


def test_the_patience_counts_from_the_beginning_of_the_first_call_that_fails() -> None:
    assert ended(("late", "no answer", 120.0), outage_seconds=90.0).given_up
    assert not ended(("ok", "", 1.0), ("late", "no answer", 120.0), outage_seconds=90.0).given_up
