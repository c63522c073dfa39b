"""Writing `protocol.toml`: settings in order, each with a comment where it is a guess.

A small writer for just the values that a protocol has. The standard library reads TOML and does not write
it, and a writer that drops comments would drop the marks for review.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

Value = str | int | float | bool | Sequence[str] | Mapping[str, str | float]

REVIEW = "# REVIEW: "
"""What every guess of an import is marked with."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


class Setting(Struct, frozen=True):
    """One line of a table; `review` says what a person should look at."""

    key: str
    value: Value
    review: str = ""


class Remark(Struct, frozen=True):
    """A line for a person where there is no value to set."""

    review: str


class SettingsTable(Struct, frozen=True):
    """A heading such as `[answer]` (empty for the top) and its lines."""

    heading: str
    lines: Sequence[Setting | Remark]


def toml_text(tables: Iterable[SettingsTable]) -> str:
    """The tables as the text of a TOML file."""
    blocks = []
    for table in tables:
        lines = [table.heading] if table.heading else []
        for line in table.lines:
            if isinstance(line, Remark):
                lines.append(_comment(line.review))
                continue
            comment = f"  {_comment(line.review)}" if line.review else ""
            lines.append(f"{_key(line.key)} = {_value(line.value)}{comment}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _comment(text: str) -> str:
    return REVIEW + _CONTROLS.sub(" ", text)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _value(value: Value) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return "[" + ", ".join(_string(text) for text in value) + "]"


def _string(text: str) -> str:
    # A basic string of TOML is a JSON string, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
