"""The ranking of one criterion: strengths fitted to games, or means of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import structs

from ...errors import DataError
from ...stats import (
    Games,
    PositionBias,
    Strengths,
    Ties,
    games_from_scores,
    length_controlled,
    position_bias,
    strengths,
)
from ...stats.arrays import undefined
from ..run_view.positions import Positions
from .by_means import by_means, score_rows
from .differences import FittedGames, rank_ranges, strength_differences, with_head_to_head
from .games import Game, RankingInput
from .notes import notes_on
from .preferences import weighted_win_rates
from .ranking import CriterionRanking, Difference, Length, Standing
from .win_rates import GameShares, games_as_arrays, head_to_heads, shares_by_system, win_counts, win_rate_of

N_RESAMPLES = 1000


class FitSettings(NamedTuple):
    """How strengths are fitted."""

    seed: int = 0
    ties: Ties = "davidson"
    n_resamples: int = N_RESAMPLES


class ChoiceDetails(NamedTuple):
    """What a stored run knows about the choices of a protocol beyond its results."""

    positions: Positions | None = None
    preferences: Mapping[str, float] = {}
    """item → the probability of choosing response a"""
    order_policy: str = ""
    """both, random or given; empty where it is unknown"""


def rank_criterion(
    ranking_input: RankingInput, settings: FitSettings, details: ChoiceDetails | None = None
) -> CriterionRanking:
    """The ranking of one criterion, from games or from scores."""
    details = details or ChoiceDetails()
    if ranking_input.kind == "scores":
        return _by_scores(ranking_input, settings)
    return _by_games(ranking_input, settings, details)


def _fitted(games: Games, systems: tuple[str, ...], settings: FitSettings) -> FittedGames:
    fit = strengths(games, ties=settings.ties, n_resamples=settings.n_resamples, seed=settings.seed)
    return FittedGames(games, fit, systems)


def _by_strength(strengths_fit: Strengths) -> list[int]:
    """Systems best first; by their ratings where some strengths are undefined."""
    values = [estimate.value for estimate in strengths_fit.sandwich]
    keys = list(strengths_fit.rating) if None in values else [value or 0.0 for value in values]
    return sorted(range(len(keys)), key=lambda i: (-keys[i], i))


def _by_games(ranking_input: RankingInput, settings: FitSettings, details: ChoiceDetails) -> CriterionRanking:
    if len(ranking_input.systems) < 2:
        raise DataError(
            f"{ranking_input.name} has only one system "
            f"({', '.join(ranking_input.systems) or 'none'}); a ranking needs two. Make pairs of "
            "several systems' outputs: adjudge pair A.jsonl B.jsonl -o pairs.jsonl"
        )
    fitted = _fitted(
        games_as_arrays(ranking_input.games, ranking_input.systems), ranking_input.systems, settings
    )
    order = _by_strength(fitted.strengths)
    differences = with_head_to_head(strength_differences(fitted, order), ranking_input.games)
    controlled = length_controlled(fitted.games, [game.length_difference for game in ranking_input.games])
    has_lengths = any(game.length_difference is not None for game in ranking_input.games)
    weighted = weighted_win_rates(ranking_input, details.preferences)
    ranks = rank_ranges(order, differences, ranking_input.systems)
    games_of = shares_by_system(ranking_input.games, ranking_input.systems)
    standings = tuple(
        structs.replace(
            _standing(ranking_input, fitted, i, rank, ranks, games_of),
            weighted=weighted.get(ranking_input.systems[i]),
            length_controlled=controlled.win_rates[i] if has_lengths else None,
            length_difference=controlled.differences[i] if has_lengths else None,
        )
        for rank, i in enumerate(order, start=1)
    )
    length = (
        Length(controlled.coefficient, controlled.typical_difference, controlled.difficulty_sd)
        if has_lengths
        else None
    )
    return _ranking(ranking_input, fitted, standings, differences, length, details)


def _standing(
    ranking_input: RankingInput, fitted: FittedGames, i: int, rank: int, ranks: Mapping[str, tuple[int, int]],
    games_of: Mapping[str, GameShares]
) -> Standing:  # fmt: skip
    """One system, with what rankings by games and by scores share."""
    system = ranking_input.systems[i]
    n_failed = ranking_input.failed.get(system, 0)
    return Standing(
        system=system,
        place=rank,
        places=ranks[system],
        win_rate=win_rate_of(games_of[system], n_failed),
        strength=fitted.strengths.sandwich[i],
        strength_bootstrap=fitted.strengths.bootstrap[i],
        elo=fitted.strengths.elo[i],
        counts=win_counts(games_of[system].shares),
        n_failed=n_failed,
    )


def _by_scores(ranking_input: RankingInput, settings: FitSettings) -> CriterionRanking:
    if len(ranking_input.systems) < 2:
        raise DataError(
            f"{ranking_input.name} has only one system "
            f"({', '.join(ranking_input.systems) or 'none'}); a ranking needs two. Name the system "
            "of each output in the field 'system'."
        )
    rows = score_rows(ranking_input)
    fitted = _fitted(games_from_scores(rows, ranking_input.is_higher_better), ranking_input.systems, settings)
    means, order, differences, ranks = by_means(ranking_input, rows)
    games = _games_from_scores(fitted)
    games_of = shares_by_system(games, ranking_input.systems)
    standings = tuple(
        structs.replace(
            _standing(ranking_input, fitted, i, rank, ranks, games_of),
            mean=means[i],
        )
        for rank, i in enumerate(order, start=1)
    )
    return _ranking(ranking_input, fitted, standings, differences, None, ChoiceDetails())


def _games_from_scores(fitted: FittedGames) -> list[Game]:
    """The games made from scores, with the names of the systems; each input is a prompt."""
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
    ranking_input: RankingInput, fitted: FittedGames, standings: tuple[Standing, ...],
    differences: tuple[Difference, ...],
    length: Length | None, details: ChoiceDetails,
) -> CriterionRanking:  # fmt: skip
    fit, systems = fitted.strengths, fitted.systems
    games = _games_from_scores(fitted) if ranking_input.kind == "scores" else ranking_input.games
    n_clusters = fitted.games.n_clusters
    ranking = CriterionRanking(
        criterion=ranking_input.criterion,
        protocol=ranking_input.protocol,
        kind=ranking_input.kind,
        models=ranking_input.models,
        systems=standings,
        order=details.positions.all_models if details.positions is not None else _no_orders(ranking_input),
        order_by_model=(
            details.positions.by_model
            if details.positions is not None and len(ranking_input.models) > 1
            else {}
        ),
        matrix=head_to_heads(games, [standing.system for standing in standings]),
        differences=differences,
        length=length,
        by_model={
            model: {
                system: win_rate_of(shares, ranking_input.failed_by_model.get(model, {}).get(system, 0))
                for system, shares in shares_by_system(games, systems).items()
            }
            for model, games in ranking_input.by_model.items()
        },
        model=fit.model,
        tie_parameter=fit.nu,
        components=tuple(tuple(systems[i] for i in part) for part in fit.components),
        islands=tuple(tuple(systems[i] for i in part) for part in fit.islands),
        never_lost=tuple(systems[i] for i in fit.never_lost),
        never_won=tuple(systems[i] for i in fit.never_won),
        n_games=len(games),
        n_failed=ranking_input.n_failed,
        n_groups=n_clusters if n_clusters < len(games) else None,
        notes=(),
    )
    return notes_on(ranking, ranking_input.notes, details.order_policy)


def _no_orders(ranking_input: RankingInput) -> PositionBias:
    if ranking_input.kind == "choices":
        why = "only a stored run knows in which order responses were shown"
        return _without_order(why)
    return _without_order("scores are not given in an order of responses")


def _without_order(why: str) -> PositionBias:
    empty = position_bias([], [])
    return PositionBias(undefined(why), undefined(why), 0, 0, empty.first_both, empty.second_both, 0, None)
