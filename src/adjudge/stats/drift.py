"""Whether a judge has changed since its replies were stored, valid however often one looks.

At each look the same items are judged again. The stored replies are one noisy draw, the same at every look,
so the mean of fresh - stored does not go to 0 over looks, and a sequence over looks would raise false alarms.
So the item is the unit: the differences of items have the noise of both draws in them. The k-th look spends
alpha / (k (k + 1)), half of it on the look alone and half on the mean of all looks so far; over all looks the
probability of a false alarm is at most alpha. Several criteria and judges share alpha.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..records import Estimate
from .arrays import CONFIDENCE, Numbers, floats, label_codes, t_quantile, undefined
from .means import precision_of

if TYPE_CHECKING:
    from .arrays import Floats

DriftVerdict = Literal["changed", "not changed", "not enough evidence"]
_FEWEST = 10
"""Items, or groups, from which a look is tested."""


class Look(Struct, frozen=True):
    """The judge now, compared with its stored replies."""

    look: int
    alpha: float
    """what this look may spend of the 5 %"""
    latest: Estimate
    """fresh - stored of this look alone, at the confidence of this look"""
    overall: Estimate
    """the same for the mean of all looks so far"""
    verdict: DriftVerdict


def drift(
    stored: Numbers,
    looks: Sequence[Numbers],
    margin: float,
    clusters: Sequence[Hashable] | None = None,
    reach: float | None = None,
    n_tests: int = 1,
) -> list[Look]:
    """The looks in their order; scores are given item by item, none where the judge failed.

    `reach` is the largest difference that the scale allows: where no item moved, it bounds what others may
    have done. "Changed" is a significant difference. "Not changed" is one shown to be smaller than the
    margin, whatever the items that failed on one side would have been. `n_tests` criteria and judges share
    the 5 %.
    """
    import numpy as np

    before = floats(stored)
    fresh = [floats(look) for look in looks]
    made = []
    for k in range(1, len(fresh) + 1):
        alpha = (1 - CONFIDENCE) / n_tests / (k * (k + 1))
        with np.errstate(all="ignore"):
            table = np.array(fresh[:k])
            n_known = (~np.isnan(table)).sum(axis=0)
            mean = np.where(n_known > 0, np.nansum(table, axis=0) / n_known, np.nan)
        latest, overall = (
            _difference(values - before, clusters, 1 - alpha / 2, reach) for values in (fresh[k - 1], mean)
        )
        # Items that failed on one side alone may have moved by the whole scale.
        hidden = float(np.mean(np.isnan(fresh[k - 1]) != np.isnan(before))) if len(before) else 0.0
        allowed = margin - (hidden * reach if hidden and reach is not None else 0.0)
        made.append(Look(k, alpha, latest, overall, _verdict((latest, overall), allowed)))
    return made


def _difference(
    differences: Floats, clusters: Sequence[Hashable] | None, confidence: float, reach: float | None
) -> Estimate:
    import numpy as np

    known = np.flatnonzero(~np.isnan(differences))
    values = differences[known]
    codes = None if clusters is None else label_codes([clusters[place] for place in known.tolist()])[0]
    n_failed = len(differences) - len(values)
    precision = precision_of(values, codes)
    if precision is None or precision.n_units < _FEWEST:
        return undefined(f"fewer than {_FEWEST} items were judged in both", n=len(values), n_failed=n_failed)
    mean = float(values.mean())
    half = t_quantile(precision.df, confidence) * precision.se
    if bool((values == values[0]).all()):
        if reach is None:
            return undefined("all items moved by the same amount", n=len(values), n_failed=n_failed)
        # After n equal values at most this share of all items has another.
        half = reach * -math.expm1(math.log(1 - confidence) / precision.n_units)
    method = f"mean of fresh - stored, t interval at {confidence:.4%} for this look"
    unit = "item" if codes is None else f"group (n={precision.n_units})"
    return Estimate(mean, mean - half, mean + half, len(values), n_failed, 0, method, unit)


def _verdict(estimates: tuple[Estimate, Estimate], margin: float) -> DriftVerdict:
    known = [estimate for estimate in estimates if estimate.low is not None and estimate.high is not None]
    if any((estimate.low or 0.0) > 0 or (estimate.high or 0.0) < 0 for estimate in known):
        return "changed"
    if known and all(
        -margin < (estimate.low or 0.0) and (estimate.high or 0.0) < margin for estimate in known
    ):
        return "not changed"
    return "not enough evidence"
