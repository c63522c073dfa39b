"""Whether labelled items look like a random sample: the judge's scores where there are labels and where there
are none.

Corrected means rest on a random sample of labels, which no number can prove. But the judge has scored all
items: where its scores of the labelled ones differ from those of the others of the same system, the labels
were not drawn at random. The difference within systems is a regression on the flag "labelled" with a mean for
each system; groups are the observations (sandwich variance), with the degrees of freedom of as many equal
groups. Where few labelled items miss a rare score, their own spread is too small, so the variance is at least
that of random draws from all scores of each system, which are known.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from msgspec import Struct

from ..records import Estimate
from .arrays import CONFIDENCE, Numbers, floats, label_codes, same_length, t_quantile, undefined

_FEWEST = 5
"""Labelled and other items, or groups of them, from which they are compared."""


class LabelledSample(Struct, frozen=True):
    """The judge's mean on labelled items beside that on the others of the same systems."""

    labelled: float
    others: float
    """as high as it is without the differences between systems"""
    difference: Estimate
    """labelled - others, within systems"""

    @property
    def is_selected(self) -> bool:
        """Whether the labelled items are shown not to be a random sample."""
        low, high = self.difference.low, self.difference.high
        return low is not None and high is not None and not low <= 0 <= high


def labelled_sample(
    scores: Numbers,
    is_labelled: Sequence[bool],
    strata: Sequence[Hashable],
    clusters: Sequence[Hashable] | None = None,
    *,
    n_tests: int = 1,
) -> LabelledSample | None:
    """The judge's scores of labelled items and the others of their stratum; none without both kinds.

    The interval holds together with those of `n_tests` such differences (Bonferroni).
    """
    import numpy as np

    same_length(scores, is_labelled, strata, clusters)
    f, flags = floats(scores), np.asarray(is_labelled, dtype=bool)
    kept = np.flatnonzero(~np.isnan(f))
    codes = label_codes([strata[place] for place in kept.tolist()])[0]
    f, x = f[kept], flags[kept].astype(np.float64)
    sizes = np.bincount(codes)
    apart = x - (np.bincount(codes, weights=x) / np.maximum(1, sizes))[codes]
    total = float((apart**2).sum())
    if total <= 0:
        return None
    value = float((apart * f).sum()) / total
    mean = float(f[x > 0].mean())
    units = (
        np.arange(len(f))
        if clusters is None
        else label_codes([clusters[place] for place in kept.tolist()])[0]
    )
    n = int(x.sum()), int(len(f) - x.sum())
    n_units = len(np.unique(units[x > 0])), len(np.unique(units[x == 0]))
    if min(n_units) < _FEWEST:
        why = f"fewer than {_FEWEST} labelled or other items"
        return LabelledSample(mean, mean - value, undefined(why, n=n[0], unit="item"))
    around_mean = f - (np.bincount(codes, weights=f) / np.maximum(1, sizes))[codes]
    around = around_mean - value * apart
    influence = np.bincount(units, weights=apart * around)
    weight = np.bincount(units, weights=apart**2)
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    df = effective - 1
    variance = float((influence**2).sum()) / total**2
    spreads = np.bincount(codes, weights=around_mean**2) / np.maximum(1, sizes - 1)
    of_draws = float((spreads * np.bincount(codes, weights=apart**2)).sum()) / total**2
    if df <= 0 or variance <= 0:
        return LabelledSample(mean, mean - value, undefined("the scores do not vary", n=n[0], unit="item"))
    half = t_quantile(df, 1 - (1 - CONFIDENCE) / n_tests) * math.sqrt(
        max(variance * effective / df, of_draws)
    )
    method = f"difference of the judge's means within systems, t interval ({df:.3g} degrees of freedom)"
    if n_tests > 1:
        method += f", for all {n_tests} criteria and judges together (Bonferroni)"
    unit = "item" if clusters is None else "group"
    return LabelledSample(
        mean, mean - value, Estimate(value, value - half, value + half, n[0], 0, 0, method, unit)
    )
