"""Pearson's r, Spearman's rho and Kendall's tau-b, each for thousands of resamples at once.

Two forms: `rows` correlates many short rows, `weighted` one long column under many weightings. Ties
are exact in both: Spearman is Pearson's r of mean ranks, tau-b = (C - D) / sqrt(pairs that differ in x
· pairs that differ in y) (Kendall 1945). Undefined is NaN in here; the callers turn it into none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from .arrays import scaled

if TYPE_CHECKING:
    from .arrays import Codes, Floats

Kind = Literal["pearson", "spearman", "kendall"]
Weighting = Callable[["Floats"], "Floats"]

NAMES: dict[Kind, str] = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall tau-b"}

MOST_CELLS = 4096
"""Distinct pairs of values up to which tau-b is resampled: it needs their square."""

_TINY = 1e-12


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
        found = (a * b).sum(axis=-1) / np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    return np.where(is_flat, np.nan, np.clip(found, -1, 1))


def _is_flat(x: Floats, present: Floats) -> Floats:
    import numpy as np

    low = np.where(present, x, np.inf).min(axis=-1, initial=np.inf)
    high = np.where(present, x, -np.inf).max(axis=-1, initial=-np.inf)
    flat: Floats = low >= high
    return flat


def _kendall_rows(x: Floats, y: Floats) -> Floats:
    import numpy as np

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
        found = agree / np.sqrt(in_x * in_y)
    return np.clip(found, -1, 1)


def weighted(x: Floats, y: Floats, kind: Kind) -> Weighting | None:
    """A function from resamples × items to the correlation of each resample; no value may be missing.

    None where tau-b would need more memory than it is worth.
    """
    if kind == "pearson":
        return _weighted_pearson(x, y)
    if kind == "spearman":
        return _weighted_spearman(x, y)
    return _weighted_kendall(x, y)


def _weighted_pearson(x: Floats, y: Floats) -> Weighting:
    import numpy as np

    a, b = scaled(x), scaled(y)
    parts = np.stack([np.ones(len(a)), a, b, a * a, b * b, a * b], axis=1)

    def found(counts: Floats) -> Floats:
        # Not a matrix product: the order of its sums depends on the number of threads.
        n, sum_a, sum_b, aa, bb, ab = np.einsum("bi,ik->kb", counts, parts)
        with np.errstate(all="ignore"):
            var_a, var_b = aa - sum_a**2 / n, bb - sum_b**2 / n
            value = (ab - sum_a * sum_b / n) / np.sqrt(var_a * var_b)
        is_flat = (var_a <= _TINY * aa) | (var_b <= _TINY * bb)
        return np.where(is_flat, np.nan, np.clip(value, -1, 1))

    return found


def _weighted_spearman(x: Floats, y: Floats) -> Weighting:
    import numpy as np

    by_x = np.argsort(x, kind="stable")
    x_starts, _ = _runs(x[by_x])
    y_sorted = y[by_x]
    by_y = np.argsort(y_sorted, kind="stable")
    y_starts, y_runs = _runs(y_sorted[by_y])
    y_code = np.empty(len(y), dtype=np.int64)
    y_code[by_y] = y_runs

    def found(counts: Floats) -> Floats:
        counts = np.take(counts, by_x, axis=1)
        x_sizes = np.add.reduceat(counts, x_starts, axis=1)
        y_sizes = np.add.reduceat(np.take(counts, by_y, axis=1), y_starts, axis=1)
        x_ranks, y_ranks = _mean_ranks(x_sizes), _mean_ranks(y_sizes)
        counts *= np.take(y_ranks, y_code, axis=1)
        with_x = np.add.reduceat(counts, x_starts, axis=1)
        n = x_sizes.sum(axis=1)
        middle = n * ((n + 1) / 2) ** 2
        cross = np.einsum("bi,bi->b", with_x, x_ranks) - middle
        var_x = np.einsum("bi,bi,bi->b", x_sizes, x_ranks, x_ranks) - middle
        var_y = np.einsum("bi,bi,bi->b", y_sizes, y_ranks, y_ranks) - middle
        with np.errstate(all="ignore"):
            value = cross / np.sqrt(var_x * var_y)
        is_flat = (var_x <= _TINY * middle) | (var_y <= _TINY * middle)
        return np.where(is_flat, np.nan, np.clip(value, -1, 1))

    return found


def _runs(ordered: Floats) -> tuple[Codes, Codes]:
    """Where each run of equal values starts, and the number of its run for each value."""
    import numpy as np

    is_new = np.ones(len(ordered), dtype=bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return np.flatnonzero(is_new), np.cumsum(is_new) - 1


def _mean_ranks(sizes: Floats) -> Floats:
    import numpy as np

    ranks = np.cumsum(sizes, axis=1)
    ranks -= (sizes - 1) / 2
    return ranks


def _weighted_kendall(x: Floats, y: Floats) -> Weighting | None:
    import numpy as np

    cells, of_item = np.unique(np.stack([x, y], axis=1), axis=0, return_inverse=True)
    if len(cells) > MOST_CELLS:
        return None
    by_cell = np.argsort(of_item, kind="stable")
    starts, _ = _runs(of_item[by_cell].astype(np.float64))
    # Sums of whole numbers below 2**24 are exact in single precision, whatever their order.
    single = len(x) < MOST_CELLS
    dtype = np.float32 if single else np.float64
    signs = [np.sign(column[:, None] - column[None, :]).astype(dtype) for column in cells.T]
    both = signs[0] * signs[1]
    untied = [np.abs(sign) for sign in signs]

    def pairs(counts: Floats, matrix: Floats) -> Floats:
        total: Floats = np.einsum("bi,bi->b", (counts.astype(dtype) @ matrix).astype(np.float64), counts)
        return total

    def found(counts: Floats) -> Floats:
        counts = np.add.reduceat(np.take(counts, by_cell, axis=1), starts, axis=1)
        with np.errstate(all="ignore"):
            value = pairs(counts, both) / np.sqrt(pairs(counts, untied[0]) * pairs(counts, untied[1]))
        return np.clip(value, -1, 1)

    return found
