"""Token counts: those that a host states, as far as they can be true, and estimates where none is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..records import Message
from ..render import estimated_tokens

TOKENS_PER_IMAGE = 1_500
"""What providers charge for an image of a common size."""


def estimated_prompt(messages: Sequence[Message]) -> int:
    """About how many tokens a prompt has, images included."""
    return sum(
        estimated_tokens(message.content) + 4 + TOKENS_PER_IMAGE * len(message.images) for message in messages
    )


MOST_ADDED_TOKENS = 50_000
"""The most tokens that a host may plausibly add to a prompt: templates, its own instructions."""


MOST_HIDDEN_TOKENS = 500_000
"""The most tokens of thinking that a host may plausibly count and not send."""


IMPLAUSIBLE = -1
"""Stands for a token count that is no number of tokens."""


TOKENS_PER_BYTE = 0.5
"""For the token rate limit, until the model's counts are known: more than any real text has."""


def token_count(value: Any) -> int:
    """A count in the usage of a reply; 0 where there is none, `IMPLAUSIBLE` where it is no number of
    tokens."""
    if value is None:
        return 0
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else IMPLAUSIBLE
