"""HTTP as hosts really send it: in any pieces, with lengths, in chunks, packed, broken; and over TLS."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.models.http_client import Incoming, Malformed, TooLarge, Transport
from adjudge.models.http_errors import Fault, Response

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


def fed(pieces: list[bytes], largest: int = 10_000) -> Incoming:
    incoming = Incoming(largest)
    answers = [incoming.feed(piece) for piece in pieces]
    assert answers == [False] * (len(pieces) - 1) + [True]
    return incoming


@pytest.mark.parametrize("raw", WHOLE.values(), ids=WHOLE.keys())
@given(data=st.data())
def test_an_answer_is_the_same_in_whatever_pieces_it_comes(raw: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=8)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    incoming = fed(pieces)
    assert (incoming.status, incoming.body(), incoming.keeps_alive) == (200, BODY, True)


def test_headers_are_found_in_small_letters_and_repeated_ones_are_joined() -> None:
    assert fed([LENGTH]).headers["x-a"] == "1, 2"


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    incoming = Incoming(1000)
    assert not incoming.feed(b"HTTP/1.0 200 OK\r\n\r\n" + BODY)
    assert incoming.end()
    assert (incoming.body(), incoming.keeps_alive) == (BODY, False)


@pytest.mark.parametrize("raw", [LENGTH, CHUNKS], ids=["length", "chunks"])
def test_an_answer_that_is_cut_off_is_not_whole(raw: bytes) -> None:
    incoming = Incoming(1000)
    assert not incoming.feed(raw[:-3])
    assert not incoming.end()


def test_bytes_behind_an_answer_do_not_begin_the_next() -> None:
    incoming = fed([LENGTH + b"HTTP/1.1 200 OK\r\n"])
    assert (incoming.body(), incoming.keeps_alive) == (BODY, False)


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", True),
    ],
)
def test_a_connection_is_kept_only_where_the_host_keeps_it(head: bytes, keeps: bool) -> None:
    assert fed([head + b"Content-Length: 0\r\n\r\n"]).keeps_alive is keeps


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
        b"HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n",
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
    with pytest.raises(Malformed):
        Incoming(1000).feed(raw)


def test_a_trailer_without_end_is_no_answer() -> None:
    incoming = Incoming(1000)
    incoming.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: ")
    for _ in range(60):
        assert not incoming.feed(b"x" * 1000)
    with pytest.raises(Malformed):
        incoming.feed(b"x" * 10_000)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001,
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001,
    ],
)
def test_an_answer_is_bounded_before_it_is_kept(raw: bytes) -> None:
    with pytest.raises(TooLarge):
        Incoming(1000).feed(raw)


def test_a_small_answer_that_unpacks_to_a_large_one_is_bounded_too() -> None:
    packed = gzip.compress(b"0" * 1_000_000)
    raw = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    with pytest.raises(TooLarge):
        fed([raw]).body()


@pytest.mark.parametrize("packed", [PACKED[:-6], b"not gzip at all"], ids=["cut", "other"])
def test_a_damaged_packing_is_no_answer(packed: bytes) -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    with pytest.raises(Malformed):
        fed([raw]).body()


@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_refused(data: bytes) -> None:
    incoming = Incoming(1000)
    try:
        if incoming.feed(b"HTTP/1.1 200 OK\r\n" + data):
            incoming.body()
    except (Malformed, TooLarge):
        pass


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
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
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
