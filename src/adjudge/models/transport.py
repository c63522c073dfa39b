"""One request over HTTP: bytes out, an answer or a fault back; nothing is raised and nothing tried again.

Connections are kept and used again. Redirects are not followed, proxies and cookies of the environment are not
used, and what a host sends is bounded in size and time. The client is our own (`wire.py`): beside the work of a
judgment, a general one costs half of all CPU.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from time import perf_counter
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec import Struct

from ..version import __version__
from .faults import Answer, Fault
from .wire import Connection, Malformed, TooLarge

LARGEST_ANSWER = 32_000_000
"""Bytes, unpacked."""

CONNECT_SECONDS = 20.0

KEPT_SECONDS = 30.0
"""How long a connection is kept without being used."""

KNOWN_SECONDS = 300.0
"""How long the addresses of a host are taken to be the same."""

_ALWAYS = {
    "User-Agent": f"adjudge/{__version__}",
    "Content-Type": "application/json",
    "Accept": "application/json",
    # Replies are small; unpacking them would cost more than it saves.
    "Accept-Encoding": "identity",
}


class _Target(Struct, frozen=True):
    """Where an address leads."""

    host: str
    port: int
    is_secure: bool
    shown: str
    """host and port as the address has them, for the Host header and for messages"""
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
    ) -> Answer | Fault:
        """The answer to one request, read to its end within `seconds`."""
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
    ) -> Answer | Fault:
        loop = asyncio.get_running_loop()
        started = perf_counter()
        deadline = loop.call_at(ends_at, connection.abort)
        keeps = False
        try:
            incoming = await connection.ask(request, LARGEST_ANSWER, self._idle_seconds)
            answer = Answer(incoming.status, incoming.headers, incoming.body())
            keeps = incoming.keeps and connection.is_open
            return answer
        except TooLarge:
            return Fault("bad_reply", f"{target.shown} sent more than {LARGEST_ANSWER // 1_000_000} MB")
        except TimeoutError:
            return Fault("timeout", f"{target.shown} stopped in the middle of an answer", True)
        except (Malformed, OSError) as error:
            if loop.time() >= ends_at:
                taken = f"{perf_counter() - started:.0f} s"
                return Fault("timeout", f"{target.shown} had not answered after {taken}", True)
            return Fault("transport", f"{target.shown} broke off: {_words(error)}", True)
        finally:
            deadline.cancel()
            if keeps:
                connection.idle_since = loop.time()
                self._kept.setdefault((target.host, target.port, target.is_secure), []).append(connection)
            else:
                self._drop(connection)

    def _request(self, address: str, target: _Target, headers: Mapping[str, str], body: bytes) -> bytes:
        known = (address, tuple(headers.items()))
        head = self._heads.get(known)
        if head is None:
            if len(self._heads) > 100:  # a key that is renewed again and again
                self._heads.clear()
            head = self._heads[known] = _head(target, headers)
        return b"%b%d\r\n\r\n%b" % (head, len(body), body)

    # -- connections

    def _kept_connection(self, target: _Target) -> Connection | None:
        kept = self._kept.get((target.host, target.port, target.is_secure))
        oldest = asyncio.get_running_loop().time() - KEPT_SECONDS
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
            words = f"{target.shown}: its certificate is not valid ({error.verify_message})"
            return Fault("transport", words, is_final=True, is_unreached=True)
        except (OSError, UnicodeError) as error:
            return Fault("transport", f"{target.shown}: {_words(error)}", True, is_unreached=True)
        self._open.add(connection)
        return connection

    async def _connect(self, target: _Target) -> Connection:
        """A connection to the first of the host's addresses that takes one."""
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
        self._lookups.pop(target.host, None)  # it may have moved
        raise fault or OSError("it has no address")

    async def _addresses(self, target: _Target) -> list[str]:
        """Where the host is. One look serves all calls, and goes on where the call that began it is called off."""
        loop = asyncio.get_running_loop()
        known = self._lookups.get(target.host)
        if known is None or loop.time() - known[0] > KNOWN_SECONDS or _has_failed(known[1]):
            looking = asyncio.ensure_future(
                loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            )
            # A failure is told to whoever still waits, and to nobody where nobody does.
            looking.add_done_callback(_has_failed)
            known = self._lookups[target.host] = (loop.time(), looking)
        return list(dict.fromkeys(str(found[4][0]) for found in await asyncio.shield(known[1])))

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def _drop(self, connection: Connection) -> None:
        self._open.discard(connection)
        connection.abort()

    async def close(self) -> None:
        """Close all connections, and wait until they are."""
        for _, looking in self._lookups.values():
            looking.cancel()
        self._lookups.clear()
        connections, self._open = list(self._open), set()
        self._kept.clear()
        for connection in connections:
            connection.abort()
        if connections:
            await asyncio.wait([connection.is_lost for connection in connections], timeout=1.0)


def _has_failed(looking: asyncio.Future[Any]) -> bool:
    return looking.done() and (looking.cancelled() or looking.exception() is not None)


def _target(address: str) -> _Target:
    """`ValueError` where an address leads nowhere."""
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
    """All of a request's head but the length of its body."""
    lines = [f"POST {target.path} HTTP/1.1", f"Host: {target.shown}"]
    lines += [f"{name}: {value}" for name, value in (_ALWAYS | dict(headers)).items()]
    if any(letter in line for line in lines for letter in "\r\n\0"):
        # A key with a line break would begin a header of its own.
        raise ValueError("a header holds a line break. Check the key for a stray line end.")
    return ("\r\n".join(lines) + "\r\nContent-Length: ").encode("latin-1")


def _words(error: BaseException) -> str:
    """What an exception says, in short; nothing of a request is in it."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, socket.gaierror):
        return f"the name is not known ({error.strerror})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:200]
    return (str(error) or type(error).__name__)[:200]
