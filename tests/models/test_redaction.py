"""A key that a host repeats is hidden in every part of a reply, and nothing else is."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from adjudge.models.keys import HIDDEN, Secret
from adjudge.models.redaction import without_key
from adjudge.records import Reply, TokenLogprob

KEY = "sk-1234567890abcdefghij"
BEFORE, AFTER = "The score is ", " and that is all."


def tokens_of(text: str, cuts: set[int]) -> tuple[TokenLogprob, ...]:
    """A text cut into tokens, each with an alternative."""
    ends = [0, *sorted(cut for cut in cuts if 0 < cut < len(text)), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]
    return tuple(TokenLogprob(part, -0.1, (TokenLogprob("other", -2.0),)) for part in parts)


@given(st.sets(st.integers(1, 60)))
def test_of_the_tokens_those_that_touch_the_key_are_hidden_once_and_no_others(cuts: set[int]) -> None:
    tokens = tokens_of(BEFORE + KEY + AFTER, cuts)
    shown = without_key(Reply("k", logprobs=tokens), Secret(KEY)).logprobs
    assert shown is not None
    start = len(BEFORE)
    at = 0
    for token, kept in zip(tokens, shown, strict=True):
        touches = at < start + len(KEY) and at + len(token.token) > start
        assert kept.logprob == token.logprob
        assert (kept == token) is not touches
        assert not touches or (kept.token in (HIDDEN, "") and not kept.top)
        at += len(token.token)
    assert "".join(token.token for token in shown).count(HIDDEN) == 1


def test_a_reply_without_the_key_is_the_same_object() -> None:
    reply = Reply("k", text="4", logprobs=tokens_of("4 of 5", {1, 3}))
    assert without_key(reply, Secret(KEY)) is reply


def test_the_key_is_hidden_in_every_text_of_a_reply() -> None:
    said = f"you sent {KEY}"
    reply = without_key(Reply("k", text=said, reasoning=said, model_name=said, fingerprint=said), Secret(KEY))
    texts = (reply.text, reply.reasoning, reply.model_name, reply.fingerprint)
    assert texts == (f"you sent {HIDDEN}",) * 4
