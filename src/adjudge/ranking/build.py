"""The ranking of one criterion: win rates, strengths, places that stay open, and what a reader must know.

From choices, the games are the pairs that were judged. From scores, every input on which two systems have a score is
a game too, so that win rates and strengths mean the same; places then go by the means and their paired differences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from ..errors import DataError
from ..records import Estimate
from ..stats import (
    Games,
    PositionBias,
    Strengths,
    Ties,
    adjusted,
    clustered_share,
    games_from_scores,
    games_of,
    length_controlled,
    mean_interval,
    position_bias,
    score_differences,
    strengths,
    win_rate,
)
from ..stats.undefined import undefined
from .cautions import notes_on
from .games import Game, Material
from .orders import Orders
from .shapes import Counts, CriterionRanking, Difference, Length, Met, Standing

OPEN = 0.05
"""Above this adjusted p-value two systems are not told apart."""
N_RESAMPLES = 1000


class Settings(NamedTuple):
    """What a user may ask of a ranking."""

    seed: int = 0
    ties: Ties = "davidson"
    n_resamples: int = N_RESAMPLES


class Known(NamedTuple):
    """What a stored run knows of a criterion beside its results."""

    orders: Orders | None = None
    preferences: Mapping[str, float] = {}
    """item → how likely response a was to be chosen"""
    order_policy: str = ""
    """both, random or given; empty where it is not known"""


def rank_criterion(material: Material, settings: Settings, known: Known | None = None) -> CriterionRanking:
    """One criterion, from games or from scores."""
    known = known or Known()
    if material.kind == "scores":
        return _by_scores(material, settings)
    return _by_games(material, settings, known)


class _Fitted(NamedTuple):
    """The games as arrays, what was fitted to them, and the systems by number."""

    games: Games
    found: Strengths
    systems: tuple[str, ...]


def clusters_of(games: Sequence[Game]) -> list[Hashable]:
    """What belongs together: the games of one prompt, or both judgments of one pair."""
    return [
        f"g {game.group}" if game.group is not None else f"i {game.item}" if game.item else number
        for number, game in enumerate(games)
    ]


def games_as_arrays(games: Sequence[Game], systems: Sequence[str]) -> Games:
    number = {system: place for place, system in enumerate(systems)}
    return games_of(
        [number[game.first] for game in games],
        [number[game.second] for game in games],
        [game.share for game in games],
        len(systems),
        clusters_of(games),
    )


def _fitted(games: Games, systems: tuple[str, ...], settings: Settings) -> _Fitted:
    found = strengths(games, ties=settings.ties, n_resamples=settings.n_resamples, seed=settings.seed)
    return _Fitted(games, found, systems)


def _by_strength(found: Strengths) -> list[int]:
    """Best first; where not all strengths exist, by the ratings, which do."""
    values = [one.value for one in found.sandwich]
    keys = list(found.rating) if None in values else [value or 0.0 for value in values]
    return sorted(range(len(keys)), key=lambda i: (-keys[i], i))


def _by_games(material: Material, settings: Settings, known: Known) -> CriterionRanking:
    if len(material.systems) < 2:
        raise DataError(
            f"On {material.name} there is one system, {', '.join(material.systems) or 'none'}: a ranking takes two. "
            "Make pairs of several systems' outputs: adjudge pair A.jsonl B.jsonl -o pairs.jsonl"
        )
    fitted = _fitted(games_as_arrays(material.games, material.systems), material.systems, settings)
    order = _by_strength(fitted.found)
    differences = _strength_differences(fitted, order)
    controlled = length_controlled(fitted.games, [game.length_difference for game in material.games])
    has_lengths = any(game.length_difference is not None for game in material.games)
    weighted = _weighted(material, known.preferences)
    places = _places(order, differences, material.systems)
    taken = _taken(material.games, material.systems)
    standings = tuple(
        Standing(
            system=material.systems[i],
            place=at,
            places=places[material.systems[i]],
            win_rate=_win_rate(taken[material.systems[i]], material.failed.get(material.systems[i], 0)),
            strength=fitted.found.sandwich[i],
            strength_bootstrap=fitted.found.bootstrap[i],
            elo=fitted.found.elo[i],
            counts=_counted(taken[material.systems[i]].shares),
            n_failed=material.failed.get(material.systems[i], 0),
            weighted=weighted.get(material.systems[i]),
            length_controlled=controlled.win_rates[i] if has_lengths else None,
            length_difference=controlled.differences[i] if has_lengths else None,
        )
        for at, i in enumerate(order, start=1)
    )
    length = Length(controlled.coefficient, controlled.typical_difference) if has_lengths else None
    return _ranking(material, fitted, standings, differences, length, known)


def _by_scores(material: Material, settings: Settings) -> CriterionRanking:
    if len(material.systems) < 2:
        raise DataError(
            f"On {material.name} there is one system, {', '.join(material.systems) or 'none'}: a ranking takes two. "
            "Say which system wrote each output with the field 'system'."
        )
    units = list(dict.fromkeys(score.unit for score in material.scores))
    place_of_unit = {unit: place for place, unit in enumerate(units)}
    table: dict[str, list[float | None]] = {system: [None] * len(units) for system in material.systems}
    for score in material.scores:
        table[score.system][place_of_unit[score.unit]] = score.value
    rows = [table[system] for system in material.systems]
    fitted = _fitted(games_from_scores(rows, material.is_higher_better), material.systems, settings)
    means = [
        mean_interval(
            [value for value in row if value is not None],
            n_failed=material.failed.get(system, 0),
            limits=material.limits,
        )
        for row, system in zip(rows, material.systems, strict=True)
    ]
    sign = 1 if material.is_higher_better else -1
    order = sorted(
        range(len(rows)), key=lambda i: (means[i].value is None, -sign * (means[i].value or 0.0), i)
    )
    differences = _score_differences(rows, order, material.systems)
    places = _places(order, differences, material.systems, sign)
    games = _named(fitted)
    taken = _taken(games, material.systems)
    standings = tuple(
        Standing(
            system=material.systems[i],
            place=at,
            places=places[material.systems[i]],
            win_rate=_win_rate(taken[material.systems[i]], material.failed.get(material.systems[i], 0)),
            strength=fitted.found.sandwich[i],
            strength_bootstrap=fitted.found.bootstrap[i],
            elo=fitted.found.elo[i],
            counts=_counted(taken[material.systems[i]].shares),
            n_failed=material.failed.get(material.systems[i], 0),
            mean=means[i],
        )
        for at, i in enumerate(order, start=1)
    )
    return _ranking(material, fitted, standings, differences, None, Known())


def _named(fitted: _Fitted) -> list[Game]:
    """Games made from scores, with the systems' names; an input is the prompt."""
    games, systems = fitted.games, fitted.systems
    return [
        Game(systems[first], systems[second], share, str(unit))
        for first, second, share, unit in zip(
            games.first.tolist(),
            games.second.tolist(),
            games.share.tolist(),
            games.cluster.tolist(),
            strict=True,
        )
    ]


def _ranking(
    material: Material, fitted: _Fitted, standings: tuple[Standing, ...], differences: tuple[Difference, ...],
    length: Length | None, known: Known,
) -> CriterionRanking:  # fmt: skip
    found, systems = fitted.found, fitted.systems
    games = _named(fitted) if material.kind == "scores" else material.games
    n_clusters = fitted.games.n_clusters
    ranking = CriterionRanking(
        criterion=material.criterion,
        protocol=material.protocol,
        kind=material.kind,
        models=material.models,
        systems=standings,
        order=known.orders.all_models if known.orders is not None else _no_orders(material),
        order_by_model=known.orders.by_model if known.orders is not None and len(material.models) > 1 else {},
        matrix=_matrix(games, [standing.system for standing in standings]),
        differences=differences,
        length=length,
        by_model={
            model: {system: _win_rate(own) for system, own in _taken(games, systems).items()}
            for model, games in material.by_model.items()
        },
        model=found.model,
        tie_parameter=found.nu,
        components=tuple(tuple(systems[i] for i in part) for part in found.components),
        islands=tuple(tuple(systems[i] for i in part) for part in found.islands),
        never_lost=tuple(systems[i] for i in found.never_lost),
        never_won=tuple(systems[i] for i in found.never_won),
        n_games=len(games),
        n_failed=material.n_failed,
        n_groups=n_clusters if n_clusters < len(games) else None,
        notes=(),
    )
    return notes_on(ranking, material.notes, known.order_policy)


def _no_orders(material: Material) -> PositionBias:
    if material.kind == "choices":
        why = "only a stored run knows in which order responses were shown"
        return _without_order(why)
    return _without_order("scores are not given in an order of responses")


def _without_order(why: str) -> PositionBias:
    empty = position_bias([], [])
    return PositionBias(undefined(why), undefined(why), 0, 0, empty.first_both, empty.second_both, 0, None)


class _Taken(NamedTuple):
    """What a system took of its games, and which of them belong together."""

    shares: list[float]
    clusters: list[Hashable]


def _taken(games: Sequence[Game], systems: Sequence[str]) -> dict[str, _Taken]:
    found = {system: _Taken([], []) for system in systems}
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for system, share in ((game.first, game.share), (game.second, 1 - game.share)):
            found[system].shares.append(share)
            found[system].clusters.append(cluster)
    return found


def _win_rate(taken: _Taken, n_failed: int = 0) -> Estimate:
    return clustered_share(taken.shares, taken.clusters, n_failed)


def _counted(shares: Sequence[float]) -> Counts:
    tied = sum(share == 0.5 for share in shares)
    won = sum(share > 0.5 for share in shares)
    return Counts(won, len(shares) - won - tied, tied)


def _matrix(games: Sequence[Game], systems: Sequence[str]) -> dict[str, dict[str, Met]]:
    """What each system took of its games with each other one."""
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    clusters: dict[tuple[str, str], list[Hashable]] = defaultdict(list)
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for one, other, share in (
            (game.first, game.second, game.share),
            (game.second, game.first, 1 - game.share),
        ):
            shares[one, other].append(share)
            clusters[one, other].append(cluster)
    return {
        one: {
            other: Met(clustered_share(own, clusters[one, other]), _counted(own))
            for other in systems
            if (own := shares.get((one, other)))
        }
        for one in systems
    }


def _weighted(material: Material, preferences: Mapping[str, float]) -> dict[str, Estimate]:
    """The win rates by how likely each choice was, over the pairs whose tokens are known."""
    known = [game for game in material.games if game.item in preferences]
    if not known:
        return {}
    graded = [Game(game.first, game.second, preferences[game.item], game.group, game.item) for game in known]
    missing = len(material.games) - len(known)
    found = {}
    for system, (shares, clusters) in _taken(graded, material.systems).items():
        groups = clusters if len(set(clusters)) < len(clusters) else None
        estimate = win_rate(shares, groups).weighted
        found[system] = Estimate(
            estimate.value, estimate.low, estimate.high, estimate.n, material.failed.get(system, 0), missing,
            f"probability of the choice, {estimate.method}", estimate.unit,
        )  # fmt: skip
    return found


def _strength_differences(fitted: _Fitted, order: Sequence[int]) -> tuple[Difference, ...]:
    """All pairs of systems, the better first."""
    found, systems = fitted.found, fitted.systems
    pairs = [(i, j) for at, i in enumerate(order) for j in order[at + 1 :]]
    p_values = [found.p_values[min(pair), max(pair)] for pair in pairs]
    return tuple(
        Difference(
            systems[i],
            systems[j],
            _strength_difference(fitted, i, j),
            p,
            q,
            "difference of strengths, t test" if (min(i, j), max(i, j)) in found.standard_errors else "sign test of their games",
            q is None or q > OPEN,
        )
        for (i, j), p, q in zip(pairs, p_values, adjusted(p_values), strict=True)
    )  # fmt: skip


def _strength_difference(fitted: _Fitted, i: int, j: int) -> Estimate:
    found = fitted.found
    one, other = found.sandwich[i], found.sandwich[j]
    n = fitted.games.n
    se = found.standard_errors.get((min(i, j), max(i, j)))
    if one.value is None or other.value is None or se is None:
        return undefined("the strengths of the two cannot be compared", n=n)
    from ..stats.strengths import t_quantile

    apart, half = one.value - other.value, t_quantile(fitted.games.n_clusters) * se
    return Estimate(
        apart,
        apart - half,
        apart + half,
        n,
        method="difference of strengths, HC0 sandwich t interval",
        unit=one.unit,
    )


def _score_differences(
    rows: Sequence[Sequence[float | None]], order: Sequence[int], systems: Sequence[str]
) -> tuple[Difference, ...]:
    ordered = score_differences([rows[i] for i in order])
    return tuple(
        Difference(
            systems[order[one.first]],
            systems[order[one.second]],
            one.difference,
            one.p,
            one.p_adjusted,
            one.test,
            one.p_adjusted is None or one.p_adjusted > OPEN,
        )
        for one in ordered
    )


def _places(
    order: Sequence[int], differences: Sequence[Difference], systems: Sequence[str], sign: int = 1
) -> dict[str, tuple[int, int]]:
    """The best place is behind all that are surely better, the worst before all that are surely worse."""
    better: dict[str, int] = dict.fromkeys(systems, 0)
    worse: dict[str, int] = dict.fromkeys(systems, 0)
    for one in differences:
        if not one.is_open:
            # An undefined difference that is settled was settled by the games: the better stands first.
            ahead = (
                one.first if one.difference.value is None or sign * one.difference.value > 0 else one.second
            )
            behind = one.second if ahead == one.first else one.first
            better[behind] += 1
            worse[ahead] += 1
    n = len(order)
    return {system: (1 + better[system], n - worse[system]) for system in systems}
