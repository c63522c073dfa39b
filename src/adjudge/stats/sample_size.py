"""How many items, groups and labels a goal takes, before any label exists.

Items that share a group go together: with m items in each, their mean has the variance of sd² (1 + (m - 1)
ICC) / m, and the groups are the observations. A judge that correlates with people by r leaves 1 - r² of the
labels' variance.
"""

from __future__ import annotations

import math

from msgspec import Struct

from .arrays import t_quantile
from .paired import units_needed

_MOST = 10_000_000


class SampleSize(Struct, frozen=True):
    """Groups and items that reach a goal; none where ten million groups would not."""

    groups: int | None
    """independent observations: groups, or items where each is a separate group"""
    items: int | None
    design_effect: float
    """how many items count as one independent item"""


def design_effect(group_size: float, icc: float) -> float:
    """1 + (m - 1) ICC (Kish 1965)."""
    return 1 + (group_size - 1) * icc


def size_for_width(width: float, sd: float, group_size: int = 1, icc: float = 0.0) -> SampleSize:
    """The smallest sample whose whole 95 % t interval is at most so wide."""
    spread = sd * math.sqrt(design_effect(group_size, icc) / group_size)

    def is_enough(n: int) -> bool:
        return 2 * t_quantile(n - 1) * spread / math.sqrt(n) <= width

    low, high = 2, _MOST
    if width <= 0 or sd <= 0 or not is_enough(high):
        return _sized(None, group_size, icc)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return _sized(low, group_size, icc)


def size_for_distance(
    distance: float, sd: float, group_size: int = 1, icc: float = 0.0, power: float = 0.8
) -> SampleSize:
    """The smallest sample that detects a mean so far from a fixed number, by a t test at 5 % on two sides.

    For a paired difference `sd` is that of the differences; for a gate the distance is that from the
    threshold.
    """
    spread = sd * math.sqrt(design_effect(group_size, icc) / group_size)
    return _sized(units_needed(distance, spread, power), group_size, icc)


def _sized(groups: int | None, group_size: int, icc: float) -> SampleSize:
    items = None if groups is None else groups * group_size
    return SampleSize(groups, items, design_effect(group_size, icc))


def intraclass_correlation(values: list[float], groups: list[str]) -> float:
    """The ICC of one-way analysis of variance with groups of any size; 0 where it would be negative."""
    by_group: dict[str, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        by_group.setdefault(group, []).append(value)
    n, k = len(values), len(by_group)
    if k < 2 or n <= k:
        return 0.0
    mean = math.fsum(values) / n
    means = {group: math.fsum(part) / len(part) for group, part in by_group.items()}
    between = math.fsum(len(part) * (means[group] - mean) ** 2 for group, part in by_group.items()) / (k - 1)
    within = math.fsum((value - means[group]) ** 2 for group, part in by_group.items() for value in part) / (
        n - k
    )
    size = (n - math.fsum(len(part) ** 2 for part in by_group.values()) / n) / (k - 1)
    variance = max(0.0, (between - within) / size)
    return variance / (variance + within) if variance + within > 0 else 0.0
