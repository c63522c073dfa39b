"""Paired differences of scores on the same items, their tests, and p-values adjusted for many tests.

Two systems, or two scorings, are compared item by item, so that hard items cost both alike. Two systems without a
shared input are compared by their means, as independent samples.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import CONFIDENCE, Numbers, floats, same_length, t_quantile, undefined
from .bradley_terry import Games
from .means import Bounds, mean_interval, minimum_detectable, standard_error
from .two_judges import Test, sign_flip

if TYPE_CHECKING:
    from .arrays import Floats


Adjustment = Literal["holm", "by"]


def adjusted(p_values: Sequence[float | None], method: Adjustment = "holm") -> list[float | None]:
    """Adjusted p-values in the given order; a test without a p-value stays without and does not count.

    `holm` (1979) bounds the chance of any false finding; `by` (Benjamini and Yekutieli 2001) the
    expected share of false ones, under any dependence of the tests.
    """
    known = [(p, i) for i, p in enumerate(p_values) if p is not None and not math.isnan(p)]
    corrected: list[float | None] = [None] * len(p_values)
    m = len(known)
    if method == "holm":
        highest = 0.0
        for place, (p, i) in enumerate(sorted(known)):
            highest = max(highest, min(1.0, (m - place) * p))
            corrected[i] = highest
        return corrected
    factor, lowest = math.fsum(1 / k for k in range(1, m + 1)), 1.0
    for place, (p, i) in reversed(list(enumerate(sorted(known), start=1))):
        lowest = min(lowest, factor * m * p / place)
        corrected[i] = lowest
    return corrected


# -- one pair of scorings

# A value that is missing on one side is left out of the mean and counted; `bounds` says what it leaves open. Items that
# share a group count as one observation in the interval and in the test.


_WORK = 20_000_000
"""Signs that one test may draw: with many items fewer flips are needed for the same digits."""


class Paired(Struct, frozen=True):
    """How two scorings of the same items differ."""

    difference: Estimate
    """second - first"""
    test: Test
    """by flipping the signs of the differences"""
    bounds: Bounds | None
    """the range of the mean difference including missing values; none where the scale is unbounded"""
    minimum_detectable: float | None
    """the smallest difference that as many items detect with 80 % power"""


def paired_difference(
    first: Numbers,
    second: Numbers,
    clusters: Sequence[Hashable] | None = None,
    *,
    limits: tuple[float, float] | None = None,
    seed: int = 0,
) -> Paired:
    """The mean of second - first, item by item; `limits` are the ends of the scale that both share."""
    import numpy as np

    same_length(first, second, clusters)
    a, b = floats(first), floats(second)
    differences = b - a
    kept = np.flatnonzero(~np.isnan(differences)).tolist()
    n_failed = len(differences) - len(kept)
    values = differences[kept].tolist()
    groups = None if clusters is None else [clusters[i] for i in kept]
    width = None if limits is None else limits[1] - limits[0]
    ends = None if width is None else (-width, width)
    difference = mean_interval(values, groups, n_failed, ends, "mean of paired differences")
    return Paired(
        difference, flipped(values, groups, seed), _bounds(a, b, limits), detectable(values, groups)
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


def detectable(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float | None:
    """The smallest distance of a true mean from a fixed number that as many values detect with 80 % power."""
    precision = standard_error(values, clusters)
    if precision is None or precision.se <= 0:
        return None
    sd = precision.se * math.sqrt(precision.n_units)
    return minimum_detectable(precision.n_units, sd, is_paired=True, alpha=1 - CONFIDENCE)


def units_needed(distance: float, sd: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The number of values at which a true mean so far from a fixed number is detected with this probability.

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


# -- every pair of systems

_EXACT = 20
"""Inputs up to which the sign-flip test is exact."""


class ScoreDifference(Struct, frozen=True):
    """Two systems by their numbers: first - second, and whether that could be chance."""

    first: int
    second: int
    difference: Estimate
    p: float | None
    p_adjusted: float | None
    """Holm's, over all pairs"""
    test: str


def score_differences(scores: Sequence[Numbers]) -> list[ScoreDifference]:
    """All pairs of systems; `scores` has a row for each system with a place for each input."""
    rows = [floats(row) for row in scores]
    pairs = []
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            difference, p, test = _compared(rows[i], rows[j])
            pairs.append(ScoreDifference(i, j, difference, p, None, test))
    corrected = adjusted([pair.p for pair in pairs])
    return [structs.replace(pair, p_adjusted=p) for pair, p in zip(pairs, corrected, strict=True)]


def _compared(first: Floats, second: Floats) -> tuple[Estimate, float | None, str]:
    import numpy as np

    differences = first - second
    differences = differences[~np.isnan(differences)]
    if len(differences) < 2:
        return _unpaired(first[~np.isnan(first)], second[~np.isnan(second)])
    n_missing = int((~(np.isnan(first) & np.isnan(second))).sum()) - len(differences)
    estimate = structs.replace(mean_interval(differences.tolist()), n_undefined=n_missing, unit="input")
    if len(differences) <= _EXACT:
        tested = sign_flip(differences.tolist())
        return estimate, tested.p, tested.method
    # Random flips cannot give a p-value small enough for hundreds of pairs; with so many inputs t can.
    precision = standard_error(differences.tolist())
    mean = float(differences.mean())
    if precision is None or precision.se <= 1e-12 * max(1.0, abs(mean)):
        return estimate, 1.0 if mean == 0 else 2.0 ** (1 - len(differences)), "sign-flip test, exact"
    return estimate, _two_sided(mean / precision.se, precision.df), "paired t test"


def _unpaired(left: Floats, right: Floats) -> tuple[Estimate, float | None, str]:
    """Welch's test of two means."""
    first, second = standard_error(left.tolist()), standard_error(right.tolist())
    if first is None or second is None:
        return undefined("fewer than two inputs in common, and too few to compare means"), None, "none"
    variance = first.se**2 + second.se**2
    difference = float(left.mean() - right.mean())
    n, name = len(left) + len(right), "difference of means, Welch t interval: no inputs in common"
    if variance <= 1e-24:
        return undefined("all scores of either system are the same", n=n), None, "none"
    df = variance**2 / (first.se**4 / first.df + second.se**4 / second.df)
    half = t_quantile(df) * math.sqrt(variance)
    estimate = Estimate(difference, difference - half, difference + half, n, method=name, unit="item")
    return estimate, _two_sided(difference / math.sqrt(variance), df), "Welch t test"


def _two_sided(t: float, df: float) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(df, -abs(t)))


def games_from_scores(scores: Sequence[Numbers], is_higher_better: bool = True) -> Games:
    """Each input on which two systems have a score is a game of theirs; equal scores are a tie. An input is a cluster."""
    import numpy as np

    table = np.array([floats(row) for row in scores]).reshape(len(scores), -1)
    firsts, seconds = np.triu_indices(len(table), 1)
    differences = table[firsts] - table[seconds]
    pair, unit = np.nonzero(~np.isnan(differences))
    sign = np.sign(differences[pair, unit]) * (1 if is_higher_better else -1)
    # Means of samples that differ by rounding alone are equal.
    size = np.nanmax(np.abs(table)) if np.isfinite(table).any() else 1.0
    sign[np.abs(differences[pair, unit]) <= 1e-12 * max(1.0, float(size))] = 0.0
    _, cluster = np.unique(unit, return_inverse=True)
    return Games(firsts[pair], seconds[pair], (sign + 1) / 2, cluster, len(table))
