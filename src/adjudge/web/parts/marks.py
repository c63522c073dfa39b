"""Marks in a text: where a score was read, where answers contradict each other, and what was searched for."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from .safe_text import shown, visible_text

Span = tuple[int, int]

HIT = "span hit"
"""The class of what was searched for; other marks are what was read."""

PASSED_OVER = "span aside"
"""The class of a number that was not read."""

_OPTIONAL = (HIT, PASSED_OVER)
"""Marks that may be hidden by rendering."""


class TextMark(NamedTuple):
    """A place to mark, and why."""

    start: int
    end: int
    css: str
    title: str


def marks_of(
    text: str,
    spans: Iterable[Span | None],
    title: str = "",
    doubtful: Sequence[Span] = (),
    searched: str = "",
    rejected: Iterable[tuple[Span, str]] = (),
) -> list[TextMark]:
    """The marks of a text in order: what was read, what was passed over and why, and what was searched
    for; spans outside the text or inside others are ignored.
    """
    contradicts = "one of several answers that contradict each other"
    wanted = [
        TextMark(*span, "span doubt", contradicts) if span in doubtful else TextMark(*span, "span", title)
        for span in spans
        if span is not None
    ]
    wanted += [TextMark(*span, PASSED_OVER, f"not read: {reason}") for span, reason in rejected]
    marks: list[TextMark] = []
    for mark in sorted(wanted):
        if (marks[-1].end if marks else 0) <= mark.start < mark.end <= len(text):
            marks.append(mark)
    starts = [mark.start for mark in marks]
    for start, end in _hit_spans(text, searched):
        place = bisect.bisect_left(starts, start)
        is_free = (not place or marks[place - 1].end <= start) and (
            place == len(starts) or end <= starts[place]
        )
        if is_free:
            marks.insert(place, TextMark(start, end, HIT, "found"))
            starts.insert(place, start)
    return marks


_MOST_HITS = 500


def _hit_spans(text: str, searched: str) -> Iterator[Span]:
    low, wanted = text.lower(), searched.lower()
    # Few letters have a lower case of another length; then no place in one text is a place in the other.
    start = low.find(wanted) if wanted and len(low) == len(text) else -1
    for _ in range(_MOST_HITS):
        if start < 0:
            return
        yield start, start + len(wanted)
        start = low.find(wanted, start + len(wanted))


def marked(
    text: str,
    spans: Iterable[Span | None],
    title: str = "",
    doubtful: Sequence[Span] = (),
    searched: str = "",
    first_id: str = "",
    rejected: Iterable[tuple[Span, str]] = (),
) -> Markup:
    """The text as HTML with its spans marked, those in `doubtful`
    as contradictions; the first mark gets the id `first_id`.
    """
    marks = marks_of(text, spans, title, doubtful, searched, rejected)
    writer = MarkedWriter(marks, first_id)
    writer.text(with_borders(text, marks))
    return writer.html()


def hits(text: str, searched: str) -> Markup:
    """The text as HTML with what was searched for marked."""
    return marked(text, (), searched=searched)


def snippet(text: str, searched: str, before: int = 16, after: int = 60) -> str:
    """The surroundings of the first place where a text is found; empty where it is not."""
    for start, end in _hit_spans(text, searched):
        low, high = max(0, start - before), min(len(text), end + after)
        inside = " ".join(text[low:high].split())
        return f"{'…' if low else ''}{inside}{'…' if high < len(text) else ''}"
    return ""


_FIRST_BORDER = 0xF0000
"""The borders of mark k are the private characters 2k and 2k + 1 from here on."""
_BORDERS = range(_FIRST_BORDER, 0xFFFFE)
"""The text to be marked may have none of these."""


def may_be_marked(text: str) -> bool:
    """Whether the text has none of the characters that stand for the borders of marks."""
    return not any(ord(character) in _BORDERS for character in text)


def with_borders(text: str, marks: Sequence[TextMark]) -> str:
    """The text with a character at each end of each mark, which a renderer carries along."""
    parts, done = [], 0
    for number, mark in enumerate(marks):
        opening, closing = chr(_FIRST_BORDER + 2 * number), chr(_FIRST_BORDER + 2 * number + 1)
        parts += [text[done : mark.start], opening, text[mark.start : mark.end], closing]
        done = mark.end
    return "".join([*parts, text[done:]])


def without_borders(text: str) -> str:
    return "".join(character for character in text if ord(character) not in _BORDERS)


class MarkedWriter:
    """Collects HTML: tags of ours, and text that is escaped; a mark is closed and opened again at each
    tag."""

    def __init__(self, marks: Sequence[TextMark], first_id: str = "") -> None:
        self._marks = marks
        self._borders = _border_pattern(len(marks))
        self._first_id = first_id
        self._has_read = any(mark.css not in _OPTIONAL for mark in marks)
        self._parts: list[str] = []
        self._open: int | None = None
        self.written: dict[int, int] = {}
        """number of a mark → how many of its characters were written"""

    def text(self, text: str) -> None:
        """A part of the text, with the borders of its marks."""
        start = 0
        for border in self._borders.finditer(text) if self._borders is not None else ():
            self._write(text[start : border.start()])
            number, is_closing = divmod(ord(border[0]) - _FIRST_BORDER, 2)
            self._open = None if is_closing else number
            start = border.end()
        self._write(text[start:])

    def _write(self, text: str) -> None:
        if not text:
            return
        if self._open is None:
            self._parts.append(shown(text))
            return
        mark = self._marks[self._open]
        name = ""
        if self._first_id and (mark.css not in _OPTIONAL or not self._has_read):
            name, self._first_id = Markup(' id="{}"').format(self._first_id), ""
        self._parts.append(
            Markup('<mark class="{}" title="{}"{}>{}</mark>').format(
                mark.css, visible_text(mark.title), name, shown(text)
            )
        )
        self.written[self._open] = self.written.get(self._open, 0) + len(text)

    def tag(self, tag: str) -> None:
        """A tag of ours, never a part of the text."""
        self._parts.append(tag)

    def html(self) -> Markup:
        return Markup("").join(map(Markup, self._parts))

    def is_whole(self) -> bool:
        """Whether all characters of all marks were written, but for what was searched for or passed over."""
        return all(
            self.written.get(number, 0) == mark.end - mark.start
            for number, mark in enumerate(self._marks)
            if mark.css not in _OPTIONAL
        )


def _border_pattern(n_marks: int) -> re.Pattern[str] | None:
    if not n_marks:
        return None
    return re.compile(f"[{chr(_FIRST_BORDER)}-{chr(_FIRST_BORDER + 2 * n_marks - 1)}]")
