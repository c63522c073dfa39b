"""What a start of a run has spent, and whether its budget has room for one more call.

The price of a call is known once it is answered. Until then it counts as much as the dearest reply so far, so
that many calls at once cannot spend a budget several times over.
"""

from __future__ import annotations

import asyncio

_FIRST = 4
"""Calls in flight before the price of any reply is known."""


class Spending:
    """Shared by the loops of one run."""

    def __init__(self) -> None:
        self.spent_usd = 0.0
        self._in_flight = 0
        self._dearest: float | None = None
        self._ended = asyncio.Event()

    def has_room(self, budget_usd: float | None, reserved_usd: float) -> bool:
        """Whether one more call fits; one call alone always does."""
        if budget_usd is None or self._in_flight == 0:
            return True
        if self._dearest is None:
            return self._in_flight < _FIRST
        return self.spent_usd + reserved_usd + (self._in_flight + 1) * self._dearest <= budget_usd

    async def change(self) -> None:
        """Wait until a call in flight ends."""
        self._ended.clear()
        await self._ended.wait()

    def start(self) -> None:
        self._in_flight += 1

    def end(self, cost_usd: float | None) -> None:
        """A call ended; without a reply its cost is none. A call that cost nothing says no price."""
        self._in_flight -= 1
        if cost_usd:
            self.spent_usd += cost_usd
            self._dearest = max(self._dearest or 0.0, cost_usd)
        self._ended.set()
