"""What may stand behind a mark: a number of the scale, the name of a level, one of two responses."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ...records import Scale, Status
from ..numbers.number import Number, number_at
from ..text.own_voice import Span
from ..text.patterns import lazily

# A minus sign before a digit belongs to the number: "-1" is off the scale, not 1.
_BEFORE_VALUE = lazily(
    r"(?:[\s:=(\[{\"'“”‘’«`>|*_]|-(?![0-9])){0,12}"
    r"(?:(?:the\s)?(?:final\s|overall\s)?(?:score|rating|result|is|of|점수|评分|得分|分数)(?:[\s:=(\[*_]|-(?![0-9])){0,6}){0,2}",
    re.I,
)
_MENU = lazily(
    r"(?:\s?[,|/]\s?[0-9]{1,3}(?:\.[0-9])?){1,20}\s?,?\s?(?:\|{1,2}|or|and)\s?[0-9]|(?:\s?[,|]\s?[0-9]{1,3}(?![0-9.])){2,20}",
    re.I,
)
"""The levels of the scale one after the other: a repeated format, no answer."""
_VALUE_ENDS = lazily(r"\s{0,3}(?:[^\w\s]|\n|\Z|[^\W\d])")
Value = Callable[[str, int], tuple[float | str | None, Status, Span] | None]
"""Reads what stands at a place of a narrowed text; none where nothing readable does."""


def score_value(scale: Scale) -> Value:
    """A reader of the one number, or level name, that stands at a place."""

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        number = number_at(text, at)
        if number is None or not _VALUE_ENDS.match(text, number.until):
            return _named_level(text, at, scale)
        if _MENU.match(text, number.end):
            return None
        return number.value, _fits(number, scale), (number.start, number.end)

    return read


def _fits(number: Number, scale: Scale) -> Status:
    """On the scale, and "out of" the scale's own top where the judge names one."""
    if number.top is not None and scale.high is not None and number.top != scale.high:
        return "out_of_range"
    return scale.status_of(number.value)


def _named_level(text: str, at: int, scale: Scale) -> tuple[float | str | None, Status, Span] | None:
    for level, name in scale.names.items():
        end = at + len(name)
        if text[at:end].casefold() == name.casefold() and not text[end : end + 1].isalnum():
            return level, "ok", (at, end)
    return None


def choice_value(options: tuple[str, str], tie: str | None) -> Value:
    """A reader of one of the words that the prompt offers: first, second or tie."""
    words = {options[0].casefold(): "first", options[1].casefold(): "second"}
    if tie is not None:
        words[tie.casefold()] = "tie"
    pattern = _choice_pattern(tuple(sorted(words, key=len, reverse=True)))

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        match = pattern.match(text, at)
        return (words[match[1].casefold()], "ok", match.span(1)) if match else None

    return read


@lru_cache(maxsize=64)
def _choice_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        r"(?:(?:response|output|answer|assistant|option|model|candidate|the)\s{1,2}){0,2}[(\[\"'“‘*]{0,3}"
        + f"({'|'.join(map(re.escape, words))})"
        + r"(?![\w])(?!\s{0,2}(?:or|/|and)\s{0,2}\w{1,9}\b)",
        re.I,
    )


def value_from(plain: str, at: int, end: int, value: Value) -> tuple[float | str | None, Status, Span] | None:
    skipped = _BEFORE_VALUE.match(plain, at, end)
    read = value(plain, skipped.end() if skipped else at)
    return read if read is not None and read[2][1] <= end else None
