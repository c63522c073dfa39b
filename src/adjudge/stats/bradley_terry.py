"""Strengths from games: Bradley and Terry's model (1952), with Davidson's parameter for ties (1970).

    P(i beats j) : P(j beats i) : P(tie) = exp(d / 2) : exp(-d / 2) : nu,    d = strength of i - strength of j

Without nu and with a tie as half a win for both this is Bradley and Terry's model. Both are one exponential family:
what counts is the points of each system, the games of each pair and the number of ties, so Newton's method works on a
few numbers however many games there were, and on all resamples of a bootstrap at once. Strengths are logs, and their
mean is 0. Whether they exist is a question for `connected`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .arrays import Flags, Floats

_STEPS = 60
_LONGEST_STEP = 2.0
_DONE = 1e-10
_BEYOND = 30.0
"""A strength as far from the mean as this belongs to a system that hardly ever lost: there is no estimate."""


class Fitted(NamedTuple):
    """One fit for each win matrix that was given."""

    strength: Floats
    """fits × systems, each row with a mean of 0"""
    log_nu: Floats
    """minus infinity where ties are half wins or there were none"""
    is_found: Flags


class Moments(NamedTuple):
    """What the model expects of one game of i and j, for all i and j: share of i, ties, their variances."""

    share: Floats
    tie: Floats
    share_variance: Floats
    covariance: Floats
    tie_variance: Floats


def moments(difference: Floats, nu: Floats | float) -> Moments:
    """Expected values at a difference of strengths. The larger of both powers is divided out, so nothing overflows."""
    import numpy as np

    away = np.abs(difference)
    up, down = np.exp((difference - away) / 2), np.exp((-difference - away) / 2)
    tied = nu * np.exp(-away / 2)
    total = up + down + tied
    share, tie = (up + tied / 2) / total, tied / total
    return Moments(share, tie, (up + tied / 4) / total - share**2, tie * (0.5 - share), tie * (1 - tie))


def fit(won: Floats, ties: Floats | None = None) -> Fitted:
    """Fit win matrices (fits × systems × systems, a tie half a win each); with the number of `ties`, Davidson's model."""
    import numpy as np

    n_fits, k = won.shape[0], won.shape[1]
    games, points = won + won.transpose(0, 2, 1), won.sum(axis=2)
    has_nu = np.zeros(n_fits, dtype=bool) if ties is None else ties > 0
    n_ties = np.zeros(n_fits) if ties is None else ties
    strength, log_nu = np.zeros((n_fits, k)), np.where(has_nu, 0.0, -np.inf)
    open_, found = np.ones(n_fits, dtype=bool), np.zeros(n_fits, dtype=bool)
    for _ in range(_STEPS):
        at = np.flatnonzero(open_)
        if not len(at):
            break
        step = _step(games[at], points[at], n_ties[at], strength[at], log_nu[at], has_nu[at])
        longest = np.abs(step).max(axis=1)
        step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(longest, 1e-300))[:, None]
        strength[at] += step[:, :k]
        log_nu[at] += step[:, k]
        strength[at] -= strength[at].mean(axis=1, keepdims=True)
        reached = np.maximum(np.abs(strength[at]).max(axis=1), np.where(has_nu[at], np.abs(log_nu[at]), 0.0))
        is_lost = ~(reached < _BEYOND)
        is_done = (longest < _DONE) & ~is_lost
        found[at[is_done]] = True
        open_[at[is_done | is_lost]] = False
    return Fitted(strength, log_nu, found)


def _step(
    games: Floats, points: Floats, n_ties: Floats, strength: Floats, log_nu: Floats, has_nu: Flags
) -> Floats:
    """Newton's step for each fit: systems, then the tie parameter."""
    import numpy as np

    k = strength.shape[1]
    slope, curve = derivatives(games, points, n_ties, strength, log_nu, has_nu)
    curve[:, :k, :k] += 1 / k
    # A pair that hardly tells anything must not make the whole system unsolvable.
    curve[:, range(k + 1), range(k + 1)] += 1e-12
    return np.asarray(np.linalg.solve(curve, slope[:, :, None])[:, :, 0], dtype=np.float64)


def derivatives(
    games: Floats, points: Floats, n_ties: Floats, strength: Floats, log_nu: Floats, has_nu: Flags
) -> tuple[Floats, Floats]:
    """The slope of the log-likelihood, and the negative of its curvature, by strengths and log nu."""
    import numpy as np

    k = strength.shape[1]
    found = moments(strength[:, :, None] - strength[:, None, :], np.exp(log_nu)[:, None, None])
    slope = np.empty((len(strength), k + 1))
    slope[:, :k] = points - (games * found.share).sum(axis=2)
    slope[:, k] = np.where(has_nu, n_ties - (games * found.tie).sum(axis=(1, 2)) / 2, 0.0)
    curve = np.empty((len(strength), k + 1, k + 1))
    curve[:, :k, :k] = -games * found.share_variance
    each = (games * found.share_variance).sum(axis=2)
    curve[:, range(k), range(k)] += each
    curve[:, :k, k] = curve[:, k, :k] = (games * found.covariance).sum(axis=2)
    curve[:, k, k] = np.where(has_nu, (games * found.tie_variance).sum(axis=(1, 2)) / 2, 1.0)
    return slope, curve


def log_likelihood(won: Floats, ties: Floats, strength: Floats, nu: float) -> float:
    """Of all games under Davidson's model; `ties` is the matrix of them."""
    import numpy as np

    difference = strength[:, None] - strength[None, :]
    away = np.abs(difference)
    log_total = away / 2 + np.log(
        np.exp((difference - away) / 2) + np.exp((-difference - away) / 2) + nu * np.exp(-away / 2)
    )
    decided = won - ties / 2
    found = float((decided * (difference / 2 - log_total)).sum())
    if nu > 0:
        found += float((ties * (math.log(nu) - log_total)).sum()) / 2
    return found
