"""The answer behind a marker: `[RESULT] 4`."""

from __future__ import annotations

import re
from functools import lru_cache

from ...records import Reading
from .settle import loosely, marks_in, prepared, settle
from .values import Value


def read_marker(text: str, marker: str, value: Value) -> Reading | None:
    """`[RESULT] 4`, however it is set in bold, brackets or full width."""
    plain = prepared(text)
    marks = marks_in(plain, _marker_pattern(marker), value)
    name = _bare_name(marker)
    if marks and name and plain.count(name) > len(marks):
        # The same name without its brackets, on a separate line, revises the answer; as a heading
        # it says nothing.
        taken = {mark.mark for mark in marks}
        again = [
            mark
            for mark in marks_in(plain, _bare_pattern(name), value)
            if mark.is_readable or mark.status == "refused"
        ]
        marks = sorted(
            [*marks, *(mark for mark in again if mark.mark not in taken)], key=lambda mark: mark.mark
        )
    return settle(marks, text)


@lru_cache(maxsize=64)
def _marker_pattern(marker: str) -> re.Pattern[str]:
    return re.compile(loosely(marker), re.I)


@lru_cache(maxsize=64)
def _bare_name(marker: str) -> str:
    """`result` for `[RESULT]`; empty for a marker that is no name in brackets."""
    name = re.fullmatch(r"\[([A-Za-z]{3,20})\]", marker)
    return name[1].lower() if name else ""


@lru_cache(maxsize=64)
def _bare_pattern(name: str) -> re.Pattern[str]:
    """`RESULT:` on a separate line, or after a sentence."""
    return re.compile(rf"(?:(?<=\n)|\A|(?<=[.!?…]\s))(?:(?:final|revised|new)\s)?{name}\s?[:：]", re.I)
