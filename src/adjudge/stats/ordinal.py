"""Ordinal logistic regression of people's levels on one score.

P(level <= k) = logistic(threshold_k - beta x) (McCullagh 1980). With few labels it is more stable than an
isotonic curve, because it has one slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from .arrays import (
    floats,
)

if TYPE_CHECKING:
    from .arrays import Codes, Floats


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
