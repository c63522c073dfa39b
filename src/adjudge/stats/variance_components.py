"""Where the noise of a mean comes from: items, raters, judges, prompts, samples.

A score is the sum of an overall mean, what the item adds, what the judge (or rater, or prompt) adds on all
items, what it adds on this item alone, and what asking again adds. The variance of each part is estimated by
equating the sums of squares with their expectations (Henderson's first method, 1953), which allows any number
of answers in each cell. It says what would narrow the interval of a mean: more items, more samples, or more
raters.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .arrays import NORMAL_QUANTILE, floats, label_codes, same_length

if TYPE_CHECKING:
    from .arrays import Codes, Floats


ITEM = "item"
_ROUNDING = 1e-9
"""An estimate below 0 by less than this share of the total variance is 0."""
REPEAT = "sample"
"""What is left: asking the same judge again, or what a rater adds on one item alone."""


class Component(Struct, frozen=True):
    """One source of variance."""

    name: str
    """"item", a factor, "item × factor", or "sample\""""
    variance: float
    share: float
    """of the variance of a single score"""
    is_below_zero: bool = False
    """whether the estimate was below 0, so that 0 stands for it"""


class Components(Struct, frozen=True):
    """The sources of variance, and how precise a mean of so many answers is."""

    parts: tuple[Component, ...]
    counts: Mapping[str, float]
    """items, levels of each factor that an item has on average, and answers in each cell"""
    n: int

    def half_width(self, more: Mapping[str, float] | None = None) -> float:
        """Half of the 95 % interval of the mean, with these numbers in place of the present ones."""
        counts = {**self.counts, **(more or {})}
        return NORMAL_QUANTILE * math.sqrt(
            math.fsum(part.variance / self._answers(part.name, counts) for part in self.parts)
        )

    def _answers(self, name: str, counts: Mapping[str, float]) -> float:
        """Over how many independent draws of a source the mean is taken."""
        if name == REPEAT:
            return math.prod(counts.values())
        return math.prod(counts[part] for part in name.split(" × "))


def variance_components(
    values: Sequence[float | None],
    items: Sequence[Hashable],
    factors: Mapping[str, Sequence[Hashable]] | None = None,
) -> Components | None:
    """The variance of each source, from one value for each answer; none where nothing was answered twice.

    `factors` are the judges, raters or prompts of the answers; what does not vary, or cannot be distinguished
    from another source, is left out. A variance that would be negative is 0, and is marked.
    """
    import numpy as np

    factors = factors or {}
    same_length(values, items, *factors.values())
    y = floats(list(values))
    kept = ~np.isnan(y)
    codes = {ITEM: label_codes(items)[0][kept]}
    codes |= {name: label_codes(levels)[0][kept] for name, levels in factors.items()}
    y = y[kept] - (y[kept].mean() if kept.any() else 0.0)
    sources = _sources(codes, len(y))
    if ITEM not in sources or len(sources) < 1 or len(y) <= len(np.unique(codes[ITEM])):
        return None
    variances = _solved(y, sources)
    if variances is None:
        return None
    total = math.fsum(max(0.0, variance) for variance in variances.values())
    if total <= 0:
        return None
    parts = tuple(
        Component(name, max(0.0, variance), max(0.0, variance) / total, variance < -_ROUNDING * total)
        for name, variance in variances.items()
    )
    return Components(parts, _counts(codes, sources), len(y))


def _sources(codes: Mapping[str, Codes], n: int) -> dict[str, Codes]:
    """The levels of each source that the answers can tell apart: factors, and their parts on single items."""
    import numpy as np

    def levels(code: Codes) -> int:
        return len(np.unique(code))

    items = codes[ITEM]
    sources: dict[str, Codes] = {ITEM: items} if 1 < levels(items) < n else {}
    seen = {levels(items)}
    for name, code in codes.items():
        if name == ITEM or levels(code) < 2:
            continue
        sources[name] = np.unique(code, return_inverse=True)[1]
    for name, code in codes.items():
        if name == ITEM or levels(code) < 2:
            continue
        pair = np.unique(items * (int(code.max()) + 1) + code, return_inverse=True)[1]
        # With one answer in each cell, the cell cannot be distinguished from asking again.
        if levels(pair) < n and levels(pair) not in seen:
            sources[f"{ITEM} × {name}"] = pair
            seen.add(levels(pair))
    return sources


def _solved(y: Floats, sources: Mapping[str, Codes]) -> dict[str, float] | None:
    """Each sum of squares by level is the sum over sources of their variance times the count that it
    holds."""
    import numpy as np

    n = len(y)
    single = np.arange(n)
    levels = {"": np.zeros(n, dtype=np.int64), **sources, REPEAT: single}
    names = [name for name in levels if name]
    sums = {name: _square_sum(y, code) for name, code in levels.items()}
    matrix = np.array([[_held(levels[row], levels[column]) for column in names] for row in names])
    base = np.array([_held(levels[""], levels[column]) for column in names])
    target = np.array([sums[name] - sums[""] for name in names])
    solved, _, rank, _ = np.linalg.lstsq(matrix - base, target, rcond=1e-10)
    if rank < len(names):
        return None
    return {name: float(value) for name, value in zip(names, solved, strict=True)}


def _square_sum(y: Floats, code: Codes) -> float:
    import numpy as np

    return float((np.bincount(code, weights=y) ** 2 / np.maximum(1, np.bincount(code))).sum())


def _held(row: Codes, column: Codes) -> float:
    """The sum over levels of `row` of the squared counts of each level of `column` in it, over its size."""
    import numpy as np

    sizes = np.bincount(row)
    cells, counts = np.unique(row * (int(column.max()) + 1) + column, return_counts=True)
    return float((counts**2 / sizes[cells // (int(column.max()) + 1)]).sum())


def _counts(codes: Mapping[str, Codes], sources: Mapping[str, Codes]) -> dict[str, float]:
    """Items, levels of each factor for an item, and answers for each cell, so that their product is the
    number of answers."""
    import numpy as np

    n_items = len(np.unique(codes[ITEM]))
    counts: dict[str, float] = {ITEM: float(n_items)}
    left = len(codes[ITEM]) / n_items
    for name in sources:
        if name == ITEM or " × " in name:
            continue
        pairs = len(np.unique(codes[ITEM] * (int(codes[name].max()) + 1) + codes[name])) / n_items
        counts[name] = min(pairs, left)
        left /= counts[name]
    counts[REPEAT] = left
    return counts
