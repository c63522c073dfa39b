"""The risk–coverage curve: the share of wrong decisions where only the most certain items are decided."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .means import mean_interval

if TYPE_CHECKING:
    from .arrays import Floats

COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
"""The shares of items that are decided, the most certain first."""
_SLACK = 0.02
"""More than this beyond the share that was wanted is said."""


class CoverageRisk(Struct, frozen=True):
    """One point of the curve."""

    coverage: float
    least: float
    """the least certainty among the decided items"""
    risk: Estimate


def risks_at_coverages(
    certainties: Floats, wrong: Floats, groups: Sequence[Hashable] | None
) -> list[CoverageRisk]:
    """The points of the curve; items that share a group count as one observation.

    Equally certain items are decided together, or the order of the items would choose among them. Where that
    decides clearly more items, the point stands at the share that is decided, and no point stands twice.
    """
    import numpy as np

    n, falling = len(certainties), np.sort(certainties)[::-1]
    risks: list[CoverageRisk] = []
    for wanted in COVERAGES:
        least = float(falling[max(1, math.ceil(wanted * n)) - 1])
        rows = np.flatnonzero(certainties >= least)
        coverage = wanted if len(rows) / n <= wanted + _SLACK else round(len(rows) / n, 3)
        if risks and risks[-1].least == least:
            continue
        chosen = None if groups is None else [groups[row] for row in rows.tolist()]
        risk = mean_interval(
            wrong[rows].astype(np.float64).tolist(),
            chosen,
            limits=(0.0, 1.0),
            name=f"error at coverage {coverage:g}",
        )
        risks.append(CoverageRisk(coverage, least, risk))
    return risks
