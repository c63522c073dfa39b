"""The best constant answer: what always giving the same answer would agree with people, and the judge's lead
over it.

The constant is chosen with the labels in view, so that it is hard to beat. A judge that does not beat it adds
nothing to knowing what people usually say.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ...records import Estimate
from ...stats import mean_interval
from ..labels.labelled import LabelledItem, LabelledTable, numbers
from ..run_view.criteria import levels_of
from .card import BestConstant
from .corrected_means import gap_limits
from .estimates import count_failed

_MOST_CANDIDATES = 60
"""Different ratings up to which each is tried as a constant; of more, the one in the middle is the best."""


def best_constant(table: LabelledTable) -> BestConstant | None:
    """The judge beside the best constant answer; none where no labelled item was answered on the labels'
    scale."""
    answered = [row for row in table.labelled() if row.answer is not None]
    if not answered or not table.is_same_scale:
        return None
    answer = _most_frequent(answered) if table.kind == "choices" else _nearest(answered, table)
    of_judge, of_constant = (
        [_agreement(row, given) for row, given in zip(answered, answers, strict=True)]
        for answers in ([row.answer for row in answered], [answer] * len(answered))
    )
    groups, n_failed = table.groups(answered), count_failed(table.labelled())
    lead = mean_interval(
        [judge - constant for judge, constant in zip(of_judge, of_constant, strict=True)],
        groups,
        n_failed,
        limits=gap_limits(table),
        name="agreement of the judge − agreement of the best constant answer",
    )
    return BestConstant(
        answer=answer,
        judge=abs(_mean(of_judge)),
        constant=abs(_mean(of_constant)),
        lead=lead,
        corrected=lead if table.kind == "choices" else _corrected_lead(answered, groups, n_failed),
        n_units=len(answered) if groups is None else len(set(groups)),
    )


def _corrected_lead(rows: Sequence[LabelledItem], groups: Sequence[str] | None, n_failed: int) -> Estimate:
    """How much closer the judge is once labels have removed its mean bias, in squared points.

    The constant has the same advantage: it is the mean of the labels. Above 0, labels corrected by this judge
    say more than the same labels alone.
    """
    labels = [label for label in numbers(row.label for row in rows) if label is not None]
    scores = [score for score in numbers(row.answer for row in rows) if score is not None]
    gaps = [score - label for score, label in zip(scores, labels, strict=True)]
    of_constant, of_judge = _squares(labels), _squares(gaps)
    return mean_interval(
        [constant - judge for constant, judge in zip(of_constant, of_judge, strict=True)],
        groups,
        n_failed,
        name="squared error of the mean label − squared error of the judge without its mean bias",
    )


def _squares(values: Sequence[float]) -> list[float]:
    """The squared distances from the mean."""
    middle = _mean(values)
    return [(value - middle) ** 2 for value in values]


def _agreement(row: LabelledItem, answer: float | str | None) -> float:
    """1 or 0 for choices; for scores the distance from the label, below zero so that more is better."""
    if isinstance(row.label, str):
        return float(answer == row.label)
    (given, label) = numbers([answer, row.label])
    assert given is not None
    assert label is not None
    return -abs(given - label)


def _most_frequent(rows: Sequence[LabelledItem]) -> float | str:
    counts = Counter(row.label for row in rows if row.label is not None)
    return min(counts, key=lambda label: (-counts[label], str(label)))


def _nearest(rows: Sequence[LabelledItem], table: LabelledTable) -> float:
    """The level nearest to the labels; where the levels are unknown, the nearest rating that a person
    gave."""
    ratings = sorted(rating for row in rows for rating in numbers(row.ratings) if rating is not None)
    candidates = levels_of(table.scale) or sorted(set(ratings))
    if len(candidates) > _MOST_CANDIDATES:
        candidates = [ratings[len(ratings) // 2]]
    return max(candidates, key=lambda level: math.fsum(_agreement(row, level) for row in rows))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
