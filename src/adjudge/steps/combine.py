"""The combine step: from the verdicts on all elements to one
score, a share, a mean, the weakest, or average precision.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..protocols import criterion_of
from ..records import Element, Estimator, How, Judgment, Protocol, Score, Status, Step
from .words import counts_text

LEAST_READ = 0.5
"""An item has a share or a mean if at least this part of its elements could be read."""


def combined_judgment(
    protocol: Protocol, elements: tuple[Element, ...], failure: Status | None, flags: tuple[str, ...]
) -> Judgment:
    combines = [step for step in protocol.pipeline if step.kind == "combine"]
    scores = tuple(_combine(protocol, step, elements, failure) for step in combines)
    if any(score.status == "ok" and score.value is None for score in scores):
        flags = (*flags, "nothing_to_score")
    if any(score.status != "ok" for element in elements for score in element.scores):
        flags = (*flags, "elements_failed")
    return Judgment(scores, explanation=counts_text(elements), flags=flags, elements=elements)


def _combine(protocol: Protocol, step: Step, elements: Sequence[Element], failure: Status | None) -> Score:
    criterion = criterion_of(protocol, step)
    scale = protocol.criteria[criterion]
    assert scale is not None
    if failure is not None:
        return Score(criterion, failure)
    scores = [
        score for element in elements for score in element.scores if score.criterion == (step.of or criterion)
    ]
    failed = [score.status for score in scores if score.status != "ok"]
    assert scale.ends is not None
    worst, best = scale.ends
    values = [
        worst if score.value is None else _counted(step, score)
        for score in scores
        if score.status == "ok" and (score.value is not None or step.set_aside == "worst")
    ]
    numbers = [float(value) for value in values if value is not None]
    evidence = [share for score in scores if (share := score.grounded) is not None]
    grounded = math.fsum(evidence) / len(evidence) if evidence else None
    value = _value(step, numbers, len(failed), worst, best)
    if value is None and failed:
        return Score(criterion, Counter(failed).most_common(1)[0][0], grounded=grounded)
    estimator: Estimator = "decision" if any(s.estimator == "decision" for s in scores) else "parsed"
    return Score(criterion, "ok", value=value, how=_how(scores), grounded=grounded, estimator=estimator)


def _counted(step: Step, score: Score) -> float | None:
    """The value with which an element counts: the likeliest
    one where a rule asks for a verdict, not for a mean.
    """
    if step.how in ("all", "precision") and score.distribution:
        return max(score.distribution, key=score.distribution.__getitem__)
    return score.value


def _how(scores: Sequence[Score]) -> How | None:
    """The weakest way in which one of the checks was read."""
    ways = {score.how for score in scores if score.status == "ok"}
    rungs: tuple[How, ...] = ("reask", "anchored", "strict")
    return next((way for way in rungs if way in ways), None)


def _value(step: Step, values: Sequence[float], n_failed: int, worst: float, best: float) -> float | None:
    """The values of the elements as one; none where too many
    failed, or where a failed one could change the result.
    """
    if not values:
        return None
    if step.how == "all":
        if any(value != best for value in values):
            return worst
        return None if n_failed else best
    if step.how == "weakest":
        weakest = min(values) if best > worst else max(values)
        return weakest if not n_failed or weakest == worst else None
    if step.how == "precision":
        # A rank that could not be read would move all ranks behind it.
        return None if n_failed else average_precision([(value - worst) / (best - worst) for value in values])
    if len(values) < LEAST_READ * (len(values) + n_failed):
        return None
    return math.fsum(values) / len(values)


def average_precision(relevant: Sequence[float]) -> float:
    """The mean of the precision at each relevant rank, so that relevant
    entries count more the earlier they stand; 0 without any.
    """
    total, hits = 0.0, 0.0
    for rank, value in enumerate(relevant, 1):
        hits += value
        total += value * hits / rank
    return total / hits if hits else 0.0
