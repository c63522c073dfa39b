"""A list of lines in a reply, with a number or a bullet before each entry."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from ...lazy_patterns import lazily
from ...records import Listing
from ..text.characters import narrow
from ..text.own_voice import ASIDE, Span, quotations
from .json_lists import CUT_SHOWN

_NUMBER = lazily(
    r"([ \t]{0,12})(?:[*_]{0,2})(?:(?:claim|fact|statement|point|item|question|step|entry)[ \t])?"
    r"(?:\(([0-9]{1,4})\)|\[([0-9]{1,4})\]|([0-9]{1,4})[*_]{0,2}(?:[.):：](?![0-9])|[ \t]?[-–—](?=[ "
    r"\t])|、))[*_]{0,2}:?[ \t]*",
    re.I,
)
_CIRCLED = lazily(r"([ \t]{0,12})([\u2460-\u2473])[ \t]?")
_BULLET = lazily(r"([ \t]{0,12})(?:[-–—•·◦▪‣]|\*(?!\*)|\+)(?:[ \t]+|(?=[^\s\-*•·]))")
_RULE = lazily(r"[ \t]*(?:[-–—*_=•·][ \t]?){3,}[ \t]*")
_REPLACES = lazily(r"\b(?:final|revised|corrected|updated|improved|cleaned)\b|最终|修正|최종|수정", re.I)
_FENCE = lazily(r"[ \t]{0,8}(?:```+|~~~+)[^\n]*")


class _Entry:
    """One entry as it is read: its lines with their places, how far it is indented, and its number."""

    def __init__(
        self, text: str, start: int, indent: int, number: int | None, is_below: bool = False
    ) -> None:
        self.lines = [(text, (start, start + len(text)))]
        self.indent, self.number = indent, number
        self.is_below = is_below
        """whether it stands below a heading, and is one of that heading's entries"""

    def text(self) -> str:
        whole = " ".join(text for text, _ in self.lines if text)
        return _BOLD.sub(r"\1", whole)

    def span(self) -> Span:
        written = [span for text, span in self.lines if text]
        return written[0][0], written[-1][1]


_BOLD = lazily(r"\A\*\*([^*]+)\*\*\Z")


class _Line(NamedTuple):
    start: int
    text: str
    is_quoted: bool
    """whether it begins inside a quotation"""


def line_list(reply: str, finish: str | None) -> Listing | None:
    """A list with a number or a bullet before each entry; none where no line has one."""
    reader = _LineReader(_lines(reply))
    entries = [entry for entry in reader.entries() if entry.text()]
    if not entries:
        return None
    cut = None
    flags = ["numbering_restarts"] if reader.restarts else []
    if finish == "length" and reader.ends_in_entry:
        cut = entries.pop().text()[:CUT_SHOWN]
        flags.append("list_cut_off")
    is_strict = not reader.has_prose and not reader.restarts and cut is None
    texts, spans = tuple(entry.text() for entry in entries), tuple(entry.span() for entry in entries)
    return Listing(texts, spans, "ok", "strict" if is_strict else "anchored", cut, tuple(flags))


def _lines(reply: str) -> list[_Line]:
    """The lines of a reply without those that open and close a fence."""
    quoted = [span for span in quotations(reply) if _is_over_lines(reply, *span)]
    lines: list[_Line] = []
    at = passed = 0
    for text in reply.split("\n"):
        while passed < len(quoted) and quoted[passed][1] <= at:
            passed += 1
        is_quoted = passed < len(quoted) and quoted[passed][0] < at
        if not _FENCE.fullmatch(text):
            lines.append(_Line(at, text.replace(ASIDE, " "), is_quoted))
        at += len(text) + 1
    return lines


def _is_over_lines(reply: str, start: int, end: int) -> bool:
    """Whether a quotation goes over several lines. Of two that
    were never closed, the second opens: it ends nothing.
    """
    if "\n" not in reply[start:end] or reply[start].isspace():
        return False
    return not (reply[end - 2].isspace() and reply[end : end + 1].isalnum())


class _LineReader:
    """Reads entries line by line: numbers where a list has any, otherwise bullets."""

    def __init__(self, lines: list[_Line]) -> None:
        self.lines = lines
        self.restarts = self.has_prose = self.ends_in_entry = False
        numbers = [mark[1] for line in lines if not line.is_quoted and (mark := _number_at(line.text))]
        self.is_numbered = 1 in numbers

    def entries(self) -> list[_Entry]:
        entries: list[_Entry] = []
        is_open = after_blank = False
        heading = ""
        for line in self.lines:
            if not line.text.strip() or _RULE.fullmatch(line.text):
                after_blank = True
                continue
            entry = self._entry(line, entries[-1] if entries else None)
            if entry is not None:
                if entry.number == 1 and entries:
                    self.restarts = True
                    # A second list that replaces the first one is not more of it.
                    entries = [] if _REPLACES.search(heading) else entries
                entries.append(entry)
                is_open, heading = True, ""
            elif is_open and self._goes_on(line, entries[-1], after_blank):
                _add(line, entries)
            else:
                is_open, heading = False, line.text
                self.has_prose = True
            after_blank = False
        self.ends_in_entry = is_open
        return entries

    def _entry(self, line: _Line, last: _Entry | None) -> _Entry | None:
        if line.is_quoted:
            return None
        mark = _number_at(line.text) if self.is_numbered else _bullet_at(line.text)
        if mark is None or (last is not None and mark[0] > last.indent + 1):
            # What is indented further belongs to the entry above it.
            return None
        indent, number, at = mark
        # The year at the beginning of a line, "1999. It …", is no number of an entry.
        before = last.number or 0 if last is not None else 0
        if self.is_numbered and not (number == 1 or before < number <= before + _MOST_SKIPPED):
            return None
        return _entry_at(line, at, indent, number if self.is_numbered else None)

    def _goes_on(self, line: _Line, entry: _Entry, after_blank: bool) -> bool:
        """Whether a line without a mark belongs to the entry
        above it: behind a blank line, if it is indented.
        """
        indent = len(line.text) - len(line.text.lstrip())
        return line.is_quoted or not after_blank or indent > entry.indent + 1


_MOST_SKIPPED = 3


def _add(line: _Line, entries: list[_Entry]) -> None:
    """A line that continues an entry; below a heading that
    ends with a colon, each bullet is an entry instead.
    """
    entry = entries[-1]
    mark = None if line.is_quoted else _bullet_at(line.text) or _number_at(line.text)
    if mark is not None and (entry.is_below or entry.lines[-1][0].endswith((":", "："))):
        if not entry.is_below:
            entries.pop()
        entries.append(_entry_at(line, mark[2], entry.indent, entry.number, is_below=True))
        return
    text = line.text.strip()
    start = line.start + line.text.index(text)
    entry.lines.append((text, (start, start + len(text))))


def _entry_at(line: _Line, at: int, indent: int, number: int | None, is_below: bool = False) -> _Entry:
    rest = line.text[at:]
    start = line.start + at + len(rest) - len(rest.lstrip())
    return _Entry(rest.strip(), start, indent, number, is_below)


def _number_at(line: str) -> tuple[int, int, int] | None:
    """How far a numbered line is indented, its number, and where its text begins."""
    narrowed = narrow(line)
    mark = _NUMBER.match(narrowed)
    if mark is not None:
        return len(mark[1]), int(mark[2] or mark[3] or mark[4]), mark.end()
    circled = _CIRCLED.match(narrowed)
    if circled is not None:
        return len(circled[1]), int(unicodedata.numeric(circled[2])), circled.end()
    return None


def _bullet_at(line: str) -> tuple[int, int, int] | None:
    mark = _BULLET.match(line)
    return (len(mark[1]), 0, mark.end()) if mark is not None else None
