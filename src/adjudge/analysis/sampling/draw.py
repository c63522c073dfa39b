"""Draws rows at random and reproducibly, each with the probability that it had."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct


class DrawnRows(Struct, frozen=True):
    """Rows of a file to fill in, with its columns."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    n: int
    """drawn items or replies"""
    n_all: int
    """items or replies to draw from"""
    n_of_other_texts: int = 0
    """values of an earlier draw that are left out: they are of another text than the one that was judged"""


def draw(
    systems: Sequence[str], n: int, *, by_system: bool, seed: int, weights: Sequence[float] | None = None
) -> dict[int, float]:
    """The indices that are drawn, in random order, each with its probability; `systems` has one name per
    index.

    With `by_system` every system gets the same number, as far as it has that many. With `weights` an index is
    drawn the more probably, the larger its weight. Draws are nested: a larger n with the same seed contains
    the smaller one.
    """
    rng = random.Random(seed)
    numbers = [(rng.random(), rng.random()) for _ in systems]
    strata: dict[str, list[int]] = defaultdict(list)
    for index, system in enumerate(systems):
        strata[system if by_system else ""].append(index)
    sizes = _shares({name: len(indices) for name, indices in strata.items()}, n)
    drawn: list[tuple[int, float, int, float]] = []
    for name, indices in strata.items():
        size = sizes[name]
        if weights is None:
            order = sorted(indices, key=lambda index: numbers[index])
            drawn += [(rank, numbers[i][1], i, size / len(order)) for rank, i in enumerate(order[:size])]
            continue
        for index, probability in _by_weight(indices, weights, numbers, size).items():
            drawn.append((0, numbers[index][1], index, probability))
    return {index: probability for _, _, index, probability in sorted(drawn)}


def _by_weight(
    indices: Sequence[int], weights: Sequence[float], numbers: Sequence[tuple[float, float]], n: int
) -> dict[int, float]:
    """The n indices with the smallest random number over weight, each with its probability (Duffield et al.
    2007).

    Given the threshold, the first number that is not drawn, each index is in with a probability of weight *
    threshold.
    """
    keys = {index: numbers[index][0] / weights[index] for index in indices}
    order = sorted(indices, key=keys.__getitem__)
    threshold = keys[order[n]] if n < len(order) else math.inf
    return {index: min(1.0, weights[index] * threshold) for index in order[:n]}


def _shares(available: dict[str, int], n: int) -> dict[str, int]:
    """n divided as evenly over the strata as their sizes allow."""
    sizes = dict.fromkeys(available, 0)
    left = min(n, sum(available.values()))
    while left:
        not_full = [name for name in available if sizes[name] < available[name]]
        quota = max(1, left // len(not_full))
        for name in not_full:
            more = min(quota, available[name] - sizes[name], left)
            sizes[name] += more
            left -= more
    return sizes
