"""How many labels an interval of a given width takes, and in how many groups.

width = 2 t(df) sqrt(variance of one observation / n + judge's part / N). The last part does not shrink with labels, only
with more items. Where items share a group, the groups are the observations: more labels in the same groups buy little,
so the plan names the groups, with as many labels in each as there are now.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .arrays import Numbers, floats, label_codes, same_length, t_quantile
from .regression_mean import fit

if TYPE_CHECKING:
    from .arrays import Codes, Floats


_LOW_QUARTER = 0.25
"""The share of pilots that show a variance below the one that is planned with."""


class Plan(Struct, frozen=True):
    """The labels needed in all, those already there included."""

    width: float
    n_labels: int
    """labels that the plan was made from"""
    with_judge: int | None
    without_judge: int | None
    why: str = ""
    """why a number is missing"""
    groups: int | None = None
    """labelled groups needed in all, with as many labels in each as now; none where items share no group"""
    n_groups: int | None = None
    """labelled groups that exist"""


def labels_needed(
    labels: Numbers, scores: Numbers, width: float, clusters: Sequence[Hashable] | None = None
) -> Plan:
    """The labels at which the whole interval of the PPI++ mean is as wide as `width`, from the labels so far."""
    import numpy as np

    same_length(labels, scores, clusters)
    y, f = floats(labels), floats(scores)
    n, n_items = int((~np.isnan(y)).sum()), len(y)
    if not (math.isfinite(width) and width > 0):
        return Plan(width, n, None, None, "the width must be above 0")
    if clusters is not None and n >= 3:
        codes, n_codes = label_codes(clusters)
        n_groups = len(np.unique(codes[~np.isnan(y)]))
        if n_groups < n or n_codes < n_items:
            return _by_group(width, _Grouped(n, n_groups, n_codes, *_variances(y, f, codes)))
    fitted = fit(y, f) if n >= 3 else None
    if fitted is None:
        return Plan(width, n, None, None, "it takes at least three labels that differ to plan from")
    raised = _assured(n - 2)
    with_judge = _smallest(width, raised * fitted.residual_variance, fitted.floor, 2, n_items)
    without = _smallest(width, raised * fitted.label_variance, 0.0, 1, None)
    why = ""
    if with_judge is None:
        is_floor = _half(n_items, raised * fitted.residual_variance, fitted.floor, 2) * 2 > width
        why = f"{n_items} items are too few for this width" if is_floor else "the width is out of reach"
    return Plan(width, n, with_judge, without, why)


class _Grouped(Struct, frozen=True):
    """Labels in groups, and the variances of the mean that they show."""

    n: int
    n_groups: int
    n_all: int
    with_judge: float | None
    without_judge: float | None


def _variances(y: Floats, f: Floats, codes: Codes) -> tuple[float | None, float | None]:
    import numpy as np

    fits = fit(y, f, codes), fit(y, np.zeros(len(y)), codes)
    with_judge, without = (None if fitted is None else fitted.variance for fitted in fits)
    return with_judge, without


def _assured(df: float) -> float:
    """By how much a variance from so few observations is raised, so that 9 of 10 plans reach their width within 10 %."""
    from scipy.special import chdtri

    return df / float(chdtri(df, 1 - _LOW_QUARTER)) if df > 0 else 1.0


def _by_group(width: float, data: _Grouped) -> Plan:
    """The groups from the variance of one group's part in the mean."""
    per_group = data.n / data.n_groups

    def groups(variance: float | None, n_fitted: int) -> int | None:
        if variance is None:
            return None
        variance *= _assured(data.n_groups - n_fitted)
        return _smallest(width, variance * data.n_groups, 0.0, n_fitted, None)

    with_judge, without = groups(data.with_judge, 2), groups(data.without_judge, 1)
    labels = [None if needed is None else math.ceil(needed * per_group) for needed in (with_judge, without)]
    why = (
        ""
        if with_judge is not None
        else "it takes labels that differ, in at least three groups, to plan from"
    )
    if with_judge is not None and with_judge > data.n_all:
        why = f"the items have {data.n_all} groups: {with_judge - data.n_all} more are needed"
    return Plan(width, data.n, labels[0], labels[1], why, with_judge, data.n_groups)


def _half(n: int, variance: float, floor: float, n_fitted: int) -> float:
    return t_quantile(n - n_fitted) * math.sqrt(variance / n + floor)


def _smallest(width: float, variance: float, floor: float, n_fitted: int, limit: int | None) -> int | None:
    """The smallest n whose interval is narrow enough, by halving: the width falls with n."""
    low = n_fitted + 1
    high = limit if limit is not None else 10**9
    if high < low or 2 * _half(high, variance, floor, n_fitted) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        if 2 * _half(middle, variance, floor, n_fitted) <= width:
            high = middle
        else:
            low = middle + 1
    return low
