"""A share of games won, where games of one prompt are not independent and a tie is half a win."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from msgspec import structs

from ..records import Estimate
from .means import standard_error
from .proportions import wilson
from .undefined import undefined


def clustered_share(
    shares: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    n_failed: int = 0,
    confidence: float = 0.95,
    unit: str = "game",
) -> Estimate:
    """The mean of shares (a tie one half) with Wilson's interval, for as many items as the clusters are worth.

    Items of one cluster that go together count for less: n is multiplied by the variance that independent items
    would have and divided by the one that the clusters show (Kish's design effect). It never counts for more.
    """
    n = len(shares)
    if n == 0:
        return undefined("there is nothing to count", n_failed=n_failed, unit=unit)
    rate = math.fsum(shares) / n
    effective, n_units = float(n), n if clusters is None else len(set(clusters))
    # Games that stand alone are worth n, and ties make them worth more, which is not taken.
    if clusters is not None and n_units < n:
        precision = standard_error(shares, clusters, is_corrected=False)
        if precision is not None and precision.se > 0 and 0 < rate < 1:
            effective = min(effective, rate * (1 - rate) / precision.se**2)
        else:
            effective = float(n_units)
    whole = max(1, math.floor(effective + 1e-9))
    method = "share, a tie is half a win, Wilson interval"
    if whole < n:
        method += f" for {whole} independent games of {n}"
    what = unit if n_units == n else f"group (n={n_units})"
    return structs.replace(
        wilson(rate * whole, whole, confidence, n_failed), value=rate, n=n, method=method, unit=what
    )
