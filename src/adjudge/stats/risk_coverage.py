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
"""The shares of items that are decided at most, the most certain first."""


class CoverageRisk(Struct, frozen=True):
    """One point of the curve."""

    coverage: float
    least: float
    """the least certainty among the decided items"""
    risk: Estimate


def risks_at_coverages(
    certainties: Floats, wrong: Floats, groups: Sequence[Hashable] | None
) -> list[CoverageRisk]:
    """The points of the curve; items that share a group count as one observation."""
    import numpy as np

    order = np.argsort(-certainties, kind="stable")
    risks = []
    for coverage in COVERAGES:
        rows = order[: max(1, math.ceil(coverage * len(certainties)))]
        chosen = None if groups is None else [groups[row] for row in rows.tolist()]
        risk = mean_interval(
            wrong[rows].astype(np.float64).tolist(),
            chosen,
            limits=(0.0, 1.0),
            name=f"error at coverage {coverage:g}",
        )
        risks.append(CoverageRisk(coverage, float(certainties[rows[-1]]), risk))
    return risks
