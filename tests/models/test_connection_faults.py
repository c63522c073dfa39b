"""Connections that hang, that are refused, and that a host closes while they are kept."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence

import pytest

import fakeserver as fs
from adjudge.models import Network, Parameters, parse_model
from adjudge.models.host_lookup import Address, Lookup
from adjudge.models.http_client import Transport
from adjudge.models.http_errors import Fault, Response
from adjudge.records import Call, Message
from clock import PATIENCE_SECONDS
from fakeserver import FakeServer

CALL = Call("key-1", "item-1", "p@1", ("clarity",), "m", (Message("user", "Judge this."),))


@pytest.fixture
def hanging() -> Iterator[socket.socket]:
    """A socket whose queue is full: it drops every further attempt to connect."""
    with socket.socket() as listener, socket.socket() as first:
        listener.bind(("127.0.0.2", 0))
        listener.listen(0)
        first.connect(listener.getsockname())
        yield listener


def looked_up(*places: tuple[str, int]) -> Lookup:
    async def look_up(_host: str, _port: int) -> Sequence[Address]:
        return [(socket.AF_INET, place) for place in places]

    return look_up


async def posted(transport: Transport, n: int, between: list[socket.socket]) -> list[Response | Fault]:
    """So many requests, each on a new connection; a socket hung until after the first is emptied then."""
    found = []
    try:
        for _ in range(n):
            found.append(await transport.post("http://judge.internal/v1", {}, b"{}", PATIENCE_SECONDS))
            for listener in between:
                listener.accept()[0].close()
            between.clear()
    finally:
        await transport.close()
    return found


def test_an_address_that_hangs_does_not_hold_up_one_that_answers_and_that_one_is_remembered(
    hanging: socket.socket,
) -> None:
    closing = fs.chat().with_headers(connection="close")
    with FakeServer(default=closing) as server:
        good = ("127.0.0.1", server.port)
        transport = Transport(5.0, looked_up(hanging.getsockname(), good))
        # From the second request on, the first address would accept; it is no longer tried first.
        found = asyncio.run(posted(transport, 3, [hanging]))
        assert [response.status for response in found if isinstance(response, Response)] == [200] * 3
        assert server.n_connections == 3


def test_a_refused_address_is_passed_over_and_all_of_them_refused_is_a_fault(hanging: socket.socket) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.3", 0))  # bound, and nobody listens
        refused = closed.getsockname()
        with FakeServer() as server:
            places = looked_up(refused, hanging.getsockname(), refused, ("127.0.0.1", server.port))
            (found,) = asyncio.run(posted(Transport(5.0, places), 1, []))
            assert isinstance(found, Response)
        (fault,) = asyncio.run(posted(Transport(5.0, looked_up(refused, refused)), 1, []))
        (nowhere,) = asyncio.run(posted(Transport(5.0, looked_up()), 1, []))
    assert isinstance(fault, Fault)
    assert (fault.is_unreached, fault.is_retryable) == (True, True)
    assert "refused" in fault.message
    assert isinstance(nowhere, Fault)
    assert "no address" in nowhere.message


def test_a_host_whose_addresses_all_hang_is_a_timeout(hanging: socket.socket) -> None:
    async def run() -> Response | Fault:
        transport = Transport(5.0, looked_up(hanging.getsockname(), hanging.getsockname()))
        try:
            return await transport.post("http://judge.internal/v1", {}, b"{}", 0.5)
        finally:
            await transport.close()

    found = asyncio.run(run())
    assert isinstance(found, Fault)
    assert (found.kind, found.is_unreached) == ("timeout", True)


def test_a_kept_connection_that_the_host_has_closed_costs_no_attempt() -> None:
    async def run(server: FakeServer) -> list[str]:
        # A call that counted the close as a failure would wait for minutes.
        network = Network(concurrency=16, backoff_seconds=1e6)
        model = parse_model(f"{server.url}/v1#judge", network=network)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                replies = await asyncio.gather(*(model.ask(CALL, Parameters()) for _ in range(300)))
            (limiter,) = network.limiters.values()
            assert not limiter.is_broken
            return [reply.text for reply in replies]
        finally:
            await network.close()

    with FakeServer(closes_reused=True, keep=0) as server:
        assert asyncio.run(run(server)) == ["4"] * 300
        assert server.n_closed > 0, "no kept connection was used"
        assert server.n_answered == 300


def test_a_host_that_closes_a_new_connection_without_an_answer_counts_as_failing() -> None:
    async def run(server: FakeServer) -> str:
        network = Network(backoff_seconds=0.001)
        model = parse_model(f"{server.url}/v1#judge", network=network)
        try:
            reply = await model.ask(CALL, Parameters())
        finally:
            await network.close()
        assert reply.error is not None
        return reply.error.kind

    with FakeServer(default=fs.closed()) as server:
        assert asyncio.run(run(server)) == "transport"
        assert server.n_requests == 6
