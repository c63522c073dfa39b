"""The prompt cache of a provider: which beginning of a prompt it should keep, and what that saves.

The beginning that the calls of one protocol share is found from the calls themselves. A host charges more
for what it puts into its cache (a write) and much less for what it finds there, so one call writes while
others are sent without a mark; they are marked once a reply shows that the beginning is kept. Nothing here is
part of a call's key: a reply does not depend on it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from msgspec import Struct

from ..records import Call

READ_PRICE, WRITE_PRICE = 0.1, 1.25
"""As shares of the price of other input tokens; the same with Anthropic and OpenAI."""

LEAST_CHARACTERS = 3_000
"""Hosts keep beginnings of 1,024 tokens or more, some of 512; what is shorter is neither kept nor charged."""

_KEPT_SECONDS = 240.0
"""A host forgets a beginning five minutes after its last use."""
_WRITE_SECONDS = 60.0
"""A write that is not answered by then is not waited for."""
_MOST_IN_VAIN = 3
"""After so many marked calls that neither wrote nor read, nothing is marked any more."""


class _Beginning(Struct):
    """What the calls of one kind have begun with so far."""

    text: str
    has_differed: bool = False
    """whether calls with different prompts were seen: before that, no one knows what they share"""
    kept_until: float = -math.inf
    writing_until: float = -math.inf
    in_vain: int = 0


class PromptCache:
    """The beginnings of one model's calls."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beginnings: dict[tuple[object, ...], _Beginning] = {}
        self.tokens_read = 0
        self.saved_usd = 0.0

    def shared(self, call: Call, prompt: str) -> int:
        """How many characters all calls of this kind begin with; 0 where they are too few."""
        kind = _kind(call)
        known = self._beginnings.get(kind)
        if known is None:
            self._beginnings[kind] = _Beginning(prompt)
            return 0
        if not known.has_differed and prompt == known.text:
            return 0
        known.has_differed = True
        if not prompt.startswith(known.text):
            known.text = _common_beginning(known.text, prompt)
        return len(known.text) if len(known.text) >= LEAST_CHARACTERS else 0

    def may_mark(self, call: Call) -> bool:
        """Whether to mark the beginning: in the call that writes it, and in those that will find it."""
        known, now = self._beginnings[_kind(call)], self._clock()
        if known.in_vain >= _MOST_IN_VAIN or (now > known.kept_until and now < known.writing_until):
            return False
        if now > known.kept_until:
            known.writing_until = now + _WRITE_SECONDS
        return True

    def note(self, call: Call, read: int, written: int) -> None:
        """Record what a reply says of the cache."""
        self.tokens_read += read
        known = self._beginnings.get(_kind(call))
        if known is None:
            return
        if read > 0 or written > 0:
            known.kept_until, known.in_vain = self._clock() + _KEPT_SECONDS, 0
        elif known.writing_until > self._clock():
            known.in_vain += 1
            known.writing_until = -math.inf


def _common_beginning(first: str, second: str) -> str:
    """Found by halving: prompts are long, and differ late."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[:middle] == second[:middle] else (low, middle - 1)
    return first[:low]


def _kind(call: Call) -> tuple[object, ...]:
    return call.protocol, call.criteria, call.order, call.kind, call.step
