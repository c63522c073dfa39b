"""A reply without the characters that nobody sees: zero-width spaces, joiners, variation selectors, tags.

They are left out before anything is read: one between a mark and its value, or inside a mark, would hide an
answer from the readers that a person sees.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from msgspec import structs

from ...lazy_patterns import lazily
from ...records import Reading

_INVISIBLE = (
    r"\xad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    r"\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's default-ignorable characters as the inside of a
set, without the fillers of Hangul, which show as a space.
"""
_FILLERS = r"\u115f\u1160\u3164\uffa0"
_HIDDEN = lazily(rf"[{_INVISIBLE}]+|(?<=[A-Za-z\[<(/])[{_FILLERS}{_INVISIBLE}]+(?=[A-Za-z\])>/])")
"""A filler of Hangul inside a Latin word or a mark hides it; between a mark and its value it is a space."""


class Visible(NamedTuple):
    """A text without the characters that nobody sees, and where each of its characters stood."""

    text: str
    shifts: tuple[tuple[int, int], ...] = ()
    """from which place on in `text`, and how many characters are missing before it"""

    def span(self, span: tuple[int, int]) -> tuple[int, int]:
        """A place in the visible text as a place in the original."""
        return self._place(span[0]), self._place(span[1] - 1) + 1

    def _place(self, at: int) -> int:
        index = bisect_right(self.shifts, at, key=lambda shift: shift[0])
        return at + (self.shifts[index - 1][1] if index else 0)


def visible(text: str) -> Visible:
    """The text as a person sees it: an invisible character between a mark and its value hides nothing."""
    if text.isascii() or not _HIDDEN.search(text):
        return Visible(text)
    parts: list[str] = []
    shifts: list[tuple[int, int]] = []
    at = missing = 0
    for hidden in _HIDDEN.finditer(text):
        parts.append(text[at : hidden.start()])
        at = hidden.end()
        missing += at - hidden.start()
        shifts.append((at - missing, missing))
    return Visible("".join((*parts, text[at:])), tuple(shifts))


def read_visible(text: str, read: Callable[[str], Reading]) -> Reading:
    """What a reader finds in the visible text, with its place in the original."""
    seen = visible(text)
    reading = read(seen.text)
    if not seen.shifts or reading.span is None:
        return reading
    how = "anchored" if reading.how == "strict" else reading.how
    return structs.replace(reading, how=how, span=seen.span(reading.span))
