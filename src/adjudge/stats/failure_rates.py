"""Whether all systems fail equally often: the test of Cochran, Mantel and Haenszel, stratified by shared
prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .resample import blocks, generator
from .two_judges import Test

if TYPE_CHECKING:
    from .arrays import Codes, Floats


_LEAST_EXPECTED = 5.0
"""Expected failures of each system from which chi-square is right; with fewer the labels are permuted."""
_PERMUTATIONS = 1000
_MOST_CELLS = 10_000
"""Cells of a stratum up to which all are exchanged, and in all up to which permutations are made at all."""


def equal_rates(shares: Sequence[Sequence[float]], clusters: Sequence[Sequence[int]], seed: int = 0) -> Test:
    """Whether all systems fail equally often: of each system the failed share of its items, and their
    clusters.

    Under that hypothesis, the systems of a cluster (a prompt) can be exchanged, and so can clusters of one
    system alone. The statistic of these permutations is that of Cochran, Mantel and Haenszel for mean scores;
    its p-value is chi-square's, or where failures are few that of random permutations.
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
    """The sums of the systems' failed shares where systems are exchanged within strata: permutations ×
    systems."""
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
