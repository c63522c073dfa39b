"""Power of the two-sided t test: the smallest true difference that so many items detect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, median
from typing import TYPE_CHECKING

from .means import Precision

if TYPE_CHECKING:
    pass


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
    """The true difference of two systems that an unpaired test finds with 80 % power, from each system's
    precision.

    Two systems of typical precision are taken: the mean square of their standard errors, which count groups
    where items share one, and the median number of observations. None where no system has two.
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
