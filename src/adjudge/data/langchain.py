"""Messages as LangChain writes them, as messages with a role: `dumpd`, `dumps`, `messages_to_dict`,
`model_dump` and pairs of role and text.

Knows nothing of files and traces. What is not a message of LangChain is none.
"""

from __future__ import annotations

import json
from typing import Any

from .json_rows import Row

ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}
"""LangChain's (and Gemini's) names of roles → the usual ones."""

_CLASSES = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "ChatMessage": "user",
}
_TYPES = {"human", "ai", "system", "tool", "function", "chat", "developer"}
_PAIR_ROLES = {"human", "ai", "user", "assistant", "system", "tool", "developer"}


def chain_message(entry: object) -> Row | None:
    """The message in one of LangChain's forms; none where the entry is something else."""
    if isinstance(entry, list):
        is_pair = len(entry) == 2 and all(isinstance(part, str) for part in entry) and entry[0] in _PAIR_ROLES
        return {"role": ROLES.get(entry[0], entry[0]), "content": entry[1]} if is_pair else None
    if not isinstance(entry, dict) or ("role" in entry and "kwargs" not in entry):
        return None
    if isinstance(entry.get("kwargs"), dict) and isinstance(entry.get("id"), list) and entry["id"]:
        return _constructed(str(entry["id"][-1]), entry["kwargs"])
    kind = entry.get("type")
    if isinstance(entry.get("data"), dict) and "content" in entry["data"] and _role(kind):
        return usual({**entry["data"], "role": _role_of(kind, entry["data"])})
    if "content" in entry and _role(kind) and (kind in ("human", "ai") or "additional_kwargs" in entry):
        return usual({**entry, "role": _role_of(kind, entry)})
    return None


def chain_messages(value: Row) -> list[Any] | None:
    """The messages of an object that holds nothing else: a graph's state, a prompt's value, one message."""
    inner = value.get("kwargs")
    if isinstance(inner, dict) and isinstance(inner.get("messages"), list) and "lc" in value:
        value = {"messages": inner["messages"]}
    if list(value) == ["messages"] and isinstance(value["messages"], list):
        return value["messages"]
    message = chain_message(value) if "lc" in value else None
    return [message] if message is not None else None


_HEAD = 100


def messages_in_text(text: str, is_any: bool = False) -> list[Any]:
    """The messages that a JSON text holds, where it holds nothing else: those that LangChain's `dumps` wrote,
    or with `is_any` those of any form; none otherwise."""
    if text[:1] not in ("[", "{") or not (is_any or '"lc"' in text[:_HEAD]):
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    entries = chain_messages(value) if isinstance(value, dict) else value
    return entries if entries and all(_is_message(entry) for entry in entries) else []


def _is_message(entry: object) -> bool:
    if isinstance(entry, dict) and isinstance(entry.get("role"), str):
        return "content" in entry or "tool_calls" in entry
    return chain_message(entry) is not None


def _constructed(name: str, inner: Row) -> Row | None:
    """A message from the name of its class, as `dumpd` writes it."""
    role = _CLASSES.get(name.removesuffix("Chunk"))
    if role is None or "content" not in inner:
        return None
    return usual({**inner, "role": inner.get("role") or role})


def _role(kind: object) -> str:
    """The role that a type stands for; empty where it is no type of a message."""
    if not isinstance(kind, str):
        return ""
    name = kind.removesuffix("Chunk")
    if name in _CLASSES:
        return _CLASSES[name]
    return ROLES.get(kind, "tool" if kind == "function" else kind) if kind in _TYPES else ""


def _role_of(kind: object, inner: Row) -> object:
    """A message of type `chat` names its role itself."""
    return inner["role"] if kind == "chat" and inner.get("role") else _role(kind).replace("chat", "user")


def usual(message: Row) -> Row:
    """A message with the tool calls that LangChain keeps beside the content, once."""
    extra = message.get("additional_kwargs")
    # Calls whose arguments are not JSON are listed apart.
    lists = (message.get("tool_calls"), message.get("invalid_tool_calls"))
    listed = [call for calls in lists if isinstance(calls, list) for call in calls]
    calls = listed or (extra.get("tool_calls") if isinstance(extra, dict) else None)
    content = message.get("content")
    if calls and isinstance(content, list):
        # The content of some providers repeats the calls.
        content = [part for part in content if not _is_call(part)]
    role = message.get("role")
    role = ROLES.get(role, role) if isinstance(role, str) else role
    if content in ([], None) and (calls or role == "tool"):
        content = ""
    message = {**message, "role": role, "content": content, "tool_calls": calls or []}
    return {**message, "is_error": True} if message.get("status") == "error" else message


def _is_call(part: object) -> bool:
    return isinstance(part, dict) and str(part.get("type", "")).endswith(("tool_use", "tool_call"))
