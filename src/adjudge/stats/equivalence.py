"""Whether a difference is shown to be small: two one-sided tests against a margin (Schuirmann 1987).

That no difference was shown is not that there is none. A difference is equivalent to 0 where it is shown to be above
-margin and shown to be below +margin, each at 2.5 %: where its 95 % interval lies within the margins.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..records import Estimate
from .threshold import DECISION_LEVEL, p_of_arms

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


def equivalence(estimate: Estimate, margin: float, df: float, direction: int = 1) -> Equivalence:
    """Compare a difference with ± margin; `direction` is -1 where lower is better."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return Equivalence(margin, None, None, "not shown")
    value, low, high = estimate.value, estimate.low, estimate.high
    if direction < 0:
        value, low, high = -value, -high, -low
    p_not_worse = _p_above(value, low, high, -margin, df)
    p_not_better = _p_above(-value, -high, -low, -margin, df)
    return Equivalence(margin, p_not_worse, p_not_better, _verdict(p_not_worse, p_not_better))


def _p_above(value: float, low: float, high: float, threshold: float, df: float) -> float:
    """The p-value of the finding that a difference is above a threshold, from the arm that points to it."""
    if low == high:
        return float(value <= threshold)
    arm = value - low if value > threshold else high - value
    return p_of_arms(value - threshold, arm, max(1.0, df))


def _verdict(p_not_worse: float, p_not_better: float) -> EquivalenceVerdict:
    is_not_worse, is_not_better = p_not_worse <= DECISION_LEVEL, p_not_better <= DECISION_LEVEL
    if is_not_worse and is_not_better:
        return "equivalent"
    if 1 - p_not_worse <= DECISION_LEVEL:
        return "worse"
    if 1 - p_not_better <= DECISION_LEVEL:
        return "better"
    return "not worse" if is_not_worse else "not shown"
