"""Many thresholds tested in an order that was fixed before the labels were seen, without a correction for
their number.

Each test is at its own level, at most the risk; the first that is not significant ends the sequence. A false
claim needs the first true null hypothesis of the order to be rejected, which happens with a probability of at
most its level (Maurer et al. 1995; for thresholds: Learn then Test, Angelopoulos et al. 2021).
"""

from __future__ import annotations

from collections.abc import Iterable


def last_rejected(tests: Iterable[tuple[float, float]]) -> int | None:
    """The place of the last hypothesis rejected before the first that is not, by p-values and their levels;
    none where the first is not rejected."""
    last = None
    for place, (p, level) in enumerate(tests):
        if p > level:
            break
        last = place
    return last
