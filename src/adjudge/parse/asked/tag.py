"""The answer between two tags: `<score>4</score>`."""

from __future__ import annotations

import re
from functools import lru_cache

from ...records import Reading
from ..text.patterns import lazily
from .settle import MarkedValue, leads_line, prepared, settle, unread_mark
from .values import Value, value_from

_LEVEL_ECHO = lazily(r"[\s\"'*]{0,3}(?:[-–—:：=]|\bmeans\b)\s{0,3}\S")


def read_tag(text: str, tag: str, value: Value) -> Reading | None:
    """`<score>4</score>`; a list of levels that the judge repeats is passed over."""
    plain = prepared(text)
    marks = []
    for match in _tag_pattern(tag).finditer(plain):
        read = value_from(plain, match.end(), len(plain), value)
        if read is None:
            marks.append(unread_mark(plain, match.start(), match.end()))
            continue
        closing = _closing_pattern(tag).match(plain, read[2][1])
        is_echo = closing is not None and _LEVEL_ECHO.match(plain, closing.end()) is not None
        if not (is_echo and leads_line(plain, match.start())):
            marks.append(MarkedValue(*read, match.start()))
    return settle(marks, text)


@lru_cache(maxsize=64)
def _tag_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"<\s{{0,3}}{re.escape(tag)}\s{{0,3}}>", re.I)


@lru_cache(maxsize=64)
def _closing_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"[^<\n]{{0,24}}<\s{{0,3}}/\s{{0,3}}{re.escape(tag)}\s{{0,3}}>", re.I)
