"""Whether one candidate agrees with people better than another on the same items, tested at any level.

The interval and the test say the same: the lower end is above 0 exactly where the one-sided test at half of
1 - confidence is significant. Right or wrong, items alone: McNemar's exact test on the items where the two
differ, and an interval from Clopper and Pearson's bounds. Scores or groups: means of random subsets of the
groups (Hartigan 1969), the interval that belongs to the paired permutation of signs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from msgspec import Struct

from ..records import Estimate
from .arrays import Numbers, floats, label_codes, undefined
from .binomial import lower_bound, upper_bound, upper_tail
from .resample import generator

_SUBSETS, _MOST_SUBSETS = 9_999, 1_999_999
_CHUNK, _MOST_CELLS = 10_000, 20_000_000
_AT_LEVEL = 10
"""So many subsets are expected beyond the bound of the strictest levels."""


class Gain(Struct, frozen=True):
    """The mean difference with an interval for the level, and the one-sided p-value of "no gain"."""

    estimate: Estimate
    p: float | None


def paired_gain(
    differences: Numbers, level: float, groups: Sequence[Hashable] | None = None, seed: int = 0
) -> Gain:
    """First - second for each item; `level` is that of the one-sided test."""
    import numpy as np

    values = floats(differences)
    if len(values) == 0:
        return Gain(undefined("there is no label to compare on", unit="item"), None)
    codes, n_groups = (np.arange(len(values)), len(values)) if groups is None else label_codes(groups)
    is_alone = n_groups == len(values)
    if is_alone and bool(np.isin(values, (-1.0, 0.0, 1.0)).all()):
        return _of_counts(int((values > 0).sum()), int((values < 0).sum()), len(values), level)
    sums = np.bincount(codes, weights=values)
    sizes = np.bincount(codes).astype(float)
    unit = "item" if is_alone else f"group (n={n_groups})"
    return _of_subsets(sums, sizes, level, unit, seed)


def _of_counts(won: int, lost: int, n: int, level: float) -> Gain:
    value, differing = (won - lost) / n, won + lost
    method = f"difference of shares, exact McNemar test on the {differing} items that differ"
    if differing == 0:
        estimate = Estimate(
            0.0, 0.0, 0.0, n, method=method, unit="item", caution="both agree on the same items"
        )
        return Gain(estimate, 1.0)
    low, high = _limits(won, differing, n, level)
    return Gain(Estimate(value, low, high, n, method=method, unit="item"), upper_tail(won, differing, 0.5))


def _limits(won: int, differing: int, n: int, level: float) -> tuple[float, float]:
    """The interval of (2 x share won - 1) x share that differs: the two shares' distances to their bounds, as
    squares.

    Where the test is significant, the product of the two lower bounds, which is above 0, is a bound as well.
    """
    lead, part = 2 * won / differing - 1, differing / n
    low_lead, high_lead = (2 * bound(won, differing, level) - 1 for bound in (lower_bound, upper_bound))
    low_part, high_part = (bound(differing, n, level) for bound in (lower_bound, upper_bound))
    toward_0, away = abs(lead) * (part - low_part), abs(lead) * (high_part - part)
    down, up = (toward_0, away) if lead > 0 else (away, toward_0)
    low = lead * part - math.hypot((lead - low_lead) * part, down)
    high = lead * part + math.hypot((high_lead - lead) * part, up)
    if low_lead > 0:
        low = max(low, low_lead * low_part)
    return max(-1.0, low), min(1.0, high)


def _of_subsets(sums: object, sizes: object, level: float, unit: str, seed: int) -> Gain:
    import numpy as np

    total, weights = np.asarray(sums, dtype=float), np.asarray(sizes, dtype=float)
    n_subsets = min(_MOST_SUBSETS, max(_SUBSETS, math.ceil(_AT_LEVEL / level)))
    random, parts = generator(seed), []
    n_rows = max(1, min(_CHUNK, _MOST_CELLS // len(total)))
    for begin in range(0, n_subsets, n_rows):
        n_drawn = min(n_rows, n_subsets - begin)
        flips = random.integers(0, 2, size=(n_drawn, len(total)), dtype=np.int8).astype(float)
        chosen = flips @ weights
        # The empty subset stands for the signs as they are: it bounds the mean on neither side.
        parts.append((flips @ total)[chosen > 0] / chosen[chosen > 0])
    known = np.sort(np.concatenate(parts))
    n_empty = n_subsets - len(known) + 1
    p = (int((known <= 0).sum()) + n_empty) / (n_subsets + 1)
    allowed = int(level * (n_subsets + 1)) - n_empty
    n = int(weights.sum())
    value = float(total.sum() / n)
    method = f"mean difference, paired sign-flip interval from {n_subsets} random subsets"
    if allowed < 0 or allowed >= len(known):
        estimate = Estimate(
            value,
            None,
            None,
            n,
            method=method,
            unit=unit,
            seed=seed,
            reason="too few groups for an interval at this level",
        )
        return Gain(estimate, p)
    low, high = float(known[allowed]), float(known[len(known) - 1 - allowed])
    return Gain(Estimate(value, min(low, value), max(high, value), n, method=method, unit=unit, seed=seed), p)
