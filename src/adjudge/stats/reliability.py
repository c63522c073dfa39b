"""How much of the variance of repeated ratings is between items: intraclass correlation and test-retest.

Knows nothing of who rated: columns are raters, or samples of one judge.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..records import Estimate
from .arrays import Ratings, rated, scaled, undefined, without_interval

if TYPE_CHECKING:
    from .arrays import Floats

IccForm = Literal["1,1", "A,1", "C,1", "1,k", "A,k", "C,k"]


class Retest(Struct, frozen=True):
    """Repeated judgments of the same items: the noise of asking again, and what is left of it in a mean."""

    n_items: int
    """items with at least two samples"""
    within: float | None
    """the variance of samples of one item; more samples make only this smaller"""
    between: float | None
    """the variance of the items' true scores; none below 0"""
    single: Estimate
    """the reliability of one sample: ICC(1,1)"""
    mean: Estimate
    """the reliability of the mean of all samples: ICC(1,k)"""


def icc(ratings: Ratings, form: IccForm = "C,1", confidence: float = 0.95) -> Estimate:
    """An intraclass correlation with its F interval (McGraw and Wong 1996).

    1: raters differ from item to item; A: the same raters, their leniency counts as disagreement; C:
    leniency does not count. 1: of one rating, k: of the mean. Items with a gap are left out and counted.
    """
    import numpy as np

    table = rated(ratings)
    n_items = len(table)
    table = table[np.isnan(table).sum(axis=1) == 0]
    n_undefined = n_items - len(table)
    n, k = table.shape
    if n < 2 or k < 2:
        why = "there is one rater" if k < 2 else "fewer than two items have all ratings"
        return undefined(why, n=n, n_undefined=n_undefined, unit="item")
    if table.min() == table.max():
        return undefined("all ratings are the same", n=n, n_undefined=n_undefined, unit="item")
    found = _Squares(scaled(table)).icc(form, confidence)
    if found is None:
        return undefined("the ratings do not vary enough", n=n, n_undefined=n_undefined, unit="item")
    value, low, high = found
    name = f"ICC({form})"
    if low is None or high is None or not 1e-12 < high - low < math.inf:
        why = "the raters agree perfectly" if value > 1 - 1e-12 else "the variances leave none"
        return Estimate(value, None, None, n, 0, n_undefined, without_interval(name, why), "item")
    return Estimate(value, low, high, n, 0, n_undefined, f"{name}, F interval", "item")


class _Squares:
    """The mean squares of items × raters."""

    def __init__(self, table: Floats) -> None:
        self.n, self.k = table.shape
        middle = table.mean()
        by_item, by_rater = table.mean(axis=1), table.mean(axis=0)
        total = float(((table - middle) ** 2).sum())
        items = self.k * float(((by_item - middle) ** 2).sum())
        raters = self.n * float(((by_rater - middle) ** 2).sum())
        self.items = items / (self.n - 1)
        self.raters = raters / (self.k - 1)
        self.within = (total - items) / (self.n * (self.k - 1))
        self.errors = max(0.0, total - items - raters) / ((self.n - 1) * (self.k - 1))

    def icc(self, form: IccForm, confidence: float) -> tuple[float, float | None, float | None] | None:
        kind, size = form.split(",")
        k = self.k
        error = self.within if kind == "1" else self.errors
        shift = k * (self.raters - self.errors) / self.n if kind == "A" else 0.0
        denominator = self.items + (k - 1) * error + shift
        if denominator <= 0:
            return None
        single = (self.items - error) / denominator
        if error <= 1e-14 * self.items:
            low, high = None, None
            if kind == "A" and shift > 0:
                low, high = self._absolute(single, confidence)
        elif kind == "A":
            low, high = self._absolute(single, confidence)
        else:
            df = self.n * (k - 1) if kind == "1" else (self.n - 1) * (k - 1)
            low, high = self._by_f(self.items / error, df, confidence)
        if size == "1":
            return single, low, high
        # Spearman and Brown: the reliability of a mean of k from that of one.
        stepped = [_stepped(value, k) for value in (single, low, high)]
        return None if stepped[0] is None else (stepped[0], stepped[1], stepped[2])

    def _by_f(self, ratio: float, df: int, confidence: float) -> tuple[float, float]:
        from scipy.special import fdtri

        upper, n, k = (1 + confidence) / 2, self.n, self.k
        low, high = ratio / fdtri(n - 1, df, upper), ratio * fdtri(df, n - 1, upper)
        return float((low - 1) / (low + k - 1)), float((high - 1) / (high + k - 1))

    def _absolute(self, value: float, confidence: float) -> tuple[float | None, float | None]:
        """Satterthwaite's degrees of freedom (McGraw and Wong 1996, table 7, case 2A)."""
        from scipy.special import fdtri

        n, k, upper = self.n, self.k, (1 + confidence) / 2
        if value >= 1:
            return None, None
        a = k * value / (n * (1 - value))
        b = 1 + k * value * (n - 1) / (n * (1 - value))
        parts = (a * self.raters) ** 2 / (k - 1) + (b * self.errors) ** 2 / ((n - 1) * (k - 1))
        if parts <= 0:
            return None, None
        df = (a * self.raters + b * self.errors) ** 2 / parts
        first, second = float(fdtri(n - 1, df, upper)), float(fdtri(df, n - 1, upper))
        noise = k * self.raters + (k * n - k - n) * self.errors
        low = n * (self.items - first * self.errors) / (first * noise + n * self.items)
        high = n * (second * self.items - self.errors) / (noise + n * second * self.items)
        return low, high


def _stepped(value: float | None, k: float) -> float | None:
    if value is None or 1 + (k - 1) * value <= 0:
        return None
    return k * value / (1 + (k - 1) * value)


def retest(samples: Ratings, confidence: float = 0.95) -> Retest:
    """Within- and between-item variance of repeated judgments, and the reliability that follows.

    One-way analysis of variance with unequal numbers of samples; k is their effective number
    (Donner 1986). The interval is the F interval at that k, exact where all items have as many.
    """
    import numpy as np

    table = rated(samples)
    table = table[(~np.isnan(table)).sum(axis=1) >= 2]
    n = len(table)
    if n < 2:
        none = undefined("fewer than two items have two samples", n=n, unit="item")
        return Retest(n, None, None, none, none)
    sizes, means = (~np.isnan(table)).sum(axis=1), np.nanmean(table, axis=1)
    total = int(sizes.sum())
    within = float(np.nansum((table - means[:, None]) ** 2)) / (total - n)
    items = float((sizes * (means - np.nanmean(table)) ** 2).sum()) / (n - 1)
    k = (total - float((sizes**2).sum()) / total) / (n - 1)
    between = max(0.0, (items - within) / k)
    if within <= 0 and items <= 0:
        none = undefined("all samples are the same", n=n, unit="item")
        return Retest(n, within, between, none, none)
    if within <= 1e-14 * items:
        method = without_interval("ICC(1,1)", "every item got the same score each time")
        one = Estimate(1.0, None, None, n, 0, 0, method, "item")
        return Retest(n, within, between, one, one)
    return Retest(n, within, between, *_one_way(items / within, n, total, k, confidence))


def _one_way(ratio: float, n: int, total: int, k: float, confidence: float) -> tuple[Estimate, Estimate]:
    """The reliability of one sample and of a mean of k, from the ratio of the mean squares."""
    from scipy.special import fdtri

    upper = (1 + confidence) / 2
    low, high = ratio / float(fdtri(n - 1, total - n, upper)), ratio * float(fdtri(total - n, n - 1, upper))
    single = [(end - 1) / (end + k - 1) for end in (ratio, low, high)]
    one = Estimate(single[0], single[1], single[2], n, 0, 0, "ICC(1,1), F interval", "item")
    if low <= 0:
        return one, undefined("all items have the same mean", n=n, unit="item")
    mean = [1 - 1 / end for end in (ratio, low, high)]
    method = f"ICC(1,k), k = {k:.3g}, F interval"
    return one, Estimate(mean[0], mean[1], mean[2], n, 0, 0, method, "item")
