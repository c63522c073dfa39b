"""Whether a judge orders pairs of outputs, and pairs of systems, as people do.

Pairwise accuracy with ties: tau-b cannot compare a judge that gives whole numbers with one that gives
fractions, since the one ties often and the other never. Pairwise accuracy counts a tie of both sides as
correct, and tie calibration takes a small difference of the judge's scores as a tie, too (Deutsch, Foster and
Freitag 2023, "Ties Matter"). The threshold that fits best on the same data is optimistic; the one from other
data is not.

Soft pairwise accuracy (Thompson et al. 2024; 1 - PCE, the pairwise confidence error): counting pairs of
systems in the same order punishes a judge for pairs that people cannot separate either. So it compares
p-values: the accuracy is 1 - |p of people - p of the judge|, averaged over pairs of systems,
with p the one-sided p-value of a paired test that
flips signs of differences on the same inputs, taken from its normal limit so that nothing is random.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Interval, Numbers, floats, make_estimate, no_interval, t_quantile, undefined
from .correlation_levels import Pairs, cannot_resample, cautions_of, pairs, tables, unit_of
from .means import mean_interval
from .resample import Resample, generator

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
        return _estimate(couples, right, used, data, f"pairwise accuracy, {what}{note}", seed)

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
    return (
        data._replace(x=data.x[kept], y=data.y[kept], inputs=np.arange(_MOST_ITEMS), n_inputs=_MOST_ITEMS),
        note,
    )


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

    gaps, weight = couples.apart[used], couples.weight[used]
    gain = weight * (couples.is_tied[used].astype(np.float64) - (couples.is_alike & ~couples.is_tied)[used])
    distances, places = np.unique(gaps, return_inverse=True)
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


def _estimate(couples: _Couples, right: Floats, used: Flags, data: Pairs, name: str, seed: int) -> Estimate:
    import numpy as np

    if data.has_groups:
        sizes = np.bincount(couples.group[used])
        sums = np.bincount(couples.group[used], weights=right[used])
        each = sums[sizes > 0] / sizes[sizes > 0]
        estimate = mean_interval(each.tolist(), limits=(0.0, 1.0), name=f"{name}, mean over groups")
        n_without = data.n_inputs - len(each)
        return structs.replace(estimate, n_undefined=n_without, unit=f"group (n={len(each)})", seed=seed)
    value, interval = _over_all_pairs(couples, right, used, len(data.x))
    return make_estimate(value, interval, name, n=len(data.x), n_undefined=data.n_missing, seed=seed)


def _over_all_pairs(couples: _Couples, right: Floats, used: Flags, n: int) -> tuple[float, Interval]:
    """The share of right pairs; its variance from each item's own share (Hoeffding 1948: 4 Var / n)."""
    import numpy as np

    value = float(right[used].mean())
    ends = np.concatenate([couples.first[used], couples.second[used]])
    sizes = np.bincount(ends, minlength=n)
    of_items = np.bincount(ends, weights=np.tile(right[used], 2), minlength=n)[sizes > 0] / sizes[sizes > 0]
    if len(of_items) < 3:
        return value, no_interval("fewer than three items")
    se = 2 * math.sqrt(float(of_items.var(ddof=1)) / len(of_items))
    if se <= 1e-12:
        return value, no_interval("every item says the same")
    half = t_quantile(len(of_items) - 1) * se
    return value, Interval(max(0.0, value - half), min(1.0, value + half), ", interval over items")


# -- soft pairwise accuracy of systems

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
    probabilities: Numbers | None = None,
) -> Estimate:
    """1 - PCE over the pairs of systems that share two inputs, with a jackknife interval over `resample`.

    `probabilities` are those with which items were drawn, where they differ: an input counts by the inverse
    of both systems' probabilities. `n` counts systems, `n_undefined` pairs of systems that do not share two
    inputs.
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
    if probabilities is not None:
        # An input on which the judge failed has no place in the other tables either.
        of_answered = np.where(np.isnan(floats(judge)), np.nan, floats(probabilities))
        drawn, _ = tables(pairs(of_answered.tolist(), human, groups, systems))
        weights = np.nan_to_num(1 / (drawn[:, first] * drawn[:, second]))
        of_judge, of_people = of_judge * weights, of_people * weights
    shared = (~np.isnan(x[:, first] - x[:, second])).sum(axis=0)
    used = shared >= 2
    if not used.any():
        return undefined("no two systems answered the same two inputs", n=n, unit=unit)
    accuracies = _alike(*(_sums(side[:, used]) for side in (of_judge, of_people)))
    value = float(accuracies.mean())
    n_undefined = int((~used).sum())
    why = cannot_resample(data, resample)
    interval = no_interval(why)
    if not why:
        parts = []
        if resample != "systems":
            without_one = _alike(*(_sums_without(side[:, used]) for side in (of_judge, of_people)))
            parts.append(without_one.mean(axis=1))
        if resample != "inputs":
            parts.append(_without_systems(accuracies, first[used], second[used], n))
        interval = _jackknife_interval(value, parts)
    return make_estimate(
        value, interval, _NAME, n=n, n_undefined=n_undefined, unit=unit, cautions=cautions_of(data, resample)
    )


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

    accuracies: Floats = 1 - np.abs(_p(*judge) - _p(*people))
    return accuracies


def _p(total: Floats, squares: Floats) -> Floats:
    """How likely flipped signs would reach the total; one half where the two systems never differ."""
    import numpy as np
    from scipy.special import ndtr

    with np.errstate(all="ignore"):
        z = np.where(squares > 1e-12, total / np.sqrt(squares), 0.0)
    p_values: Floats = ndtr(-z)
    return p_values


def _without_systems(alike: Floats, first: Floats, second: Floats, n: int) -> Floats:
    """The accuracy with each system left out in turn; NaN where no pair is left."""
    import numpy as np

    left = [alike[(first != system) & (second != system)] for system in range(n)]
    return np.array([rest.mean() if len(rest) else np.nan for rest in left])


def _jackknife_interval(value: float, parts: list[Floats]) -> Interval:
    """The jackknife's t interval within 0 to 1; two ways of leaving out add their variances."""
    import numpy as np

    if any(np.isnan(part).any() or len(part) < 3 for part in parts):
        return no_interval("there are too few units to leave one out")
    variance = sum(float(((part - part.mean()) ** 2).sum()) * (len(part) - 1) / len(part) for part in parts)
    if variance <= 1e-20:
        return no_interval("leaving one out changes nothing")
    half = t_quantile(min(len(part) for part in parts) - 1) * math.sqrt(variance)
    return Interval(max(0.0, value - half), min(1.0, value + half), ", jackknife t interval")
