"""Strengths from games: Bradley and Terry's model (1952), with Davidson's parameter for ties (1970).

    P(i beats j) : P(j beats i) : P(tie) = exp(d / 2) : exp(-d / 2) : nu,    d = strength of i - strength of j

Without nu, and with a tie as half a win for both, this is Bradley and Terry's model. Both are one exponential family:
only the points of each system, the games of each pair and the number of ties matter, so Newton's method works on a few
numbers for any number of games, and on all resamples of a bootstrap at once. Strengths are logs, and their mean is 0.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    Interval,
    blocks,
    draw_cells,
    few_groups,
    generator,
    label_codes,
    make_estimate,
    no_interval,
    percentile_interval,
    t_quantile,
    tail_of_few,
    undefined,
)
from .two_judges import mcnemar

if TYPE_CHECKING:
    from .arrays import Codes, Flags, Floats


# -- games as arrays

# A win is 1, a tie 0.5, a probability anything between. Games of one cluster (both orders of a pair, all pairs of one
# prompt) are not independent: the cluster is what is resampled. Clusters with the same content are kept once with their
# number, so that a hundred thousand single games are resampled as a few thousand cells.


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


def cells_of(games: Games) -> Cells:
    """Clusters with the same content are one column: single games have at most three kinds for a pair of systems."""
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
    """The kind of each cluster, and how many there are of each. Only clusters of one game are put together."""
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


def elo(strength: float) -> float:
    """A log strength on the scale that chess made known: 400 points are odds of ten to one, 1000 is the mean."""
    return 400 / math.log(10) * strength + 1000


# -- whether strengths exist

# A system that never lost has no upper bound, and systems that never met (not even through others) have no difference.
# Ford (1957): strengths exist where a chain of wins leads from every system to every other.


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
    """The same question for many win matrices at once (resamples × systems × systems): is each of one piece?"""
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

    It has none where the games can be explained ever better by more ties between ever more distant systems: if
    numbers x exist with x_i - x_j = 1 or more for every win of i and at most 1 apart for every tie. That is a system
    of difference constraints, which no numbers solve if and only if a circle of its bounds is negative.
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
    open_, is_found = np.ones(n_fits, dtype=bool), np.zeros(n_fits, dtype=bool)
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
        is_found[at[is_done]] = True
        open_[at[is_done | is_lost]] = False
    return Fitted(strength, log_nu, is_found)


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
    expected = moments(strength[:, :, None] - strength[:, None, :], np.exp(log_nu)[:, None, None])
    slope = np.empty((len(strength), k + 1))
    slope[:, :k] = points - (games * expected.share).sum(axis=2)
    slope[:, k] = np.where(has_nu, n_ties - (games * expected.tie).sum(axis=(1, 2)) / 2, 0.0)
    curve = np.empty((len(strength), k + 1, k + 1))
    curve[:, :k, :k] = -games * expected.share_variance
    each = (games * expected.share_variance).sum(axis=2)
    curve[:, range(k), range(k)] += each
    curve[:, :k, k] = curve[:, k, :k] = (games * expected.covariance).sum(axis=2)
    curve[:, k, k] = np.where(has_nu, (games * expected.tie_variance).sum(axis=(1, 2)) / 2, 1.0)
    return slope, curve


# -- strengths with intervals

# Two intervals for each strength: the sandwich of the likelihood's curvature and the sums of slopes per cluster (HC0,
# White 1980, Liang and Zeger 1986), and a bootstrap over clusters. Neither assumes that games of one cluster are
# independent, or that the model is true. Where a system never lost, or the games do not connect all systems, the
# strengths of each connected part have a mean of 0 in that part, and those that do not exist are none with the reason.


Ties = Literal["davidson", "half"]

N_RESAMPLES = 1000
_FEW_CLUSTERS = 10
_TINY = 1e-9
"""A standard error below this is rounding: games that agree with the fit to the last digit leave no variance."""


class Strengths(Struct, frozen=True):
    """The systems by their numbers: strengths on the log scale, what is known of differences, what fell apart."""

    sandwich: tuple[Estimate, ...]
    bootstrap: tuple[Estimate, ...]
    elo: tuple[Estimate, ...]
    """the strengths with the sandwich interval on the Elo-like scale"""
    rating: tuple[float, ...]
    """finite for every system, to put them in order: the strength with one tie against the mean added for each"""
    p_values: dict[tuple[int, int], float | None]
    """of a difference of two strengths, or of their games with each other where there is none"""
    standard_errors: dict[tuple[int, int], float]
    """of a difference of two strengths, where both are of one piece"""
    nu: float | None
    """Davidson's tie parameter; none where ties are half wins or were not seen"""
    model: str
    components: tuple[tuple[int, ...], ...]
    """systems whose strengths exist together, those above first"""
    islands: tuple[tuple[int, ...], ...]
    """systems that met, directly or through others"""
    never_lost: tuple[int, ...]
    never_won: tuple[int, ...]


class _Piece(NamedTuple):
    """The fit of systems that exist together."""

    systems: list[int]
    strength: Floats
    covariance: Floats
    """HC0, clustered"""
    nu: float | None
    ties: Ties
    n_clusters: int


def strengths(
    games: Games,
    *,
    ties: Ties = "davidson",
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Strengths:
    """Fit all systems; ties by Davidson's model, where it has an estimate, or each as half a win."""
    won = win_matrix(games)
    connected = components(won)
    pieces = [_piece(games, systems, ties) for systems in connected if len(systems) > 1]
    known: dict[int, tuple[Estimate, Estimate]] = {}
    standard_errors: dict[tuple[int, int], float] = {}
    for piece in pieces:
        known.update(_estimates(games, piece, n_resamples, seed, is_whole=len(connected) == 1))
        standard_errors.update(_standard_errors(piece))
    gained, lost = won.sum(axis=1), won.sum(axis=0)
    reasons = {i: _why(i, gained, lost) for i in range(games.n_systems)}
    n_games = [int(gained[i] + lost[i]) for i in range(games.n_systems)]
    nothing = [undefined(reasons[i], n=n_games[i], unit=_unit(games)) for i in range(games.n_systems)]
    sandwich = tuple(known[i][0] if i in known else nothing[i] for i in range(games.n_systems))
    return Strengths(
        sandwich=sandwich,
        bootstrap=tuple(known[i][1] if i in known else nothing[i] for i in range(games.n_systems)),
        elo=tuple(_on_elo(estimate) for estimate in sandwich),
        rating=_ratings(won),
        p_values=_p_values(games, won, pieces),
        standard_errors=standard_errors,
        nu=next((piece.nu for piece in pieces if piece.nu is not None), None),
        model=_model_name(pieces),
        components=tuple(tuple(systems) for systems in connected),
        islands=tuple(tuple(systems) for systems in islands(won)),
        never_lost=tuple(i for i in range(games.n_systems) if gained[i] > 0 and lost[i] == 0),
        never_won=tuple(i for i in range(games.n_systems) if lost[i] > 0 and gained[i] == 0),
    )


def _why(i: int, gained: Floats, lost: Floats) -> str:
    n = gained[i] + lost[i]
    if n == 0:
        return "it has no games"
    if lost[i] == 0:
        return f"it never lost ({n:.0f} games): its strength has no upper bound"
    if gained[i] == 0:
        return f"it never won ({n:.0f} games): its strength has no lower bound"
    return "no chain of wins leads back from the systems that it beat: its strength has no bound"


def _unit(games: Games) -> str:
    return "game" if games.n_clusters == games.n else f"group (n={games.n_clusters})"


def _model_name(pieces: Sequence[_Piece]) -> str:
    if not pieces:
        return "none"
    has_nu = any(piece.nu is not None for piece in pieces)
    return "Davidson (Bradley-Terry with ties)" if has_nu else "Bradley-Terry, a tie is half a win"


def _piece(games: Games, systems: list[int], ties: Ties) -> _Piece:
    """Point estimates and covariances of systems that exist together."""
    import numpy as np

    of_piece = games.among(systems)
    won, tied = win_matrix(of_piece), tie_matrix(of_piece)
    n_ties = float(tied.sum()) / 2
    by_davidson = (
        ties == "davidson" and n_ties > 0 and not of_piece.is_graded and has_tie_parameter(won, tied)
    )
    fitted = fit(won[None], np.array([n_ties]) if by_davidson else None)
    if by_davidson and not fitted.is_found[0]:
        by_davidson, fitted = False, fit(won[None])
    strength, log_nu = fitted.strength[0], fitted.log_nu[:1]
    _, curve = derivatives(
        (won + won.T)[None], won.sum(axis=1)[None], np.array([n_ties]), strength[None], log_nu,
        np.array([by_davidson]),
    )  # fmt: skip
    k = len(systems)
    curve[0, :k, :k] += 1 / k
    inverse = np.linalg.inv(curve[0])
    meat = _meat(of_piece, strength, float(np.exp(log_nu[0])), by_davidson)
    covariance = (inverse @ meat @ inverse)[:k, :k]
    nu = float(np.exp(log_nu[0])) if by_davidson else None
    kind: Ties = "davidson" if by_davidson else "half"
    return _Piece(systems, strength, covariance, nu, kind, of_piece.n_clusters)


def _meat(games: Games, strength: Floats, nu: float, has_nu: bool) -> Floats:
    """The sum over clusters of the outer products of their slopes."""
    import numpy as np
    from scipy.sparse import coo_array

    k = games.n_systems
    expected = moments(strength[games.first] - strength[games.second], nu)
    missed = games.share - expected.share
    tie_missed = (games.is_tie - expected.tie) if has_nu else np.zeros(games.n)
    columns = np.concatenate([games.first, games.second, np.full(games.n, k)])
    data = np.concatenate([missed, -missed, tie_missed])
    slopes = coo_array((data, (np.tile(games.cluster, 3), columns)), shape=(games.n_clusters, k + 1)).tocsr()
    product: Floats = (slopes.T @ slopes).toarray()
    return product


def _factor(n_clusters: int) -> float:
    """What HC0 is multiplied by: it is too small for few clusters, and t takes them into account."""
    return t_quantile(n_clusters - 1) * math.sqrt(n_clusters / (n_clusters - 1))


def _estimates(
    games: Games, piece: _Piece, n_resamples: int, seed: int, *, is_whole: bool
) -> dict[int, tuple[Estimate, Estimate]]:
    """Of each system of a piece the strength with either interval."""
    import numpy as np

    of_piece = games.among(piece.systems)
    drawn = _resampled(of_piece, piece, n_resamples, seed) if of_piece.n_clusters > 1 else None
    cautions = [] if is_whole else [f"0 is the mean of {len(piece.systems)} systems alone, not of all"]
    if of_piece.n_clusters < _FEW_CLUSTERS:
        cautions.append(f"{of_piece.n_clusters} independent prompts are too few to generalise")
    elif games.n_clusters < games.n:
        cautions += few_groups(of_piece.n_clusters)
    name = "Davidson strength" if piece.ties == "davidson" else "Bradley-Terry strength"
    n_games = np.bincount(of_piece.first, minlength=of_piece.n_systems) + np.bincount(
        of_piece.second, minlength=of_piece.n_systems
    )
    # Groups stay groups in a piece where each has one game: all systems of a table speak of the same unit.
    unit = "game" if games.n_clusters == games.n else f"group (n={of_piece.n_clusters})"
    estimates = {}
    for place, system in enumerate(piece.systems):
        value, n = float(piece.strength[place]), int(n_games[place])
        interval = no_interval("all games belong to one prompt")
        if of_piece.n_clusters > 1:
            half = _factor(of_piece.n_clusters) * math.sqrt(max(0.0, float(piece.covariance[place, place])))
            interval = no_interval("the games leave no variance")
            if half > _TINY:
                interval = Interval(value - half, value + half, ", HC0 sandwich t interval")
        by_sandwich = make_estimate(value, interval, name, n=n, unit=unit, cautions=cautions)
        values = None if drawn is None else drawn[:, place]
        by_draws = make_estimate(
            value, _bootstrap_interval(values, of_piece.n_clusters), name, n=n, unit=unit, seed=seed, cautions=cautions,
            n_undefined=0 if values is None else int(np.isnan(values).sum()),
        )  # fmt: skip
        estimates[system] = by_sandwich, by_draws
    return estimates


def _bootstrap_interval(values: Floats | None, n_clusters: int) -> Interval:
    """The percentile interval of a strength, widened for few clusters; `values` is none where there is only one."""
    if values is None:
        return no_interval("all games belong to one prompt")
    tail = tail_of_few(n_clusters)
    interval = percentile_interval(values, tail=tail)
    n_missing = int((values != values).sum())
    # A resample without an estimate is one in which a strength has no bound. Where there are more of them than lie
    # beyond an end of the interval, that end is not known, and the rest alone would make it too near.
    if not interval.reason and n_missing > len(values) * tail:
        return no_interval(f"{n_missing} of {len(values)} resamples have no bound")
    return interval


def _resampled(games: Games, piece: _Piece, n_resamples: int, seed: int) -> Floats:
    """The strengths of each resample; NaN where one does not hang together."""
    import numpy as np

    k = games.n_systems
    cells, rng = cells_of(games), generator(seed)
    drawn = np.full((n_resamples, k), np.nan)
    at = 0
    for size in blocks(n_resamples, max(k * k, len(cells.sizes) // 8)):
        content = cells.content @ draw_cells(rng, cells.sizes, size)
        won = np.ascontiguousarray(content[: k * k].T).reshape(size, k, k)
        usable = np.flatnonzero(are_connected(won))
        fitted = fit(won[usable], content[k * k][usable] if piece.ties == "davidson" else None)
        sound = usable[fitted.is_found]
        drawn[at + sound] = fitted.strength[fitted.is_found]
        at += size
    return drawn


def _standard_errors(piece: _Piece) -> dict[tuple[int, int], float]:
    if piece.n_clusters < 2:
        return {}
    variance, scale = piece.covariance, math.sqrt(piece.n_clusters / (piece.n_clusters - 1))
    errors = {}
    for a, i in enumerate(piece.systems):
        for b, j in enumerate(piece.systems):
            spread = float(variance[a, a] + variance[b, b] - 2 * variance[a, b])
            if i < j and spread > _TINY**2:
                errors[i, j] = math.sqrt(spread) * scale
    return errors


def _p_values(games: Games, won: Floats, pieces: Sequence[_Piece]) -> dict[tuple[int, int], float | None]:
    """For each pair of systems, i below j: is one better? None where nothing can be said."""
    from scipy.special import stdtr

    p_values: dict[tuple[int, int], float | None] = {}
    for piece in pieces:
        place = {system: at for at, system in enumerate(piece.systems)}
        for (i, j), se in _standard_errors(piece).items():
            t = float(piece.strength[place[i]] - piece.strength[place[j]]) / se
            p_values[i, j] = 2 * float(stdtr(piece.n_clusters - 1, -abs(t)))
    for i in range(games.n_systems):
        for j in range(i + 1, games.n_systems):
            if (i, j) not in p_values:
                p_values[i, j] = _head_to_head(games, i, j) if won[i, j] + won[j, i] else None
    return dict(sorted(p_values.items()))


def _head_to_head(games: Games, i: int, j: int) -> float | None:
    """The exact sign test of the games between two systems: a cluster is one observation, won by the one that took more of it."""
    import numpy as np

    forward = (games.first == i) & (games.second == j)
    back = (games.first == j) & (games.second == i)
    lead = np.where(forward, games.share - 0.5, 0.0) - np.where(back, games.share - 0.5, 0.0)
    met = forward | back
    total = np.bincount(games.cluster[met], weights=lead[met])
    return mcnemar(int((total > 1e-12).sum()), int((total < -1e-12).sum())).p


def _ratings(won: Floats) -> tuple[float, ...]:
    """Finite strengths in any case: a tie of each system with one of average strength is added to the games.

    Too shrunken to be shown, but it orders what the likelihood cannot.
    """
    import numpy as np

    k = len(won)
    wide = np.zeros((1, k + 1, k + 1))
    wide[0, :k, :k] = won
    wide[0, :k, k] = wide[0, k, :k] = 0.5
    fitted = fit(wide).strength[0]
    return tuple(float(value) for value in fitted[:k] - fitted[k])


def _on_elo(estimate: Estimate) -> Estimate:
    if estimate.value is None:
        return estimate
    low, high = (None if end is None else elo(end) for end in (estimate.low, estimate.high))
    method = f"400 / ln 10 x strength + 1000; {estimate.method}"
    return structs.replace(estimate, value=elo(estimate.value), low=low, high=high, method=method)


# -- which pairs to judge next

# A game of i and j narrows every difference that depends on it. Its worth is the sum over all pairs of systems of how much
# it narrows their difference, weighted by how much that matters: most where the order is uncertain, nothing where it is
# settled (the density of the normal at the difference in standard errors). Games are chosen one after the other, each as
# if those before it had been played. A weak prior (a tie of each system with one of average strength) makes the worth of a
# game finite where systems never met, and largest there: unconnected systems are connected first.


_PRIOR = 0.5


def next_games(
    games: Games,
    rating: Sequence[float],
    n: int,
    *,
    limits: Sequence[Sequence[float]] | None = None,
) -> list[tuple[int, int]]:
    """The `n` pairs of systems to ask for, in order; `limits` is how many games of each pair can be had at most.

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
