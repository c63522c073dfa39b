"""What systems took of their games: win rates and the table of who beat whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ..records import Estimate
from ..stats import Games, clustered_share, games_of
from .games import Game
from .shapes import Counts, Met


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


class Taken(NamedTuple):
    """What a system took of its games, and which of them belong together."""

    shares: list[float]
    clusters: list[Hashable]


def taken_by(games: Sequence[Game], systems: Sequence[str]) -> dict[str, Taken]:
    found = {system: Taken([], []) for system in systems}
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for system, share in ((game.first, game.share), (game.second, 1 - game.share)):
            found[system].shares.append(share)
            found[system].clusters.append(cluster)
    return found


def won_share(taken: Taken, n_failed: int = 0) -> Estimate:
    return clustered_share(taken.shares, taken.clusters, n_failed)


def counted(shares: Sequence[float]) -> Counts:
    tied = sum(share == 0.5 for share in shares)
    won = sum(share > 0.5 for share in shares)
    return Counts(won, len(shares) - won - tied, tied)


def matrix_of(games: Sequence[Game], systems: Sequence[str]) -> dict[str, dict[str, Met]]:
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
            other: Met(clustered_share(own, clusters[one, other]), counted(own))
            for other in systems
            if (own := shares.get((one, other)))
        }
        for one in systems
    }
