"""Length bias: win rates at equal length.

    logit P(i beats j) = strength of i - strength of j + gamma x (length difference)

As in length-controlled AlpacaEval (Dubois et al. 2024), the difference of lengths is fitted as a feature, and win rates
are predicted with the difference set to 0. A tie is half a win. Lengths are divided by the root mean square of their
differences, so gamma is per typical difference; they are not centred, because 0 must stay "equally long".

Position bias: the same pair shown in both orders should have the same winner.

Choices are the places shown (`first`, `second`, `tie`), one for each order: a judge that goes by content changes the
place with the order, one that goes by position keeps it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Interval, Numbers, floats, make_estimate, no_interval, t_quantile, undefined
from .bradley_terry import Games, components, win_matrix
from .proportions import clustered_share, wilson

if TYPE_CHECKING:
    from .arrays import Floats


_STEPS = 60
_BEYOND = 30.0
_LEAST_WITHIN = 0.1
"""With less of the variation of lengths than this within pairs of systems, length and system are one and the same."""
_LITTLE_WITHIN = 0.3
_TINY = 1e-9
"""Half an interval below this is rounding: the games agree with the fit to the last digit, and say nothing of others."""
_NO_VARIANCE = "the games leave no variance"


class LengthControl(Struct, frozen=True):
    """How length moves the judge, and what each system wins at equal length."""

    coefficient: Estimate
    """change of the log odds per typical difference of lengths; above 0 the longer response wins more often"""
    typical_difference: float | None
    """the root mean square of the differences, in the unit they were given in"""
    win_rates: tuple[Estimate, ...]
    """by system: the mean over its games of the chance to win, were both responses equally long"""
    differences: tuple[float | None, ...]
    """by system: how much longer its responses are than its opponents', on the mean"""


class _Fit(NamedTuple):
    strength: Floats
    gamma: float
    covariance: Floats
    """HC0, clustered; systems, then gamma"""


def length_controlled(games: Games, differences: Numbers) -> LengthControl:
    """The win rates at equal length; `differences` are length of the first - length of the second, game by game."""
    import numpy as np

    lengths = floats(differences)
    if len(lengths) != games.n:
        raise ValueError(f"{len(lengths)} differences for {games.n} games")
    kept = ~np.isnan(lengths)
    known = Games(
        games.first[kept], games.second[kept], games.share[kept],
        np.unique(games.cluster[kept], return_inverse=True)[1], games.n_systems,
    )  # fmt: skip
    x = lengths[kept]
    typical = float(np.sqrt(np.mean(x**2))) if len(x) else 0.0
    means = _mean_differences(known, x)
    unexplained = _unexplained_share(known, x)
    why = _unfit(known, typical, unexplained)
    fitted = None if why else _fit(known, x / typical)
    if fitted is None:
        missing = undefined(
            why or "length decides the games: no estimate exists", n=known.n, n_undefined=games.n - known.n
        )
        return LengthControl(missing, typical or None, (missing,) * games.n_systems, means)
    z = t_quantile(known.n_clusters - 1) * math.sqrt(known.n_clusters / (known.n_clusters - 1))
    se = math.sqrt(max(0.0, float(fitted.covariance[-1, -1])))
    unit = "game" if known.n_clusters == known.n else f"group (n={known.n_clusters})"
    n_left_out = games.n - known.n
    coefficient = _coefficient(fitted.gamma, z * se, known.n, n_left_out, unit)
    cautions = []
    if unexplained < _LITTLE_WITHIN:
        cautions.append(
            f"{1 - unexplained:.0%} of the variation in length is between systems: equal length is far from the data"
        )
    rates = tuple(_rate(known, fitted, i, z, unit, n_left_out, cautions) for i in range(games.n_systems))
    return LengthControl(coefficient, typical, rates, means)


def _coefficient(gamma: float, half: float, n: int, n_left_out: int, unit: str) -> Estimate:
    name = "logistic regression"
    interval = Interval(gamma - half, gamma + half, ", HC0 sandwich t interval")
    if half < _TINY:
        interval = no_interval(_NO_VARIANCE)
    return make_estimate(gamma, interval, name, n=n, n_undefined=n_left_out, unit=unit)


def _unexplained_share(games: Games, x: Floats) -> float:
    """The share of the variation of lengths that the systems do not explain: 1 - R² of a fit by the systems alone."""
    import numpy as np

    total = float((x**2).sum())
    if total == 0:
        return 0.0
    design = np.zeros((games.n_systems, games.n_systems))
    np.add.at(design, (games.first, games.first), 1)
    np.add.at(design, (games.second, games.second), 1)
    np.add.at(design, (games.first, games.second), -1)
    np.add.at(design, (games.second, games.first), -1)
    sums = np.bincount(games.first, weights=x, minlength=games.n_systems)
    sums -= np.bincount(games.second, weights=x, minlength=games.n_systems)
    explained = float(sums @ np.linalg.pinv(design) @ sums)
    return max(0.0, 1 - explained / total)


def _unfit(games: Games, typical: float, unexplained: float) -> str:
    if games.n == 0:
        return "no lengths are known"
    if typical == 0:
        return "all compared responses have the same length"
    if games.n_clusters < 3:
        return "too few games"
    if unexplained < _LEAST_WITHIN:
        return "the systems differ in length so consistently that length and system are confounded"
    if len(components(win_matrix(games))) > 1:
        return "not all strengths exist, because a system never won or never lost, or because no chain of wins joins them"
    return ""


def _fit(games: Games, x: Floats) -> _Fit | None:
    """Newton's method; none where it runs away, because length or a system decides everything."""
    import numpy as np
    from scipy.sparse import coo_array

    k, n = games.n_systems, games.n
    point = np.zeros(k + 1)
    rows = np.tile(np.arange(n), 3)
    columns = np.concatenate([games.first, games.second, np.full(n, k)])
    design = coo_array(
        (np.concatenate([np.ones(n), -np.ones(n), x]), (rows, columns)), shape=(n, k + 1)
    ).tocsr()
    for _ in range(_STEPS):
        share = 1 / (1 + np.exp(-np.clip(design @ point, -500, 500)))
        missed = games.share - share
        curve = (design.T @ (design * (share * (1 - share))[:, None])).toarray()
        curve[:k, :k] += 1 / k
        if np.linalg.cond(curve) > 1e12:
            return None
        step = np.linalg.solve(curve, design.T @ missed)
        longest = float(np.abs(step).max())
        point += step * min(1.0, 2.0 / max(longest, 1e-300))
        if float(np.abs(point).max()) > _BEYOND:
            return None
        if longest < 1e-10:
            break
    else:
        return None
    inverse = np.linalg.inv(curve)
    clusters = coo_array((np.ones(n), (games.cluster, np.arange(n))), shape=(games.n_clusters, n)).tocsr()
    slopes = clusters @ (design * missed[:, None])
    meat = (slopes.T @ slopes).toarray()
    return _Fit(point[:k], float(point[k]), inverse @ meat @ inverse)


def _rate(
    games: Games, fitted: _Fit, system: int, z: float, unit: str, n_left_out: int, cautions: list[str]
) -> Estimate:
    """The mean chance of one system against the opponents that it had; the interval by the delta method on log odds."""
    import numpy as np

    others = np.concatenate([games.second[games.first == system], games.first[games.second == system]])
    if not len(others):
        return undefined("it has no games of known lengths", n_undefined=n_left_out)
    met = np.bincount(others, minlength=games.n_systems) / len(others)
    chance = 1 / (1 + np.exp(-(fitted.strength[system] - fitted.strength)))
    rate = float(met @ chance)
    slope = np.zeros(games.n_systems + 1)
    slope[:-1] = -met * chance * (1 - chance)
    slope[system] += float(met @ (chance * (1 - chance)))
    on_odds = slope / (rate * (1 - rate))
    half = z * math.sqrt(max(0.0, float(on_odds @ fitted.covariance @ on_odds)))
    name = "win rate at equal length, logistic regression"
    interval = no_interval(_NO_VARIANCE)
    if half >= _TINY:
        middle = math.log(rate / (1 - rate))
        low, high = (1 / (1 + math.exp(-(middle + side * half))) for side in (-1, 1))
        interval = Interval(low, high, ", HC0 sandwich t interval on log odds")
    return make_estimate(
        rate, interval, name, n=len(others), n_undefined=n_left_out, unit=unit, cautions=cautions
    )


def _mean_differences(games: Games, x: Floats) -> tuple[float | None, ...]:
    import numpy as np

    k = games.n_systems
    total = np.bincount(games.first, weights=x, minlength=k) - np.bincount(
        games.second, weights=x, minlength=k
    )
    n = np.bincount(games.first, minlength=k) + np.bincount(games.second, minlength=k)
    return tuple(float(total[i] / n[i]) if n[i] else None for i in range(k))


Position = Literal["first", "second", "tie"]


class PositionBias(Struct, frozen=True):
    """How choices go with the place. Shares are of the pairs that were read in both orders."""

    agreement: Estimate
    """pairs with the same winner in both orders"""
    first_share: Estimate
    """of all single choices that decided: those for the response shown first"""
    n_pairs: int
    """read in both orders"""
    n_one_order: int
    """judged or read in one order only"""
    first_both: int
    """the first place won in both orders"""
    second_both: int
    other_conflicts: int
    """a tie in one order alone"""
    p: float | None
    """binomial test: among changed winners, is one place favoured? With one order alone: among all choices"""


def position_bias(
    shown: Sequence[Position | None],
    swapped: Sequence[Position | None],
    pairs: Sequence[Hashable] | None = None,
) -> PositionBias:
    """Both orders of each pair, none where a choice was not judged or not read; `pairs` says what belongs together."""
    if len(shown) != len(swapped):
        raise ValueError(f"{len(shown)} choices in one order, {len(swapped)} in the other")
    both = [(a, b) for a, b in zip(shown, swapped, strict=True) if a and b]
    n_one_order = sum((a is None) != (b is None) for a, b in zip(shown, swapped, strict=True))
    same = sum(_is_consistent(a, b) for a, b in both)
    first_both = sum(a == b == "first" for a, b in both)
    second_both = sum(a == b == "second" for a, b in both)
    places: list[float] = []
    clusters: list[Hashable] = []
    for number, choices in enumerate(zip(shown, swapped, strict=True)):
        for choice in choices:
            if choice is not None and choice != "tie":
                places.append(float(choice == "first"))
                clusters.append(number if pairs is None else pairs[number])
    agreement = undefined("no pair was read in both orders", unit="pair")
    if both:
        name = "share of pairs with the same winner in both orders"
        agreement = wilson(same, len(both), name=name, unit="pair")
    if both:
        p = _binomial(first_both, second_both)
    else:
        p = _binomial(int(sum(places)), len(places) - int(sum(places)))
    first_share = structs.replace(
        clustered_share(places, clusters),
        method="share of decided choices for the response shown first, Wilson interval",
        unit="choice",
    )
    if not places:
        first_share = undefined("no choice decided", unit="choice")
    return PositionBias(
        agreement=agreement,
        first_share=first_share,
        n_pairs=len(both),
        n_one_order=n_one_order,
        first_both=first_both,
        second_both=second_both,
        other_conflicts=len(both) - same - first_both - second_both,
        p=p,
    )


def _is_consistent(shown: Position, swapped: Position) -> bool:
    """Whether both orders have the same winner, or are both a tie: a winner changes its place with the order."""
    return shown == swapped if "tie" in (shown, swapped) else shown != swapped


def _binomial(n_first: int, n_second: int) -> float | None:
    """The exact two-sided test of an even chance; none where there is nothing to test."""
    from scipy.special import bdtr

    n = n_first + n_second
    return min(1.0, 2 * float(bdtr(min(n_first, n_second), n, 0.5))) if n else None
