"""A mean compared with a threshold: is it shown to be above, or below?

A t interval is too narrow near the end of a scale: twenty items of which none is a rare 1 look like a sure
4.9. The bound below holds there. Weights drawn from a flat Dirichlet distribution are given to the values and
to one more value at the bad end of the scale, and the bound is a quantile of the weighted mean (Gaffke 2005;
Learned-Miller and Thomas 2019). On two levels it is the exact binomial bound of Clopper and Pearson. No value
is divided by a spread, so a better sample never has a lower bound. Groups are weighted as a whole, and the
additional value is a group of mean size, or of half the size of the group to which a typical item belongs,
whichever is larger: of very uneven groups a few decide.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct

from .arrays import (
    CONFIDENCE,
    t_quantile,
)
from .means import finite, precision_of, t_interval, total, wilson_interval

if TYPE_CHECKING:
    from .arrays import Codes, Floats


DECISION_LEVEL = (1 - CONFIDENCE) / 2
"""The largest p-value that decides: each wrong decision happens at most once in forty."""
_MOST_VALUES = 4096
"""Different values, from which they are rounded to a grid, away from the decision."""
_NODES, _REACH = 160, 8.5
"""Of the numerical integral: exact to ten digits from one value to a million."""
_BLOCK = 4096
"""values of the integrand that are held at a time"""
_ERROR_NODES = 5
"""Of the integral over an additional error."""


class MeanTest(Struct, frozen=True):
    """A mean compared with a threshold, in both directions."""

    p_above: float
    """p-value of the finding that the mean is at least the threshold"""
    p_below: float
    """p-value of the finding that it is below"""
    low: float | None
    """the highest threshold that the mean is shown to reach, at 97.5 % confidence on one side"""
    high: float | None
    method: str


def mean_test(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    limits: tuple[float, float] | None,
    threshold: float,
    *,
    is_two_level: bool = False,
    with_bounds: bool = True,
) -> MeanTest | None:
    """Whether a mean is shown to be above, or below, a threshold; none without a value.

    `limits` are the lowest and the highest value that an item can have. Without them a t test decides. The
    p-values are ten times faster `with_bounds=False`.
    """
    scores, codes, _ = finite(values, clusters)
    if len(scores) == 0:
        return None
    if limits is None:
        return _t_test(scores, codes, threshold)
    sums, sizes = (scores, None) if codes is None else (_group_sums(scores, codes), _group_sizes(codes))
    low, high = min(limits[0], float(scores.min())), max(limits[1], float(scores.max()))
    method = (
        "bound for a bounded mean (Gaffke)"
        if codes is None
        else "bound for a bounded mean over groups (Gaffke)"
    )
    below = BoundedMean(sums, sizes, low, high)
    above = BoundedMean(-sums, sizes, -high, -low)
    ends = (below.bound(), -above.bound()) if with_bounds else (low, high)
    p_above, p_below = below.p_value(threshold), above.p_value(-threshold)
    if threshold >= high and scores.min() >= threshold:
        p_below = 1.0
    if is_two_level and codes is None and high > low:
        share, at, n = (
            (float(scores.mean()) - low) / (high - low),
            (threshold - low) / (high - low),
            len(scores),
        )
        wilson_low, wilson_high = wilson_interval(share, n)
        ends = min(ends[0], low + wilson_low * (high - low)), max(ends[1], low + wilson_high * (high - low))
        p_above, p_below = max(p_above, _score_p(share, at, n)), max(p_below, _score_p(1 - share, 1 - at, n))
        method = "Wilson and exact binomial bound, the more cautious of the two"
    if not with_bounds:
        return MeanTest(p_above, p_below, None, None, method)
    return MeanTest(p_above, p_below, *ends, method)


def _t_test(scores: Floats, codes: Codes | None, threshold: float) -> MeanTest | None:
    """Without ends of the scale there is no bound that holds for every distribution."""
    from scipy.special import stdtr

    precision, interval = precision_of(scores, codes), t_interval(scores, codes)
    if precision is None or interval.low is None or interval.high is None:
        return None
    t = (total(scores) / len(scores) - threshold) / precision.se
    return MeanTest(
        float(stdtr(precision.df, -t)), float(stdtr(precision.df, t)), interval.low, interval.high, "t test"
    )


def p_of_arms(distance: float, arm: float, df: float) -> float:
    """The one-sided p-value of a distance, from the arm of a 95 % interval that points against it."""
    from scipy.special import stdtr

    if arm <= 0:
        return float(distance < 0)
    return float(stdtr(df, -t_quantile(df) * distance / arm))


def _score_p(share: float, threshold: float, n: int) -> float:
    """The p-value that belongs to Wilson's interval."""
    if not 0 < threshold < 1:
        return float(share < threshold or threshold >= 1)
    return NormalDist().cdf(-(share - threshold) / math.sqrt(threshold * (1 - threshold) / n))


def _group_sums(scores: Floats, codes: Codes) -> Floats:
    import numpy as np

    return np.bincount(codes, weights=scores).astype(np.float64)


def _group_sizes(codes: Codes) -> Floats:
    import numpy as np

    return np.bincount(codes).astype(np.float64)


class BoundedMean:
    """The lower bound of a mean whose values cannot be below `low`."""

    def __init__(self, sums: Floats, sizes: Floats | None, low: float, high: float) -> None:
        import numpy as np

        self.low, self.range = low, max(high - low, 1e-300)
        if sizes is None:
            extra = 1.0
            sizes = np.ones(len(sums))
            if len(sums) > _MOST_VALUES:
                sums = self._on_grid(sums, sizes)
        else:
            extra = _extra_size(sizes)
            if len(_pairs(sums, sizes)[0]) > _MOST_VALUES:
                sums = self._on_grid(sums, sizes)
        sums, sizes, counts = _pairs(sums, sizes)
        self.sums, self.sizes = np.append(sums, extra * low), np.append(sizes, extra)
        self.counts = np.append(counts, 1.0)
        self.mean = float((self.sums[:-1] * self.counts[:-1]).sum() / (self.sizes * self.counts)[:-1].sum())

    def _on_grid(self, sums: Floats, sizes: Floats) -> Floats:
        """The sums rounded downwards, so that rounding never helps the finding."""
        import numpy as np

        step = sizes * (self.range / _MOST_VALUES)
        rounded: Floats = sizes * self.low + np.floor((sums - sizes * self.low) / step + 1e-9) * step
        return rounded

    def p_value(self, threshold: float) -> float:
        """How probable a weighted mean up to the threshold is."""
        import numpy as np

        apart = (self.sums - self.sizes * threshold) / self.range
        return _probability_below_zero(np.where(np.abs(apart) < 1e-12, 0.0, apart), self.counts)

    def bound(self, error: float = 0.0) -> float:
        """The threshold at which the p-value is as large as a decision allows."""
        from scipy.optimize import brentq

        def excess(threshold: float) -> float:
            return p_with_error(self, threshold, error) - DECISION_LEVEL

        if excess(self.mean) < 0:
            return self.mean
        if excess(self.low) >= 0 or self.mean <= self.low:
            return self.low
        return float(brentq(excess, self.low, self.mean, xtol=1e-9 * self.range, rtol=1e-12))


def _pairs(sums: Floats, sizes: Floats) -> tuple[Floats, Floats, Floats]:
    """The different pairs of a sum and a size, and how often each occurs."""
    import numpy as np

    pairs, counts = np.unique(sums + 1j * sizes, return_counts=True)
    return pairs.real.copy(), pairs.imag.copy(), counts.astype(np.float64)


def _extra_size(sizes: Floats) -> float:
    """The size of the group that is added at the bad end of the scale."""
    typical = float((sizes**2).sum() / sizes.sum())
    return max(float(sizes.mean()), typical / 2)


def p_with_error(bounded: BoundedMean, threshold: float, error: float) -> float:
    """The p-value where the mean also has a normal error that does not come from these values."""
    if error <= 0:
        return bounded.p_value(threshold)
    from numpy.polynomial.hermite_e import hermegauss

    nodes, weights = hermegauss(_ERROR_NODES)
    parts = [bounded.p_value(threshold - error * float(node)) for node in nodes]
    return min(1.0, max(0.0, float((weights * parts).sum() / weights.sum())))


def _probability_below_zero(factors: Floats, counts: Floats) -> float:
    """P(sum of factor * E <= 0) for independent standard exponential E, each factor `counts` times.

    By inverting the transform along a line through its saddle point, where the integrand does not oscillate.
    """
    import numpy as np

    if factors.min() >= 0 or factors.max() <= 0:
        return float(factors.max() <= 0 and factors.min() < 0)
    if float((counts * factors).sum()) < 0:
        return 1 - _probability_below_zero(-factors, counts)
    low, high = 1 / float(factors.min()), 0.0
    for _ in range(50):
        point = (low + high) / 2
        slope = float((counts * factors / (1 - factors * point)).sum())
        low, high = (low, point) if slope > 0 else (point, high)
    # The line must stay away from the pole at 0.
    point = min(high, -0.3 / math.sqrt(float((counts * factors**2).sum())))
    width = 1 / math.sqrt(float((counts * (factors / (1 - factors * point)) ** 2).sum())) / 3
    steps, spacing = np.linspace(0, _REACH, _NODES, retstep=True)
    line = point + 1j * width * np.sinh(steps)
    exponent = np.zeros(len(line), np.complex128)
    for start in range(0, len(factors), _BLOCK):
        block = slice(start, start + _BLOCK)
        exponent -= (counts[block, None] * np.log1p(-factors[block, None] * line)).sum(axis=0)
    transform = np.exp(exponent)
    integrand = np.real(transform / -line) * np.cosh(steps)
    total = float(integrand.sum() - integrand[0] / 2) * float(spacing) * width / math.pi
    return min(1.0, max(0.0, total))
