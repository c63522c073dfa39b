"""Servers that answer 500 to a schema: asked without it where the schema is the cause, and with it where it
is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fakeserver as fs
from adjudge.models import Model, Network, Parameters, parse_model
from adjudge.records import Call, Message, Reply
from fakeserver import Answer, FakeServer, Request

SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
OTHER = {"type": "object", "properties": {"choice": {"type": "string"}}, "required": ["choice"]}


def ask(servers: list[FakeServer], schemas: list[dict[str, Any] | None]) -> tuple[Model, list[Reply]]:
    """The replies to one call for each schema, one after another."""

    async def one_by_one() -> tuple[Model, list[Reply]]:
        network = Network(backoff_seconds=0.001)
        spec = ",".join(f"{server.url}/v1" for server in servers)
        model = parse_model(f"{spec}#judge", network=network)
        try:
            replies = []
            for number, schema in enumerate(schemas):
                call = Call(f"k{number}", "i", "p", (), "judge", (Message("user", f"call {number}"),))
                replies.append(await model.ask(call, Parameters(schema=schema)))
            return model, replies
        finally:
            await network.close()

    return asyncio.run(one_by_one())


def has_schema(request: Request) -> bool:
    return "response_format" in request.json


def never_with_a_schema(message: str) -> Any:
    return lambda request: fs.error(500, message) if has_schema(request) else fs.chat("4")


@pytest.mark.parametrize("n_servers", [1, 2])
def test_a_schema_that_the_server_names_is_left_out_after_one_call(n_servers: int) -> None:
    judge = never_with_a_schema("failed to parse grammar")
    with FakeServer(judge) as one, FakeServer(judge) as two:
        servers = [one, two][:n_servers]
        model, replies = ask(servers, [SCHEMA] * 4)
        n_with = sum(has_schema(request) for server in servers for request in server.requests)
        n_requests = sum(server.n_requests for server in servers)
    assert [reply.text for reply in replies] == ["4"] * 4
    assert (n_with, n_requests) == (2, 6)
    assert model.refused == {"schema"}
    (note,) = model.adjustments
    assert "schema is not sent" in note
    assert "answered 500 with it, and replied without it" in note
    assert "failed to parse grammar" in note
    assert not model.warnings


@pytest.mark.parametrize("n_servers", [1, 2])
def test_a_schema_that_the_server_does_not_name_is_left_out_after_several_calls(n_servers: int) -> None:
    judge = never_with_a_schema("Internal Server Error")
    with FakeServer(judge) as one, FakeServer(judge) as two:
        model, replies = ask([one, two][:n_servers], [SCHEMA] * 6)
        n_with = sum(map(has_schema, [*one.requests, *two.requests]))
    assert all(reply.text == "4" for reply in replies)
    assert n_with == 6  # twice for each of three calls
    assert model.refused == {"schema"}


def test_a_server_that_fails_twice_by_chance_keeps_getting_the_schema() -> None:
    plan = iter([fs.error(500)] * 2)
    with FakeServer(lambda _: next(plan, fs.chat("4"))) as server:
        model, replies = ask([server], [SCHEMA] * 4)
        sent = [has_schema(request) for request in server.requests]
    assert all(reply.text == "4" for reply in replies)
    assert sent == [True, True, False, True, True, True]
    assert not model.refused
    assert "schema is left out of single calls" in model.adjustments[0]


def test_a_server_that_fails_without_the_schema_too_says_nothing_about_it() -> None:
    plan = iter([fs.error(500, "bad schema")] * 4)
    with FakeServer(lambda _: next(plan, fs.chat("4"))) as server:
        model, replies = ask([server], [SCHEMA] * 2)
        assert has_schema(server.requests[-1])
    assert [reply.text for reply in replies] == ["4", "4"]
    assert not model.refused
    assert not model.adjustments


def test_one_schema_that_is_left_out_does_not_take_another_with_it() -> None:
    def judge(request: Request) -> Answer:
        is_bad = has_schema(request) and "choice" in str(request.json["response_format"])
        return fs.error(500, "cannot make a grammar") if is_bad else fs.chat("4")

    with FakeServer(judge) as server:
        model, replies = ask([server], [OTHER, SCHEMA, OTHER, SCHEMA])
        sent = [has_schema(request) for request in server.requests]
    assert all(reply.text == "4" for reply in replies)
    assert sent == [True, True, False, True, False, True]
    assert len(model.adjustments) == 1


def test_a_broken_replica_beside_a_sound_one_does_not_cost_the_schema() -> None:
    with FakeServer(lambda _: fs.error(500)) as broken, FakeServer(default=fs.chat("4")) as sound:
        model, replies = ask([broken, sound], [SCHEMA] * 12)
        assert all(has_schema(request) for request in sound.requests)
    assert all(reply.error is None for reply in replies)
    assert not model.refused
