"""The wait after a 429: what the host states in the headers of its response, or else a backoff.

A stated wait is never shortened. A 429 is no failed attempt, whichever of the two it is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import uniform

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
"""Header with the time of a reset → header with the remaining allowance."""

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{0,9})?|\.\d{1,9}")
_DURATION = re.compile(
    r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,"
    r"9})?)ms)?"
)
_EPOCH = 1e9
"""A larger number is a Unix time, not a wait: it would be thirty years."""


LONGEST_LIMITED_SECONDS = 60.0


def unstated_wait(n_limited: int, backoff_seconds: float, patience_left: float) -> float:
    """The seconds to wait after the n-th 429 of a call whose host does not say how long.

    No longer than the patience lasts: the next refusal then ends the run, or sends the call elsewhere.
    """
    longest = backoff_seconds * 2.0 ** min(n_limited, 10)
    wait = min(LONGEST_LIMITED_SECONDS, longest) * uniform(0.5, 1)
    return min(wait, max(patience_left, 0.0) + 0.05)


def stated_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds to wait by the headers of a response; none where they do not say."""
    now = time.time() if now is None else now
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None and _NUMBER.fullmatch(milliseconds.strip()):
        return float(milliseconds) / 1000
    # A point in time is compared with the host's clock where the response has a date.
    clock = _date(headers.get("date", ""))
    clock = now if clock is None else clock
    after = headers.get("retry-after")
    if after is not None and (wait := _wait(after, clock)) is not None:
        return wait
    return _until_reset(headers, clock)


def _until_reset(headers: Mapping[str, str], clock: float) -> float | None:
    """The longest wait among the limits that are used up; of all limits where none says what remains."""
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
