"""The judgment in a reply and in those to the follow-up questions after it."""

from __future__ import annotations

from collections.abc import Iterable

from ..records import Call, Item, Judgment, Order, Protocol, Reply
from .estimators import estimated_judgment
from .glimpse import glimpsed, shown_values
from .reask_answers import with_reasks


def judge_conversation(
    protocol: Protocol,
    item: Item,
    conversation: Iterable[tuple[Call, Reply]],
    flags: tuple[str, ...],
    *,
    by_probability: bool = False,
) -> Judgment:
    """The judgment in the first reply, with missing answers from the others, in the order they were asked."""
    (call, reply), *follow_ups = conversation
    judgment = estimated_judgment(protocol, item, call, reply, flags, by_probability=by_probability)
    if not follow_ups:
        return judgment
    answers = (
        estimated_judgment(protocol, item, asked, answer, (), by_probability=by_probability)
        for asked, answer in follow_ups
    )
    return completed(protocol, reply.text, judgment, answers, call.order)


def completed(
    protocol: Protocol, text: str, judgment: Judgment, answers: Iterable[Judgment], order: Order = "ab"
) -> Judgment:
    """The judgment in a first reply, with what is missing from the follow-ups; one that contradicts what the
    first reply shows is a conflict."""
    is_conflicting = any(score.status == "conflicting" for score in judgment.scores)
    values = shown_values(protocol, text, is_conflicting=is_conflicting)
    return with_reasks(judgment, answers, glimpsed(protocol, text, order), values)
