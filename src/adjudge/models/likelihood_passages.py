"""Likelihood calls: the passages that are scored, and the reply that says how likely they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ..records import Call

# Likelihood calls. Usually one text is scored: the target, after the messages. Where two texts are each
# scored given the other, the first is an assistant message among the messages.


class Passage(NamedTuple):
    """A text whose likelihood is scored, and the prompt before it."""

    prompt: str
    target: str


def passages_of(call: Call) -> list[Passage]:
    """The passages to score in a likelihood call. Messages become one text to be continued.

    Without a chat template: it would make the text a reply to a turn, and models without one could not be
    used.
    """
    passages: list[Passage] = []
    before: list[str] = []
    for message in call.messages:
        if message.role == "assistant":
            passages.append(Passage("\n\n".join(before), message.content))
            before = []
        else:
            before.append(message.content)
    passages.append(Passage("\n\n".join(before), call.target or ""))
    return passages


def likelihood_details(unconditional: Sequence[float | None], n_tokens: Sequence[int]) -> str:
    """The text of a likelihood reply: JSON with the unconditional mean, and the length of each of several
    targets."""
    known = [value for value in unconditional if value is not None]
    details: dict[str, object] = {}
    if known and len(known) == len(unconditional):
        details["unconditional"] = sum(known) / len(known)
    if len(n_tokens) > 1:
        details["parts"] = list(n_tokens)
    return msgspec.json.encode(details).decode()
