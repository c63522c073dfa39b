"""The expected score: what a judge would have given, weighted by how likely each value was.

G-Eval's estimator (Liu et al. 2023): the sum of value times probability over the values of the scale, at
the tokens where the score stands, divided by the mass that these values caught. The score is found by its
place in the text, never by looking for a digit. Spellings of one value (" 4", "4", "４", "四") are one value.
A "10" in two tokens is followed where it was written; where it was not, the mass of "1" is left uncaught
rather than counted as 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..records import Scale, TokenLogprob
from .numbers.number import number_at
from .text.characters import narrow

LEAST_CAUGHT_MASS = 0.5
"""With less than this on the scale's own values, the expectation says nothing about the judge."""


class Expected(NamedTuple):
    """An expected value with the distribution it comes from (which sums to `caught_mass`)."""

    value: float
    distribution: dict[float, float]
    caught_mass: float


def expected_score(span: tuple[int, int], logprobs: Sequence[TokenLogprob], scale: Scale) -> Expected | None:
    """The expected value at the tokens that hold `span` of the reply; none where they caught no value."""
    at = _token_at(span[0], logprobs)
    if at is None:
        return None
    index, offset = at
    token = logprobs[index]
    lead = token.token[:offset]
    following = logprobs[index + 1] if index + 1 < len(logprobs) else None
    mass: dict[float, float] = {}
    for text, logprob in _alternatives(token):
        digits = _after_lead(text, lead)
        if digits is None:
            continue
        probability = math.exp(logprob)
        for value, share in _values(digits, scale, following if text == token.token else None, token):
            mass[value] = mass.get(value, 0.0) + probability * share
    caught = sum(mass.values())
    if caught <= 0:
        return None
    mean = sum(value * share for value, share in mass.items()) / caught
    # Rounding must not put the mean beyond the values that it is a mean of.
    return Expected(max(min(mass), min(max(mass), mean)), mass, caught)


def _token_at(start: int, logprobs: Sequence[TokenLogprob]) -> tuple[int, int] | None:
    """The token in which the score begins, and how far into it. White space may lead a token."""
    position = 0
    for index, token in enumerate(logprobs):
        if position <= start < position + len(token.token):
            return index, start - position
        position += len(token.token)
    return None


def _alternatives(token: TokenLogprob) -> list[tuple[str, float]]:
    """All tokens known for this place, the written one among them, each once."""
    known = {top.token: top.logprob for top in token.top}
    known.setdefault(token.token, token.logprob)
    return list(known.items())


def _after_lead(text: str, lead: str) -> str | None:
    """The value part of a token, without the white space or signs that the written one began with."""
    if lead.strip() and not text.startswith(lead):
        return None
    body = text.removeprefix(lead) if lead.strip() else text
    body = narrow(body).strip()
    return body or None


def _values(
    written: str, scale: Scale, following: TokenLogprob | None, token: TokenLogprob
) -> list[tuple[float, float]]:
    """The values on the scale that a token may begin, with the share of its mass that each gets."""
    number = number_at(written, 0)
    if number is None:
        return []
    value = number.value
    longer = [digit for digit in range(10) if _is_on(value * 10 + digit, scale)]
    is_digits = written.isascii() and written.isdigit()
    # Where the model has the longer number as one token, the short one is only itself.
    if (
        not is_digits
        or not longer
        or any(_is_number(text, value * 10 + d) for text, _ in _alternatives(token) for d in longer)
    ):
        return [(value, 1.0)] if _is_on(value, scale) else []
    if following is None:
        return []
    shares: dict[float, float] = {}
    for text, logprob in _alternatives(following):
        rest = narrow(text)
        digit = rest[:1]
        goes_on = digit.isascii() and digit.isdigit()
        meant = value * 10 + int(digit) if goes_on else value
        if _is_on(meant, scale) and not (goes_on and rest[1:2].isdigit()):
            shares[meant] = shares.get(meant, 0.0) + math.exp(logprob)
    return list(shares.items())


def _is_number(text: str, value: float) -> bool:
    written = narrow(text).strip()
    return written.isascii() and written.isdigit() and float(written) == value


def _is_on(value: float, scale: Scale) -> bool:
    return scale.status_of(value) == "ok"
