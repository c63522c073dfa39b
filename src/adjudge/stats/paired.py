"""Paired differences of scores on the same items, and their tests.

Two systems, or two scorings, are compared item by item, so that hard items cost both alike. Two systems
without a shared input are compared by their means, as independent samples.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    Numbers,
    floats,
    label_codes,
    same_length,
    t_quantile,
    undefined,
)
from .games import Games
from .means import Bounds, Precision, mean_interval, precision_of, standard_error
from .multiple_tests import adjusted, simultaneous
from .power import minimum_detectable
from .two_judges import Test, sign_flip

if TYPE_CHECKING:
    from .arrays import Floats


# -- one pair of scorings

# A value that is missing on one side is left out of the mean and counted; `bounds` says what it leaves open.
# Items that share a group count as one observation in the interval and in the test.

_EXACT = 20
"""Differences other than 0 up to which the sign-flip test tries every combination of signs."""
_TINY = 1e-12
"""A standard error below this share of the mean is rounding, not information."""


class Paired(Struct, frozen=True):
    """How two scorings of the same items differ."""

    difference: Estimate
    """second - first"""
    test: Test
    """the exact sign-flip test for few differences, otherwise the t test"""
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
    return Paired(difference, paired_test(values, groups), _bounds(a, b, limits), detectable(values, groups))


def paired_test(values: Sequence[float] | Floats, clusters: Sequence[Hashable] | None = None) -> Test:
    """Whether the mean of differences is 0; of groups, each is one observation.

    Up to 20 differences (or groups) other than 0 all combinations of their signs are tried. With more, the
    p-value is that of the t statistic, cluster-robust for groups: random flips could not give one below 1 in
    their number, which a correction for hundreds of tests would then turn into 1.
    """
    import numpy as np

    scores = np.asarray(values, dtype=np.float64)
    codes = None if clusters is None else label_codes(clusters)[0]
    sums = scores if codes is None else np.bincount(codes, weights=scores)
    by_group = "" if codes is None else ", by group"
    mean = float(scores.mean()) if len(scores) else None
    n_moved = int(np.count_nonzero(sums))
    if n_moved <= _EXACT:
        test = sign_flip(sums.tolist())
        return structs.replace(test, statistic=mean, n=len(scores), method=f"{test.method}{by_group}")
    precision = precision_of(scores, codes)
    assert precision is not None
    assert mean is not None
    if precision.se <= _TINY * max(1.0, abs(mean)):
        # All differences are the same: of all combinations of signs only two are as extreme.
        p = max(sys.float_info.min, math.exp2(max(-1022, 1 - n_moved)))
        return Test(mean, p, len(scores), f"sign-flip test, exact{by_group}")
    name = "paired t test" if codes is None else "cluster-robust t test"
    return Test(mean, two_sided_p(mean / precision.se, precision.df), len(scores), name)


def detectable(values: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float | None:
    """The smallest distance of a true mean from a fixed number that as many values detect with 80 % power."""
    precision = standard_error(values, clusters)
    if precision is None or precision.se <= 0:
        return None
    sd = precision.se * math.sqrt(precision.n_units)
    return minimum_detectable(precision.n_units, sd, is_paired=True, alpha=1 - CONFIDENCE)


def units_needed(distance: float, sd: float, power: float = 0.8, reach: float = 0.0) -> int | None:
    """The number of values at which a true mean so far from a fixed number is detected with this probability.

    `reach` is the distance to one more value that a bound adds at the end of the scale.
    None where the distance is 0, or so small that ten million values would not do.
    """
    if not (math.isfinite(distance) and math.isfinite(sd)) or distance <= 0 or sd <= 0:
        return None

    def is_enough(n: int) -> bool:
        least = minimum_detectable(n, sd, is_paired=True, power=power)
        return least is not None and least + reach / (n + 1) <= distance

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


class ScoreDifference(Struct, frozen=True):
    """Two systems by their numbers: first - second, and whether that could be chance."""

    first: int
    second: int
    difference: Estimate
    """its interval holds together with those of all other pairs"""
    p: float | None
    p_adjusted: float | None
    """Holm's, over all pairs"""
    test: str


def score_differences(scores: Sequence[Numbers], *, is_paired: bool = True) -> list[ScoreDifference]:
    """All pairs of systems; `scores` has a row for each system with a place for each input.

    Where no two systems share an input (`is_paired=False`), a row holds a system's own scores, of any number.
    """
    rows = [floats(row) for row in scores]
    samples = [_sample(row) for row in rows]
    n_pairs = math.comb(len(rows), 2)
    pairs = []
    for i, j in combinations(range(len(rows)), 2):
        compared = _paired(rows[i], rows[j]) if is_paired else None
        found = compared or _welch(samples[i], samples[j])
        difference = simultaneous(found.difference, n_pairs, found.df)
        pairs.append(ScoreDifference(i, j, difference, found.p, None, found.test))
    corrected = adjusted([pair.p for pair in pairs])
    return [structs.replace(pair, p_adjusted=p) for pair, p in zip(pairs, corrected, strict=True)]


class _Compared(NamedTuple):
    difference: Estimate
    df: float
    p: float | None
    test: str


def _paired(first: Floats, second: Floats) -> _Compared | None:
    """The difference on common inputs; none where fewer than two are common."""
    import numpy as np

    differences = first - second
    differences = differences[~np.isnan(differences)]
    if len(differences) < 2:
        return None
    n_missing = int((~(np.isnan(first) & np.isnan(second))).sum()) - len(differences)
    estimate = structs.replace(mean_interval(differences), n_undefined=n_missing, unit="input")
    test = paired_test(differences)
    return _Compared(estimate, len(differences) - 1, test.p, test.method)


class _Sample(NamedTuple):
    """The scores of one system as their number, their mean, and how sharply it is known."""

    n: int
    mean: float
    precision: Precision | None


def _sample(scores: Floats) -> _Sample:
    import numpy as np

    known = scores[~np.isnan(scores)]
    return _Sample(len(known), float(known.mean()) if len(known) else math.nan, precision_of(known))


def _welch(left: _Sample, right: _Sample) -> _Compared:
    """Welch's test of two means."""
    first, second = left.precision, right.precision
    if first is None or second is None:
        why = "fewer than two inputs in common, and too few to compare means"
        return _Compared(undefined(why), 1, None, "none")
    variance = first.se**2 + second.se**2
    difference = left.mean - right.mean
    n, name = left.n + right.n, "difference of means, Welch t interval: no inputs in common"
    if variance <= 1e-24:
        return _Compared(undefined("all scores of either system are the same", n=n), 1, None, "none")
    df = variance**2 / (first.se**4 / first.df + second.se**4 / second.df)
    half = t_quantile(df) * math.sqrt(variance)
    estimate = Estimate(difference, difference - half, difference + half, n, method=name, unit="item")
    return _Compared(estimate, df, two_sided_p(difference / math.sqrt(variance), df), "Welch t test")


def two_sided_p(t: float, df: float) -> float:
    """The p-value of a t statistic, as small as it is."""
    from scipy.special import stdtr

    return 2 * float(stdtr(df, -abs(t)))


def games_from_scores(scores: Sequence[Numbers], is_higher_better: bool = True) -> Games:
    """Each input on which two systems have a score is a game of theirs; equal scores are a tie. An input is a
    cluster."""
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
