"""TOML as tables, in a time that grows with the length of the text: Python's parser takes minutes for one key
of 400,000 parts, which a stranger's protocol, rubric, map or run file may hold.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

_MOST_PARTS = 50
"""Parts of a dotted key. Ours have three at most."""

_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""'
    r"|'''.*?'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|[A-Za-z0-9_-]+"
    r"|[ \t]+"
    r"|[^\w\"'\#. \t-]+"
    r"|.",
    re.DOTALL,
)
"""Texts, comments, parts of keys, spaces, other signs. A dot is a separate token."""

_OF_KEYS = re.compile(r"[A-Za-z0-9_\-\"' \t]")
"""How a token begins that may stand in a dotted key."""


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. `TOMLDecodeError`, a `ValueError`, says what is wrong with it, and where."""
    n_dots = 0
    for token in _TOKEN.finditer(text):
        if token[0] == ".":
            n_dots += 1
            if n_dots >= _MOST_PARTS:
                line = text.count("\n", 0, token.start()) + 1
                column = token.start() - text.rfind("\n", 0, token.start())
                raise tomllib.TOMLDecodeError(
                    f"A key of more than {_MOST_PARTS} parts (at line {line}, column {column})"
                )
        elif not _OF_KEYS.match(token[0]):
            n_dots = 0
    return tomllib.loads(text)
