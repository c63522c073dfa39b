"""The addresses of hosts: one lookup serves all calls, the address that answered last comes first."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

LOOKUP_SECONDS = 300.0
"""How long a DNS lookup is cached."""


Address = tuple[int, Any]
"""The family of a socket, and the address that it connects to."""


Lookup = Callable[[str, int], Awaitable[Sequence[Address]]]


async def host_addresses(host: str, port: int) -> Sequence[Address]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((int(entry[0]), entry[4]) for entry in found))


class Resolver(AbstractResolver):
    """The addresses of hosts, the one that answered last first. One lookup serves all calls."""

    def __init__(self, look_up: Lookup) -> None:
        self._look_up = look_up
        self._lookups: dict[str, tuple[float, asyncio.Future[Sequence[Address]]]] = {}
        self._working: dict[str, str] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        cached = self._lookups.get(host)
        if cached is None or loop.time() - cached[0] > LOOKUP_SECONDS or _has_failed(cached[1]):
            lookup = asyncio.ensure_future(self._look_up(host, port))
            # Retrieves the exception of a lookup that no call waits for any more.
            lookup.add_done_callback(_has_failed)
            cached = self._lookups[host] = (loop.time(), lookup)
        addresses = [
            address for address in await asyncio.shield(cached[1]) if family in (socket.AF_UNSPEC, address[0])
        ]
        if not addresses:
            raise OSError(None, "it has no address")
        working = self._working.get(host)
        addresses.sort(key=lambda address: address[1][0] != working)
        return [_resolved(host, address) for address in addresses]

    def note_working(self, host: str, address: str) -> None:
        """Remember which of several addresses a response came from."""
        cached = self._lookups.get(host)
        if cached is not None and cached[1].done() and len(cached[1].result()) > 1:
            self._working[host] = address

    def forget(self, host: str) -> None:
        """Look the host up again: its addresses may have changed."""
        self._lookups.pop(host, None)
        self._working.pop(host, None)

    async def close(self) -> None:
        for _, lookup in self._lookups.values():
            lookup.cancel()
        self._lookups.clear()


def _resolved(host: str, address: Address) -> ResolveResult:
    family, place = address
    return ResolveResult(
        hostname=host,
        host=place[0],
        port=place[1],
        family=family,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )


def _has_failed(lookup: asyncio.Future[Any]) -> bool:
    return lookup.done() and (lookup.cancelled() or lookup.exception() is not None)
