"""A mean corrected with labels, compared with a threshold: is it shown to be above, or below?

The t interval of the corrected mean decides, as long as the labels are not skewed, and few labels do not lie
near an end of the scale. Where most labels lie at one end, rare labels at the other end may all be missing
among few: 20 labels at the ceiling would call a mean good in up to 18 % of the cases in which it is not.
There the finding also needs the bound of `threshold`, on what each label says of the mean in the light of the
judge's scores: as if one more label lay at the other end of the scale.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from ..records import Estimate
from .arrays import Numbers, floats, label_codes, same_length
from .regression_mean import Predicted, predict
from .threshold import BoundedMean, MeanTest, p_of_arms, p_with_error

if TYPE_CHECKING:
    from .arrays import Codes, Floats

_FEWEST = 3
_MOST_SKEWED = 0.2
"""Skewness of the labels over the root of their number, from which an interval is not enough."""

_NEAR_END = 0.25
"""A mean within this share of the scale from its end lies at this end."""


def corrected_mean_test(
    estimate: Estimate,
    labels: Numbers,
    scores: Numbers,
    threshold: float,
    limits: tuple[float, float],
    *,
    clusters: Sequence[Hashable] | None = None,
    probabilities: Numbers | None = None,
    is_finite: bool = False,
    with_bounds: bool = True,
) -> MeanTest | None:
    """Whether a corrected mean is shown to be above, or below, a threshold; none where it has no interval.

    `estimate` is the corrected mean of `ppi_mean` with the same arguments; `limits` are the ends of the
    labels' scale.
    """
    import numpy as np

    same_length(labels, scores, clusters, probabilities)
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    y, f = floats(labels), floats(scores)
    drawn = None if probabilities is None else floats(probabilities)
    groups = None if clusters is None or is_finite else label_codes(clusters)[0]
    is_known = ~np.isnan(y)
    n = int(is_known.sum())
    n_units = n if groups is None else len(np.unique(groups[is_known]))
    by_interval = _by_interval(estimate, threshold, n_units)
    skewness = _skewness(y[is_known]) / math.sqrt(max(1, n_units))
    far = _far_end(estimate, limits, n_units, skewness)
    if n < _FEWEST or far is None:
        return by_interval
    with np.errstate(all="ignore"):
        # Where every item has its label, the judge has nothing to add.
        known = predict(y, f if n < len(y) else np.zeros(len(y)), groups, drawn)
        error = 0.0 if is_finite else _judged_error(known, groups)
    if is_finite:
        # What is labelled is known: only the rest of the distance is open.
        threshold = known.value + (threshold - known.value) / math.sqrt(max(1e-9, 1 - n / len(y)))
    return _cautious(
        by_interval, known, groups, limits, threshold, error, is_low=far == "low", with_bounds=with_bounds
    )


def _by_interval(estimate: Estimate, threshold: float, n_units: int) -> MeanTest:
    value, low, high = estimate.value or 0.0, estimate.low or 0.0, estimate.high or 0.0
    # The arm that points to the threshold decides.
    arm = value - low if value > threshold else high - value
    p_above = p_of_arms(value - threshold, arm, max(1, n_units - 2))
    return MeanTest(p_above, 1 - p_above, low, high, estimate.method)


def _far_end(
    estimate: Estimate, limits: tuple[float, float], n_units: int, skewness: float
) -> Literal["low", "high"] | None:
    """The end of the scale at which rare labels may all be missing; none where an interval is enough.

    Few labels need not look skewed although the rare ones are missing: then one more at the far end would
    move the mean by more than its interval allows for.
    """
    if abs(skewness) > _MOST_SKEWED:
        return "low" if skewness < 0 else "high"
    value, low, high = estimate.value or 0.0, estimate.low or 0.0, estimate.high or 0.0
    below, above = value - limits[0], limits[1] - value
    if above < _NEAR_END * (above + below) and below / (n_units + 1) > value - low:
        return "low"
    is_at_low_end = below < _NEAR_END * (above + below)
    return "high" if is_at_low_end and above / (n_units + 1) > high - value else None


def _skewness(y: Floats) -> float:
    """Of labels; where all are the same, the rest may lie at either end, so it has no bound."""
    around = y - y.mean()
    square = float((around**2).mean())
    return float((around**3).mean()) / square**1.5 if square > 0 else -math.inf


def _judged_error(known: Predicted, groups: Codes | None) -> float:
    """The standard error of the judge's mean over all items, as far as it is believed."""
    import numpy as np

    by_judge = known.by_judge / len(known.around_f)
    sums = by_judge if groups is None else np.bincount(groups, weights=by_judge)
    return math.sqrt(float((sums**2).sum()))


def _cautious(
    by_interval: MeanTest,
    known: Predicted,
    groups: Codes | None,
    limits: tuple[float, float],
    threshold: float,
    error: float,
    *,
    is_low: bool,
    with_bounds: bool,
) -> MeanTest:
    """The interval's finding, unless one more label at the far end of the scale could undo it."""
    import numpy as np

    units = np.arange(len(known.y)) if groups is None else groups[known.labelled]
    _, codes = np.unique(units, return_inverse=True)
    sums = np.bincount(codes, weights=known.weights * known.values).astype(np.float64)
    sizes = np.bincount(codes, weights=known.weights).astype(np.float64)
    ends = min(limits[0], float(known.values.min())), max(limits[1], float(known.values.max()))
    method = (
        f"{by_interval.method}; most labels lie at one end of the scale, so also the bound for a bounded "
        "mean (Gaffke)"
    )
    if is_low:
        bounded = BoundedMean(sums, sizes, *ends)
        p_above = max(by_interval.p_above, p_with_error(bounded, threshold, error))
        low = by_interval.low
        if with_bounds and low is not None:
            low = min(low, max(limits[0], bounded.bound(error)))
        return MeanTest(p_above, by_interval.p_below, low, by_interval.high, method)
    bounded = BoundedMean(-sums, sizes, -ends[1], -ends[0])
    p_below = max(by_interval.p_below, p_with_error(bounded, -threshold, error))
    high = by_interval.high
    if with_bounds and high is not None:
        high = max(high, min(limits[1], -bounded.bound(error)))
    return MeanTest(by_interval.p_above, p_below, by_interval.low, high, method)
