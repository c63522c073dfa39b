"""Shares with their intervals: Wilson, Newcombe, Rogan and Gladen.

Wilson's interval is right for 0 of 20, where the textbook one has no width.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import structs

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    NORMAL_QUANTILE,
    Numbers,
    floats,
    same_length,
    undefined,
)
from .means import is_much_wider, wilson_interval
from .win_rates import clustered_share

if TYPE_CHECKING:
    from .arrays import Floats


def wilson(successes: float, n: int, n_failed: int = 0, name: str = "share", unit: str = "item") -> Estimate:
    """The share of successes with Wilson's interval; half successes (ties) are allowed."""
    if n <= 0:
        return undefined("there is nothing to count", n_failed=n_failed, unit=unit)
    share = successes / n
    low, high = wilson_interval(share, n)
    return Estimate(share, low, high, n, n_failed, method=f"{name}, Wilson interval", unit=unit)


def difference_of_shares(
    first: float, n_first: int, second: float, n_second: int, confidence: float = CONFIDENCE
) -> Estimate:
    """first/n_first - second/n_second with Newcombe's interval (1998, method 10).

    A higher `confidence` corrects for many comparisons; every other interval is at 95 %.
    """
    if n_first <= 0 or n_second <= 0:
        return undefined("one side has nothing to count", n=max(n_first, 0) + max(n_second, 0), unit="item")
    p, q = first / n_first, second / n_second
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    p_low, p_high = wilson_interval(p, n_first, z)
    q_low, q_high = wilson_interval(q, n_second, z)
    low = p - q - math.hypot(p - p_low, q_high - q)
    high = p - q + math.hypot(p_high - p, q - q_low)
    return Estimate(
        p - q, low, high, n_first + n_second, method="difference of shares, Newcombe interval", unit="item"
    )


def paired_difference_of_shares(
    first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Estimate:
    """Share of `first` - share of `second` on the same items, with Newcombe's interval for pairs (1998,
    method 10).

    Wilson's two intervals, for as many items as the clusters are worth, are added as squares and less their
    correlation.
    """
    n = len(first)
    if n == 0:
        return undefined("there is nothing to count", unit="item")
    one, other = (
        clustered_share([float(hit) for hit in hits], clusters, unit="item") for hits in (first, second)
    )
    p, q = one.value, other.value
    assert p is not None
    assert q is not None
    assert one.low is not None
    assert one.high is not None
    assert other.low is not None
    assert other.high is not None
    both = sum(a and b for a, b in zip(first, second, strict=True)) / n
    spread = math.sqrt(p * (1 - p) * q * (1 - q))
    correlation = (both - p * q) / spread if spread > 0 else 0.0

    def arm(left: float, right: float) -> float:
        return math.sqrt(max(0.0, left**2 - 2 * correlation * left * right + right**2))

    low = p - q - arm(p - one.low, other.high - q)
    high = p - q + arm(one.high - p, q - other.low)
    if not any(second):
        # Nothing to subtract: the interval is that of the first share alone.
        low, high = one.low, one.high
    method = "paired difference of shares, Newcombe interval"
    return Estimate(p - q, low, high, n, method=method, unit=one.unit, caution=one.caution)


def rogan_gladen(
    true_positive: float,
    n_positive: float,
    true_negative: float,
    n_negative: float,
    judge_positive: float,
    n: int,
) -> Estimate:
    """The share of items that people would pass (Rogan and Gladen 1978), from counts: of the labelled
    positives and negatives those that the judge got right, and of `n` other items those that it passed.
    Delta-method interval.

    share = (judge's share + specificity - 1) / (sensitivity + specificity - 1). It is undefined where the
    judge is not shown to be better than chance: then the denominator may be 0.

    Where the judge was always right or always wrong on one side, half an item is added to each of the
    two counts (Haldane 1956), since a variance of 0 would claim to know the rate exactly.
    """
    if n <= 0 or n_positive <= 0 or n_negative <= 0:
        why = "no item was judged" if n <= 0 else "the labels need items that passed and items that failed"
        return undefined(why, n=max(0, n), unit="item")
    n_labelled = n_positive + n_negative
    p = judge_positive / n
    sensitivity, of_s = _rate(true_positive, n_positive)
    specificity, of_t = _rate(true_negative, n_negative)
    youden = sensitivity + specificity - 1
    z = NORMAL_QUANTILE
    noise = math.sqrt(sensitivity * (1 - sensitivity) / of_s + specificity * (1 - specificity) / of_t)
    if youden - z * noise <= 0:
        rates = f"sensitivity {sensitivity:.2f} and specificity {specificity:.2f} on {n_labelled:g} labels"
        return undefined(f"the judge is not shown to be better than chance ({rates})", n=n, unit="item")
    share = (p + specificity - 1) / youden
    variance = (
        p * (1 - p) / n
        + share**2 * sensitivity * (1 - sensitivity) / of_s
        + (1 - share) ** 2 * specificity * (1 - specificity) / of_t
    ) / youden**2
    half = z * math.sqrt(variance)
    inside = min(1.0, max(0.0, share))
    low, high = min(inside, max(0.0, share - half)), max(inside, min(1.0, share + half))
    cut = ", cut to 0 to 1" if inside != share else ""
    method = f"Rogan-Gladen share from {n_labelled:g} labels, delta-method interval{cut}"
    return Estimate(inside, low, high, n, 0, 0, method, "item")


def _rate(right: float, n: float) -> tuple[float, float]:
    return ((right + 0.5) / (n + 1), n + 1.0) if right in (0, n) else (right / n, float(n))


def corrected_share(
    labels: Numbers,
    judged: Numbers,
    clusters: Sequence[Hashable] | None = None,
    probabilities: Numbers | None = None,
) -> Estimate:
    """The same item by item: 1 is a pass, 0 a fail, none is no label or no answer of the judge.

    The labelled items tell how the judge errs, the others how often it passes. What lies in between, raters
    who differ for instance, counts in part as a pass and in part as a fail. `probabilities` of being drawn,
    where they differ, weight the labels. Where the labels alone give a narrower interval, they are the
    answer: with few passes or few fails among them, the judge's errors are known too poorly.
    """
    import numpy as np

    same_length(labels, judged, clusters, probabilities)
    y, f = floats(labels), floats(judged)
    n_failed = int(np.isnan(f).sum())
    is_judged, is_labelled = (f >= 0) & (f <= 1), (y >= 0) & (y <= 1)
    known = is_judged & is_labelled
    # Items that were drawn with unequal chances leave a rest that does not stand for all.
    rest = is_judged & (np.isnan(y) if probabilities is None else True)
    weights = np.ones(len(y)) if probabilities is None else 1 / floats(probabilities)
    passed, failed = (
        _side(y[known], f[known], weights[known]),
        _side(1 - y[known], 1 - f[known], weights[known]),
    )
    estimate = rogan_gladen(*passed, *failed, float(f[rest].sum()), int(rest.sum()))
    if estimate.value is not None and probabilities is None:
        kept = np.flatnonzero(is_labelled).tolist()
        alone = clustered_share(y[kept].tolist(), None if clusters is None else [clusters[i] for i in kept])
        if is_much_wider(estimate, alone):
            method = f"share of the labels{alone.method.removeprefix('share').removeprefix(_TIES)}"
            estimate = structs.replace(alone, method=method, unit="label" if clusters is None else alone.unit)
    return structs.replace(estimate, n_failed=n_failed)


_TIES = ", a tie is half a win"


def _side(y: Floats, right: Floats, weights: Floats) -> tuple[float, float]:
    """Of the items on one side, as many as their weights are worth: those that the judge got right, and
    all."""
    total = float((weights * y).sum())
    if total <= 0:
        return 0.0, 0.0
    worth = total**2 / float((weights**2 * y).sum())
    return float((weights * y * right).sum()) / total * worth, worth
