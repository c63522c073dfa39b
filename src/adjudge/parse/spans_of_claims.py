"""Where a text holds a claim or another element word for word."""

from __future__ import annotations

import re

from .text.own_voice import Span

_EDGES = " \t\n\"'`.,;:!?-…"


def find_place(element: str, text: str, after: int = 0) -> Span | None:
    """Where a text holds an element word for word, the first time behind a place, otherwise the first time at
    all.

    Case, white space and the marks at its edges do not count. None where it was put into other words.
    """
    words = element.strip(_EDGES).split()
    if not words or len(element) > _LONGEST_PLACE:
        return None
    pattern = re.compile(r"\s+".join(re.escape(word) for word in words), re.I)
    match = pattern.search(text, after) or pattern.search(text)
    return match.span() if match else None


_LONGEST_PLACE = 2_000
