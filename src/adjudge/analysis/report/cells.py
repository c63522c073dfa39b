"""The numbers of one criterion for one system: mean, failures, distribution, spread."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import UNSET, UnsetType, structs

from ...records import Scale
from ...stats import (
    ScoreColumn,
    Spread,
    bounds,
    clustered_share,
    detectable_difference,
    equal_rates,
    joined,
    spread,
)
from ...stats.arrays import undefined
from ..run_view.tally import Scores, key_text
from .summary import Cell, CriterionSummary

_MOST_VALUES = 25
"""With more different values than this, a count by value is of no use."""


def cell(scores: Scores, scale: Scale | None) -> Cell:
    """The mean of one criterion for one system, with its failures and its distribution."""
    n_failed = len(scores.failed)
    if scale is not None and scale.is_nominal:
        return _classes_cell(scores, scale, n_failed)
    low, high = (scale.low, scale.high) if scale is not None else (None, None)
    limits = scale.limits if scale is not None else None
    estimate = scores.ok.mean(n_failed, limits)
    estimate = structs.replace(estimate, n_undefined=estimate.n_undefined + scores.n_undefined)
    n_flagged = sum(scores.ok.marks)
    counts, distribution_of = _counts(scores.ok, scale)
    return Cell(
        **structs.asdict(estimate),
        failures=scores.failures(),
        bounds=bounds(scores.ok.values, n_failed, low, high),
        distribution={key_text(value): count for value, count in counts.items()}
        if distribution_of != "nothing"
        else {},
        distribution_of=distribution_of,
        n_samples=scores.n_samples,
        n_samples_failed=scores.n_samples_failed,
        n_groups=scores.ok.n_groups() if scores.ok.clusters() is not None else None,
        n_partial=scores.n_partial,
        n_flagged=n_flagged,
        without_flagged=scores.ok.unmarked().mean(n_failed, limits) if n_flagged else None,
    )


NO_MEAN = "labels have no mean"


def _classes_cell(scores: Scores, scale: Scale, n_failed: int) -> Cell:
    """The share of each class for one system; classes that were never chosen are there, too."""
    clusters = scores.ok.clusters()
    counts = scores.ok.counts()
    estimate = undefined(NO_MEAN, n=len(scores.ok), n_failed=n_failed, unit="item")
    return Cell(
        **structs.asdict(estimate),
        failures=scores.failures(),
        distribution={name: counts.get(value, 0) for value, name in sorted(scale.names.items())},
        n_samples=scores.n_samples,
        n_samples_failed=scores.n_samples_failed,
        n_groups=scores.ok.n_groups() if clusters is not None else None,
        n_partial=scores.n_partial,
        n_flagged=sum(scores.ok.marks),
        shares={
            name: clustered_share(
                [float(one == value) for one in scores.ok.values], clusters, n_failed, unit="item"
            )
            for value, name in sorted(scale.names.items())
        },
    )


def criterion_summary(
    protocol: str,
    criterion: str,
    by_system: Mapping[str, Scores],
    scale: Scale | None,
    parts_by_system: Mapping[str, Sequence[Scores]],
    text: str | UnsetType = UNSET,
) -> CriterionSummary:
    """One criterion over all systems: `by_system` over all judges, `parts_by_system` judge by judge."""
    columns = [scores.ok for scores in by_system.values()]
    return CriterionSummary(
        protocol=protocol,
        criterion=criterion,
        scale=scale,
        spread=spread_of(joined(columns), scale),
        minimum_detectable=None
        if scale is not None and scale.is_nominal
        else detectable_difference([column.precision() for column in columns]),
        failures_p=failures_p(parts_by_system),
        text=text,
    )


def failures_p(by_system: Mapping[str, Sequence[Scores]]) -> float | None:
    """The p-value of the test that all systems fail equally often; none where nothing failed."""
    parts = [_failed_shares(scores) for scores in by_system.values()]
    if not any(any(part.shares) for part in parts):
        return None
    return equal_rates([part.shares for part in parts], [part.groups for part in parts]).p


class _FailedShares(NamedTuple):
    shares: array[float]
    groups: array[int]


def _failed_shares(parts: Sequence[Scores]) -> _FailedShares:
    """Of each score the share of its samples that failed, and its group."""
    shares, groups = array("f"), array("q")
    for part in parts:
        shares.extend(part.ok_failed)
        groups.extend(part.ok.groups)
        shares.extend(array("f", [1.0]) * len(part.failed))
        groups.extend(part.failed.groups)
    return _FailedShares(shares, groups)


def spread_of(column: ScoreColumn, scale: Scale | None) -> Spread:
    """The spread over the levels of the scale, or over the values seen where it has no levels."""
    levels = scale.values(_MOST_VALUES) if scale is not None else []
    if not levels:
        return spread(column.counts())
    return spread(_at_nearest(column.counts(), levels), len(levels))


def best_first(
    systems: Mapping[str, dict[str, Cell]], scales: Sequence[Scale | None]
) -> dict[str, dict[str, Cell]]:
    """Systems sorted by their means on the first criterion; unsorted where its direction is unknown."""
    criteria = list(dict.fromkeys(name for cells in systems.values() for name in cells))
    sign = scales[0].direction if scales and scales[0] is not None else 0
    if not criteria or sign == 0:
        return dict(systems)

    def rank(system: str) -> tuple[bool, float]:
        cell = systems[system].get(criteria[0])
        if cell is None or cell.value is None:
            return True, 0.0
        return False, -sign * cell.value

    return {system: systems[system] for system in sorted(systems, key=rank)}


def _counts(
    column: ScoreColumn, scale: Scale | None
) -> tuple[dict[float, int], Literal["values", "nearest levels", "nothing"]]:
    counts = column.counts()
    if len(counts) <= _MOST_VALUES:
        return counts, "values"
    levels = scale.values(_MOST_VALUES) if scale is not None else []
    return (_at_nearest(counts, levels), "nearest levels") if levels else ({}, "nothing")


def _at_nearest(counts: Mapping[float, int], levels: Sequence[float]) -> dict[float, int]:
    """Counts by the nearest level: means of samples lie between levels."""
    near: dict[float, int] = {}
    for value, count in counts.items():
        level = min(levels, key=lambda level: (abs(level - value), level))
        near[level] = near.get(level, 0) + count
    return near
