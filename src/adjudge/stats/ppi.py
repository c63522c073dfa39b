"""Means corrected with human labels, from a few labels and the judge's scores of all items.

Prediction-powered inference with power tuning (PPI++, Angelopoulos, Duchi and Zrnic 2023):
theta = mean(Y) + lambda (mean of the judge where there are no labels - where there are), with
lambda = cov(Y, F) / ((1 + n/N) var F). The value is theirs, without its bias where scores are skewed
(`regression`); the interval is that of the regression estimator below, XX

The labelled items must be a random part of all. Where the judge failed on an item, labelled or not, its own
mean stands in: any prediction is allowed, so failures cannot bias the result.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    Interval,
    Numbers,
    floats,
    is_constant,
    label_codes,
    make_estimate,
    no_interval,
    same_length,
    t_quantile,
    undefined,
)
from .means import is_much_wider, mean_interval
from .regression_mean import Fit, fit, fit_strata, stratum_means

if TYPE_CHECKING:
    from .arrays import Codes, Floats
    from .ppi_difference import DifferenceFit


def as_estimate(
    fitted: Fit,
    name: str,
    unit: str,
    n_failed: int,
    limits: tuple[float, float] | None,
    *,
    is_unskewed: bool = True,
) -> Estimate:
    """The fit in words, its interval cut to the scale and, unless stated otherwise, corrected for skewness.

    Differences of judge and people are few and of either sign: the skewness of a sample of them is chance,
    and to correct for it costs coverage.
    """
    cautions = []
    if fitted.is_exact and fitted.slope > 0:
        cautions.append(
            f"the judge predicts all {fitted.n} labels exactly, which the interval takes for granted"
        )
    if is_thin(fitted):
        cautions.append(
            f"{fitted.n} labels count as about {fitted.effective:.0f}, because of their groups or their"
            " unequal probabilities: the interval may be too narrow"
        )
    return make_estimate(
        fitted.value,
        fitted_interval(fitted if is_unskewed else structs.replace(fitted, skewness=0.0), limits),
        name,
        n=fitted.n,
        n_failed=n_failed,
        unit=unit,
        cautions=cautions,
    )


FEW_EFFECTIVE = 20
"""Below this number of effective labels, the interval of a skewed or uneven sample covers less than it
says."""


def is_thin(fitted: Fit) -> bool:
    """Whether groups or unequal probabilities leave too few effective labels for the interval."""
    return fitted.effective < FEW_EFFECTIVE and fitted.effective < fitted.n - 1


def fitted_interval(fitted: Fit | DifferenceFit, limits: tuple[float, float] | None) -> Interval:
    """The t interval, corrected for skewness and cut to the scale."""
    se, t = math.sqrt(fitted.variance), t_quantile(fitted.df)
    low = fitted.value - se * unskewed(t, fitted.skewness)
    high = fitted.value - se * unskewed(-t, fitted.skewness)
    corrected = " corrected for skewness" if fitted.skewness else ""
    how = f", t interval{corrected} ({fitted.df:.3g} degrees of freedom)"
    if limits is not None and (low < limits[0] or high > limits[1]):
        low, high = max(low, min(limits[0], fitted.value)), min(high, max(limits[1], fitted.value))
        how += ", cut to the scale"
    return Interval(low, high, how)


def unskewed(t: float, skewness: float) -> float:
    """The quantile of a skewed estimator that belongs to the one of t, by Hall's cubic (1992).

    A skewness beyond 1 rests on one or two labels, and taking it at its word would leave the
    estimate outside of its interval.
    """
    skewness = max(-1.0, min(1.0, skewness))
    if abs(skewness) < 1e-6:
        return t
    inner = 1 + skewness * (t - skewness / 6)
    return 3 / skewness * (math.copysign(abs(inner) ** (1 / 3), inner) - 1)


def worth(corrected: Estimate, labels_only: Estimate, most: int) -> float | None:
    """How many labels without a judge would give an interval as narrow as the corrected one; at most all
    items.

    From the two intervals as they are given, which are made in one way: where the corrected one is the wider,
    the judge has cost more than it brought, and the labels are worth less than their number.
    """
    ends = corrected.low, corrected.high, labels_only.low, labels_only.high
    if any(end is None for end in ends):
        return None
    low, high, low_alone, high_alone = (end or 0.0 for end in ends)
    if high <= low or high_alone <= low_alone:
        return None
    return min(float(most), corrected.n * ((high_alone - low_alone) / (high - low)) ** 2)


_TOO_FEW = "the values are too large, or the labels have too unequal probabilities"
_TOO_FEW_GROUPS = (
    "a few groups hold most labels, and new inputs are known through groups; these items alone:"
    " --about these-items"
)


class Corrected(Struct, frozen=True):
    """A mean three ways: corrected by labels, by the judge alone, from the labels alone."""

    corrected: Estimate
    judge_only: Estimate
    labels_only: Estimate
    bias: Estimate
    """judge - people on the labelled items: above 0 the judge is too lenient"""
    power: float | None
    """lambda: how far the judge is believed; 0 is not at all"""
    effective_labels: float | None
    """how many labels without a judge would give as narrow an interval; at most all items"""
    is_thin: bool = False
    """whether groups or unequal probabilities leave so few effective labels that the interval may be too
    narrow"""


def ppi_mean(
    labels: Numbers | Floats,
    scores: Numbers | Floats,
    *,
    clusters: Sequence[Hashable] | None = None,
    probabilities: Numbers | None = None,
    limits: tuple[float, float] | None = None,
    name: str = "PPI++ mean",
    is_finite: bool = False,
) -> Corrected:
    """The mean of people's scores over all items; `labels` is none where an item has no label.

    `clusters` says which items share a group; `probabilities` with which chance an item was drawn to be
    labelled, where that differs. `limits` are the ends of the scale; `name` is the method's name.
    `is_finite`: the mean of these items is wanted, not that of new inputs.
    """
    import numpy as np

    same_length(labels, scores, clusters, probabilities)
    y, f = floats(labels), floats(scores)
    n_failed = _n_missing(f)
    judge_only = mean_of_these(f) if is_finite else mean_of(f, clusters, limits)
    labels_only = structs.replace(mean_of(y, clusters, limits), n_failed=0)
    drawn = None if probabilities is None else floats(probabilities)
    groups, n_groups = (None, 0) if clusters is None or is_finite else label_codes(clusters)
    unit = "label" if groups is None else f"group (n={n_groups})"
    bias = _bias(f - y, None if is_finite else clusters, groups, drawn, unit, limits)

    def alone(corrected: Estimate) -> Corrected:
        return Corrected(corrected, judge_only, labels_only, bias, None, None)

    n = len(y) - _n_missing(y)
    if is_finite and n == len(y) > 0:
        return _all_labelled(y, f, judge_only, bias)
    why = _cannot(n, y, probabilities)
    if why:
        return alone(undefined(why, n=n, n_failed=n_failed, unit="label"))
    if is_constant(y[y == y]):
        constant = mean_of(y, clusters, limits, "mean of the labels, which do not vary")
        return alone(structs.replace(constant, n_failed=n_failed, unit="label"))
    # The labels alone are a judge who says nothing: one arithmetic makes the two comparable.
    plain = fit(y, np.zeros(len(y)), groups, drawn, is_finite=is_finite)
    # Where every item has its label, the judge has nothing to add.
    fitted = fit(y, f, groups, drawn, is_finite=is_finite) if n < len(y) else plain
    if fitted is None or plain is None:
        why = _TOO_FEW if groups is None else _TOO_FEW_GROUPS
        return alone(undefined(why, n=n, n_failed=n_failed, unit="label"))
    corrected = as_estimate(fitted, f"{name}, lambda = {fitted.power:.3g}", unit, n_failed, limits)
    labels_only = as_estimate(plain, "mean of the labels", unit, 0, limits)
    power = fitted.power
    is_share = drawn is None and not is_finite and _is_two_ends(y, limits)
    if is_share:
        labels_only = structs.replace(
            mean_of(y, clusters, limits, "mean of the labels"), n_failed=0, unit=unit
        )
    if is_used_alone(corrected, labels_only) or (is_share and is_much_wider(corrected, labels_only)):
        corrected, power = structs.replace(labels_only, n_failed=n_failed), 0.0
    effective = worth(corrected, labels_only, len(y))
    return Corrected(corrected, judge_only, labels_only, bias, power, effective, is_thin(fitted))


def _all_labelled(y: Floats, f: Floats, judge_only: Estimate, bias: Estimate) -> Corrected:
    """Of items that all have a label: nothing is left to estimate, but the bias where the judge failed."""
    known, n_failed = mean_of_labelled(y), _n_missing(f)
    exact_bias = bias if n_failed else mean_of_labelled(f - y)
    return Corrected(structs.replace(known, n_failed=n_failed), judge_only, known, exact_bias, 0.0, None)


_FEW = 12
"""Labels below which they are taken alone where the judge would widen their interval."""


def is_used_alone(corrected: Estimate, labels_only: Estimate) -> bool:
    """Whether so few labels are better taken alone: no judge is known well enough from them to narrow the
    interval."""
    return corrected.n < _FEW and is_much_wider(corrected, labels_only)


def _bias(
    differences: Floats,
    clusters: Sequence[Hashable] | None,
    groups: Codes | None,
    drawn: Floats | None,
    unit: str,
    limits: tuple[float, float] | None,
) -> Estimate:
    """The mean difference of judge and people; each item counts by how many it stands for."""
    import numpy as np

    known = ~np.isnan(differences)
    ends = None
    if limits is not None and not is_constant(differences[known]):
        ends = limits[0] - limits[1], limits[1] - limits[0]
    plain = structs.replace(mean_of(differences, clusters, ends), n_failed=0)
    if drawn is None or plain.value is None or _cannot(int(known.sum()), differences, drawn):
        return plain
    fitted = fit(differences, np.zeros(len(differences)), groups, drawn)
    if fitted is None:
        weights = 1 / drawn[known]
        return structs.replace(plain, value=float((weights * differences[known]).sum() / weights.sum()))
    return as_estimate(
        fitted, "mean, weighted by the probabilities of the draw", unit, 0, ends, is_unskewed=False
    )


def _is_two_ends(y: Floats, limits: tuple[float, float] | None) -> bool:
    """Whether the labels are on a scale of two levels: then their mean is a share."""
    import numpy as np

    if limits is None or limits[1] - limits[0] != 1:
        return False
    return bool((np.isnan(y) | (y == limits[0]) | (y == limits[1])).all())


def _cannot(n: int, y: Floats, probabilities: Numbers | Floats | None) -> str:
    """Why these labels cannot correct anything; empty where they can."""
    import numpy as np

    if n == 0:
        return "there is no label"
    if n < 3:
        return "fewer than three labels cannot say how the judge errs"
    if probabilities is not None:
        drawn = np.asarray(probabilities, dtype=np.float64)[~np.isnan(y)]
        if np.isnan(drawn).any() or drawn.min() <= 0 or drawn.max() > 1:
            return "a labelled item lacks its probability of being drawn, or it is not between 0 and 1"
    return ""


def ppi_stratified(
    labels: Numbers,
    scores: Numbers,
    strata: Sequence[Hashable],
    *,
    clusters: Sequence[Hashable] | None = None,
    limits: tuple[float, float] | None = None,
    is_finite: bool = False,
) -> Corrected:
    """The corrected mean over all items where labels were drawn stratum by stratum, in any proportion.

    Each stratum counts by its share of the items (Fisch et al. 2024, with one slope for all strata), also in
    the mean of the labels alone and in the bias. `clusters` says which items share a group, across strata.
    """
    import numpy as np

    same_length(labels, scores, strata, clusters)
    y, f = floats(labels), floats(scores)
    n_failed = _n_missing(f)
    flat = np.zeros(len(y))
    settings = label_codes(strata), None if is_finite or clusters is None else label_codes(clusters)
    heard = f if np.isnan(y).any() else flat
    corrected, fitted = _by_strata(
        y, heard, "PPI++ mean", n_failed, limits, *settings, is_corrected=True, is_finite=is_finite
    )
    labels_only, _ = _by_strata(y, flat, "mean of the labels", 0, limits, *settings, is_finite=is_finite)
    ends = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    bias, bias_fit = _by_strata(
        f - y, flat, "mean", 0, ends, *settings, is_unskewed=False, is_finite=is_finite
    )
    if bias_fit is None:
        bias = _constant_bias(f - y, strata) or bias
    judge_only = mean_of_these(f) if is_finite else mean_of(f, clusters, limits)
    if is_finite and len(y) and not _n_missing(y):
        return _all_labelled(y, f, judge_only, bias)
    if fitted is None:
        return Corrected(corrected, judge_only, labels_only, bias, None, None)
    effective = worth(corrected, labels_only, len(y))
    return Corrected(corrected, judge_only, labels_only, bias, fitted.power, effective, is_thin(fitted))


def _constant_bias(differences: Floats, strata: Sequence[Hashable]) -> Estimate | None:
    """The bias where the judge differs by the same amount on all labels of a stratum: there is no
    interval."""
    import numpy as np

    of_item, n_strata = label_codes(strata)
    known = ~np.isnan(differences)
    counts = np.bincount(of_item[known], minlength=n_strata)
    if n_strata == 0 or counts.min() == 0:
        return None
    means = stratum_means(differences[known], of_item[known], counts)
    value = float((np.bincount(of_item, minlength=n_strata) * means).sum() / len(of_item))
    why = (
        "all differences within a stratum are the same"
        if (differences[known] == means[of_item[known]]).all()
        else "too few labels"
    )
    return make_estimate(
        value, no_interval(why), f"mean over {n_strata} strata", n=int(known.sum()), unit="label"
    )


def _by_strata(
    y: Floats,
    f: Floats,
    name: str,
    n_failed: int,
    limits: tuple[float, float] | None,
    strata: tuple[Codes, int],
    clusters: tuple[Codes, int] | None,
    *,
    is_corrected: bool = False,
    is_unskewed: bool = True,
    is_finite: bool = False,
) -> tuple[Estimate, Fit | None]:
    """One mean over strata, and the fit behind it; strata and clusters are codes, and how many there are."""
    import numpy as np

    of_item, n_strata = strata
    groups, n_groups = clusters or (None, 0)
    counts = np.bincount(of_item[~np.isnan(y)], minlength=n_strata)
    n, n_thin = int(counts.sum()), int((counts < 2).sum())
    if n_strata == 0 or n_thin or n < n_strata + 2:
        why = (
            f"{n_thin} of {n_strata} strata have fewer than two labels"
            if n_thin
            else "there are too few labels"
        )
        return undefined(why, n=n, n_failed=n_failed, unit="label"), None
    fitted = fit_strata(y, f, of_item, n_strata, groups, is_finite=is_finite)
    if fitted is None:
        why = "the labels do not vary, are too large, or lie in too few groups"
        return undefined(why, n=n, n_failed=n_failed, unit="label"), None
    unit = "label" if groups is None else f"group (n={n_groups})"
    name = f"{name} over {n_strata} strata"
    if is_corrected:
        name += f", lambda = {fitted.power:.3g}"
    return as_estimate(fitted, name, unit, n_failed, limits, is_unskewed=is_unskewed), fitted


def _n_missing(values: Floats) -> int:
    import numpy as np

    return int(np.isnan(values).sum())


def mean_of_these(values: Floats) -> Estimate:
    """The mean of items that are all known: nothing was drawn, so there is no interval."""
    known = values[values == values]
    n_failed = len(values) - len(known)
    if len(known) == 0:
        return undefined("there is no value", n_failed=n_failed, unit="item")
    why = no_interval("these items were all judged")
    return make_estimate(
        float(known.mean()), why, "mean of these items", n=len(known), n_failed=n_failed, unit="item"
    )


def mean_of_labelled(values: Floats) -> Estimate:
    """The mean of items that all have their label: it is known, so its interval is the value itself."""
    value = float(values.mean())
    return Estimate(
        value, value, value, len(values), 0, 0, "mean of these items, which all have a label", "label"
    )


def mean_of(
    values: Floats,
    clusters: Sequence[Hashable] | None,
    limits: tuple[float, float] | None,
    name: str = "mean",
) -> Estimate:
    """The mean of what is there; what is not counts as failed."""
    import numpy as np

    kept = np.flatnonzero(~np.isnan(values))
    of_kept = None if clusters is None else [clusters[i] for i in kept.tolist()]
    return mean_interval(values[kept], of_kept, len(values) - len(kept), limits, name)
