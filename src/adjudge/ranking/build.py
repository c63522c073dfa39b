"""The ranking of one criterion: win rates, strengths, places that stay open, and what a reader must know.

From choices, the games are the pairs that were judged. From scores, every input on which two systems have a score is
a game too, so that win rates and strengths mean the same; places then go by the means and their paired differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import structs

from ..errors import DataError
from ..records import Estimate
from ..stats import (
    Games,
    PositionBias,
    Strengths,
    Ties,
    games_from_scores,
    length_controlled,
    mean_interval,
    position_bias,
    strengths,
    win_rate,
)
from ..stats.undefined import undefined
from .apart import Fitted, paired_differences, places_of, strength_differences, with_own_games
from .cautions import notes_on
from .games import Game, Material
from .orders import Orders
from .rates import Taken, counted, games_as_arrays, matrix_of, taken_by, won_share
from .shapes import CriterionRanking, Difference, Length, Standing

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


def _fitted(games: Games, systems: tuple[str, ...], settings: Settings) -> Fitted:
    found = strengths(games, ties=settings.ties, n_resamples=settings.n_resamples, seed=settings.seed)
    return Fitted(games, found, systems)


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
    differences = with_own_games(strength_differences(fitted, order), material.games)
    controlled = length_controlled(fitted.games, [game.length_difference for game in material.games])
    has_lengths = any(game.length_difference is not None for game in material.games)
    weighted = _weighted(material, known.preferences)
    places = places_of(order, differences, material.systems)
    taken = taken_by(material.games, material.systems)
    standings = tuple(
        structs.replace(
            _standing(material, fitted, i, at, places, taken),
            weighted=weighted.get(material.systems[i]),
            length_controlled=controlled.win_rates[i] if has_lengths else None,
            length_difference=controlled.differences[i] if has_lengths else None,
        )
        for at, i in enumerate(order, start=1)
    )
    length = Length(controlled.coefficient, controlled.typical_difference) if has_lengths else None
    return _ranking(material, fitted, standings, differences, length, known)


def _standing(
    material: Material, fitted: Fitted, i: int, at: int, places: Mapping[str, tuple[int, int]], taken: Mapping[str, Taken]
) -> Standing:  # fmt: skip
    """What every ranking says of one system."""
    system = material.systems[i]
    n_failed = material.failed.get(system, 0)
    return Standing(
        system=system,
        place=at,
        places=places[system],
        win_rate=won_share(taken[system], n_failed),
        strength=fitted.found.sandwich[i],
        strength_bootstrap=fitted.found.bootstrap[i],
        elo=fitted.found.elo[i],
        counts=counted(taken[system].shares),
        n_failed=n_failed,
    )


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
    differences = paired_differences(rows, order, material.systems)
    places = places_of(order, differences, material.systems, sign)
    games = _named(fitted)
    taken = taken_by(games, material.systems)
    standings = tuple(
        structs.replace(
            _standing(material, fitted, i, at, places, taken),
            mean=means[i],
        )
        for at, i in enumerate(order, start=1)
    )
    return _ranking(material, fitted, standings, differences, None, Known())


def _named(fitted: Fitted) -> list[Game]:
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
    material: Material, fitted: Fitted, standings: tuple[Standing, ...], differences: tuple[Difference, ...],
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
        matrix=matrix_of(games, [standing.system for standing in standings]),
        differences=differences,
        length=length,
        by_model={
            model: {system: won_share(own) for system, own in taken_by(games, systems).items()}
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


def _weighted(material: Material, preferences: Mapping[str, float]) -> dict[str, Estimate]:
    """The win rates by how likely each choice was, over the pairs whose tokens are known."""
    known = [game for game in material.games if game.item in preferences]
    if not known:
        return {}
    graded = [Game(game.first, game.second, preferences[game.item], game.group, game.item) for game in known]
    missing = len(material.games) - len(known)
    found = {}
    for system, (shares, clusters) in taken_by(graded, material.systems).items():
        groups = clusters if len(set(clusters)) < len(clusters) else None
        estimate = win_rate(shares, groups).weighted
        found[system] = Estimate(
            estimate.value, estimate.low, estimate.high, estimate.n, material.failed.get(system, 0), missing,
            f"probability of the choice, {estimate.method}", estimate.unit,
        )  # fmt: skip
    return found
