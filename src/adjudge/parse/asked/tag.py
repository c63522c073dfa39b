"""The answer between two tags: `<score>4</score>`."""

from __future__ import annotations

import re
from functools import lru_cache

from ...lazy_patterns import lazily
from ...records import Reading
from ..text.given import is_given
from .settle import MarkedValue, leads_line, prepared, settle, unread_mark
from .values import Value, value_from

_TOP_BEHIND = lazily(r"\s{0,2}(?:/|out\sof)\s{0,2}([0-9]{1,3})\b")
_ENDS_LINE = lazily(r"[ *`]*+(?:\n|\Z)")
_LEVEL_ECHO = lazily(r"[\s\"'*]{0,3}(?:[-–—:：=]|\bmeans\b)\s{0,3}\S")


def read_tag(text: str, tag: str, value: Value) -> Reading | None:
    """`<score>4</score>`; a list of levels that the judge repeats is passed over."""
    plain = prepared(text)
    marks: list[MarkedValue] = []
    for match in _tag_pattern(tag).finditer(plain):
        read = value_from(plain, match.end(), len(plain), value)
        if read is None:
            # `<score>4<score>`: the second one closes the first.
            is_closing = marks and not plain[marks[-1].span[1] : match.start()].strip(" *`")
            if not (is_closing and marks[-1].is_readable and _ENDS_LINE.match(plain, match.end())):
                marks.append(unread_mark(plain, match.start(), match.end()))
            continue
        answer, status, span = read
        closing = _closing_pattern(tag).match(plain, span[1])
        if closing is not None:
            if _LEVEL_ECHO.match(plain, closing.end()) and leads_line(plain, match.start()):
                continue
            top = _TOP_BEHIND.match(plain, closing.end())
            whole = value(f"{plain[slice(*span)]}/{top[1]}", 0) if top else None
            answer, status, _ = whole or read
        if is_given(plain, match.start(), closing.end() if closing else span[1]):
            marks.append(MarkedValue(answer, status, span, match.start()))
        else:
            marks.append(MarkedValue(None, "unparsed", match.span(), match.start(), False))
    return settle(marks, text)


@lru_cache(maxsize=64)
def _tag_pattern(tag: str) -> re.Pattern[str]:
    # With attributes too: <score value="5">.
    return re.compile(rf"<\s{{0,3}}{re.escape(tag)}(?:\s[^<>\n]{{0,80}}(?<!/))?\s{{0,3}}>", re.I)


@lru_cache(maxsize=64)
def _closing_pattern(tag: str) -> re.Pattern[str]:
    return re.compile(rf"[^<\n]{{0,24}}<\s{{0,3}}/\s{{0,3}}{re.escape(tag)}\s{{0,3}}>", re.I)
