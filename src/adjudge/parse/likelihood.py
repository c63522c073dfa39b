"""GPTScore: from the log-probabilities of a given text to a score, and to what must be seen beside it.

The score is the mean log-probability of the target's tokens after the prompt (Fu et al. 2023, with equal
weights); of two targets that are each asked given the other, the mean of the two. It is partly a signal of copying and of length, so the judgment carries both, and the likelihood that
the text has without any prompt: a reader of the score can see when a baseline does as well. Nothing is
generated here and nothing is searched for in a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from ..records import FieldValue, Item, Judgment, Message, Protocol, Reply, Scale, Score, Status, TokenLogprob
from .numbers import number_at
from .text import lazily, narrow

# The expected score: what a judge would have given, weighted by how likely each value was.
#
# G-Eval's estimator (Liu et al. 2023): the sum of value times probability over the values of the scale, at
# the tokens where the score stands, divided by the mass that these values caught. The score is found by its
# place in the text, never by looking for a digit. Spellings of one value (" 4", "4", "４", "四") are one value.
# A "10" in two tokens is followed where it was written; where it was not, the mass of "1" is left uncaught
# rather than counted as 1.


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


_WORD = lazily(r"[぀-ヿ㐀-鿿]|[^\W_]+", re.UNICODE)
"""Words; a character each in scripts that are written without spaces between them."""


class _Beside(msgspec.Struct):
    """What a model that computes likelihoods may say in the text of its reply."""

    unconditional: float | None = None
    parts: tuple[int, ...] = ()
    """how many of the tokens belong to each target, where there are two"""


_decode = msgspec.json.Decoder(_Beside).decode


def read_likelihood(protocol: Protocol, item: Item | None, reply: Reply) -> Judgment:
    """The mean log-probability as the score of every criterion, with its baselines as notes."""
    beside = _said_beside(reply)
    value = _mean_of_targets(protocol, beside, reply.logprobs or ())
    # Not `unparsed`: there is no reply that could be asked for once more.
    status: Status = "no_reply" if value is None else "ok"
    scores = tuple(
        Score(
            name,
            status,
            value=value,
            how="likelihood" if value is not None else None,
            estimator="likelihood",
        )
        for name in protocol.criteria
    )
    notes = _notes(beside, reply)
    if item is not None and protocol.answer.target is not None:
        notes |= baselines(protocol, item)
    return Judgment(scores=scores, call=reply.call, notes=notes)


def mean_logprob(tokens: tuple[TokenLogprob, ...]) -> float | None:
    """The mean; none without tokens, or where a number among them is no log-probability."""
    if not tokens or not all(-math.inf < token.logprob <= 0.0 for token in tokens):
        return None
    return math.fsum(token.logprob for token in tokens) / len(tokens)


def _mean_of_targets(protocol: Protocol, beside: _Beside, tokens: tuple[TokenLogprob, ...]) -> float | None:
    """The mean of the targets' means: a long source must not drown the response that it is asked with."""
    n_targets = (protocol.answer.target or "").count(",") + 1
    if n_targets == 1:
        return mean_logprob(tokens)
    if len(beside.parts) != n_targets or sum(beside.parts) != len(tokens):
        return None
    means, start = [], 0
    for count in beside.parts:
        means.append(mean_logprob(tokens[start : start + count]))
        start += count
    known = [mean for mean in means if mean is not None]
    return math.fsum(known) / n_targets if len(known) == n_targets else None


def _said_beside(reply: Reply) -> _Beside:
    try:
        return _decode(reply.text) if reply.text else _Beside()
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _Beside()


def _notes(beside: _Beside, reply: Reply) -> dict[str, str]:
    notes = {"tokens": str(len(reply.logprobs or ()))}
    alone = beside.unconditional
    if alone is not None and math.isfinite(alone):
        notes["unconditional_logprob"] = f"{alone:.6f}"
    return notes


def baselines(protocol: Protocol, item: Item) -> dict[str, str]:
    """What costs nothing and must be beaten: the judged text's length, and how much of it is copied.

    Where the source is asked given the response, it is the response that is judged.
    """
    target = _judged_input(protocol)
    judged = protocol.field_for(target, item.fields)
    words = words_of(_text(item.fields[judged] if judged is not None else ""))
    fields = (
        protocol.field_for(name, item.fields)
        for name in (*protocol.inputs, *protocol.optional)
        if name != target
    )
    others = [name for name in fields if name is not None]
    source = words_of("\n".join(_text(item.fields[name]) for name in others))
    notes = {"words": str(len(words))}
    share = copied_bigrams(words, source)
    if share is not None:
        notes["copied_bigrams"] = f"{share:.6f}"
    return notes


def _judged_input(protocol: Protocol) -> str:
    """The input that is judged: the first target, or the one that stands before a source that is asked."""
    first = (protocol.answer.target or "").partition(",")[0].strip()
    shown = [name for name in protocol.inputs if name != first]
    return shown[0] if first.startswith("source") and len(shown) == 1 else first


def copied_bigrams(words: list[str], source: list[str]) -> float | None:
    """The share of a text's pairs of neighbouring words that stand in the source, too; none without a pair."""
    pairs = list(pairwise(words))
    if not pairs:
        return None
    known = set(pairwise(source))
    return sum(pair in known for pair in pairs) / len(pairs)


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case, without punctuation."""
    return _WORD.findall(text.lower())


def _text(value: FieldValue) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(entry.content if isinstance(entry, Message) else entry for entry in value)
