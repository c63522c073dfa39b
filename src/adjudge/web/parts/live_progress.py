"""The progress of a running run: calls, their rate, the time left and the cost."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from datetime import UTC, datetime

from msgspec import Struct

from .run_line import RunLine

_PACE_SECONDS = 60.0
"""How far back the rate of a running run looks."""


class Pace:
    """How fast a running run is: calls per second, from what the page saw of it in the last minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: deque[tuple[float, int]] = deque()

    def rate(self, done: int, started: str, now: float | None = None) -> float | None:
        """Calls per second. At first sight of a run it is the
        rate since its start; none where nothing is done yet.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            self._seen.append((now, done))
            while self._seen[0][0] < now - _PACE_SECONDS:
                self._seen.popleft()
            first, before = self._seen[0]
        if now - first < 2.0:
            first, before = now - _seconds_since(started), 0
        return (done - before) / (now - first) if now > first and done > before else None


def _seconds_since(stamp: str) -> float:
    with contextlib.suppress(ValueError):
        began = datetime.fromisoformat(stamp)
        return (datetime.now(UTC) - began.replace(tzinfo=began.tzinfo or UTC)).total_seconds()
    return 0.0


class LiveProgress(Struct, frozen=True):
    """How far a running run is: calls, their rate, the time left and the cost."""

    done: int
    total: int
    rate: float | None
    seconds_left: float | None
    spent_usd: float | None
    expected_usd: float | None
    """of the complete run, if the other calls cost as much"""


def live_progress(line: RunLine, per_item: int, pace: Pace) -> LiveProgress:
    """The progress of a running run as it is now."""
    total = max(line.items, line.planned or 0) * per_item
    done = min(line.judged + line.failed, total)
    # The start of a run that was resumed says nothing of its rate.
    rate = pace.rate(done, "" if line.seconds else line.started)
    spent = line.cost_usd
    return LiveProgress(
        done,
        total,
        rate,
        (total - done) / rate if rate else None,
        spent,
        spent / done * total if spent and done else None,
    )
