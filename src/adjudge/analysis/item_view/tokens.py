"""The tokens at the position of a score, with their probabilities."""

from __future__ import annotations

import math

from ...records import Reply, TokenLogprob
from .views import Span, TokenView

_MOST_ALTERNATIVES = 8
"""Tokens listed at the position of a score."""


def tokens_at(span: Span | None, reply: Reply | None) -> tuple[TokenView, ...]:
    """The token where a score begins, with its alternatives."""
    if span is None or reply is None or not reply.logprobs:
        return ()
    start = 0
    for token in reply.logprobs:
        if start <= span[0] < start + len(token.token):
            return _alternatives(token)
        start += len(token.token)
    return ()


def _alternatives(token: TokenLogprob) -> tuple[TokenView, ...]:
    logprobs = {top.token: top.logprob for top in token.top}
    logprobs.setdefault(token.token, token.logprob)
    by_likelihood = sorted(logprobs.items(), key=lambda pair: -pair[1])[:_MOST_ALTERNATIVES]
    return tuple(
        TokenView(text, _probability(logprob), text == token.token) for text, logprob in by_likelihood
    )


def tokens_of_target(reply: Reply) -> tuple[TokenView, ...]:
    return tuple(TokenView(token.token, _probability(token.logprob), True) for token in reply.logprobs or ())


def _probability(logprob: float) -> float:
    # A few hosts report rounding errors above 0.
    return min(1.0, math.exp(logprob)) if logprob > -700 else 0.0
