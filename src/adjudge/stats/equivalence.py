"""Whether a difference is shown to be small: two one-sided tests against a margin (Schuirmann 1987).

That no difference was shown is not that there is none. A difference is equivalent to 0 where it is shown to
be above -margin and shown to be below +margin, each at 5 %: where its 90 % interval lies within the margins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import t_quantile
from .multiple_tests import adjusted
from .threshold import DECISION_LEVEL, p_of_arms

EQUIVALENCE_LEVEL = 0.05
"""The largest p-value of each of the two tests: a difference of the margin is called equivalent at most once
in twenty."""

EquivalenceVerdict = Literal["equivalent", "not worse", "worse", "better", "not shown"]


class Equivalence(Struct, frozen=True):
    """A difference compared with a margin, in both directions."""

    margin: float
    p_not_worse: float | None
    """p-value of the finding that it is worse by less than the margin"""
    p_not_better: float | None
    """p-value of the finding that it is better by less than the margin"""
    verdict: EquivalenceVerdict
    """equivalent: both; not worse: the first alone; worse, better: shown to be beyond the margin"""
    low: float | None = None
    """the ends of the 90 % interval of the difference, for this difference alone"""
    high: float | None = None


def equivalence(estimate: Estimate, margin: float, df: float, direction: int = 1) -> Equivalence:
    """Compare a difference with ± margin; `direction` is -1 where lower is better."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return Equivalence(margin, None, None, "not shown")
    value, low, high = estimate.value, estimate.low, estimate.high
    if direction < 0:
        value, low, high = -value, -high, -low
    p_not_worse = _p_above(value, low, high, -margin, df)
    p_not_better = _p_above(-value, -high, -low, -margin, df)
    verdict = equivalence_of(p_not_worse, p_not_better, 1 - p_not_worse, 1 - p_not_better)
    # The arms of the 95 % interval, at the level of the tests.
    most = max(1.0, df)
    ratio = t_quantile(most, 1 - 2 * EQUIVALENCE_LEVEL) / t_quantile(most)
    ends = (
        estimate.value - ratio * (estimate.value - estimate.low),
        estimate.value + ratio * (estimate.high - estimate.value),
    )
    return Equivalence(margin, p_not_worse, p_not_better, verdict, *ends)


def equivalent_together(each: Sequence[Equivalence]) -> list[Equivalence]:
    """The same with p-values that hold for all differences together (Holm); one alone is unchanged."""
    not_worse, not_better, worse, better = (
        adjusted(column)
        for column in (
            [one.p_not_worse for one in each],
            [one.p_not_better for one in each],
            [None if one.p_not_worse is None else 1 - one.p_not_worse for one in each],
            [None if one.p_not_better is None else 1 - one.p_not_better for one in each],
        )
    )
    together = []
    for one, a, b, c, d in zip(each, not_worse, not_better, worse, better, strict=True):
        if a is None or b is None or c is None or d is None:
            together.append(one)
            continue
        together.append(
            structs.replace(one, p_not_worse=a, p_not_better=b, verdict=equivalence_of(a, b, c, d))
        )
    return together


def _p_above(value: float, low: float, high: float, threshold: float, df: float) -> float:
    """The p-value of the finding that a difference is above a threshold, from the arm that points to it."""
    if low == high:
        return float(value <= threshold)
    arm = value - low if value > threshold else high - value
    return p_of_arms(value - threshold, arm, max(1.0, df))


def equivalence_of(
    p_not_worse: float, p_not_better: float, p_worse: float, p_better: float
) -> EquivalenceVerdict:
    """What the tests on both sides of the margin show; a difference beyond it at 2.5 %, as any difference."""
    is_not_worse, is_not_better = p_not_worse <= EQUIVALENCE_LEVEL, p_not_better <= EQUIVALENCE_LEVEL
    if is_not_worse and is_not_better:
        return "equivalent"
    if p_worse <= DECISION_LEVEL:
        return "worse"
    if p_better <= DECISION_LEVEL:
        return "better"
    return "not worse" if is_not_worse else "not shown"
