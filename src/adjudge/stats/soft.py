"""Whether a judge is as sure as people are that one system beats another: soft pairwise accuracy.

Counting pairs of systems that are ordered alike punishes a judge for pairs that people cannot tell apart
either. Soft pairwise accuracy (Thompson et al. 2024; 1 - PCE, the pairwise confidence error) compares how sure each side
is: p is the one-sided p-value of a paired test, and the accuracy is 1 - |p of people - p of the judge|, averaged over
pairs of systems. The test flips signs of differences on the same inputs; its p-value is taken from the normal
distribution that it tends to, so that no chance enters. Both sides see the same inputs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from ..records import Estimate
from .arrays import Numbers
from .crossed import Pairs, pairs, tables
from .levels import cannot_resample, cautions_of, unit_of
from .resample import Resample
from .undefined import cautioned, undefined, without_interval

if TYPE_CHECKING:
    from .arrays import Floats

_NAME = "soft pairwise accuracy, system level"
_MOST_NUMBERS = 50_000_000
"""Pairs of systems times inputs that are looked at: some 400 megabytes."""


def soft_pairwise_accuracy(
    judge: Numbers,
    human: Numbers,
    groups: Sequence[Hashable],
    systems: Sequence[Hashable],
    *,
    resample: Resample = "inputs",
    confidence: float = 0.95,
) -> Estimate:
    """1 - PCE over the pairs of systems that share two inputs, with a jackknife interval over `resample`.

    `n` counts systems, `n_undefined` pairs of systems that do not share two inputs.
    """
    import numpy as np

    data = pairs(judge, human, groups, systems)
    unit, n = unit_of(data, resample), data.n_systems
    why = _cannot(data)
    if why:
        return undefined(why, n=n, unit=unit)
    x, y = tables(data)
    first, second = np.triu_indices(n, 1)
    of_judge, of_people = (np.nan_to_num(side[:, first] - side[:, second]) for side in (x, y))
    shared = (~np.isnan(x[:, first] - x[:, second])).sum(axis=0)
    used = shared >= 2
    if not used.any():
        return undefined("no two systems answered the same two inputs", n=n, unit=unit)
    whole = _alike(*(_sums(side[:, used]) for side in (of_judge, of_people)))
    value = float(whole.mean())
    n_undefined = int((~used).sum())
    why, cautions = cannot_resample(data, resample), cautions_of(data, resample)
    low, high = None, None
    if not why:
        parts = []
        if resample != "systems":
            without_one = _alike(*(_sums_without(side[:, used]) for side in (of_judge, of_people)))
            parts.append(without_one.mean(axis=1))
        if resample != "inputs":
            parts.append(_without_systems(whole, first[used], second[used], n))
        low, high, why = _interval(value, parts, confidence)
    method = without_interval(_NAME, why) if why else f"{_NAME}, jackknife t interval"
    return Estimate(value, low, high, n, 0, n_undefined, cautioned(method, cautions), unit)


def _cannot(data: Pairs) -> str:
    if data.n_systems < 2:
        return "there are not two systems"
    if data.n_inputs < 2:
        return "fewer than two inputs were scored by both"
    n_pairs = data.n_systems * (data.n_systems - 1) // 2
    return "there are too many pairs of systems" if n_pairs * data.n_inputs > _MOST_NUMBERS else ""


def _sums(differences: Floats) -> tuple[Floats, Floats]:
    """The sum and the sum of squares of each pair's differences."""
    return differences.sum(axis=0), (differences**2).sum(axis=0)


def _sums_without(differences: Floats) -> tuple[Floats, Floats]:
    """The same with each input left out in turn: inputs × pairs."""
    total, squares = _sums(differences)
    return total - differences, squares - differences**2


def _alike(judge: tuple[Floats, Floats], people: tuple[Floats, Floats]) -> Floats:
    """1 - |p - p| of each pair of systems."""
    import numpy as np

    found: Floats = 1 - np.abs(_p(*judge) - _p(*people))
    return found


def _p(total: Floats, squares: Floats) -> Floats:
    """How likely flipped signs would reach the total; one half where the two systems never differ."""
    import numpy as np
    from scipy.special import ndtr

    with np.errstate(all="ignore"):
        z = np.where(squares > 1e-12, total / np.sqrt(squares), 0.0)
    found: Floats = ndtr(-z)
    return found


def _without_systems(alike: Floats, first: Floats, second: Floats, n: int) -> Floats:
    """The accuracy with each system left out in turn; NaN where no pair is left."""
    import numpy as np

    found = [alike[(first != system) & (second != system)] for system in range(n)]
    return np.array([one.mean() if len(one) else np.nan for one in found])


def _interval(value: float, parts: list[Floats], confidence: float) -> tuple[float | None, float | None, str]:
    """The jackknife's t interval within 0 to 1; two ways of leaving out add their variances."""
    import numpy as np
    from scipy.special import stdtrit

    if any(np.isnan(part).any() or len(part) < 3 for part in parts):
        return None, None, "there are too few units to leave one out"
    variance = sum(float(((part - part.mean()) ** 2).sum()) * (len(part) - 1) / len(part) for part in parts)
    if variance <= 1e-20:
        return None, None, "leaving one out changes nothing"
    half = float(stdtrit(min(len(part) for part in parts) - 1, (1 + confidence) / 2)) * math.sqrt(variance)
    return max(0.0, value - half), min(1.0, value + half), ""
