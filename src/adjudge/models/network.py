"""The network of one run: the connections and the limiters of all its hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rate_limits import OUTAGE_SECONDS, HostLimiter
from .timeouts import SHORTEST_SECONDS

if TYPE_CHECKING:
    from .http_client import Transport


DEFAULT_CONCURRENCY = 64


class Network:
    """The limiters and connections of one run.

    `concurrency` is the maximum of calls in flight, `rpm` and `tpm` that of requests and tokens per minute;
    each per host and key.
    """

    def __init__(
        self,
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        rpm: float | None = None,
        tpm: float | None = None,
        window_seconds: float = 60.0,
        backoff_seconds: float = 0.5,
        idle_seconds: float = 30.0,
        outage_seconds: float = OUTAGE_SECONDS,
        reply_floor_seconds: float = SHORTEST_SECONDS,
    ) -> None:
        self.concurrency = concurrency
        self.backoff_seconds = backoff_seconds
        """the longest wait before the first retry; doubled with each attempt"""
        self.reply_floor_seconds = reply_floor_seconds
        """the shortest adaptive timeout"""
        self.outage_seconds = outage_seconds
        self._idle_seconds = idle_seconds
        self._rpm, self._tpm, self._window_seconds = rpm, tpm, window_seconds
        self.limiters: dict[tuple[str, str], HostLimiter] = {}
        """by host and the environment variable of the key"""
        self._transports: dict[str, Transport] = {}

    def limiter(self, host: str, key_env: str) -> HostLimiter:
        """The limiter of a host and a key. The key is named by its variable: its value may change."""
        limiter = self.limiters.get((host, key_env))
        if limiter is None:
            limiter = HostLimiter(
                host,
                self.concurrency,
                rpm=self._rpm,
                tpm=self._tpm,
                window_seconds=self._window_seconds,
                outage_seconds=self.outage_seconds,
                backoff_seconds=self.backoff_seconds,
            )
            self.limiters[host, key_env] = limiter
        return limiter

    def transport(self, host: str) -> Transport:
        """The connections to a host; they belong to the running event loop."""
        transport = self._transports.get(host)
        if transport is None:
            from .http_client import Transport

            transport = self._transports[host] = Transport(self._idle_seconds)
        return transport

    async def close(self) -> None:
        """Close all connections."""
        transports, self._transports = self._transports, {}
        for transport in transports.values():
            await transport.close()
