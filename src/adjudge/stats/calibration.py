"""A judge's scores mapped to human scores, and whether its stated confidence can be believed.

Every reported error is measured on items that the calibration did not see. Isotonic calibration makes ties, so a rank
correlation after it would be no improvement and is not offered.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    N_RESAMPLES,
    Numbers,
    few_groups,
    few_units,
    floats,
    generator,
    is_constant,
    jackknife_interval,
    label_codes,
    left_out,
    make_estimate,
    percentile_interval,
    resampled,
    same_length,
    undefined,
    within,
)
from .means import mean_interval

if TYPE_CHECKING:
    from .arrays import Codes, Floats


# -- ordinal logistic regression on one score

# P(level <= k) = logistic(threshold_k - beta x) (McCullagh 1980). With few labels it is more stable than an isotonic
# curve, because it has one slope.


_RIDGE = 1e-6
"""Keeps the slope finite where the scores part the levels perfectly; too small to be seen elsewhere."""


class Ordinal(Struct, frozen=True):
    """A fitted model: the levels that occurred, a slope, and the thresholds between the levels."""

    levels: tuple[float, ...]
    beta: float
    thresholds: tuple[float, ...]

    def probabilities(self, scores: Floats) -> Floats:
        """The chance of each level: scores × levels."""
        import numpy as np
        from scipy.special import expit

        below = expit(
            np.array(self.thresholds)[None, :] - self.beta * np.asarray(scores, dtype=np.float64)[:, None]
        )
        ends = np.zeros((len(below), 1)), np.ones((len(below), 1))
        return np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1)

    def predict(self, scores: Floats) -> Floats:
        """The expected level."""
        import numpy as np

        expected: Floats = self.probabilities(scores) @ np.array(self.levels)
        return expected


def ordinal_fit(scores: Sequence[float], labels: Sequence[float]) -> Ordinal:
    """The model of greatest likelihood. Both sides must have two different values."""
    import numpy as np
    from scipy.optimize import minimize, root

    x, y = floats(scores), floats(labels)
    kept = ~np.isnan(x) & ~np.isnan(y)
    levels, places = np.unique(y[kept], return_inverse=True)
    if len(levels) < 2:
        raise ValueError("all labels are the same")
    middle, width = float(x[kept].mean()), float(x[kept].std()) or 1.0
    z, places = (x[kept] - middle) / width, places.reshape(-1)
    shares = np.cumsum(np.bincount(places))[:-1] / len(places)
    starts = np.log(shares / (1 - shares))
    steps = np.log(np.maximum(np.diff(starts), 1e-3))
    begin = np.concatenate([[0.0], starts[:1], steps])
    near = minimize(_loss, begin, args=(z, places), jac=True, method="BFGS", options={"gtol": 1e-7}).x
    # The line search stops where the loss no longer falls, at the seventh digit, which differs by machine.
    polished = root(lambda parameters: _loss(parameters, z, places)[1], near, tol=1e-13)
    optimum = polished.x if abs(polished.fun).max() < 1e-10 else near
    beta = float(optimum[0]) / width
    thresholds = _thresholds(optimum) + beta * middle
    return Ordinal(tuple(levels.tolist()), beta, tuple(thresholds.tolist()))


def _thresholds(parameters: Floats) -> Floats:
    """The first threshold, and from there steps whose logarithms are the parameters: they stay in order."""
    import numpy as np

    thresholds: Floats = np.cumsum(
        np.concatenate([parameters[1:2], np.exp(np.clip(parameters[2:], -30, 30))])
    )
    return thresholds


def _loss(parameters: Floats, x: Floats, places: Codes) -> tuple[float, Floats]:
    """The mean negative log-likelihood with its ridge, and its gradient."""
    import numpy as np
    from scipy.special import expit

    n, thresholds = len(x), _thresholds(parameters)
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    above, below = expit(edges[places + 1] - parameters[0] * x), expit(edges[places] - parameters[0] * x)
    chance = np.maximum(above - below, 1e-300)
    slope_above, slope_below = above * (1 - above), below * (1 - below)
    ridge = _RIDGE * float(parameters[0] ** 2 + (parameters[2:] ** 2).sum())
    loss = -float(np.log(chance).mean()) + ridge
    by_edge = np.bincount(places + 1, weights=slope_above / chance, minlength=len(edges))
    by_edge -= np.bincount(places, weights=slope_below / chance, minlength=len(edges))
    by_threshold = -by_edge[1:-1] / n
    after = np.cumsum(by_threshold[::-1])[::-1]
    gradient = np.empty_like(parameters)
    gradient[0] = float(((slope_above - slope_below) / chance * x).mean()) + 2 * _RIDGE * parameters[0]
    gradient[1] = after[0]
    gradient[2:] = after[1:] * np.exp(np.clip(parameters[2:], -30, 30)) + 2 * _RIDGE * parameters[2:]
    return loss, gradient


CalibrationMethod = Literal["isotonic", "ordinal"]

_N_BINS = 10


class Isotonic(Struct, frozen=True):
    """A rising curve: straight between its knots, flat beyond them."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def predict(self, scores: Floats) -> Floats:
        import numpy as np

        return np.interp(scores, self.x, self.y)


class Calibration(Struct, frozen=True):
    """How far the scores are from people's, as they stand and calibrated, on held-out items."""

    method: CalibrationMethod
    mae_before: Estimate
    mae_after: Estimate
    ece_before: float | None
    ece_after: float | None
    calibrated: tuple[float | None, ...]
    """for each item the prediction of the fold that had not seen it; of all folds where it has no label"""
    why: str = ""
    """why there is no calibration"""


def isotonic_fit(scores: Sequence[float], labels: Sequence[float]) -> Isotonic:
    """The rising curve of least squares, by pooling adjacent violators (Barlow et al. 1972)."""
    import numpy as np

    x, y = floats(scores), floats(labels)
    kept = ~np.isnan(x) & ~np.isnan(y)
    knots, places, sizes = np.unique(x[kept], return_inverse=True, return_counts=True)
    means = np.bincount(places.reshape(-1), weights=y[kept], minlength=len(knots)) / np.maximum(sizes, 1)
    blocks: list[tuple[float, float, int]] = []
    for mean, size in zip(means.tolist(), sizes.tolist(), strict=True):
        level, weight, width = mean, float(size), 1
        while blocks and blocks[-1][0] >= level:
            other, more, wide = blocks.pop()
            level = (other * more + level * weight) / (more + weight)
            weight, width = weight + more, width + wide
        blocks.append((level, weight, width))
    fitted = [level for level, _, width in blocks for _ in range(width)]
    return Isotonic(tuple(knots.tolist()), tuple(fitted))


def calibrate(
    labels: Numbers,
    scores: Numbers,
    method: CalibrationMethod = "isotonic",
    *,
    clusters: Sequence[Hashable] | None = None,
    limits: tuple[float, float] | None = None,
    n_folds: int = 5,
    seed: int = 0,
) -> Calibration:
    """Calibration fitted on all folds but one, and its error on that one. Labels are none where there are none.

    `clusters` says which items share a group, `limits` how small and how large an error can be.
    """
    import numpy as np

    same_length(labels, scores, clusters)
    y, f = floats(labels), floats(scores)
    usable = np.flatnonzero(~np.isnan(y) & ~np.isnan(f))
    n = len(usable)
    folds = min(n_folds, n // 2)
    if folds < 2 or is_constant(f[usable]) or is_constant(y[usable]):
        why = "fewer than four labelled items" if folds < 2 else "the labels or the scores do not vary"
        none = undefined(why, n=n, unit="label")
        return Calibration(method, none, none, None, None, (None,) * len(y), why)
    predictions = _cross_fitted(y, f, usable, method, folds, seed)
    held, people = predictions[usable], y[usable]

    of_usable = None if clusters is None else [clusters[i] for i in usable.tolist()]

    def error(values: Floats) -> Estimate:
        return within(mean_interval(np.abs(values - people).tolist(), of_usable), limits)

    kept = [float(value) if math.isfinite(value) else None for value in predictions]
    before, after = (calibration_error(values.tolist(), people.tolist()) for values in (f[usable], held))
    return Calibration(method, error(f[usable]), error(held), before, after, tuple(kept))


def _cross_fitted(
    y: Floats, f: Floats, usable: Codes, method: CalibrationMethod, n_folds: int, seed: int
) -> Floats:
    import numpy as np

    order = generator(seed).permutation(len(usable))
    fold = np.empty(len(usable), dtype=np.int64)
    fold[order] = np.arange(len(usable)) % n_folds
    predictions = np.full(len(y), np.nan)
    others = np.flatnonzero(~np.isnan(f) & np.isnan(y))
    total = np.zeros(len(others))
    for number in range(n_folds):
        seen, unseen = usable[fold != number], usable[fold == number]
        curve = _fitted(f[seen], y[seen], method)
        predictions[unseen] = curve.predict(f[unseen])
        total += curve.predict(f[others])
    predictions[others] = total / n_folds
    return predictions


def _fitted(scores: Floats, labels: Floats, method: CalibrationMethod) -> Isotonic | Ordinal:
    if method == "isotonic" or is_constant(scores) or is_constant(labels):
        return isotonic_fit(scores.tolist(), labels.tolist())
    return ordinal_fit(scores.tolist(), labels.tolist())


def calibration_error(
    predictions: Sequence[float], outcomes: Sequence[float], bins: Sequence[float] | None = None
) -> float | None:
    """The mean over items of |mean prediction - mean outcome| of the item's bin (ECE, Naeini et al. 2015).

    `bins` are the edges; without them there are ten of equal width over the predictions. None for no item.
    """
    import numpy as np

    same_length(predictions, outcomes)
    p, y = floats(predictions), floats(outcomes)
    kept = ~np.isnan(p) & ~np.isnan(y)
    p, y = p[kept], y[kept]
    if len(p) == 0:
        return None
    with np.errstate(all="ignore"):
        edges = (
            np.linspace(p.min(), p.max(), _N_BINS + 1) if bins is None else np.array(bins, dtype=np.float64)
        )
        places = np.clip(np.digitize(p, edges[1:-1], right=False), 0, len(edges) - 2)
        gaps = np.bincount(places, weights=p - y)
        error = float(np.abs(gaps).sum()) / len(p)
    return error if math.isfinite(error) else None


# -- stated confidence

# The error is ECE over ten bins of equal width from 0 to 1, the loss Brier's (1950), and the ranking the chance that a
# correct judgment was stated with more confidence than a wrong one.


_EDGES = [i / 10 for i in range(11)]


class Confidence(Struct, frozen=True):
    """Stated confidence against being right."""

    error: Estimate
    """ECE; 0 is honest. Chance alone makes it somewhat larger than 0"""
    brier: Estimate
    excess: Estimate
    """mean confidence - share of right judgments: above 0 the judge is overconfident"""
    ranking: float | None
    """0.5: confidence carries no information; none where all are right or all wrong"""


def confidence_quality(
    confidences: Numbers,
    is_correct: Sequence[bool | None],
    *,
    clusters: Sequence[Hashable] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Confidence:
    """How far stated confidence (0 to 1) can be believed; values off that range are left out and counted."""
    import numpy as np

    same_length(confidences, is_correct, clusters)
    p = floats(confidences)
    y = floats([None if right is None else float(right) for right in is_correct])
    with np.errstate(invalid="ignore"):
        kept = ~np.isnan(y) & (p >= 0) & (p <= 1)
    p, y, n_undefined = p[kept], y[kept], int(len(kept) - kept.sum())
    groups = None if clusters is None else [clusters[i] for i in np.flatnonzero(kept).tolist()]
    if len(p) == 0:
        none = undefined(
            "no judgment has a confidence from 0 to 1 and a label", n_undefined=n_undefined, unit="item"
        )
        return Confidence(none, none, none, None)
    value = calibration_error(p.tolist(), y.tolist(), _EDGES)
    places = np.clip(np.digitize(p, _EDGES[1:-1]), 0, 9)
    gaps = np.zeros((10, len(p)))
    gaps[places, np.arange(len(p))] = p - y

    def statistic(counts: Floats) -> Floats:
        errors: Floats = np.abs(np.einsum("ki,ib->kb", gaps, counts)).sum(axis=0) / counts.sum(axis=0)
        return errors

    assert value is not None, "there is an item"
    name = "calibration error over ten bins"
    if groups is None:
        interval = percentile_interval(resampled(statistic, len(p), n_resamples, seed))
        error = make_estimate(
            value, interval, name, n=len(p), n_undefined=n_undefined, seed=seed,
            cautions=few_units(len(p), None),
        )  # fmt: skip
    else:
        codes, n_groups = label_codes(groups)
        interval = jackknife_interval(
            value, left_out(statistic, codes), codes, scale="linear", limits=(0.0, 1.0)
        )
        error = make_estimate(
            value, interval, name, n=len(p), n_undefined=n_undefined, unit=f"group (n={n_groups})",
            cautions=few_groups(n_groups),
        )  # fmt: skip
    brier = mean_interval(((p - y) ** 2).tolist(), groups, limits=(0.0, 1.0))
    excess = mean_interval((p - y).tolist(), groups, limits=(-1.0, 1.0))
    return Confidence(error, brier, excess, _ranking(p, y))


def _ranking(p: Floats, y: Floats) -> float | None:
    """The area under the curve: Mann and Whitney's statistic, ties as half."""
    from .correlation import rank_rows

    n_right = int(y.sum())
    n_wrong = len(y) - n_right
    if n_right == 0 or n_wrong == 0:
        return None
    total = float(rank_rows(p)[y == 1].sum())
    return (total - n_right * (n_right + 1) / 2) / (n_right * n_wrong)


# -- the label that people would give to one item

# Split conformal prediction with the judge as the model (Vovk et al. 2005, Lei et al. 2018): the distances label - score of
# the labelled items bound that of a new one, whatever their distribution. Where items share a group the new item is of a
# new group, and each group has the same weight (Dunn, Wasserman and Ramdas 2022).


class ScoreInterval(Struct, frozen=True):
    """Between which labels of people one score stands: from score + `below` to score + `above`, cut at the scale's ends."""

    below: float | None
    above: float | None
    n: int
    unit: str
    coverage: Estimate
    """the share of labelled items inside, each measured without its own label"""
    limits: tuple[float, float] | None = None
    reason: str = ""

    def around(self, score: float) -> tuple[float, float] | None:
        """The interval of a score; none where there is none."""
        if self.below is None or self.above is None:
            return None
        low, high = score + self.below, score + self.above
        if self.limits is not None:
            low, high = (min(max(end, self.limits[0]), self.limits[1]) for end in (low, high))
        return low, high


_FEWEST_UNITS = math.ceil(2 / (1 - CONFIDENCE) - 1e-9) - 1
"""Labelled items (or groups) from which both ends exist: 39 at 95 %."""
_MOST_FOLDS = 20


def score_interval(
    labels: Numbers,
    scores: Numbers,
    *,
    clusters: Sequence[Hashable] | None = None,
    limits: tuple[float, float] | None = None,
    seed: int = 0,
) -> ScoreInterval:
    """The conformal interval of a single score, from the items with a label and a score."""
    import numpy as np

    same_length(labels, scores, clusters)
    y, f = floats(labels), floats(scores)
    kept = np.flatnonzero(~np.isnan(y) & ~np.isnan(f))
    codes, n_units = (
        (np.arange(len(kept)), len(kept))
        if clusters is None
        else label_codes([clusters[i] for i in kept.tolist()])
    )
    unit = "item" if clusters is None else f"group (n={n_units})"
    gaps = y[kept] - f[kept]
    if n_units < _FEWEST_UNITS:
        noun = "labelled items" if clusters is None else "labelled groups"
        why = f"fewer than {_FEWEST_UNITS} {noun}"
        return ScoreInterval(None, None, len(kept), unit, undefined(why, n=len(kept), unit=unit), limits, why)
    below, above = _conformal(gaps, codes)
    hits = _held_out_hits(gaps, codes, n_units, seed)
    if hits is None:
        coverage = undefined(f"fewer than {_FEWEST_UNITS} are left without some", n=len(kept), unit=unit)
    else:
        groups = None if clusters is None else codes.tolist()
        coverage = mean_interval(hits.tolist(), groups, limits=(0.0, 1.0), name="share of labels inside")
    return ScoreInterval(below, above, len(kept), unit, coverage, limits)


def _conformal(gaps: Floats, codes: Codes) -> tuple[float, float]:
    """The least and the greatest gap that a new item has with the wanted chance."""
    import numpy as np

    sizes = np.bincount(codes)
    n_units = int((sizes > 0).sum())
    order = np.argsort(gaps, kind="stable")
    mass = 1 / (sizes[codes[order]] * (n_units + 1))
    tail = (1 - CONFIDENCE) / 2 - 1 / (n_units + 1) + 1e-12
    before, after = np.cumsum(mass) - mass, np.cumsum(mass[::-1]) - mass[::-1]
    ordered = gaps[order]
    return (
        float(ordered[np.flatnonzero(before <= tail)[-1]]),
        float(ordered[::-1][np.flatnonzero(after <= tail)[-1]]),
    )


def _held_out_hits(gaps: Floats, codes: Codes, n_units: int, seed: int) -> Floats | None:
    """Whether each item is inside the interval that items of other folds give; none where too few are left."""
    import numpy as np

    n_folds = min(n_units, _MOST_FOLDS)
    if n_units - math.ceil(n_units / n_folds) < _FEWEST_UNITS:
        return None
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[generator(seed).permutation(n_units)] = np.arange(n_units) % n_folds
    folds = fold_of_unit[codes]
    hits = np.empty(len(gaps))
    for fold in range(n_folds):
        below, above = _conformal(gaps[folds != fold], codes[folds != fold])
        held = folds == fold
        # Sums of the same numbers may differ in the last digit.
        hits[held] = (gaps[held] >= below - 1e-9) & (gaps[held] <= above + 1e-9)
    return hits
