"""Differences between ranked systems, and the places that they leave open to each."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import structs

from ...records import Estimate
from ...stats import Games, Strengths, adjusted, any_time_mean, score_differences, simultaneous
from ...stats.arrays import t_quantile, undefined
from ..significance import SIGNIFICANCE
from .games import Game
from .ranking import Difference
from .win_rates import clusters_of


class FittedGames(NamedTuple):
    """The games as arrays, the strengths fitted to them, and the systems by number."""

    games: Games
    strengths: Strengths
    systems: tuple[str, ...]


def strength_differences(fitted: FittedGames, order: Sequence[int]) -> tuple[Difference, ...]:
    """The differences in strength of all pairs of systems, the better first."""
    strengths, systems = fitted.strengths, fitted.systems
    pairs = [(i, j) for index, i in enumerate(order) for j in order[index + 1 :]]
    p_values = [strengths.p_values[min(pair), max(pair)] for pair in pairs]
    return tuple(
        Difference(
            systems[i],
            systems[j],
            _strength_difference(fitted, i, j, len(pairs)),
            p,
            p_adjusted,
            "difference of strengths, t test"
            if (min(i, j), max(i, j)) in strengths.standard_errors
            else "sign test of their games",
            p_adjusted is None or p_adjusted > SIGNIFICANCE,
        )
        for (i, j), p, p_adjusted in zip(pairs, p_values, adjusted(p_values), strict=True)
    )


def _strength_difference(fitted: FittedGames, i: int, j: int, n_pairs: int) -> Estimate:
    """Strength of i - strength of j; its interval holds together with those of all other pairs."""
    strengths = fitted.strengths
    first, second = strengths.sandwich[i], strengths.sandwich[j]
    n = fitted.games.n
    se = strengths.standard_errors.get((min(i, j), max(i, j)))
    if first.value is None or second.value is None or se is None:
        return undefined("the strengths of the two cannot be compared", n=n)
    df = max(1, fitted.games.n_clusters - 1)
    difference, half = first.value - second.value, t_quantile(df) * se
    estimate = Estimate(
        difference,
        difference - half,
        difference + half,
        n,
        method="difference of strengths, HC0 sandwich t interval",
        unit=first.unit,
    )
    return simultaneous(estimate, n_pairs, df)


def with_head_to_head(differences: Sequence[Difference], games: Sequence[Game]) -> tuple[Difference, ...]:
    """The same differences; neighbours in the ranking also get their head-to-head win rate, with an
    anytime-valid interval.

    A prompt on which the two met is one observation, in the order of the prompts.
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
            difference,
            any_time=any_time_mean(
                [sum(shares_on_prompt) / len(shares_on_prompt) for shares_on_prompt in by_prompt.values()],
                unit="prompt",
            ),
        )
        if (by_prompt := shares.get((difference.first, difference.second)))
        else difference
        for difference in differences
    )


def _neighbours(differences: Sequence[Difference]) -> set[tuple[str, str]]:
    """The pairs of neighbours in the ranking; differences name the better system first."""
    order = list(
        dict.fromkeys(name for difference in differences for name in (difference.first, difference.second))
    )
    return set(pairwise(order))


def paired_differences(
    rows: Sequence[Sequence[float | None]], order: Sequence[int], systems: Sequence[str]
) -> tuple[Difference, ...]:
    """The paired differences in scores of all pairs of systems, the better first."""
    comparisons = score_differences([rows[i] for i in order])
    return tuple(
        Difference(
            systems[order[difference.first]],
            systems[order[difference.second]],
            difference.difference,
            difference.p,
            difference.p_adjusted,
            difference.test,
            difference.p_adjusted is None or difference.p_adjusted > SIGNIFICANCE,
        )
        for difference in comparisons
    )


def rank_ranges(
    order: Sequence[int], differences: Sequence[Difference], systems: Sequence[str], sign: int = 1
) -> dict[str, tuple[int, int]]:
    """The best and worst rank of each system: behind all
    significantly better ones, before all significantly worse ones.
    """
    better: dict[str, int] = dict.fromkeys(systems, 0)
    worse: dict[str, int] = dict.fromkeys(systems, 0)
    for difference in differences:
        if not difference.is_open:
            # A significant difference without a value comes from the sign test: the better system is first.
            ahead = (
                difference.first
                if difference.difference.value is None or sign * difference.difference.value > 0
                else difference.second
            )
            behind = difference.second if ahead == difference.first else difference.first
            better[behind] += 1
            worse[ahead] += 1
    n = len(order)
    return {system: (1 + better[system], n - worse[system]) for system in systems}
