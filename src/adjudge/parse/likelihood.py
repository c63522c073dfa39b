"""GPTScore: from the log-probabilities of a given text to a score, and to what must be seen beside it.

The score is the mean log-probability of the target's tokens after the prompt (Fu et al. 2023, with equal
weights). It is partly a signal of copying and of length, so the judgment carries both, and the likelihood that
the text has without any prompt: whoever reads the score can see when a baseline does as well. Nothing is
generated here and nothing is searched for in a text.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

import msgspec

from ..records import FieldValue, Item, Judgment, Message, Protocol, Reply, Score, Status, TokenLogprob

_WORD = re.compile(r"[぀-ヿ㐀-鿿]|[^\W_]+", re.UNICODE)
"""Words; a character each in scripts that are written without spaces between them."""


class _Beside(msgspec.Struct):
    """What a model that computes likelihoods may say in the text of its reply."""

    unconditional: float | None = None


_decode = msgspec.json.Decoder(_Beside).decode


def read_likelihood(protocol: Protocol, item: Item | None, reply: Reply) -> Judgment:
    """The mean log-probability as the score of every criterion, with its baselines as notes."""
    value = mean_logprob(reply.logprobs or ())
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
    notes = _beside(reply)
    if item is not None and protocol.answer.target is not None:
        notes |= baselines(protocol, item)
    return Judgment(scores=scores, call=reply.call, notes=notes)


def mean_logprob(tokens: tuple[TokenLogprob, ...]) -> float | None:
    """The mean; none without tokens, or where a number among them is no log-probability."""
    if not tokens or not all(-math.inf < token.logprob <= 0.0 for token in tokens):
        return None
    return math.fsum(token.logprob for token in tokens) / len(tokens)


def _beside(reply: Reply) -> dict[str, str]:
    notes = {"tokens": str(len(reply.logprobs or ()))}
    try:
        alone = _decode(reply.text).unconditional if reply.text else None
    except (msgspec.DecodeError, UnicodeEncodeError):
        alone = None
    if alone is not None and math.isfinite(alone):
        notes["unconditional_logprob"] = f"{alone:.6f}"
    return notes


def baselines(protocol: Protocol, item: Item) -> dict[str, str]:
    """What costs nothing and must be beaten: the target's length, and how much of it is copied."""
    target = protocol.answer.target or ""
    words = words_of(_text(item.fields.get(target, "")))
    others = [
        name for name in (*protocol.inputs, *protocol.optional) if name != target and name in item.fields
    ]
    source = words_of("\n".join(_text(item.fields[name]) for name in others))
    notes = {"words": str(len(words))}
    share = copied_bigrams(words, source)
    if share is not None:
        notes["copied_bigrams"] = f"{share:.6f}"
    return notes


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
