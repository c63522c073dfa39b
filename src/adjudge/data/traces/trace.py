"""One trace as it becomes an item: its messages, its system and its group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from msgspec import structs

from ...records import Message, ToolCall
from ..encoding import BadRowError
from ..messages import conversation, plain

FIELD = "conversation"


class Trace:
    """The messages of one trace, put together from its calls."""

    def __init__(self, trace_id: str, system: str = "", group: str = "") -> None:
        self.id, self.system, self.group = trace_id, system, group
        self.error = ""
        self._entries: list[tuple[str, Message]] = []
        self._tools: list[tuple[str, ToolCall, Message]] = []
        self._given: list[Any] = []

    @property
    def named(self) -> str:
        return f"trace '{self.id:.80}'" if self.id else "trace"

    def add_call(self, at: str, messages: Iterable[Any], outputs: Iterable[Any]) -> None:
        """A model call: its history, of which earlier calls may have had a part, and its answer."""
        records = [
            entry for entry in conversation(FIELD, [*messages, *outputs]) if isinstance(entry, Message)
        ]
        seen = Counter(_key(message) for _, message in self._entries)
        met: Counter[Any] = Counter()
        for message in records:
            key = _key(message)
            met[key] += 1
            if met[key] > seen[key]:
                self._entries.append((at, message))

    def add_tool(self, at: str, call: ToolCall, result: Message) -> None:
        """A tool that ran; it is shown where no model call shows it."""
        self._tools.append((at, call, result))

    def give(self, *messages: Any) -> None:
        """The input and output of the whole, used where no call is known."""
        self._given += messages

    def row(self) -> dict[str, Any]:
        """The trace as a row of an items file."""
        messages = self._messages()
        if not messages:
            messages = [m for m in conversation(FIELD, self._given) if isinstance(m, Message)]
        if not messages:
            raise BadRowError("has no model call, no tool call, no input and no output. Leave it out.")
        users = [
            message.content for message in messages if message.role == "user" and message.content.strip()
        ]
        answers = [
            message.content
            for message in messages
            if message.role == "assistant" and message.content.strip() and not message.is_thought
        ]
        row: dict[str, Any] = {"id": self.id}
        row |= {
            key: value for key, value in (("system", self.system), ("group", self.group)) if value.strip()
        }
        row |= {"task": users[0]} if users else {}
        row |= {"response": answers[-1]} if answers else {}
        row |= {"error": self.error} if self.error else {}
        return row | {FIELD: plain(tuple(messages))}

    def _messages(self) -> list[Message]:
        entries = list(self._entries)
        results = {message.tool_call_id for _, message in entries if message.tool_call_id}
        texts = {message.content for _, message in entries if message.role in ("tool", "function")}
        calls = {(call.name, call.id) for _, message in entries for call in message.tool_calls}
        names = Counter(call.name for _, message in entries for call in message.tool_calls)
        for at, call, result in sorted(self._tools, key=lambda tool: tool[0]):
            if (call.id and call.id in results) or result.content in texts:
                continue
            new = [result]
            if (call.name, call.id) not in calls and not (not call.id and names[call.name]):
                new = [Message("assistant", "", tool_calls=(call,)), result]
            names[call.name] -= 1
            place = next((i for i, (other, _) in enumerate(entries) if other > at), len(entries))
            entries[place:place] = [(at, message) for message in new]
        messages = [message for _, message in entries]
        return [
            structs.replace(message, continues=False)
            if message.continues and (not place or messages[place - 1].role != message.role)
            else message
            for place, message in enumerate(messages)
        ]


def _key(message: Message) -> Any:
    """What makes two messages the same in the histories of two calls: ids of results, otherwise all that is said."""
    if message.tool_call_id:
        return ("result", message.tool_call_id)
    calls = tuple((call.name, call.arguments) for call in message.tool_calls)
    images = tuple(image.sha256 for image in message.images)
    return (message.role, message.content, calls, images, message.is_thought)
