"""Whether strengths exist: which systems are connected by games.

A system that never lost has no upper bound, and systems that never met (not even through others) have no
difference. Ford (1957): strengths exist where a chain of wins leads from every system to every other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .arrays import Flags, Floats


def reaches(won: Floats) -> Flags:
    """Whether a chain of wins (ties count) leads from row to column; a system reaches itself."""
    import numpy as np

    reach: Flags = won > 0
    np.fill_diagonal(reach, True)
    for middle in range(len(reach)):
        reach |= reach[:, middle : middle + 1] & reach[middle]
    return reach


def components(won: Floats) -> list[list[int]]:
    """The sets of systems whose strengths exist together; a set stands before those it is above of."""
    reach = reaches(won)
    both = reach & reach.T
    rest = sorted(range(len(won)), key=lambda i: (-int(reach[i].sum()), i))
    pieces, seen = [], set()
    for i in rest:
        if i not in seen:
            piece = [j for j in range(len(won)) if both[i, j]]
            seen.update(piece)
            pieces.append(piece)
    return pieces


def islands(won: Floats) -> list[list[int]]:
    """The sets of systems that met, directly or through others; one set where the games hang together."""
    return components(won + won.T)


def are_connected(won: Floats) -> Flags:
    """The same question for many win matrices at once (resamples × systems × systems): is each of one
    piece?"""
    import numpy as np

    k = won.shape[-1]
    reach = ((won > 0) | np.eye(k, dtype=bool)).astype(np.float32)
    length = 1
    while length < k:
        reach = (reach @ reach > 0).astype(np.float32)
        length *= 2
    return np.asarray((reach > 0).all(axis=(1, 2)))


def has_tie_parameter(won: Floats, ties: Floats) -> bool:
    """Whether Davidson's model has an estimate, for systems of one piece.

    It has none where the games can be explained ever better by more ties between ever more distant systems:
    if numbers x exist with x_i - x_j = 1 or more for every win of i and at most 1 apart for every tie. That
    is a system of difference constraints, which no numbers solve if and only if a circle of its bounds is
    negative.
    """
    import numpy as np

    decided = won - ties / 2
    bound = np.full(won.shape, np.inf)
    bound[ties > 0] = 1.0
    # bound[i, j] is the most that x_j - x_i may be.
    bound[decided > 1e-12] = -1.0
    np.fill_diagonal(bound, 0.0)
    for middle in range(len(bound)):
        bound = np.minimum(bound, bound[:, middle : middle + 1] + bound[middle])
        if bool((np.diagonal(bound) < 0).any()):
            return True
    return False
