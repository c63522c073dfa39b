"""Rater severity: how much higher a rater scores than the others on the same items."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    Numbers,
    Ratings,
    floats,
    label_codes,
    make_estimate,
    no_interval,
    rated,
    same_length,
    undefined,
)
from .resample import (
    few_groups,
    jackknife_interval,
    sums_left_out,
)

if TYPE_CHECKING:
    from .arrays import Floats


Basis = Literal["same items", "judge"]
_FEWEST_RATED = 10
"""Ratings below which the severity of a rater has no interval."""


def rater_severity(
    ratings: Ratings,
    judge: Numbers,
    *,
    clusters: Sequence[Hashable] | None = None,
    width: float | None = None,
) -> dict[int, tuple[Estimate, Basis]]:
    """How much higher each rater scores than the others, with intervals that hold together (Bonferroni).

    On the items that others rated as well; where a rater shares no item with another, by the distances of
    both from the judge's scores. `width` is that of the scale, which no difference exceeds.
    """
    import numpy as np

    table, scores = rated(ratings), floats(judge)
    same_length(table, scores, clusters)
    confidence = 1 - (1 - CONFIDENCE) / max(1, table.shape[1])
    severities: dict[int, tuple[Estimate, Basis]] = {}
    for rater in range(table.shape[1]):
        own, others = table[:, rater], np.delete(table, rater, axis=1)
        n_others = (~np.isnan(others)).sum(axis=1)
        is_shared = ~np.isnan(own) & (n_others > 0)
        if is_shared.any():
            rest = np.where(np.isnan(others), 0, others).sum(axis=1) / np.maximum(n_others, 1)
            sides = np.stack(
                [np.where(is_shared, own - rest, np.nan), np.where(is_shared, 0.0, np.nan)], axis=1
            )
            severities[rater] = _severity(sides, clusters, confidence, width), "same items"
        else:
            gaps = others - scores[:, None]
            n_gaps = (~np.isnan(gaps)).sum(axis=1)
            with np.errstate(all="ignore"):
                of_others = np.where(np.isnan(gaps), 0, gaps).sum(axis=1) / n_gaps
            sides = np.stack([own - scores, of_others], axis=1)
            severities[rater] = _severity(sides, clusters, confidence, width), "judge"
    return severities


def _severity(
    sides: Floats, clusters: Sequence[Hashable] | None, confidence: float, width: float | None
) -> Estimate:
    """The mean of one side - that of the other; NaN where an item is not on a side."""
    import numpy as np

    present = ~np.isnan(sides)
    used = np.flatnonzero(present.any(axis=1))
    codes, n_units = (
        (np.arange(len(used)), len(used))
        if clusters is None
        else label_codes([clusters[i] for i in used.tolist()])
    )
    unit = "item" if clusters is None else f"group (n={n_units})"
    n = int(present[:, 0].sum())
    if not present.any(axis=0).all():
        return undefined("no scored item of this rater, or of another", n=n, unit=unit)
    parts = np.concatenate([np.where(present, sides, 0), present], axis=1)[used].astype(np.float64)

    def difference(sums: Floats) -> Floats:
        with np.errstate(all="ignore"):
            means = sums[:, :2] / sums[:, 2:]
        apart: Floats = means[:, 0] - means[:, 1]
        return apart

    value, limit = float(difference(parts.sum(axis=0)[None, :])[0]), math.inf if width is None else width
    interval = no_interval(f"fewer than {_FEWEST_RATED} ratings")
    if min(present.sum(axis=0)) >= _FEWEST_RATED:
        interval = jackknife_interval(
            value, difference(sums_left_out(parts, codes)), codes,
            unit="items" if clusters is None else "groups", scale="linear", limits=(-limit, limit),
            confidence=confidence,
        )  # fmt: skip
    return make_estimate(
        value, interval, "rater - other raters", n=n, unit=unit,
        cautions=() if clusters is None else few_groups(n_units),
    )  # fmt: skip
