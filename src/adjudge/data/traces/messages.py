"""Messages in the forms of OpenAI, Anthropic, LangChain and OpenTelemetry."""

from __future__ import annotations

from typing import Any

from ..json_rows import Row
from ..messages import is_message, written
from .values import object_of, parsed, text_of

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "model": "assistant",
}
_CLASSES = {
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "ChatMessage": "user",
}


def answers_of(response: Row) -> list[Any]:
    """The message in a response: of chat completions, of the Responses API, or Anthropic's."""
    if isinstance(response.get("choices"), list):
        return [
            message_of(choice["message"])
            for choice in response["choices"][:1]
            if isinstance(object_of(choice).get("message"), dict)
        ]
    if isinstance(response.get("output"), list):
        return [message_of(entry) for entry in response["output"]]
    if isinstance(response.get("content"), list | str) and "role" in response:
        return [{"role": response["role"], "content": response["content"]}]
    if isinstance(response.get("output"), str):
        return [{"role": "assistant", "content": response["output"]}]
    return []


def message_of(entry: object) -> Any:
    """A message in a form that `conversation` reads; what is no message stays as it is."""
    if not isinstance(entry, dict):
        return entry
    if isinstance(entry.get("kwargs"), dict) and isinstance(entry.get("id"), list):
        inner, name = entry["kwargs"], str(entry["id"][-1]).removesuffix("Chunk")
        role = _ROLES.get(name) or _CLASSES.get(name) or text_of(inner.get("role")) or name
        return _chained({**inner, "role": role})
    if isinstance(entry.get("data"), dict) and isinstance(entry.get("type"), str):
        return _chained({**entry["data"], "role": _ROLES.get(entry["type"], entry["type"])})
    if "role" not in entry and isinstance(entry.get("type"), str) and "content" in entry:
        return _chained({**entry, "role": _ROLES.get(entry["type"], entry["type"])})
    if isinstance(entry.get("parts"), list):
        role = text_of(entry.get("role")) or "assistant"
        return {"role": _ROLES.get(role, role), "content": [part_of(part) for part in entry["parts"]]}
    return _chained(entry) if "role" in entry else entry


def _chained(message: Row) -> Row:
    """A message with the tool calls that LangChain keeps beside the content, once."""
    extra = object_of(message.get("additional_kwargs"))
    calls = message.get("tool_calls") or extra.get("tool_calls")
    content = message.get("content")
    if calls and isinstance(content, list):
        # The content of some providers repeats the calls.
        content = [
            part
            for part in content
            if not str(object_of(part).get("type", "")).endswith(("tool_use", "tool_call"))
        ]
    message = {
        **message,
        "role": _ROLES.get(text_of(message.get("role")), message.get("role")),
        "content": content,
    }
    message["content"] = "" if content in ([], None) and (calls or message["role"] == "tool") else content
    if message.get("status") == "error":
        message["is_error"] = True
    return {**message, "tool_calls": calls} if calls else {**message, "tool_calls": []}


def part_of(part: object) -> Any:
    """A part of an OpenTelemetry message as a part of a content list."""
    if not isinstance(part, dict):
        return part
    kind, content = part.get("type"), part.get("content")
    if kind == "text":
        return {"type": "text", "text": text_of(content if content is not None else part.get("text"))}
    if kind == "reasoning":
        return {"type": "thinking", "thinking": text_of(content)}
    if kind == "tool_call":
        return {
            "type": "tool_use",
            "id": part.get("id"),
            "name": part.get("name"),
            "input": parsed(part.get("arguments")),
        }
    if kind == "tool_call_response":
        result = part.get("response", part.get("result"))
        return {"type": "tool_result", "tool_use_id": part.get("id"), "content": written(parsed(result))}
    if kind == "blob" and part.get("modality", "image") == "image":
        source = {
            "type": "base64",
            "media_type": text_of(part.get("mime_type")),
            "data": content or part.get("data"),
        }
        return {"type": "image", "source": source}
    if kind == "uri" and part.get("modality", "image") == "image":
        return {"type": "image_url", "image_url": {"url": part.get("uri")}}
    return part


def messages_in(value: object, role: str) -> list[Any]:
    """The messages in an input or output of a call: a list of them, one, a wrapper around them, or a text."""
    value = parsed(value)
    if isinstance(value, list):
        flat = [inner for entry in value for inner in (entry if isinstance(entry, list) else [entry])]
        messages = [message_of(entry) for entry in flat]
        return messages if any(is_message(message) for message in messages) else _said(role, value)
    if not isinstance(value, dict):
        return _said(role, value)
    for key in ("messages", "input", "output", "inputs", "outputs"):
        if isinstance(value.get(key), list | dict):
            return messages_in(value[key], role)
    if isinstance(value.get("generations"), list):
        return _generated(value["generations"])
    if isinstance(value.get("choices"), list):
        return answers_of(value)
    message = message_of(value.get("message") if isinstance(value.get("message"), dict) else value)
    if is_message(message):
        return [message]
    texts = [
        value[key]
        for key in ("input", "output", "text", "content", "question", "answer", "query")
        if isinstance(value.get(key), str)
    ]
    if len(texts) == 1:
        return _said(role, texts[0])
    return _said(role, value) if value else []


def _generated(generations: list[Any]) -> list[Any]:
    """The first message that a LangChain model generated."""
    first: Any = generations
    while isinstance(first, list) and first:
        first = first[0]
    message = message_of(object_of(first).get("message"))
    if is_message(message):
        return [message]
    return _said("assistant", object_of(first).get("text"))


def _said(role: str, value: object) -> list[Any]:
    text = written(value) if value is not None else ""
    return [{"role": role, "content": text}] if text.strip() else []
