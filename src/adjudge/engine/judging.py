"""From a reply to the judgment that is stored: reading, the expected value, and the question asked again."""

from __future__ import annotations

from msgspec import structs

from ..models import Parameters
from ..parse import parse, unanswered
from ..parse.likelihood import read_likelihood
from ..parse.probability import LEAST_CAUGHT_MASS, expected_score
from ..records import Call, Item, Judgment, Protocol, Reply, ReplyError, Score, Status

_WORTH_ASKING_AGAIN: frozenset[Status] = frozenset(("unparsed", "conflicting", "out_of_range", "truncated"))


def judge(
    protocol: Protocol, item: Item, call: Call, reply: Reply, flags: tuple[str, ...], params: Parameters
) -> Judgment:
    """What a reply says, with the flags of its prompt; with log-probabilities asked for, as an expected value."""
    if protocol.answer.reader == "likelihood":
        judgment = read_likelihood(protocol, item, reply)
        return structs.replace(judgment, flags=tuple(dict.fromkeys((*flags, *judgment.flags))))
    judgment = parse(protocol, reply.text, item=item, order=call.order, finish=reply.finish, call=call.key)
    if params.top_logprobs is not None:
        judgment = structs.replace(
            judgment, scores=tuple(_expected(score, reply, protocol) for score in judgment.scores)
        )
    return structs.replace(judgment, flags=tuple(dict.fromkeys((*flags, *judgment.flags))))


def _expected(score: Score, reply: Reply, protocol: Protocol) -> Score:
    """The same score by the estimator `probability`; one that caught too little mass is no score."""
    scale = protocol.criteria[score.criterion]
    if score.status != "ok" or score.span is None or scale is None or reply.logprobs is None:
        return structs.replace(score, estimator="probability", value=None, status=_unless_ok(score.status))
    found = expected_score(score.span, reply.logprobs, scale)
    if found is None or found.caught_mass < LEAST_CAUGHT_MASS:
        return structs.replace(
            score,
            estimator="probability",
            value=None,
            status="unparsed",
            distribution=found.distribution if found else None,
            caught_mass=found.caught_mass if found else 0.0,
        )
    return structs.replace(
        score,
        estimator="probability",
        value=found.value,
        distribution=found.distribution,
        caught_mass=found.caught_mass,
    )


def _unless_ok(status: Status) -> Status:
    return "unparsed" if status == "ok" else status


def needs_another_question(judgment: Judgment) -> bool:
    """Whether something was asked for and not given, though the judge did not refuse."""
    statuses = {score.status for score in judgment.scores}
    if judgment.choice_status is not None:
        statuses.add(judgment.choice_status)
    return bool(statuses & _WORTH_ASKING_AGAIN) and "refused" not in statuses


def with_second_answer(first: Judgment, second: Judgment) -> Judgment:
    """The first judgment, with what it lacked taken from the answer to the question asked again."""
    answers = {(score.criterion, score.subject): score for score in second.scores}

    def better(score: Score) -> Score:
        again = answers.get((score.criterion, score.subject))
        if score.status not in _WORTH_ASKING_AGAIN or again is None or again.status != "ok":
            return score
        # The place of this value is in the second reply, not in the first.
        return structs.replace(
            again, how="reask", span=None, evidence=score.evidence, grounded=score.grounded
        )

    judgment = structs.replace(first, scores=tuple(better(score) for score in first.scores))
    if first.choice_status in _WORTH_ASKING_AGAIN and second.choice is not None:
        judgment = structs.replace(
            judgment, choice=second.choice, choice_status="ok", choice_how="reask", choice_span=None
        )
    return judgment


def failed_judgment(protocol: Protocol, error: ReplyError) -> Judgment:
    """What a call without a reply counts as: a failure of every score that was asked for."""
    status: Status = "refused" if error.kind == "filtered" else "no_reply"
    return structs.replace(
        unanswered(protocol, status), flags=("too_long",) if error.kind == "too_long" else ()
    )
