"""Shares with their intervals: Wilson's, Newcombe's for a difference, and Rogan and Gladen's corrected share.

Wilson's interval is right for 0 of 20, where the textbook one has no width.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from msgspec import structs

from ..records import Estimate
from .arrays import CONFIDENCE, NORMAL_QUANTILE, Numbers, floats, same_length, undefined


def wilson(successes: float, n: int, n_failed: int = 0, name: str = "share", unit: str = "item") -> Estimate:
    """The share of successes with Wilson's interval; half successes (ties) are allowed."""
    if n <= 0:
        return undefined("there is nothing to count", n_failed=n_failed, unit=unit)
    share = successes / n
    low, high = _score_interval(share, n)
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
    p_low, p_high = _score_interval(p, n_first, confidence)
    q_low, q_high = _score_interval(q, n_second, confidence)
    low = p - q - math.hypot(p - p_low, q_high - q)
    high = p - q + math.hypot(p_high - p, q - q_low)
    return Estimate(
        p - q, low, high, n_first + n_second, method="difference of shares, Newcombe interval", unit="item"
    )


def _score_interval(share: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # Rounding must not put a bound on the wrong side of a share of exactly 0 or 1.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def rogan_gladen(
    true_positive: float,
    n_positive: float,
    true_negative: float,
    n_negative: float,
    judge_positive: float,
    n: int,
) -> Estimate:
    """The share of items that people would pass (Rogan and Gladen 1978), from counts: of the labelled positives and
    negatives those that the judge got right, and of `n` other items those that it passed. Delta-method interval.

    share = (judge's share + specificity - 1) / (sensitivity + specificity - 1). It is undefined where the judge is not
    shown to be better than chance: then the denominator may be 0.

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


def corrected_share(labels: Numbers, judged: Numbers) -> Estimate:
    """The same item by item: 1 is a pass, 0 a fail, none is no label or no answer of the judge.

    The labelled items tell how the judge errs, the others how often it passes. What lies in between, raters who differ
    for instance, counts in part as a pass and in part as a fail.
    """
    import numpy as np

    same_length(labels, judged)
    y, f = floats(labels), floats(judged)
    n_failed = int(np.isnan(f).sum())
    is_judged, is_labelled = (f >= 0) & (f <= 1), (y >= 0) & (y <= 1)
    rest, known = is_judged & np.isnan(y), is_judged & is_labelled
    y, judged_labelled = y[known], f[known]
    estimate = rogan_gladen(
        float((y * judged_labelled).sum()),
        float(y.sum()),
        float(((1 - y) * (1 - judged_labelled)).sum()),
        float((1 - y).sum()),
        float(f[rest].sum()),
        int(rest.sum()),
    )
    return structs.replace(estimate, n_failed=n_failed)
