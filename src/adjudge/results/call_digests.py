"""Digests that show whether two runs made the same calls of an item, and read the same from each reply."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from ..records import PART_KINDS
from ..store import Judged

JudgeKey = tuple[str, str]
"""protocol and model"""

_WORD = 1 << 64


def call_digests(calls: Sequence[Judged]) -> dict[JudgeKey, int | None]:
    """The digest of all calls of one item by each protocol and model; none where one has no reply.

    Equal digests mean the same calls (texts, prompt, judge, settings) and the same reading of each reply.
    """
    digests: dict[JudgeKey, int | None] = {}
    for call in calls:
        key = (call.about.protocol, call.about.model)
        # The reply to a second question is part of the judgment of the first reply.
        is_read = call.judgment is not None or call.about.kind in PART_KINDS
        before = digests.get(key, 0)
        if before is None or not is_read or call.error is not None:
            digests[key] = None
            continue
        # A sum, because two runs may make their calls in different orders.
        digests[key] = (before + _digest(call)) % _WORD
    return {key: None if total is None else _signed(total) for key, total in digests.items()}


def _digest(call: Judged) -> int:
    content = msgspec.json.encode((call.call, call.about, call.judgment))
    return int.from_bytes(blake2b(content, digest_size=8).digest())


def _signed(number: int) -> int:
    """The same 64 bits as an integer that a database can hold."""
    return number - _WORD if number >= _WORD // 2 else number
