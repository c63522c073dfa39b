"""How much information a set of scores carries: a judge that says 4 to everything carries none."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct


class Spread(Struct, frozen=True):
    """The most frequent value, its share, and the entropy in bits."""

    n: int
    mode: float | None
    mode_share: float | None
    entropy_bits: float | None
    relative_entropy: float | None = None
    """the entropy as a share of what evenly used levels would have; none where the levels are unknown"""


def spread(counts: Mapping[float, int], n_levels: int | None = None) -> Spread:
    """The spread of counts by value; of equally frequent values the smallest is the mode."""
    seen = {value: count for value, count in counts.items() if count > 0}
    n = sum(seen.values())
    if n == 0:
        return Spread(0, None, None, None)
    mode = min(seen, key=lambda value: (-seen[value], value))
    entropy = math.fsum(-count / n * math.log2(count / n) for count in seen.values())
    entropy = max(0.0, entropy)
    relative = entropy / math.log2(n_levels) if n_levels is not None and n_levels > 1 else None
    return Spread(n, mode, seen[mode] / n, entropy, relative)
