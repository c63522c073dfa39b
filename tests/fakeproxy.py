"""A real HTTP proxy: CONNECT tunnels and forwarded requests, with credentials if asked.

    with FakeServer() as server, FakeProxy({"judge.internal": server.port}, credentials="ann:s3cret") as
    proxy:
        os.environ["HTTP_PROXY"] = proxy.url("ann:s3cret")

It knows hosts that no name server knows, so a request to one of them has gone through it. `requests` holds
the head of each request that it got.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from fakeserver import ServerThread


class Head(NamedTuple):
    """The first line and the headers of a request, names in lower case."""

    method: str
    target: str
    headers: dict[str, str]


class FakeProxy(ServerThread):
    """The proxy, in a thread of its own."""

    def __init__(
        self,
        hosts: Mapping[str, int],
        *,
        credentials: str | None = None,
        refuses_with: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.requests: list[Head] = []
        self.n_connections = 0
        self._hosts = hosts
        self._token = None if credentials is None else base64.b64encode(credentials.encode()).decode()
        self._refuses_with = refuses_with
        self._tls = tls
        super().__init__()

    def url(self, credentials: str = "") -> str:
        scheme = "https" if self._tls else "http"
        host = "localhost" if self._tls else "127.0.0.1"
        return f"{scheme}://{credentials}{'@' if credentials else ''}{host}:{self.port}"

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        try:
            await self._relay(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = _head_in((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
        self.requests.append(head)
        if (status := self._refusal(head)) is not None:
            # Some proxies repeat in their answer what they were sent.
            page = f"denied: {head.headers.get('proxy-authorization', '')}".encode()
            writer.write(b"HTTP/1.1 %d Denied\r\nContent-Length: %d\r\n\r\n%b" % (status, len(page), page))
            await writer.drain()
            return
        to = urlsplit(f"//{head.target}" if head.method == "CONNECT" else head.target)
        assert to.hostname is not None
        port = self._hosts.get(to.hostname, to.port)
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", port)
        if head.method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            headers = {name: value for name, value in head.headers.items() if not name.startswith("proxy-")}
            lines = [f"{head.method} {to.path} HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers)]
            upstream.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        try:
            await asyncio.gather(_copy(reader, upstream), _copy(upstream_reader, writer))
        finally:
            upstream.close()

    def _refusal(self, head: Head) -> int | None:
        if self._token is not None and head.headers.get("proxy-authorization") != f"Basic {self._token}":
            return 407
        return self._refuses_with


def _head_in(text: str) -> Head:
    first, *lines = text.removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    return Head(
        method,
        target,
        {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)},
    )


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()
