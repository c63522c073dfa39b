"""Messages inside items: the shapes of OpenAI, Anthropic and LangChain as one record, with tool calls and
images.

A list of messages is a conversation. What a judge could not be shown without loss (audio, files, an unknown
part) is a `BadRowError`, so that nothing disappears in silence. Knows nothing of files, prompts or providers'
requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from msgspec import structs

from ..records import FieldValue, Image, Message, ToolCall
from ..untrusted import has_control, safe
from .encoding import BadRowError
from .images import image_of
from .json_rows import Row, json_text
from .langchain import chain_message

MOST_IMAGES = 20
"""Images in one field."""


ROLE_LIMIT = 100


_TEXT_PARTS = ("text", "input_text", "output_text", "summary_text")


_THOUGHTS = ("thinking", "reasoning", "redacted_thinking")


_HIDDEN_THOUGHT = "(thinking that the provider has encrypted)"


_OWN_KEYS = ("is_error", "is_thought", "continues")


def conversation(name: str, entries: list[Any]) -> tuple[str | Message, ...]:
    """A list as a field: its messages as records, other entries as text. `name` is the field, for
    problems."""
    entries = _with_roles(entries)
    has_messages = any(is_message(entry) or _is_loose(entry) for entry in entries)
    records: list[str | Message] = []
    for index, entry in enumerate(entries, start=1):
        if entry is None:
            continue
        where = f"message {index} of field '{name:.80}'"
        if is_message(entry):
            records += _records(where, entry)
        elif has_messages and isinstance(entry, dict) and (loose := _loose_reader(entry)):
            records += loose(where, entry)
        elif isinstance(entry, dict | list):
            records.append(nested_json(name, entry))
        else:
            records.append(scalar_text(entry))
    n_images = sum(len(record.images) for record in records if isinstance(record, Message))
    if n_images > MOST_IMAGES:
        raise BadRowError(
            f"field '{name:.80}' has {n_images} images; at most {MOST_IMAGES} are sent to a judge. Remove"
            " some."
        )
    return _settled(records)


def _with_roles(entries: list[Any]) -> list[Any]:
    """The entries, those in a form of LangChain as messages with a role.

    Pairs of role and text are messages only where the whole list consists of messages.
    """
    if all((isinstance(entry, dict) and "role" in entry) or isinstance(entry, str) for entry in entries):
        return entries
    known = [entry if is_message(entry) else chain_message(entry) for entry in entries]
    if None not in known:
        return known
    return [
        entry if message is None or isinstance(entry, list) else message
        for entry, message in zip(entries, known, strict=True)
    ]


def is_message(entry: object) -> bool:
    """Whether an entry of a list is a message: it has a role, and a content or tool calls."""
    return (
        isinstance(entry, dict)
        and "role" in entry
        and ("content" in entry or bool(entry.get("tool_calls")) or bool(entry.get("function_call")))
    )


def scalar_text(value: object) -> str:
    """A text, number or boolean as text, as JSON writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def nested_json(name: str, value: object) -> str:
    """A list or an object as JSON text."""
    try:
        return json_text(value)
    except RecursionError:
        raise BadRowError(
            f"field '{name:.80}' is nested too deeply. Flatten it, or give it as a text."
        ) from None


def _settled(records: list[str | Message]) -> tuple[str | Message, ...]:
    """The records as they are kept: a conversation of texts alone has roles and texts and nothing else.

    Names and ids mean something only beside tool calls; without them, prompts stay as they always were.
    """
    messages = [record for record in records if isinstance(record, Message)]
    if any(m.images or m.tool_calls or m.is_error or m.is_thought or m.continues for m in messages):
        return tuple(records)
    return tuple(
        Message(record.role, record.content) if isinstance(record, Message) else record for record in records
    )


def _records(where: str, entry: Row) -> list[Message]:
    """The records of one message: one, or several where texts, images and tool calls come in another
    order."""
    role = _role(where, entry["role"])
    turn = _Turn(where, role, _own(entry))
    content = entry.get("content")
    calls = entry.get("tool_calls") or []
    if not isinstance(calls, list):
        raise BadRowError(f"{where}: 'tool_calls' is not a list. Give a list of calls.")
    if entry.get("function_call"):
        calls = [*calls, {"function": entry["function_call"]}]
    thought = entry.get("reasoning_content") or entry.get("reasoning")
    if isinstance(thought, str):
        turn.think(thought)
    if isinstance(content, list):
        for part in content:
            turn.add_part(part)
    elif isinstance(content, dict) or (content is None and not calls):
        raise BadRowError(f"{where} has no text as content. Give the text, or remove the message.")
    elif content is not None:
        turn.say(scalar_text(content))
    for call in calls:
        turn.call(_call(where, call))
    if isinstance(entry.get("refusal"), str) and not content:
        turn.say(entry["refusal"])
    return turn.finished(_short(entry.get("name")), _short(entry.get("tool_call_id")))


def _own(entry: Row) -> dict[str, bool]:
    """What a record that this program wrote says besides."""
    return {key: True for key in _OWN_KEYS if entry.get(key) is True}


def _role(where: str, role: object) -> str:
    if type(role) is not str or not role.strip():
        raise BadRowError(f'{where} has no role. Give it one, such as "user" or "assistant".')
    if has_control(role) or len(role) > ROLE_LIMIT:
        raise BadRowError(
            f"{where} has the role '{safe(role[:40])}'. A role is one short word, "
            'such as "user" or "assistant", without line breaks.'
        )
    return role


def _short(value: object) -> str:
    """A name or an id; what is not a text or a number is left out, since it identifies nothing."""
    return value if isinstance(value, str) else ""


class _Turn:
    """Gathers the pieces of one message, in their order."""

    def __init__(self, where: str, role: str, own: Mapping[str, bool]) -> None:
        self._where, self._role, self._own = where, role, own
        self._records: list[Message] = []

    def say(self, text: str) -> None:
        last = self._records[-1] if self._records else None
        if last is None or last.images or last.tool_calls or last.is_thought or last.role != self._role:
            self._append(Message(self._role, text))
        else:
            self._records[-1] = structs.replace(last, content=last.content + text)

    def think(self, text: str) -> None:
        self._append(Message(self._role, text, is_thought=True))

    def show(self, image: Image) -> None:
        last = self._records[-1] if self._records else None
        if last is None or last.tool_calls or last.is_thought or last.role != self._role:
            self._append(Message(self._role, "", images=(image,)))
        else:
            self._records[-1] = structs.replace(last, images=(*last.images, image))

    def call(self, call: ToolCall) -> None:
        last = self._records[-1] if self._records else None
        if last is None or last.is_thought or last.role != self._role:
            self._append(Message(self._role, "", tool_calls=(call,)))
        else:
            self._records[-1] = structs.replace(last, tool_calls=(*last.tool_calls, call))

    def _append(self, message: Message) -> None:
        continues = bool(self._records) and self._records[-1].role == message.role
        self._records.append(structs.replace(message, continues=continues))

    def add_part(self, part: object) -> None:
        """Add one part of a content that comes in parts."""
        if isinstance(part, str):
            self.say(str(part))
            return
        kind = part.get("type", "text") if isinstance(part, dict) else type(part).__name__
        if not isinstance(part, dict) or not isinstance(kind, str):
            self._refuse(str(kind))
        if kind in _TEXT_PARTS and isinstance(part.get("text"), str):
            self.say(part["text"])
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            self.say(part["refusal"])
        elif kind in _THOUGHTS:
            self.think(_thought(part))
        elif kind in ("image_url", "input_image", "image"):
            self.show(image_of(self._where, part))
        elif kind.endswith("tool_use") or kind == "tool_call":
            self.call(_call(self._where, part))
        elif kind.endswith("tool_result"):
            self._result(part)
        else:
            self._refuse(kind)

    def _result(self, part: Row) -> None:
        """A tool's result that Anthropic puts into a message of the user: a turn of the tool."""
        answers = _short(part.get("tool_use_id") or part.get("tool_call_id"))
        text, images = _result_content(self._where, part.get("content"))
        is_error = part.get("is_error") is True
        self._records.append(Message("tool", text, images, (), answers, is_error=is_error))

    def _refuse(self, kind: str) -> NoReturn:
        raise BadRowError(
            f"{self._where} has a part of type '{safe(kind[:40])}', which cannot be judged. Texts, images,"
            " tool calls and tool results can: describe the part in words, or remove it."
        )

    def finished(self, name: str, tool_call_id: str) -> list[Message]:
        """The records; the name and the id belong to the first one."""
        records = self._records or [Message(self._role, "")]
        first = records[0]
        if first.role == self._role:
            first = structs.replace(first, name=name, tool_call_id=tool_call_id or first.tool_call_id)
        return [structs.replace(first, **self._own), *records[1:]]


def _thought(part: Row) -> str:
    for key in ("thinking", "reasoning", "text", "content"):
        if isinstance(part.get(key), str):
            return str(part[key])
    summary = part.get("summary")
    texts = (
        [entry.get("text") for entry in summary if isinstance(entry, dict)]
        if isinstance(summary, list)
        else []
    )
    return "\n".join(text for text in texts if isinstance(text, str)) or _HIDDEN_THOUGHT


def _call(where: str, call: object) -> ToolCall:
    """One call, in the forms of OpenAI (`function`), Anthropic (`input`) and LangChain (`args`)."""
    if not isinstance(call, dict):
        raise BadRowError(f"{where} has a tool call that is not an object. Give its name and arguments.")
    inner = next((call[key] for key in ("function", "custom") if isinstance(call.get(key), dict)), call)
    name = inner.get("name")
    if not isinstance(name, str) or not name.strip():
        raise BadRowError(f"{where} has a tool call without a name. Give the name of the tool.")
    arguments = next((inner[key] for key in ("arguments", "input", "args") if key in inner), None)
    # An entry of the Responses API has both; results refer to the second.
    call_id = call.get("call_id") or call.get("id")
    return ToolCall(name, written(arguments), call_id if isinstance(call_id, str) else "")


def written(value: object) -> str:
    """Arguments or a result as text: a text as it is, anything else as JSON."""
    if value is None:
        return ""
    return nested_json("arguments", value) if isinstance(value, dict | list) else scalar_text(value)


def _result_content(where: str, content: object) -> tuple[str, tuple[Image, ...]]:
    """The text and the images of a tool's result; what is neither is shown as JSON."""
    if not isinstance(content, list):
        return written(content), ()
    texts: list[str] = []
    images: list[Image] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("image", "image_url", "input_image"):
            images.append(image_of(where, part))
        elif kind in _TEXT_PARTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            texts.append(written(part))
    return "\n".join(texts), tuple(images)


def _loose_call(where: str, entry: Row) -> Iterator[Message]:
    yield Message("assistant", "", tool_calls=(_call(where, entry),))


def _loose_result(where: str, entry: Row) -> Iterator[Message]:
    text, images = _result_content(where, entry.get("output"))
    yield Message("tool", text, images, (), _short(entry.get("call_id")))


def _loose_thought(_where: str, entry: Row) -> Iterator[Message]:
    yield Message("assistant", _thought(entry), is_thought=True)


_OUTCOMES = ("output", "outputs", "results", "result", "error")
_NOT_ARGUMENTS = (*_OUTCOMES, "type", "id", "status", "name", "call_id", "server_label")


def _hosted_call(where: str, entry: Row) -> Iterator[Message]:
    """A tool that the provider ran itself (`web_search_call`, `mcp_call`), and its result where it is
    given."""
    name = entry.get("name") or str(entry["type"]).removesuffix("_call")
    inner = {key: value for key, value in entry.items() if key not in _NOT_ARGUMENTS and value is not None}
    arguments = inner["arguments"] if list(inner) == ["arguments"] else inner
    call_id = _short(entry.get("call_id") or entry.get("id"))
    call = _call(where, {"name": name, "arguments": arguments, "id": call_id})
    yield Message("assistant", "", tool_calls=(call,))
    outcome = next((entry[key] for key in _OUTCOMES if entry.get(key) is not None), None)
    if outcome is not None:
        text, images = _result_content(where, outcome)
        is_error = entry.get("output") is None and bool(entry.get("error"))
        yield Message("tool", text, images, (), call_id, is_error=is_error)


def _loose_reader(entry: Row) -> Callable[[str, Row], Iterator[Message]] | None:
    """How an entry without a role is read; none where it is no call, result or thought."""
    kind = str(entry.get("type"))
    return _LOOSE.get(kind) or (_hosted_call if kind.endswith("_call") and "id" in entry else None)


def _is_loose(entry: object) -> bool:
    """Whether an entry is a tool call or its result, which no other list has in this form."""
    return isinstance(entry, dict) and "call_id" in entry and str(entry.get("type")) in _LOOSE


_LOOSE: dict[str, Callable[[str, Row], Iterator[Message]]] = {
    "function_call": _loose_call,
    "custom_tool_call": _loose_call,
    "function_call_output": _loose_result,
    "custom_tool_call_output": _loose_result,
    "reasoning": _loose_thought,
}
"""Entries of OpenAI's Responses API that stand between messages and have no role."""


def plain(value: FieldValue) -> str | list[Any]:
    """A field as it is written to a JSON file; read again, it is the same."""
    if isinstance(value, str):
        return value
    return [_plain_message(entry) if isinstance(entry, Message) else entry for entry in value]


def _plain_message(message: Message) -> dict[str, Any]:
    row: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        texts = [{"type": "text", "text": message.content}] if message.content else []
        row["content"] = [*texts, *(_plain_image(image) for image in message.images)]
    if message.tool_calls:
        row["tool_calls"] = [
            {
                **({"id": call.id} if call.id else {}),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    row |= {key: value for key in ("tool_call_id", "name", *_OWN_KEYS) if (value := getattr(message, key))}
    return row


def _plain_image(image: Image) -> dict[str, Any]:
    if not image.is_known:
        return {"type": "image", "sha256": image.sha256, "size": image.size, "media_type": image.media_type}
    url = image.address or f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}
