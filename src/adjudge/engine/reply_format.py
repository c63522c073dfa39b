"""The form or JSON schema of a reply, for models whose output can be constrained."""

from __future__ import annotations

import re
from typing import Any

from ..models import Form
from ..records import Protocol, Scale, Subject

_MOST_VALUES = 101


def form_of(protocol: Protocol) -> Form | None:
    """The form of a reply that is not JSON; none where it has several answers or no fixed place for one."""
    answer = protocol.answer
    values = _values(protocol)
    if not values:
        return None
    if answer.reader == "first_line":
        return Form(values, closing="\n", is_first=True)
    if answer.reader == "tag":
        return Form(values, f"<{answer.tag}>", f"</{answer.tag}>")
    if answer.reader == "marker":
        return Form(values, f"{answer.marker} ")
    if answer.reader == "label" and answer.labels:
        return Form(values, f"{answer.labels[0]}: ")
    return None


def _values(protocol: Protocol) -> tuple[str, ...]:
    """All possible answers as they are written; none where there are too many to list."""
    if protocol.task == "compare":
        return tuple(protocol.answer.choices.values())
    if len(protocol.criteria) != 1:
        return ()
    if protocol.answer.options:
        return tuple(protocol.answer.options)
    (scale,) = protocol.criteria.values()
    return tuple(f"{value:g}" for value in scale.values(_MOST_VALUES)) if scale is not None else ()


_KEY = re.compile(r'"([A-Za-z_][\w-]*)"\s*:')


def reply_schema(protocol: Protocol) -> dict[str, Any] | None:
    """The JSON schema of a reply, from the key paths of `[answer]`.

    None where the reply is not JSON, or where the prompt shows keys that no path names: the schema would
    forbid them.
    """
    if protocol.answer.reader != "json":
        return None
    leaves = _leaves(protocol)
    if any("{number}" in key for path in leaves for key in path):
        return None  # how many elements there are differs from call to call
    named = {key for path in leaves for key in path}
    if not set(_KEY.findall(protocol.user_text)) <= named:
        return None
    return _object(leaves, protocol.user_text)


def _leaves(protocol: Protocol) -> dict[tuple[str, ...], dict[str, Any]]:
    """Every key path of the reply with the type of its value."""
    answer = protocol.answer
    leaves: dict[tuple[str, ...], dict[str, Any]] = {}
    for name, scale in protocol.criteria.items():
        if scale is None:
            continue
        score = answer.scores.get(name, answer.score)
        sides: list[Subject | None] = ["a", "b"] if "{subject}" in (score or "") else [None]
        for side in sides:
            options = list(answer.options)
            kind = {"type": "string", "enum": options} if options else _score_type(scale)
            _add(leaves, protocol, score, name, side, kind)
            # The overall score often has no reasons: the criteria have them.
            if name not in answer.scores and not (name == "overall" and answer.choice):
                _add(leaves, protocol, answer.reason, name, side, {"type": "string"})
                _add(
                    leaves,
                    protocol,
                    answer.evidence,
                    name,
                    side,
                    {"type": "array", "items": {"type": "string"}},
                )
                _add(leaves, protocol, answer.confidence, name, side, {"type": "number"})
    words = list(answer.choices.values())
    _add(
        leaves,
        protocol,
        answer.choice,
        "",
        None,
        {"type": "string", "enum": words} if words else {"type": "string"},
    )
    _add(leaves, protocol, answer.choice_confidence, "", None, {"type": "number"})
    for path in answer.notes.values():
        either = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
        _add(leaves, protocol, path, "", None, {"anyOf": either})
    return leaves


def _add(
    leaves: dict[tuple[str, ...], dict[str, Any]],
    protocol: Protocol,
    template: str | None,
    criterion: str,
    side: Subject | None,
    kind: dict[str, Any],
) -> None:
    if template is None:
        return
    subject = protocol.answer.subjects.get(side, side) if side is not None else ""
    path = tuple(template.replace("{criterion}", criterion).replace("{subject}", str(subject)).split("."))
    leaves[path] = kind


def _score_type(scale: Scale) -> dict[str, Any]:
    if scale.step == 1 and scale.low is not None and scale.high is not None:
        return {"type": "integer", "enum": list(range(int(scale.low), int(scale.high) + 1))}
    return {"type": "number"}


def _object(leaves: dict[tuple[str, ...], dict[str, Any]], text: str) -> dict[str, Any]:
    """The nested object of all paths, its keys in the order of the prompt."""
    children: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    for path, kind in leaves.items():
        children.setdefault(path[0], {})[path[1:]] = kind
    ordered = sorted(children, key=lambda key: text.find(f'"{key}"') if f'"{key}"' in text else len(text))
    properties = {
        key: children[key][()] if () in children[key] else _object(children[key], text) for key in ordered
    }
    return {"type": "object", "properties": properties, "required": ordered, "additionalProperties": False}
