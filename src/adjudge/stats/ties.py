"""Whether a judge orders two outputs as people do, ties included.

tau-b cannot compare a judge that gives whole numbers with one that gives fractions: the one ties
often, the other never. Pairwise accuracy counts a tie of both as right, and calibration calls a
small difference of the judge's scores a tie, too (Deutsch, Foster and Freitag 2023, "Ties Matter").
The threshold that fits best on the same data flatters; the one from other data does not.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ..records import Estimate
from .arrays import Numbers
from .crossed import Pairs, pairs
from .means import mean_interval
from .resample import generator
from .undefined import undefined, without_interval

if TYPE_CHECKING:
    from .arrays import Codes, Flags, Floats

_MOST_ITEMS = 2000
"""Items without groups of which all pairs are looked at: two million pairs."""


class TieCalibration(Struct, frozen=True):
    """Pairwise accuracy as the scores stand, at the best threshold, and at one fitted elsewhere."""

    plain: Estimate
    """only equal scores are a tie"""
    best: Estimate
    """at the threshold that fits these pairs best; optimistic"""
    held_out: Estimate
    """each part at the threshold that fits the other parts best"""
    eps: float | None
    """the best threshold: a difference up to it is a tie"""


class _Couples(NamedTuple):
    """All pairs of items within a group: both items, the group, and how the two sides order them."""

    first: Codes
    second: Codes
    group: Codes
    apart: Floats
    """how far the judge's scores are apart"""
    is_tied: Flags
    """whether people's are equal"""
    is_alike: Flags
    """whether both sides put the same one higher"""
    weight: Floats
    """so that every group counts the same"""


def tie_calibration(
    judge: Numbers,
    human: Numbers,
    groups: Sequence[Hashable] | None = None,
    *,
    n_folds: int = 5,
    seed: int = 0,
    confidence: float = 0.95,
) -> TieCalibration:
    """acc23 and acc*eq over pairs within groups, averaged over groups; without groups over all pairs."""
    import numpy as np

    data, note = _thinned(pairs(judge, human, groups), seed)
    couples = _couples(data)
    if len(couples.apart) == 0:
        where = "no group has" if data.has_groups else "there are not"
        none = undefined(
            f"{where} two items that both scored", n=len(data.x), n_undefined=data.n_missing, unit="item"
        )
        return TieCalibration(none, none, none, None)

    def estimate(right: Floats, used: Flags, what: str) -> Estimate:
        return _estimate(couples, right, used, data, f"pairwise accuracy, {what}{note}", confidence, seed)

    everything = np.ones(len(couples.apart), dtype=bool)
    eps = _best_eps(couples, everything)
    plain = estimate(_right(couples, 0.0), everything, "equal scores are ties")
    best = estimate(
        _right(couples, eps), everything, f"differences up to {eps:.4g} are ties, fitted on the same pairs"
    )
    right, used = _held_out(couples, data, n_folds, seed)
    if not used.any():
        held = undefined("too few groups or items to hold some out", n=plain.n, n_undefined=plain.n_undefined)
    else:
        held = estimate(right, used, f"differences that are ties fitted on other parts ({n_folds} folds)")
    return TieCalibration(plain, best, held, eps)


def _thinned(data: Pairs, seed: int) -> tuple[Pairs, str]:
    """All items, or a random part where their pairs would be too many."""
    import numpy as np

    if data.has_groups or len(data.x) <= _MOST_ITEMS:
        return data, ""
    kept = np.sort(generator(seed).permutation(len(data.x))[:_MOST_ITEMS])
    note = f", {_MOST_ITEMS} of {len(data.x)} items drawn at random"
    return data._replace(
        x=data.x[kept], y=data.y[kept], inputs=np.arange(_MOST_ITEMS), n_inputs=_MOST_ITEMS
    ), note


def _couples(data: Pairs) -> _Couples:
    import numpy as np

    firsts, seconds, of_group = [], [], []
    inputs = data.inputs if data.has_groups else np.zeros(len(data.x), dtype=np.int64)
    order = np.argsort(inputs, kind="stable")
    for number, members in enumerate(np.split(order, np.flatnonzero(np.diff(inputs[order])) + 1)):
        i, j = np.triu_indices(len(members), 1)
        firsts.append(members[i])
        seconds.append(members[j])
        of_group.append(np.full(len(i), number))
    first, second, group = (np.concatenate(parts).astype(np.int64) for parts in (firsts, seconds, of_group))
    with np.errstate(all="ignore"):
        judged = data.x[first] - data.x[second]
    people = np.sign(data.y[first] - data.y[second])
    sizes = np.bincount(group) if len(group) else np.ones(1)
    weight = 1 / (sizes[group] * max(1, int((sizes > 0).sum())))
    return _Couples(first, second, group, np.abs(judged), people == 0, np.sign(judged) == people, weight)


def _right(couples: _Couples, eps: float) -> Floats:
    """1 where both order a pair alike, or both see a tie."""
    import numpy as np

    return np.where(couples.apart <= eps, couples.is_tied, couples.is_alike & ~couples.is_tied).astype(
        np.float64
    )


def _best_eps(couples: _Couples, used: Flags) -> float:
    """The smallest threshold of the highest accuracy: sort by distance, then add up what each tie changes."""
    import numpy as np

    apart, weight = couples.apart[used], couples.weight[used]
    gain = weight * (couples.is_tied[used].astype(np.float64) - (couples.is_alike & ~couples.is_tied)[used])
    distances, places = np.unique(apart, return_inverse=True)
    gains = np.cumsum(np.bincount(places.reshape(-1), weights=gain, minlength=len(distances)))
    if len(distances) == 0:
        return 0.0
    if distances[0] > 0:
        distances, gains = np.concatenate([[0.0], distances]), np.concatenate([[0.0], gains])
    # A gain that is only rounding must not move the threshold.
    best = int(np.flatnonzero(gains >= gains.max() - 1e-12)[0])
    return float(distances[best])


def _held_out(couples: _Couples, data: Pairs, n_folds: int, seed: int) -> tuple[Floats, Flags]:
    """Right or wrong for each pair inside a fold, at the threshold that fits the pairs outside it best."""
    import numpy as np

    n_units = int(couples.group.max()) + 1 if data.has_groups else len(data.x)
    folds = min(n_folds, n_units if data.has_groups else n_units // 2)
    right, used = np.zeros(len(couples.apart)), np.zeros(len(couples.apart), dtype=bool)
    if folds < 2:
        return right, used
    of_unit = np.empty(n_units, dtype=np.int64)
    of_unit[generator(seed).permutation(n_units)] = np.arange(n_units) % folds
    first, second = (
        (of_unit[couples.group],) * 2
        if data.has_groups
        else (of_unit[couples.first], of_unit[couples.second])
    )
    for fold in range(folds):
        inside, outside = (first == fold) & (second == fold), (first != fold) & (second != fold)
        if inside.any() and outside.any():
            right[inside] = _right(couples, _best_eps(couples, outside))[inside]
            used |= inside
    return right, used


def _estimate(
    couples: _Couples, right: Floats, used: Flags, data: Pairs, name: str, confidence: float, seed: int
) -> Estimate:
    import numpy as np

    if data.has_groups:
        sizes = np.bincount(couples.group[used])
        sums = np.bincount(couples.group[used], weights=right[used])
        each = sums[sizes > 0] / sizes[sizes > 0]
        found = mean_interval(each.tolist(), None, 0, confidence, limits=(0.0, 1.0))
        method = found.method.replace("mean", name + ", mean over groups", 1)
        n_without = data.n_inputs - len(each)
        return Estimate(
            found.value,
            found.low,
            found.high,
            len(each),
            0,
            n_without,
            method,
            f"group (n={len(each)})",
            seed,
        )
    value, low, high, why = _over_all_pairs(couples, right, used, len(data.x), confidence)
    method = without_interval(name, why) if why else f"{name}, interval over items"
    return Estimate(value, low, high, len(data.x), 0, data.n_missing, method, "item", seed)


def _over_all_pairs(
    couples: _Couples, right: Floats, used: Flags, n: int, confidence: float
) -> tuple[float, float | None, float | None, str]:
    """The share of right pairs; its variance from each item's own share (Hoeffding 1948: 4 Var / n)."""
    import numpy as np
    from scipy.special import stdtrit

    value = float(right[used].mean())
    ends = np.concatenate([couples.first[used], couples.second[used]])
    sizes = np.bincount(ends, minlength=n)
    own = np.bincount(ends, weights=np.tile(right[used], 2), minlength=n)[sizes > 0] / sizes[sizes > 0]
    if len(own) < 3:
        return value, None, None, "fewer than three items"
    se = 2 * math.sqrt(float(own.var(ddof=1)) / len(own))
    if se <= 1e-12:
        return value, None, None, "every item says the same"
    half = float(stdtrit(len(own) - 1, (1 + confidence) / 2)) * se
    return value, max(0.0, value - half), min(1.0, value + half), ""
