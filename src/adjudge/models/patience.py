"""How long a reply is waited for, learned from the replies that came.

A host that takes a request and never answers would hold a run up for the whole timeout, two minutes by default.
Once enough replies are known, one that takes ten times as long as the slowest of them is taken for lost. Only the
first attempt at a call is cut short so: should the reply be no more than slow, the next has all the time there is.
Knows no HTTP; belongs to one model and one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")

KNOWN_REPLIES = 50
SHORTEST_SECONDS = 10.0
TIMES_THE_SLOWEST = 10.0


class Patience:
    """What one model's replies have shown so far."""

    def __init__(self, shortest_seconds: float = SHORTEST_SECONDS) -> None:
        self._shortest_seconds = shortest_seconds
        self._n_replies = 0
        self._slowest_seconds = 0.0
        self._early: dict[asyncio.Timeout, float] = {}
        """the calls that began before anything was known, and when"""

    @property
    def is_learned(self) -> bool:
        return self._n_replies >= KNOWN_REPLIES

    def seconds(self, longest: float) -> float:
        """How long a first attempt may take, where at most `longest` is allowed."""
        if not self.is_learned:
            return longest
        # Whole seconds, so that few different timeouts are ever made.
        learned = float(round(TIMES_THE_SLOWEST * self._slowest_seconds))
        return min(longest, max(self._shortest_seconds, learned))

    def note(self, seconds: float) -> None:
        """A reply came after so long."""
        self._n_replies += 1
        self._slowest_seconds = max(self._slowest_seconds, seconds)
        if self._n_replies == KNOWN_REPLIES:
            for deadline, began in self._early.items():
                deadline.reschedule(began + self.seconds(float("inf")))

    async def early(self, work: Awaitable[T]) -> T:
        """Wait for work that began before anything was known; `TimeoutError` once it is known to take too long."""
        async with asyncio.timeout(None) as deadline:
            self._early[deadline] = asyncio.get_running_loop().time()
            try:
                return await work
            finally:
                del self._early[deadline]
