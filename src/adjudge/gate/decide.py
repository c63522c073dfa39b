"""From an estimate and a threshold to an outcome. The interval decides, never the value alone.

The interval is the 95 % one that is printed: a system that is exactly at its threshold is called good by mistake at most
once in forty, and worse at most once in forty.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from msgspec import Struct

from ..records import Estimate
from ..stats import minimum_detectable, standard_error, units_needed
from .shapes import Outcome

_ROUNDING = 1e-9
_NORMAL = 1.959964
"""Standard errors in half a 95 % interval of a share."""
_TOO_NEAR = "the value is so near to it that more of the same hardly helps"


class Needed(Struct, frozen=True):
    """How many more observations would decide four times in five, if the truth is what it looks like now."""

    n: int | None = None
    of: str = ""
    why: str = ""
    """why no number can be given"""


def decided(estimate: Estimate, threshold: float, direction: int) -> Outcome:
    """Good where the whole interval is on the good side of the threshold, worse where none of it is."""
    if estimate.low is None or estimate.high is None:
        return "open"
    low, high = (estimate.low, estimate.high) if direction > 0 else (-estimate.high, -estimate.low)
    least = threshold if direction > 0 else -threshold
    if low >= least - _ROUNDING:
        return "good"
    return "worse" if high < least - _ROUNDING else "open"


def more_needed(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    threshold: float,
    limits: tuple[float, float] | None,
) -> Needed:
    """How many more items, or groups of items, of the kind that is there."""
    if not values:
        return Needed()
    distance = abs(math.fsum(values) / len(values) - threshold)
    precision = standard_error(values, clusters)
    if precision is None:
        return Needed()
    of = "item" if clusters is None else "group"
    if min(values) == max(values):
        total = _of_equal_values(values[0], threshold, limits)
    else:
        total = units_needed(distance, precision.se * math.sqrt(precision.n_units))
    if total is None:
        return Needed(why=_TOO_NEAR)
    return Needed(max(1, total - precision.n_units), of)


def more_games(estimate: Estimate, clusters: Sequence[Hashable] | None, threshold: float) -> Needed:
    """The same for a win rate, by the interval that decides it: ties make the games vary less than it allows for."""
    spread = _spread(estimate, clusters)
    if estimate.value is None or spread is None:
        return Needed()
    n_units, sd = spread
    total = units_needed(abs(estimate.value - threshold), sd)
    if total is None:
        return Needed(why=_TOO_NEAR)
    return Needed(max(1, total - n_units), "item" if clusters is None else "group")


def detectable_share(estimate: Estimate, clusters: Sequence[Hashable] | None) -> float | None:
    """The distance of a win rate from a threshold that as many games decide four times in five."""
    spread = _spread(estimate, clusters)
    return None if spread is None else minimum_detectable(*spread, is_paired=True)


def _spread(estimate: Estimate, clusters: Sequence[Hashable] | None) -> tuple[int, float] | None:
    """How many independent units there are, and the standard deviation of one that the interval stands for."""
    n_units = estimate.n if clusters is None else len(set(clusters))
    if estimate.low is None or estimate.high is None or n_units < 2:
        return None
    return n_units, (estimate.high - estimate.low) / 2 / _NORMAL * math.sqrt(n_units)


def _of_equal_values(value: float, threshold: float, limits: tuple[float, float] | None) -> int | None:
    """All values are one: the interval bounds the share of others, and shrinks with the number of values."""
    if limits is None:
        return None
    end = limits[0] if threshold < value else limits[1]
    if value in (threshold, end):
        return None
    ratio = (value - threshold) / (value - end)
    if ratio >= 1:
        return None
    return math.ceil(math.log(0.05) / math.log1p(-ratio))
