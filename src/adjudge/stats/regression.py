"""The regression estimator behind PPI++: people's mean, moved by what the judge says of the other items.

theta = mean(Y) + slope (mean of the judge over all items - over the labelled ones). Its variance has
n - 2 degrees of freedom and the leverage of a sample that the judge likes more or less than the
rest; its interval is corrected for skewness (Hall 1992), because errors are skewed near the ends of
a scale. In simulations of 20 to 200 labels of 2,000 items (even, skewed and binary labels) it covers
93 to 97 %, where the large-sample formula falls to 89 %.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .undefined import cautioned

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
    label_variance: float
    residual_variance: float
    floor: float
    """the part of the variance that more labels cannot take away"""
    skewness: float
    """of the estimator, not of the labels"""
    is_exact: bool
    """whether the labels lie on one line with the judge's scores"""

    @property
    def power(self) -> float:
        """lambda of PPI++."""
        return self.slope * (1 - self.n / self.n_items)


def fit(
    y: Floats, f: Floats, clusters: Codes | None = None, probabilities: Floats | None = None
) -> Fit | None:
    """The corrected mean of items of which some have a label; none where there is nothing to tell it from."""
    import numpy as np

    f = filled(f)
    own = np.flatnonzero(~np.isnan(y))
    y, mine, n, n_items = y[own], f[own], len(own), len(f)
    weights = np.ones(n) if probabilities is None else 1 / probabilities[own]
    with np.errstate(all="ignore"):
        weights = weights / weights.mean()
        mean_y, mean_f, everywhere = (weights * y).mean(), (weights * mine).mean(), f.mean()
        spread = float(f.var(ddof=1))
        covariance = float((weights * (y - mean_y) * (mine - mean_f)).mean())
        # A judge that runs against people on a few labels is not believed at all.
        slope = max(0.0, covariance / spread) if spread > 0 else 0.0
        residuals = y - mean_y - slope * (mine - mean_f)
        square = float((weights * (mine - mean_f) ** 2).sum())
        leverage = 1 + n * (everywhere - mean_f) * (mine - mean_f) / square if slope > 0 else 1.0
        n_free = n - 2 if slope > 0 else n - 1
        influence = weights * residuals * leverage / n
        floor = slope**2 * spread / n_items
        variance, df = float((influence**2).sum()) * n / n_free + floor, float(n_free)
        if clusters is not None:
            variance, df = _clustered(
                influence, own, slope * (f - everywhere) / n_items, clusters, n - n_free
            )
        value = float(mean_y + slope * (everywhere - mean_f))
        skewness = float((influence**3).sum()) / variance**1.5 if variance > 0 else 0.0
        of_labels = float((weights * (y - mean_y) ** 2).sum()) / (n - 1)
        of_residuals = float((weights * residuals**2).sum()) / n_free
        is_exact = _on_a_line(float((covariance * n) ** 2), square * of_labels * (n - 1))
    found = Fit(value, variance, df, slope, n, n_items, of_labels, of_residuals, floor, skewness, is_exact)
    return found if _is_sound(found) else None


def _clustered(
    influence: Floats, own: Codes, by_judge: Floats, clusters: Codes, n_fitted: int
) -> tuple[float, float]:
    """The variance from sums of influence per group, and its degrees of freedom."""
    import numpy as np

    whole = by_judge.copy()
    whole[own] += influence
    sums = np.bincount(clusters, weights=whole)
    n_groups = len(np.unique(clusters[own]))
    df = n_groups - n_fitted
    return (float((sums**2).sum()) * n_groups / df, float(df)) if df > 0 else (math.nan, 0.0)


def fit_strata(
    y: Floats, f: Floats, strata: Codes, n_strata: int, clusters: Codes | None = None
) -> Fit | None:
    """The same with labels drawn stratum by stratum: one slope, and each stratum by its share of the items."""
    import numpy as np

    f = filled(f)
    own = np.flatnonzero(~np.isnan(y))
    mine, n, n_items = strata[own], len(own), len(f)
    counts, sizes = np.bincount(mine, minlength=n_strata), np.bincount(strata, minlength=n_strata)
    with np.errstate(all="ignore"):
        mean_y, mean_f = _means(y[own], mine, counts), _means(f[own], mine, counts)
        everywhere = _means(f, strata, sizes)
        dy, df_ = y[own] - mean_y[mine], f[own] - mean_f[mine]
        spread = float(((f - everywhere[strata]) ** 2).sum()) / max(1, n_items - n_strata)
        slope = max(0.0, float((dy * df_).sum()) / (n * spread)) if spread > 0 else 0.0
        residuals = dy - slope * df_
        n_free = n - n_strata - (1 if slope > 0 else 0)
        share = sizes / n_items
        influence = (share / counts)[mine] * residuals
        each = np.bincount(mine, weights=influence**2, minlength=n_strata) * counts / (counts - 1)
        each = each * (n - n_strata) / n_free
        of_residuals = float((residuals**2).sum()) / n_free
        shift = float((share * (everywhere - mean_f)).sum())
        leverage = of_residuals * shift**2 / float((df_**2).sum()) if slope > 0 else 0.0
        floor = slope**2 * spread / n_items
        variance = float(each.sum()) + leverage + floor
        # Satterthwaite over the strata, each with its own degrees of freedom.
        parts = float((each**2 / (counts - 1)).sum())
        df = min(float(n_free), float(each.sum()) ** 2 / parts) if parts > 0 else float(n_free)
        if clusters is not None:
            # A stratum's residuals are too small by the mean that was fitted to them.
            inflated = influence * np.sqrt(counts / (counts - 1))[mine] * math.sqrt((n - n_strata) / n_free)
            by_judge = slope * (f - everywhere[strata]) / n_items
            together, df = _over_strata(inflated, own, by_judge, clusters, 2 if slope > 0 else 1, df)
            variance = together + leverage
        value = float((share * (mean_y + slope * (everywhere - mean_f))).sum())
        skewness = float((influence**3).sum()) / variance**1.5 if variance > 0 else 0.0
        of_labels = float((dy**2).sum()) / (n - n_strata)
        is_exact = _on_a_line(float((dy * df_).sum() ** 2), float((df_**2).sum() * (dy**2).sum()))
    found = Fit(value, variance, df, slope, n, n_items, of_labels, of_residuals, floor, skewness, is_exact)
    return found if _is_sound(found) else None


def _over_strata(
    influence: Floats, own: Codes, by_judge: Floats, clusters: Codes, n_fitted: int, df: float
) -> tuple[float, float]:
    """The variance from sums of influence per group, where a group has items of several strata."""
    import numpy as np

    whole = by_judge.copy()
    whole[own] += influence
    sums = np.bincount(clusters, weights=whole)
    of_groups = len(np.unique(clusters[own])) - n_fitted
    return (float((sums**2).sum()), min(df, float(of_groups))) if of_groups > 0 else (math.nan, 0.0)


def _means(values: Floats, places: Codes, sizes: Codes) -> Floats:
    import numpy as np

    found: Floats = np.bincount(places, weights=values, minlength=len(sizes)) / sizes
    return found


def _on_a_line(covariance: float, variances: float) -> bool:
    """Whether a squared covariance is as large as it can be."""
    return covariance >= (1 - 1e-10) * variances > 0


def _is_sound(found: Fit) -> bool:
    numbers = (found.value, found.variance, found.skewness, found.df)
    return all(map(math.isfinite, numbers)) and found.variance > 0 and found.df > 0


def as_estimate(
    found: Fit, name: str, unit: str, n_failed: int, limits: tuple[float, float] | None, confidence: float
) -> Estimate:
    """The fit in words, its interval corrected for skewness and cut to the scale."""
    from scipy.special import stdtrit

    se, t = math.sqrt(found.variance), float(stdtrit(found.df, (1 + confidence) / 2))
    low = found.value - se * unskewed(t, found.skewness)
    high = found.value - se * unskewed(-t, found.skewness)
    method = f"{name}, t interval corrected for skewness ({found.df:.3g} degrees of freedom)"
    if limits is not None and (low < limits[0] or high > limits[1]):
        low, high = max(low, min(limits[0], found.value)), min(high, max(limits[1], found.value))
        method += ", cut to the scale"
    cautions = []
    if found.is_exact and found.slope > 0:
        cautions.append(
            f"the judge predicts all {found.n} labels exactly, which the interval takes for granted"
        )
    return Estimate(found.value, low, high, found.n, n_failed, 0, cautioned(method, cautions), unit)


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


def filled(f: Floats) -> Floats:
    """Failures as the judge's own mean; all zero where it never answered."""
    import numpy as np

    is_missing = np.isnan(f)
    if not is_missing.any():
        return f
    return np.where(is_missing, 0.0 if is_missing.all() else f[~is_missing].mean(), f)


def worth(corrected: Estimate, labels_only: Estimate, most: int) -> float | None:
    """How many labels without a judge would give an interval as narrow as the corrected one; at most all items.

    From the two intervals as they are given, which are made in one way: where the corrected one is the wider, the
    judge has cost more than it brought, and the labels are worth less than their number.
    """
    ends = corrected.low, corrected.high, labels_only.low, labels_only.high
    if any(end is None for end in ends):
        return None
    low, high, low_alone, high_alone = (end or 0.0 for end in ends)
    if high <= low or high_alone <= low_alone:
        return None
    return min(float(most), corrected.n * ((high_alone - low_alone) / (high - low)) ** 2)
