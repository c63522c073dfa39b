"""Means with their intervals, bounds under failures, spread, and the minimum detectable difference.

One formula serves single items and groups of items: the variance of the mean from the sums of
residuals per cluster, each divided by 1 - its share of the items (CR2), with Satterthwaite's
degrees of freedom (Bell and McCaffrey 2002). With one item per cluster it is the textbook
t interval; with equal clusters it is CR0 times G / (G - 1) and a t quantile at G - 1. In a
simulation of 5 to 100 clusters of unequal size (scores 1 to 5, intra-class correlation 0 to 1)
it covers 93 to 97 %, where G / (G - 1) and G - 1 fall to 87 %.

Scores by item in flat arrays, so that a hundred thousand of them need a few megabytes.

A key is any 64-bit number that identifies an item. A column may hold a key twice; its mean is then clustered.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Mapping, Sequence
from statistics import NormalDist, median
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    NORMAL_QUANTILE,
    Interval,
    label_codes,
    make_estimate,
    no_interval,
    t_quantile,
    undefined,
)


class Spread(Struct, frozen=True):
    """The most frequent value, its share, and the entropy in bits: a judge that always says 4 carries no information."""

    n: int
    mode: float | None
    mode_share: float | None
    entropy_bits: float | None
    relative_entropy: float | None = None
    """the entropy as a share of what evenly used levels would have; none where the levels are unknown"""


def spread(counts: Mapping[float, int], n_levels: int | None = None) -> Spread:
    """The spread of counts by value; of equally frequent values the smallest is the mode."""
    seen = {value: count for value, count in counts.items() if count > 0}
    n = sum(seen.values())
    if n == 0:
        return Spread(0, None, None, None)
    mode = min(seen, key=lambda value: (-seen[value], value))
    entropy = math.fsum(-count / n * math.log2(count / n) for count in seen.values())
    entropy = max(0.0, entropy)
    relative = entropy / math.log2(n_levels) if n_levels is not None and n_levels > 1 else None
    return Spread(n, mode, seen[mode] / n, entropy, relative)


if TYPE_CHECKING:
    from .arrays import Codes, Floats

ALL_SAME = "all values are the same"
"""Why a mean without a scale has no interval where nothing varies."""

_TINY = 1e-12
"""A standard error below this share of the mean is rounding, not information."""


class Precision(Struct, frozen=True):
    """How sharply a mean is known: its standard error and what that rests on."""

    se: float
    df: float
    n_units: int
    """independent observations: items, or groups where items share one"""


class Bounds(Struct, frozen=True):
    """The least and the greatest mean that the failures leave possible."""

    low: float
    high: float


def mean_interval(
    values: Sequence[float] | Floats,
    clusters: Sequence[Hashable] | None = None,
    n_failed: int = 0,
    limits: tuple[float, float] | None = None,
    name: str = "mean",
) -> Estimate:
    """The mean with a t interval, cluster-robust where `clusters` says which values belong together.

    `limits` are the ends of the scale: no interval reaches beyond them, and they make an interval
    possible where all values are the same. Values beyond them widen them. `name` is how the method
    calls this mean.
    """
    scores, codes, n_undefined = _finite(values, clusters)
    n = len(scores)
    if n == 0:
        return undefined("there is no value", n_failed=n_failed, n_undefined=n_undefined, unit="item")
    n_units = n if codes is None else int(codes.max()) + 1
    unit = "item" if codes is None else f"group (n={n_units})"
    mean = _total(scores) / n
    if not math.isfinite(mean):
        why = "the values are too large to add"
        return undefined(why, n=n, n_failed=n_failed, n_undefined=n_undefined, unit=unit)
    interval = t_interval(scores, codes, limits)
    return make_estimate(mean, interval, name, n=n, n_failed=n_failed, n_undefined=n_undefined, unit=unit)


def standard_error(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, is_corrected: bool = True
) -> Precision | None:
    """The standard error of the mean; none for fewer than two values or clusters.

    `is_corrected=False` gives the plain sum over clusters (CR0), which is too small for few of them.
    """
    scores, codes, _ = _finite(values, clusters)
    return precision_of(scores, codes, is_corrected)


def bounds(values: Sequence[float], n_failed: int, low: float | None, high: float | None) -> Bounds | None:
    """The mean if every failure had been at the one end of the scale, and at the other.

    None where the scale is unbounded or nothing was judged.
    """
    import numpy as np

    n = len(values) + n_failed
    if low is None or high is None or n == 0:
        return None
    total = _total(np.asarray(values, dtype=np.float64))
    ends = sorted(((total + n_failed * low) / n, (total + n_failed * high) / n))
    return Bounds(*ends) if all(map(math.isfinite, ends)) else None


def _total(scores: Floats) -> float:
    """The sum, or an infinity where it is beyond what a float holds."""
    import numpy as np

    with np.errstate(all="ignore"):
        return float(scores.sum())


def _finite(
    values: Sequence[float] | Floats, clusters: Sequence[Hashable] | None
) -> tuple[Floats, Codes | None, int]:
    """The values that are numbers, the clusters as 0, 1, 2, … in their order, and how many were dropped."""
    import numpy as np

    scores = np.asarray(values, dtype=np.float64)
    kept = np.isfinite(scores)
    n_dropped = int(len(scores) - kept.sum())
    codes: Codes | None = None
    if clusters is not None:
        if len(clusters) != len(scores):
            raise ValueError(f"{len(clusters)} clusters for {len(scores)} values")
        labels: Any = clusters if hasattr(clusters, "typecode") else label_codes(clusters)[0]
        _, codes = np.unique(np.asarray(labels)[kept], return_inverse=True)
    return scores[kept], codes, n_dropped


def t_interval(
    scores: Floats, codes: Codes | None = None, limits: tuple[float, float] | None = None
) -> Interval:
    """The interval of the mean of finite scores; `codes` are their clusters as 0, 1, 2, …"""
    if limits is not None:
        limits = min(*limits, float(scores.min())), max(*limits, float(scores.max()))
    mean = _total(scores) / len(scores)
    precision = precision_of(scores, codes)
    if precision is None:
        why = "one value alone" if codes is None or len(scores) == 1 else "all items belong to one group"
        return no_interval(why)
    if scores.min() == scores.max():
        return _interval_of_equal_values(float(scores[0]), precision.n_units, limits)
    # On a longer scale, that only its ends were seen is chance.
    is_short = limits is not None and limits[1] - limits[0] == 1
    if limits is not None and is_short and bool(((scores == limits[0]) | (scores == limits[1])).all()):
        return _interval_of_two_ends(scores, codes, limits)
    if precision.se <= _TINY * max(1.0, abs(mean)):
        return no_interval("every group has the same mean")
    half = t_quantile(precision.df) * precision.se
    low, high = mean - half, mean + half
    if not (math.isfinite(low) and math.isfinite(high)):
        return no_interval("the values are too large")
    how = ", t interval"
    if codes is not None:
        how = f", cluster-robust t interval (CR2, {precision.df:.3g} degrees of freedom)"
    if limits is not None and (low < limits[0] or high > limits[1]):
        # The mean cannot lie beyond the scale, so cutting costs no coverage.
        low, high = max(low, limits[0]), min(high, limits[1])
        how += ", cut to the scale"
    return Interval(low, high, how)


def _interval_of_equal_values(value: float, n_units: int, limits: tuple[float, float] | None) -> Interval:
    """All values are one: a t interval would have no width, and claim a certainty that is not there.

    After n equal values, at most 1 - (1 - confidence)^(1/n) of all items have another (the exact
    binomial bound; 3/n in short). Were those at the ends of the scale, the mean would move so far.
    """
    if limits is None:
        return no_interval(ALL_SAME)
    others = -math.expm1(math.log1p(-CONFIDENCE) / n_units)
    low = min(value, value - others * (value - limits[0]))
    high = max(value, value + others * (limits[1] - value))
    return Interval(low, high, "; all values are the same, so the interval bounds the share of others")


def _interval_of_two_ends(scores: Floats, codes: Codes | None, limits: tuple[float, float]) -> Interval:
    """Only the two ends of the scale occur: the mean is a share, and has Wilson's interval."""
    low, width = limits[0], limits[1] - limits[0]
    share = share_interval((scores - low) / width, codes)
    how = ", Wilson interval"
    if share.n_effective < len(scores):
        how += f" for {share.n_effective} independent values of {len(scores)}"
    return Interval(low + width * share.low, low + width * share.high, how)


class ShareInterval(NamedTuple):
    """Wilson's interval, and for how many independent values."""

    low: float
    high: float
    n_effective: int


def share_interval(shares: Floats, codes: Codes | None = None) -> ShareInterval:
    """Wilson's interval of the mean of shares, for as many values as the clusters are worth.

    Values of one cluster that go together count for less: n is multiplied by the variance that independent values
    would have and divided by the one that the clusters show (Kish's design effect). It never counts for more.
    """
    n, rate = len(shares), min(1.0, max(0.0, _total(shares) / len(shares)))
    effective, quantile = float(n), NORMAL_QUANTILE
    n_units = n if codes is None else int(codes.max()) + 1
    if codes is not None and n_units < n:
        precision = precision_of(shares, codes)
        if precision is not None and precision.se > 0 and 0 < rate < 1:
            effective = min(effective, rate * (1 - rate) / precision.se**2)
            quantile = t_quantile(precision.df)
        else:
            effective = float(n_units)
    n_effective = max(1, math.floor(effective + 1e-9))
    return ShareInterval(*wilson_interval(rate, n_effective, quantile), n_effective)


def precision_of(scores: Floats, codes: Codes | None = None, is_corrected: bool = True) -> Precision | None:
    """The standard error of the mean of finite scores; `codes` are their clusters as 0, 1, 2, …"""
    import numpy as np

    n = len(scores)
    n_units = n if codes is None else int(codes.max(initial=-1)) + 1
    if n_units < 2:
        return None
    with np.errstate(all="ignore"):
        residuals = scores - scores.sum() / n
        sums = residuals if codes is None else np.bincount(codes, weights=residuals)
        shares = np.full(n, 1 / n) if codes is None else np.bincount(codes) / n
        if not is_corrected:
            return Precision(float(np.sqrt(np.sum(sums**2)) / n), n_units - 1, n_units)
        variance = np.sum(sums**2 / (1 - shares)) / n**2
        # Satterthwaite under independent errors; equal shares give n_units - 1 exactly.
        squares = shares**2
        spread = squares.sum() + np.sum(squares / (1 - shares)) ** 2 - np.sum((squares / (1 - shares)) ** 2)
        return Precision(float(np.sqrt(variance)), float(1 / spread), n_units)


# -- a mean compared with a threshold

# A t interval is too narrow near the end of a scale: twenty items of which none is a rare 1 look like a sure 4.9. The bound
# below holds there. Weights drawn from a flat Dirichlet distribution are given to the values and to one more value at the
# bad end of the scale, and the bound is a quantile of the weighted mean (Gaffke 2005; Learned-Miller and Thomas 2019). On
# two levels it is the exact binomial bound of Clopper and Pearson. No value is divided by a spread, so a better sample never
# has a lower bound. Groups are weighted as a whole, and the additional value is a group of typical size.

DECISION_LEVEL = (1 - CONFIDENCE) / 2
"""The largest p-value that decides: each wrong decision happens at most once in forty."""

_MOST_VALUES = 4096
"""Different values, from which they are rounded to a grid, away from the decision."""
_NODES, _REACH = 160, 8.5
"""Of the numerical integral: exact to ten digits from one value to a million."""


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

    `limits` are the lowest and the highest value that an item can have. Without them a t test decides. The p-values are
    ten times faster `with_bounds=False`.
    """
    scores, codes, _ = _finite(values, clusters)
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
    below = _BoundedMean(sums, sizes, low, high)
    above = _BoundedMean(-sums, sizes, -high, -low)
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
    t = (_total(scores) / len(scores) - threshold) / precision.se
    return MeanTest(
        float(stdtr(precision.df, -t)), float(stdtr(precision.df, t)), interval.low, interval.high, "t test"
    )


_MUCH_WIDER = 1.05


def is_much_wider(first: Estimate, second: Estimate) -> bool:
    """Whether the interval of the first is wider than that of the second by more than 5 %."""
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return False
    return first.high - first.low > _MUCH_WIDER * (second.high - second.low)


def p_of_arms(distance: float, arm: float, df: float) -> float:
    """The one-sided p-value of a distance, from the arm of a 95 % interval that points against it."""
    from scipy.special import stdtr

    if arm <= 0:
        return float(distance < 0)
    return float(stdtr(df, -t_quantile(df) * distance / arm))


def wilson_interval(share: float, n: float, quantile: float = NORMAL_QUANTILE) -> tuple[float, float]:
    """Wilson's interval of a share (1927); `quantile` standard errors on each side."""
    z = quantile
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # Rounding must not put a bound on the wrong side of a share of exactly 0 or 1.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


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


class _BoundedMean:
    """The lower bound of a mean whose values cannot be below `low`."""

    def __init__(self, sums: Floats, sizes: Floats | None, low: float, high: float) -> None:
        import numpy as np

        self.low, self.range = low, max(high - low, 1e-300)
        if sizes is None:
            extra = 1.0
            if len(sums) > _MOST_VALUES:
                # Downwards, so that rounding never helps the finding.
                step = self.range / _MOST_VALUES
                sums = low + np.floor((sums - low) / step + 1e-9) * step
            sums, numbers = np.unique(sums, return_counts=True)
            sizes, counts = np.ones(len(sums)), numbers.astype(np.float64)
        else:
            # The size of the group to which a typical item belongs.
            counts, extra = np.ones(len(sums)), float((sizes**2).sum() / sizes.sum())
        self.sums, self.sizes = np.append(sums, extra * low), np.append(sizes, extra)
        self.counts = np.append(counts, 1.0)
        self.mean = float((self.sums[:-1] * self.counts[:-1]).sum() / (self.sizes * self.counts)[:-1].sum())

    def p_value(self, threshold: float) -> float:
        """How probable a weighted mean up to the threshold is."""
        import numpy as np

        apart = (self.sums - self.sizes * threshold) / self.range
        return _probability_below_zero(np.where(np.abs(apart) < 1e-12, 0.0, apart), self.counts)

    def bound(self) -> float:
        """The threshold at which the p-value is as large as a decision allows."""
        from scipy.optimize import brentq

        def excess(threshold: float) -> float:
            return self.p_value(threshold) - DECISION_LEVEL

        if excess(self.mean) < 0:
            return self.mean
        if excess(self.low) >= 0 or self.mean <= self.low:
            return self.low
        return float(brentq(excess, self.low, self.mean, xtol=1e-9 * self.range, rtol=1e-12))


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
    transform = np.exp(-(counts[:, None] * np.log1p(-factors[:, None] * line)).sum(axis=0))
    integrand = np.real(transform / -line) * np.cosh(steps)
    total = float(integrand.sum() - integrand[0] / 2) * float(spacing) * width / math.pi
    return min(1.0, max(0.0, total))


# -- power of the two-sided t test (noncentral t)


_LARGE = 5000
"""Degrees of freedom from which the normal distribution is exact to four digits."""


def minimum_detectable(
    n: int, sd: float, *, is_paired: bool = False, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """The true difference that a test of `n` items (per system) finds with probability `power`.

    `sd` is the standard deviation of the differences if the same items are compared
    (`is_paired`), otherwise of the scores of one system. None where there are too few items or
    the scores do not vary.
    """
    if n < 2 or not math.isfinite(sd) or sd <= 0:
        return None
    df = n - 1 if is_paired else 2 * n - 2
    root = math.sqrt(n if is_paired else n / 2)
    if df > _LARGE:
        normal = NormalDist()
        shift = normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)
    else:
        shift = _noncentrality(df, power, alpha)
    difference = sd * shift / root
    return difference if math.isfinite(difference) else None


def detectable_difference(precisions: Sequence[Precision | None]) -> float | None:
    """The true difference of two systems that an unpaired test finds with 80 % power, from each system's precision.

    Two systems of typical precision are taken: the mean square of their standard errors, which count groups where
    items share one, and the median number of observations. None where no system has two.
    """
    known = [precision for precision in precisions if precision is not None]
    if not known:
        return None
    n_units = round(median(precision.n_units for precision in known))
    sd = math.hypot(*(precision.se for precision in known)) * math.sqrt(n_units / len(known))
    return minimum_detectable(n_units, sd)


def _noncentrality(df: int, power: float, alpha: float) -> float:
    """The noncentrality at which the two-sided t test has the wanted power, by halving."""
    from scipy.special import nctdtr, stdtrit

    critical = float(stdtrit(df, 1 - alpha / 2))
    low, high = 0.0, 2 * critical + 40.0
    for _ in range(60):
        middle = (low + high) / 2
        reached = 1 - float(nctdtr(df, middle, critical)) + float(nctdtr(df, middle, -critical))
        low, high = (middle, high) if reached < power else (low, middle)
    return (low + high) / 2


class Column:
    """The scores of one criterion: for each a key, a value, its group, and whether it is marked."""

    __slots__ = ("groups", "has_groups", "keys", "marks", "values")

    def __init__(self) -> None:
        self.keys = array("q")
        self.values = array("d")
        self.groups = array("q")
        self.marks = array("b")
        self.has_groups = False
        """whether any group was given; otherwise each item is its own"""

    def __len__(self) -> int:
        return len(self.values)

    def add(self, key: int, value: float, group: int, *, is_grouped: bool, is_marked: bool = False) -> None:
        """One more score; `group` is a number of the item where it has no group."""
        self.keys.append(key)
        self.values.append(value)
        self.groups.append(group)
        self.marks.append(is_marked)
        self.has_groups = self.has_groups or is_grouped

    def clusters(self) -> array[int] | None:
        """Which scores belong together; none where each stands alone."""
        if self.has_groups or self.n_groups() < len(self):
            return self.groups
        return None

    def n_groups(self) -> int:
        """How many different groups there are."""
        return n_distinct([self.groups])

    def mean(self, n_failed: int = 0, limits: tuple[float, float] | None = None) -> Estimate:
        """The mean with its interval, clustered where scores belong together."""
        return mean_interval(self.values, self.clusters(), n_failed, limits=limits)

    def precision(self) -> Precision | None:
        """How sharply the mean is known."""
        return standard_error(self.values, self.clusters())

    def counts(self) -> dict[float, int]:
        """How often each value occurs, smallest first."""
        import numpy as np

        values, counts = np.unique(np.asarray(self.values), return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def unmarked(self) -> Column:
        """The scores without a mark."""
        import numpy as np

        kept = np.asarray(self.marks) == 0
        return _column(
            (np.asarray(part)[kept] for part in (self.keys, self.values, self.groups, self.marks)),
            self.has_groups,
        )


def joined(columns: Sequence[Column]) -> Column:
    """All scores of several columns, one after the other."""
    together = Column()
    for column in columns:
        together.keys.extend(column.keys)
        together.values.extend(column.values)
        together.groups.extend(column.groups)
        together.marks.extend(column.marks)
        together.has_groups = together.has_groups or column.has_groups
    return together


def pooled(columns: Sequence[Column]) -> tuple[Column, int]:
    """One score per key, the mean of those that have it, and how many keys not every column has."""
    import numpy as np

    together = joined(columns)
    keys, first, places, counts = np.unique(
        np.asarray(together.keys), return_index=True, return_inverse=True, return_counts=True
    )
    if len(keys) == 0:
        return together, 0
    with np.errstate(all="ignore"):
        means = np.bincount(places, weights=np.asarray(together.values)) / counts
        # A mean of equal values must be that value, or counting by value would tell twins apart.
        rounded = np.round(means, 12)
    means = np.where(np.isfinite(rounded), rounded, means)
    marks = np.bincount(places, weights=np.asarray(together.marks)) > 0
    column = _column((keys, means, np.asarray(together.groups)[first], marks), together.has_groups)
    return column, int(np.sum(counts < len(columns)))


def missing_from(column: Column, others: Column) -> Column:
    """The first row of each key that does not occur in `others`."""
    import numpy as np

    _, first = np.unique(np.asarray(column.keys), return_index=True)
    kept = first[~np.isin(np.asarray(column.keys)[first], np.asarray(others.keys))]
    parts = (column.keys, column.values, column.groups, column.marks)
    return _column((np.asarray(part)[kept] for part in parts), column.has_groups)


def n_distinct(numbers: Sequence[array[int]]) -> int:
    """How many different numbers there are in several arrays."""
    import numpy as np

    return len(np.unique(np.concatenate([np.asarray(part) for part in numbers]))) if numbers else 0


def matched(x: Column, y: Column) -> tuple[array[float], array[float], int | None, int]:
    """The values of the keys that both columns have, the number of their groups (none: each item
    stands alone), and how many keys only one of them has. Both must be `pooled`: no key twice."""
    import numpy as np

    x_keys, y_keys = np.asarray(x.keys), np.asarray(y.keys)
    common, in_x, in_y = np.intersect1d(x_keys, y_keys, assume_unique=True, return_indices=True)
    n_groups = len(np.unique(np.asarray(x.groups)[in_x]))
    is_grouped = x.has_groups or n_groups < len(common)
    return (
        _array("d", np.asarray(x.values)[in_x]),
        _array("d", np.asarray(y.values)[in_y]),
        n_groups if is_grouped else None,
        len(x_keys) + len(y_keys) - 2 * len(common),
    )


def _column(parts: Any, has_groups: bool) -> Column:
    column = Column()
    keys, values, groups, marks = parts
    column.keys, column.values = _array("q", keys), _array("d", values)
    column.groups, column.marks = _array("q", groups), _array("b", marks.astype("int8"))
    column.has_groups = has_groups
    return column


def _array(kind: Any, numbers: Any) -> Any:
    """A numpy array as a flat array of the standard library, for callers who know nothing of numpy."""
    flat = array(kind)
    flat.frombytes(numbers.tobytes())
    return flat
