"""What a value in a table is as a field of an item: a text, a list of texts, or a transcript.

Pure. A value that cannot be shown to a judge without losing something is a `BadRowError`; null means
that there is no value, everywhere.
"""

from __future__ import annotations

from ..records import FieldValue, Message
from .json_rows import Row, json_text
from .lines import BadRowError


def fields_of(row: Row) -> dict[str, FieldValue]:
    """All values of a row as fields; absent ones are left out."""
    for value in row.values():
        if type(value) is not str:
            break
    else:
        return row  # texts alone, as most rows: nothing to convert
    return {name: field_value(name, value) for name, value in row.items() if value is not None}


def field_value(name: str, value: object) -> FieldValue:
    """One value, which is not null, as a field."""
    if isinstance(value, list):
        return tuple(
            _entry(name, place, entry) for place, entry in enumerate(value, start=1) if entry is not None
        )
    return scalar_text(value) if not isinstance(value, dict) else _json(name, value)


def scalar_text(value: object) -> str:
    """A text, number or truth value as text, as it is written in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _entry(name: str, place: int, value: object) -> str | Message:
    if isinstance(value, dict) and "role" in value and "content" in value:
        return _message(name, place, value)
    return _json(name, value) if isinstance(value, dict | list) else scalar_text(value)


def _message(name: str, place: int, entry: Row) -> Message:
    where = f"message {place} of field '{name:.80}'"
    role, content = entry["role"], entry["content"]
    if type(role) is not str or not role:
        raise BadRowError(f'{where} has no role. Give it one, such as "user" or "assistant".')
    for call in ("tool_calls", "function_call"):
        if entry.get(call):
            raise BadRowError(
                f"{where} has '{call}', which a transcript does not show. Write the call into its content."
            )
    if isinstance(content, list):
        return Message(role, "".join(_part(where, part) for part in content))
    if content is None or isinstance(content, dict):
        raise BadRowError(f"{where} has no text as content. Give the text, or remove the message.")
    return Message(role, scalar_text(content))


def _part(where: str, part: object) -> str:
    if isinstance(part, str):
        return str(part)
    if (
        not isinstance(part, dict)
        or not isinstance(part.get("text"), str)
        or part.get("type", "text") != "text"
    ):
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        raise BadRowError(
            f"{where} has a part of type '{kind}'. Only text parts can be judged: describe the part in words, "
            "or remove it."
        )
    return str(part["text"])


def _json(name: str, value: object) -> str:
    try:
        return json_text(value)
    except RecursionError:
        raise BadRowError(
            f"field '{name:.80}' is nested too deeply. Flatten it, or give it as a text."
        ) from None
