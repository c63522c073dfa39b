"""The distribution of scores as bars of text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ....records import Scale
from ....sections import Bars
from ..summary import Cell

Values = Mapping[tuple[str, str], Sequence[float]]
"""(criterion, system) → scores, where a summary has too many different ones to count by value"""


_BARS = "▁▂▃▄▅▆▇█"


_MOST_BARS = 13


_N_BINS = 12


def distribution_bars(
    criterion: str, scale: Scale | None, cells: Mapping[str, Cell], values: Values
) -> dict[str, Bars]:
    """system → its scores; empty where they are not known one by one, or are all the same."""
    counted = {system: _counted(cell, values.get((criterion, system), ())) for system, cell in cells.items()}
    counted = {system: counts for system, counts in counted.items() if counts}
    seen = sorted({value for counts in counted.values() for value in counts})
    levels = (scale.values(_MOST_BARS) if scale is not None else []) or (
        seen if len(seen) <= _MOST_BARS else []
    )
    if levels:
        sums = {system: _by_level(levels, counts) for system, counts in counted.items()}
    elif seen:
        levels = _edges(scale, seen[0], seen[-1])
        sums = {system: _by_bin(levels, counts) for system, counts in counted.items()}
    if len(levels) < 2 or not counted:
        return {}
    tallest = max(n for counts in sums.values() for n in counts)
    return {
        system: Bars(_drawn(levels, counts), tuple(levels), tuple(counts), tallest)
        for system, counts in sums.items()
    }


def _counted(cell: Cell, values: Sequence[float]) -> dict[float, int]:
    """value → scores; from the scores themselves where the cell does not count them."""
    if cell.distribution:
        return {round(float(value), 9): n for value, n in cell.distribution.items()}
    counts: dict[float, int] = {}
    for value in values:
        counts[round(value, 9)] = counts.get(round(value, 9), 0) + 1
    return counts


def _edges(scale: Scale | None, low: float, high: float) -> list[float]:
    """The ends of bins over the scale, or over round numbers around the values."""
    if scale is not None and scale.low is not None and scale.high is not None:
        low, high = scale.low, scale.high
    else:
        unit = 10.0 ** (math.floor(math.log10(high - low)) - 1)
        low, high = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    return [low + place * (high - low) / _N_BINS for place in range(_N_BINS + 1)]


def _by_level(levels: Sequence[float], counts: Mapping[float, int]) -> list[int]:
    """How many scores are nearest to each level; means of samples lie between the levels."""
    sums = [0] * len(levels)
    for value, n in counts.items():
        nearest = min(range(len(levels)), key=lambda place: abs(levels[place] - value))
        sums[nearest] += n
    return sums


def _by_bin(edges: Sequence[float], counts: Mapping[float, int]) -> list[int]:
    sums = [0] * _N_BINS
    for value, n in counts.items():
        place = int((value - edges[0]) / (edges[-1] - edges[0]) * _N_BINS)
        sums[min(_N_BINS - 1, max(0, place))] += n
    return sums


def _drawn(levels: Sequence[float], counts: Sequence[int]) -> str:
    """From low to high: 1|▂▃█▅ |5."""
    top = max(counts)
    drawn = "".join(" " if not n else _BARS[-(-n * 7 // top)] for n in counts)
    return f"{levels[0]:.4g}|{drawn}|{levels[-1]:.4g}"
