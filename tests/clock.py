"""Time in tests: waiting for an event, however long it takes, and how work grows with its input.

No test of the default suite compares a duration with a limit: on a busy machine every limit is passed one
day.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE_SECONDS = 120.0
"""When an event is taken never to come. Only a failing test waits this long."""

LINEAR = 9.0
"""The most that `growth` may be: four where work is linear, sixteen where it is quadratic."""


def until(has_come: Callable[[], bool], what: str = "the event") -> None:
    """Wait for an event that another thread or process brings about."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not has_come():
        assert time.monotonic() < give_up, f"waited {PATIENCE_SECONDS:.0f} s for {what}"
        time.sleep(0.005)


async def soon(has_come: Callable[[], bool]) -> None:
    """Wait for an event while the event loop goes on."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not has_come():
            await asyncio.sleep(0.005)


def growth(work: Callable[[str], object], unit: str, n_characters: int) -> float:
    """How many times as much CPU work takes on a text of
    `n_characters` as on a quarter of it. For slow tests only.
    """
    short, long = (
        _best_of_two(work, unit * (number // len(unit) + 1)) for number in (n_characters // 4, n_characters)
    )
    # Short times are noise, and the readers have a quicker way for short texts.
    return long / max(short, 0.02)


def _best_of_two(work: Callable[[str], object], text: str) -> float:
    durations = []
    for _ in range(2):
        start = time.process_time()
        work(text)
        durations.append(time.process_time() - start)
    return min(durations)
