"""One trace as it becomes an item: its messages, its documents, its system and its group."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import structs

from ...records import Message, ToolCall
from ..encoding import BadRowError
from ..messages import conversation, plain, written

FIELD = "conversation"
_FIRST, _LAST = "", "\uffff"
"""Times before and after all others."""


class Trace:
    """The messages of one trace, put together from its calls."""

    def __init__(self, trace_id: str, system: str = "", group: str = "") -> None:
        self.id, self.system, self.group = trace_id, system, group
        self.error = ""
        self.is_conversation = True
        """whether a model, an agent, a tool or a retriever took part in it"""
        self.n_silent = 0
        """model and tool calls without contents"""
        self.task: str | None = None
        """what the whole was given, where that is one text; otherwise the first message of the user"""
        self.response: str | None = None
        """what the whole returned, where that is one text; otherwise the last answer"""
        self.tools: list[Any] = []
        self.more: dict[str, Any] = {}
        """further fields of the item"""
        self.searched = ""
        """where contents were looked for, for a trace without any"""
        self._entries: list[tuple[str, Message]] = []
        self._tool_runs: list[tuple[str, ToolCall, Message]] = []
        self._given: tuple[Sequence[Any], Sequence[Any]] = ((), ())
        self._documents: list[str] = []
        self._ranked: list[str] = []

    @property
    def named(self) -> str:
        return f"trace '{self.id:.80}'" if self.id else "trace"

    def add_call(self, at: str, messages: Iterable[Any], outputs: Iterable[Any]) -> None:
        """A model call: its history, of which earlier calls may have had a part, and its answer."""
        _extend(self._entries, at, _messages([*messages, *outputs]))

    def add_tool(self, at: str, call: ToolCall, result: Message) -> None:
        """A tool that ran; it is shown where no model call shows it."""
        self._tool_runs.append((at, call, result))

    def add_documents(self, documents: Iterable[str], *, is_ranked: bool) -> None:
        """Passages that were retrieved, or brought into another order."""
        kept = self._ranked if is_ranked else self._documents
        kept += [document for document in documents if document not in kept]

    def give(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """The input and output of the whole, shown where no model call is known."""
        self._given = inputs, outputs

    def row(self) -> dict[str, Any]:
        """The trace as a row of an items file."""
        messages = self._all_messages()
        context = self._ranked or self._documents
        if not messages and not context:
            raise BadRowError(f"has no messages, no tool call, no input and no output. {self.searched}.")
        task = self.task or next((m.content for m in messages if m.role == "user" and m.content.strip()), "")
        response = self.response or next((m.content for m in reversed(messages) if _is_answer(m)), "")
        texts = {
            "system": self.system,
            "group": self.group,
            "task": task,
            "response": response,
            "error": self.error,
        }
        row: dict[str, Any] = {"id": self.id, **{key: text for key, text in texts.items() if text.strip()}}
        row |= {"context": context} if context else {}
        row |= {"tools": [written(tool) for tool in self.tools]} if self.tools else {}
        return row | self.more | {FIELD: plain(tuple(messages))}

    def _all_messages(self) -> list[Message]:
        entries = list(self._entries)
        if not entries:
            inputs, outputs = self._given
            _extend(entries, _FIRST, _messages(inputs))
            _extend(entries, _LAST, _messages(outputs))
        messages = [message for _, message in self._with_tool_runs(entries)]
        return [
            structs.replace(message, continues=False)
            if message.continues and (not place or messages[place - 1].role != message.role)
            else message
            for place, message in enumerate(messages)
        ]

    def _with_tool_runs(self, entries: list[tuple[str, Message]]) -> list[tuple[str, Message]]:
        """The entries with the tools that no model call shows, in their place."""
        results = {message.tool_call_id for _, message in entries if message.tool_call_id}
        texts = {message.content for _, message in entries if message.role in ("tool", "function")}
        calls = {(call.name, call.id) for _, message in entries for call in message.tool_calls}
        names = Counter(call.name for _, message in entries for call in message.tool_calls)
        for at, call, result in sorted(self._tool_runs, key=lambda tool: tool[0]):
            if (call.id and call.id in results) or result.content in texts:
                continue
            new = [result]
            if (call.name, call.id) not in calls and not (not call.id and names[call.name]):
                new = [Message("assistant", "", tool_calls=(call,)), result]
            names[call.name] -= 1
            place = next((i for i, (other, _) in enumerate(entries) if other > at), len(entries))
            entries[place:place] = [(at, message) for message in new]
        return entries


def _messages(entries: list[Any] | Sequence[Any]) -> list[Message]:
    """The messages in a list; an entry that is none is a problem, so that nothing disappears in silence."""
    records = conversation(FIELD, list(entries))
    other = next((record for record in records if isinstance(record, str)), None)
    if other is not None:
        raise BadRowError(
            f"has an entry between its messages that is none: {other:.80}. Give it a role and a content."
        )
    return [record for record in records if isinstance(record, Message)]


def _extend(entries: list[tuple[str, Message]], at: str, messages: Iterable[Message]) -> None:
    """Add the messages that the entries do not have yet: a call repeats the history of earlier ones."""
    seen = Counter(_key(message) for _, message in entries)
    met: Counter[Any] = Counter()
    for message in messages:
        key = _key(message)
        met[key] += 1
        if met[key] > seen[key]:
            entries.append((at, message))


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and bool(message.content.strip()) and not message.is_thought


def _key(message: Message) -> Any:
    """What makes two messages the same in the histories of two calls: ids of results, otherwise all that is
    said."""
    if message.tool_call_id:
        return ("result", message.tool_call_id)
    calls = tuple((call.name, _normal(call.arguments)) for call in message.tool_calls)
    images = tuple(image.sha256 for image in message.images)
    return (message.role, message.content, calls, images, message.is_thought)


def _normal(arguments: str) -> str:
    """Arguments without their spaces: a framework writes those of the model anew."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
