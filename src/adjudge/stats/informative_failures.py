"""Whether a judge's failures say something about the items: people's labels where it failed against where it
answered.

Failures that fall on bad items flatter a system whose items fail more often. Labels of failed items show it,
and say what the judge's mean would be with these items in it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
    probabilities: Numbers | None = None,
    limits: tuple[float, float] | None = None,
) -> InformativeFailures | None:
    """Compare people's labels of failed items with those of judged ones; none where no item failed.

    `probabilities` are those with which labelled items were drawn, where they differ.
    """
    import numpy as np

    same_length(labels, scores, clusters, probabilities)
    y, f = floats(labels), floats(scores)
    weights = np.ones(len(y)) if probabilities is None else 1 / floats(probabilities)
    is_failed = np.isnan(f)
    n_failed = int(is_failed.sum())
    if n_failed == 0 or n_failed == len(f):
        return None
    codes = np.arange(len(y)) if clusters is None else label_codes(clusters)[0]
    sides = [~np.isnan(y) & is_failed, ~np.isnan(y) & ~is_failed]
    parts = [_Part.of(y, side, codes, weights) for side in sides]
    failed, others = (
        _mean_label(
            y,
            side,
            codes if clusters is not None else None,
            part,
            limits,
            is_weighted=probabilities is not None,
        )
        for side, part in zip(sides, parts, strict=True)
    )
    difference = _difference(parts[0], parts[1], codes, _pooled_variance(y, sides, weights))
    return InformativeFailures(
        failed, others, difference, _imputed(f, is_failed, difference, clusters, limits)
    )


class _Part(NamedTuple):
    """The labels of one side: their weighted mean, and what each item adds to it."""

    value: float
    influence: Floats
    """by item, 0 on the other side"""
    n: int
    df: float
    """independent labels (groups, by their weights) minus 1"""

    @classmethod
    def of(cls, y: Floats, side: Flags, codes: Codes, weights: Floats) -> _Part:
        import numpy as np

        n = int(side.sum())
        if n == 0:
            return cls(math.nan, np.zeros(len(y)), 0, 0.0)
        shares = np.where(side, weights, 0.0) / weights[side].sum()
        value = float(np.dot(shares[side], y[side]))
        of_units = np.bincount(codes, weights=shares)
        effective = 1 / float((of_units**2).sum())
        n_units = len(np.unique(codes[side]))
        # Groups of one size, and no weights: all groups count alike.
        effective = float(n_units) if np.ptp(weights[side]) == 0 else min(effective, float(n_units))
        df = effective - 1
        influence = np.zeros(len(y))
        if df > 0:
            influence[side] = (shares[side] * (y[side] - value)) * math.sqrt(effective / df)
        return cls(value, influence, n, df)


def _mean_label(
    y: Floats,
    side: Flags,
    codes: Codes | None,
    part: _Part,
    limits: tuple[float, float] | None,
    *,
    is_weighted: bool,
) -> Estimate:
    """The mean label of one side."""
    import numpy as np

    name = "mean of the labels"
    if not is_weighted or part.df <= 0:
        return mean_interval(y[side], None if codes is None else codes[side].tolist(), 0, limits, name)
    units = np.arange(len(y)) if codes is None else codes
    half = t_quantile(part.df) * math.sqrt(float((np.bincount(units, weights=part.influence) ** 2).sum()))
    low, high = part.value - half, part.value + half
    if limits is not None:
        low, high = max(low, limits[0]), min(high, limits[1])
    method = f"{name}, weighted by their draw, t interval ({part.df:.3g} degrees of freedom)"
    return Estimate(part.value, low, high, part.n, 0, 0, method, "label")


def _pooled_variance(y: Floats, sides: Sequence[Flags], weights: Floats) -> float:
    """The variance of the difference where both sides vary alike, as where failures fall on any item."""
    import numpy as np

    known = sides[0] | sides[1]
    n = int(known.sum())
    if n < 3 or not (sides[0].any() and sides[1].any()):
        return 0.0
    squares = [
        float(np.dot(weights[side], (y[side] - np.average(y[side], weights=weights[side])) ** 2))
        for side in sides
    ]
    spread = math.fsum(squares) / float(weights[known].sum()) * n / (n - 2)
    parts = [float(((weights[side] / weights[side].sum()) ** 2).sum()) for side in sides]
    return float(spread * math.fsum(parts))


def _difference(failed: _Part, others: _Part, codes: Codes, pooled: float) -> Estimate:
    """Welch's interval, with groups as the observations: what a group says of both sides counts together.

    It is never narrower than the t interval of both sides together, by their variance `pooled`: a few failed
    items that all have the usual label do not show that all failed items have it.
    """
    import numpy as np

    n = failed.n + others.n
    if min(failed.n, others.n) < _FEWEST:
        few = "failed items have" if failed.n < _FEWEST else "judged items have"
        return undefined(f"fewer than {_FEWEST} {few} a label", n=n, unit="label")
    value, name = failed.value - others.value, "difference of mean labels"
    if min(failed.df, others.df) <= 0:
        why = "the labels of failed or of judged items lie in one group"
        return make_estimate(value, no_interval(why), name, n=n, unit="label")
    variances = [float((np.bincount(codes, weights=part.influence) ** 2).sum()) for part in (failed, others)]
    variance = float((np.bincount(codes, weights=failed.influence - others.influence) ** 2).sum())
    below = sum(one**2 / part.df for one, part in zip(variances, (failed, others), strict=True))
    if pooled <= 0:
        return make_estimate(value, no_interval("the labels do not vary"), name, n=n, unit="label")
    pooled_df = max(1, len(np.unique(codes)) - 2)
    half, method = t_quantile(pooled_df) * math.sqrt(pooled), f"t interval ({pooled_df} degrees of freedom)"
    if variance > 0 and below > 0:
        df = sum(variances) ** 2 / below
        welch = t_quantile(df) * math.sqrt(variance)
        if welch >= half:
            half, method = welch, f"Welch's t interval ({df:.3g} degrees of freedom)"
    method = f"{name}, {method}"
    return Estimate(value, value - half, value + half, n, 0, 0, method, "label")


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
