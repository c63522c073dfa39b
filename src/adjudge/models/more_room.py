"""The retry of a reply that was cut off before its answer: once, with a larger token limit (--more-room)."""

from __future__ import annotations

from msgspec.structs import replace

from ..records import Reply
from ..render import estimated_tokens
from .base import Parameters

_FACTOR = 4
_LEAST = 4096


def larger_limit(reply: Reply, params: Parameters, max_tokens: int | None) -> int | None:
    """The token limit of the retry of a reply that had the limit `max_tokens`; none where it needs none."""
    if reply.finish != "length" or not params.more_room:
        return None
    is_empty = not reply.text.strip()
    if is_empty and max_tokens is None:
        return None  # the model's own limit is used up by thinking
    if not is_empty and (params.is_cut_off is None or not params.is_cut_off(reply)):
        return None
    limit = max_tokens or reply.tokens_out or estimated_tokens(reply.text)
    return max(limit * _FACTOR, _LEAST)


def was_retried(reply: Reply, params: Parameters) -> bool:
    """Whether a reply that is stored was retried already: it is longer than the limit that it first had."""
    limit = params.max_tokens
    return reply.tokens_out >= _LEAST if limit is None else reply.tokens_out > limit


def with_cut_off(reply: Reply, cut_off: Reply) -> Reply:
    """The reply with the tokens and cost of the one before it, which was cut off."""
    cost, earlier = reply.cost_usd, cut_off.cost_usd
    return replace(
        reply,
        tokens_in=reply.tokens_in + cut_off.tokens_in,
        tokens_out=reply.tokens_out + cut_off.tokens_out,
        cost_usd=None if cost is None or earlier is None else cost + earlier,
    )
