"""The answer behind a label: `Coherence Score (1-5): 4`."""

from __future__ import annotations

import re
from functools import lru_cache

from ...records import Reading
from ..text.patterns import lazily
from .settle import MarkedValue, leads_line, loosely, marks_in, prepared, settle
from .values import Value


def read_label(text: str, labels: tuple[str, ...], value: Value) -> Reading | None:
    """`Coherence Score (1-5): 4`. A label at the start of a line outranks one inside a sentence."""
    plain = prepared(text)
    found = [marks_in(plain, _label_pattern(label), value) for label in labels]
    unread = [mark for marks in found for mark in marks if _is_unread_answer(plain, mark)]
    for marks in found:
        values = [mark for mark in marks if mark.is_readable]
        leading = [mark for mark in values if leads_line(plain, mark.mark)]
        if values:
            return settle(sorted([*(leading or values), *unread], key=lambda mark: mark.mark), text)
    reading = settle(sorted(unread, key=lambda mark: mark.mark), text)
    return reading or (Reading(status="unparsed") if any(found) else None)


def _is_unread_answer(plain: str, mark: MarkedValue) -> bool:
    """Whether a label without an answer claims one: "Score:
    N/A", and not "the reason for the score: it is …".
    """
    if mark.is_readable:
        return False
    claims = mark.status == "refused" or _COLON_BEHIND.match(plain, mark.span[1]) is not None
    return claims and _ABOUT_LABEL.search(plain, max(0, mark.mark - 24), mark.mark) is None


_COLON_BEHIND = lazily(r"\s{0,3}(?:\([^()\n]{0,40}\)|\[[^\[\]\n]{0,40}\])?\s{0,3}[:=]")
_ABOUT_LABEL = lazily(
    r"\b(?:for|of|behind|about|regarding|explain(?:s|ing)?|justif(?:y|ies|ying))\s(?:the|this|that|my|its|a)\s(?:final\s|overall\s)?$",
    re.I,
)
"""What makes a label the subject of a heading: "Reason for the score:"."""


@lru_cache(maxsize=64)
def _label_pattern(label: str) -> re.Pattern[str]:
    # A label without its colon is a word of a sentence: "the score given was 4" is not an answer. A dash
    # right behind the label stands for the colon.
    return re.compile(
        rf"(?<![^\W\d_]){loosely(label)}(?:\s{{0,3}}(?=[:=(\[]|is\b)|\s?[-–—](?!\s?[^\W\d]))", re.I
    )
