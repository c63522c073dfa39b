"""Strengths of systems with their uncertainty, and what is left to say where they do not exist.

Two intervals for each strength: from the sandwich of the likelihood's curvature and the sums of slopes per cluster (HC0,
White 1980, Liang and Zeger 1986), and from a bootstrap that draws clusters. Neither believes that games of one cluster
are independent, nor that the model is true. Where a system never lost, or the games fall apart, the strengths of each
part are given with a mean of 0 in that part, and those that do not exist are none with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, structs

from ..records import Estimate
from .bradley_terry import derivatives, fit, moments
from .connected import are_connected, components, has_tie_parameter, islands
from .dependent import mcnemar
from .games import Games, cells_of, elo, tie_matrix, win_matrix
from .resample import blocks, draw_cells, generator, interval_or_why
from .undefined import cautioned, undefined, without_interval

if TYPE_CHECKING:
    from .arrays import Floats

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
    model_covariance: Floats
    nu: float | None
    ties: Ties
    n_clusters: int


def strengths(
    games: Games,
    *,
    ties: Ties = "davidson",
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> Strengths:
    """Fit all systems; ties by Davidson's model, where it has an estimate, or each as half a win."""
    won = win_matrix(games)
    whole = components(won)
    pieces = [_piece(games, systems, ties) for systems in whole if len(systems) > 1]
    known: dict[int, tuple[Estimate, Estimate]] = {}
    standard_errors: dict[tuple[int, int], float] = {}
    for piece in pieces:
        known.update(_estimates(games, piece, n_resamples, seed, confidence, is_whole=len(whole) == 1))
        standard_errors.update(_standard_errors(piece))
    taken, given = won.sum(axis=1), won.sum(axis=0)
    reasons = {i: _why(i, taken, given) for i in range(games.n_systems)}
    n_games = [int(taken[i] + given[i]) for i in range(games.n_systems)]
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
        components=tuple(tuple(systems) for systems in whole),
        islands=tuple(tuple(systems) for systems in islands(won)),
        never_lost=tuple(i for i in range(games.n_systems) if taken[i] > 0 and given[i] == 0),
        never_won=tuple(i for i in range(games.n_systems) if given[i] > 0 and taken[i] == 0),
    )


def _why(i: int, taken: Floats, given: Floats) -> str:
    n = taken[i] + given[i]
    if n == 0:
        return "it has no games"
    if given[i] == 0:
        return f"it never lost ({n:.0f} games): its strength has no upper bound"
    if taken[i] == 0:
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

    own = games.among(systems)
    won, tied = win_matrix(own), tie_matrix(own)
    n_ties = float(tied.sum()) / 2
    by_davidson = ties == "davidson" and n_ties > 0 and not own.is_graded and has_tie_parameter(won, tied)
    found = fit(won[None], np.array([n_ties]) if by_davidson else None)
    if by_davidson and not found.is_found[0]:
        by_davidson, found = False, fit(won[None])
    strength, log_nu = found.strength[0], found.log_nu[:1]
    _, curve = derivatives(
        (won + won.T)[None], won.sum(axis=1)[None], np.array([n_ties]), strength[None], log_nu,
        np.array([by_davidson]),
    )  # fmt: skip
    k = len(systems)
    curve[0, :k, :k] += 1 / k
    inverse = np.linalg.inv(curve[0])
    meat = _meat(own, strength, float(np.exp(log_nu[0])), by_davidson)
    covariance = (inverse @ meat @ inverse)[:k, :k]
    nu = float(np.exp(log_nu[0])) if by_davidson else None
    kind: Ties = "davidson" if by_davidson else "half"
    return _Piece(systems, strength, covariance, inverse[:k, :k] - 1 / k, nu, kind, own.n_clusters)


def _meat(games: Games, strength: Floats, nu: float, has_nu: bool) -> Floats:
    """The sum over clusters of the outer products of their slopes."""
    import numpy as np
    from scipy.sparse import coo_array

    k = games.n_systems
    found = moments(strength[games.first] - strength[games.second], nu)
    missed = games.share - found.share
    tie_missed = (games.is_tie - found.tie) if has_nu else np.zeros(games.n)
    columns = np.concatenate([games.first, games.second, np.full(games.n, k)])
    data = np.concatenate([missed, -missed, tie_missed])
    slopes = coo_array((data, (np.tile(games.cluster, 3), columns)), shape=(games.n_clusters, k + 1)).tocsr()
    product: Floats = (slopes.T @ slopes).toarray()
    return product


def covariance(games: Games, *, ties: Ties = "half") -> tuple[Floats, Floats]:
    """The covariance of the strengths of systems of one piece: by the model, and by the sandwich (HC0, clustered)."""
    piece = _piece(games, list(range(games.n_systems)), ties)
    return piece.model_covariance, piece.covariance


def t_quantile(n_clusters: int, confidence: float = 0.95) -> float:
    """By what a standard error over so many clusters is multiplied to half an interval."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1, n_clusters - 1), (1 + confidence) / 2))


def _factor(n_clusters: int, confidence: float) -> float:
    """What HC0 is multiplied by: it is too small for few clusters, and t takes them into account."""
    return t_quantile(n_clusters, confidence) * math.sqrt(n_clusters / (n_clusters - 1))


def _estimates(
    games: Games, piece: _Piece, n_resamples: int, seed: int, confidence: float, *, is_whole: bool
) -> dict[int, tuple[Estimate, Estimate]]:
    """Of each system of a piece the strength with either interval."""
    import numpy as np

    own = games.among(piece.systems)
    drawn = _resampled(own, piece, n_resamples, seed) if own.n_clusters > 1 else None
    cautions = [] if is_whole else [f"0 is the mean of {len(piece.systems)} systems alone, not of all"]
    if own.n_clusters < _FEW_CLUSTERS:
        cautions.append(f"{own.n_clusters} independent prompts are too few to speak for others")
    name = "Davidson strength" if piece.ties == "davidson" else "Bradley-Terry strength"
    n_games = np.bincount(own.first, minlength=own.n_systems) + np.bincount(
        own.second, minlength=own.n_systems
    )
    # Groups stay groups in a piece where each has one game: all systems of a table speak of the same unit.
    unit = "game" if games.n_clusters == games.n else f"group (n={own.n_clusters})"
    found = {}
    for place, system in enumerate(piece.systems):
        value, n = float(piece.strength[place]), int(n_games[place])
        low = high = None
        method = without_interval(name, "all games belong to one prompt")
        if own.n_clusters > 1:
            half = _factor(own.n_clusters, confidence) * math.sqrt(
                max(0.0, float(piece.covariance[place, place]))
            )
            method = without_interval(name, "the games leave no variance")
            if half > _TINY:
                low, high = value - half, value + half
                method = f"{name}, HC0 sandwich t interval"
        by_sandwich = Estimate(value, low, high, n, 0, 0, cautioned(method, cautions), unit)
        values = None if drawn is None else drawn[:, place]
        found[system] = by_sandwich, _by_bootstrap(value, values, n, name, unit, seed, confidence, cautions)
    return found


def _by_bootstrap(
    value: float, values: Floats | None, n: int, name: str, unit: str, seed: int, confidence: float,
    cautions: list[str],
) -> Estimate:  # fmt: skip
    if values is None:
        method = cautioned(without_interval(name, "all games belong to one prompt"), cautions)
        return Estimate(value, None, None, n, 0, 0, method, unit, seed)
    low, high, why, more = interval_or_why(values, confidence)
    n_missing = int((values != values).sum())
    # A resample without an estimate is one in which a strength has no bound. Where there are more of them than lie
    # beyond an end of the interval, that end is not known, and the rest alone would make it too near.
    if not why and n_missing > len(values) * (1 - confidence) / 2:
        low, high, more = None, None, []
        why = f"{n_missing} of {len(values)} resamples have no bound"
    method = (
        f"{name}, bootstrap ({len(values)} resamples, percentiles)"
        if not why
        else without_interval(name, why)
    )
    return Estimate(value, low, high, n, 0, n_missing, cautioned(method, [*cautions, *more]), unit, seed)


def _resampled(games: Games, piece: _Piece, n_resamples: int, seed: int) -> Floats:
    """The strengths of each resample; NaN where one does not hang together."""
    import numpy as np

    k = games.n_systems
    cells, rng = cells_of(games), generator(seed)
    found = np.full((n_resamples, k), np.nan)
    at = 0
    for size in blocks(n_resamples, max(k * k, len(cells.sizes) // 8)):
        content = cells.content @ draw_cells(rng, cells.sizes, size)
        won = np.ascontiguousarray(content[: k * k].T).reshape(size, k, k)
        usable = np.flatnonzero(are_connected(won))
        fitted = fit(won[usable], content[k * k][usable] if piece.ties == "davidson" else None)
        sound = usable[fitted.is_found]
        found[at + sound] = fitted.strength[fitted.is_found]
        at += size
    return found


def _standard_errors(piece: _Piece) -> dict[tuple[int, int], float]:
    if piece.n_clusters < 2:
        return {}
    variance, scale = piece.covariance, math.sqrt(piece.n_clusters / (piece.n_clusters - 1))
    found = {}
    for one, i in enumerate(piece.systems):
        for other, j in enumerate(piece.systems):
            spread = float(variance[one, one] + variance[other, other] - 2 * variance[one, other])
            if i < j and spread > _TINY**2:
                found[i, j] = math.sqrt(spread) * scale
    return found


def _p_values(games: Games, won: Floats, pieces: Sequence[_Piece]) -> dict[tuple[int, int], float | None]:
    """For each pair of systems, i below j: is one better? None where nothing can be said."""
    from scipy.special import stdtr

    found: dict[tuple[int, int], float | None] = {}
    for piece in pieces:
        place = {system: at for at, system in enumerate(piece.systems)}
        for (i, j), se in _standard_errors(piece).items():
            t = float(piece.strength[place[i]] - piece.strength[place[j]]) / se
            found[i, j] = 2 * float(stdtr(piece.n_clusters - 1, -abs(t)))
    for i in range(games.n_systems):
        for j in range(i + 1, games.n_systems):
            if (i, j) not in found:
                found[i, j] = _head_to_head(games, i, j) if won[i, j] + won[j, i] else None
    return dict(sorted(found.items()))


def _head_to_head(games: Games, i: int, j: int) -> float | None:
    """The exact sign test of two systems' own games: a cluster is one observation, whoever took more of it."""
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
    found = fit(wide).strength[0]
    return tuple(float(value) for value in found[:k] - found[k])


def _on_elo(estimate: Estimate) -> Estimate:
    if estimate.value is None:
        return estimate
    low, high = (None if end is None else elo(end) for end in (estimate.low, estimate.high))
    method = f"400 / ln 10 x strength + 1000; {estimate.method}"
    return structs.replace(estimate, value=elo(estimate.value), low=low, high=high, method=method)
