"""From all judgments of one item to its results: the mean of samples, one choice from both orders of a pair.

Pure: a run can be combined again at any time without calling a model. A failed judgment is counted in every result and is
never part of a mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct, structs

from .records import Choice, Estimator, Item, Judgment, Order, Protocol, Result, Scale, Score, Status, Subject

Kind = Literal["scores", "choices"]
"""Whether a result is a score or a choice between two responses; a failed one is what it would have been."""


class CallJudgment(Struct, frozen=True):
    """The judgment of one call of an item, with the order and the sample of that call."""

    order: Order
    sample: int
    judgment: Judgment


def combine(
    item: Item, protocol: Protocol, model: str, judged: Sequence[CallJudgment]
) -> list[tuple[Result, Kind]]:
    """The results of one item under one protocol and one model: one for each score, and one for the choice.

    Each with its kind: a failed result alone does not show what it would have been.
    """
    cells: dict[tuple[str, Subject | None], list[Score]] = {}
    for call in judged:
        for score in call.judgment.scores:
            cells.setdefault((score.criterion, score.subject), []).append(score)
    explanation = next((call.judgment.explanation for call in judged if call.judgment.explanation), "")
    flags = tuple(dict.fromkeys(flag for call in judged for flag in call.judgment.flags))
    common = Result(
        item=item.id,
        protocol=f"{protocol.id}@{protocol.digest}",
        criterion="",
        model=model,
        status="no_reply",
        system=item.system,
        group=item.group,
        explanation=explanation,
        system_a=item.system_a,
        system_b=item.system_b,
        flags=flags,
    )
    rows: list[tuple[Result, Kind]] = [
        (_score_row(common, criterion, subject, scores, protocol.criteria.get(criterion)), "scores")
        for (criterion, subject), scores in cells.items()
    ]
    if any(call.judgment.choice_status is not None for call in judged):
        rows.append((_choice_row(common, protocol, judged), "choices"))
    return rows


def choice_criterion(criteria: Iterable[str]) -> str:
    """The criterion under which the choice of a comparison is recorded."""
    names = list(criteria)
    return "overall" if "overall" in names else names[0]


def majority(choices: Sequence[Choice]) -> Choice:
    """The most frequent choice; a tie where two are equally frequent."""
    counts = Counter(choices).most_common(2)
    if len(counts) == 2 and counts[0][1] == counts[1][1]:
        return "tie"
    return counts[0][0]


# -- follow-up questions


REASKED: frozenset[Status] = frozenset(("unparsed", "conflicting", "out_of_range", "truncated"))
"""What a follow-up question may mend."""


def needs_reask(judgment: Judgment) -> bool:
    """Whether an answer is missing although the judge did not refuse."""
    statuses = {score.status for score in judgment.scores}
    if judgment.choice_status is not None:
        statuses.add(judgment.choice_status)
    return bool(statuses & REASKED) and "refused" not in statuses


def with_reask(first: Judgment, second: Judgment) -> Judgment:
    """The first judgment, with missing answers taken from the reply to the follow-up question."""
    answers = {(score.criterion, score.subject): score for score in second.scores}

    def better(score: Score) -> Score:
        answer = answers.get((score.criterion, score.subject))
        if score.status not in REASKED or answer is None or answer.status != "ok":
            return score
        # The span of this value is in the second reply, not in the first.
        return structs.replace(
            answer, how="reask", span=None, evidence=score.evidence, grounded=score.grounded
        )

    judgment = structs.replace(first, scores=tuple(better(score) for score in first.scores))
    if first.choice_status in REASKED and second.choice is not None:
        judgment = structs.replace(
            judgment, choice=second.choice, choice_status="ok", choice_how="reask", choice_span=None
        )
    return judgment


# -- rows


def _score_row(
    common: Result, criterion: str, subject: Subject | None, scores: Sequence[Score], scale: Scale | None
) -> Result:
    read = [score for score in scores if score.value is not None]
    if scale is not None and scale.is_nominal:
        return _class_row(common, criterion, subject, scores, scale)
    values = [score.value for score in read if score.value is not None]
    value = math.fsum(values) / len(values) if values else None
    confidences = [score.confidence for score in read if score.confidence is not None]
    explanation = next((score.explanation for score in scores if score.explanation), common.explanation)
    return _filled(
        common,
        criterion=criterion,
        subject=subject,
        system=_system_of(common, subject),
        # A score without a value that did not fail: there was nothing to score.
        status="ok"
        if any(score.status == "ok" for score in scores)
        else _commonest([score.status for score in scores]),
        value=value,
        normalized=scale.normalized(value) if scale is not None and value is not None else None,
        spread=_spread(values),
        how=read[0].how if read else None,
        estimator=_estimator(scores),
        n_samples=len(scores),
        n_failed=sum(score.status != "ok" for score in scores),
        confidence=math.fsum(confidences) / len(confidences) if confidences else None,
        explanation=explanation,
    )


def _class_row(
    common: Result, criterion: str, subject: Subject | None, scores: Sequence[Score], scale: Scale
) -> Result:
    """The class that most samples chose. Where two classes have as many, there is none."""
    read = [score for score in scores if score.value is not None]
    counts = Counter(score.value for score in read).most_common(2)
    is_tied = len(counts) == 2 and counts[0][1] == counts[1][1]
    value = counts[0][0] if counts and not is_tied else None
    failed: Status = "conflicting" if is_tied else _commonest([score.status for score in scores])
    return _filled(
        common,
        criterion=criterion,
        subject=subject,
        system=_system_of(common, subject),
        status="ok" if value is not None else failed,
        value=value,
        label=scale.names.get(value) if value is not None else None,
        how=read[0].how if read else None,
        estimator=_estimator(scores),
        n_samples=len(scores),
        n_failed=len(scores) - len(read),
        explanation=next((score.explanation for score in scores if score.explanation), common.explanation),
    )


def _choice_row(common: Result, protocol: Protocol, judged: Sequence[CallJudgment]) -> Result:
    """Which response won: the choice that both orders agree on, otherwise a tie with the flag `order_conflict`."""
    by_sample: dict[int, list[Judgment]] = {}
    for call in judged:
        by_sample.setdefault(call.sample, []).append(call.judgment)
    verdicts: list[Choice] = []
    has_conflict = is_identical = False
    for judgments in by_sample.values():
        choices = [judgment.choice for judgment in judgments if judgment.choice is not None]
        if len(choices) < len(judgments):
            continue
        if is_one_reply(judgments):
            is_identical = True
            verdicts.append("tie")
            continue
        agrees = len(set(choices)) == 1
        has_conflict = has_conflict or not agrees
        verdicts.append(choices[0] if agrees else "tie")
    failed = [call.judgment for call in judged if call.judgment.choice is None]
    confidences = [
        j.choice_confidence for call in judged if (j := call.judgment).choice_confidence is not None
    ]
    read = [call.judgment for call in judged if call.judgment.choice is not None]
    return _filled(
        common,
        criterion=choice_criterion(protocol.criteria),
        status="ok"
        if verdicts
        else _commonest([judgment.choice_status or "unparsed" for judgment in failed]),
        choice=majority(verdicts) if verdicts else None,
        how=read[0].choice_how if read else None,
        estimator="samples" if len(by_sample) > 1 else "parsed",
        n_samples=len(judged),
        n_failed=len(failed),
        confidence=math.fsum(confidences) / len(confidences) if confidences else None,
        flags=(
            *common.flags,
            *(("order_conflict",) if has_conflict else ()),
            *(("identical_responses",) if is_identical else ()),
        ),
    )


def is_one_reply(judgments: Sequence[Judgment]) -> bool:
    """Whether both orders of a pair are the same call: the responses are identical, so the reply prefers neither."""
    return len(judgments) == 2 and bool(judgments[0].call) and judgments[0].call == judgments[1].call


def _filled(common: Result, **fields: object) -> Result:
    return structs.replace(common, **fields)


def _system_of(common: Result, subject: Subject | None) -> str:
    """A score of one response of a pair belongs to the system that wrote it."""
    if subject is None:
        return common.system
    return (common.system_a if subject == "a" else common.system_b) or common.system


def _commonest(statuses: Sequence[Status]) -> Status:
    return Counter(statuses).most_common(1)[0][0]


def _spread(values: Sequence[float]) -> float | None:
    """The standard deviation of the samples; none for a single one."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _estimator(scores: Sequence[Score]) -> Estimator:
    estimator = scores[0].estimator
    return "samples" if estimator == "parsed" and len(scores) > 1 else estimator
