"""HTTP as hosts really send it: in any pieces, with lengths, in chunks, packed, broken; and over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.models import http_client
from adjudge.models.http_client import Transport
from adjudge.models.http_errors import Fault, Response
from clock import PATIENCE_SECONDS

BODY = b'{"choices": [{"message": {"content": "\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4 4"}}]}'
PACKED = gzip.compress(BODY, mtime=0)
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-A: 1\r\nx-a: 2\r\n\r\n%b" % (len(BODY), BODY)
CHUNKS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5;note=x\r\n%b\r\n%x\r\n%b\r\n0\r\nTrailer: y\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:])
)
ZIPPED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(PACKED), PACKED)
NOTICE = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + LENGTH
WHOLE = {"length": LENGTH, "chunks": CHUNKS, "gzip": ZIPPED, "notice": NOTICE}


def answered(*pieces: bytes, n: int = 1) -> tuple[list[Response | Fault], int]:
    """What `n` requests bring from a host that answers each with these bytes, and closes after the last; and
    how many connections they took."""
    n_connections = 0
    serving = set[asyncio.Task[None]]()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.ensure_future(answer(reader, writer)))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_connections
        n_connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            for left in range(n, 0, -1):
                await reader.readuntil(b"\r\n\r\n{}")
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if left == 1:
                    break
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def ask() -> list[Response | Fault]:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        transport = Transport(PATIENCE_SECONDS)
        try:
            return [await transport.post(address, {}, b"{}", PATIENCE_SECONDS) for _ in range(n)]
        finally:
            await transport.close()
            server.close()
            await asyncio.gather(*serving)

    return asyncio.run(ask()), n_connections


def answer_to_one(*pieces: bytes) -> Response | Fault:
    (found,), _ = answered(*pieces)
    return found


@pytest.mark.parametrize("raw", WHOLE.values(), ids=WHOLE.keys())
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_an_answer_is_the_same_in_whatever_pieces_it_comes(raw: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=8)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    found = answer_to_one(*pieces)
    assert isinstance(found, Response), found
    assert (found.status, found.body) == (200, BODY)


def test_headers_are_found_in_small_letters_and_repeated_ones_are_joined() -> None:
    found = answer_to_one(LENGTH)
    assert isinstance(found, Response)
    assert found.headers["x-a"] == "1, 2"


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    found = answer_to_one(b"HTTP/1.0 200 OK\r\n\r\n" + BODY)
    assert isinstance(found, Response)
    assert found.body == BODY


@pytest.mark.parametrize("raw", [LENGTH, CHUNKS], ids=["length", "chunks"])
def test_an_answer_that_is_cut_off_is_not_whole(raw: bytes) -> None:
    found = answer_to_one(raw[:-3])
    assert isinstance(found, Fault)
    assert (found.kind, found.is_retryable) == ("transport", True)


def test_bytes_behind_an_answer_do_not_begin_the_next() -> None:
    found, n_connections = answered(LENGTH + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", n=2)
    assert [one.body for one in found if isinstance(one, Response)] == [BODY, BODY]
    assert n_connections == 2


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
    ],
)
def test_a_connection_is_kept_only_where_the_host_keeps_it(head: bytes, keeps: bool) -> None:
    found, n_connections = answered(head + b"Content-Length: 0\r\n\r\n", n=2)
    assert all(isinstance(one, Response) for one in found)
    assert n_connections == (1 if keeps else 2)


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"<html>\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nName : x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: " + b"x" * 70_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 60_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ],
)
def test_what_does_not_hold_together_is_no_answer(raw: bytes) -> None:
    found = answer_to_one(raw)
    assert isinstance(found, Fault), found
    assert (found.kind, found.is_retryable) == ("transport", True)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001,
    ],
)
def test_an_answer_is_bounded_before_it_is_kept(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "LARGEST_RESPONSE", 1000)
    found = answer_to_one(raw)
    assert isinstance(found, Fault)
    assert (found.kind, found.is_retryable) == ("bad_reply", False)


def test_a_small_answer_that_unpacks_to_a_large_one_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "LARGEST_RESPONSE", 10_000)
    packed = gzip.compress(b"0" * 1_000_000)
    raw = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    found = answer_to_one(raw)
    assert isinstance(found, Fault)
    assert found.kind == "bad_reply"


@pytest.mark.parametrize("packed", [PACKED[:-6], b"not gzip at all"], ids=["cut", "other"])
def test_a_damaged_packing_is_no_answer(packed: bytes) -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    assert isinstance(answer_to_one(raw), Fault)


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_a_fault(data: bytes) -> None:
    assert isinstance(answer_to_one(b"HTTP/1.1 200 OK\r\n" + data), Response | Fault)


def asked(address: str, transport: Transport, headers: dict[str, str] | None = None) -> Response | Fault:
    async def ask() -> Response | Fault:
        try:
            return await transport.post(address, headers or {}, b"{}", 5.0)
        finally:
            await transport.close()

    return asyncio.run(ask())


def test_a_key_with_a_line_break_cannot_write_headers() -> None:
    reply = asked("http://127.0.0.1:1/v1", Transport(5.0), {"Authorization": "Bearer a\r\nX-Other: 1"})
    assert isinstance(reply, Fault)
    assert reply.is_final
    assert "line break" in reply.message
    assert "Bearer" not in reply.message


@pytest.mark.parametrize("address", ["ftp://host/", "http:///path", "file:///etc/passwd"])
def test_an_address_that_leads_nowhere_is_said(address: str) -> None:
    reply = asked(address, Transport(5.0))
    assert isinstance(reply, Fault)
    assert reply.is_final


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for localhost, signed by itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext "
        "subjectAltName=DNS:localhost"
    )
    subprocess.run(
        [*command.split(), "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


def over_tls(certificate: Path, *, is_trusted: bool) -> tuple[Response | Fault, int]:
    """What a request to a host with this certificate brings, twice; and how many connections it took."""
    n_connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_connections
        n_connections += 1
        while await reader.readline():
            await reader.readuntil(b"\r\n\r\n{}")
            writer.write(LENGTH)
        writer.close()

    async def ask() -> Response | Fault:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        server = await asyncio.start_server(answer, "localhost", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        transport = Transport(5.0)
        if is_trusted:
            transport._tls_context().load_verify_locations(certificate / "cert.pem")
        try:
            await transport.post(f"https://localhost:{port}/v1", {}, b"{}", 5.0)
            return await transport.post(f"https://localhost:{port}/v1", {}, b"{}", 5.0)
        finally:
            await transport.close()
            server.close()

    return asyncio.run(ask()), n_connections


def test_a_connection_over_tls_is_used_again(certificate: Path) -> None:
    response, n_connections = over_tls(certificate, is_trusted=True)
    assert isinstance(response, Response)
    assert (response.status, response.body, n_connections) == (200, BODY, 1)


def test_a_certificate_that_is_not_trusted_ends_the_run(certificate: Path) -> None:
    response, _ = over_tls(certificate, is_trusted=False)
    assert isinstance(response, Fault)
    assert response.is_final
    assert "certificate" in response.message
