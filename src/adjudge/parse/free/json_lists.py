"""A JSON list of texts in a reply, or of objects that each hold one."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ...lazy_patterns import lazily
from ...records import How, Listing
from ..text.own_voice import ASIDE, Span

CUT_SHOWN = 200
"""How much of an entry that was cut off is kept, in characters."""

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


class _JsonEntry(NamedTuple):
    text: str
    span: Span


_OPENS = lazily(r"\[\s*+(?=[\"{\]])")
_DECODER = json.JSONDecoder(strict=False)


def json_list(reply: str) -> Listing | None:
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
                return entries, len(reply), rest.strip()[:CUT_SHOWN], is_broken
            return (entries, len(reply), None, True) if entries else (None, at, None, True)
        entry = text_of_entry(value)
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


def text_of_entry(value: Any) -> str | None:
    """The text of an entry: the string itself, or the one text of an object; none where it is neither."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        named = [value[key] for key in value if key.lower() in _TEXT_KEYS and isinstance(value[key], str)]
        texts = named or [inner for inner in value.values() if isinstance(inner, str)]
        return texts[0].strip() if len(texts) == 1 or named else None
    return None
