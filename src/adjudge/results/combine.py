"""From all judgments of one item to its results: the mean of samples, one choice from both orders of a pair.

Pure: a run can be combined again at any time without calling a model. A failed judgment is counted in every
result and is never part of a mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import UNSET, Struct, structs

from ..records import (
    Choice,
    Estimator,
    Evidence,
    Item,
    Judgment,
    Order,
    Protocol,
    Result,
    Scale,
    Score,
    Status,
    Subject,
)

Kind = Literal["scores", "choices"]
"""Whether a result is a score or a choice between two responses; a failed one is what it would have been."""


VERSION = 1
"""Of what `combine` gives, and of the disagreements beside it: raise it with every change that can change a
result, so that stored results are combined again. `tests/results/test_stored_results.py` fails where this was
forgotten.
"""


LEAST_SAMPLES = 3
"""Samples of one item from which their shares count as probabilities; both orders of a pair are two."""


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
    notes = next((call.judgment.notes for call in judged if call.judgment.notes), {})
    common = Result(
        item=item.id,
        protocol=protocol.ref,
        criterion="",
        model=model,
        status="no_reply",
        system=item.system,
        group=item.group,
        explanation=explanation or notes.get("rationale", ""),
        system_a=item.system_a,
        system_b=item.system_b,
        flags=flags,
        notes=notes,
    )
    rows: list[tuple[Result, Kind]] = []
    for (criterion, subject), scores in cells.items():
        row = _score_row(common, criterion, subject, scores, protocol.criteria.get(criterion))
        rows.append((_with_source(row, scores), "scores"))
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
        probabilities=_score_probabilities(read),
    )


def _with_source(row: Result, scores: Sequence[Score]) -> Result:
    """The result with what its judge quotes, and which reply its value is from."""
    read = next((score for score in scores if score.value is not None), None)
    reply = read.reply if read is not None and read.reply is not UNSET else 0
    evidence = tuple(dict.fromkeys(quote for score in scores for quote in _quotes(score)))
    return structs.replace(row, reply=reply, evidence=evidence) if reply or evidence else row


def _quotes(score: Score) -> Iterator[Evidence]:
    """The quotations of a score; of one that was stored without
    saying so of each, only all or none are known to stand.
    """
    share = {1.0: True, 0.0: False}.get(score.grounded) if score.grounded is not None else None
    for number, quote in enumerate(score.evidence):
        stands = share if score.quotes_stand is UNSET else score.quotes_stand[number]
        yield Evidence(quote, stands)


def _class_row(
    common: Result, criterion: str, subject: Subject | None, scores: Sequence[Score], scale: Scale
) -> Result:
    """The class that most samples chose. Where two classes have as many, there is none."""
    read = [score for score in scores if score.value is not None]
    counts = Counter(score.value for score in read).most_common(2)
    confidences = [score.confidence for score in read if score.confidence is not None]
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
        confidence=math.fsum(confidences) / len(confidences) if confidences else None,
        probabilities={
            scale.names.get(float(level), level): share for level, share in _score_probabilities(read).items()
        },
        explanation=next((score.explanation for score in scores if score.explanation), common.explanation),
    )


def _choice_row(common: Result, protocol: Protocol, judged: Sequence[CallJudgment]) -> Result:
    """Which response won: the choice that both orders agree
    on, otherwise a tie with the flag `order_conflict`.
    """
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
        reply=_choice_reply(read),
        estimator=_choice_estimator(judged, len(by_sample)),
        n_samples=len(judged),
        n_failed=len(failed),
        confidence=math.fsum(confidences) / len(confidences) if confidences else None,
        probabilities=_choice_probabilities(read),
        flags=(
            *common.flags,
            *(("order_conflict",) if has_conflict else ()),
            *(("identical_responses",) if is_identical else ()),
        ),
    )


def _choice_reply(read: Sequence[Judgment]) -> int:
    number = read[0].choice_reply if read else UNSET
    return 0 if number is UNSET else number


def _choice_estimator(judged: Sequence[CallJudgment], n_samples: int) -> Estimator:
    if any(call.judgment.choice_probabilities is not UNSET for call in judged):
        return "decision"
    return "samples" if n_samples > 1 else "parsed"


def _score_probabilities(scores: Sequence[Score]) -> dict[str, float]:
    """The mean distribution over the levels; of scores that were only read, the shares of several samples."""
    given = [score.distribution for score in scores if score.distribution]
    if len(given) < len(scores) or not given:
        values = [score.value for score in scores if score.value is not None]
        given = [{value: 1.0} for value in values] if len(values) >= LEAST_SAMPLES else []
    return _mean_shares([{f"{level:g}": share for level, share in shares.items()} for shares in given])


def _choice_probabilities(judgments: Sequence[Judgment]) -> dict[str, float]:
    """The mean over both orders and all samples; of choices that were only read, none for a single sample."""
    given = [
        dict(judgment.choice_probabilities)
        for judgment in judgments
        if judgment.choice_probabilities is not UNSET
    ]
    if not given and len(judgments) >= LEAST_SAMPLES:
        given = [{judgment.choice: 1.0} for judgment in judgments if judgment.choice is not None]
    return _mean_shares([{str(choice): share for choice, share in shares.items()} for shares in given])


def _mean_shares(given: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of distributions, each divided by its sum."""
    shares: dict[str, float] = {}
    for distribution in given:
        mass = math.fsum(distribution.values())
        for answer, share in distribution.items() if mass > 0 else ():
            shares[answer] = shares.get(answer, 0.0) + share / mass / len(given)
    return shares


def is_one_reply(judgments: Sequence[Judgment]) -> bool:
    """Whether both orders of a pair are the same call: the
    responses are identical, so the reply prefers neither.
    """
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
