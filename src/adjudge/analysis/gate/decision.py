"""What decides a check: two one-sided tests of an estimate against its threshold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from msgspec import Struct

from ...records import Estimate
from ...stats import corrected_mean_test, mean_test
from ...stats.threshold import p_of_arms
from ..labels.by_system import probabilities_of
from ..labels.labelled import Entry, LabelledTable


class Decision(Struct, frozen=True):
    """What a check is decided by: two one-sided tests against the threshold, each at 2.5 %."""

    low: float | None
    """lower bound of the mean at 97.5 % confidence: a check with `min` is good where it reaches the threshold
    """
    high: float | None
    """upper bound at 97.5 % confidence"""
    p_good: float
    p_worse: float
    method: str
    p_worse_adjusted: float | None = None
    """Holm's, over all checks of the gate; `worse` needs at most 5 %"""


_ROUNDING = 1e-9


def decision_by_values(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    limits: tuple[float, float] | None,
    threshold: float,
    direction: int,
    *,
    is_two_level: bool = False,
    with_bounds: bool = True,
) -> Decision | None:
    """How the values compare with the threshold; none where
    there is none, or where nothing bounds equal values.
    """
    ends = limits if limits is None or direction > 0 else (-limits[1], -limits[0])
    test = mean_test(
        [direction * value for value in values],
        clusters,
        ends,
        direction * threshold - _ROUNDING,
        is_two_level=is_two_level,
        with_bounds=with_bounds,
    )
    if test is None:
        return None
    low, high = (test.low, test.high) if direction > 0 else (_negative(test.high), _negative(test.low))
    return Decision(low, high, test.p_above, test.p_below, test.method)


def _negative(bound: float | None) -> float | None:
    return None if bound is None else -bound


def decision_by_interval(
    estimate: Estimate, threshold: float, direction: int, n_units: int
) -> Decision | None:
    """The same for an estimate that comes with an interval: its arms as standard errors."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    apart = direction * (estimate.value - threshold) + _ROUNDING
    # The arm that points to the threshold decides.
    arm = estimate.value - estimate.low if estimate.value > threshold else estimate.high - estimate.value
    p_good = p_of_arms(apart, arm, max(1, n_units - 2))
    return Decision(estimate.low, estimate.high, p_good, 1 - p_good, estimate.method)


def _decision_by_known_mean(estimate: Estimate, threshold: float, direction: int) -> Decision | None:
    if estimate.value is None:
        return None
    is_good = direction * (estimate.value - threshold) + _ROUNDING >= 0
    return Decision(estimate.low, estimate.high, float(not is_good), float(is_good), estimate.method)


def decision_by_range(low: float, high: float, threshold: float, direction: int, method: str) -> Decision:
    """The same for a mean of these items, known up to what their failures leave open: infinite where the
    scale has no end."""
    is_good = low >= threshold - _ROUNDING if direction > 0 else high <= threshold + _ROUNDING
    is_worse = high < threshold - _ROUNDING if direction > 0 else low > threshold + _ROUNDING
    ends = (low, high) if math.isfinite(low) and math.isfinite(high) else (None, None)
    return Decision(ends[0], ends[1], float(not is_good), float(not is_worse), method)


def decision_by_labels(
    estimate: Estimate,
    table: LabelledTable,
    entries: Sequence[Entry],
    limits: tuple[float, float] | None,
    threshold: float,
    direction: int,
) -> Decision | None:
    """The same for a mean corrected with labels: its interval, and where the labels are skewed also the
    bound. The mean of these items, where all have a label, is known and decides by itself.
    """
    if table.about == "these-items" and all(entry.label is not None for entry in entries):
        return _decision_by_known_mean(estimate, threshold, direction)
    clusters = table.groups([entry.row for entry in entries])
    if limits is None:
        labelled = [entry.row for entry in entries if entry.label is not None]
        n_units = len(labelled) if clusters is None else len(set(table.groups(labelled) or ()))
        return decision_by_interval(estimate, threshold, direction, n_units)
    test = corrected_mean_test(
        estimate,
        [entry.label for entry in entries],
        [entry.judge for entry in entries],
        threshold - direction * _ROUNDING,
        limits,
        clusters=clusters,
        probabilities=probabilities_of(entries),
        is_finite=table.about == "these-items",
    )
    if test is None:
        return None
    p_good, p_worse = (test.p_above, test.p_below) if direction > 0 else (test.p_below, test.p_above)
    return Decision(test.low, test.high, p_good, p_worse, test.method)
