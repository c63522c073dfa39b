"""The interval that shows equivalence, where the one that is printed reaches beyond the margin."""

from __future__ import annotations

from ..records import Estimate
from ..stats import Equivalence
from ..words import signed


def equivalence_interval(estimate: Estimate, equal: Equivalence, digits: int = 2) -> str:
    """(90 % CI −0.16 to +0.18); empty where the 95 % interval is within the margin as well."""
    if estimate.low is None or estimate.high is None or equal.low is None or equal.high is None:
        return ""
    if -equal.margin <= estimate.low and estimate.high <= equal.margin:
        return ""
    return f" (90 % CI {signed(equal.low, digits)} to {signed(equal.high, digits)})"
