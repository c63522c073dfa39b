"""Rao and Kupper's model of ties (1967): a response wins where it is better by more than a threshold.

    P(i beats j) = 1 / (1 + theta exp(-d)),    theta >= 1, d = strength of i - strength of j

A second opinion on ties beside Davidson's: where both give the same order, the order does not hang on the model.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .arrays import Floats


class RaoKupper(NamedTuple):
    """Strengths with a mean of 0, the threshold, and the negative log-likelihood."""

    strength: Floats
    theta: float
    loss: float


def rao_kupper(won: Floats, ties: Floats) -> RaoKupper | None:
    """The fit to a win matrix (a tie half a win) and the matrix of ties; none where it does not exist.

    A tie is as likely as both systems winning by the threshold, times theta² - 1: so a tie counts as a win for
    either, and the rest of the likelihood is one term in theta.
    """
    import numpy as np
    from scipy.optimize import minimize

    k, n_ties = len(won), float(ties.sum()) / 2
    counts = won + ties / 2
    if n_ties == 0 or float(won.sum()) == n_ties:
        return None

    def loss(point: Floats) -> tuple[float, Floats]:
        strength, threshold = point[:k], math.exp(point[k])
        margin = strength[:, None] - strength[None, :] - threshold
        log_odds = np.logaddexp(0.0, -margin)
        missed = counts * np.exp(-np.logaddexp(0.0, margin))
        grown = math.expm1(2 * threshold)
        value = float((counts * log_odds).sum()) - n_ties * math.log(grown)
        slope = np.empty(k + 1)
        slope[:k] = missed.sum(axis=0) - missed.sum(axis=1)
        by_threshold = float(missed.sum()) - n_ties * 2 * (1 + 1 / grown)
        slope[k] = by_threshold * threshold
        return value, slope

    start = np.zeros(k + 1)
    start[k] = -1.0
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 500})
    strength = found.x[:k] - found.x[:k].mean()
    if not np.isfinite(found.fun) or float(np.abs(strength).max()) > 30:
        return None
    return RaoKupper(strength, math.exp(math.exp(float(found.x[k]))), float(found.fun))
