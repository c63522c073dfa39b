"""How scores are spread: one bar for each level of the scale, or bins of equal width where there are too many values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup
from msgspec import Struct

from ...records import Scale
from ...report import Cell
from ..charts import Domain, axis_of_bins, axis_of_levels, bars, domain_of

Values = Mapping[tuple[str, str], Sequence[float]]
"""(criterion, system) → scores, where there are too many different ones to count by value"""

_MOST_BARS = 13
_N_BINS = 12


class SpreadOut(Struct, frozen=True):
    """The bars of all systems on one criterion: what each stands for, and how high it is for each system."""

    names: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    axis: Markup

    def of(self, system: str) -> Markup | None:
        """One system's bars, as high as those of the others allow."""
        if system not in self.counts:
            return None
        tallest = max(n for own in self.counts.values() for n in own)
        pairs = list(zip(self.names, self.counts[system], strict=True))
        return bars(pairs, f"scores of {system}", tallest=tallest)

    def together(self, title: str) -> Markup:
        """The bars of all systems added up."""
        sums = [sum(own[place] for own in self.counts.values()) for place in range(len(self.names))]
        return bars(list(zip(self.names, sums, strict=True)), title, height=72)


def spread_of(
    criterion: str, scale: Scale | None, cells: Mapping[str, Cell], values: Values
) -> SpreadOut | None:
    """None where no score was given, or where the scores are not known one by one."""
    counted = {system: _counted(cell, values.get((criterion, system), ())) for system, cell in cells.items()}
    counted = {system: own for system, own in counted.items() if own}
    if not counted:
        return None
    seen = sorted({value for own in counted.values() for value in own})
    levels = sorted({*_levels(scale), *seen})
    if len(levels) <= _MOST_BARS:
        names = tuple(f"{level:.4g}" for level in levels)
        counts = {system: tuple(own.get(level, 0) for level in levels) for system, own in counted.items()}
        return SpreadOut(names, counts, axis_of_levels(levels)) if len(levels) > 1 else None
    return _binned(domain_of(scale, seen), counted)


def _binned(domain: Domain, counted: Mapping[str, Mapping[float, int]]) -> SpreadOut:
    wide = (domain.high - domain.low) / _N_BINS
    edges = [domain.low + place * wide for place in range(_N_BINS + 1)]
    counts = {}
    for system, own in counted.items():
        sums = [0] * _N_BINS
        for value, n in own.items():
            sums[min(_N_BINS - 1, max(0, int((value - domain.low) / wide)))] += n
        counts[system] = tuple(sums)
    return SpreadOut(
        names=tuple(f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges)),
        counts=counts,
        axis=axis_of_bins(domain.low, domain.high),
    )


def _counted(cell: Cell, values: Sequence[float]) -> dict[float, int]:
    """value → scores; from the scores themselves where the cell does not count them."""
    if cell.distribution:
        return {round(float(value), 9): n for value, n in cell.distribution.items()}
    counts: dict[float, int] = {}
    for value in values:
        counts[round(value, 9)] = counts.get(round(value, 9), 0) + 1
    return counts


def _levels(scale: Scale | None) -> list[float]:
    if scale is None or scale.low is None or scale.high is None or not scale.step:
        return []
    n_steps = (scale.high - scale.low) / scale.step
    if not 1 <= n_steps < _MOST_BARS:
        return []
    return [round(scale.low + place * scale.step, 9) for place in range(round(n_steps) + 1)]
