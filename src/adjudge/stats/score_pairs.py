"""Scores of several systems on the same inputs: paired differences, corrected for there being many pairs.

A system's scores stand in a row per input, none where it has none: what two systems share is compared input by input, so
that hard inputs cost both alike. Two systems without a shared input are compared by their means, as independent samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Numbers, floats
from .dependent import sign_flip
from .games import Games
from .means import mean_interval, standard_error
from .multiple import adjusted
from .undefined import undefined

if TYPE_CHECKING:
    from .arrays import Floats

_EXACT = 20


class ScoreDifference(Struct, frozen=True):
    """Two systems by their numbers: first - second, and whether that could be chance."""

    first: int
    second: int
    difference: Estimate
    p: float | None
    p_adjusted: float | None
    """Holm's, over all pairs"""
    test: str


def score_differences(scores: Sequence[Numbers], confidence: float = 0.95) -> list[ScoreDifference]:
    """All pairs of systems; `scores` has a row for each system with a place for each input."""
    rows = [floats(row) for row in scores]
    found = []
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            difference, p, test = _compared(rows[i], rows[j], confidence)
            found.append(ScoreDifference(i, j, difference, p, None, test))
    corrected = adjusted([one.p for one in found])
    return [structs.replace(one, p_adjusted=p) for one, p in zip(found, corrected, strict=True)]


def _compared(one: Floats, other: Floats, confidence: float) -> tuple[Estimate, float | None, str]:
    import numpy as np

    apart = one - other
    apart = apart[~np.isnan(apart)]
    if len(apart) < 2:
        return _unpaired(one[~np.isnan(one)], other[~np.isnan(other)], confidence)
    n_missing = int((~(np.isnan(one) & np.isnan(other))).sum()) - len(apart)
    estimate = structs.replace(
        mean_interval(apart.tolist(), confidence=confidence), n_undefined=n_missing, unit="input"
    )
    if len(apart) <= _EXACT:
        tested = sign_flip(apart.tolist())
        return estimate, tested.p, tested.method
    # Random flips cannot give a p-value small enough for hundreds of pairs; with so many inputs t can.
    precision = standard_error(apart.tolist())
    mean = float(apart.mean())
    if precision is None or precision.se <= 1e-12 * max(1.0, abs(mean)):
        return estimate, 1.0 if mean == 0 else 2.0 ** (1 - len(apart)), "sign-flip test, exact"
    return estimate, _two_sided(mean / precision.se, precision.df), "paired t test"


def _unpaired(one: Floats, other: Floats, confidence: float) -> tuple[Estimate, float | None, str]:
    """Welch's test of two means."""
    from scipy.special import stdtrit

    first, second = standard_error(one.tolist()), standard_error(other.tolist())
    if first is None or second is None:
        return undefined("fewer than two inputs in common, and too few to compare means"), None, "none"
    variance = first.se**2 + second.se**2
    difference = float(one.mean() - other.mean())
    n, name = len(one) + len(other), "difference of means, Welch t interval: no inputs in common"
    if variance <= 1e-24:
        return undefined("all scores of either system are the same", n=n), None, "none"
    df = variance**2 / (first.se**4 / first.df + second.se**4 / second.df)
    half = float(stdtrit(df, (1 + confidence) / 2)) * math.sqrt(variance)
    estimate = Estimate(difference, difference - half, difference + half, n, method=name, unit="item")
    return estimate, _two_sided(difference / math.sqrt(variance), df), "Welch t test"


def _two_sided(t: float, df: float) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(df, -abs(t)))


def games_from_scores(scores: Sequence[Numbers], is_higher_better: bool = True) -> Games:
    """Each input on which two systems have a score is a game of theirs; equal scores are a tie. An input is a cluster."""
    import numpy as np

    table = np.array([floats(row) for row in scores]).reshape(len(scores), -1)
    firsts, seconds = np.triu_indices(len(table), 1)
    apart = table[firsts] - table[seconds]
    pair, unit = np.nonzero(~np.isnan(apart))
    sign = np.sign(apart[pair, unit]) * (1 if is_higher_better else -1)
    # Means of samples that differ by rounding alone are equal.
    size = np.nanmax(np.abs(table)) if np.isfinite(table).any() else 1.0
    sign[np.abs(apart[pair, unit]) <= 1e-12 * max(1.0, float(size))] = 0.0
    _, cluster = np.unique(unit, return_inverse=True)
    return Games(firsts[pair], seconds[pair], (sign + 1) / 2, cluster, len(table))
