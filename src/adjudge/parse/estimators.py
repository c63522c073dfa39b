"""From a reply to the judgment that is stored, by its estimator:
parsed, probability, likelihood, decision; or by a rule.
"""

from __future__ import annotations

from msgspec import structs

from ..records import Call, Item, Judgment, Protocol, Reply, ReplyError, Score, Status
from . import parse, unanswered
from .decision import read_decision
from .likelihood import read_likelihood
from .probability import LEAST_CAUGHT_MASS, expected_score

BY_RULE = "checked_by_rule"
"""The flag of a judgment that a rule made."""


def estimated_judgment(
    protocol: Protocol,
    item: Item,
    call: Call,
    reply: Reply,
    flags: tuple[str, ...],
    *,
    by_probability: bool = False,
) -> Judgment:
    """The judgment in a reply, with the flags of its prompt; by
    expected value where log-probabilities were requested.
    """
    flags = (*flags, *reply.flags)
    if call.is_ruled and not reply.text:  # an empty response, which no one was asked about
        return structs.replace(unanswered(protocol, "unparsed"), flags=flags)
    if protocol.answer.reader == "likelihood":
        judgment = read_likelihood(protocol, item, reply)
        return structs.replace(judgment, flags=tuple(dict.fromkeys((*flags, *judgment.flags))))
    if call.asks_questions:
        judgment = read_decision(call, reply.text)
        return structs.replace(judgment, flags=tuple(dict.fromkeys((*flags, *judgment.flags))))
    judgment = parse(protocol, reply.text, item=item, order=call.order, finish=reply.finish, call=call.key)
    if call.is_ruled:
        scores = tuple(structs.replace(score, how="rule", span=None) for score in judgment.scores)
        return structs.replace(judgment, scores=scores, flags=flags)
    if by_probability:
        judgment = structs.replace(
            judgment, scores=tuple(_expected(score, reply, protocol) for score in judgment.scores)
        )
    return structs.replace(judgment, flags=tuple(dict.fromkeys((*flags, *judgment.flags))))


def _expected(score: Score, reply: Reply, protocol: Protocol) -> Score:
    """The same score by the estimator `probability`; unparsed
    where the scale's tokens have too little probability.
    """
    scale = protocol.criteria[score.criterion]
    if score.status != "ok" or score.span is None or scale is None or reply.logprobs is None:
        return structs.replace(
            score, estimator="probability", value=None, status=_failed_status(score.status)
        )
    expected = expected_score(score.span, reply.logprobs, scale)
    if expected is None or expected.caught_mass < LEAST_CAUGHT_MASS:
        return structs.replace(
            score,
            estimator="probability",
            value=None,
            status="unparsed",
            distribution=expected.distribution if expected else None,
            caught_mass=expected.caught_mass if expected else 0.0,
        )
    return structs.replace(
        score,
        estimator="probability",
        value=expected.value,
        distribution=expected.distribution,
        caught_mass=expected.caught_mass,
    )


def _failed_status(status: Status) -> Status:
    return "unparsed" if status == "ok" else status


def failed_judgment(protocol: Protocol, error: ReplyError) -> Judgment:
    """The judgment of a call without a reply: every score that was requested has failed."""
    status: Status = "refused" if error.kind == "filtered" else "no_reply"
    return structs.replace(
        unanswered(protocol, status), flags=("too_long",) if error.kind == "too_long" else ()
    )
