"""The answer alone on the first line."""

from __future__ import annotations

from ...records import Reading
from ..free.said_scores import counts_things
from ..numbers.counted import is_entry
from ..numbers.number import number_at
from ..text.own_voice import ASIDE, set_aside
from ..text.patterns import lazily
from .settle import prepared
from .values import Value, value_from

_COLON = lazily(r":")
_FIRST_LINE = 480
"""More than a first line that holds a score, with white space before it."""


def read_first_line(text: str, value: Value) -> Reading | None:
    """The score alone on the first line; a label before it or a unit behind it do no harm."""
    # Where the judge does not begin by thinking aloud, the first line is all that is looked at.
    head = text if text.lstrip()[:1] in ("<", "`", "~") else text[:_FIRST_LINE]
    plain = set_aside(prepared(head), quoted=False, fenced=False).replace(ASIDE, " ")
    start = len(plain) - len(plain.lstrip())
    end = plain.find("\n", start)
    end = len(plain) if end < 0 else end
    labelled = [place.end() for place in _COLON.finditer(plain, start, min(end, start + 400))]
    values = [read for at in labelled if (read := value_from(plain, at, end, value)) is not None]
    if not values:
        opening = value_from(plain, start, end, value)
        values = [opening] if opening is not None and not _is_no_score(plain, start, opening[2][0]) else []
    if len({read[0] for read in values}) > 1:
        return Reading(status="conflicting", span=values[0][2])
    if not values:
        return None
    number, status, span = values[0]
    return Reading(number if status == "ok" else None, status, "anchored", span)


def _is_no_score(plain: str, start: int, at: int) -> bool:
    """Whether the number that a reply opens with counts things or heads a list: "3个分论点", "1. 结构"."""
    number = number_at(plain, at)
    return number is not None and (
        is_entry(plain, start, number, is_part=False) or counts_things(plain, number)
    )
