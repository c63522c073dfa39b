"""An HTTP/1.1 client for one kind of request: post a body, get a bounded response or a fault.

Nothing is raised and nothing retried. Connections are kept alive and reused. Redirects are not followed, proxies
and cookies of the environment are not used, and responses are bounded in size and time. A general HTTP client
would take half of all CPU time of a judgment.

The parser is strict: one request at a time, a response with a length, in chunks or up to the end of the
connection. An inconsistent response is `Malformed`, never a partial one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import Mapping
from time import perf_counter
from typing import Any, cast
from urllib.parse import quote, urlsplit

from msgspec import Struct

from ..version import __version__
from .http_errors import Fault, Response

LARGEST_HEAD = 65_536
"""Bytes of a status line with all headers, or of the trailer after the last chunk."""

_NAMES: dict[bytes, str] = {}
"""A cache of header names in lower case: hosts repeat the same few."""


class Malformed(Exception):
    """The bytes are not a complete HTTP response."""


class TooLarge(Exception):
    """The response exceeds the size limit."""


class Incoming:
    """One response while it is received, in pieces of any size."""

    __slots__ = (
        "_body",
        "_buffer",
        "_left",
        "_size",
        "_state",
        "headers",
        "keeps_alive",
        "largest",
        "status",
    )

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.status = 0
        self.headers: dict[str, str] = {}
        self.keeps_alive = False
        """whether the connection may be reused"""
        self._state = "head"
        self._buffer = b""
        self._left = 0
        self._size = 0
        self._body: list[bytes] = []

    @property
    def has_begun(self) -> bool:
        return bool(self._buffer) or self._state != "head"

    def feed(self, data: bytes) -> bool:
        """Add received bytes; whether the response is complete."""
        if self._state == "head":
            rest = self._head(self._buffer + data if self._buffer else data)
            if rest is None:
                return False
            data = rest
        if self._state == "length":
            return self._by_length(data)
        if self._state == "chunks":
            return self._in_chunks(self._buffer + data if self._buffer else data)
        if self._state == "open":
            self._keep(data)
            return False
        self.keeps_alive = self.keeps_alive and not data
        return True

    def end(self) -> bool:
        """The host has closed the connection; whether the response is complete."""
        self.keeps_alive = False
        return self._state == "open"

    def body(self) -> bytes:
        """The decompressed body of a complete response."""
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        encoding = self.headers.get("content-encoding", "identity").lower()
        if encoding == "identity":
            return body
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise Malformed(f"the response has an unexpected content encoding: {encoding[:20]}")
        return _unpacked(body, self.largest)

    # The head

    def _head(self, data: bytes) -> bytes | None:
        """What follows the head; none where the head is not complete yet."""
        while True:
            if not data.startswith(b"HTTP/1."[: len(data)]):
                raise Malformed("this is not an HTTP response")
            end = data.find(b"\r\n\r\n")
            if end < 0 and len(data) <= LARGEST_HEAD:
                self._buffer = data
                return None
            if end < 0 or end > LARGEST_HEAD:
                raise Malformed("the headers are too long")
            self._read_head(data[:end])
            data = data[end + 4 :]
            self._buffer = b""
            if self.status >= 200:
                self._choose_body()
                return data
            if self.status == 101:
                raise Malformed("unexpected switch of protocol (101)")
            if not data:  # an interim response (100, 103)
                return None

    def _read_head(self, head: bytes) -> None:
        lines = head.split(b"\r\n")
        first = lines[0]
        if first[7:9] not in (b"1 ", b"0 ") or not first[9:12].isdigit() or first[12:13] not in (b" ", b""):
            raise Malformed("the status line cannot be read")
        self.status = int(first[9:12])
        headers: dict[str, str] = {}
        for line in lines[1:]:
            raw, colon, value = line.partition(b":")
            name = _NAMES.get(raw) or _header_name(raw)
            if not colon or not name:
                raise Malformed("a header cannot be read")
            text = value.strip(b" \t").decode("latin-1")
            if name in headers:
                if name == "content-length" and headers[name] != text:
                    raise Malformed("two different content lengths")
                text = text if name == "content-length" else f"{headers[name]}, {text}"
            headers[name] = text
        self.headers = headers
        connection = headers.get("connection", "").lower()
        self.keeps_alive = "close" not in connection and (first[7:8] == b"1" or "keep-alive" in connection)

    def _choose_body(self) -> None:
        headers = self.headers
        if self.status in (204, 304):
            self._state = "none"
        elif (coding := headers.get("transfer-encoding")) is not None:
            if coding.lower() != "chunked":
                raise Malformed(f"the response has an unexpected transfer encoding: {coding[:20]}")
            # A length in addition to chunks suggests a proxy that parses the stream differently.
            self.keeps_alive = self.keeps_alive and "content-length" not in headers
            self._state = "chunks"
        elif (length := headers.get("content-length")) is not None:
            if not (length.isascii() and length.isdigit()):
                raise Malformed("the content length is not a number")
            self._left = int(length)
            if self._left > self.largest:
                raise TooLarge
            self._state = "length" if self._left else "none"
        else:
            self._state, self.keeps_alive = "open", False

    # The body

    def _by_length(self, data: bytes) -> bool:
        n = len(data)
        if n > self._left:
            # Surplus bytes must not become the beginning of the next response.
            self.keeps_alive = False
            data = data[: self._left]
            n = self._left
        self._left -= n
        if data:
            self._body.append(data)
        return self._left == 0

    def _in_chunks(self, data: bytes) -> bool:
        """Parse the chunks received so far: size in hexadecimal, data, an empty line."""
        at = 0
        while True:
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                return self._wait(data, at)
            size = _chunk_size(data[at:line_end])
            if size == 0:
                return self._after_chunks(data, at, line_end)
            end = line_end + 2 + size
            if self._size + size > self.largest:
                raise TooLarge
            if len(data) < end + 2:
                # The size is parsed again when the rest is there; data is not copied piece by piece.
                return self._wait(data, at, limit=self.largest + LARGEST_HEAD)
            if data[end : end + 2] != b"\r\n":
                raise Malformed("a chunk does not end where it should")
            self._keep(data[line_end + 2 : end])
            at = end + 2

    def _after_chunks(self, data: bytes, at: int, line_end: int) -> bool:
        """Skip the trailer after the last chunk, up to an empty line."""
        if data[line_end + 2 : line_end + 4] == b"\r\n":
            end = line_end + 4
        else:
            trailer_end = data.find(b"\r\n\r\n", line_end)
            if trailer_end < 0:
                return self._wait(data, at)
            end = trailer_end + 4
        self.keeps_alive = self.keeps_alive and len(data) == end
        return True

    def _wait(self, data: bytes, at: int, limit: int = LARGEST_HEAD) -> bool:
        self._buffer = data[at:]
        if len(self._buffer) > limit:
            raise Malformed("the chunks cannot be read")
        return False

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self.largest:
            raise TooLarge
        self._body.append(data)


def _header_name(raw: bytes) -> str:
    """A header's name in lower case; empty where it is not valid."""
    name = raw.decode("latin-1").lower()
    if not raw or not raw.isascii() or any(letter <= " " for letter in name):
        return ""
    if len(_NAMES) < 200:
        _NAMES[raw] = name
    return name


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip(b" \t")
    if not digits or len(digits) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise Malformed("the size of a chunk cannot be read")
    return int(digits, 16)


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
        self.is_lost = loop.create_future()

    async def ask(self, request: bytes, largest: int, stall_seconds: float) -> Incoming:
        """Send a request and wait for the complete response.

        Raises `Malformed`, `TooLarge`, `TimeoutError` where a response stalls, and `OSError` where
        the connection is lost.
        """
        if self._transport is None or not self.is_open:
            raise ConnectionResetError("the connection was closed")
        self._incoming = Incoming(largest)
        self._stall_seconds = stall_seconds
        self._answered = self._loop.create_future()
        self._transport.write(request)
        try:
            return await self._answered
        finally:
            self._answered = self._incoming = None
            if self._stall is not None:
                self._stall.cancel()
                self._stall = None

    def abort(self) -> None:
        """Close at once; a response in progress is lost."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # Callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # other event loops have other classes
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        incoming, answered = self._incoming, self._answered
        if incoming is None or answered is None or answered.done():
            self.abort()  # there is no request
            return
        try:
            is_complete = incoming.feed(data)
        except (Malformed, TooLarge) as fault:
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
            self._answered.set_exception(fault)

    def _stalled(self) -> None:
        self._fail(TimeoutError())

    def _fail(self, fault: Exception) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(fault)
        self.abort()


LARGEST_RESPONSE = 32_000_000
"""Bytes, decompressed."""

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


class _Target(Struct, frozen=True):
    """A parsed address."""

    host: str
    port: int
    is_secure: bool
    shown: str
    """host and port as in the address, for the Host header and for messages"""
    path: str


class Transport:
    """The connections to one host."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._targets: dict[str, _Target] = {}
        self._heads: dict[tuple[str, tuple[tuple[str, str], ...]], bytes] = {}
        self._kept: dict[tuple[str, int, bool], list[Connection]] = {}
        self._open: set[Connection] = set()
        self._lookups: dict[str, tuple[float, asyncio.Future[Any]]] = {}
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
        ends_at = asyncio.get_running_loop().time() + seconds
        connection = self._kept_connection(target) or await self._connected(target, seconds)
        if isinstance(connection, Fault):
            return connection
        return await self._exchange(connection, target, request, ends_at)

    async def _exchange(
        self, connection: Connection, target: _Target, request: bytes, ends_at: float
    ) -> Response | Fault:
        loop = asyncio.get_running_loop()
        started = perf_counter()
        deadline = loop.call_at(ends_at, connection.abort)
        keeps_alive = False
        try:
            incoming = await connection.ask(request, LARGEST_RESPONSE, self._idle_seconds)
            response = Response(incoming.status, incoming.headers, incoming.body())
            keeps_alive = incoming.keeps_alive and connection.is_open
            return response
        except TooLarge:
            return Fault("bad_reply", f"{target.shown} sent more than {LARGEST_RESPONSE // 1_000_000} MB")
        except TimeoutError:
            return Fault("timeout", f"{target.shown} stopped in the middle of a response", True)
        except (Malformed, OSError) as error:
            if loop.time() >= ends_at:
                taken = f"{perf_counter() - started:.0f} s"
                return Fault("timeout", f"{target.shown} did not answer within {taken}", True)
            return Fault("transport", f"{target.shown}: connection lost: {_reason(error)}", True)
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

    async def _connected(self, target: _Target, seconds: float) -> Connection | Fault:
        seconds = min(seconds, CONNECT_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                connection = await self._connect(target)
        except TimeoutError:
            return Fault(
                "timeout", f"{target.shown}: no connection within {seconds:.0f} s", True, is_unreached=True
            )
        except ssl.SSLCertVerificationError as error:
            message = f"{target.shown}: its certificate is not valid ({error.verify_message})"
            return Fault("transport", message, is_final=True, is_unreached=True)
        except (OSError, UnicodeError) as error:
            return Fault("transport", f"{target.shown}: {_reason(error)}", True, is_unreached=True)
        self._open.add(connection)
        return connection

    async def _connect(self, target: _Target) -> Connection:
        """A connection to the first of the host's addresses that accepts one."""
        loop = asyncio.get_running_loop()
        tls = self._tls_context() if target.is_secure else None
        fault: OSError | None = None
        for address in await self._addresses(target):
            try:
                _, connection = await loop.create_connection(
                    lambda: Connection(loop),
                    address,
                    target.port,
                    ssl=tls,
                    server_hostname=target.host if tls else None,
                )
            except ssl.SSLError:
                raise
            except OSError as error:
                fault = error
            else:
                return connection
        self._lookups.pop(target.host, None)  # its addresses may have changed
        raise fault or OSError("it has no address")

    async def _addresses(self, target: _Target) -> list[str]:
        """The IP addresses of the host. One lookup serves all calls, and continues if its first caller is cancelled."""
        loop = asyncio.get_running_loop()
        cached = self._lookups.get(target.host)
        if cached is None or loop.time() - cached[0] > LOOKUP_SECONDS or _has_failed(cached[1]):
            lookup = asyncio.ensure_future(
                loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            )
            # Retrieves the exception of a lookup that no call waits for any more.
            lookup.add_done_callback(_has_failed)
            cached = self._lookups[target.host] = (loop.time(), lookup)
        return list(dict.fromkeys(str(entry[4][0]) for entry in await asyncio.shield(cached[1])))

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
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
    return _Target(host, parts.port or (443 if is_secure else 80), is_secure, shown, path)


def _head(target: _Target, headers: Mapping[str, str]) -> bytes:
    """The head of a request up to the length of its body."""
    lines = [f"POST {target.path} HTTP/1.1", f"Host: {target.shown}"]
    lines += [f"{name}: {value}" for name, value in (_COMMON_HEADERS | dict(headers)).items()]
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
