"""Reads the bodies of responses: JSON that the strict decoder refuses, and streams of events."""

from __future__ import annotations

import json
from math import inf, isfinite
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


LEAST_LOGPROB = -9999.0
"""Stands for minus infinity, which JSON does not have. OpenAI uses the same number."""


def decode_leniently(body: bytes, kind: type[T]) -> T | None:
    """Decode a body that the strict decoder refused; none where it holds no such value.

    Servers send infinite log-probabilities, and texts that are cut in the middle of a character.
    """
    try:
        return msgspec.convert(_cleaned(json.loads(body)), kind, strict=False)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors, as are those of UTF-8
        return None


def _cleaned(value: Any) -> Any:
    """The value as strict JSON: a replacement character for half a surrogate pair, null for NaN."""
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


def streamed(body: bytes) -> list[bytes] | None:
    """The data of each event in a body that is a stream of server-sent events; none where it is something
    else."""
    if not body[:200].lstrip().startswith((b"data:", b"event:", b":")):
        return None
    events, data = [], []
    for line in [*body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), b""]:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            events.append(b"\n".join(data))
            data = []
    return events
