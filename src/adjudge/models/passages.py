"""What a likelihood call asks, whoever answers it: texts, each with what stands before it.

Mostly there is one: the target, after the messages. Where two texts are each asked given the other, the first
stands among the messages as an answer. Knows neither how a model computes nor how a score is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from ..records import Call


class Passage(NamedTuple):
    """A text whose likelihood is asked, and the prompt before it."""

    prompt: str
    target: str


def passages_of(call: Call) -> list[Passage]:
    """The texts that a call asks for. Messages become one text to be continued.

    No chat template: it would make the text an answer to a turn, and a model without one could not be used.
    """
    found: list[Passage] = []
    before: list[str] = []
    for message in call.messages:
        if message.role == "assistant":
            found.append(Passage("\n\n".join(before), message.content))
            before = []
        else:
            before.append(message.content)
    found.append(Passage("\n\n".join(before), call.target or ""))
    return found


def said_beside(unconditional: Sequence[float | None], parts: Sequence[int]) -> str:
    """The text of a reply that has none of its own: what belongs to the score beside its tokens."""
    told = [value for value in unconditional if value is not None]
    beside: dict[str, object] = {}
    if told and len(told) == len(unconditional):
        beside["unconditional"] = sum(told) / len(told)
    if len(parts) > 1:
        beside["parts"] = list(parts)
    return msgspec.json.encode(beside).decode()
