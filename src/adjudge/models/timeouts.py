"""The timeout of a request: `--timeout` at most, and less once the times of other replies are known."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")

KNOWN_REPLIES = 50
SHORTEST_SECONDS = 10.0
TIMES_THE_SLOWEST = 10.0


class AdaptiveTimeout:
    """The timeout of first attempts, by the times of one model's replies so far."""

    def __init__(self, shortest_seconds: float = SHORTEST_SECONDS) -> None:
        self._shortest_seconds = shortest_seconds
        self._n_replies = 0
        self._slowest_seconds = 0.0
        self._early: dict[asyncio.Timeout, float] = {}
        """the calls in flight since before the timeout was learned, with their start times"""

    @property
    def is_learned(self) -> bool:
        return self._n_replies >= KNOWN_REPLIES

    def seconds(self, longest: float) -> float:
        """The timeout of a first attempt, at most `longest`."""
        if not self.is_learned:
            return longest
        # Whole seconds, so that few different timeouts occur.
        learned = float(round(TIMES_THE_SLOWEST * self._slowest_seconds))
        return min(longest, max(self._shortest_seconds, learned))

    def note(self, seconds: float) -> None:
        """Record the time of a reply."""
        self._n_replies += 1
        self._slowest_seconds = max(self._slowest_seconds, seconds)
        if self._n_replies == KNOWN_REPLIES:
            for deadline, start in self._early.items():
                deadline.reschedule(start + self.seconds(float("inf")))

    async def early(self, work: Awaitable[T]) -> T:
        """Wait for a request sent before the timeout was learned; `TimeoutError` once that has passed."""
        async with asyncio.timeout(None) as deadline:
            self._early[deadline] = asyncio.get_running_loop().time()
            try:
                return await work
            finally:
                del self._early[deadline]
