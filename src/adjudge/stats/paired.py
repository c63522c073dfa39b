"""Paired differences of scores on the same items, their tests, and p-values adjusted for many tests.

Two systems, or two scorings, are compared item by item, so that hard items cost both alike. Two systems without a
shared input are compared by their means, as independent samples.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    AnyEstimate,
    Numbers,
    blocks,
    floats,
    generator,
    label_codes,
    same_length,
    t_quantile,
    undefined,
    with_remark,
)
from .bradley_terry import Games
from .means import Bounds, Precision, mean_interval, minimum_detectable, precision_of, standard_error
from .two_judges import Test, sign_flip

if TYPE_CHECKING:
    from .arrays import Codes, Floats


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


def simultaneous(
    estimate: AnyEstimate, n_comparisons: int, df: float, limits: tuple[float, float] | None = None
) -> AnyEstimate:
    """The estimate with its interval widened so that all of `n_comparisons` hold together (Bonferroni).

    Each side of a t interval with `df` degrees of freedom grows by the ratio of the two quantiles. For the differences
    of all pairs of 12 systems that is within 3 % of Tukey's studentised range, and it also holds for paired ones.
    `limits` are the ends beyond which the value cannot lie.
    """
    if n_comparisons < 2 or estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    ratio = t_quantile(df, 1 - (1 - CONFIDENCE) / n_comparisons) / t_quantile(df)
    least, most = (-math.inf, math.inf) if limits is None else limits
    return with_remark(
        structs.replace(
            estimate,
            low=max(min(least, estimate.low), estimate.value - ratio * (estimate.value - estimate.low)),
            high=min(max(most, estimate.high), estimate.value + ratio * (estimate.high - estimate.value)),
        ),
        f"simultaneous for {n_comparisons} comparisons (Bonferroni)",
    )


# -- one pair of scorings

# A value that is missing on one side is left out of the mean and counted; `bounds` says what it leaves open. Items that
# share a group count as one observation in the interval and in the test.


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

    Up to 20 differences (or groups) other than 0 all combinations of their signs are tried. With more, the p-value is
    that of the t statistic, cluster-robust for groups: random flips could not give one below 1 in their number, which
    a correction for hundreds of tests would then turn into 1.
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


def units_needed(
    distance: float, sd: float, power: float = 0.8, alpha: float = 0.05, reach: float = 0.0
) -> int | None:
    """The number of values at which a true mean so far from a fixed number is detected with this probability.

    `reach` is the distance to one more value that a bound adds at the end of the scale.
    None where the distance is 0, or so small that ten million values would not do.
    """
    if not (math.isfinite(distance) and math.isfinite(sd)) or distance <= 0 or sd <= 0:
        return None

    def is_enough(n: int) -> bool:
        least = minimum_detectable(n, sd, is_paired=True, power=power, alpha=alpha)
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


# -- equal rates


_LEAST_EXPECTED = 5.0
"""Expected failures of each system from which chi-square is right; with fewer the labels are permuted."""
_PERMUTATIONS = 1000
_MOST_CELLS = 10_000
"""Cells of a stratum up to which all are exchanged, and in all up to which permutations are made at all."""


def equal_rates(shares: Sequence[Sequence[float]], clusters: Sequence[Sequence[int]], seed: int = 0) -> Test:
    """Whether all systems fail equally often: of each system the failed share of its items, and their clusters.

    Under that hypothesis, the systems of a cluster (a prompt) can be exchanged, and so can clusters of one system
    alone. The statistic of these permutations is that of Cochran, Mantel and Haenszel for mean scores; its p-value is
    chi-square's, or where failures are few that of random permutations.
    """
    import numpy as np
    from scipy.special import chdtrc

    name = "Cochran-Mantel-Haenszel test of equal rates"
    n_systems = len(shares)
    n = sum(map(len, shares))
    cells = _rate_cells(shares, clusters)
    if cells is None:
        return Test(None, None, n, name, "no system fails, or all systems fail alike")
    variance = cells.spread / np.maximum(1, cells.sizes - 1)
    covariance = np.diag((variance * cells.sizes) @ cells.counts)
    covariance -= cells.counts.T @ (variance[:, None] * cells.counts)
    expected = cells.means @ cells.counts
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)

    def statistic(sums: Floats) -> Floats:
        away = sums - expected
        return np.asarray(((away @ inverse) * away).sum(axis=-1))

    failed = np.asarray(np.bincount(cells.system, weights=cells.share, minlength=n_systems), dtype=np.float64)
    observed = float(statistic(failed))
    df = int(np.linalg.matrix_rank(covariance, tol=1e-9 * float(np.abs(covariance).max()), hermitian=True))
    if df == 0:
        return Test(None, None, n, name, "no system fails, or all systems fail alike")
    is_large = cells.sizes[cells.stratum] > _MOST_CELLS
    n_drawn = int((~is_large | (cells.share > 0)).sum())
    if expected.min() >= _LEAST_EXPECTED or n_drawn > 2 * _MOST_CELLS:
        return Test(observed, float(chdtrc(df, observed)), n, name)
    drawn = statistic(_permuted_sums(cells, n_systems, seed))
    p = (int((drawn >= observed * (1 - 1e-9)).sum()) + 1) / (len(drawn) + 1)
    return Test(observed, p, n, f"{name}, {len(drawn)} permutations", "", seed)


class _RateCells(NamedTuple):
    """The failed share of each system on each cluster; clusters of one system alone are one stratum."""

    share: Floats
    system: Codes
    stratum: Codes
    counts: Floats
    """strata × systems: how many cells each system has"""
    sizes: Floats
    means: Floats
    spread: Floats
    """of each stratum the cells, their mean, and their variance"""


def _rate_cells(shares: Sequence[Sequence[float]], clusters: Sequence[Sequence[int]]) -> _RateCells | None:
    """The cells of the strata that say something; none where there is no such stratum."""
    import numpy as np

    k = len(shares)
    values = np.concatenate([np.asarray(part, dtype=np.float64) for part in shares])
    if k < 2 or len(values) == 0 or values.min() == values.max():
        return None
    _, cluster = np.unique(np.concatenate([np.asarray(part) for part in clusters]), return_inverse=True)
    systems = np.repeat(np.arange(k), [len(part) for part in shares])
    cell, place = np.unique(cluster * k + systems, return_inverse=True)
    share = np.bincount(place, weights=values) / np.bincount(place)
    system, cluster = cell % k, cell // k
    is_shared = np.bincount(cluster)[cluster] > 1
    _, stratum = np.unique(np.where(is_shared, cluster + 1, 0), return_inverse=True)
    sizes = np.bincount(stratum).astype(np.float64)
    means = np.bincount(stratum, weights=share) / sizes
    spread = np.bincount(stratum, weights=(share - means[stratum]) ** 2) / sizes
    is_telling = spread > 1e-15
    if not bool(is_telling.any()):
        return None
    kept = is_telling[stratum]
    _, number = np.unique(stratum[kept], return_inverse=True)
    counts = np.bincount(number * k + system[kept], minlength=int(is_telling.sum()) * k)
    return _RateCells(
        share[kept], system[kept], number, counts.reshape(-1, k).astype(np.float64),
        sizes[is_telling], means[is_telling], spread[is_telling],
    )  # fmt: skip


def _permuted_sums(cells: _RateCells, n_systems: int, seed: int) -> Floats:
    """The sums of the systems' failed shares where systems are exchanged within strata: permutations × systems."""
    import numpy as np

    rng = generator(seed)
    share, system, stratum = cells.share, cells.system, cells.stratum
    sums = np.zeros((_PERMUTATIONS, n_systems))
    rows = np.arange(_PERMUTATIONS)
    for large in np.flatnonzero(cells.sizes > _MOST_CELLS):
        # Of so many cells few failed: drawing their systems one by one is as good as exchanging all.
        at = stratum == large
        for value in share[at & (share > 0)]:
            drawn = rng.choice(n_systems, size=_PERMUTATIONS, p=cells.counts[large] / cells.sizes[large])
            sums[rows, drawn] += value
        share, system, stratum = share[~at], system[~at], stratum[~at]
    order = np.argsort(stratum, kind="stable")
    share, system, stratum = share[order], system[order], stratum[order]
    done = 0
    for size in blocks(_PERMUTATIONS, max(1, len(share))):
        if len(cells.sizes) == 1:
            exchanged = rng.permuted(np.tile(system, (size, 1)), axis=1)
        else:
            exchanged = system[np.argsort(stratum + rng.random((size, len(share))), axis=1)]
        places = (np.arange(size)[:, None] * n_systems + exchanged).ravel()
        drawn = np.bincount(places, weights=np.tile(share, size), minlength=size * n_systems)
        sums[done : done + size] += drawn.reshape(size, n_systems)
        done += size
    return sums


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
