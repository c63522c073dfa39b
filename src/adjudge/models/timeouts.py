"""How long a reply is waited for, learned from the replies that came.

A host that takes a request and never answers would hold a run up for the whole timeout, two minutes by default.
Once enough replies are known, one that takes ten times as long as the slowest of them is taken for lost. Only the
first attempt at a call is cut short so: should the reply be no more than slow, the next has all the time there is.
Knows no HTTP; belongs to one model and one event loop.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

# How long a host asks us to wait, in the ways that hosts say it.
#
# Pure: headers in, seconds out. A wait is never shortened; where a host says nothing that can be
# understood the answer is None, and the caller falls back on its own backoff.


_RESETS = {
    "x-ratelimit-reset-requests": "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-tokens": "x-ratelimit-remaining-tokens",
    "anthropic-ratelimit-requests-reset": "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-tokens-reset": "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset": "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset": "anthropic-ratelimit-output-tokens-remaining",
    "x-ratelimit-reset": "x-ratelimit-remaining",
    "ratelimit-reset": "ratelimit-remaining",
}
"""Header with the time of a reset → header with what is left until then."""

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{0,9})?|\.\d{1,9}")
_DURATION = re.compile(
    r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?"
)
_EPOCH = 1e9
"""A number beyond this is a point in time, not a wait: it would be thirty years."""


def stated_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds that the headers of an answer ask us to wait; none: they do not say."""
    now = time.time() if now is None else now
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None and _NUMBER.fullmatch(milliseconds.strip()):
        return float(milliseconds) / 1000
    # A point in time is measured on the host's own clock, where it tells what that shows.
    clock = _date(headers.get("date", ""))
    clock = now if clock is None else clock
    after = headers.get("retry-after")
    if after is not None and (wait := _wait(after, clock)) is not None:
        return wait
    return _until_reset(headers, clock)


def _until_reset(headers: Mapping[str, str], clock: float) -> float | None:
    """The longest wait among the limits that are used up, or of all where none tells what is left."""
    waits: list[tuple[bool, float]] = []
    for reset, remaining in _RESETS.items():
        value = headers.get(reset)
        wait = _wait(value, clock) if value is not None else None
        if wait is not None:
            waits.append((headers.get(remaining, "").strip() == "0", wait))
    used_up = [wait for is_used_up, wait in waits if is_used_up]
    return max(used_up or (wait for _, wait in waits), default=None)


def _wait(value: str, clock: float) -> float | None:
    """Seconds, a duration such as 6m0s or 120ms, a Unix time, an ISO or an HTTP date."""
    value = value.strip()
    if _NUMBER.fullmatch(value):
        number = float(value)
        return max(0.0, number - clock) if number > _EPOCH else number
    duration = _DURATION.fullmatch(value) if value else None
    if duration is not None:
        parts = [float(part or 0) for part in duration.groups()]
        return parts[0] * 86400 + parts[1] * 3600 + parts[2] * 60 + parts[3] + parts[4] / 1000
    moment = _date(value)
    return None if moment is None else max(0.0, moment - clock)


def _date(value: str) -> float | None:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None


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
