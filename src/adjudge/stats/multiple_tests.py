"""Many tests at once: p-values by Holm and by Benjamini and Yekutieli, and simultaneous intervals
(Bonferroni)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from .arrays import (
    CONFIDENCE,
    AnyEstimate,
    t_quantile,
    with_remark,
)

if TYPE_CHECKING:
    pass


Adjustment = Literal["holm", "by"]


def adjusted(p_values: Sequence[float | None], method: Adjustment = "holm") -> list[float | None]:
    """Adjusted p-values in the given order; a test without a p-value stays without and does not count.

    `holm` (1979) bounds the chance of any false finding; `by` (Benjamini and Yekutieli 2001) the
    expected share of false ones, under any dependence of the tests.
    """
    known = [(p, i) for i, p in enumerate(p_values) if p is not None and not math.isnan(p)]
    corrected: list[float | None] = [None] * len(p_values)
    m = len(known)
    if method == "holm":
        highest = 0.0
        for place, (p, i) in enumerate(sorted(known)):
            highest = max(highest, min(1.0, (m - place) * p))
            corrected[i] = highest
        return corrected
    factor, lowest = math.fsum(1 / k for k in range(1, m + 1)), 1.0
    for place, (p, i) in reversed(list(enumerate(sorted(known), start=1))):
        lowest = min(lowest, factor * m * p / place)
        corrected[i] = lowest
    return corrected


def simultaneous(
    estimate: AnyEstimate, n_comparisons: int, df: float, limits: tuple[float, float] | None = None
) -> AnyEstimate:
    """The estimate with its interval widened so that all of `n_comparisons` hold together (Bonferroni).

    Each side of a t interval with `df` degrees of freedom grows by the ratio of the two quantiles. For the
    differences of all pairs of 12 systems that is within 3 % of Tukey's studentised range, and it also holds
    for paired ones. `limits` are the ends beyond which the value cannot lie.
    """
    if n_comparisons < 2 or estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    ratio = t_quantile(df, 1 - (1 - CONFIDENCE) / n_comparisons) / t_quantile(df)
    least, most = (-math.inf, math.inf) if limits is None else limits
    return with_remark(
        structs.replace(
            estimate,
            low=max(min(least, estimate.low), estimate.value - ratio * (estimate.value - estimate.low)),
            high=min(max(most, estimate.high), estimate.value + ratio * (estimate.high - estimate.value)),
        ),
        f"simultaneous for {n_comparisons} comparisons (Bonferroni)",
    )
