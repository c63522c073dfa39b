"""What people would have said on average, from a few labels and the judge's scores of all items.

Prediction-powered inference with power tuning (PPI++, Angelopoulos, Duchi and Zrnic 2023):
theta = mean(Y) + lambda (mean of the judge where there are no labels - where there are), with
lambda = cov(Y, F) / ((1 + n/N) var F). The value is theirs; the interval is that of `regression`, which
holds for few labels, too. The labels alone have the interval of the same arithmetic with lambda = 0, so that the two
say what the judge has brought.

The labelled items must be a random part of all. A judge that failed on an item is given its own mean
there, labelled or not: any prediction is allowed, so failures cannot bias the result.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Numbers, codes, floats, is_constant, same_length
from .means import mean_interval
from .regression import Fit, as_estimate, filled, fit, fit_strata, worth
from .undefined import undefined

if TYPE_CHECKING:
    from .arrays import Floats


class Corrected(Struct, frozen=True):
    """A mean three ways: corrected by labels, by the judge alone, from the labels alone."""

    corrected: Estimate
    judge_only: Estimate
    labels_only: Estimate
    bias: Estimate
    """judge - people on the labelled items: above 0 the judge is too kind"""
    power: float | None
    """lambda: how far the judge is believed; 0 is not at all"""
    effective_labels: float | None
    """how many labels without a judge would give as narrow an interval; at most all items"""


def ppi_mean(
    labels: Numbers,
    scores: Numbers,
    *,
    clusters: Sequence[Hashable] | None = None,
    probabilities: Numbers | None = None,
    limits: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> Corrected:
    """The mean of people's scores over all items; `labels` is none where an item has no label.

    `clusters` says which items share a group; `probabilities` with which chance an item was drawn to
    be labelled, where that differs between items. `limits` are the ends of the scale.
    """
    import numpy as np

    same_length(labels, scores, clusters, probabilities)
    y, f = floats(labels), floats(scores)
    n_failed = _n_missing(f)
    judge_only = mean_of(f, clusters, confidence, limits)
    labels_only = structs.replace(mean_of(y, clusters, confidence, limits), n_failed=0)
    bias = structs.replace(mean_of(f - y, clusters, confidence, None), n_failed=0)

    def alone(corrected: Estimate) -> Corrected:
        return Corrected(corrected, judge_only, labels_only, bias, None, None)

    n = len(y) - _n_missing(y)
    why = _cannot(n, y, probabilities)
    if why:
        return alone(undefined(why, n=n, n_failed=n_failed, unit="label"))
    if is_constant(y[y == y]):
        method = labels_only.method.replace("mean", "mean of the labels, which do not vary", 1)
        return alone(structs.replace(labels_only, n_failed=n_failed, method=method, unit="label"))
    groups, n_groups = (None, 0) if clusters is None else codes(clusters)
    drawn = None if probabilities is None else floats(probabilities)
    # The labels alone are a judge who says nothing: one arithmetic for both, or the two could not be compared.
    plain = fit(y, np.zeros(len(y)), groups, drawn)
    # Where every item has its label, the judge has nothing to add.
    found = fit(y, f, groups, drawn) if n < len(y) else plain
    if found is None or plain is None:
        why = "the values are too large, or the labels lie in too few groups"
        return alone(undefined(why, n=n, n_failed=n_failed, unit="label"))
    unit = "label" if groups is None else f"group (n={n_groups})"
    name = f"PPI++ mean, lambda = {found.power:.3g}"
    corrected = as_estimate(found, name, unit, n_failed, limits, confidence)
    labels_only = as_estimate(plain, "mean of the labels", unit, 0, limits, confidence)
    effective = worth(corrected, labels_only, len(y))
    return Corrected(corrected, judge_only, labels_only, bias, found.power, effective)


def _cannot(n: int, y: Floats, probabilities: Numbers | None) -> str:
    """Why these labels cannot correct anything; empty where they can."""
    import numpy as np

    if n == 0:
        return "there is no label"
    if n < 3:
        return "fewer than three labels cannot say how the judge errs"
    if probabilities is not None:
        drawn = floats(probabilities)[~np.isnan(y)]
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
    confidence: float = 0.95,
) -> Corrected:
    """The corrected mean over all items where labels were drawn stratum by stratum, in any proportion.

    Each stratum counts by its share of the items (Fisch et al. 2024, with one slope for all strata), also in the
    mean of the labels alone and in the bias. `clusters` says which items share a group, across strata.
    """
    import numpy as np

    same_length(labels, scores, strata, clusters)
    y, f = floats(labels), floats(scores)
    n_failed = _n_missing(f)
    flat = np.zeros(len(y))
    settings = strata, clusters, confidence
    heard = f if np.isnan(y).any() else flat
    corrected, fitted = _by_strata(y, heard, "PPI++ mean over {} strata", n_failed, limits, *settings)
    labels_only, _ = _by_strata(y, flat, "mean of the labels over {} strata", 0, limits, *settings)
    bias, _ = _by_strata(f - y, flat, "mean over {} strata", 0, None, *settings)
    judge_only = mean_of(f, clusters, confidence, limits)
    if fitted is None:
        return Corrected(corrected, judge_only, labels_only, bias, None, None)
    effective = worth(corrected, labels_only, len(y))
    return Corrected(corrected, judge_only, labels_only, bias, fitted.power, effective)


def _by_strata(
    y: Floats,
    f: Floats,
    name: str,
    n_failed: int,
    limits: tuple[float, float] | None,
    strata: Sequence[Hashable],
    clusters: Sequence[Hashable] | None,
    confidence: float,
) -> tuple[Estimate, Fit | None]:
    """One mean over strata, and the fit behind it."""
    import numpy as np

    of_item, n_strata = codes(strata)
    groups, n_groups = (None, 0) if clusters is None else codes(clusters)
    counts = np.bincount(of_item[~np.isnan(y)], minlength=n_strata)
    n, n_thin = int(counts.sum()), int((counts < 2).sum())
    if n_strata == 0 or n_thin or n < n_strata + 2:
        why = (
            f"{n_thin} of {n_strata} strata have fewer than two labels"
            if n_thin
            else "there are too few labels"
        )
        return undefined(why, n=n, n_failed=n_failed, unit="label"), None
    found = fit_strata(y, f, of_item, n_strata, groups)
    if found is None:
        why = "the labels do not vary, are too large, or lie in too few groups"
        return undefined(why, n=n, n_failed=n_failed, unit="label"), None
    unit = "label" if groups is None else f"group (n={n_groups})"
    told = name.format(n_strata) + (f", lambda = {found.power:.3g}" if name.startswith("PPI") else "")
    return as_estimate(found, told, unit, n_failed, limits, confidence), found


def ppi_published(
    labels: Numbers, scores: Numbers, power: float | None = None, confidence: float = 0.95
) -> Estimate:
    """The mean and the large-sample interval as published, for comparison with other tools.

    `power` is lambda: 1 is PPI, 0 the labels alone, none tunes it. Too narrow for few or skewed labels.
    """
    import numpy as np

    same_length(labels, scores)
    y, f = floats(labels), filled(floats(scores))
    own = ~np.isnan(y)
    y, mine, rest = y[own], f[own], f[~own]
    n, n_rest = len(y), len(rest)
    if n < 2 or n_rest < 1:
        return undefined("it needs two labels and an item without", n=n, unit="label")
    with np.errstate(all="ignore"):
        if power is None:
            covariance = ((y - y.mean()) * (mine - mine.mean())).mean()
            spread = (1 + n / n_rest) * f.var(ddof=1)
            power = min(1.0, max(0.0, float(covariance / spread))) if spread > 0 else 0.0
        value = float(y.mean() + power * (rest.mean() - mine.mean()))
        se = math.sqrt(power**2 * float(rest.var()) / n_rest + float((y - power * mine).var()) / n)
    if not (math.isfinite(value) and math.isfinite(se)):
        return undefined("the values are too large", n=n, unit="label")
    half = NormalDist().inv_cdf((1 + confidence) / 2) * se
    method = f"PPI++ mean as published, lambda = {power:.3g}, large-sample interval"
    return Estimate(value, value - half, value + half, n, _n_missing(floats(scores)), 0, method, "label")


def _n_missing(values: Floats) -> int:
    import numpy as np

    return int(np.isnan(values).sum())


def mean_of(
    values: Floats, clusters: Sequence[Hashable] | None, confidence: float, limits: tuple[float, float] | None
) -> Estimate:
    """The mean of what is there; what is not counts as failed."""
    import numpy as np

    kept = np.flatnonzero(~np.isnan(values)).tolist()
    of_kept = None if clusters is None else [clusters[i] for i in kept]
    return mean_interval(values[kept].tolist(), of_kept, len(values) - len(kept), confidence, limits)
