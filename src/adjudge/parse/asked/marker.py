"""The answer behind a marker: `[RESULT] 4`."""

from __future__ import annotations

import re
from functools import lru_cache

from ...records import Reading
from .settle import loosely, marks_in, prepared, settle
from .values import Value


def read_marker(text: str, marker: str, value: Value) -> Reading | None:
    """`[RESULT] 4`, however it is set in bold, brackets or full width."""
    return settle(marks_in(prepared(text), _marker_pattern(marker), value), text)


@lru_cache(maxsize=64)
def _marker_pattern(marker: str) -> re.Pattern[str]:
    return re.compile(loosely(marker), re.I)
