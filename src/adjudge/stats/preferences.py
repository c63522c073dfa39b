"""How strongly a judge prefers one response of a pair, from the probabilities of its two verdict tokens.

A hard verdict throws away how sure the judge was. The share of the probability that the two tokens have between
them keeps it (AlpacaEval 2, Dubois et al. 2024): 0.5 is undecided. A win rate is the mean of these shares.
Nothing here knows which response stood first: who asks names the token of each.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct

from ..records import Estimate
from .means import mean_interval, standard_error


class Preference(Struct, frozen=True):
    """The share of the first token among the two, and the probability that both have together."""

    share: float
    caught_mass: float


class WinRate(Struct, frozen=True):
    """How often a system is preferred, weighted by how strongly and counted by hard verdicts."""

    weighted: Estimate
    standard_error: float | None
    """of `weighted`; none for fewer than two pairs, or groups"""
    discrete: Estimate
    """a preference above one half is a win, one half is half a win"""


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


def win_rate(
    preferences: Sequence[float | None], groups: Sequence[Hashable] | None = None, confidence: float = 0.95
) -> WinRate:
    """The mean preference with its standard error; none is a judgment that failed, which is counted and left out."""
    kept = [place for place, share in enumerate(preferences) if share is not None]
    shares = [share for share in preferences if share is not None]
    of_kept = None if groups is None else [groups[place] for place in kept]
    n_failed = len(preferences) - len(kept)
    precision = standard_error(shares, of_kept)
    hard = [0.5 if share == 0.5 else float(share > 0.5) for share in shares]
    return WinRate(
        mean_interval(shares, of_kept, n_failed, confidence, limits=(0.0, 1.0)),
        None if precision is None else precision.se,
        mean_interval(hard, of_kept, n_failed, confidence, limits=(0.0, 1.0)),
    )
