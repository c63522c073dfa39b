"""Correlation of two scores over the same items. The level (items, groups, systems) is the caller's.

The interval is Fisher's, with Bonett and Wright's variance (2000) for ranks. Where items share a
group, the number of groups stands in for n in it, which is cautious.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from ..records import Estimate
from .undefined import undefined, without_interval

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


def pearson(x: Sequence[float], y: Sequence[float], n_units: int | None = None) -> Estimate:
    """Pearson's correlation; undefined where a side is constant."""
    return _correlation(x, y, n_units, is_ranked=False)


def spearman(x: Sequence[float], y: Sequence[float], n_units: int | None = None) -> Estimate:
    """Spearman's rank correlation, ties at their mean rank; undefined where a side is constant."""
    return _correlation(x, y, n_units, is_ranked=True)


def _correlation(x: Sequence[float], y: Sequence[float], n_units: int | None, *, is_ranked: bool) -> Estimate:
    import numpy as np

    if len(x) != len(y):
        raise ValueError(f"{len(x)} values against {len(y)}")
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    kept = np.isfinite(a) & np.isfinite(b)
    a, b = a[kept], b[kept]
    n, n_undefined = len(a), int(len(kept) - kept.sum())
    units = n if n_units is None else min(n, n_units)
    unit = "item" if n_units is None else f"group (n={n_units})"
    if n < 2:
        return undefined("fewer than two pairs", n=n, n_undefined=n_undefined, unit=unit)
    if a.min() == a.max() or b.min() == b.max():
        return undefined("one side is constant", n=n, n_undefined=n_undefined, unit=unit)
    value = _product_moment(_ranks(a), _ranks(b)) if is_ranked else _product_moment(a, b)
    if value is None:
        return undefined("the values are too large or too close", n=n, n_undefined=n_undefined, unit=unit)
    name = "Spearman" if is_ranked else "Pearson"
    low, high = _fisher(value, units, is_ranked)
    method = f"{name}, Fisher interval"
    if low is None:
        why = "a perfect correlation" if units > 3 else "fewer than four independent pairs"
        method = without_interval(name, why)
    return Estimate(value, low, high, n, 0, n_undefined, method, unit)


def _ranks(values: NDArray[float64]) -> NDArray[float64]:
    """1, 2, 3, …; equal values share the mean of their places."""
    import numpy as np

    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: NDArray[float64] = (last - (counts - 1) / 2)[places]
    return middle


def _product_moment(a: NDArray[float64], b: NDArray[float64]) -> float | None:
    import numpy as np

    with np.errstate(all="ignore"):
        # Dividing by the largest deviation first keeps squares within what a float can hold.
        a, b = a - a.sum() / len(a), b - b.sum() / len(b)
        a, b = a / np.abs(a).max(), b / np.abs(b).max()
        value = float(a @ b / np.sqrt((a @ a) * (b @ b)))
    return max(-1.0, min(1.0, value)) if math.isfinite(value) else None


def _fisher(value: float, n: int, is_ranked: bool) -> tuple[float | None, float | None]:
    if n <= 3 or abs(value) > 1 - 1e-12:
        return None, None
    variance = (1 + value**2 / 2 if is_ranked else 1.0) / (n - 3)
    half = NormalDist().inv_cdf(0.975) * math.sqrt(variance)
    return math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)
