"""The JSON schema of a protocol's reply, for models that can be held to one.

Made from the key paths of `[answer]`. Where the prompt shows keys that no path names, the schema would
forbid what the prompt asks for: then there is none.
"""

from __future__ import annotations

import re
from typing import Any

from ..models import Form
from ..records import Protocol, Scale, Subject

# The form of a protocol's reply where it is not JSON, for models that can be held to one.
#
# The same facts as the reader's: what stands before the answer, which answers there are, and what stands behind it.
# None where the reply has several answers or no fixed place for one.


_MOST_VALUES = 101


def form_of(protocol: Protocol) -> Form | None:
    """The form of the whole reply; none where there is no single one."""
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
    """The answers that there are, as they are written; none where that is no short list."""
    if protocol.task == "compare":
        return tuple(protocol.answer.choices.values())
    if len(protocol.criteria) != 1:
        return ()
    (scale,) = protocol.criteria.values()
    return _levels(scale) if scale is not None else ()


def _levels(scale: Scale) -> tuple[str, ...]:
    if scale.low is None or scale.high is None or not scale.step:
        return ()
    count = round((scale.high - scale.low) / scale.step) + 1
    return tuple(f"{scale.low + n * scale.step:g}" for n in range(count)) if count <= _MOST_VALUES else ()


_KEY = re.compile(r'"([A-Za-z_][\w-]*)"\s*:')


def schema_of(protocol: Protocol) -> dict[str, Any] | None:
    """The schema of the whole reply; none where the reply is not JSON or has parts that we do not know."""
    if protocol.answer.reader != "json":
        return None
    leaves = _leaves(protocol)
    named = {key for path in leaves for key in path}
    if not set(_KEY.findall(protocol.user_text)) <= named:
        return None
    return _object(leaves, protocol.user_text)


def _leaves(protocol: Protocol) -> dict[tuple[str, ...], dict[str, Any]]:
    """Every path of the reply with the type of what stands there."""
    answer = protocol.answer
    leaves: dict[tuple[str, ...], dict[str, Any]] = {}
    for name, scale in protocol.criteria.items():
        if scale is None:
            continue
        score = answer.scores.get(name, answer.score)
        sides: list[Subject | None] = ["a", "b"] if "{subject}" in (score or "") else [None]
        for side in sides:
            _add(leaves, protocol, score, name, side, _score_type(scale))
            # The overall score often stands alone: its reasons are those of the criteria.
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
    """The nested object of these paths, its keys in the order in which the prompt shows them."""
    children: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    for path, kind in leaves.items():
        children.setdefault(path[0], {})[path[1:]] = kind
    ordered = sorted(children, key=lambda key: text.find(f'"{key}"') if f'"{key}"' in text else len(text))
    properties = {
        key: children[key][()] if () in children[key] else _object(children[key], text) for key in ordered
    }
    return {"type": "object", "properties": properties, "required": ordered, "additionalProperties": False}
