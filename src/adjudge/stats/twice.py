"""The same items scored twice: the mean difference with its interval and its test, and how many items it takes.

A difference is second - first, the change. A value that is missing on one side takes no part in the mean: it is counted,
and `bounds` says what it leaves open. Items that share a group count as one observation in the interval and in the test.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Numbers, floats, same_length
from .dependent import Test, sign_flip
from .means import Bounds, mean_interval, standard_error
from .power import minimum_detectable

if TYPE_CHECKING:
    from .arrays import Floats

_WORK = 20_000_000
"""Signs that one test may draw: with many items fewer flips are needed for the same digits."""


class Paired(Struct, frozen=True):
    """How two scorings of the same items differ."""

    difference: Estimate
    """second - first"""
    test: Test
    """by flipping the signs of the differences"""
    bounds: Bounds | None
    """the mean difference whatever the missing values were; none where the scale is open"""
    minimum_detectable: float | None
    """the true difference that as many items would find four times in five"""


def paired_difference(
    first: Numbers,
    second: Numbers,
    clusters: Sequence[Hashable] | None = None,
    *,
    limits: tuple[float, float] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> Paired:
    """The mean of second - first, item by item; `limits` are the ends of the scale that both share."""
    import numpy as np

    same_length(first, second, clusters)
    a, b = floats(first), floats(second)
    apart = b - a
    kept = np.flatnonzero(~np.isnan(apart)).tolist()
    n_failed = len(apart) - len(kept)
    values = apart[kept].tolist()
    groups = None if clusters is None else [clusters[i] for i in kept]
    width = None if limits is None else limits[1] - limits[0]
    found = mean_interval(values, groups, n_failed, confidence, None if width is None else (-width, width))
    found = structs.replace(found, method=found.method.replace("mean", "mean of paired differences", 1))
    return Paired(
        found, flipped(values, groups, seed), _bounds(a, b, limits), detectable(values, groups, confidence)
    )


def flipped(values: Sequence[float], clusters: Sequence[Hashable] | None, seed: int = 0) -> Test:
    """The sign-flip test of a mean of differences; of groups, whole groups are flipped."""
    sums: Sequence[float] = values
    if clusters is not None:
        by_group: dict[Hashable, float] = defaultdict(float)
        for value, group in zip(values, clusters, strict=True):
            by_group[group] += value
        sums = list(by_group.values())
    n_flips = max(1000, min(10_000, _WORK // max(1, len(sums))))
    test = sign_flip(sums, n_resamples=n_flips, seed=seed)
    if clusters is None or test.statistic is None:
        return test
    mean = math.fsum(values) / len(values)
    return structs.replace(test, statistic=mean, n=len(values), method=f"{test.method}, by group")


def detectable(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, confidence: float = 0.95
) -> float | None:
    """The distance of a true mean from a fixed number that as many values would show four times in five."""
    precision = standard_error(values, clusters)
    if precision is None or precision.se <= 0:
        return None
    sd = precision.se * math.sqrt(precision.n_units)
    return minimum_detectable(precision.n_units, sd, is_paired=True, alpha=1 - confidence)


def units_needed(distance: float, sd: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The number of values at which a true mean so far from a fixed number is told from it with this probability.

    None where the distance is 0, or so small that ten million values would not do.
    """
    if not (math.isfinite(distance) and math.isfinite(sd)) or distance <= 0 or sd <= 0:
        return None

    def is_enough(n: int) -> bool:
        least = minimum_detectable(n, sd, is_paired=True, power=power, alpha=alpha)
        return least is not None and least <= distance

    low, high = 2, 10_000_000
    if not is_enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def _bounds(a: Floats, b: Floats, limits: tuple[float, float] | None) -> Bounds | None:
    """Every missing value at the one end of the scale, and at the other."""
    import numpy as np

    if limits is None or len(a) == 0:
        return None
    low, high = limits
    least = np.where(np.isnan(b), low, b) - np.where(np.isnan(a), high, a)
    most = np.where(np.isnan(b), high, b) - np.where(np.isnan(a), low, a)
    return Bounds(float(least.mean()), float(most.mean()))
