"""Messages in the inputs and outputs of traced calls: requests and responses of providers, LangChain,
OpenTelemetry, texts."""

from __future__ import annotations

from typing import Any

from ..json_rows import Row
from ..langchain import ROLES, chain_message, usual
from ..messages import is_message, written
from .values import first_of, list_of, object_of, parsed, text_of


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
    entry = parsed(entry)
    chained = chain_message(entry)
    if chained is not None:
        return chained
    if not isinstance(entry, dict):
        return entry
    if isinstance(entry.get("parts"), list):
        role = text_of(entry.get("role")) or "assistant"
        return {"role": ROLES.get(role, role), "content": [content_part(part) for part in entry["parts"]]}
    if "role" not in entry and "content" in entry and entry.get("type") in ("system", "tool"):
        return usual({**entry, "role": entry["type"]})
    return usual(entry) if "role" in entry else entry


def content_part(part: object) -> Any:
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
        return _messages_in_list(value, role)
    if not isinstance(value, dict):
        return _said(role, value)
    for key in ("messages", "input", "output", "inputs", "outputs"):
        if isinstance(value.get(key), list | dict):
            return [*_instructions(value, role), *messages_in(value[key], role)]
    if isinstance(value.get("generations"), list):
        return _generated(value["generations"])
    if isinstance(value.get("choices"), list):
        return answers_of(value)
    message = message_of(value.get("message") if isinstance(value.get("message"), dict) else value)
    if is_message(message):
        return [message]
    text = only_text(value)
    return [*_instructions(value, role), *_said(role, text if text is not None else value or None)]


def _messages_in_list(values: list[Any], role: str) -> list[Any]:
    """The messages of a list, or of the first list inside it, as LangChain has them; definitions of tools are
    none."""
    is_batch = bool(values) and isinstance(values[0], list) and chain_message(values[0]) is None
    entries = values[0] if is_batch else values
    messages = [message_of(entry) for entry in entries if not _is_tool_definition(entry)]
    is_known = any(is_message(message) or _is_call(message) for message in messages)
    return messages if is_known else _said(role, values or None)


def _is_call(entry: object) -> bool:
    """Whether an entry is a tool call or a result of the Responses API, which has no role."""
    return isinstance(entry, dict) and text_of(entry.get("type")).endswith(("_call", "_call_output"))


def _instructions(request: Row, role: str) -> list[Any]:
    """The system text beside the messages of a request."""
    system = first_of(request, ("system", "instructions")) if role == "user" else None
    return [{"role": "system", "content": system}] if isinstance(system, str | list) and system else []


def _is_tool_definition(entry: object) -> bool:
    """Whether an entry between messages defines a tool: Langfuse's handler for LangChain lists them so."""
    return object_of(object_of(entry).get("content")).get("type") == "function"


def tools_in(value: object) -> list[Any]:
    """The definitions of tools in a request, or between its messages."""
    value = parsed(value)
    if isinstance(value, dict):
        return [tool for tool in list_of(value.get("tools")) if isinstance(tool, dict)]
    return [entry["content"] for entry in list_of(value) if _is_tool_definition(entry)]


def _generated(generations: list[Any]) -> list[Any]:
    """The first message that a LangChain model generated."""
    first: Any = generations
    while isinstance(first, list) and first:
        first = first[0]
    message = message_of(object_of(first).get("message"))
    if is_message(message):
        return [message]
    return _said("assistant", object_of(first).get("text"))


_TEXT_KEYS = (
    "input", "output", "text", "content", "question", "answer", "query", "prompt", "response", "result",
    "user_input",
    "completion",
)  # fmt: skip


def only_text(value: object) -> str | None:
    """The one text in an input or output; none where there are several, or none."""
    value = arguments_of(parsed(value))
    if isinstance(value, str):
        return text_of(value) if value.strip() else None
    if not isinstance(value, dict):
        return None
    # A number, which is kept as it was written, is a `str` too, and no text.
    texts = {key: entry for key, entry in value.items() if type(entry) is str}
    if len(value) == 1 and texts:
        return next(iter(texts.values()))
    known = [texts[key] for key in _TEXT_KEYS if key in texts]
    return known[0] if len(known) == 1 else None


def arguments_of(value: object) -> Any:
    """The arguments of a traced function, without the wrappers `input` and `args` with `kwargs`."""
    value = parsed(value)
    if not isinstance(value, dict):
        return value
    if (
        set(value) == {"args", "kwargs"}
        and isinstance(value["args"], list)
        and isinstance(value["kwargs"], dict)
    ):
        positional, named = value["args"], value["kwargs"]
        if not positional:
            return named
        return positional[0] if len(positional) == 1 and not named else value
    if len(value) == 1 and "input" in value:
        return parsed(value["input"])
    return value


def _said(role: str, value: object) -> list[Any]:
    text = written(value) if value is not None else ""
    return [{"role": role, "content": text}] if text.strip() else []
