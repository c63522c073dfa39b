"""How far several raters agree among themselves: Krippendorff's alpha and Gwet's AC1 and AC2.

Ratings are items × raters with gaps. An item with one rating can be compared with nothing: alpha
leaves it out, Gwet's coefficient takes it for the prevalence of the categories alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from ..records import Estimate
from .arrays import Ratings, codes, rated, same_length
from .resample import N_RESAMPLES, few_units, interval_or_why, resampled
from .undefined import cautioned, undefined, without_interval

if TYPE_CHECKING:
    from .arrays import Codes, Floats

Metric = Literal["nominal", "ordinal", "interval"]
GwetWeights = Literal["none", "linear", "quadratic", "ordinal"]


def krippendorff_alpha(
    ratings: Ratings,
    metric: Metric = "interval",
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> Estimate:
    """Krippendorff's alpha (2011, "Computing Krippendorff's alpha-reliability"), items resampled.

    1 - D_o / D_e over the pairs of ratings within items and over all pairs. The ordinal metric is
    the interval metric on the mean ranks of the categories, since the sum of the counts between two
    categories, less half of the two, is the distance of their mean ranks.
    """
    import numpy as np

    table = rated(ratings)
    kept = (~np.isnan(table)).sum(axis=1) >= 2 if table.size else np.zeros(len(table), dtype=bool)
    n_undefined = int(len(kept) - kept.sum())
    n = int(kept.sum())
    if n == 0:
        return undefined("no item has two ratings", n_undefined=n_undefined, unit="item")
    statistic = _alpha(table[kept], metric)
    found = float(statistic(np.ones((n, 1)))[0])
    if not math.isfinite(found):
        return undefined("all ratings are the same", n=n, n_undefined=n_undefined, unit="item")
    name = f"Krippendorff's alpha ({metric})"
    draws = resampled(statistic, n, n_resamples, seed)
    low, high, why, cautions = interval_or_why(draws, confidence)
    method = (
        without_interval(name, why) if why else f"{name}, bootstrap ({n_resamples} resamples, percentiles)"
    )
    method = cautioned(method, few_units(n, None) + cautions)
    return Estimate(found, low, high, n, 0, n_undefined, method, "item", seed)


def _alpha(table: Floats, metric: Metric) -> Callable[[Floats], Floats]:
    """Alpha of items × raters as a function of how often each item counts: items × resamples."""
    return _IntervalAlpha(table) if metric == "interval" else _Alpha(_counts(table)[0], metric)


def _counts(table: Floats, levels: Sequence[float] | None = None) -> tuple[Floats, Floats]:
    """How often each item got each value: items × values, and the values."""
    import numpy as np

    present = table[~np.isnan(table)]
    values = np.unique(present) if levels is None else np.array(levels, dtype=np.float64)
    if len(values) == 0 or len(table) == 0:
        return np.zeros((len(table), max(1, len(values)))), np.zeros(max(1, len(values)))
    counts = np.stack([(table == value).sum(axis=1) for value in values], axis=1)
    return counts.astype(np.float64), values


class _IntervalAlpha:
    """Alpha by squared distances, from each item's sums: there may be as many different values as ratings."""

    def __init__(self, table: Floats) -> None:
        import numpy as np

        from .arrays import scaled

        values = scaled(table)
        self.sizes = (~np.isnan(values)).sum(axis=1).astype(np.float64)
        self.sums, self.squares = np.nansum(values, axis=1), np.nansum(values**2, axis=1)
        self.within = 2 * (self.sizes * self.squares - self.sums**2) / (self.sizes - 1)

    def __call__(self, weights: Floats) -> Floats:
        import numpy as np

        # Not a matrix product: the order of its sums depends on the number of threads.
        n, sums, squares, within = (
            np.einsum("ub,u->b", weights, part) for part in (self.sizes, self.sums, self.squares, self.within)
        )
        with np.errstate(all="ignore"):
            between = 2 * (squares - sums**2 / n) / (n - 1)
            found = 1 - within / n / between
        return np.where(between <= 1e-12, np.nan, found)


class _Alpha:
    """Alpha by equal values, or by their ranks, of items that count as often as the weights say: items × resamples."""

    def __init__(self, counts: Floats, metric: Metric) -> None:
        self.counts = counts
        self.sizes = counts.sum(axis=1)
        self.metric = metric

    def __call__(self, weights: Floats) -> Floats:
        import numpy as np

        totals = np.einsum("uk,ub->kb", self.counts, weights)
        n = totals.sum(axis=0)
        with np.errstate(all="ignore"):
            if self.metric == "nominal":
                within = ((self.sizes**2 - (self.counts**2).sum(axis=1)) / (self.sizes - 1)) @ weights / n
                between = (n**2 - (totals**2).sum(axis=0)) / (n * (n - 1))
            else:
                within, between = self._ranked(weights, totals, n)
            found = 1 - within / between
        return np.where(between <= 1e-12, np.nan, found)

    def _ranked(self, weights: Floats, totals: Floats, n: Floats) -> tuple[Floats, Floats]:
        """The mean squared distance of ranks within items and over all pairs of ratings."""
        import numpy as np

        values = (np.cumsum(totals, axis=0) - totals / 2) / n
        values = values - (totals * values).sum(axis=0) / n
        sums = np.einsum("uk,kb->ub", self.counts, values)
        squares = np.einsum("uk,kb->ub", self.counts, values**2)
        sizes = self.sizes[:, None]
        within = (weights * 2 * (sizes * squares - sums**2) / (sizes - 1)).sum(axis=0) / n
        between = 2 * (totals * values**2).sum(axis=0) / (n - 1)
        return within, between


def gwet(
    ratings: Ratings,
    levels: Sequence[float],
    weights: GwetWeights = "none",
    confidence: float = 0.95,
    items: Sequence[Hashable] | None = None,
) -> Estimate:
    """Gwet's AC1 (2008), or AC2 with weights, by the declared levels; t interval over items (Gwet 2014, 5.3).

    Unlike kappa it does not collapse where nearly all ratings are one value. `items` says which rows are of one item
    (the judge beside each of its raters, say): together they count as one.
    """
    import numpy as np
    from scipy.special import stdtrit

    table = rated(ratings)
    same_length(table, items)
    counts, values = _counts(table, levels)
    n_off = int((~np.isnan(table)).sum() - counts.sum())
    name = "Gwet's AC1" if weights == "none" else f"Gwet's AC2 ({weights})"
    is_rated = counts.sum(axis=1) >= 1
    of_row = np.arange(len(counts)) if items is None else codes(items)[0]
    _, of_row = np.unique(of_row[is_rated], return_inverse=True)
    counts = counts[is_rated]
    n = int(of_row.max(initial=-1)) + 1
    n_pairable = len(np.unique(of_row[counts.sum(axis=1) >= 2]))
    if n_pairable == 0 or len(values) < 2:
        why = (
            "the scale has fewer than two levels"
            if len(values) < 2
            else "no item has two ratings on the scale"
        )
        return undefined(why, n=n_pairable, n_undefined=n_off, unit="item")
    value, each = _gwet(counts, of_row, _closeness(values, weights))
    if n < 2:
        return Estimate(value, None, None, n, 0, n_off, without_interval(name, "one item alone"), "item")
    se = math.sqrt(float(((each - value) ** 2).sum()) / (n * (n - 1)))
    if se <= 1e-12:
        return Estimate(
            value, None, None, n, 0, n_off, without_interval(name, "every item says the same"), "item"
        )
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * se
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return Estimate(value, low, high, n, 0, n_off, f"{name}, t interval over items", "item")


def _closeness(values: Floats, weights: GwetWeights) -> Floats:
    """1 for the same level, less for others, 0 for the ends of the scale."""
    import numpy as np

    if weights == "none":
        return np.eye(len(values))
    places = np.argsort(np.argsort(values)).astype(np.float64) if weights == "ordinal" else values
    apart = np.abs(places[:, None] - places[None, :])
    if weights == "ordinal":
        apart = apart * (apart + 1) / 2
    elif weights == "quadratic":
        apart = apart**2
    closeness: Floats = 1 - apart / apart.max()
    return closeness


def _gwet(counts: Floats, of_row: Codes, close: Floats) -> tuple[float, Floats]:
    """The coefficient and the items' linearised parts, whose variance is that of the coefficient."""
    import numpy as np

    sizes, k = counts.sum(axis=1), counts.shape[1]
    row_share = 1 / np.bincount(of_row)[of_row]
    n = float(row_share.sum())
    is_pairable = sizes >= 2
    pairs = np.where(is_pairable, sizes * (sizes - 1), 1)
    agree = np.where(is_pairable, (counts * (counts @ close - 1)).sum(axis=1) / pairs, 0)
    n_pairable = float(row_share[is_pairable].sum())
    prevalence = (row_share[:, None] * counts / sizes[:, None]).sum(axis=0) / n
    factor = close.sum() / (k * (k - 1))
    by_chance = float(factor * (prevalence * (1 - prevalence)).sum())
    value = (float((row_share * agree).sum()) / n_pairable - by_chance) / (1 - by_chance)
    each = n / n_pairable * (agree - by_chance * is_pairable) / (1 - by_chance)
    chance_each = factor * (counts * (1 - prevalence) / sizes[:, None]).sum(axis=1)
    parts = each - 2 * (1 - value) * (chance_each - by_chance) / (1 - by_chance)
    of_items: Floats = np.bincount(of_row, weights=row_share * parts).astype(np.float64)
    return value, of_items
