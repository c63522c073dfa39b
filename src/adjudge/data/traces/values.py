"""Values of a trace's JSON: as text, as objects, JSON inside texts, and keys with dots as nested objects."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..json_rows import Row, WrittenNumber
from ..messages import scalar_text


def text_of(value: object) -> str:
    """A value as a plain text, also a number that is kept as it was written."""
    return "" if value is None else value if type(value) is str else scalar_text(value)


def object_of(value: object) -> Row:
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def parsed(value: object) -> Any:
    """A value that may be JSON inside a text, as spans hold it."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value, parse_float=WrittenNumber, parse_int=WrittenNumber)
        except (ValueError, RecursionError):
            return value
    return value


def unquoted(value: object) -> Any:
    """A value that is always JSON inside a text, as MLflow keeps attributes: texts have quotes, too."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_float=WrittenNumber, parse_int=WrittenNumber)
    except (ValueError, RecursionError):
        return value


def first_of(value: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """The first of these keys that has a value; none where no key has one."""
    return next((value[key] for key in keys if value.get(key) is not None), None)


def nested(value: Any) -> Any:
    """Keys with dots as objects inside objects, and objects whose keys are all numbers as lists."""
    if isinstance(value, list):
        return [nested(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    tree: Row = {}
    for key, entry in value.items():
        *path, last = str(key).split(".")
        place = tree
        for part in path:
            inner = place.get(part)
            if not isinstance(inner, dict):
                inner = place[part] = {}
            place = inner
        place[last] = entry
    if tree and all(key.isdecimal() for key in tree):
        return [nested(tree[key]) for key in sorted(tree, key=lambda key: (len(key), key))]
    return {key: nested(entry) for key, entry in tree.items()}


def indexed(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """The entries of `prefix.0.…`, `prefix.1.…`, or of the list at `prefix` itself, with nested keys."""
    whole = parsed(attributes.get(prefix))
    if isinstance(whole, list):
        return list_of(nested(whole))
    start = f"{prefix}."
    return list_of(
        nested({key[len(start) :]: value for key, value in attributes.items() if key.startswith(start)})
    )


def hex_id(value: object) -> str:
    """An id of a trace or span; one that protobuf wrote as base64 becomes the hexadecimal that tools show."""
    text = text_of(value).removeprefix("0x")
    if len(text) in (12, 24) and text.endswith("="):
        try:
            return base64.b64decode(text, validate=True).hex()
        except binascii.Error:
            return text
    return text
