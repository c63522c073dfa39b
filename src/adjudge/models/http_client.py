"""An HTTP/1.1 client for two kinds of request: post a body, get a bounded response or a fault; and, for batch APIs, send
once with any method, from a file of any size or into one.

Nothing is raised and nothing retried, except that a post on a kept connection that turns out to be closed is sent
again on a new one; a request that is sent once always has a new connection. Connections are kept alive and reused. Redirects are not followed, cookies are not used, and responses
are bounded in size and time. Proxies are those of the environment (`proxies`), certificates those of OpenSSL with
SSL_CERT_FILE and SSL_CERT_DIR. A general HTTP client would take a large part of all CPU time of a judgment;
`bench/overhead.py` measures it.

Responses are parsed by httptools: one request at a time, a response with a length, in chunks or up to the end of the
connection. An inconsistent response is `Malformed`, never a partial one.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from time import perf_counter
from typing import IO, Any, cast
from urllib.parse import quote, urlsplit

import httptools
from msgspec import Struct

from ..version import __version__
from .http_errors import Fault, Response, proxy_requires_credentials
from .proxies import Proxy, proxy_for

LARGEST_HEAD = 65_536
"""Bytes of a status line with all headers, or of anything else that is not body: the trailer, extensions of chunks."""


class Malformed(Exception):
    """The bytes are not a complete HTTP response."""


class TooLarge(Exception):
    """The response exceeds the size limit."""


class Incoming:
    """One response while it is received, in pieces of any size. The methods `on_…` are called by the parser."""

    __slots__ = (
        "_body",
        "_has_head",
        "_is_complete",
        "_overhead",
        "_parser",
        "_size",
        "has_begun",
        "headers",
        "keeps_alive",
        "largest",
        "sink",
        "status",
    )

    def __init__(self, largest: int, sink: IO[bytes] | None = None) -> None:
        self.largest = largest
        self.sink = sink
        """where the body of a response with status 200 is written, as it comes"""
        self.status = 0
        self.headers: dict[str, str] = {}
        self.keeps_alive = False
        """whether the connection may be reused"""
        self.has_begun = False
        self._has_head = self._is_complete = False
        self._size = self._overhead = 0
        self._body: list[bytes] = []
        self._parser: Any = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> bool:
        """Add received bytes; whether the response is complete."""
        self.has_begun = True
        size_before = self._size
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            raise (error.__context__ or error) from None  # what a method `on_…` raised
        except httptools.HttpParserError as error:
            if not self._is_complete:
                raise Malformed(f"this is not a valid HTTP response ({str(error)[:60]})") from None
            self.keeps_alive = False  # the bytes after a complete response
        if self._size == size_before and not self._is_complete:
            self._overhead += len(data)
            if self._overhead > LARGEST_HEAD:
                raise Malformed("the headers are too long")
        if self._is_complete:
            self._parser = None  # it refers to this object: a cycle for each call would be costly to collect
        return self._is_complete

    def end(self) -> bool:
        """The host has closed the connection; whether the response is complete."""
        self.keeps_alive = False
        framed = "content-length" in self.headers or "transfer-encoding" in self.headers
        return self._is_complete or (self._has_head and not framed)

    def body(self) -> bytes:
        """The decompressed body of a complete response."""
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        encoding = self.headers.get("content-encoding", "identity").lower()
        if encoding == "identity":
            return body
        if self.sink is not None and self.status == 200:
            raise Malformed(f"the response is encoded as {encoding[:20]}, which was not asked for")
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise Malformed(f"the response has an unexpected content encoding: {encoding[:20]}")
        return _unpacked(body, self.largest)

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        if self._is_complete:
            # Surplus bytes must not become the beginning of the next response.
            self.keeps_alive = False

    def on_header(self, raw: bytes, value: bytes) -> None:
        if self._has_head:
            return  # the trailer after the last chunk, or bytes after the response
        name = raw.decode("latin-1").lower()
        text = value.decode("latin-1")
        self.headers[name] = f"{self.headers[name]}, {text}" if name in self.headers else text

    def on_headers_complete(self) -> None:
        if self._is_complete:
            return
        self.status = self._parser.get_status_code()
        if self._parser.get_http_version() not in ("1.1", "1.0"):
            raise Malformed("this is not an HTTP/1.1 response")
        if self.status == 101:
            raise Malformed("unexpected switch of protocol (101)")
        if self.status < 200:
            return
        self._has_head = True
        coding = self.headers.get("transfer-encoding", "chunked")
        if coding.lower() != "chunked":
            raise Malformed(f"the response has an unexpected transfer encoding: {coding[:20]}")
        if int(self.headers.get("content-length", 0)) > self.largest:
            raise TooLarge

    def on_body(self, data: bytes) -> None:
        if self._is_complete:
            return
        self._size += len(data)
        is_sunk = self.sink is not None and self.status == 200
        if self._size > (self.largest if is_sunk else min(self.largest, LARGEST_RESPONSE)):
            raise TooLarge
        if self.sink is not None and is_sunk:
            self.sink.write(data)
        else:
            self._body.append(data)

    def on_message_complete(self) -> None:
        if self._is_complete:
            return
        if self._has_head:
            self._is_complete = True
            self.keeps_alive = self._parser.should_keep_alive()
        else:  # an interim response (100, 103)
            self.headers = {}


def _unpacked(body: bytes, largest: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=47)
    try:
        raw = unpacker.decompress(body, largest + 1)
    except zlib.error as error:
        raise Malformed("the compressed body is damaged") from error
    if len(raw) > largest:
        raise TooLarge
    if not unpacker.eof:
        raise Malformed("the compressed body is cut off")
    return raw


class Connection(asyncio.Protocol):
    """One connection to a host: one request and its response at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._incoming: Incoming | None = None
        self._answered: asyncio.Future[Incoming] | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._stall_seconds = 0.0
        self.idle_since = 0.0
        self.is_open = False
        self.is_unanswered = False
        """whether the host closed it without a byte of an answer to the last request"""
        self.is_lost = loop.create_future()
        self._is_full: asyncio.Future[None] | None = None
        """while the transport takes no more; done when it does again"""

    async def ask(
        self,
        request: bytes,
        largest: int,
        stall_seconds: float,
        more: Iterable[bytes] = (),
        sink: IO[bytes] | None = None,
    ) -> Incoming:
        """Send a request, with `more` behind its first bytes, and wait for the complete response.

        Raises `Malformed`, `TooLarge`, `TimeoutError` where a response stalls, and `OSError` where
        the connection is lost.
        """
        if self._transport is None or not self.is_open:
            self.is_unanswered = True
            raise ConnectionResetError("it closed the connection")
        self._incoming = Incoming(largest, sink)
        self._stall_seconds = stall_seconds
        self._answered = self._loop.create_future()
        self._transport.write(request)
        try:
            for piece in more:
                await self._write(self._transport, self._answered, piece)
            return await self._answered
        finally:
            self._answered = self._incoming = None
            if self._stall is not None:
                self._stall.cancel()
                self._stall = None

    async def _write(
        self, transport: asyncio.Transport, answered: asyncio.Future[Incoming], piece: bytes
    ) -> None:
        """Send a piece when there is room for it; nothing once the host has answered or gone."""
        if not answered.done():
            transport.write(piece)
            if self._is_full is not None:
                await asyncio.wait((self._is_full, answered), return_when=asyncio.FIRST_COMPLETED)

    def abort(self) -> None:
        """Close at once; a response in progress is lost."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # Callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # other event loops have other classes
        self.is_open = True

    def pause_writing(self) -> None:
        self._is_full = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._is_full is not None and not self._is_full.done():
            self._is_full.set_result(None)
        self._is_full = None

    def data_received(self, data: bytes) -> None:
        incoming, answered = self._incoming, self._answered
        if incoming is None or answered is None or answered.done():
            self.abort()  # there is no request
            return
        try:
            is_complete = incoming.feed(data)
        except (Malformed, TooLarge, OSError) as fault:  # the last: no room for what is received
            self._fail(fault)
            return
        if is_complete:
            answered.set_result(incoming)
        else:
            if self._stall is not None:
                self._stall.cancel()
            self._stall = self._loop.call_later(self._stall_seconds, self._stalled)

    def eof_received(self) -> None:
        self._end(ConnectionResetError("it closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._end(exc or ConnectionResetError("it closed the connection"))
        if not self.is_lost.done():
            self.is_lost.set_result(None)

    def _end(self, fault: Exception) -> None:
        self.is_open = False
        if self._answered is None or self._answered.done():
            return
        if self._incoming is not None and self._incoming.end():
            self._answered.set_result(self._incoming)
        elif self._incoming is not None and self._incoming.has_begun:
            self._answered.set_exception(
                ConnectionResetError("it closed the connection in the middle of a response")
            )
        else:
            self.is_unanswered = True
            self._answered.set_exception(fault)

    def _stalled(self) -> None:
        self._fail(TimeoutError())

    def _fail(self, fault: Exception) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(fault)
        self.abort()


LARGEST_RESPONSE = 32_000_000
"""Bytes, decompressed."""

LARGEST_DOWNLOAD = 4_000_000_000
"""Bytes of a response that goes to a file."""

CONNECT_SECONDS = 20.0

KEEP_ALIVE_SECONDS = 30.0
"""How long an idle connection is kept."""

LOOKUP_SECONDS = 300.0
"""How long a DNS lookup is cached."""

_COMMON_HEADERS = {
    "User-Agent": f"adjudge/{__version__}",
    "Content-Type": "application/json",
    "Accept": "application/json",
    # Replies are small; decompressing them would cost more than it saves.
    "Accept-Encoding": "identity",
}


class _Tunnel(asyncio.Protocol):
    """The beginning of a connection through a proxy: the response to CONNECT. Its body does not count."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.status: asyncio.Future[int] = loop.create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._n_bytes = 0

    def data_received(self, data: bytes) -> None:
        self._n_bytes += len(data)
        if self.status.done():
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(ConnectionResetError("this is not an HTTP response"))
        if self._n_bytes > LARGEST_HEAD:
            self._fail(ConnectionResetError("its headers are too long"))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200 and not self.status.done():
            self.status.set_result(status)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionResetError("it closed the connection"))

    def _fail(self, fault: Exception) -> None:
        if not self.status.done():
            self.status.set_exception(fault)
            self.status.exception()  # retrieved: the caller may have been cancelled


class _RefusedByProxy(Exception):
    """The proxy opens no tunnel; `status` is its answer."""

    def __init__(self, status: int) -> None:
        self.status = status


class _Target(Struct, frozen=True):
    """A parsed address, and the proxy on the way to it."""

    host: str
    port: int
    is_secure: bool
    shown: str
    """host and port as in the address, for the Host header and for messages"""
    path: str
    proxy: Proxy | None = None

    @property
    def name(self) -> str:
        """The host for messages, with the proxy that a fault may come from."""
        return f"{self.shown} through the proxy {self.proxy.shown}" if self.proxy else self.shown


Address = tuple[int, Any]
"""The family of a socket, and the address that it connects to."""

Lookup = Callable[[str, int], Awaitable[Sequence[Address]]]


async def _look_up(host: str, port: int) -> Sequence[Address]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((int(entry[0]), entry[4]) for entry in found))


class Transport:
    """The connections to one host. `look_up` finds its addresses."""

    def __init__(self, idle_seconds: float, look_up: Lookup = _look_up) -> None:
        self._idle_seconds = idle_seconds
        self._look_up = look_up
        self._targets: dict[str, _Target] = {}
        self._heads: dict[tuple[str, tuple[tuple[str, str], ...]], bytes] = {}
        self._kept: dict[tuple[str, int, bool], list[Connection]] = {}
        self._open: set[Connection] = set()
        self._lookups: dict[str, tuple[float, asyncio.Future[Sequence[Address]]]] = {}
        self._working: dict[str, Address] = {}
        """the address of each host that accepted the last connection"""
        self._tls: ssl.SSLContext | None = None

    async def post(
        self, address: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> Response | Fault:
        """The complete response to one request within `seconds`."""
        try:
            target = self._targets.get(address) or self._targets.setdefault(address, _target(address))
            request = self._request(address, target, headers, body)
        except ValueError as error:
            return Fault("transport", f"{address[:200]}: {error}", is_final=True, is_unreached=True)
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        kept = self._kept_connection(target)
        if kept is not None:
            result = await self._exchange(kept, target, request, ends_at)
            if isinstance(result, Response) or result.kind == "timeout" or not kept.is_unanswered:
                return result
            # The host had closed it while it was idle. Others that are as old are closed as well.
            self._drop_kept(target)
        connection = await self._connected(target, ends_at - loop.time())
        if isinstance(connection, Fault):
            return connection
        return await self._exchange(connection, target, request, ends_at)

    async def send(
        self,
        method: str,
        address: str,
        headers: Mapping[str, str],
        seconds: float,
        *,
        body: bytes = b"",
        file: Sequence[bytes | Path] = (),
        sink: IO[bytes] | None = None,
    ) -> Response | Fault:
        """The response to a request that is sent once. `file` are pieces of the body, each bytes or a file; the body of a
        response with status 200 goes to `sink`."""
        pieces = file or (body,)
        try:
            target = _target(address)
            size = sum(len(piece) if isinstance(piece, bytes) else piece.stat().st_size for piece in pieces)
            head = _head(target, headers, method) + b"%d\r\n\r\n" % size
        except ValueError as error:
            return Fault("transport", f"{address[:200]}: {error}", is_final=True, is_unreached=True)
        ends_at = asyncio.get_running_loop().time() + seconds
        connection = await self._connected(target, seconds)
        if isinstance(connection, Fault):
            return connection
        return await self._exchange(connection, target, head, ends_at, _pieces(pieces), sink)

    async def _exchange(
        self,
        connection: Connection,
        target: _Target,
        request: bytes,
        ends_at: float,
        more: Iterable[bytes] = (),
        sink: IO[bytes] | None = None,
    ) -> Response | Fault:
        loop = asyncio.get_running_loop()
        started = perf_counter()
        deadline = loop.call_at(ends_at, connection.abort)
        keeps_alive = False
        try:
            largest = LARGEST_RESPONSE if sink is None else LARGEST_DOWNLOAD
            incoming = await connection.ask(request, largest, self._idle_seconds, more, sink)
            body = incoming.body()
            keeps_alive = incoming.keeps_alive and connection.is_open
            if target.proxy is not None:
                body = target.proxy.redacted_body(body)
                if incoming.status == 407:
                    return proxy_requires_credentials(target.proxy.shown, target.proxy.variable)
            return Response(incoming.status, incoming.headers, body)
        except TooLarge:
            return Fault("bad_reply", f"{target.shown} sent more than {largest // 1_000_000} MB")
        except TimeoutError:
            return Fault("timeout", f"{target.shown} stopped in the middle of a response", True)
        except (Malformed, OSError) as error:
            if loop.time() >= ends_at:
                taken = f"{perf_counter() - started:.0f} s"
                return Fault("timeout", f"{target.shown} did not answer within {taken}", True)
            return Fault("transport", f"{target.name}: connection lost: {_reason(error)}", True)
        finally:
            deadline.cancel()
            if keeps_alive:
                connection.idle_since = loop.time()
                self._kept.setdefault((target.host, target.port, target.is_secure), []).append(connection)
            else:
                self._drop(connection)

    def _request(self, address: str, target: _Target, headers: Mapping[str, str], body: bytes) -> bytes:
        cache_key = (address, tuple(headers.items()))
        head = self._heads.get(cache_key)
        if head is None:
            if len(self._heads) > 100:  # an API key that is rotated often
                self._heads.clear()
            head = self._heads[cache_key] = _head(target, headers)
        return b"%b%d\r\n\r\n%b" % (head, len(body), body)

    # Connections

    def _kept_connection(self, target: _Target) -> Connection | None:
        kept = self._kept.get((target.host, target.port, target.is_secure))
        oldest = asyncio.get_running_loop().time() - KEEP_ALIVE_SECONDS
        while kept:
            connection = kept.pop()
            if connection.is_open and connection.idle_since > oldest:
                return connection
            self._drop(connection)
        return None

    def _drop_kept(self, target: _Target) -> None:
        for connection in self._kept.pop((target.host, target.port, target.is_secure), ()):
            self._drop(connection)

    async def _connected(self, target: _Target, seconds: float) -> Connection | Fault:
        seconds = min(seconds, CONNECT_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                connection = await self._connect(target)
        except TimeoutError:
            return Fault(
                "timeout", f"{target.name}: no connection within {seconds:.0f} s", True, is_unreached=True
            )
        except ssl.SSLCertVerificationError as error:
            return Fault("transport", _certificate_error(target, error), is_final=True, is_unreached=True)
        except _RefusedByProxy as refusal:
            return _proxy_fault(target, refusal.status)
        except (OSError, UnicodeError) as error:
            is_final = isinstance(error, _NoCertificates)
            reason = f"{target.name}: {_reason(error)}"
            return Fault("transport", reason, not is_final, is_final=is_final, is_unreached=True)
        self._open.add(connection)
        return connection

    async def _connect(self, target: _Target) -> Connection:
        """A connection to the host, directly or through its proxy."""
        loop = asyncio.get_running_loop()
        proxy = target.proxy
        first_host, is_first_secure = (
            (proxy.host, proxy.is_secure) if proxy else (target.host, target.is_secure)
        )
        first_tls = self._tls_context() if is_first_secure else None
        tls = self._tls_context() if target.is_secure else None
        sock = await self._socket(first_host, proxy.port if proxy else target.port)
        is_tunnel = proxy is not None and tls is not None
        try:
            transport, protocol = await loop.create_connection(
                lambda: _Tunnel(loop) if is_tunnel else Connection(loop),
                sock=sock,
                ssl=first_tls,
                server_hostname=first_host if first_tls else None,
            )
        except BaseException:
            sock.close()
            raise
        if isinstance(protocol, Connection):
            return protocol
        assert proxy is not None
        assert tls is not None
        try:
            await _open_tunnel(transport, protocol, target, proxy)
            connection = Connection(loop)
            over_tls = await loop.start_tls(transport, connection, tls, server_hostname=target.host)
        except BaseException:
            transport.abort()
            raise
        assert over_tls is not None
        connection.connection_made(over_tls)
        return connection

    async def _socket(self, host: str, port: int) -> socket.socket:
        """A socket connected to the first address of a host that answers (RFC 8305).

        The address that accepted the last connection is tried first.
        """
        addresses = _interleaved(await self._addresses(host, port))
        if (known := self._working.get(host)) in addresses:
            addresses.remove(known)
            addresses.insert(0, known)
        try:
            connected, address = await _first_connected(addresses)
        except OSError:
            self._lookups.pop(host, None)  # its addresses may have changed
            self._working.pop(host, None)
            raise
        self._working[host] = address
        return connected

    async def _addresses(self, host: str, port: int) -> Sequence[Address]:
        """The IP addresses of a host. One lookup serves all calls, and continues if its first caller is cancelled."""
        loop = asyncio.get_running_loop()
        cached = self._lookups.get(host)
        if cached is None or loop.time() - cached[0] > LOOKUP_SECONDS or _has_failed(cached[1]):
            lookup = asyncio.ensure_future(self._look_up(host, port))
            # Retrieves the exception of a lookup that no call waits for any more.
            lookup.add_done_callback(_has_failed)
            cached = self._lookups[host] = (loop.time(), lookup)
        return await asyncio.shield(cached[1])

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            for variable, is_there in (("SSL_CERT_FILE", os.path.isfile), ("SSL_CERT_DIR", os.path.isdir)):
                path = os.environ.get(variable)
                if path and not is_there(path):
                    # OpenSSL would ignore it, and every certificate would be refused.
                    raise _NoCertificates(f"{variable} names {path[:200]}, which does not exist")
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def _drop(self, connection: Connection) -> None:
        self._open.discard(connection)
        connection.abort()

    async def close(self) -> None:
        """Close all connections, and wait until they are closed."""
        for _, lookup in self._lookups.values():
            lookup.cancel()
        self._lookups.clear()
        connections, self._open = list(self._open), set()
        self._kept.clear()
        for connection in connections:
            connection.abort()
        if connections:
            await asyncio.wait([connection.is_lost for connection in connections], timeout=1.0)


class _NoCertificates(OSError):
    """A variable names certificates that are not there."""


async def _open_tunnel(
    transport: asyncio.WriteTransport, tunnel: _Tunnel, target: _Target, proxy: Proxy
) -> None:
    """Ask a proxy for a connection to the host; raises where it refuses."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = (f"CONNECT {host}:{target.port} HTTP/1.1", f"Host: {host}:{target.port}", *proxy.headers)
    transport.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    status = await tunnel.status
    if not 200 <= status < 300:
        raise _RefusedByProxy(status)


def _proxy_fault(target: _Target, status: int) -> Fault:
    """The fault of a proxy that opens no tunnel."""
    proxy = target.proxy
    assert proxy is not None
    if status == 407:
        return proxy_requires_credentials(proxy.shown, proxy.variable)
    message = f"the proxy {proxy.shown} ({proxy.variable}) opens no connection to {target.shown}: it answered {status}"
    if 400 <= status < 500:
        advice = f"Ask for access, or add {target.host} to NO_PROXY to connect directly."
        return Fault("transport", f"{message}. {advice}", is_final=True, is_unreached=True, status=0)
    return Fault("server", message, True, is_unreached=True)


def _certificate_error(target: _Target, error: ssl.SSLCertVerificationError) -> str:
    """Why a certificate was refused, and how a private authority is trusted."""
    message = f"{target.name}: its certificate is not valid ({error.verify_message.rstrip('.')})."
    used = os.environ.get("SSL_CERT_FILE")
    if error.verify_code in _OTHER_HOST:
        return f"{message} Use the host name that is in the certificate"
    if used:
        return f"{message} The authorities that are trusted are those in SSL_CERT_FILE ({used[:200]}): add the one that signed it"
    return f"{message} If a private authority signed it, set SSL_CERT_FILE to a PEM file with its certificate"


_OTHER_HOST = (62, 64)
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH"""

ATTEMPT_DELAY_SECONDS = 0.25
"""How long one address may take before the next is tried at the same time, as RFC 8305 recommends."""


def _interleaved(addresses: Sequence[Address]) -> list[Address]:
    """The addresses with the families in turn, that of the first address first."""
    first = [address for address in addresses if address[0] == addresses[0][0]]
    others = [address for address in addresses if address[0] != addresses[0][0]]
    pairs = chain.from_iterable(zip_longest(first, others))
    return [address for address in pairs if address is not None]


async def _first_connected(addresses: Sequence[Address]) -> tuple[socket.socket, Address]:
    """A socket connected to the first address that accepts; the others are given up."""
    if not addresses:
        raise OSError("it has no address")
    if len(addresses) == 1:
        return await _connected_socket(addresses[0])
    waiting, pending = deque(addresses), set[asyncio.Task[tuple[socket.socket, Address]]]()
    fault: BaseException | None = None
    try:
        while waiting or pending:
            if waiting:
                pending.add(asyncio.ensure_future(_connected_socket(waiting.popleft())))
            done, pending = await asyncio.wait(
                pending,
                timeout=ATTEMPT_DELAY_SECONDS if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            winner = next((task for task in done if task.exception() is None), None)
            if winner is not None:
                pending |= done - {winner}
                return winner.result()
            fault = next((task.exception() for task in done), fault)
        raise fault or OSError("it has no address")
    finally:
        await _give_up(pending)


async def _connected_socket(address: Address) -> tuple[socket.socket, Address]:
    family, place = address
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, place)
    except BaseException:
        sock.close()
        raise
    return sock, address


async def _give_up(attempts: set[asyncio.Task[tuple[socket.socket, Address]]]) -> None:
    for attempt in attempts:
        attempt.cancel()
    for result in await asyncio.gather(*attempts, return_exceptions=True):
        if not isinstance(result, BaseException):
            result[0].close()  # it was connected a moment too late


def _has_failed(lookup: asyncio.Future[Any]) -> bool:
    return lookup.done() and (lookup.cancelled() or lookup.exception() is not None)


def _target(address: str) -> _Target:
    """Parse an address; `ValueError` where it is not valid."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        raise ValueError("it must begin with http:// or https://")
    if not parts.hostname:
        raise ValueError("it names no host")
    is_secure = parts.scheme == "https"
    host = parts.hostname.encode("idna").decode() if not parts.hostname.isascii() else parts.hostname
    shown = f"[{host}]" if ":" in host else host
    if parts.port is not None:
        shown = f"{shown}:{parts.port}"
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    if parts.query:
        path = f"{path}?{quote(parts.query, safe='/%:@!$&()*+,;=~?')}"
    port = parts.port or (443 if is_secure else 80)
    return _Target(host, port, is_secure, shown, path, proxy_for(host, port, is_secure))


def _pieces(parts: Sequence[bytes | Path]) -> Iterator[bytes]:
    for part in parts:
        if isinstance(part, bytes):
            yield part
            continue
        with part.open("rb") as file:
            while piece := file.read(1 << 16):
                yield piece


def _head(target: _Target, headers: Mapping[str, str], method: str = "POST") -> bytes:
    """The head of a request up to the length of its body."""
    is_forwarded = target.proxy is not None and not target.is_secure
    path = f"http://{target.shown}{target.path}" if is_forwarded else target.path
    lines = [f"{method} {path} HTTP/1.1", f"Host: {target.shown}"]
    lines += [f"{name}: {value}" for name, value in (_COMMON_HEADERS | dict(headers)).items()]
    if target.proxy is not None and is_forwarded:
        lines += target.proxy.headers
    if any(letter in line for line in lines for letter in "\r\n\0"):
        # A key with a line break would inject a header.
        raise ValueError("a header contains a line break. Check the key for a stray newline.")
    return ("\r\n".join(lines) + "\r\nContent-Length: ").encode("latin-1")


def _reason(error: BaseException) -> str:
    """The short text of an exception; it contains nothing of the request."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, socket.gaierror):
        return f"unknown host name ({error.strerror})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:200]
    return (str(error) or type(error).__name__)[:200]
