"""All that one run sends over the network: connections, and one gate per host and key.

Models that are given the same `Network` share both, so that two judges on one host keep its limits
together. Belongs to one event loop. Loads the HTTP client when the first request is sent, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .limits import Gate
from .patience import SHORTEST_SECONDS

if TYPE_CHECKING:
    from .transport import Transport

DEFAULT_CONCURRENCY = 64


class Network:
    """`concurrency` is the most that is in flight at one host; rpm and tpm hold per minute (window), host and key."""

    def __init__(
        self,
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        rpm: float | None = None,
        tpm: float | None = None,
        window_seconds: float = 60.0,
        backoff_seconds: float = 0.5,
        idle_seconds: float = 30.0,
        outage_seconds: float = 120.0,
        patience_seconds: float = 3600.0,
        reply_floor_seconds: float = SHORTEST_SECONDS,
    ) -> None:
        self.concurrency = concurrency
        self.backoff_seconds = backoff_seconds
        """the longest first wait before a call is tried again; doubled with each attempt"""
        self.patience_seconds = patience_seconds
        """how long one call waits in all for a host that turns it away"""
        self.reply_floor_seconds = reply_floor_seconds
        """no reply is taken for lost sooner, however quick the others were"""
        self._idle_seconds = idle_seconds
        self._outage_seconds = outage_seconds
        self._rpm, self._tpm, self._window_seconds = rpm, tpm, window_seconds
        self._gates: dict[tuple[str, str], Gate] = {}
        self._transports: dict[str, Transport] = {}

    def gate(self, host: str, key_env: str) -> Gate:
        """The gate before a host for a key. The key is known by its variable: its value may change."""
        found = self._gates.get((host, key_env))
        if found is None:
            found = Gate(
                host,
                self.concurrency,
                rpm=self._rpm,
                tpm=self._tpm,
                window_seconds=self._window_seconds,
                outage_seconds=self._outage_seconds,
                backoff_seconds=self.backoff_seconds,
            )
            self._gates[host, key_env] = found
        return found

    @property
    def gates(self) -> tuple[Gate, ...]:
        """All gates, for progress and reports: how much was sent, turned away, and how long it pauses."""
        return tuple(self._gates.values())

    def transport(self, host: str) -> Transport:
        """The connections to a host; made in the running event loop."""
        found = self._transports.get(host)
        if found is None:
            from .transport import Transport

            found = self._transports[host] = Transport(self._idle_seconds)
        return found

    async def close(self) -> None:
        """Close all connections."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.close()
