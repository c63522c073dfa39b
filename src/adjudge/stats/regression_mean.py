"""The corrected mean of items of which some have a label, with its variance: the regression estimator.

theta = mean of Y + slope (mean of the judge over all items - its score), with the slopes of `regression`. The
variance counts the leverage of a sample that the judge likes more or less than the rest. Labels may be drawn
with unequal probabilities, stratum by stratum, or in groups.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from .regression import Regression, regression

if TYPE_CHECKING:
    from .arrays import Codes, Floats


class Fit(Struct, frozen=True):
    """A corrected mean with its variance, before it is put into words."""

    value: float
    variance: float
    df: float
    slope: float
    n: int
    n_items: int
    residual_variance: float
    floor: float
    """the part of the variance that more labels cannot take away"""
    skewness: float
    """of the estimator, not of the labels"""
    is_exact: bool
    """whether the labels lie on one line with the judge's scores"""
    effective: float
    """labels, or groups of labels, of equal weight that would have as precise a variance"""

    @property
    def power(self) -> float:
        """lambda of PPI++."""
        return self.slope * (1 - self.n / self.n_items)


class Predicted(Struct, frozen=True):
    """Of each labelled item what its label says of the mean of all items, in the light of the judge's
    scores."""

    values: Floats
    """label + slope (mean score of all items - its score)"""
    weights: Floats
    """how many items each label stands for, 1 on average"""
    labelled: Codes
    """the places of the labelled items"""
    y: Floats
    judged: Floats
    around_f: Floats
    """the scores of all items around their mean: items × judges"""
    found: Regression

    @property
    def value(self) -> float:
        """The corrected mean."""
        return float((self.weights * self.values).mean())

    @property
    def by_judge(self) -> Floats:
        """What the judges say of each item, as a distance from the mean."""
        predicted: Floats = self.around_f @ self.found.slope
        return predicted


def predict(y: Floats, f: Floats, clusters: Codes | None, probabilities: Floats | None) -> Predicted:
    """What each label says of the mean; `f` has a column for each judge where there are several."""
    import numpy as np

    f = as_columns(f)
    labelled = np.flatnonzero(~np.isnan(y))
    y, judged, everywhere = y[labelled], f[labelled], f.mean(axis=0)
    weights = np.ones(len(y)) if probabilities is None else 1 / probabilities[labelled]
    weights = weights / weights.mean()
    units = labelled if clusters is None else clusters[labelled]
    shift = everywhere - (weights[:, None] * judged).mean(axis=0)
    found = regression(y, judged, f - everywhere, shift, weights, units)
    values = y + ((everywhere - judged) * found.slopes).sum(axis=1)
    return Predicted(values, weights, labelled, y, judged, f - everywhere, found)


def fit(
    y: Floats,
    f: Floats,
    clusters: Codes | None = None,
    probabilities: Floats | None = None,
    *,
    is_finite: bool = False,
) -> Fit | None:
    """The corrected mean of items of which some have a label; none where there is nothing to tell it from.

    `is_finite`: the mean is that of these items, so the draw of the labels is the only chance (Cochran 1977).
    `f` has a column for each judge where there are several.
    """
    import numpy as np

    with np.errstate(all="ignore"):
        known = predict(y, f, clusters, probabilities)
        found, weights, labelled, n, n_items = (
            known.found,
            known.weights,
            known.labelled,
            len(known.y),
            len(f),
        )
        value, by_judge = known.value, known.by_judge
        influence = weights * (known.values - value) * found.leverage / n
        floor = float(by_judge.var(ddof=1)) / n_items
        # Labels with large weights are few, whatever the number of the others: they count by their share of
        # the variance.
        effective = float((weights**2).sum() ** 2 / (weights**4).sum())
        n_fitted = found.n_fitted
        df = effective - n_fitted
        variance = float((influence**2).sum()) * effective / df + floor if df > 0 else math.nan
        third = float((influence**3).sum())
        if is_finite:
            # What is labelled is known: an item that was sure to be drawn adds no error.
            left = 1 - (n / n_items if probabilities is None else probabilities[labelled])
            floor = 0.0
            variance = float((left * influence**2).sum()) * effective / df if df > 0 else math.nan
        elif clusters is not None:
            combined = by_judge / n_items
            combined[labelled] += influence
            variance, df, third = _clustered(combined, labelled, weights, clusters, n_fitted)
            effective = df + n_fitted
        skewness = third / variance**1.5 if variance > 0 else 0.0
        dy = known.y - float((weights * known.y).mean())
        of_residuals = float((weights * (known.values - value) ** 2).sum()) / (n - 1)
        is_exact = _is_on_a_line(dy, known.judged - (weights[:, None] * known.judged).mean(axis=0))
    fitted = Fit(
        value, variance, df, float(found.slope.sum()), n, n_items, of_residuals, floor, skewness,
        is_exact, effective,
    )  # fmt: skip
    return fitted if _is_sound(fitted) else None


def as_columns(f: Floats) -> Floats:
    """The scores as items × judges, without gaps."""
    import numpy as np

    columns = f[:, None] if f.ndim == 1 else f
    return np.column_stack([filled(column) for column in columns.T])


def _is_on_a_line(around_y: Floats, around_f: Floats) -> bool:
    """Whether one judge predicts all labels exactly."""
    if around_f.shape[1] != 1:
        return False
    column = around_f[:, 0]
    return _on_a_line(float((around_y * column).sum() ** 2), float((column**2).sum() * (around_y**2).sum()))


def _clustered(
    combined: Floats, labelled: Codes, weights: Floats, clusters: Codes, n_fitted: int
) -> tuple[float, float, float]:
    """The variance from sums of influence per group, its degrees of freedom, and the sum of the third powers.

    Groups with many labels, or with large weights, count for more: the degrees of freedom are those of as
    many equal groups as would have the same variance.
    """
    import numpy as np

    sums = np.bincount(clusters, weights=combined)
    sizes = np.bincount(clusters[labelled], weights=weights)
    effective = float((sizes**2).sum() ** 2 / (sizes**4).sum())
    df = effective - n_fitted
    if df <= 0:
        return math.nan, 0.0, 0.0
    return float((sums**2).sum()) * effective / df, df, float((sums**3).sum())


def fit_strata(
    y: Floats,
    f: Floats,
    strata: Codes,
    n_strata: int,
    clusters: Codes | None = None,
    *,
    is_finite: bool = False,
) -> Fit | None:
    """The same with labels drawn stratum by stratum: one slope, each stratum by its share of items."""
    import numpy as np

    f = as_columns(f)
    labelled = np.flatnonzero(~np.isnan(y))
    of_label, n, n_items = strata[labelled], len(labelled), len(f)
    y, judged = y[labelled], f[labelled]
    counts, sizes = np.bincount(of_label, minlength=n_strata), np.bincount(strata, minlength=n_strata)
    with np.errstate(all="ignore"):
        everywhere, mean_f = _column_means(f, strata, sizes), _column_means(judged, of_label, counts)
        around_f = f - everywhere[strata]
        units = labelled if clusters is None else clusters[labelled]
        share = sizes / n_items
        shift = share @ (everywhere - mean_f)
        found = regression(y, judged, around_f, shift, np.ones(n), units, of_label)
        slope = found.slope
        predicted = y + ((everywhere[of_label] - judged) * found.slopes).sum(axis=1)
        means = stratum_means(predicted, of_label, counts)
        residuals = predicted - means[of_label]
        n_free = n - n_strata - (found.n_fitted - 1)
        influence = (share / counts)[of_label] * residuals
        each, each_df = _each_stratum(influence, residuals, of_label, counts, share)
        each = each * (n - n_strata) / n_free
        of_residuals = float((residuals**2).sum()) / n_free
        # The leverages are 1 and what the shift of the scores adds, which is 0 on average.
        leverage = of_residuals * float(((found.leverage - 1) ** 2).sum()) / n**2
        by_judge = around_f @ slope
        floor = float((by_judge**2).sum()) / max(1, n_items - n_strata) / n_items
        if is_finite:
            each, floor = each * (1 - counts / sizes), 0.0
        variance = float(each.sum()) + leverage + floor
        df = _satterthwaite(each, each_df, n_free)
        third = float((influence**3).sum())
        if clusters is not None and not is_finite:
            # A stratum's residuals are too small by the mean that was fitted to them.
            inflated = influence * np.sqrt(counts / (counts - 1) * (n - n_strata) / n_free)[of_label]
            together, df, third = _over_strata(
                inflated, labelled, by_judge / n_items, clusters, found.n_fitted, df
            )
            variance = together + leverage
        value = float((share * means).sum())
        skewness = third / variance**1.5 if variance > 0 else 0.0
        dy = y - stratum_means(y, of_label, counts)[of_label]
        is_exact = _is_on_a_line(dy, judged - mean_f[of_label])
    fitted = Fit(
        value, variance, df, float(slope.sum()), n, n_items, of_residuals, floor,
        skewness, is_exact, df + 1,
    )  # fmt: skip
    return fitted if _is_sound(fitted) else None


_FEW_OF_STRATUM = 8
"""Labels of a stratum below which they may agree by chance, so that their own variance says too little."""


def _each_stratum(
    influence: Floats, residuals: Floats, of_label: Codes, counts: Codes, share: Floats
) -> tuple[Floats, Codes]:
    """The variance that each stratum adds, with its degrees of freedom; of few labels at least that of all
    strata."""
    import numpy as np

    df = int(counts.sum()) - len(counts)
    own = np.bincount(of_label, weights=influence**2, minlength=len(counts)) * counts / (counts - 1)
    shared = share**2 * float((residuals**2).sum()) / df / counts
    least = np.where(counts < _FEW_OF_STRATUM, shared, 0.0)
    return np.maximum(own, least), np.where(least > own, df, counts - 1)


def _satterthwaite(variances: Floats, each_df: Codes, most: int) -> float:
    """The degrees of freedom of a sum of variances, each with its own."""
    parts = float((variances**2 / each_df).sum())
    return min(float(most), float(variances.sum()) ** 2 / parts) if parts > 0 else float(most)


def _over_strata(
    influence: Floats, labelled: Codes, by_judge: Floats, clusters: Codes, n_fitted: int, df: float
) -> tuple[float, float, float]:
    """The same as `_clustered`, where a group has items of several strata."""
    import numpy as np

    combined = by_judge.copy()
    combined[labelled] += influence
    sums = np.bincount(clusters, weights=combined)
    of_groups = len(np.unique(clusters[labelled])) - n_fitted
    if of_groups <= 0:
        return math.nan, 0.0, 0.0
    return float((sums**2).sum()), min(df, float(of_groups)), float((sums**3).sum())


def stratum_means(values: Floats, places: Codes, sizes: Codes) -> Floats:
    import numpy as np

    means: Floats = np.bincount(places, weights=values, minlength=len(sizes)) / sizes
    return means


def _column_means(columns: Floats, places: Codes, sizes: Codes) -> Floats:
    import numpy as np

    return np.column_stack([stratum_means(column, places, sizes) for column in columns.T])


def _on_a_line(covariance: float, variances: float) -> bool:
    """Whether a squared covariance is as large as it can be."""
    return covariance >= (1 - 1e-10) * variances > 0


def _is_sound(fitted: Fit) -> bool:
    numbers = (fitted.value, fitted.variance, fitted.skewness, fitted.df)
    return all(map(math.isfinite, numbers)) and fitted.variance > 0 and fitted.df > 0


def filled(f: Floats) -> Floats:
    """Failures as the judge's own mean; all zero where it never answered."""
    import numpy as np

    is_missing = np.isnan(f)
    if not is_missing.any():
        return f
    return np.where(is_missing, 0.0 if is_missing.all() else f[~is_missing].mean(), f)
