"""What a judge's answers show without people: their spread, their noise, and where they are missing.

Failures go with low scores in real data, so each system's mean has the bounds that its failures leave open.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..stats import Retest, bounds, minimum_detectable, nearest, retest, spread, wilson
from .agreement import levels_of
from .correction import Entry, entries
from .join import Joined, Row, choices, numbers
from .shapes import Quality, SystemFailures


def quality(joined: Joined) -> Quality:
    """All that can be said from the judge's answers alone."""
    n_failed = sum(row.answer is None for row in joined.rows)
    values = [value for value in numbers(row.answer for row in joined.rows) if value is not None]
    levels = levels_of(joined.scale)
    by_level = nearest(values, levels) if levels else values
    counts = Counter(value for value in by_level if value is not None)
    given = Counter(choice for choice in choices(row.answer for row in joined.rows) if choice is not None)
    by_system = entries(joined)
    return Quality(
        n=len(joined.rows),
        n_failed=n_failed,
        spread=spread(counts, len(levels) if levels else None) if joined.kind == "scores" else None,
        counts={choice: given.get(choice, 0) for choice in ("a", "b", "tie")} if given else {},
        sample_sd=_sample_sd(joined.rows),
        retest=_retest(joined.rows),
        minimum_detectable=_detectable(by_system) if joined.kind == "scores" else None,
        failures={system: _failures(own, joined) for system, own in by_system.items()},
    )


def _failures(own: Sequence[Entry], joined: Joined) -> SystemFailures:
    known = [entry.judge for entry in own if entry.judge is not None]
    n_failed = len(own) - len(known)
    scale = joined.scale
    low, high = (scale.low, scale.high) if scale is not None else (None, None)
    if joined.kind == "choices":
        low, high = 0.0, 1.0
    return SystemFailures(
        n=len(own),
        failed=wilson(n_failed, len(own)),
        by_status=dict(Counter(entry.row.status for entry in own if entry.judge is None)),
        n_samples=sum(entry.row.n_samples for entry in own),
        n_samples_failed=sum(entry.row.n_samples_failed for entry in own),
        bounds=bounds(known, n_failed, low, high),
    )


def _sample_sd(rows: Sequence[Row]) -> float | None:
    """The noise of asking again, over items that were asked several times."""
    squares = [row.spread**2 for row in rows if row.spread is not None]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else None


def _retest(rows: Sequence[Row]) -> Retest | None:
    """How much of what the scores show would come out again: samples of one item against different items."""
    repeated = [row.samples for row in rows if len(row.samples) > 1]
    if not repeated:
        return None
    width = max(map(len, repeated))
    return retest([[*samples, *[None] * (width - len(samples))] for samples in repeated])


def _detectable(by_system: dict[str, list[Entry]]) -> float | None:
    """From the pooled deviation within systems, at the size of the smallest of them."""
    squares, n, n_systems, smallest = 0.0, 0, 0, math.inf
    for own in by_system.values():
        known = [entry.judge for entry in own if entry.judge is not None]
        if len(known) < 2:
            continue
        mean = math.fsum(known) / len(known)
        squares += math.fsum((value - mean) ** 2 for value in known)
        n, n_systems, smallest = n + len(known), n_systems + 1, min(smallest, len(known))
    if not n_systems or n <= n_systems:
        return None
    return minimum_detectable(int(smallest), math.sqrt(squares / (n - n_systems)))
