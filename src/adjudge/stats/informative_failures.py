"""Whether a judge's failures say something about the items: people's labels where it failed against where it answered.

Failures that fall on bad items flatter a system whose items fail more often. Labels of failed items show it, and say what
the judge's mean would be with these items in it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    Numbers,
    floats,
    label_codes,
    make_estimate,
    no_interval,
    same_length,
    t_quantile,
    undefined,
)
from .means import mean_interval

if TYPE_CHECKING:
    from .arrays import Codes, Flags, Floats

_FEWEST = 3


class InformativeFailures(Struct, frozen=True):
    """People's labels on failed items compared with the others."""

    failed: Estimate
    """mean label of the items on which the judge failed"""
    others: Estimate
    """mean label of the items with a score"""
    difference: Estimate
    """failed - others; below 0 the judge fails on items that people rate lower"""
    imputed: Estimate
    """the judge's mean over all items, with failed ones as far from the others as people's labels say"""


def informative_failures(
    labels: Numbers,
    scores: Numbers,
    *,
    clusters: Sequence[Hashable] | None = None,
    limits: tuple[float, float] | None = None,
) -> InformativeFailures | None:
    """Compare people's labels of failed items with those of judged ones; none where no item failed."""
    import numpy as np

    same_length(labels, scores, clusters)
    y, f = floats(labels), floats(scores)
    is_failed = np.isnan(f)
    n_failed = int(is_failed.sum())
    if n_failed == 0 or n_failed == len(f):
        return None
    codes = np.arange(len(y)) if clusters is None else label_codes(clusters)[0]
    sides = [~np.isnan(y) & is_failed, ~np.isnan(y) & ~is_failed]
    failed, others = (
        mean_interval(
            y[side], None if clusters is None else codes[side].tolist(), 0, limits, "mean of the labels"
        )
        for side in sides
    )
    difference = _difference(y, codes, sides[0], sides[1])
    return InformativeFailures(
        failed, others, difference, _imputed(f, is_failed, difference, clusters, limits)
    )


def _difference(y: Floats, codes: Codes, failed: Flags, others: Flags) -> Estimate:
    """Welch's interval, with groups as the observations: what a group says of both sides counts together."""
    import numpy as np

    n = int(failed.sum()), int(others.sum())
    if min(n) < _FEWEST:
        few = "failed items have" if n[0] < _FEWEST else "judged items have"
        return undefined(f"fewer than {_FEWEST} {few} a label", n=sum(n), unit="label")
    value = float(y[failed].mean() - y[others].mean())
    influence = np.zeros(len(y))
    variances, each_df = [], []
    for side, sign in ((failed, 1.0), (others, -1.0)):
        n_units = len(np.unique(codes[side]))
        if n_units < 2:
            why = "the labels of failed or of judged items lie in one group"
            return make_estimate(value, no_interval(why), "difference of mean labels", n=sum(n), unit="label")
        part = np.zeros(len(y))
        part[side] = sign * (y[side] - y[side].mean()) / side.sum() * math.sqrt(n_units / (n_units - 1))
        variances.append(float((np.bincount(codes, weights=part) ** 2).sum()))
        each_df.append(n_units - 1)
        influence += part
    variance = float((np.bincount(codes, weights=influence) ** 2).sum())
    below = sum(one**2 / df for one, df in zip(variances, each_df, strict=True))
    if variance <= 0 or below <= 0:
        why = "the labels do not vary"
        return make_estimate(value, no_interval(why), "difference of mean labels", n=sum(n), unit="label")
    df = sum(variances) ** 2 / below
    half = t_quantile(df) * math.sqrt(variance)
    method = f"difference of mean labels, Welch's t interval ({df:.3g} degrees of freedom)"
    return Estimate(value, value - half, value + half, sum(n), 0, 0, method, "label")


def _imputed(
    f: Floats,
    is_failed: Flags,
    difference: Estimate,
    clusters: Sequence[Hashable] | None,
    limits: tuple[float, float] | None,
) -> Estimate:
    """The mean of judged items, moved by the share of failures times how far people see them apart."""
    kept = (~is_failed).nonzero()[0].tolist()
    groups = None if clusters is None else [clusters[place] for place in kept]
    judged = mean_interval(f[kept], groups, int(is_failed.sum()), limits, "mean")
    if judged.value is None or difference.value is None:
        return undefined(difference.reason, n=len(kept), n_failed=int(is_failed.sum()), unit="item")
    share = float(is_failed.mean())
    value = judged.value + share * difference.value
    name = "mean with failures imputed from labels"
    ends = judged.low, judged.high, difference.low, difference.high
    if any(end is None for end in ends):
        return make_estimate(value, no_interval(difference.reason or judged.reason), name, n=len(f))
    low, high, below, above = (end or 0.0 for end in ends)
    least = value - math.hypot(judged.value - low, share * (difference.value - below))
    most = value + math.hypot(high - judged.value, share * (above - difference.value))
    if limits is not None:
        value, least, most = (min(max(end, limits[0]), limits[1]) for end in (value, least, most))
    return Estimate(value, least, most, len(f), 0, 0, f"{name}, t intervals of both parts", "item")
