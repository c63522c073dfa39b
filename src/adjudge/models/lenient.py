"""JSON as servers really send it: strict where it can be, lenient where it must.

Servers send infinities for tokens that cannot be, and cut texts through the middle of a character. Pure;
knows no format. What is not JSON at all stays unread.
"""

from __future__ import annotations

import json
from math import inf, isfinite
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

LEAST_LOGPROB = -9999.0
"""What stands for minus infinity, which JSON does not have. OpenAI writes the same number."""


def decode_slowly(body: bytes, kind: type[T]) -> T | None:
    """The value in a body that the strict decoder refused; none where it holds no such value."""
    try:
        return msgspec.convert(_cleaned(json.loads(body)), kind, strict=False)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors, as are those of UTF-8
        return None


def _cleaned(value: Any) -> Any:
    """The value in strict JSON: a replacement character for half a surrogate pair, null for NaN."""
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, list):
        return [_cleaned(entry) for entry in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return LEAST_LOGPROB if value == -inf else None
    return value
