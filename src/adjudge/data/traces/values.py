"""Values of a trace's JSON as text and as objects."""

from __future__ import annotations

import json

from ..json_rows import Row
from ..messages import scalar_text


def text_of(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else scalar_text(value)


def object_of(value: object) -> Row:
    return value if isinstance(value, dict) else {}


def parsed(value: object) -> object:
    """A value that may be JSON inside a text, as spans hold it."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value, parse_float=str, parse_int=str)
        except (ValueError, RecursionError):
            return value
    return value
