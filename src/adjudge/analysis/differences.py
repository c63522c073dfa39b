"""Which systems can be told apart: differences of all pairs, and the places that the tests leave open."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import structs

from ..records import Estimate
from ..stats import Games, Strengths, adjusted, any_time_mean, score_differences
from ..stats.arrays import t_quantile, undefined
from .games import Game, clusters_of
from .result_types import Difference

OPEN = 0.05
"""Above this adjusted p-value two systems are not told apart."""


class Fitted(NamedTuple):
    """The games as arrays, what was fitted to them, and the systems by number."""

    games: Games
    found: Strengths
    systems: tuple[str, ...]


def strength_differences(fitted: Fitted, order: Sequence[int]) -> tuple[Difference, ...]:
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


def _strength_difference(fitted: Fitted, i: int, j: int) -> Estimate:
    found = fitted.found
    one, other = found.sandwich[i], found.sandwich[j]
    n = fitted.games.n
    se = found.standard_errors.get((min(i, j), max(i, j)))
    if one.value is None or other.value is None or se is None:
        return undefined("the strengths of the two cannot be compared", n=n)
    apart, half = one.value - other.value, t_quantile(max(1, fitted.games.n_clusters - 1)) * se
    return Estimate(
        apart,
        apart - half,
        apart + half,
        n,
        method="difference of strengths, HC0 sandwich t interval",
        unit=one.unit,
    )


def with_own_games(differences: Sequence[Difference], games: Sequence[Game]) -> tuple[Difference, ...]:
    """The same, neighbours in the ranking with an interval of their own games that holds at every look.

    A prompt on which the two met is one observation, in the order in which prompts came.
    """
    neighbours = _neighbours(differences)
    shares: dict[tuple[str, str], dict[Hashable, list[float]]] = {pair: {} for pair in neighbours}
    for game, cluster in zip(games, clusters_of(games), strict=True):
        for pair, share in (
            ((game.first, game.second), game.share),
            ((game.second, game.first), 1 - game.share),
        ):
            if pair in shares:
                shares[pair].setdefault(cluster, []).append(share)
    return tuple(
        structs.replace(
            one, any_time=any_time_mean([sum(own) / len(own) for own in met.values()], unit="prompt")
        )
        if (met := shares.get((one.first, one.second)))
        else one
        for one in differences
    )


def _neighbours(differences: Sequence[Difference]) -> set[tuple[str, str]]:
    """The pairs of systems next to each other; differences come with the better first."""
    order = list(dict.fromkeys(name for one in differences for name in (one.first, one.second)))
    return set(pairwise(order))


def paired_differences(
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


def places_of(
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
