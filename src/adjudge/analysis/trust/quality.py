"""Checks of a judge that need no labels: spread, noise and failures of its answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ...stats import (
    Retest,
    bounds,
    detectable_difference,
    equal_rates,
    nearest_levels,
    retest,
    spread,
    standard_error,
    wilson,
)
from ..labels.by_system import entries_by_system
from ..labels.labelled import Entry, LabelledItem, LabelledTable, choices, numbers
from ..run_view.criteria import levels_of
from .card import Quality, SystemFailures


def quality(table: LabelledTable) -> Quality:
    """The spread, noise and failures of the judge's answers."""
    n_failed = sum(row.answer is None for row in table.rows)
    values = [value for value in numbers(row.answer for row in table.rows) if value is not None]
    levels = levels_of(table.scale)
    counts = _counts(values, levels)
    choice_counts = Counter(
        choice for choice in choices(row.answer for row in table.rows) if choice is not None
    )
    by_system = entries_by_system(table)
    return Quality(
        n=len(table.rows),
        n_failed=n_failed,
        spread=spread(counts, len(levels) if levels and set(counts) <= set(levels) else None)
        if table.kind == "scores"
        else None,
        counts={choice: choice_counts.get(choice, 0) for choice in table.classes or ("a", "b", "tie")}
        if choice_counts
        else {},
        sample_sd=_sample_sd(table.rows),
        retest=_retest(table.rows),
        minimum_detectable=_detectable(table, by_system) if table.kind == "scores" else None,
        failures={system: _failures(entries, table) for system, entries in by_system.items()},
        failures_p=_failures_p(by_system),
    )


def _counts(values: Sequence[float], levels: Sequence[float] | None) -> Counter[float]:
    """How often each level was given. Values between levels count at the nearest one, but not where all of
    them would then be the same: 3.8 and 4.2 are two answers."""
    by_level = Counter(value for value in nearest_levels(values, levels or ()) if value is not None)
    return by_level if levels and (len(by_level) > 1 or len(set(values)) == 1) else Counter(values)


def _failures(entries: Sequence[Entry], table: LabelledTable) -> SystemFailures:
    """The failures of one system. Low scores fail more often
    in real data, so the bounds of the mean are given, too.
    """
    scores = [entry.judge for entry in entries if entry.judge is not None]
    n_failed = len(entries) - len(scores)
    scale = table.scale
    low, high = (scale.low, scale.high) if scale is not None else (None, None)
    if table.kind == "choices":
        low, high = 0.0, 1.0
    return SystemFailures(
        n=len(entries),
        failed=wilson(n_failed, len(entries)),
        by_status=dict(Counter(entry.row.status for entry in entries if entry.judge is None)),
        n_samples=sum(entry.row.n_samples for entry in entries),
        n_samples_failed=sum(entry.row.n_samples_failed for entry in entries),
        bounds=None if table.classes else bounds(scores, n_failed, low, high),
    )


def _sample_sd(rows: Sequence[LabelledItem]) -> float | None:
    """The pooled standard deviation over items that were judged several times."""
    squares = [row.spread**2 for row in rows if row.spread is not None]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else None


def _retest(rows: Sequence[LabelledItem]) -> Retest | None:
    """Test-retest reliability: the variance of samples of one item compared with that between items."""
    repeated = [row.samples for row in rows if len(row.samples) > 1]
    if not repeated:
        return None
    width = max(map(len, repeated))
    return retest([[*samples, *[None] * (width - len(samples))] for samples in repeated])


def _failures_p(by_system: dict[str, list[Entry]]) -> float | None:
    """The p-value of the test that the judge fails equally often
    on every system; none where there is nothing to test.
    """
    number: dict[str, int] = {}
    return equal_rates(
        [[float(entry.judge is None) for entry in entries] for entries in by_system.values()],
        [
            [number.setdefault(entry.row.cluster, len(number)) for entry in entries]
            for entries in by_system.values()
        ],
    ).p


def _detectable(table: LabelledTable, by_system: dict[str, list[Entry]]) -> float | None:
    """The minimum detectable difference of two systems."""
    judged = [[entry for entry in entries if entry.judge is not None] for entries in by_system.values()]
    return detectable_difference(
        [
            standard_error(
                [entry.judge for entry in entries if entry.judge is not None],
                table.groups([entry.row for entry in entries]),
            )
            for entries in judged
        ]
    )
