"""The elements of a field that are judged one by one: entries of a list, turns of a conversation, tool
calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..records import FieldValue, Message
from .free.json_lists import text_of_entry
from .free.lists import read_list


class ElementEntry(NamedTuple):
    """One entry of a field that is judged as an element, and what
    stands before it, for elements that need their context.
    """

    text: str
    before: FieldValue = ""


def _entries_of(value: FieldValue) -> list[ElementEntry]:
    """The entries of a list; an object is its text. A text is
    read as a list where it is one, and is otherwise one entry.
    """
    if isinstance(value, str):
        listing = read_list(value)
        return [
            ElementEntry(text)
            for text in (listing.entries if listing.status == "ok" else (value,))
            if text.strip()
        ]
    return [ElementEntry(text) for entry in value if (text := _entry_text(entry)).strip()]


def _entry_text(entry: str | Message) -> str:
    if isinstance(entry, Message):
        return entry.content
    if entry.startswith("{"):
        try:
            return text_of_entry(json.loads(entry)) or entry
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


def _assistant_turns(value: FieldValue) -> list[ElementEntry]:
    """The turns of the assistant that say something, each with the conversation before it."""
    if isinstance(value, str):
        return [ElementEntry(value, _BEGINNING)]
    entries: list[ElementEntry] = []
    for _, place, records in _turns(value):
        said = [record for record in records if not record.is_thought]
        if records[0].role in _ASSISTANT and any(record.content.strip() for record in said):
            text = "\n".join(record.shown for record in said if record.shown)
            entries.append(ElementEntry(text, value[:place] or _BEGINNING))
    return entries


def _tool_steps(value: FieldValue) -> list[ElementEntry]:
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
            entries.append(ElementEntry("\n".join(lines)))
    return entries


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_RESULT:
        return text
    kept = _LONGEST_RESULT // 2
    return f"{text[:kept]}\n[… {len(text) - 2 * kept:,} characters left out …]\n{text[-kept:]}"


ELEMENT_RULES: dict[str, Callable[[FieldValue], list[ElementEntry]]] = {
    "entries": _entries_of,
    "assistant_turns": _assistant_turns,
    "tool_steps": _tool_steps,
}
"""How a field of an item becomes elements, by the name in
`rule` of an extract step. A new rule is one entry here.
"""
