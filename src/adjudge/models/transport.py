"""One request over HTTP: bytes out, an answer or a fault back; nothing is raised and nothing tried again.

The only module that knows aiohttp. Redirects are not followed, proxies and cookies of the environment
are not used, and what a host sends is bounded in size and time. No exception of aiohttp leaves this file:
some of them hold the headers of the request, and with them the key.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from time import perf_counter

import aiohttp
from yarl import URL

from ..version import __version__
from .faults import Answer, Fault

LARGEST_ANSWER = 32_000_000
"""Bytes, unpacked."""

CONNECT_SECONDS = 20.0

LARGE_BODY = 500_000
"""From this size on a body is sent in pieces, so that other calls get their turn."""


class _TooLargeError(Exception):
    pass


class _StalledError(Exception):
    pass


class Transport:
    """The connections to one host."""

    def __init__(self, connections: int, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._timeouts: dict[float, aiohttp.ClientTimeout] = {}
        self._urls: dict[str, URL] = {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ttl_dns_cache=300, keepalive_timeout=30),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Replies are small; unpacking them would cost more than it saves.
            headers={
                "User-Agent": f"adjudge/{__version__}",
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
            trust_env=False,
        )

    async def post(
        self, address: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> Answer | Fault:
        """The answer to one request, read to its end within `seconds`."""
        url = self._urls.get(address) or self._urls.setdefault(address, URL(address))
        host = url.authority
        timeout = self._timeouts.get(seconds)
        if timeout is None:
            timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_SECONDS))
            self._timeouts[seconds] = timeout
        started = perf_counter()
        try:
            response = await self._session.post(
                url,
                data=body if len(body) < LARGE_BODY else io.BytesIO(body),
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
            )
            try:
                return Answer(response.status, response.headers, await self._read(response))
            finally:
                # Without effect where the body was read to its end; elsewhere the connection must go.
                response.close()
        except _TooLargeError:
            return Fault("bad_reply", f"{host} sent more than {LARGEST_ANSWER // 1_000_000} MB")
        except _StalledError:
            return Fault("timeout", f"{host} stopped in the middle of an answer", True)
        except aiohttp.ConnectionTimeoutError:
            return Fault(
                "timeout", f"{host}: no connection within {CONNECT_SECONDS:.0f} s", True, is_unreached=True
            )
        except TimeoutError:
            return Fault("timeout", f"{host} had not answered after {perf_counter() - started:.0f} s", True)
        except aiohttp.ClientConnectorCertificateError as error:
            return Fault("transport", f"{host}: {_words(error)}", is_final=True, is_unreached=True)
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            return Fault("transport", f"{host}: {_words(error)}", True, is_unreached=True)
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError) as error:
            return Fault("transport", f"{host} broke off: {_words(error)}", True)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Fault("transport", f"{host}: {_words(error)}", True)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The whole body. Most are here with their headers already and cost no further wait."""
        content = response.content
        if content.is_eof():
            body = content.read_nowait()
            if len(body) > LARGEST_ANSWER:
                raise _TooLargeError
            return body
        if (response.content_length or 0) > LARGEST_ANSWER:
            raise _TooLargeError
        pieces: list[bytes] = []
        size = 0
        while True:
            try:
                async with asyncio.timeout(self._idle_seconds) as idle:
                    piece = await content.readany()
            except TimeoutError:
                if idle.expired():
                    raise _StalledError from None
                raise
            if not piece:
                return b"".join(pieces)
            size += len(piece)
            if size > LARGEST_ANSWER:
                raise _TooLargeError
            pieces.append(piece)

    async def close(self) -> None:
        await self._session.close()


def _words(error: BaseException) -> str:
    """What an exception says, in short. Never its repr: that of a response error shows the headers."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{type(error).__name__} {error.message}"[:200]
    if isinstance(error, ConnectionRefusedError) or isinstance(
        getattr(error, "os_error", None), ConnectionRefusedError
    ):
        return "connection refused"
    if isinstance(error, aiohttp.ClientConnectorError):
        return str(error.os_error)[:200]
    return (str(error) or type(error).__name__)[:200]
