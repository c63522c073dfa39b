"""One cell of a report: a criterion's mean for a system, with its failures and how its scores are spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal

from msgspec import structs

from ..records import Scale
from ..stats import Column, Spread, bounds, joined, minimum_detectable, reason, spread
from .shapes import Cell, CriterionSummary
from .tally import Scores

_MOST_VALUES = 25
"""Of more different values than this, a count by value tells nobody anything."""


def cell(scores: Scores, scale: Scale | None) -> Cell:
    n_failed = len(scores.failed)
    low, high = (scale.low, scale.high) if scale is not None else (None, None)
    limits = (low, high) if low is not None and high is not None else None
    estimate = scores.ok.mean(n_failed, limits)
    n_flagged = sum(scores.ok.marks)
    counts, of = _counts(scores.ok, scale)
    return Cell(
        **structs.asdict(estimate),
        failures=scores.failures(),
        bounds=bounds(scores.ok.values, n_failed, low, high),
        distribution={key_text(value): count for value, count in counts.items()} if of != "nothing" else {},
        distribution_of=of,
        n_samples=scores.n_samples,
        n_samples_failed=scores.n_samples_failed,
        n_groups=scores.ok.n_groups() if scores.ok.clusters() is not None else None,
        n_partial=scores.n_partial,
        n_flagged=n_flagged,
        without_flagged=scores.ok.unmarked().mean(n_failed, limits) if n_flagged else None,
        reason=reason(estimate),
    )


def criterion_summary(
    protocol: str, criterion: str, by_system: Mapping[str, Scores], scale: Scale | None
) -> CriterionSummary:
    """What holds for one criterion over all systems."""
    columns = [scores.ok for scores in by_system.values()]
    return CriterionSummary(
        protocol=protocol,
        criterion=criterion,
        scale=scale,
        spread=spread_of(joined(columns), scale),
        minimum_detectable=_minimum_detectable(columns),
    )


def spread_of(column: Column, scale: Scale | None) -> Spread:
    """The spread over the levels of the scale, or over the values seen where it has none."""
    levels = _levels(scale)
    if not levels:
        return spread(column.counts())
    return spread(_at_nearest(column.counts(), levels), len(levels))


def best_first(
    systems: Mapping[str, dict[str, Cell]], scales: Sequence[Scale | None]
) -> dict[str, dict[str, Cell]]:
    """Systems in the order of their means on the first criterion; as they came where no end is known as good."""
    criteria = list(dict.fromkeys(name for cells in systems.values() for name in cells))
    sign = direction(scales[0]) if scales else 0
    if not criteria or sign == 0:
        return dict(systems)

    def place(system: str) -> tuple[bool, float]:
        found = systems[system].get(criteria[0])
        if found is None or found.value is None:
            return True, 0.0
        return False, -sign * found.value

    return {system: systems[system] for system in sorted(systems, key=place)}


def direction(scale: Scale | None) -> int:
    """1 where more is better, -1 where less is, 0 where nobody knows."""
    if scale is None or scale.best == "unknown":
        return 0
    return 1 if scale.best == "high" or scale.best == scale.high else -1


def _counts(
    column: Column, scale: Scale | None
) -> tuple[dict[float, int], Literal["values", "nearest levels", "nothing"]]:
    counts = column.counts()
    if len(counts) <= _MOST_VALUES:
        return counts, "values"
    levels = _levels(scale)
    return (_at_nearest(counts, levels), "nearest levels") if levels else ({}, "nothing")


def _levels(scale: Scale | None) -> list[float]:
    """All values that a stepped scale has, if they are few enough to count by."""
    if scale is None or scale.low is None or scale.high is None or not scale.step:
        return []
    n_steps = (scale.high - scale.low) / scale.step
    if not math.isfinite(n_steps) or not 1 <= n_steps < _MOST_VALUES:
        return []
    return [scale.low + place * scale.step for place in range(round(n_steps) + 1)]


def _at_nearest(counts: Mapping[float, int], levels: Sequence[float]) -> dict[float, int]:
    """Counts moved to the nearest level: means of samples lie between the levels."""
    near: dict[float, int] = {}
    for value, count in counts.items():
        level = min(levels, key=lambda level: (abs(level - value), level))
        near[level] = near.get(level, 0) + count
    return near


def _minimum_detectable(columns: Sequence[Column]) -> float | None:
    """For two systems of this run's typical size, compared without pairing their items."""
    found = [precision for column in columns if (precision := column.precision()) is not None]
    if not found:
        return None
    n_units = round(median(precision.n_units for precision in found))
    sd = math.hypot(*(precision.se for precision in found)) * math.sqrt(n_units / len(found))
    return minimum_detectable(n_units, sd)


def key_text(value: float) -> str:
    """A value as a key: 4 rather than 4.0."""
    value = float(value)  # the ends of a scale may be whole numbers in its file
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
