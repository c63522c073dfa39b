"""GPTScore: from the log-probabilities of a given text to a score, and to what must be seen beside it.

The score is the mean log-probability of the target's tokens after the prompt (Fu et al. 2023, with equal
weights); of two targets that are each asked given the other, the mean of the two. It is partly a signal of
copying and of length, so the judgment carries both, and the likelihood that the text has without any prompt:
a reader of the score can see when a baseline does as well. Nothing is generated here and nothing is searched
for in a text.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

import msgspec

from ..lazy_patterns import lazily
from ..records import FieldValue, Item, Judgment, Message, Protocol, Reply, Score, Status, TokenLogprob

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
    words = lower_words(_text(item.fields[judged] if judged is not None else ""))
    fields = (
        protocol.field_for(name, item.fields)
        for name in (*protocol.inputs, *protocol.optional)
        if name != target
    )
    others = [name for name in fields if name is not None]
    source = lower_words("\n".join(_text(item.fields[name]) for name in others))
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
    """The share of a text's pairs of neighbouring words that stand in the source, too; none without a
    pair."""
    pairs = list(pairwise(words))
    if not pairs:
        return None
    known = set(pairwise(source))
    return sum(pair in known for pair in pairs) / len(pairs)


def lower_words(text: str) -> list[str]:
    """The words of a text, in lower case, without punctuation."""
    return _WORD.findall(text.lower())


def _text(value: FieldValue) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(entry.content if isinstance(entry, Message) else entry for entry in value)
