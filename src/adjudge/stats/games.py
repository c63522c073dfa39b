"""Games of two systems as arrays.

A win is 1, a tie 0.5, a probability anything between. Games of one cluster (both orders of a pair, all pairs
of one prompt) are not independent: the cluster is what is resampled. Clusters with the same content are kept
once with their number, so that a hundred thousand single games are resampled as a few thousand cells.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .arrays import label_codes

if TYPE_CHECKING:
    from .arrays import Codes, Flags, Floats


class Games(NamedTuple):
    """The games of `n_systems` systems, each known by its number from 0."""

    first: Codes
    second: Codes
    share: Floats
    """of the first: 1 won, 0 lost, 0.5 a tie"""
    cluster: Codes
    n_systems: int

    @property
    def n(self) -> int:
        return len(self.share)

    @property
    def n_clusters(self) -> int:
        return int(self.cluster.max(initial=-1)) + 1

    @property
    def is_tie(self) -> Flags:
        tied: Flags = self.share == 0.5
        return tied

    @property
    def is_graded(self) -> bool:
        """Whether a share is neither a win, a loss nor a tie: a probability."""
        return not bool(((self.share == 0) | (self.share == 1) | self.is_tie).all())

    def among(self, systems: Sequence[int]) -> Games:
        """The games of some systems with each other, renumbered in the given order."""
        import numpy as np

        number = np.full(self.n_systems, -1)
        number[list(systems)] = np.arange(len(systems))
        kept = (number[self.first] >= 0) & (number[self.second] >= 0)
        _, cluster = np.unique(self.cluster[kept], return_inverse=True)
        return Games(
            number[self.first[kept]], number[self.second[kept]], self.share[kept], cluster, len(systems)
        )


def games_of(
    first: Sequence[int],
    second: Sequence[int],
    share: Sequence[float],
    n_systems: int,
    clusters: Sequence[Hashable] | None = None,
) -> Games:
    """Games from columns; without `clusters` every game stands alone. A game against oneself says nothing."""
    import numpy as np

    i = np.asarray(first, dtype=np.int64).reshape(-1)
    j = np.asarray(second, dtype=np.int64).reshape(-1)
    won = np.asarray(share, dtype=np.float64).reshape(-1)
    if not len(i) == len(j) == len(won) or (clusters is not None and len(clusters) != len(i)):
        raise ValueError("the columns of the games have different lengths")
    if len(won) and not (bool(np.isfinite(won).all()) and won.min() >= 0 and won.max() <= 1):
        raise ValueError("a share of a game lies between 0 and 1")
    ends = np.concatenate([i, j, [0]])
    if ends.min() < 0 or ends.max() >= max(1, n_systems):
        raise ValueError(f"a system is not among the {n_systems}")
    number = np.arange(len(i)) if clusters is None else label_codes(clusters)[0]
    kept = i != j
    _, cluster = np.unique(number[kept], return_inverse=True)
    return Games(i[kept], j[kept], won[kept], cluster.astype(np.int64), n_systems)


def win_matrix(games: Games) -> Floats:
    """What row took of its games against column; a tie is half a win."""
    import numpy as np

    k = games.n_systems
    cells = np.concatenate([games.first * k + games.second, games.second * k + games.first])
    weights = np.concatenate([games.share, 1 - games.share])
    return np.asarray(np.bincount(cells, weights=weights, minlength=k * k), dtype=np.float64).reshape(k, k)


def tie_matrix(games: Games) -> Floats:
    """How many ties two systems had, on both sides of the diagonal."""
    import numpy as np

    k, tied = games.n_systems, games.is_tie
    i, j = games.first[tied], games.second[tied]
    cells = np.concatenate([i * k + j, j * k + i])
    return np.asarray(np.bincount(cells, minlength=k * k), dtype=np.float64).reshape(k, k)


class Cells(NamedTuple):
    """The games of all clusters, as a matrix with a column for each kind of cluster."""

    content: Any
    """what each kind of cluster adds: the win matrix row by row, then the ties; sparse"""
    sizes: Floats
    """how many clusters there are of each kind"""


def game_cells(games: Games) -> Cells:
    """Clusters with the same content are one column: single games have at most three kinds for a pair of
    systems."""
    import numpy as np
    from scipy.sparse import coo_array

    k, n = games.n_systems, games.n
    kind, sizes = _kinds(games)
    index = np.arange(n)
    lone = np.full(len(sizes), n)
    # One cluster stands for all of its kind: the one that comes first.
    representative = np.full(games.n_clusters, n)
    np.minimum.at(representative, games.cluster, index)
    np.minimum.at(lone, kind, representative)
    chosen = np.flatnonzero(lone[kind[games.cluster]] == representative[games.cluster])
    column = kind[games.cluster[chosen]]
    i, j, share = games.first[chosen], games.second[chosen], games.share[chosen]
    rows = np.concatenate([i * k + j, j * k + i, np.full(len(chosen), k * k)])
    data = np.concatenate([share, 1 - share, (share == 0.5).astype(np.float64)])
    shape = (k * k + 1, len(sizes))
    return Cells(coo_array((data, (rows, np.tile(column, 3))), shape=shape).tocsr(), sizes)


def _kinds(games: Games) -> tuple[Codes, Floats]:
    """The kind of each cluster, and how many there are of each. Only clusters of one game are put
    together."""
    import numpy as np

    count = np.bincount(games.cluster, minlength=games.n_clusters)
    is_lone = count[games.cluster] == 1
    k = games.n_systems
    turned = games.first > games.second
    low, high = np.where(turned, games.second, games.first), np.where(turned, games.first, games.second)
    share = np.where(turned, 1 - games.share, games.share)
    kind = np.zeros(games.n_clusters, dtype=np.int64)
    _, share_code = np.unique(share[is_lone], return_inverse=True)
    pair = low[is_lone] * k + high[is_lone]
    lone_kinds, code = np.unique(pair * (share_code.max(initial=0) + 1) + share_code, return_inverse=True)
    kind[games.cluster[is_lone]] = code
    together = np.flatnonzero(count > 1)
    kind[together] = len(lone_kinds) + np.arange(len(together))
    sizes = np.bincount(kind, minlength=len(lone_kinds) + len(together)).astype(np.float64)
    return kind, sizes
