"""Win rates of games, overall and head to head."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ...records import Estimate
from ...stats import Games, clustered_share, games_of
from ..run_view.result_facts import cluster_of
from .games import Game
from .ranking import GameCounts, HeadToHead


def clusters_of(games: Sequence[Game]) -> list[Hashable]:
    """The cluster of each game: its prompt, its item, or the game alone."""
    return [
        cluster_of(game.group, game.item) if game.group is not None or game.item else number
        for number, game in enumerate(games)
    ]


def games_as_arrays(games: Sequence[Game], systems: Sequence[str]) -> Games:
    """The games with systems as numbers, by their index in `systems`."""
    number = {system: index for index, system in enumerate(systems)}
    return games_of(
        [number[game.first] for game in games],
        [number[game.second] for game in games],
        [game.share for game in games],
        len(systems),
        clusters_of(games),
    )


class GameShares(NamedTuple):
    """The results of one system's games, with their clusters."""

    shares: list[float]
    clusters: list[Hashable]


def shares_by_system(games: Sequence[Game], systems: Sequence[str]) -> dict[str, GameShares]:
    """Each system's games."""
    shares_of = {system: GameShares([], []) for system in systems}
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for system, share in ((game.first, game.share), (game.second, 1 - game.share)):
            shares_of[system].shares.append(share)
            shares_of[system].clusters.append(cluster)
    return shares_of


def win_rate_of(games: GameShares, n_failed: int = 0) -> Estimate:
    return clustered_share(games.shares, games.clusters, n_failed)


def win_counts(shares: Sequence[float]) -> GameCounts:
    tied = sum(share == 0.5 for share in shares)
    won = sum(share > 0.5 for share in shares)
    return GameCounts(won, len(shares) - won - tied, tied)


def head_to_heads(games: Sequence[Game], systems: Sequence[str]) -> dict[str, dict[str, HeadToHead]]:
    """The games of each system against each other system."""
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    clusters: dict[tuple[str, str], list[Hashable]] = defaultdict(list)
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for system, opponent, share in (
            (game.first, game.second, game.share),
            (game.second, game.first, 1 - game.share),
        ):
            shares[system, opponent].append(share)
            clusters[system, opponent].append(cluster)
    return {
        system: {
            opponent: HeadToHead(
                clustered_share(pair_shares, clusters[system, opponent]), win_counts(pair_shares)
            )
            for opponent in systems
            if (pair_shares := shares.get((system, opponent)))
        }
        for system in systems
    }
