"""Read a list from a reply: numbered, bulleted or JSON; and find its entries again in the text that they came from.

Only a mark at the beginning of a line makes an entry: numbers and bullets inside a quotation, a code fence or a sentence
that is split over lines do not. Of a list that was cut off, the whole entries count, and what is left of the last one is
kept apart, so that the caller can count it as a failure. This file knows nothing of claims or checklists.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..records import FieldValue, How, Listing, Message
from .named_options import flat_name
from .text import ASIDE, Span, declines, lazily, masked, narrow, quotations, thoughts, window

MOST_ENTRIES = 2_000
"""No judge lists more; a longer list is not read at all, because something else is wrong then."""

_NUMBER = lazily(
    r"([ \t]{0,12})(?:[*_]{0,2})(?:(?:claim|fact|statement|point|item|question|step|entry)[ \t])?"
    r"(?:\(([0-9]{1,4})\)|\[([0-9]{1,4})\]|([0-9]{1,4})[*_]{0,2}(?:[.):：](?![0-9])|[ \t]?[-–—](?=[ \t])|、))[*_]{0,2}:?[ \t]*",
    re.I,
)
_CIRCLED = lazily(r"([ \t]{0,12})([\u2460-\u2473])[ \t]?")
_BULLET = lazily(r"([ \t]{0,12})(?:[-–—•·◦▪‣]|\*(?!\*)|\+)(?:[ \t]+|(?=[^\s\-*•·]))")
_RULE = lazily(r"[ \t]*(?:[-–—*_=•·][ \t]?){3,}[ \t]*")
_REPLACES = lazily(r"\b(?:final|revised|corrected|updated|improved|cleaned)\b|最终|修正|최종|수정", re.I)
_FENCE = lazily(r"[ \t]{0,8}(?:```+|~~~+)[^\n]*")
_NOTHING = frozenset(
    "none nothing noclaims nofacts nostatements nopoints noclaimsfound therearenoclaims therearenone noneofthese empty [] - "
    "theresponsemakesnoclaims theresponsemakesnofactualclaims nofactualclaims noquestions 无 無 没有 없음 없습니다 なし".split()
)
_TEXT_KEYS = (
    "claim",
    "fact",
    "statement",
    "point",
    "text",
    "question",
    "content",
    "element",
    "item",
    "sentence",
    "description",
)


def read_list(text: str, *, finish: str | None = None) -> Listing:
    """The entries of the one list in a reply; an empty list where the reply says that there is nothing to list.

    `finish` is the model's own word on why it stopped: with "length", the last entry of an open list is cut off.
    """
    start, end = window(text)
    reply = text[start:end]
    if not reply:
        return Listing()
    if finish == "content_filter":
        return Listing(status="refused")
    hidden = masked(reply, thoughts(reply)) if "<" in reply else reply
    listing = _json_list(hidden) or _line_list(hidden, finish)
    if listing is None:
        is_nothing = len(hidden) <= 80 and flat_name(hidden.replace(ASIDE, " ")) in _NOTHING
        if is_nothing:
            listing = Listing(status="ok", how="strict")
        elif finish == "length":
            listing = Listing(status="truncated")
        else:
            listing = Listing(status="refused" if declines(narrow(hidden[:4_000])) else "unparsed")
    if len(listing.entries) > MOST_ENTRIES:
        return Listing(status="unparsed", flags=("overlong_list",))
    how = "anchored" if listing.how == "strict" and reply != text.strip() else listing.how
    spans = tuple((start + first, start + last) for first, last in listing.spans)
    return Listing(listing.entries, spans, listing.status, how, listing.cut, listing.flags)


# -- JSON


class _JsonEntry(NamedTuple):
    text: str
    span: Span


_OPENS = lazily(r"\[\s*+(?=[\"{\]])")
_DECODER = json.JSONDecoder(strict=False)


def _json_list(reply: str) -> Listing | None:
    """A JSON list of texts, or of objects that each hold one; bare, fenced, or the only list of an object."""
    lists = _json_lists(reply)
    if not lists:
        return None
    entries, span, cut, is_broken = lists[-1]
    if len({tuple(entry.text for entry in other[0]) for other in lists}) > 1:
        return Listing(status="conflicting")
    if is_broken:
        return Listing(status="unparsed")
    how: How = "strict" if span == (0, len(reply)) and cut is None else "anchored"
    flags = ("list_cut_off",) if cut is not None else ()
    texts = tuple(entry.text for entry in entries)
    return Listing(texts, tuple(entry.span for entry in entries), "ok", how, cut, flags)


_Found = tuple[list[_JsonEntry], Span, str | None, bool]


def _json_lists(reply: str) -> list[_Found]:
    """Every outermost JSON list of a reply, those inside an object too; a quotation in prose opens none."""
    found: list[_Found] = []
    at = 0
    for _ in range(64):
        opening = _OPENS.search(reply, at)
        if opening is None:
            break
        if not _opens_list(reply, opening.start()):
            at = opening.end()
            continue
        entries, end, cut, is_broken = _entries_from(reply, opening.start())
        if entries is None:
            at = opening.end()
            continue
        found.append((entries, (opening.start(), end), cut, is_broken))
        at = end
    return found


def _opens_list(reply: str, at: int) -> bool:
    """Whether a bracket begins an answer: at the start of a line, behind a key, or behind a colon."""
    before = reply[max(0, at - 24) : at].rstrip(" \t")
    return not before or before[-1] in "\n:=`：{" or before.endswith(ASIDE)


def _entries_from(reply: str, start: int) -> tuple[list[_JsonEntry] | None, int, str | None, bool]:
    """The whole entries of a JSON list, where it ends, and what is left of an entry that was cut off."""
    entries: list[_JsonEntry] = []
    at, is_broken = start + 1, False
    while True:
        at = _skip(reply, at)
        if at >= len(reply):
            return entries, len(reply), "", is_broken
        if reply[at] == "]":
            return entries, at + 1, None, is_broken
        try:
            value, end = _DECODER.raw_decode(reply, at)
        except (ValueError, RecursionError):
            rest = reply[at:]
            is_open = rest[:1] in ('"', "{") and not _closes(rest)
            if is_open:
                return entries, len(reply), rest.strip()[:_CUT_SHOWN], is_broken
            return (entries, len(reply), None, True) if entries else (None, at, None, True)
        entry = _text_of(value)
        if entry is None:
            # A list of numbers or of lists is none of texts.
            return (None, at, None, True) if not entries else (entries, end, None, True)
        if entry:
            entries.append(_JsonEntry(entry, (at, end)))
        at = end


def _skip(reply: str, at: int) -> int:
    while at < len(reply) and (reply[at].isspace() or reply[at] in ",\ufffc"):
        at += 1
    return at


_STRING = lazily(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def _closes(rest: str) -> bool:
    """Whether a text or an object that begins here ends at all."""
    if rest.startswith('"'):
        return _STRING.match(rest) is not None
    return "}" in _STRING.sub("", rest)


def _text_of(value: Any) -> str | None:
    """The text of an entry: the string itself, or the one text of an object; none where it is neither."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        named = [value[key] for key in value if key.lower() in _TEXT_KEYS and isinstance(value[key], str)]
        texts = named or [inner for inner in value.values() if isinstance(inner, str)]
        return texts[0].strip() if len(texts) == 1 or named else None
    return None


# -- lines


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


def _line_list(reply: str, finish: str | None) -> Listing | None:
    """A list with a number or a bullet before each entry; none where no line has one."""
    reader = _LineReader(_lines(reply))
    entries = [entry for entry in reader.entries() if entry.text()]
    if not entries:
        return None
    cut = None
    flags = ["numbering_restarts"] if reader.restarts else []
    if finish == "length" and reader.ends_in_entry:
        cut = entries.pop().text()[:_CUT_SHOWN]
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
    """Whether a quotation goes over several lines. Of two that were never closed, the second opens: it ends nothing."""
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
        """Whether a line without a mark belongs to the entry above it: behind a blank line, if it is indented."""
        indent = len(line.text) - len(line.text.lstrip())
        return line.is_quoted or not after_blank or indent > entry.indent + 1


_MOST_SKIPPED = 3
_CUT_SHOWN = 200


def _add(line: _Line, entries: list[_Entry]) -> None:
    """A line that continues an entry; below a heading that ends with a colon, each bullet is an entry instead."""
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


# -- the entries of a field


class Entry(NamedTuple):
    """One entry of a field that is judged as an element, and what stands before it, for elements that need their context."""

    text: str
    before: FieldValue = ""


def _entries_of(value: FieldValue) -> list[Entry]:
    """The entries of a list; an object is its text. A text is read as a list where it is one, and is otherwise one entry."""
    if isinstance(value, str):
        listing = read_list(value)
        return [
            Entry(text) for text in (listing.entries if listing.status == "ok" else (value,)) if text.strip()
        ]
    return [Entry(text) for entry in value if (text := _entry_text(entry)).strip()]


def _entry_text(entry: str | Message) -> str:
    if isinstance(entry, Message):
        return entry.content
    if entry.startswith("{"):
        try:
            return _text_of(json.loads(entry)) or entry
        except ValueError:
            return entry
    return entry


_ASSISTANT = ("assistant", "ai", "model", "agent")
_BEGINNING = "(nothing: the conversation begins with this turn)"
_LONGEST_RESULT = 2_000


def _turns(value: FieldValue) -> Iterator[tuple[int, int, list[Message]]]:
    """The turns of a conversation: the number of each, the place of its first record, and its records."""
    turns: list[tuple[int, list[Message]]] = []
    for place, entry in enumerate(value if not isinstance(value, str) else ()):
        record = entry if isinstance(entry, Message) else Message("entry", entry)
        if record.continues and turns:
            turns[-1][1].append(record)
        else:
            turns.append((place, [record]))
    for number, (place, records) in enumerate(turns, 1):
        yield number, place, records


def _assistant_turns(value: FieldValue) -> list[Entry]:
    """The turns of the assistant that say something, each with the conversation before it."""
    if isinstance(value, str):
        return [Entry(value, _BEGINNING)]
    entries: list[Entry] = []
    for _, place, records in _turns(value):
        said = [record for record in records if not record.is_thought]
        if records[0].role in _ASSISTANT and any(record.content.strip() for record in said):
            text = "\n".join(record.shown for record in said if record.shown)
            entries.append(Entry(text, value[:place] or _BEGINNING))
    return entries


def _tool_steps(value: FieldValue) -> list[Entry]:
    """The tool calls of an agent, each with its arguments and its result."""
    turns = list(_turns(value))
    results: dict[str, tuple[int, Message]] = {}
    for number, _, records in turns:
        for record in records:
            if record.tool_call_id:
                results.setdefault(record.tool_call_id, (number, record))
    entries = []
    for number, _, records in turns:
        for call in (call for record in records for call in record.tool_calls):
            lines = [f"turn {number} calls {call.name} with", call.arguments or "(no arguments)"]
            at, result = results.get(call.id, (0, None)) if call.id else (0, None)
            if result is not None:
                failed = " (the tool failed)" if result.is_error else ""
                lines += [f"result in turn {at}{failed}:", _shortened(result.shown)]
            entries.append(Entry("\n".join(lines)))
    return entries


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_RESULT:
        return text
    kept = _LONGEST_RESULT // 2
    return f"{text[:kept]}\n[… {len(text) - 2 * kept:,} characters left out …]\n{text[-kept:]}"


ELEMENT_RULES: dict[str, Callable[[FieldValue], list[Entry]]] = {
    "entries": _entries_of,
    "assistant_turns": _assistant_turns,
    "tool_steps": _tool_steps,
}
"""How a field of an item becomes elements, by the name in `rule` of an extract step. A new rule is one entry here."""


# -- places


_EDGES = " \t\n\"'`.,;:!?-…"


def find_place(element: str, text: str, after: int = 0) -> Span | None:
    """Where a text holds an element word for word, the first time behind a place, otherwise the first time at all.

    Case, white space and the marks at its edges do not count. None where it was put into other words.
    """
    words = element.strip(_EDGES).split()
    if not words or len(element) > _LONGEST_PLACE:
        return None
    pattern = re.compile(r"\s+".join(re.escape(word) for word in words), re.I)
    match = pattern.search(text, after) or pattern.search(text)
    return match.span() if match else None


_LONGEST_PLACE = 2_000
