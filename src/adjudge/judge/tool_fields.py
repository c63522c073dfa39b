"""The words of other tools for judged texts, as the fields of a judge's item.

A tool's input is the task, its output the response, what it expects the reference. An object that has inputs
of the protocol by name gives these; any other is shown as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..records import Protocol

_NAMES = {
    "task": ("inputs", "input"),
    "response": ("outputs", "output", "actual_output"),
    "reference": ("expectations", "expected_output"),
    "context": ("retrieval_context",),
    "conversation": ("turns",),
}
"""Input → what MLflow, deepeval and the platforms call it."""

_WRAPPED = "test_case"


def tool_fields(protocol: Protocol, **given: Any) -> dict[str, Any]:
    """The fields of `task`, `response`, `reference`, …, where the protocol takes them and they are given."""
    row: dict[str, Any] = {}
    for name, value in given.items():
        names = [key for key in value if _takes(protocol, key)] if isinstance(value, Mapping) else ()
        if names:
            row |= {key: _text(value[key]) for key in names}
        elif value is not None and _takes(protocol, name):
            row[name] = _text(value)
    return row


def fields_of_tool(protocol: Protocol, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object with a tool's names; other names stay."""
    inner = fields.get(_WRAPPED)
    row = {**{key: value for key, value in fields.items() if key != _WRAPPED}, **inner} if (
        isinstance(inner, Mapping)
    ) else dict(fields)  # fmt: skip
    given = {
        name: row.pop(word)
        for name, words in _NAMES.items()
        for word in words
        if word in row and not _takes(protocol, word)
    }
    return {**tool_fields(protocol, **given), **row}


def _takes(protocol: Protocol, name: str) -> bool:
    inputs = (*protocol.inputs, *protocol.optional, *protocol.at_least_one)
    return any(name in protocol.synonyms(known) for known in inputs)


def _text(value: Any) -> Any:
    """A text as it is; a list of texts or messages too; anything else as JSON."""
    if isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(part, str | Mapping) for part in value)
    ):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
