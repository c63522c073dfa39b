"""An HTTP client for two kinds of request: post a body, get a bounded response or a fault; and, for batch
APIs, send once with any method, from a file of any size or into one.

Connections, TLS, proxies and parsing are aiohttp's. Here are the rules of a judge's host: redirects are not
followed, cookies are not used, responses are bounded in size and time, and every outcome is a `Response` or a
`Fault`. Nothing is raised and nothing retried, except that a post on a kept connection that the host has
closed is sent again on a new one; a request that is sent once always has a new connection. Proxies are those
of the environment (`proxies`), certificates those of OpenSSL with SSL_CERT_FILE and SSL_CERT_DIR.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import IO, Any

import aiohttp
from msgspec import Struct
from multidict import CIMultiDictProxy

from ..version import __version__
from .connection_faults import (
    NoCertificates,
    bad_request,
    connection_fault,
    connection_lost,
    fault_text,
    proxy_fault,
)
from .host_lookup import Lookup, Resolver, host_addresses
from .http_errors import Fault, Response, proxy_requires_credentials
from .request_target import RequestTarget, target_of

LARGEST_RESPONSE = 32_000_000
"""Bytes, decompressed."""


LARGEST_DOWNLOAD = 4_000_000_000
"""Bytes of a response that goes to a file."""


LARGEST_HEADER = 32_768
"""Bytes of one header, and of the status line."""


CONNECT_SECONDS = 20.0


KEEP_ALIVE_SECONDS = 30.0
"""How long an idle connection is kept."""


ATTEMPT_DELAY_SECONDS = 0.25
"""How long one address may take before the next is tried at the same time, as RFC 8305 recommends."""


_COMMON_HEADERS = {
    "User-Agent": f"adjudge/{__version__}",
    "Content-Type": "application/json",
    "Accept": "application/json",
    # Replies are small; decompressing them would cost more than it saves.
    "Accept-Encoding": "identity",
}


class Malformed(Exception):
    """The bytes are not a complete HTTP response."""


class TooLarge(Exception):
    """The response exceeds the size limit."""


class Transport:
    """The connections to one host. `look_up` finds its addresses."""

    def __init__(self, idle_seconds: float, look_up: Lookup = host_addresses) -> None:
        self._idle_seconds = idle_seconds
        self._resolver = Resolver(look_up)
        self._targets: dict[str, RequestTarget] = {}
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        """by whether connections are kept"""
        self._tls: ssl.SSLContext | None = None

    async def post(
        self, address: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> Response | Fault:
        """The complete response to one request within `seconds`."""
        try:
            target = self._targets.get(address) or self._targets.setdefault(address, target_of(address))
            _check_headers(headers)
        except ValueError as error:
            return bad_request(address, error)
        started = perf_counter()
        request = _Request("POST", target, headers, body, seconds, _Progress(), keeps_connection=True)
        result = await self._exchange(request)
        if not isinstance(result, _Unanswered):
            return result
        if not request.progress.is_reused:
            return result.fault
        # The host had closed it while it was idle.
        left = seconds - (perf_counter() - started)
        result = await self._exchange(_Request("POST", target, headers, body, left, _Progress()))
        return result.fault if isinstance(result, _Unanswered) else result

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
        """The response to a request that is sent once. `file` are pieces of the body, each bytes or a file;
        the body of a response with status 200 goes to `sink`."""
        pieces = file or (body,)
        try:
            target = target_of(address)
            size = sum(len(piece) if isinstance(piece, bytes) else piece.stat().st_size for piece in pieces)
            headers = {**headers, "Content-Length": str(size)}
            _check_headers(headers)
        except ValueError as error:
            return bad_request(address, error)
        content = _pieces(file) if file else body
        result = await self._exchange(
            _Request(method, target, headers, content, seconds, _Progress(), sink=sink)
        )
        return result.fault if isinstance(result, _Unanswered) else result

    async def _exchange(self, request: _Request) -> Response | Fault | _Unanswered:
        target = request.target
        started = perf_counter()
        try:
            return await self._ask(request)
        except TooLarge:
            return Fault("bad_reply", f"{target.shown} sent more than {request.largest // 1_000_000} MB")
        except _Stalled:
            return Fault("timeout", f"{target.shown} stopped in the middle of a response", True)
        except TimeoutError:
            if not request.progress.is_connected:
                taken = f"{min(request.seconds, CONNECT_SECONDS):.0f} s"
                message = f"{target.name}: no connection within {taken}"
                return Fault("timeout", message, True, is_unreached=True)
            taken = f"{perf_counter() - started:.0f} s"
            return Fault("timeout", f"{target.shown} did not answer within {taken}", True)
        except aiohttp.ClientHttpProxyError as refusal:
            return proxy_fault(target, refusal.status)
        except (aiohttp.ClientConnectorError, NoCertificates, UnicodeError) as error:
            self._resolver.forget(target.proxy.host if target.proxy else target.host)
            return connection_fault(target, error)
        except aiohttp.ServerDisconnectedError:
            return _Unanswered(connection_lost(target, "it closed the connection"))
        except aiohttp.ClientOSError as error:
            return _Unanswered(connection_lost(target, fault_text(error)))
        except aiohttp.ClientPayloadError:
            return connection_lost(target, "it closed the connection in the middle of a response")
        except (Malformed, aiohttp.ClientError, OSError) as error:
            return connection_lost(target, fault_text(error))

    async def _ask(self, request: _Request) -> Response | Fault:
        """One request and its response; raises what aiohttp raises, `Malformed`, `TooLarge` and
        `_Stalled`."""
        target, proxy = request.target, request.target.proxy
        headers = request.headers
        if proxy is not None and not target.is_secure:
            headers = {**headers, **proxy.headers}  # without a tunnel, the proxy reads the request itself
        response = await self._session(request.keeps_connection).request(
            request.method,
            target.url,
            data=_content(request.body),
            headers=headers,
            timeout=aiohttp.ClientTimeout(
                total=max(request.seconds, 0.001), connect=min(request.seconds, CONNECT_SECONDS)
            ),
            proxy=proxy.address if proxy else None,
            proxy_headers=proxy.headers if proxy else None,
            ssl=self._tls_context() if target.needs_tls else True,
            allow_redirects=False,
            trace_request_ctx=request.progress,
        )
        is_complete = False
        try:
            assert isinstance(response, _Response)
            self._resolver.note_working(proxy.host if proxy else target.host, response.peer)
            body = await self._body(request, response)
            is_complete = True
        finally:
            if not is_complete:
                response.close()
        if proxy is not None:
            body = proxy.redacted_body(body)
            if response.status == 407:
                return proxy_requires_credentials(proxy.shown, proxy.variable)
        return Response(response.status, _headers(response.headers), body)

    async def _body(self, request: _Request, response: aiohttp.ClientResponse) -> bytes:
        """The decompressed body of a response; empty where it goes to a file."""
        sink = request.sink if response.status == 200 else None
        largest = request.largest if sink is not None else LARGEST_RESPONSE
        _check_framing(response, largest)
        stream, pieces, size = response.content, list[bytes](), 0
        while not stream.at_eof():
            piece = await self._next_piece(stream)
            size += len(piece)
            if size > largest:
                raise TooLarge
            if sink is not None:
                sink.write(piece)
            else:
                pieces.append(piece)
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding != "identity" and sink is not None:
            raise Malformed(f"the response is encoded as {encoding[:20]}, which was not asked for")
        return _decoded(b"".join(pieces), encoding)

    async def _next_piece(self, stream: aiohttp.StreamReader) -> bytes:
        if stream.is_eof():
            return stream.read_nowait()
        try:
            async with asyncio.timeout(self._idle_seconds) as stall:
                return await stream.readany()
        except TimeoutError:
            if stall.expired():
                raise _Stalled from None
            raise

    def _session(self, keeps_connection: bool) -> aiohttp.ClientSession:
        session = self._sessions.get(keeps_connection)
        if session is None:
            connector = aiohttp.TCPConnector(
                limit=0,
                resolver=self._resolver,
                use_dns_cache=False,
                happy_eyeballs_delay=ATTEMPT_DELAY_SECONDS,
                **({"keepalive_timeout": KEEP_ALIVE_SECONDS} if keeps_connection else {"force_close": True}),
            )
            traces = aiohttp.TraceConfig()
            traces.on_connection_reuseconn.append(_note_reuse)
            traces.on_connection_create_end.append(_note_connection)
            session = self._sessions[keeps_connection] = aiohttp.ClientSession(
                connector=connector,
                headers=_COMMON_HEADERS,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trace_configs=[traces],
                response_class=_Response,
                max_line_size=LARGEST_HEADER,
                max_field_size=LARGEST_HEADER,
            )
        return session

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            for variable, is_there in (("SSL_CERT_FILE", os.path.isfile), ("SSL_CERT_DIR", os.path.isdir)):
                path = os.environ.get(variable)
                if path and not is_there(path):
                    # OpenSSL would ignore it, and every certificate would be refused.
                    raise NoCertificates(f"{variable} names {path[:200]}, which does not exist")
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    async def close(self) -> None:
        """Close all connections, and wait until they are closed."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()
        await self._resolver.close()
        await asyncio.sleep(0)  # a transport closes its socket in the next turn of the loop


class _Progress:
    """How far a request came: whether it has a connection, and whether that is a kept one."""

    __slots__ = ("is_connected", "is_reused")

    def __init__(self) -> None:
        self.is_connected = self.is_reused = False


class _Response(aiohttp.ClientResponse):
    """A response that knows the address of the host: its connection may be released before its head is
    read."""

    peer = ""

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        place = connection.transport.get_extra_info("peername")
        self.peer = place[0] if place else ""
        return await super().start(connection)


class _Request(Struct, frozen=True):
    """One request, with the seconds that it may take."""

    method: str
    target: RequestTarget
    headers: Mapping[str, str]
    body: bytes | AsyncIterator[bytes]
    seconds: float
    progress: _Progress
    keeps_connection: bool = False
    sink: IO[bytes] | None = None

    @property
    def largest(self) -> int:
        return LARGEST_RESPONSE if self.sink is None else LARGEST_DOWNLOAD


class _Stalled(Exception):
    """A response has begun, and nothing more of it comes."""


class _Unanswered(Struct, frozen=True):
    """The host closed the connection without a byte of a response."""

    fault: Fault


async def _note_reuse(_session: aiohttp.ClientSession, context: Any, _parameters: object) -> None:
    progress: _Progress = context.trace_request_ctx
    progress.is_connected = progress.is_reused = True


async def _note_connection(_session: aiohttp.ClientSession, context: Any, _parameters: object) -> None:
    context.trace_request_ctx.is_connected = True


def _check_headers(headers: Mapping[str, str]) -> None:
    if any(letter in text for header in headers.items() for text in header for letter in "\r\n\0"):
        # A key with a line break would inject a header.
        raise ValueError("a header contains a line break. Check the key for a stray newline.")


def _content(body: bytes | AsyncIterator[bytes]) -> Any:
    """The body as aiohttp takes it: bytes of several megabytes as a file, which it sends in pieces."""
    return BytesIO(body) if isinstance(body, bytes) and len(body) > 1_000_000 else body


async def _pieces(parts: Sequence[bytes | Path]) -> AsyncIterator[bytes]:
    for part in parts:
        if isinstance(part, bytes):
            yield part
            continue
        with part.open("rb") as file:
            while piece := file.read(1 << 16):
                yield piece


def _headers(received: CIMultiDictProxy[str]) -> dict[str, str]:
    """Names in lower case; repeated headers are joined."""
    headers: dict[str, str] = {}
    for name, text in received.items():
        name = name.lower()
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return headers


def _check_framing(response: aiohttp.ClientResponse, largest: int) -> None:
    """Refuse a response whose end is not certain, or that announces more than the limit."""
    coding = response.headers.get("Transfer-Encoding", "chunked")
    if coding.lower() != "chunked":
        raise Malformed(f"the response has an unexpected transfer encoding: {coding[:20]}")
    if "Transfer-Encoding" in response.headers and "Content-Length" in response.headers:
        raise Malformed("the response states both a length and chunks")
    if response.status == 101:
        raise Malformed("unexpected switch of protocol (101)")
    if response.version not in (aiohttp.HttpVersion10, aiohttp.HttpVersion11):
        raise Malformed("this is not an HTTP/1.1 response")
    if (response.content_length or 0) > largest:
        raise TooLarge


def _decoded(body: bytes, encoding: str) -> bytes:
    if encoding == "identity":
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise Malformed(f"the response has an unexpected content encoding: {encoding[:20]}")
    unpacker = zlib.decompressobj(wbits=47)
    try:
        raw = unpacker.decompress(body, LARGEST_RESPONSE + 1)
    except zlib.error as error:
        raise Malformed("the compressed body is damaged") from error
    if len(raw) > LARGEST_RESPONSE:
        raise TooLarge
    if not unpacker.eof:
        raise Malformed("the compressed body is cut off")
    return raw
