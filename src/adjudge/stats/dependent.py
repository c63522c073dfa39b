"""Two judges on the same items: tests of a difference that take the shared items into account.

Each returns its p-value for two sides, or why there is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct

from .arrays import Numbers, floats
from .resample import blocks, generator

if TYPE_CHECKING:
    from .arrays import Floats

_EXACT = 20
"""Differences up to which all flips of their signs are tried: a million."""


class Test(Struct, frozen=True):
    """One test: its statistic, its two-sided p-value, and how it was made."""

    __test__ = False

    statistic: float | None
    p: float | None
    n: int
    method: str
    why: str = ""
    """why there is no p-value"""
    seed: int | None = None


def williams(r_first: float, r_second: float, r_between: float, n: int) -> Test:
    """Williams' t (1959), n - 3 degrees of freedom: does one judge go with people better than another?

    `r_first` and `r_second` are the judges' correlations with people, `r_between` that of the judges.
    """
    from scipy.special import stdtr

    name = "Williams test"
    why = _unfit(r_first, r_second, r_between, n)
    if why:
        return Test(None, None, n, name, why)
    determinant = 1 - r_first**2 - r_second**2 - r_between**2 + 2 * r_first * r_second * r_between
    middle = (r_first + r_second) / 2
    below = 2 * max(0.0, determinant) * (n - 1) / (n - 3) + middle**2 * (1 - r_between) ** 3
    if below <= 0:
        return Test(None, None, n, name, "the correlations leave no variance")
    t = (r_first - r_second) * math.sqrt((n - 1) * (1 + r_between) / below)
    return Test(t, 2 * float(stdtr(n - 3, -abs(t))), n, name)


def steiger(r_first: float, r_second: float, r_between: float, n: int) -> Test:
    """Steiger's Z (1980, equation 14, with the mean correlation)."""
    name = "Steiger test"
    why = _unfit(r_first, r_second, r_between, n)
    if why:
        return Test(None, None, n, name, why)
    square = ((r_first + r_second) / 2) ** 2
    shared = r_between * (1 - 2 * square) - square * (1 - 2 * square - r_between**2) / 2
    spread = 2 - 2 * shared / (1 - square) ** 2
    return _z_test(math.atanh(r_first) - math.atanh(r_second), spread / (n - 3), n, name)


def meng(r_first: float, r_second: float, r_between: float, n: int) -> Test:
    """Meng, Rosenthal and Rubin's Z (1992)."""
    name = "Meng test"
    why = _unfit(r_first, r_second, r_between, n)
    if why:
        return Test(None, None, n, name, why)
    square = (r_first**2 + r_second**2) / 2
    f = min(1.0, (1 - r_between) / (2 * (1 - square)))
    h = (1 - f * square) / (1 - square)
    return _z_test(math.atanh(r_first) - math.atanh(r_second), 2 * (1 - r_between) * h / (n - 3), n, name)


def _unfit(r_first: float, r_second: float, r_between: float, n: int) -> str:
    if n < 4:
        return "fewer than four items"
    if not all(math.isfinite(r) and abs(r) < 1 for r in (r_first, r_second, r_between)):
        return "a correlation is perfect or undefined"
    return ""


def _z_test(difference: float, variance: float, n: int, name: str) -> Test:
    if variance <= 0:
        return Test(None, None, n, name, "the correlations leave no variance")
    z = difference / math.sqrt(variance)
    return Test(z, 2 * NormalDist().cdf(-abs(z)), n, name)


def mcnemar(only_first: int, only_second: int) -> Test:
    """McNemar's exact test: of the items that one judge alone got right, how many were the first's?"""
    from scipy.special import bdtr

    n = only_first + only_second
    if n == 0:
        return Test(None, None, 0, "McNemar exact test", "both judges are right on the same items")
    p = min(1.0, 2 * float(bdtr(min(only_first, only_second), n, 0.5)))
    return Test(only_first / n, p, n, "McNemar exact test")


def sign_flip(differences: Numbers, *, n_resamples: int = 10_000, seed: int = 0) -> Test:
    """Whether a mean difference is 0, by flipping signs (Fisher 1935): all flips up to 20 differences,
    otherwise a random part of them. Differences of 0 stay 0 whatever their sign."""
    import numpy as np

    d = floats(differences)
    d = d[~np.isnan(d)]
    n, moved = len(d), d[d != 0]
    if n == 0:
        return Test(None, None, 0, "sign-flip test", "there is no difference to test")
    if len(moved) == 0:
        return Test(0.0, 1.0, n, "sign-flip test, exact")
    # Dividing first keeps the sums within what a float can hold.
    size = float(np.abs(moved).max())
    unit = moved / size
    # A sum that ties with the observed one but for rounding counts as a tie.
    least = abs(float(unit.sum())) - 1e-9 * len(unit)
    if len(moved) <= _EXACT:
        sums = np.zeros(1)
        for value in unit:
            sums = np.concatenate([sums + value, sums - value])
        p, method, used = float((np.abs(sums) >= least).mean()), "sign-flip test, exact", None
    else:
        beyond = _n_beyond(unit, least, n_resamples, seed)
        p, used = (beyond + 1) / (n_resamples + 1), seed
        method = f"sign-flip test, {n_resamples} random flips"
    return Test(float(unit.sum()) * (size / n), p, n, method, "", used)


def _n_beyond(unit: Floats, least: float, n_resamples: int, seed: int) -> int:
    import numpy as np

    rng, found = generator(seed), 0
    for size in blocks(n_resamples, len(unit)):
        signs = rng.integers(0, 2, size=(size, len(unit))) * 2 - 1
        found += int((np.abs((signs * unit).sum(axis=1)) >= least).sum())
    return found


def mcnemar_of(first: Sequence[bool | None], second: Sequence[bool | None]) -> Test:
    """McNemar's exact test item by item: whether each judge was right, none where it gave no answer."""
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return mcnemar(sum(a and not b for a, b in both), sum(b and not a for a, b in both))
