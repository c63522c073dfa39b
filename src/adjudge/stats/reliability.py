"""Test-retest reliability: how much of the variance of repeated judgments is between items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    Ratings,
    make_estimate,
    no_interval,
    rated,
    undefined,
)

if TYPE_CHECKING:
    pass


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


def retest(samples: Ratings) -> Retest:
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
    if items <= 1e-14 * within:
        none = undefined("all items have the same mean", n=n, unit="item")
        return Retest(n, within, between, none, none)
    if within <= 1e-14 * items:
        perfect = make_estimate(1.0, no_interval("every item got the same score each time"), "ICC(1,1)", n=n)
        return Retest(n, within, between, perfect, perfect)
    return Retest(n, within, between, *_one_way(items / within, n, total, k))


def _one_way(ratio: float, n: int, total: int, k: float) -> tuple[Estimate, Estimate]:
    """The reliability of one sample and of a mean of k, from the ratio of the mean squares."""
    from scipy.special import fdtri

    upper = (1 + CONFIDENCE) / 2
    low, high = ratio / float(fdtri(n - 1, total - n, upper)), ratio * float(fdtri(total - n, n - 1, upper))
    single = [(end - 1) / (end + k - 1) for end in (ratio, low, high)]
    of_sample = Estimate(single[0], single[1], single[2], n, 0, 0, "ICC(1,1), F interval", "item")
    # Below 0 the formula of the mean runs to minus infinity; a reliability below -1 has no meaning.
    mean = [max(-1.0, 1 - 1 / end) for end in (ratio, low, high)]
    if mean[0] <= -1:
        why = "samples of one item differ more than the items do"
        return of_sample, undefined(why, n=n, unit="item")
    method = f"ICC(1,k), k = {k:.3g}, F interval"
    return of_sample, Estimate(mean[0], mean[1], mean[2], n, 0, 0, method, "item")
