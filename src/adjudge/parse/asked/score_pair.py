"""Two scores, one for each response in the order shown: `8 9` on the first line, or each behind a name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ...lazy_patterns import lazily
from ...records import How, Reading, Scale, Status, Subject
from ..numbers.number import Number, number_at
from ..text.characters import narrow, without_emphasis
from ..text.own_voice import ASIDE, set_aside

_FIRST_LINE = 480
"""More than a first line that holds two scores, with white space before it."""

_LAST_LINES = 20_000
"""How much of the end of a reply is searched for two labelled scores, in characters."""

_NAMED = lazily(
    r"(?:assistant|response|answer|model|output|candidate)\s?#?[(]?[12ab][)]?(?:'s\s\w{1,12})?\s?[:=]"
    r"|\b(?:scores?|ratings?)\s?[:=]",
    re.I,
)
"""Words before a score: "Assistant 1: 8"."""

_BETWEEN = lazily(r"[\s,;|/&]{1,40}(?:(?:and|vs\.?)\s{1,2})?", re.I)
_BARE = lazily(r"[0-9]+(?:\.[0-9]+)? [0-9]+(?:\.[0-9]+)?")
_AROUND = " \t[]()."


def first_line_pair(text: str, scale: Scale) -> tuple[Reading, Reading] | None:
    """Both scores of the first line; none where it holds anything but two numbers."""
    head = text if text.lstrip()[:1] in ("<", "`", "~") else text[:_FIRST_LINE]
    plain = without_emphasis(set_aside(narrow(head), quoted=False, fenced=False)).replace(ASIDE, " ")
    start = len(plain) - len(plain.lstrip())
    end = plain.find("\n", start)
    line = plain[start : end if end >= 0 else len(plain)]
    line = _NAMED.sub(lambda name: " " * len(name[0]), line)
    numbers = _numbers_of(line)
    if len(numbers) != 2:
        return None
    is_bare = _BARE.fullmatch(text.split("\n", 1)[0]) is not None
    first, second = (
        _reading(number, scale, start, "strict" if is_bare else "anchored") for number in numbers
    )
    return first, second


def labelled_pair(text: str, scale: Scale, subjects: Mapping[Subject, str]) -> tuple[Reading, Reading] | None:
    """A score behind the name of each response: "Score of the Assistant 1: 8"; none where one is missing."""
    plain = without_emphasis(set_aside(narrow(text[-_LAST_LINES:])))
    start = max(0, len(text) - _LAST_LINES)
    readings = []
    for name in (subjects.get("a", "A"), subjects.get("b", "B")):
        numbers = [
            number
            for label in _label_of(name).finditer(plain)
            if (number := number_at(plain, label.end())) is not None
        ]
        if not numbers:
            return None
        differ = len({number.value for number in numbers}) > 1
        readings.append(
            Reading(status="conflicting") if differ else _reading(numbers[-1], scale, start, "anchored")
        )
    return readings[0], readings[1]


@lru_cache(maxsize=32)
def _label_of(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"\b{re.escape(name)}(?:'s\s(?:score|rating|answer|response))?(?:\s(?:score|rating))?\s?[:=]\s{{0,3}}",
        re.I,
    )


def _numbers_of(line: str) -> list[Number]:
    """The numbers of a line that holds numbers alone; none otherwise."""
    numbers: list[Number] = []
    end = len(line.rstrip(_AROUND))
    at = len(line) - len(line.lstrip(_AROUND))
    while at < end:
        number = number_at(line, at)
        if number is None or number.start > at + 1:
            return []
        numbers.append(number)
        between = _BETWEEN.match(line, number.until)
        if between is None and number.until < end:
            return []
        at = between.end() if between else number.until
    return numbers


def _reading(number: Number, scale: Scale, start: int, how: How) -> Reading:
    status: Status = scale.status_of(number.value)
    if number.top is not None and scale.high is not None and number.top != scale.high:
        status = "out_of_range"
    span = (start + number.start, start + number.end)
    return Reading(number.value if status == "ok" else None, status, how, span)
