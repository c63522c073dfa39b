"""How a judge's scores correlate with people's, over items, within groups, or over systems.

The three levels answer different questions and differ by a lot on the same data (Deutsch, Dror and Roth
2021), so each estimate names its level, and in its unit what was resampled for its interval: inputs (groups,
or items where there are none), systems, or both. A group in which one side is constant has no correlation: it
is left out and counted, never taken as 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from ..records import Estimate
from .arrays import (
    NORMAL_QUANTILE,
    Interval,
    floats,
    is_constant,
    make_estimate,
    no_interval,
    same_length,
    scaled,
    undefined,
)

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    from .arrays import Codes, Flags, Floats


Kind = Literal["pearson", "spearman", "kendall"]


Weighting = Callable[["Floats"], "Floats"]


NAMES: dict[Kind, str] = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall tau-b"}


MOST_CELLS = 4096
"""Distinct pairs of values up to which tau-b is resampled: it needs their square."""


_SHORT = 100
"""Items up to which comparing all pairs beats sorting them."""


_MANY = 1000
"""Inputs of each system from which the distribution of its mean is used in place of drawn inputs."""


_FEW_PAIRS = 200_000
"""Pairs of values that are compared at once."""


_MOST_PAIRS = 1_000_000
"""Pairs of distinct values up to which they are counted."""


_TINY = 1e-12


def single(x: Floats, y: Floats, kind: Kind) -> float | None:
    """The correlation of two columns without missing values; none where it is undefined."""
    if len(x) < 2:
        return None
    if kind == "kendall" and len(x) > _SHORT and not (is_constant(x) or is_constant(y)):
        coefficient = _kendall_of_many(x, y)
    else:
        coefficient = float(rows(x, y, kind))
    return None if coefficient != coefficient else coefficient


def _kendall_of_many(x: Floats, y: Floats) -> float:
    """Tau-b of long columns: from the counts of pairs of values where those are few, or else by sorting."""
    import numpy as np

    (xs, in_x), (ys, in_y) = (np.unique(values, return_inverse=True) for values in (x, y))
    if len(xs) * len(ys) > _MOST_PAIRS:
        from scipy.stats import kendalltau

        return float(kendalltau(x, y, method="asymptotic").statistic)
    counts = np.bincount(in_x * len(ys) + in_y, minlength=len(xs) * len(ys)).reshape(len(xs), len(ys))
    sums = counts.cumsum(axis=0)
    below = sums.cumsum(axis=1)
    above = sums[:, ::-1].cumsum(axis=1)[:, ::-1]
    more = int((counts[1:, 1:] * below[:-1, :-1]).sum() - (counts[1:, :-1] * above[:-1, 1:]).sum())
    pairs = len(x) * (len(x) - 1) // 2
    of_x, of_y = (int((n * (n - 1) // 2).sum()) for n in (counts.sum(axis=1), counts.sum(axis=0)))
    tau = more / np.sqrt(pairs - of_x) / np.sqrt(pairs - of_y)
    return float(min(1.0, max(-1.0, tau)))


def rows(x: Floats, y: Floats, kind: Kind) -> Floats:
    """The correlation along the last axis; missing values must be NaN on both sides at once."""
    if kind == "kendall":
        return _kendall_rows(x, y)
    if kind == "spearman":
        x, y = rank_rows(x), rank_rows(y)
    return _pearson_rows(x, y)


def rank_rows(x: Floats) -> Floats:
    """1, 2, 3, … along the last axis; equal values share the mean of their places, NaN stays."""
    import numpy as np

    order = np.argsort(x, axis=-1, kind="stable")
    ordered = np.take_along_axis(x, order, axis=-1)
    width = x.shape[-1]
    places = np.broadcast_to(np.arange(width), x.shape)
    is_new = np.ones(x.shape, dtype=bool)
    is_new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    first = np.maximum.accumulate(np.where(is_new, places, 0), axis=-1)
    is_last = np.ones(x.shape, dtype=bool)
    is_last[..., :-1] = is_new[..., 1:]
    backwards = np.where(is_last, places, width)[..., ::-1]
    last = np.minimum.accumulate(backwards, axis=-1)[..., ::-1]
    ranks = np.empty(x.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    ranks[np.isnan(x)] = np.nan
    return ranks


def _pearson_rows(x: Floats, y: Floats) -> Floats:
    import numpy as np

    present = ~np.isnan(x)
    n = present.sum(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        a = np.where(present, x - np.where(present, x, 0).sum(axis=-1, keepdims=True) / n, 0)
        b = np.where(present, y - np.where(present, y, 0).sum(axis=-1, keepdims=True) / n, 0)
        a = a / np.abs(a).max(axis=-1, keepdims=True, initial=0)
        b = b / np.abs(b).max(axis=-1, keepdims=True, initial=0)
        # A side without two different values must not get a correlation from rounding.
        is_flat = _is_flat(x, present) | _is_flat(y, present)
        coefficients = (a * b).sum(axis=-1) / np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    return np.where(is_flat, np.nan, np.clip(coefficients, -1, 1))


def _is_flat(x: Floats, present: Flags) -> Flags:
    import numpy as np

    low = np.where(present, x, np.inf).min(axis=-1, initial=np.inf)
    high = np.where(present, x, -np.inf).max(axis=-1, initial=-np.inf)
    flat: Flags = low >= high
    return flat


def _kendall_rows(x: Floats, y: Floats) -> Floats:
    import numpy as np

    width = x.shape[-1]
    if x.size * width <= _FEW_PAIRS:
        first, second = np.triu_indices(width, 1)
        a, b = (np.nan_to_num(np.sign(side[..., second] - side[..., first])) for side in (x, y))
        of_both, of_x, of_y = (a * b).sum(axis=-1), np.abs(a).sum(axis=-1), np.abs(b).sum(axis=-1)
        with np.errstate(all="ignore"):
            of_few: Floats = of_both / np.sqrt(of_x * of_y)
        return np.clip(of_few, -1, 1)
    agree = np.zeros(x.shape[:-1])
    in_x, in_y = np.zeros(x.shape[:-1]), np.zeros(x.shape[:-1])
    # One column against all later ones at a time, so that memory stays that of the table.
    for i in range(x.shape[-1] - 1):
        a = np.nan_to_num(np.sign(x[..., i + 1 :] - x[..., i : i + 1]))
        b = np.nan_to_num(np.sign(y[..., i + 1 :] - y[..., i : i + 1]))
        agree += (a * b).sum(axis=-1)
        in_x += np.abs(a).sum(axis=-1)
        in_y += np.abs(b).sum(axis=-1)
    with np.errstate(all="ignore"):
        coefficients = agree / np.sqrt(in_x * in_y)
    return np.clip(coefficients, -1, 1)


def weighted(x: Floats, y: Floats, kind: Kind) -> Weighting | None:
    """A function from items × resamples to the correlation of each resample; no value may be missing.

    None where tau-b would need more memory than it is worth. Fastest where `x` is sorted.
    """
    if kind == "pearson":
        return _weighted_pearson(x, y)
    if kind == "spearman":
        return weighted_spearman(x, y)
    return _weighted_kendall(x, y)


def _weighted_pearson(x: Floats, y: Floats) -> Weighting:
    import numpy as np

    a, b = scaled(x), scaled(y)
    parts = [np.ones(len(a)), a, b, a * a, b * b, a * b]

    def coefficient(counts: Floats) -> Floats:
        # Not a matrix product: the order of its sums depends on the number of threads.
        n, sum_a, sum_b, aa, bb, ab = (np.einsum("ib,i->b", counts, part) for part in parts)
        with np.errstate(all="ignore"):
            var_a, var_b = aa - sum_a**2 / n, bb - sum_b**2 / n
            value = (ab - sum_a * sum_b / n) / np.sqrt(var_a * var_b)
        is_flat = (var_a <= _TINY * aa) | (var_b <= _TINY * bb)
        return np.where(is_flat, np.nan, np.clip(value, -1, 1))

    return coefficient


class _Ordering:
    """The items in the order of one column, and where its runs of equal values start."""

    def __init__(self, values: Floats) -> None:
        import numpy as np

        order = np.argsort(values, kind="stable")
        self.order: Codes | None = None if np.array_equal(order, np.arange(len(order))) else order
        ordered = values[order]
        is_last = np.ones(len(values), dtype=bool)
        is_last[:-1] = ordered[1:] != ordered[:-1]
        is_first = np.roll(is_last, 1)
        self.starts: Codes | None = None if is_last.all() else np.flatnonzero(is_first)
        run = np.empty(len(values), dtype=np.int64)
        run[order] = np.cumsum(is_last) - is_last
        self.run = run
        """the number of its run for each item, in the items' own order"""

    def ranks(self, counts: Floats) -> tuple[Floats, Floats]:
        """The size and the mean rank of each run of equal values: runs × resamples."""
        import numpy as np

        ordered = counts if self.order is None else np.take(counts, self.order, axis=0)
        # Sums of whole numbers are exact in any order.
        sizes = ordered if self.starts is None else np.add.reduceat(ordered, self.starts, axis=0)
        ranks = np.cumsum(sizes, axis=0) - sizes / 2
        ranks += 0.5
        return sizes, ranks

    def of_items(self, by_run: Floats) -> Floats:
        """One row per item from one row per run."""
        import numpy as np

        is_in_place = self.order is None and self.starts is None
        return by_run if is_in_place else np.take(by_run, self.run, axis=0)


def weighted_spearman(x: Floats, y: Floats) -> Weighting:
    import numpy as np

    by_x, by_y = _Ordering(x), _Ordering(y)

    def coefficient(counts: Floats) -> Floats:
        x_sizes, x_ranks = by_x.ranks(counts)
        y_sizes, y_ranks = by_y.ranks(counts)
        product = counts * by_y.of_items(y_ranks)
        n = counts.sum(axis=0)
        cross = np.einsum("ib,ib->b", product, by_x.of_items(x_ranks)) - n * ((n + 1) / 2) ** 2
        # Twelve times the variance of mean ranks is n cubed less the cubes of the runs' sizes.
        var_x = (n**3 - np.einsum("ib,ib->b", x_sizes * x_sizes, x_sizes)) / 12
        var_y = (n**3 - np.einsum("ib,ib->b", y_sizes * y_sizes, y_sizes)) / 12
        with np.errstate(all="ignore"):
            value = cross / np.sqrt(var_x * var_y)
        is_flat = (var_x <= _TINY * n**3) | (var_y <= _TINY * n**3)
        return np.where(is_flat, np.nan, np.clip(value, -1, 1))

    return coefficient


def _weighted_kendall(x: Floats, y: Floats) -> Weighting | None:
    import numpy as np

    cells, of_item = np.unique(np.stack([x, y], axis=1), axis=0, return_inverse=True)
    if len(cells) > MOST_CELLS:
        return None
    by_cell = _Ordering(of_item.reshape(-1).astype(np.float64))
    by_x, by_y = _Ordering(cells[:, 0]), _Ordering(cells[:, 1])
    # Sums of whole numbers below 2**24 are exact in single precision, in any order.
    signs = _signs(by_x.run) * _signs(by_y.run)

    def coefficient(counts: Floats) -> Floats:
        counts, _ = by_cell.ranks(counts)
        x_sizes, _ = by_x.ranks(counts)
        y_sizes, _ = by_y.ranks(counts)
        agree = np.einsum("ib,ib->b", (signs @ counts.astype(np.float32)).astype(np.float64), counts)
        pairs = counts.sum(axis=0) ** 2
        in_x = pairs - np.einsum("ib,ib->b", x_sizes, x_sizes)
        in_y = pairs - np.einsum("ib,ib->b", y_sizes, y_sizes)
        with np.errstate(all="ignore"):
            value: Floats = agree / np.sqrt(in_x * in_y)
        return np.clip(value, -1, 1)

    return coefficient


def _signs(code: Codes) -> NDArray[float32]:
    import numpy as np

    numbers = code.astype(np.float32)
    signs: NDArray[float32] = np.sign(numbers[:, None] - numbers[None, :])
    return signs


def spearman(x: Sequence[float], y: Sequence[float], n_units: int | None = None) -> Estimate:
    """Spearman's correlation of two columns of scores, with Fisher's interval (Bonett and Wright 2000).

    For tables of many correlations between scores of judges, where `correlate` would cost a tenth of a second
    each, and for few items: on 5 of them the percentiles of resamples cover 72 to 77 %, Fisher's interval 99
    %. Where items share a group, the number of groups, `n_units`, stands in for n, which is cautious.
    """
    import numpy as np

    same_length(x, y)
    a, b = floats(x), floats(y)
    kept = ~np.isnan(a) & ~np.isnan(b)
    a, b = a[kept], b[kept]
    n, n_undefined = len(a), int(len(kept) - kept.sum())
    unit = "item" if n_units is None else f"group (n={n_units})"
    value = single(a, b, "spearman")
    if value is None:
        reason = "fewer than two pairs" if n < 2 else "one side is constant"
        return undefined(reason, n=n, n_undefined=n_undefined, unit=unit)
    interval = _fisher_interval(value, n if n_units is None else min(n, n_units))
    return make_estimate(value, interval, NAMES["spearman"], n=n, n_undefined=n_undefined, unit=unit)


def _fisher_interval(value: float, n: int) -> Interval:
    """Of a rank correlation over `n` independent pairs."""
    if n <= 3:
        return no_interval("fewer than four independent pairs")
    if abs(value) > 1 - 1e-12:
        return no_interval("a perfect correlation")
    half = NORMAL_QUANTILE * math.sqrt((1 + value**2 / 2) / (n - 3))
    return Interval(
        math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half), ", Fisher interval"
    )
