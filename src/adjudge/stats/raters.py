"""How far several raters agree among themselves: Krippendorff's alpha and Gwet's AC1 and AC2.

Ratings are items × raters with gaps. An item with one rating can be compared with nothing: alpha
leaves it out, Gwet's coefficient takes it for the prevalence of the categories alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..records import Estimate
from .arrays import Ratings, rated
from .resample import N_RESAMPLES, few_units, interval_or_why, resampled
from .undefined import cautioned, undefined, without_interval

if TYPE_CHECKING:
    from .arrays import Floats

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
    statistic = _IntervalAlpha(table[kept]) if metric == "interval" else _Alpha(*_counts(table[kept]), metric)
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


def _counts(ratings: Ratings, levels: Sequence[float] | None = None) -> tuple[Floats, Floats]:
    """How often each item got each value: items × values, and the values."""
    import numpy as np

    table = rated(ratings)
    present = table[~np.isnan(table)]
    values = np.unique(present) if levels is None else np.array(levels, dtype=np.float64)
    if len(values) == 0 or len(table) == 0:
        return np.zeros((len(table), max(1, len(values)))), np.zeros(max(1, len(values)))
    counts = np.stack([(table == value).sum(axis=1) for value in values], axis=1)
    return counts.astype(np.float64), values


class _Alpha:
    """Alpha of items that count as often as a column of weights says; items × resamples."""

    def __init__(self, counts: Floats, values: Floats, metric: Metric) -> None:
        from .arrays import scaled

        self.counts = counts
        self.sizes = counts.sum(axis=1)
        self.values = scaled(values)
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
                within, between = self._squares(weights, totals, n)
            found = 1 - within / between
        return np.where(between <= 1e-12, np.nan, found)

    def _squares(self, weights: Floats, totals: Floats, n: Floats) -> tuple[Floats, Floats]:
        """The mean squared distance within items and over all pairs of ratings."""
        import numpy as np

        values = self.values[:, None] * np.ones_like(totals)
        if self.metric == "ordinal":
            values = (np.cumsum(totals, axis=0) - totals / 2) / n
        values = values - (totals * values).sum(axis=0) / n
        sums = np.einsum("uk,kb->ub", self.counts, values)
        squares = np.einsum("uk,kb->ub", self.counts, values**2)
        sizes = self.sizes[:, None]
        within = (weights * 2 * (sizes * squares - sums**2) / (sizes - 1)).sum(axis=0) / n
        between = 2 * (totals * values**2).sum(axis=0) / (n - 1)
        return within, between


def gwet(
    ratings: Ratings, levels: Sequence[float], weights: GwetWeights = "none", confidence: float = 0.95
) -> Estimate:
    """Gwet's AC1 (2008), or AC2 with weights, by the declared levels; t interval over items (Gwet 2014, 5.3).

    Unlike kappa it does not collapse where nearly all ratings are one value.
    """
    import numpy as np
    from scipy.special import stdtrit

    counts, values = _counts(ratings, levels)
    n_off = int((~np.isnan(rated(ratings))).sum() - counts.sum())
    name = "Gwet's AC1" if weights == "none" else f"Gwet's AC2 ({weights})"
    counts = counts[counts.sum(axis=1) >= 1]
    sizes = counts.sum(axis=1)
    n, n_pairable = len(counts), int((sizes >= 2).sum())
    if n_pairable == 0 or len(values) < 2:
        why = (
            "the scale has fewer than two levels"
            if len(values) < 2
            else "no item has two ratings on the scale"
        )
        return undefined(why, n=n_pairable, n_undefined=n_off, unit="item")
    value, each = _gwet(counts, sizes, _closeness(values, weights))
    if n < 2:
        return Estimate(value, None, None, n, 0, n_off, without_interval(name, "one item alone"), "item")
    se = math.sqrt(float(((each - value) ** 2).sum()) / (n * (n - 1)))
    if se <= 1e-12:
        return Estimate(
            value, None, None, n, 0, n_off, without_interval(name, "the items do not differ"), "item"
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


def _gwet(counts: Floats, sizes: Floats, close: Floats) -> tuple[float, Floats]:
    """The coefficient and the items' linearised parts, whose variance is that of the coefficient."""
    import numpy as np

    n, k = counts.shape
    is_pairable = sizes >= 2
    pairs = np.where(is_pairable, sizes * (sizes - 1), 1)
    agree = np.where(is_pairable, (counts * (counts @ close - 1)).sum(axis=1) / pairs, 0)
    share = n / is_pairable.sum()
    prevalence = (counts / sizes[:, None]).mean(axis=0)
    factor = close.sum() / (k * (k - 1))
    by_chance = float(factor * (prevalence * (1 - prevalence)).sum())
    value = (float(agree.sum() / is_pairable.sum()) - by_chance) / (1 - by_chance)
    each = share * (agree - by_chance * is_pairable) / (1 - by_chance)
    chance_each = factor * (counts * (1 - prevalence) / sizes[:, None]).sum(axis=1)
    return value, each - 2 * (1 - value) * (chance_each - by_chance) / (1 - by_chance)
