"""JSON as a person reviews it: an estimate is one line, and of entries that are built alike the first is
shown.

The values of the others are in the text that the same command prints on a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any

from shortened import shortened

WIDTH = 160
"""A value that fits into so many columns stands on one line."""


class Rounded(float):
    """A number with nine digits: sums in another order are not another output."""

    def __repr__(self) -> str:
        return "0.0" if abs(self) < 1e-12 else repr(float(f"{float(self):.9g}"))


def json_text(text: str) -> str:
    return _lines(without_repeats(json.loads(text, parse_float=Rounded))) + "\n"


def without_repeats(value: Any) -> Any:
    """The value without those entries of its lists and objects that have the shape of an earlier one beside
    them."""
    if isinstance(value, dict):
        return _object_without_repeats(value)
    if not isinstance(value, list) or len(_line(value)) <= WIDTH or all(map(is_plain, value)):
        return value
    firsts: dict[Hashable, Any] = {}
    for entry in value:
        firsts.setdefault(shape(entry), entry)
    left_out = len(value) - len(firsts)
    shown = [without_repeats(entry) for entry in firsts.values()]
    return [*shown, f"… {left_out} more like these"] if left_out else shown


def _object_without_repeats(value: dict[str, Any]) -> dict[str, Any]:
    firsts: dict[Hashable, str] = {}
    shown: dict[str, Any] = {}
    for key, entry in value.items():
        first = firsts.setdefault(shape(entry), key) if is_nested(entry) else key
        shown[key] = without_repeats(entry) if first == key else f"… like {first}"
    return shown


def is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list) or not value


def is_nested(value: Any) -> bool:
    """Whether this is an object that holds further ones: an estimate, which is one line, is not."""
    return isinstance(value, dict) and not all(map(is_plain, value.values()))


def shape(value: Any) -> Hashable:
    """The keys of a value, each with whether it holds further ones; which plain values are null does not
    matter."""
    if is_plain(value):
        return "plain"
    if isinstance(value, list):
        return frozenset(map(shape, value))
    return tuple((key, is_nested(entry)) for key, entry in value.items())


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(value: Any, indent: str = "") -> str:
    """JSON in its order of keys; an inner object of plain values is one line."""
    if is_plain(value):
        return _plain(value)
    inner = indent + " "
    if isinstance(value, dict):
        ends, entries = "{}", list(value.values())
        parts = [f"{_line(key)}: {_lines(entry, inner)}" for key, entry in value.items()]
    else:
        ends, entries = "[]", value
        parts = [_lines(entry, inner) for entry in value]
    line = ", ".join(parts)
    is_short = len(line) < WIDTH and "\n" not in line
    if is_short or (indent and all(map(is_plain, entries))):
        return f"{ends[0]}{line}{ends[1]}"
    body = f",\n{inner}".join(parts)
    return f"{ends[0]}\n{inner}{body}\n{indent}{ends[1]}"


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return _line(shortened(value))
    return repr(value) if isinstance(value, float) else json.dumps(value)
