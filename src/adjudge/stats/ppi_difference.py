"""The difference of two systems, corrected by labels.

Where every labelled input has labels of both systems, the input's own difference is corrected (PPI++ of the
difference). Otherwise each system is corrected by its own labels, and what the labels of one input say of
both counts together: the variance is that of the influences, added up input by input. So no label is thrown
away, and inputs that are hard for both systems do not widen the interval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    Numbers,
    floats,
    label_codes,
    make_estimate,
    no_interval,
    same_length,
    undefined,
)
from .ppi import (
    Corrected,
    fitted_interval,
    is_used_alone,
    mean_of,
    mean_of_labelled,
    mean_of_these,
    ppi_mean,
    worth,
)
from .regression import regression
from .regression_mean import as_columns

if TYPE_CHECKING:
    from .arrays import Codes, Floats


LABELLED = "labelled input"
"""An input with a label of either system."""


def ppi_difference(
    labels_first: Numbers,
    scores_first: Numbers,
    labels_second: Numbers,
    scores_second: Numbers,
    *,
    clusters: Sequence[Hashable] | None = None,
    probabilities: tuple[Numbers | None, Numbers | None] | None = None,
    limits: tuple[float, float] | None = None,
    is_finite: bool = False,
) -> Corrected:
    """The mean of first - second over inputs; none where an input lacks a label or a score.

    `probabilities` are those with which the labels of each system were drawn, none for a system in which they
    do not differ: then each label is weighted by its own, and the difference is that of the two corrected
    means. `limits` are the ends of the scale of the scores, not of their difference.
    """
    import numpy as np

    same_length(labels_first, scores_first, labels_second, scores_second, clusters)
    y, g = floats(labels_first), floats(labels_second)
    f, h = floats(scores_first), floats(scores_second)
    ends = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    if probabilities is None and bool((np.isnan(y) == np.isnan(g)).all()):
        paired = ppi_mean(
            y - g,
            f - h,
            clusters=clusters,
            limits=ends,
            name="PPI++ difference, paired",
            is_finite=is_finite,
        )
        corrected = structs.replace(paired.corrected, unit=_unit(paired.corrected))
        alone = structs.replace(paired.labels_only, unit=_unit(paired.labels_only))
        return structs.replace(paired, corrected=corrected, labels_only=alone)
    codes = np.arange(len(y)) if clusters is None or is_finite else label_codes(clusters)[0]
    groups = codes, codes
    is_shared = bool((~np.isnan(y) & ~np.isnan(g)).any())
    name = "PPI++ difference, partly paired labels" if is_shared else "PPI++ difference, independent labels"
    n_failed = int((np.isnan(f) | np.isnan(h)).sum())
    flat = np.zeros(len(y))
    drawn = tuple(None if of_side is None else floats(of_side) for of_side in probabilities or (None, None))
    fitted = _fit(y, f, g, h, groups, drawn, is_finite)
    plain = _fit(y, flat, g, flat, groups, drawn, is_finite)
    bias = _fit(f - y, flat, h - g, flat, groups, drawn, is_finite)
    corrected = _estimate(fitted, name, n_failed, ends)
    labels_only = _estimate(plain, "difference of the labels' means", 0, ends)
    if is_used_alone(corrected, labels_only):
        corrected = structs.replace(labels_only, n_failed=n_failed)
    return Corrected(
        corrected,
        _of_these(f, h) if is_finite else mean_of(f - h, clusters, ends),
        labels_only,
        _estimate(bias, "difference of biases", 0, None),
        None,
        worth(corrected, labels_only, len(y)),
    )


def _unit(estimate: Estimate) -> str:
    """What the difference counts: an input with labels of both systems is one."""
    return LABELLED if estimate.unit == "label" else estimate.unit


class _Side(Struct, frozen=True):
    """One system's corrected mean, and how much each input moved it."""

    value: float
    influence: Floats
    df: float


class DifferenceFit(Struct, frozen=True):
    value: float
    variance: float
    df: float
    skewness: float
    n: int
    """inputs with a label of either system"""


def _side(y: Floats, f: Floats, units: Codes, drawn: Floats | None, is_finite: bool) -> _Side | None:
    """The regression estimate of one system; none for fewer than three labels or without their
    probabilities. `f` has a column for each judge where there are several."""
    import numpy as np

    f = as_columns(f)
    labelled = np.flatnonzero(~np.isnan(y))
    n, n_items = len(labelled), len(y)
    if n < 3:
        return None
    labels, judged, everywhere = y[labelled], f[labelled], f.mean(axis=0)
    weights = np.ones(n) if drawn is None else 1 / drawn[labelled]
    weights = weights / weights.mean()
    # A judge beside all labels is not needed.
    around = f - everywhere if n < n_items else np.zeros(f.shape)
    shift = everywhere - (weights[:, None] * judged).mean(axis=0)
    found = regression(labels, judged, around, shift, weights, units[labelled])
    predicted = labels + ((everywhere - judged) * found.slopes).sum(axis=1)
    value = float((weights * predicted).mean())
    if is_finite:
        units = np.arange(n_items)
    sizes = np.bincount(np.unique(units[labelled], return_inverse=True)[1], weights=weights)
    effective = float((sizes**2).sum() ** 2 / (sizes**4).sum())
    df = effective - found.n_fitted
    if df <= 0:
        return None
    influence = (f - everywhere) @ found.slope / n_items
    of_labels = weights * (predicted - value) * found.leverage / n * math.sqrt(effective / df)
    if is_finite:
        # About these items, the draw of the labels is the only chance.
        influence[:] = 0.0
        of_labels = of_labels * np.sqrt(1 - (n / n_items if drawn is None else drawn[labelled]))
    influence[labelled] += of_labels
    return _Side(value, influence, df)


def _fit(
    y: Floats,
    f: Floats,
    g: Floats,
    h: Floats,
    groups: tuple[Codes, Codes],
    drawn: tuple[Floats | None, ...] = (None, None),
    is_finite: bool = False,
) -> DifferenceFit | None:
    """Both sides together; none where one has too few labels or nothing varies."""
    import numpy as np

    with np.errstate(all="ignore"):
        first = _side(y, f, groups[0], drawn[0], is_finite)
        second = _side(g, h, groups[1], drawn[1], is_finite)
        if first is None or second is None:
            return None
        n_codes = 1 + max(int(codes.max()) for codes in groups)
        parts = [
            np.bincount(codes, weights=side.influence, minlength=n_codes)
            for codes, side in zip(groups, (first, second), strict=True)
        ]
        labelled = np.concatenate([groups[0][~np.isnan(y)], groups[1][~np.isnan(g)]])
        n_units = len(np.unique(labelled))
        difference = parts[0] - parts[1]
        variance = float((difference**2).sum())
        each = [float((part**2).sum()) for part in parts]
        # Satterthwaite for two independent sides; no more than the inputs that have a label.
        below = each[0] ** 2 / first.df + each[1] ** 2 / second.df
        df = min(sum(each) ** 2 / below, float(n_units - 2)) if below > 0 else 0.0
        skewness = float((difference**3).sum()) / variance**1.5 if variance > 0 else 0.0
    value = first.value - second.value
    is_sound = all(map(math.isfinite, (value, variance, df, skewness))) and variance > 1e-24 and df > 0
    return DifferenceFit(value, variance, df, skewness, n_units) if is_sound else None


def _of_these(f: Floats, h: Floats) -> Estimate:
    """The difference of two means of items that were all judged: nothing was drawn, so it has no interval."""
    sides = mean_of_these(f), mean_of_these(h)
    n, n_failed = sum(side.n for side in sides), sum(side.n_failed for side in sides)
    if sides[0].value is None or sides[1].value is None:
        return undefined("one system has no score", n=n, n_failed=n_failed, unit="item")
    why = no_interval("these items were all judged")
    value = sides[0].value - sides[1].value
    return make_estimate(value, why, "difference of these items", n=n, n_failed=n_failed, unit="item")


def _known(y: Floats, g: Floats) -> Estimate:
    """The difference of items that all have a label."""
    first, second = mean_of_labelled(y), mean_of_labelled(g)
    value = (first.value or 0.0) - (second.value or 0.0)
    return structs.replace(first, value=value, low=value, high=value, n=first.n + second.n)


def difference_by_group(
    first: tuple[Numbers, Numbers, Sequence[Hashable], Numbers | None],
    second: tuple[Numbers, Numbers, Sequence[Hashable], Numbers | None],
    *,
    judges: tuple[Sequence[Numbers], Sequence[Numbers]] = ((), ()),
    limits: tuple[float, float] | None = None,
    is_finite: bool = False,
) -> Corrected:
    """The difference of the corrected means of two systems; of each labels, scores, groups, probabilities.

    The groups are the independent observations: what a group says of both systems counts together. `judges`
    are the scores of each judge of a panel, where each has a separate slope in the system's mean.
    """
    import numpy as np

    same_length(*first)
    same_length(*second)
    codes, n_groups = label_codes([*first[2], *second[2]])
    groups = codes[: len(first[2])], codes[len(first[2]) :]
    if is_finite:
        groups = np.arange(len(first[2])), np.arange(len(first[2]), len(codes))
    y, f, g, h = floats(first[0]), floats(first[1]), floats(second[0]), floats(second[1])
    drawn = tuple(None if side[3] is None else floats(side[3]) for side in (first, second))
    ends = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    no_f, no_h = np.zeros(len(f)), np.zeros(len(h))
    heard_f, heard_h = (
        np.column_stack([floats(scores) for scores in each]) if each else pooled
        for each, pooled in zip(judges, (f, h), strict=True)
    )
    even, n_failed = (None, None), int(np.isnan(f).sum() + np.isnan(h).sum())
    # The judge alone is the same arithmetic with its scores as labels of every item.
    estimates = [
        _estimate(_fit(*sides, groups, used, is_finite), name, n_missing, ends)
        for sides, used, name, n_missing in (
            ((y, heard_f, g, heard_h), drawn, "PPI++ difference, by group", n_failed),
            ((f, no_f, h, no_h), even, "difference of means, by group", 0),
            ((y, no_f, g, no_h), drawn, "difference of the labels' means, by group", 0),
            ((f - y, no_f, h - g, no_h), drawn, "difference of biases, by group", 0),
        )
    ]
    if is_finite:
        estimates[1] = _of_these(f, h)
        if not np.isnan(y).any() and not np.isnan(g).any():
            estimates[0] = estimates[2] = _known(y, g)
    unit = "label" if is_finite else f"group (n={n_groups})"
    corrected, judge_only, labels_only, bias = (structs.replace(each, unit=unit) for each in estimates)
    if is_used_alone(corrected, labels_only):
        corrected = structs.replace(labels_only, n_failed=corrected.n_failed)
    return Corrected(
        corrected, judge_only, labels_only, bias, None, worth(corrected, labels_only, len(y) + len(g))
    )


def _estimate(
    fitted: DifferenceFit | None, name: str, n_failed: int, limits: tuple[float, float] | None
) -> Estimate:
    if fitted is None:
        why = "one system has fewer than three labels, or the labels do not vary"
        return undefined(why, n_failed=n_failed, unit=LABELLED)
    interval = fitted_interval(fitted, limits)
    return make_estimate(fitted.value, interval, name, n=fitted.n, n_failed=n_failed, unit=LABELLED)


def difference_of(first: Estimate, second: Estimate) -> Estimate:
    """The difference of two independent estimates, from the arms of their intervals (Zou and Donner 2008)."""
    name = "difference of independent means"
    n, n_failed = first.n + second.n, first.n_failed + second.n_failed
    if first.value is None or second.value is None:
        return undefined("one side is undefined", n=n, n_failed=n_failed, unit="label")
    value = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return make_estimate(
            value, no_interval("one side has none"), name, n=n, n_failed=n_failed, unit="label"
        )
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, low, high, n, n_failed, 0, name, "label")
