"""Which of two judges goes with people better, by how much, and whether that could be chance.

Both are held against the same people on the items that all three scored. The interval resamples
those items for both judges at once; the permutation test swaps the judges' scores where the claim
is about (Deutsch, Dror and Roth 2021: PERM-INPUTS, PERM-SYSTEMS, PERM-BOTH).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import Numbers, floats, same_length
from .coefficients import NAMES, Kind, single
from .crossed import Level, Pairs, pairs, replicates, stacked, value
from .dependent import Test, williams
from .levels import cannot_resample, cautions_of, correlate, unit_of, why_undefined
from .resample import N_RESAMPLES, Resample, blocks, generator, interval_or_why
from .undefined import cautioned, undefined, without_interval

if TYPE_CHECKING:
    from numpy.random import Generator

    from .arrays import Flags, Floats


class Versus(Struct, frozen=True):
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
    confidence: float = 0.95,
) -> Versus:
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
            resample=resample, n_resamples=n_resamples, seed=seed, confidence=confidence,
        )
        for side in (a, b)
    ]  # fmt: skip
    difference = _difference(sides[0], sides[1], kind, level, resample, n_resamples, seed, confidence)
    permutation = _permuted(sides[0], sides[1], kind, level, resample, n_permutations, seed)
    return Versus(each[0], each[1], difference, permutation, _williams(sides[0], sides[1], kind, level))


def _difference(
    one: Pairs,
    other: Pairs,
    kind: Kind,
    level: Level,
    resample: Resample,
    n_resamples: int,
    seed: int,
    confidence: float,
) -> Estimate:
    first, n, n_undefined = value(one, kind, level)
    second, n_other, _ = value(other, kind, level)
    unit, n = unit_of(one, resample), min(n, n_other)
    if first is None or second is None:
        why = why_undefined(one if first is None else other, level)
        return undefined(why, n=n, n_undefined=n_undefined, unit=unit)
    name = f"difference of {NAMES[kind]}, {level} level"
    why, cautions = cannot_resample(one, resample), cautions_of(one, resample)
    low, high = None, None
    if not why:
        draws = [
            replicates(side, kind, level, resample, n_resamples, seed, is_alone=False)
            for side in (one, other)
        ]
        apart = None if draws[0] is None or draws[1] is None else draws[0] - draws[1]
        low, high, why, more = interval_or_why(apart, confidence)
        cautions += more
    method = (
        without_interval(name, why)
        if why
        else f"{name}, paired bootstrap ({n_resamples} resamples, percentiles)"
    )
    return Estimate(first - second, low, high, n, 0, n_undefined, cautioned(method, cautions), unit, seed)


def _permuted(
    one: Pairs, other: Pairs, kind: Kind, level: Level, resample: Resample, n_permutations: int, seed: int
) -> Test:
    import numpy as np

    unit = {"inputs": "inputs", "systems": "systems", "both": "single scores"}[resample]
    name = f"paired permutation test, {unit} swapped {n_permutations} times"
    a, b = _standardised(one), _standardised(other)
    found = [value(side, kind, level)[0] for side in (a, b)]
    why = cannot_resample(one, resample)
    if found[0] is None or found[1] is None:
        why = why_undefined(one if found[0] is None else other, level)
    if why or found[0] is None or found[1] is None:
        return Test(None, None, len(one.x), name, why)
    observed = found[0] - found[1]
    rng, n_beyond = generator(seed), 0
    for size in blocks(n_permutations, len(one.x)):
        swap = _swaps(a, resample, size, rng)
        first = stacked(a, np.where(swap, b.x, a.x), kind, level)
        second = stacked(a, np.where(swap, a.x, b.x), kind, level)
        # A swap that leaves a side without a correlation says nothing against chance.
        is_beyond = np.isnan(first - second) | (np.abs(first - second) >= abs(observed) - 1e-12)
        n_beyond += int(is_beyond.sum())
    return Test(observed, (n_beyond + 1) / (n_permutations + 1), len(one.x), name, "", seed)


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


def _williams(one: Pairs, other: Pairs, kind: Kind, level: Level) -> Test:
    if level != "item" or kind == "kendall":
        return Test(None, None, len(one.x), "Williams test", "it is for Pearson or Spearman at item level")
    first, second = single(one.x, one.y, kind), single(other.x, other.y, kind)
    between = single(one.x, other.x, kind)
    if first is None or second is None or between is None:
        return Test(None, None, len(one.x), "Williams test", "a correlation is undefined")
    return williams(first, second, between, len(one.x))
