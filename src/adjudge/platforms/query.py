"""Which traces are wanted: since when, how many, by which filter."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from ..errors import DataError

_AGE = re.compile(r"([0-9]{1,6})\s*(m|h|d|w)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Query(Struct, frozen=True):
    """The newest `limit` traces since a time that a filter of the platform takes."""

    since: datetime | None = None
    limit: int | None = None
    filter: str = ""

    @property
    def since_text(self) -> str:
        """The time in ISO 8601; empty where there is none."""
        return "" if self.since is None else self.since.isoformat()


def since_of(text: str | None, now: datetime | None = None) -> datetime | None:
    """A time in ISO 8601, or an age such as 90m, 24h, 7d or 2w. A time without a zone is UTC."""
    if text is None:
        return None
    if age := _AGE.fullmatch(text.strip().lower()):
        return (now or datetime.now(UTC)) - timedelta(**{_UNITS[age[2]]: int(age[1])})
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise DataError(
            f"--since {text}: give a time such as 2026-11-01T08:00 or an age such as 24h."
        ) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
