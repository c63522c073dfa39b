"""A judge's scores mapped to human scores.

Every reported error is measured on items that the calibration did not see. Isotonic calibration makes ties,
so a rank correlation after it would be no improvement and is not offered.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    Numbers,
    floats,
    is_constant,
    same_length,
    undefined,
    within,
)
from .means import mean_interval
from .ordinal import Ordinal, ordinal_fit
from .resample import (
    generator,
)

if TYPE_CHECKING:
    from .arrays import Codes, Floats


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
    """Calibration fitted on all folds but one, and its error on that one. Labels are none where there are
    none.

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
