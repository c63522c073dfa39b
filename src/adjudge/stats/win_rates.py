"""Win rates of games that share a prompt, and preferences from log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    NORMAL_QUANTILE,
    Interval,
    floats,
    label_codes,
    make_estimate,
    t_quantile,
    undefined,
)
from .means import precision_of, wilson_interval
from .resample import few_groups

if TYPE_CHECKING:
    from .arrays import Codes, Floats


class Preference(Struct, frozen=True):
    """The share of the first token among the two, and the probability that both have together."""

    share: float
    caught_mass: float


def token_preference(top: Iterable[tuple[str, float]], first: str, second: str) -> Preference | None:
    """The preference for `first` from tokens with their log-probabilities; none where neither was seen.

    White space around a token does not make it another one, but its case does: AlpacaEval's are m and M.
    """
    mass = {first: 0.0, second: 0.0}
    for token, logprob in top:
        bare = token.strip()
        if bare in mass and logprob == logprob:
            mass[bare] += math.exp(min(0.0, logprob))
    caught = mass[first] + mass[second]
    return Preference(mass[first] / caught, min(1.0, caught)) if caught > 0 else None


_PRIOR_GAMES = 2.0
"""So many games without ties are added to the variance: a few ties in a row do not make a share certain."""
_PRIOR_GROUPS = 1.0
"""So many groups whose items all agree are added to the variance: few groups that happen to agree prove
nothing."""


def clustered_share(
    shares: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    n_failed: int = 0,
    unit: str = "game",
) -> Estimate:
    """The mean of shares (a tie one half) with Wilson's interval, for as many games as their variance is
    worth.

    A tie varies less than a win or a loss, so games with ties are worth more than as many without: n is
    multiplied by the variance of a win or loss at this rate and divided by the variance of the games. Games
    of one cluster that go together are worth less (Kish's design effect), and t replaces z. Without ties and
    clusters it is Wilson's interval. Over 20 prompts of 2 to 10 games it covers 93 to 98 %, over 10 at least
    94 % (bench/promises_compare.py).
    """
    n = len(shares)
    if n == 0:
        return undefined("there is nothing to count", n_failed=n_failed, unit=unit)
    values = floats(shares)
    rate = math.fsum(shares) / n
    codes, n_units = (None, n) if clusters is None else label_codes(clusters)
    if n_units == n:
        effective, z, cautions = _worth_of_games(values, rate), NORMAL_QUANTILE, []
    else:
        assert codes is not None
        effective, z = _worth_of_clusters(values, rate, codes)
        cautions = few_groups(n_units)
    low, high = wilson_interval(rate, effective, z)
    has_ties = bool(((values > 0) & (values < 1)).any())
    how = (", a tie is half a win" if has_ties or unit == "game" else "") + ", Wilson interval"
    if effective > n * 1.005:
        how += f"; with their ties, {n} games are worth {effective:.3g} without"
    elif effective < n * 0.995:
        how += f" for {effective:.3g} independent games of {n}"
    what = unit if n_units == n else f"group (n={n_units})"
    return make_estimate(
        rate, Interval(low, high, how), "share", n=n, n_failed=n_failed, unit=what, cautions=cautions
    )


def _worth_of_games(values: Floats, rate: float) -> float:
    """How many games without ties have the same standard error."""
    n = len(values)
    if not ((values > 0) & (values < 1)).any():
        return float(n)
    return n * rate * (1 - rate) / _game_variance(values, rate)


def _game_variance(values: Floats, rate: float) -> float:
    """The variance of one game, drawn a little towards that of a win or loss."""
    seen = float(((values - rate) ** 2).sum())
    return (seen + _PRIOR_GAMES * rate * (1 - rate)) / (len(values) + _PRIOR_GAMES)


def _worth_of_clusters(values: Floats, rate: float, codes: Codes) -> tuple[float, float]:
    """How many independent games without ties have the same standard error, and the quantile to use with
    it."""
    import numpy as np

    sizes = np.bincount(codes) / len(values)
    # The variance of the mean of clusters whose games all agree, per variance of one game.
    alone = float((sizes**2).sum())
    precision = precision_of(values, codes)
    if precision is None or not 0 < rate < 1:
        return 1 / alone, NORMAL_QUANTILE
    game = _game_variance(values, rate)
    n_units = precision.n_units
    variance = (n_units * precision.se**2 + _PRIOR_GROUPS * game * alone) / (n_units + _PRIOR_GROUPS)
    independent = game / len(values)
    # Games of one cluster never count for more than independent ones, for which z is right.
    if variance <= independent:
        return rate * (1 - rate) / independent, NORMAL_QUANTILE
    return rate * (1 - rate) / variance, t_quantile(precision.df)
