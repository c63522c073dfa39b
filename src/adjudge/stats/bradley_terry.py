"""Strengths from games: Bradley and Terry's model (1952), with Davidson's parameter for ties (1970).

    P(i beats j) : P(j beats i) : P(tie) = exp(d / 2) : exp(-d / 2) : nu,    d = strength of i - strength of j

Without nu, and with a tie as half a win for both, this is Bradley and Terry's model. Both are one exponential
family: only the points of each system, the games of each pair and the number of ties matter, so Newton's
method works on a few numbers for any number of games, and on all resamples of a bootstrap at once. Strengths
are logs, and their mean is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Interval, make_estimate, no_interval, t_quantile, undefined
from .connected import are_connected, components, has_tie_parameter, islands
from .games import Games, game_cells, tie_matrix, win_matrix
from .resample import blocks, draw_cells, few_groups, generator, percentile_interval, tail_of_few
from .two_judges import mcnemar

if TYPE_CHECKING:
    from .arrays import Flags, Floats


def elo(strength: float) -> float:
    """A log strength on the scale that chess made known: 400 points are odds of ten to one, 1000 is the
    mean."""
    return 400 / math.log(10) * strength + 1000


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
    """Expected values at a difference of strengths. The larger of both powers is divided out, so nothing
    overflows."""
    import numpy as np

    away = np.abs(difference)
    up, down = np.exp((difference - away) / 2), np.exp((-difference - away) / 2)
    tied = nu * np.exp(-away / 2)
    total = up + down + tied
    share, tie = (up + tied / 2) / total, tied / total
    return Moments(share, tie, (up + tied / 4) / total - share**2, tie * (0.5 - share), tie * (1 - tie))


def fit_strengths(won: Floats, ties: Floats | None = None) -> Fitted:
    """Fit win matrices (fits × systems × systems, a tie half a win each); with the number of `ties`,
    Davidson's model."""
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

# Two intervals for each strength: the sandwich of the likelihood's curvature and the sums of slopes per
# cluster (HC0, White 1980, Liang and Zeger 1986), and a bootstrap over clusters. Neither assumes that games
# of one cluster are independent, or that the model is true. Where a system never lost, or the games do not
# connect all systems, the strengths of each connected part have a mean of 0 in that part, and those that do
# not exist are none with the reason.

Ties = Literal["davidson", "half"]


N_RESAMPLES = 1000
_FEW_CLUSTERS = 10
_TINY = 1e-9
"""A standard error below this is rounding: games that agree with the fit to the last digit leave no
variance."""


class Strengths(Struct, frozen=True):
    """The systems by their numbers: strengths on the log scale, what is known of differences, what fell
    apart."""

    sandwich: tuple[Estimate, ...]
    bootstrap: tuple[Estimate, ...]
    elo: tuple[Estimate, ...]
    """the strengths with the sandwich interval on the Elo-like scale"""
    rating: tuple[float, ...]
    """finite for every system, to put them in order: the strength with one tie against the mean added for
    each"""
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
    fitted = fit_strengths(won[None], np.array([n_ties]) if by_davidson else None)
    if by_davidson and not fitted.is_found[0]:
        by_davidson, fitted = False, fit_strengths(won[None])
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
            value, _bootstrap_interval(values, of_piece.n_clusters), name, n=n, unit=unit, seed=seed,
            cautions=cautions,
            n_undefined=0 if values is None else int(np.isnan(values).sum()),
        )  # fmt: skip
        estimates[system] = by_sandwich, by_draws
    return estimates


def _bootstrap_interval(values: Floats | None, n_clusters: int) -> Interval:
    """The percentile interval of a strength, widened for few clusters; `values` is none where there is only
    one."""
    if values is None:
        return no_interval("all games belong to one prompt")
    tail = tail_of_few(n_clusters)
    interval = percentile_interval(values, tail=tail)
    n_missing = int((values != values).sum())
    # A resample without an estimate is one in which a strength has no bound. Where there are more of them
    # than lie beyond an end of the interval, that end is not known, and the rest alone would make it too
    # near.
    if not interval.reason and n_missing > len(values) * tail:
        return no_interval(f"{n_missing} of {len(values)} resamples have no bound")
    return interval


def _resampled(games: Games, piece: _Piece, n_resamples: int, seed: int) -> Floats:
    """The strengths of each resample; NaN where one does not hang together."""
    import numpy as np

    k = games.n_systems
    cells, rng = game_cells(games), generator(seed)
    drawn = np.full((n_resamples, k), np.nan)
    at = 0
    for size in blocks(n_resamples, max(k * k, len(cells.sizes) // 8)):
        content = cells.content @ draw_cells(rng, cells.sizes, size)
        won = np.ascontiguousarray(content[: k * k].T).reshape(size, k, k)
        usable = np.flatnonzero(are_connected(won))
        fitted = fit_strengths(won[usable], content[k * k][usable] if piece.ties == "davidson" else None)
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
    """The exact sign test of the games between two systems: a cluster is one observation, won by the one that
    took more of it."""
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
    fitted = fit_strengths(wide).strength[0]
    return tuple(float(value) for value in fitted[:k] - fitted[k])


def _on_elo(estimate: Estimate) -> Estimate:
    if estimate.value is None:
        return estimate
    low, high = (None if end is None else elo(end) for end in (estimate.low, estimate.high))
    method = f"400 / ln 10 x strength + 1000; {estimate.method}"
    return structs.replace(estimate, value=elo(estimate.value), low=low, high=high, method=method)
