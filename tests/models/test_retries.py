"""Faults of a host, each produced for real on a socket: what is tried again, what stands, what stops the
run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec import structs

import fakeserver as fs
from adjudge.errors import AuthError, BudgetReached, HostDown, ModelError, RateLimited
from adjudge.models import Network, Parameters, parse_model
from adjudge.records import Call, Message, Reply
from clock import PATIENCE_SECONDS, soon, until
from fakeserver import Answer, FakeServer

CALL = Call("key-1", "item-1", "p@1", ("clarity",), "m", (Message("user", "Judge this."),))


async def ask_once(server: FakeServer, params: Parameters | None = None, **network: Any) -> Reply:
    net = Network(**{"backoff_seconds": 0.01, **network})
    model = parse_model(f"{server.url}/v1#judge", network=net)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await model.ask(CALL, params or Parameters())
    finally:
        await net.close()


def asked(
    plan: Iterable[Answer], params: Parameters | None = None, **network: Any
) -> tuple[Reply, FakeServer]:
    with FakeServer(plan) as server:
        return asyncio.run(ask_once(server, params, **network)), server


PASSING = {
    "500": fs.error(500),
    "502 page": fs.html(502),
    "503": fs.error(503),
    "529": fs.error(529),
    "408": fs.error(408),
    "429": fs.limited(),
    "login page": fs.html(),
    "cut JSON": fs.cut_json(),
    "empty body": Answer(200, b""),
    "invalid UTF-8": Answer(200, fs.chat("XY").body.replace(b"XY", b"\xff\xfe")),
    "no JSON at all": Answer(200, b"upstream connect error"),
    "no choices": fs.as_json({"choices": []}),
    "200 with an error": fs.as_json({"error": {"message": "upstream", "code": 502}}),
    "200 with a 429 inside": fs.as_json({"error": {"message": "slow down", "code": 429}}),
    "broken gzip": fs.broken_gzip(),
    "reset in the body": fs.reset(),
    "closed before the answer": fs.closed(),
    "longer content length": fs.longer_than_sent(),
    "shorter content length": fs.chat().with_headers(content_length="30"),
    "bad header": fs.chat().with_headers(content_length="many"),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_passing_fault_is_tried_again_and_the_reply_is_whole(name: str) -> None:
    reply, server = asked([PASSING[name], fs.chat("all is well")])
    assert reply.error is None
    assert reply.text == "all is well"
    assert server.n_requests == 2


STANDING = {
    "500 always": (fs.error(500, "broken inside"), "server", 6, "broken inside"),
    "reset always": (fs.reset(), "transport", 6, "connection lost"),
    "too long": (
        fs.error(400, "maximum context length is 10 tokens", code="context_length_exceeded"), "too_long", 1,
        "10 tokens",
    ),
    "413": (fs.error(413, "large"), "too_long", 1, "413"),
    "request too large for the limit": (fs.error(429,
    "Request too large for judge: Limit 10, Requested 20"), "too_long", 1, "too large"),
    "filtered": (fs.error(400, "filtered", code="content_filter"), "filtered", 1, "filtered"),
    "some other 400": (fs.error(400, "messages must alternate"), "bad_reply", 1, "alternate"),
    "more than the cap, packed": (fs.bomb(40), "bad_reply", 1, "32 MB"),
    "more than the cap, announced": (
        Answer(200, b"{", {"content-length": "40000000"}, "half"), "bad_reply", 1, "32 MB",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STANDING)
def test_a_standing_fault_is_a_typed_error_after_so_many_requests(name: str) -> None:
    answer, kind, n_requests, words = STANDING[name]
    reply, server = asked([answer] * 10)
    assert reply.error is not None
    assert (reply.error.kind, server.n_requests) == (kind, n_requests)
    assert words in reply.error.message
    assert reply.text == ""
    assert reply.call == CALL.key


def test_a_message_repeats_at_most_200_characters_of_an_answer_on_one_line() -> None:
    reply, _ = asked([Answer(400, b"<b>\n\x1b[31m" + b"long " * 1000)])
    assert reply.error is not None
    assert len(reply.error.message) < 260
    assert reply.error.message.isprintable()


@pytest.mark.parametrize("answer", [fs.hang(), fs.half(), fs.drip()], ids=["hang", "half", "drip"])
def test_a_host_that_stalls_is_left_after_the_deadline_and_its_connection_closed(answer: Answer) -> None:
    with FakeServer([answer], default=fs.chat("after")) as server:
        started = time.monotonic()
        reply = asyncio.run(ask_once(server, Parameters(timeout_seconds=0.5)))
        seconds = time.monotonic() - started
        assert reply.text == "after"
        assert reply.seconds <= seconds - 0.5, "the attempt that failed counts as time of the reply"
        until(lambda: server.open_connections == 0, "the connections to close")
        assert server.n_connections == server.n_requests >= 2


def test_silence_in_the_middle_of_a_body_ends_before_the_deadline() -> None:
    plan = [fs.half(), fs.chat("after")]
    reply, _ = asked(plan, Parameters(timeout_seconds=10 * PATIENCE_SECONDS), idle_seconds=0.2)
    assert reply.text == "after"


def test_a_call_that_times_out_three_times_is_a_timeout() -> None:
    reply, server = asked([fs.hang()] * 5, Parameters(timeout_seconds=0.1))
    assert reply.error is not None
    assert (reply.error.kind, reply.error.is_retryable, server.n_requests) == ("timeout", True, 3)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after-ms": "400"}, 0.4),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:01 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 1.0),
        (
            {
                "x-ratelimit-reset-requests": "400ms",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "9m0s",
                "x-ratelimit-remaining-tokens": "50",
            },
            0.4,
        ),
    ],
    ids=["seconds", "milliseconds", "date", "reset"],
)
def test_the_wait_that_a_host_states_is_kept_in_full(headers: dict[str, str], seconds: float) -> None:
    _, server = asked([Answer(429, b"{}", headers)])
    first, second = server.requests
    # No upper bound, which a busy machine would break: `stated_wait` is tested to the millisecond.
    assert seconds <= second.seconds - first.seconds


def test_rate_limits_are_not_counted_as_failed_attempts() -> None:
    reply, server = asked([fs.limited("0.01")] * 12 + [fs.error(500)] * 5)
    assert reply.error is None
    assert server.n_requests == 18


def test_a_stated_wait_holds_back_every_call_to_the_host() -> None:
    async def run(server: FakeServer) -> None:
        net = Network(backoff_seconds=0.01)
        models = [parse_model(f"{server.url}/v1#{name}", network=net) for name in ("one", "two")]
        first = asyncio.create_task(models[0].ask(CALL, Parameters()))
        await soon(lambda: any(limiter.n_limited for limiter in net.limiters.values()))
        await asyncio.gather(first, *(model.ask(CALL, Parameters()) for model in models * 5))
        await net.close()

    with FakeServer([fs.limited("0.6")]) as server:
        asyncio.run(run(server))
        first, *others = server.requests
    assert len(others) == 11
    assert min(request.seconds for request in others) - first.seconds >= 0.6


def test_a_host_that_only_limits_the_rate_stops_the_run_when_patience_is_over() -> None:
    with FakeServer(default=fs.limited()) as server, pytest.raises(HostDown, match="answered 429"):
        asyncio.run(ask_once(server, outage_seconds=0.2))


def test_a_timeout_names_its_remedy() -> None:
    reply, _ = asked([fs.hang()] * 3, Parameters(timeout_seconds=0.2))
    assert reply.error is not None
    assert "--timeout" in reply.error.message


def test_a_wait_beyond_all_patience_stops_the_run() -> None:
    with pytest.raises(RateLimited, match="86400 seconds"):
        asked([fs.limited("86400")])


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (fs.quota(), BudgetReached, "same command again"),
        (fs.error(402, "Payment Required"), BudgetReached, "402"),
        (fs.error(400, "Your credit balance is too low"), BudgetReached, "credit"),
        (fs.error(401, "Incorrect API key"), AuthError, "--key-env"),
        (fs.error(403, "Country not supported"), AuthError, "Country not supported"),
        (fs.error(404, "The model `x` does not exist"), ModelError, "name of the model"),
        (
            fs.redirect("http://elsewhere.example/login?token=abc"),
            ModelError,
            r"points to elsewhere\.example\.",
        ),
        (fs.redirect("/v2"), ModelError, "another address on the same host"),
    ],
)
def test_a_fault_of_every_call_stops_the_run_at_once(
    answer: Answer, error: type[ModelError], words: str
) -> None:
    with FakeServer([answer] * 5) as server:
        with pytest.raises(error, match=words):
            asyncio.run(ask_once(server))
        assert server.n_requests == 1


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "Requested tokens (25394) exceed context window of 512"),
        (500, "the request exceeds the available context size, try increasing it"),
        (400, "This model's maximum context length is 512 tokens, however you requested 25394"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 9 and 9"),
        (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500"),
    ],
)
def test_a_prompt_that_is_too_long_is_asked_once_whatever_the_status(status: int, words: str) -> None:
    reply, server = asked([fs.error(status, words)] * 5)
    assert reply.error is not None
    assert (reply.error.kind, reply.error.is_retryable, server.n_requests) == ("too_long", False, 1)


def test_an_error_of_a_server_that_only_names_its_context_is_tried_again() -> None:
    reply, server = asked([fs.error(500, "could not allocate the context window"), fs.chat("4")])
    assert (reply.text, server.n_requests) == ("4", 2)


@pytest.mark.parametrize("said", ["It is not right", "It is not right.", "Is it right?"])
@pytest.mark.parametrize("status", [402, 403, 404, 405, 410])
def test_a_message_ends_with_one_full_stop_however_the_host_ends_its_own(status: int, said: str) -> None:
    with FakeServer([fs.error(status, said)] * 5) as server, pytest.raises(ModelError) as caught:
        asyncio.run(ask_once(server))
    message = str(caught.value)
    assert said in message
    assert ".." not in message
    assert "?." not in message
    assert message.endswith(".")


def test_after_a_spent_quota_further_calls_are_not_sent() -> None:
    async def run(server: FakeServer) -> None:
        model = parse_model(f"{server.url}/v1#judge")
        for _ in range(3):
            with pytest.raises(BudgetReached):
                await model.ask(CALL, Parameters())
        await model.close()

    with FakeServer([fs.quota()]) as server:
        asyncio.run(run(server))
        assert server.n_requests == 1


def test_a_page_in_place_of_every_reply_stops_the_run_with_what_to_do() -> None:
    with pytest.raises(ModelError, match=r"login page or a proxy.*Check the address"):
        asked([fs.html()] * 10)


def test_a_page_after_a_good_reply_is_an_error_of_its_call_alone() -> None:
    async def run(server: FakeServer) -> list[Reply]:
        net = Network(backoff_seconds=0.01)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        try:
            return [await model.ask(CALL, Parameters()) for _ in range(2)]
        finally:
            await net.close()

    with FakeServer([fs.chat("fine"), *[fs.html()] * 6]) as server:
        first, second = asyncio.run(run(server))
    assert first.text == "fine"
    assert second.error is not None
    assert "sign in to the proxy" in second.error.message


def test_a_host_that_was_never_there_stops_the_run_with_what_to_do() -> None:
    with FakeServer() as server:
        gone = server
    with pytest.raises(
        ModelError,
        match=r"127\.0\.0\.1:\d+: connection refused\. Check the address, and that the server is running",
    ):
        asyncio.run(ask_once(gone))


def test_a_host_that_fails_all_calls_is_tried_by_one_at_a_time_and_then_given_up() -> None:
    async def run(server: FakeServer) -> list[Any]:
        net = Network(backoff_seconds=0.01, outage_seconds=1.0, concurrency=16)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        done = await asyncio.gather(
            *(model.ask(CALL, Parameters()) for _ in range(200)), return_exceptions=True
        )
        await net.close()
        return done

    with FakeServer(default=fs.error(500, "down")) as server:
        done = asyncio.run(run(server))
    stopped = [each for each in done if isinstance(each, ModelError)]
    assert len(stopped) > 150
    assert "not replied for 1 seconds" in str(stopped[0])
    # Sixteen in flight when it broke, and a handful of single tries since; not 200 times 6.
    assert server.n_requests < 60


@pytest.mark.parametrize("answer", [fs.error(503), fs.error(529)], ids=["503", "529"])
def test_no_call_is_lost_while_a_host_is_down_for_less_than_our_patience(answer: Answer) -> None:
    async def run(server: FakeServer, n: int) -> list[Reply]:
        net = Network(backoff_seconds=0.001, concurrency=8)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        replies = await asyncio.gather(*(model.ask(CALL, Parameters()) for _ in range(n)))
        await net.close()
        return replies

    for n in (1, 50):
        with FakeServer([answer] * 12) as server:  # twice as often as a call may fail by itself
            assert {reply.text for reply in asyncio.run(run(server, n))} == {"4"}


def test_one_call_that_always_fails_is_an_error_of_its_own_where_others_are_answered() -> None:
    async def run(server: FakeServer) -> list[Reply]:
        net = Network(backoff_seconds=0.001, concurrency=4)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        bad = structs.replace(CALL, messages=(Message("user", "poison"),))

        async def others() -> None:
            while not asking.done():
                await model.ask(CALL, Parameters())

        asking = asyncio.ensure_future(model.ask(bad, Parameters()))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await others()
        await net.close()
        return [await asking]

    def judge(request: fs.Request) -> Answer:
        return fs.error(503) if b"poison" in request.body else fs.chat()

    with FakeServer(judge, latency=0.002, keep=0) as server:
        (reply,) = asyncio.run(run(server))
    assert reply.error is not None
    assert reply.error.kind == "server"


def test_a_host_that_comes_back_is_used_again() -> None:
    async def run(server: FakeServer) -> list[Reply]:
        net = Network(backoff_seconds=0.01, concurrency=8)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        replies = await asyncio.gather(*(model.ask(CALL, Parameters()) for _ in range(100)))
        await net.close()
        return replies

    with FakeServer([fs.error(500)] * 20) as server:
        replies = asyncio.run(run(server))
    assert [reply.error for reply in replies] == [None] * 100


def test_a_thousand_calls_to_a_faulty_host_lose_none() -> None:
    async def run(server: FakeServer) -> list[Reply]:
        net = Network(backoff_seconds=0.05, concurrency=64)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        params = Parameters(timeout_seconds=1.0)
        replies = await asyncio.gather(*(model.ask(CALL, params) for _ in range(1000)))
        await net.close()
        return replies

    dice = fs.faulty({"failing": 0.05, "garbage": 0.02, "hanging": 0.01}, seed=7, text="4")
    slow_down = fs.faulty({"limited": 0.05}, seed=8)

    def plan(request: fs.Request) -> Answer:
        answer = slow_down(request)
        if answer.status != 429:
            return dice(request)
        return answer.with_headers(retry_after="0.05") if "retry-after" in answer.headers else answer

    with FakeServer(plan) as server:
        replies = asyncio.run(run(server))
    assert {reply.text for reply in replies} == {"4"}
    assert server.n_requests > 1080


def test_cancelled_calls_free_their_places() -> None:
    async def run(server: FakeServer) -> Reply:
        net = Network(concurrency=2)
        model = parse_model(f"{server.url}/v1#judge", network=net)
        tasks = [asyncio.create_task(model.ask(CALL, Parameters())) for _ in range(6)]
        await soon(lambda: server.in_flight == 2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert next(iter(net.limiters.values())).in_flight == 0
        reply = await asyncio.wait_for(model.ask(CALL, Parameters()), PATIENCE_SECONDS)
        await net.close()
        return reply

    with FakeServer([fs.hang(), fs.hang()]) as server:
        assert asyncio.run(run(server)).text == "4"


def test_a_prompt_of_several_megabytes_is_sent_whole() -> None:
    async def run(server: FakeServer) -> None:
        model = parse_model(f"{server.url}/v1#judge")
        long = Call("k", "i", "p", (), "m", (Message("user", "wort " * 500_000),))
        assert (await model.ask(long, Parameters())).text == "4"
        await model.close()

    with FakeServer() as server:
        asyncio.run(run(server))
        assert len(server.requests[0].json["messages"][0]["content"]) == 2_500_000
