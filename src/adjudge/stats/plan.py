"""How many labels it takes to know a mean to a given width, with the judge and without."""

from __future__ import annotations

import math

from msgspec import Struct

from .arrays import Numbers, floats, same_length
from .regression import fit


class Plan(Struct, frozen=True):
    """The labels needed in all, those already there included."""

    width: float
    n_labels: int
    """labels that the plan was made from"""
    with_judge: int | None
    without_judge: int | None
    why: str = ""
    """why a number is missing"""


def labels_needed(labels: Numbers, scores: Numbers, width: float, confidence: float = 0.95) -> Plan:
    """The labels at which the whole interval of the PPI++ mean is as wide as `width`.

    From the variances that the labels so far show: width = 2 t(n - 2) sqrt(residual variance / n +
    judge's part / N). The last part does not shrink with labels, only with more items.
    """
    import numpy as np

    same_length(labels, scores)
    y, f = floats(labels), floats(scores)
    n, n_items = int((~np.isnan(y)).sum()), len(y)
    if not (math.isfinite(width) and width > 0):
        return Plan(width, n, None, None, "the width must be above 0")
    fitted = fit(y, f) if n >= 3 else None
    if fitted is None:
        return Plan(width, n, None, None, "it takes at least three labels that differ to plan from")
    with_judge = _smallest(width, fitted.residual_variance, fitted.floor, 2, n_items, confidence)
    without = _smallest(width, fitted.label_variance, 0.0, 1, None, confidence)
    why = ""
    if with_judge is None:
        is_floor = _half(n_items, fitted.residual_variance, fitted.floor, 2, confidence) * 2 > width
        why = f"{n_items} items are too few for this width" if is_floor else "the width is out of reach"
    return Plan(width, n, with_judge, without, why)


def _half(n: int, variance: float, floor: float, n_fitted: int, confidence: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(n - n_fitted, (1 + confidence) / 2)) * math.sqrt(variance / n + floor)


def _smallest(
    width: float, variance: float, floor: float, n_fitted: int, limit: int | None, confidence: float
) -> int | None:
    """The smallest n whose interval is narrow enough, by halving: the width falls with n."""
    low = n_fitted + 1
    high = limit if limit is not None else 10**9
    if high < low or 2 * _half(high, variance, floor, n_fitted, confidence) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        if 2 * _half(middle, variance, floor, n_fitted, confidence) <= width:
            high = middle
        else:
            low = middle + 1
    return low
