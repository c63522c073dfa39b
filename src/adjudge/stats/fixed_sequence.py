"""Many thresholds tested in an order that was fixed before the labels were seen, without a correction for their number.

Each test is at the full level; the first that is not significant ends the sequence. A false claim needs the first true
null hypothesis of the order to be rejected, which happens with a probability of at most `level` (Maurer et al. 1995;
for thresholds: Learn then Test, Angelopoulos et al. 2021).
"""

from __future__ import annotations

from collections.abc import Iterable


def last_rejected(p_values: Iterable[float], level: float) -> int | None:
    """The place of the last hypothesis rejected before the first that is not; none where the first is not rejected."""
    last = None
    for place, p in enumerate(p_values):
        if p > level:
            break
        last = place
    return last
