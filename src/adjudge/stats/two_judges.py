"""Two judges against the same people: which agrees better, by how much, and whether that could be chance.

Both are compared with the same people on the items that all three scored. The interval resamples those items
for both judges at once; the permutation test swaps the judges' scores by input, by system or by item
(Deutsch, Dror and Roth 2021: PERM-INPUTS, PERM-SYSTEMS, PERM-BOTH).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    Numbers,
    floats,
    make_estimate,
    no_interval,
    same_length,
    undefined,
)
from .correlation import NAMES, Kind, single
from .correlation_levels import (
    Level,
    Pairs,
    cannot_resample,
    cautions_of,
    correlate,
    pairs,
    replicates,
    stacked_coefficients,
    unit_of,
    value,
    why_undefined,
    without_groups,
)
from .resample import (
    N_RESAMPLES,
    Resample,
    blocks,
    few_groups,
    generator,
    jackknife_interval,
    percentile_interval,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from .arrays import Flags, Floats


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


def _unfit(r_first: float, r_second: float, r_between: float, n: int) -> str:
    if n < 4:
        return "fewer than four items"
    if not all(math.isfinite(r) and abs(r) < 1 for r in (r_first, r_second, r_between)):
        return "a correlation is perfect or undefined"
    return ""


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
    otherwise a random part of them. Differences of 0 stay 0 with either sign."""
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
        # The sums are symmetric around 0, so that the first sign need not be flipped.
        sums = unit[:1]
        for value in unit[1:]:
            sums = np.concatenate([sums + value, sums - value])
        p, method, used = float((np.abs(sums) >= least).mean()), "sign-flip test, exact", None
    else:
        beyond = _n_beyond(unit, least, n_resamples, seed)
        p, used = (beyond + 1) / (n_resamples + 1), seed
        method = f"sign-flip test, {n_resamples} random flips"
    return Test(float(unit.sum()) * (size / n), p, n, method, "", used)


def _n_beyond(unit: Floats, least: float, n_resamples: int, seed: int) -> int:
    import numpy as np

    rng, n_beyond = generator(seed), 0
    for size in blocks(n_resamples, len(unit)):
        signs = rng.integers(0, 2, size=(size, len(unit))) * 2 - 1
        n_beyond += int((np.abs((signs * unit).sum(axis=1)) >= least).sum())
    return n_beyond


def mcnemar_of(first: Sequence[bool | None], second: Sequence[bool | None]) -> Test:
    """McNemar's exact test item by item: whether each judge was right, none where it gave no answer."""
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return mcnemar(sum(a and not b for a, b in both), sum(b and not a for a, b in both))


class TwoJudges(Struct, frozen=True):
    """Two judges against the same people."""

    first: Estimate
    second: Estimate
    difference: Estimate
    """first - second"""
    permutation: Test
    williams: Test
    """at item level only; takes items as independent"""


def compare_judges(
    first: Numbers,
    second: Numbers,
    human: Numbers,
    kind: Kind = "spearman",
    level: Level = "item",
    *,
    groups: Sequence[Hashable] | None = None,
    systems: Sequence[Hashable] | None = None,
    resample: Resample = "inputs",
    n_resamples: int = N_RESAMPLES,
    n_permutations: int = 1000,
    seed: int = 0,
) -> TwoJudges:
    """The correlations of two judges with people, their difference, and two tests of it."""
    import numpy as np

    same_length(first, second, human, groups, systems)
    a, b, people = floats(first), floats(second), floats(human)
    is_missing = np.isnan(a) | np.isnan(b) | np.isnan(people)
    people = np.where(is_missing, np.nan, people)
    sides = [pairs(side.tolist(), people.tolist(), groups, systems) for side in (a, b)]
    each = [
        correlate(
            side.tolist(), people.tolist(), kind, level, groups=groups, systems=systems,
            resample=resample, n_resamples=n_resamples, seed=seed,
        )
        for side in (a, b)
    ]  # fmt: skip
    difference = _difference(sides[0], sides[1], kind, level, resample, n_resamples, seed)
    permutation = _permuted(sides[0], sides[1], kind, level, resample, n_permutations, seed)
    return TwoJudges(each[0], each[1], difference, permutation, _williams(sides[0], sides[1], kind, level))


def _difference(
    a: Pairs,
    b: Pairs,
    kind: Kind,
    level: Level,
    resample: Resample,
    n_resamples: int,
    seed: int,
) -> Estimate:
    first, n, n_undefined = value(a, kind, level)
    second, n_other, _ = value(b, kind, level)
    unit, n = unit_of(a, resample), min(n, n_other)
    if first is None or second is None:
        why = why_undefined(a if first is None else b, level)
        return undefined(why, n=n, n_undefined=n_undefined, unit=unit)
    name = f"difference of {NAMES[kind]}, {level} level"
    why = cannot_resample(a, resample)
    interval = no_interval(why)
    if not why:
        if level == "item" and resample == "inputs" and a.has_groups:
            without = [without_groups(side, kind) for side in (a, b)]
            if without[0] is not None and without[1] is not None:
                apart = without[0] - without[1]
                interval = jackknife_interval(
                    first - second, apart, a.inputs, scale="linear", limits=(-2.0, 2.0)
                )
            else:
                interval = percentile_interval(None)
            return make_estimate(
                first - second, interval, name, n=n, n_undefined=n_undefined, unit=unit,
                cautions=few_groups(a.n_inputs),
            )  # fmt: skip
        draws = [
            replicates(side, kind, level, resample, n_resamples, seed, is_alone=False) for side in (a, b)
        ]
        differences = None if draws[0] is None or draws[1] is None else draws[0] - draws[1]
        interval = percentile_interval(differences, "paired bootstrap")
    return make_estimate(
        first - second, interval, name, n=n, n_undefined=n_undefined, unit=unit, seed=seed,
        cautions=cautions_of(a, resample),
    )  # fmt: skip


def _permuted(
    data: Pairs,
    other_data: Pairs,
    kind: Kind,
    level: Level,
    resample: Resample,
    n_permutations: int,
    seed: int,
) -> Test:
    import numpy as np

    unit = {"inputs": "inputs", "systems": "systems", "both": "single scores"}[resample]
    name = f"paired permutation test, {unit} swapped {n_permutations} times"
    a, b = _standardised(data), _standardised(other_data)
    observed_values = [value(side, kind, level)[0] for side in (a, b)]
    why = cannot_resample(data, resample)
    if observed_values[0] is None or observed_values[1] is None:
        why = why_undefined(data if observed_values[0] is None else other_data, level)
    if why or observed_values[0] is None or observed_values[1] is None:
        return Test(None, None, len(data.x), name, why)
    observed = observed_values[0] - observed_values[1]
    rng, n_beyond = generator(seed), 0
    for size in blocks(n_permutations, len(data.x)):
        swap = _swaps(a, resample, size, rng)
        first = stacked_coefficients(a, np.where(swap, b.x, a.x), kind, level)
        second = stacked_coefficients(a, np.where(swap, a.x, b.x), kind, level)
        # A swap that leaves a side without a correlation says nothing against chance.
        is_beyond = np.isnan(first - second) | (np.abs(first - second) >= abs(observed) - 1e-12)
        n_beyond += int(is_beyond.sum())
    return Test(observed, (n_beyond + 1) / (n_permutations + 1), len(data.x), name, "", seed)


def _swaps(data: Pairs, resample: Resample, size: int, rng: Generator) -> Flags:
    """Which items change judges, in each permutation: whole inputs, whole systems, or item by item."""
    import numpy as np

    if resample == "both":
        return rng.integers(0, 2, size=(size, len(data.x))).astype(bool)
    n, of_item = (data.n_inputs, data.inputs) if resample == "inputs" else (data.n_systems, data.systems)
    swapped: Flags = np.take(rng.integers(0, 2, size=(size, n)).astype(bool), of_item, axis=1)
    return swapped


def _standardised(data: Pairs) -> Pairs:
    """The judge's scores in standard deviations, so that two judges' can be swapped."""
    import numpy as np

    if len(data.x) == 0:
        return data
    with np.errstate(all="ignore"):
        x: Floats = (data.x - data.x.mean()) / data.x.std()
    return data._replace(x=np.nan_to_num(x))


def _williams(a: Pairs, b: Pairs, kind: Kind, level: Level) -> Test:
    if level != "item" or kind == "kendall":
        return Test(None, None, len(a.x), "Williams test", "it is for Pearson or Spearman at item level")
    first, second = single(a.x, a.y, kind), single(b.x, b.y, kind)
    between = single(a.x, b.x, kind)
    if first is None or second is None or between is None:
        return Test(None, None, len(a.x), "Williams test", "a correlation is undefined")
    return williams(first, second, between, len(a.x))
