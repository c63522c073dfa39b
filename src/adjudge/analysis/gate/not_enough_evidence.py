"""When a gate says "not enough evidence": neither test decides;
how many more items would, and what this many can detect.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from msgspec import Struct

from ...stats import detectable, standard_error, units_needed
from ...stats.threshold import DECISION_LEVEL
from .decision import Decision
from .outcome import Outcome

TOO_NEAR = "the estimate is so close to it that more data hardly helps"


MOST_PRACTICAL = 1000
"""More observations than this are not collected for one decision."""


class MoreNeeded(Struct, frozen=True):
    """How many more observations would decide with 80 % power, if the current estimate is the truth."""

    n: int | None = None
    of: str = ""
    why: str = ""
    """why no number can be given"""


def outcome_of(decision: Decision | None) -> Outcome:
    """Good or worse where the p-value is small enough, open otherwise."""
    if decision is None:
        return "open"
    if decision.p_good <= DECISION_LEVEL:
        return "good"
    return "worse" if decision.p_worse <= DECISION_LEVEL else "open"


def more_needed(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    threshold: float,
    limits: tuple[float, float] | None,
) -> MoreNeeded:
    """How many more items, or groups of items, with the variance of the present ones."""
    if not values:
        return MoreNeeded()
    mean = math.fsum(values) / len(values)
    precision = standard_error(values, clusters)
    if precision is None:
        return MoreNeeded()
    unit = "item" if clusters is None else "group"
    if min(values) == max(values):
        total = _of_equal_values(values[0], threshold, limits)
    else:
        sd = precision.se * math.sqrt(precision.n_units)
        far = reach(mean, limits, is_above=mean >= threshold)
        total = units_needed(abs(mean - threshold), sd, reach=far)
    if total is None:
        return MoreNeeded(why=TOO_NEAR)
    return MoreNeeded(max(1, total - precision.n_units), unit)


def detectable_distance(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None,
    threshold: float,
    limits: tuple[float, float] | None,
) -> float | None:
    """The distance of a true mean from a threshold that as many items detect with 80 % power."""
    least, precision = detectable(values, clusters), standard_error(values, clusters)
    if least is None or precision is None:
        return None
    far = reach(threshold, limits, is_above=math.fsum(values) / len(values) >= threshold)
    return least + far / (precision.n_units + 1)


def reach(value: float, limits: tuple[float, float] | None, *, is_above: bool) -> float:
    """How far the value that a bound adds lies from a mean above, or below, its threshold."""
    if limits is None:
        return 0.0
    return max(0.0, value - limits[0] if is_above else limits[1] - value)


def _of_equal_values(value: float, threshold: float, limits: tuple[float, float] | None) -> int | None:
    """All values are equal: the bound allows for a share of other values, which shrinks with their number."""
    if limits is None:
        return None
    end = limits[0] if threshold < value else limits[1]
    if value in (threshold, end):
        return None
    ratio = (value - threshold) / (value - end)
    if ratio >= 1:
        return None
    return math.ceil(math.log(DECISION_LEVEL) / math.log1p(-ratio))
