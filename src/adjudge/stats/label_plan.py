"""How many labels an interval of a given width takes, and in how many groups.

width = 2 t(df) sqrt(variance of one observation / n + judge's part / N). The last part does not shrink with
labels, only with more items. Where items share a group, the groups are the observations: more labels in the
same groups buy little, so the plan names the groups, with as many labels in each as there are now.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .arrays import Numbers, floats, label_codes, same_length, t_quantile
from .regression_mean import Fit, fit

if TYPE_CHECKING:
    from .arrays import Codes, Floats


_LOW_SHARE = 0.22
"""The share of pilots that show a variance below the one that is planned with."""


MOST_PRACTICAL = 1000
"""Groups above which a plan gives no number: so many are not added for one interval."""


class LabelPlan(Struct, frozen=True):
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
    labels: Numbers,
    scores: Numbers,
    width: float,
    clusters: Sequence[Hashable] | None = None,
    *,
    probabilities: Numbers | None = None,
    is_finite: bool = False,
) -> LabelPlan:
    """The labels at which the whole interval of the PPI++ mean is as wide as `width`, from the labels so
    far.

    `probabilities` are those with which the labels were drawn, where they differ: the plan is for more labels
    drawn like them. `is_finite`: the mean is that of these items, so all of them labelled know it exactly.
    """
    import numpy as np

    same_length(labels, scores, clusters, probabilities)
    y, f = floats(labels), floats(scores)
    drawn = None if probabilities is None else floats(probabilities)
    n, n_items = int((~np.isnan(y)).sum()), len(y)
    if not (math.isfinite(width) and width > 0):
        return LabelPlan(width, n, None, None, "the width must be above 0")
    if clusters is not None and n >= 3 and not is_finite:
        codes, n_codes = label_codes(clusters)
        n_groups = len(np.unique(codes[~np.isnan(y)]))
        if n_groups < n or n_codes < n_items:
            return _by_group(width, _Grouped(n, n_groups, n_codes, *_variances(y, f, codes, drawn)))
    fits = (fit(y, f, None, drawn), fit(y, np.zeros(n_items), None, drawn)) if n >= 3 else (None, None)
    fitted, plain = fits
    if fitted is None or plain is None:
        return LabelPlan(width, n, None, None, "it takes at least three labels that differ to plan from")
    raised = _assured(n - 2)
    size = n_items if is_finite else None
    judged = raised * _per_label(fitted, drawn)
    floor = 0.0 if is_finite else fitted.floor
    with_judge = _smallest(width, judged, floor, 2, n_items, size)
    without = _smallest(width, raised * _per_label(plain, drawn), 0.0, 1, size, size)
    why = ""
    if with_judge is None:
        is_floor = _half(n_items, judged, floor, 2, size) * 2 > width
        why = f"{n_items} items are too few for this width" if is_floor else "the width is out of reach"
    return LabelPlan(width, n, with_judge, without, why)


def _per_label(fitted: Fit, drawn: Floats | None) -> float:
    """The variance of what one label says; drawn with unequal probabilities, of one of average weight."""
    if drawn is None:
        return fitted.residual_variance
    return (fitted.variance - fitted.floor) * fitted.n


class _Grouped(Struct, frozen=True):
    """Labels in groups, and the variances of the mean that they show."""

    n: int
    n_groups: int
    n_all: int
    with_judge: float | None
    without_judge: float | None


def _variances(y: Floats, f: Floats, codes: Codes, drawn: Floats | None) -> tuple[float | None, float | None]:
    import numpy as np

    fits = fit(y, f, codes, drawn), fit(y, np.zeros(len(y)), codes, drawn)
    with_judge, without = (None if fitted is None else fitted.variance for fitted in fits)
    return with_judge, without


def _assured(df: float) -> float:
    """By how much a variance from so few observations is raised, so that 9 of 10 plans reach their width
    within 10 %."""
    from scipy.special import chdtri

    return df / float(chdtri(df, 1 - _LOW_SHARE)) if df > 0 else 1.0


def _by_group(width: float, data: _Grouped) -> LabelPlan:
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
        n_more = with_judge - data.n_all
        more = f"{n_more:,} more are needed" if n_more <= MOST_PRACTICAL else "far more than is practical"
        why = f"the items have {data.n_all} groups: {more}"
    return LabelPlan(width, data.n, labels[0], labels[1], why, with_judge, data.n_groups)


def _half(n: int, variance: float, floor: float, n_fitted: int, size: int | None) -> float:
    """Half of the interval; of `size` items that are all there is, those with a label are known."""
    left = 1.0 if size is None else 1 - n / size
    return t_quantile(n - n_fitted) * math.sqrt(variance / n * left + floor)


def _smallest(
    width: float, variance: float, floor: float, n_fitted: int, limit: int | None, size: int | None = None
) -> int | None:
    """The smallest n whose interval is narrow enough, by halving: the width falls with n."""
    low = n_fitted + 1
    high = limit if limit is not None else 10**9

    def is_wide(n: int) -> bool:
        return 2 * _half(n, variance, floor, n_fitted, size) > width

    if high < low or is_wide(high):
        return None
    while low < high:
        middle = (low + high) // 2
        if is_wide(middle):
            low = middle + 1
        else:
            high = middle
    return low
