"""Which pairs to judge next.

A game of i and j narrows every difference that depends on it. Its worth is the sum over all pairs of systems
of how much it narrows their difference, weighted by how much that matters: most where the order is uncertain,
nothing where it is settled (the density of the normal at the difference in standard errors). Games are chosen
one after the other, each as if those before it had been played. A weak prior (a tie of each system with one
of average strength) makes the worth of a game finite where systems never met, and largest there: unconnected
systems are connected first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .games import Games, win_matrix

if TYPE_CHECKING:
    from .arrays import Codes, Flags, Floats


_PRIOR = 0.5


def next_games(
    games: Games,
    rating: Sequence[float],
    n: int,
    *,
    limits: Sequence[Sequence[float]] | None = None,
) -> list[tuple[int, int]]:
    """The `n` pairs of systems to ask for, in order; `limits` is how many games of each pair can be had at
    most.

    `rating` are finite strengths.
    """
    import numpy as np

    k = games.n_systems
    won = win_matrix(games)
    strength = np.asarray(rating, dtype=np.float64)
    left = np.full((k, k), np.inf) if limits is None else np.array(limits, dtype=np.float64)
    left = np.triu(np.minimum(left, left.T), 1)
    chance = 1 / (1 + np.exp(-(strength[:, None] - strength[None, :])))
    weight = chance * (1 - chance)
    firsts, seconds = (side.astype(np.int64) for side in np.triu_indices(k, 1))
    covariance = _covariance(weight * (won + won.T))
    chosen: list[tuple[int, int]] = []
    for _ in range(n):
        can_be: Flags = left[firsts, seconds] > 0
        if not bool(can_be.any()):
            break
        worth = np.where(can_be, _worth(covariance, strength, weight, firsts, seconds), -1.0)
        # Equal worth goes to the pair that has met least, so that a first round is spread evenly.
        played = (won + won.T)[firsts, seconds]
        best = int(np.lexsort((played, -np.round(worth, 12)))[0])
        i, j = int(firsts[best]), int(seconds[best])
        chosen.append((i, j))
        left[i, j] -= 1
        covariance = _with_game(covariance, i, j, float(weight[i, j]))
    return chosen


def _covariance(information: Floats) -> Floats:
    import numpy as np

    k = len(information)
    curve = np.diag(information.sum(axis=1)) - information + _PRIOR * np.eye(k) / 2
    return np.asarray(np.linalg.inv(curve), dtype=np.float64)


def _with_game(covariance: Floats, i: int, j: int, weight: float) -> Floats:
    """The covariance after one more game of i and j (Sherman and Morrison)."""
    import numpy as np

    column = covariance[:, i] - covariance[:, j]
    variance = float(column[i] - column[j])
    updated: Floats = covariance - weight * np.outer(column, column) / (1 + weight * variance)
    return updated


def _worth(covariance: Floats, strength: Floats, weight: Floats, firsts: Codes, seconds: Codes) -> Floats:
    """For each pair, how much one game of theirs would narrow the differences that are still open."""
    import numpy as np

    differences = covariance[firsts] - covariance[seconds]
    shared = differences[:, firsts] - differences[:, seconds]
    variance = np.diagonal(shared)
    z = (strength[firsts] - strength[seconds]) / np.sqrt(variance)
    matters = np.exp(-(z**2) / 2) / variance
    w = weight[firsts, seconds]
    narrowed: Floats = w / (1 + w * variance) * (matters[:, None] * shared**2).sum(axis=0)
    return narrowed
