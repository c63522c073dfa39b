"""How far apart two systems are, as people would have said: the corrected difference of two means.

Where every labelled input has labels of both systems, the input's own difference is corrected (PPI++ of the
difference). Otherwise each system is corrected by its own labels, and what the labels of one input say of both counts
together: the variance is that of the influences, added up input by input. So no label is thrown away, and inputs that
are hard for both systems do not widen the interval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Numbers, codes, floats, same_length
from .ppi import Corrected, mean_of, ppi_mean
from .regression import filled, unskewed, worth
from .undefined import undefined, without_interval

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
    limits: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> Corrected:
    """The mean of first - second over inputs; none where an input lacks a label or a score.

    `limits` are the ends of the scale of the scores, not of their difference.
    """
    import numpy as np

    same_length(labels_first, scores_first, labels_second, scores_second, clusters)
    y, g = floats(labels_first), floats(labels_second)
    f, h = floats(scores_first), floats(scores_second)
    ends = None if limits is None else (limits[0] - limits[1], limits[1] - limits[0])
    if bool((np.isnan(y) == np.isnan(g)).all()):
        found = ppi_mean(
            (y - g).tolist(), (f - h).tolist(), clusters=clusters, limits=ends, confidence=confidence
        )
        method = found.corrected.method.replace("PPI++ mean", "PPI++ difference, paired", 1)
        corrected = structs.replace(found.corrected, method=method, unit=_unit(found.corrected))
        alone = structs.replace(found.labels_only, unit=_unit(found.labels_only))
        return structs.replace(found, corrected=corrected, labels_only=alone)
    groups = None if clusters is None else codes(clusters)[0]
    is_shared = bool((~np.isnan(y) & ~np.isnan(g)).any())
    name = "PPI++ difference, partly paired labels" if is_shared else "PPI++ difference, independent labels"
    n_failed = int((np.isnan(f) | np.isnan(h)).sum())
    flat = np.zeros(len(y))
    fitted = _fit(y, f, g, h, groups)
    plain = _fit(y, flat, g, flat, groups)
    bias = _fit(f - y, flat, h - g, flat, groups)
    corrected = _estimate(fitted, name, n_failed, ends, confidence)
    labels_only = _estimate(plain, "difference of the labels' means", 0, ends, confidence)
    return Corrected(
        corrected,
        mean_of(f - h, clusters, confidence, ends),
        labels_only,
        _estimate(bias, "difference of biases", 0, None, confidence),
        None,
        worth(corrected, labels_only, len(y)),
    )


def _unit(found: Estimate) -> str:
    """What the difference counts: an input with labels of both systems is one."""
    return LABELLED if found.unit == "label" else found.unit


class _Side(Struct, frozen=True):
    """One system's corrected mean, and how much each input moved it."""

    value: float
    influence: Floats
    df: int


class _Fit(Struct, frozen=True):
    value: float
    variance: float
    df: float
    skewness: float
    n: int
    """inputs with a label of either system"""


def _side(y: Floats, f: Floats) -> _Side | None:
    """The regression estimate of one system; none for fewer than three labels."""
    import numpy as np

    f = filled(f)
    own = np.flatnonzero(~np.isnan(y))
    n, n_items = len(own), len(y)
    if n < 3:
        return None
    labels, mine = y[own], f[own]
    mean_y, mean_f, everywhere = float(labels.mean()), float(mine.mean()), float(f.mean())
    spread = float(f.var(ddof=1))
    # A judge that runs against people on a few labels is not believed at all, and one beside all labels not needed.
    is_used = spread > 0 and n < n_items
    slope = max(0.0, float(((labels - mean_y) * (mine - mean_f)).mean()) / spread) if is_used else 0.0
    residuals = labels - mean_y - slope * (mine - mean_f)
    square = float(((mine - mean_f) ** 2).sum())
    leverage = 1 + n * (everywhere - mean_f) * (mine - mean_f) / square if slope > 0 else 1.0
    df = n - 2 if slope > 0 else n - 1
    influence = slope * (f - everywhere) / n_items
    influence[own] += residuals * leverage / n * math.sqrt(n / df)
    return _Side(mean_y + slope * (everywhere - mean_f), influence, df)


def _fit(y: Floats, f: Floats, g: Floats, h: Floats, groups: Codes | None) -> _Fit | None:
    """Both sides together; none where one has too few labels or nothing varies."""
    import numpy as np

    with np.errstate(all="ignore"):
        first, second = _side(y, f), _side(g, h)
        if first is None or second is None:
            return None
        labelled = ~np.isnan(y) | ~np.isnan(g)
        parts = [first.influence, second.influence]
        n_units = int(labelled.sum())
        if groups is not None:
            parts = [np.bincount(groups, weights=part).astype(np.float64) for part in parts]
            n_units = len(np.unique(groups[labelled]))
        apart = parts[0] - parts[1]
        variance = float((apart**2).sum())
        each = [float((part**2).sum()) for part in parts]
        # Satterthwaite for two independent sides; no more than the inputs that have a label.
        below = each[0] ** 2 / first.df + each[1] ** 2 / second.df
        df = min(sum(each) ** 2 / below, float(n_units - 2)) if below > 0 else 0.0
        skewness = float((apart**3).sum()) / variance**1.5 if variance > 0 else 0.0
    value = first.value - second.value
    is_sound = all(map(math.isfinite, (value, variance, df, skewness))) and variance > 1e-24 and df > 0
    return _Fit(value, variance, df, skewness, int(labelled.sum())) if is_sound else None


def _estimate(
    found: _Fit | None, name: str, n_failed: int, limits: tuple[float, float] | None, confidence: float
) -> Estimate:
    from scipy.special import stdtrit

    if found is None:
        why = "one system has fewer than three labels, or the labels do not vary"
        return undefined(why, n_failed=n_failed, unit=LABELLED)
    se, t = math.sqrt(found.variance), float(stdtrit(found.df, (1 + confidence) / 2))
    low = found.value - se * unskewed(t, found.skewness)
    high = found.value - se * unskewed(-t, found.skewness)
    method = f"{name}, t interval corrected for skewness ({found.df:.3g} degrees of freedom)"
    if limits is not None and (low < limits[0] or high > limits[1]):
        low, high = max(low, min(limits[0], found.value)), min(high, max(limits[1], found.value))
        method += ", cut to the scale"
    return Estimate(found.value, low, high, found.n, n_failed, 0, method, LABELLED)


def difference_of(first: Estimate, second: Estimate, name: str) -> Estimate:
    """The difference of two independent estimates, from the arms of their intervals (Zou and Donner 2008)."""
    n, n_failed = first.n + second.n, first.n_failed + second.n_failed
    if first.value is None or second.value is None:
        return undefined("one side is undefined", n=n, n_failed=n_failed, unit="label")
    value = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        method = without_interval(name, "one side has none")
        return Estimate(value, None, None, n, n_failed, 0, method, "label")
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, low, high, n, n_failed, 0, name, "label")
