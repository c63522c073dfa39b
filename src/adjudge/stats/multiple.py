"""P-values of many tests, adjusted for there being many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Adjustment = Literal["holm", "bh", "by"]


def adjusted(p_values: Sequence[float | None], method: Adjustment = "holm") -> list[float | None]:
    """Adjusted p-values in the given order; a test without a p-value stays without and does not count.

    `holm` (1979) bounds the chance of any false finding; `bh` (Benjamini and Hochberg 1995) the
    expected share of false ones; `by` (Benjamini and Yekutieli 2001) that share whatever the
    dependence of the tests.
    """
    known = [(p, i) for i, p in enumerate(p_values) if p is not None and not math.isnan(p)]
    found: list[float | None] = [None] * len(p_values)
    m = len(known)
    factor = math.fsum(1 / k for k in range(1, m + 1)) if method == "by" else 1.0
    highest, lowest = 0.0, 1.0
    if method == "holm":
        for place, (p, i) in enumerate(sorted(known)):
            highest = max(highest, min(1.0, (m - place) * p))
            found[i] = highest
        return found
    for place, (p, i) in reversed(list(enumerate(sorted(known), start=1))):
        lowest = min(lowest, factor * m * p / place)
        found[i] = lowest
    return found
