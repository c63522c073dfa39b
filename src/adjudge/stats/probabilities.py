"""Whether the probabilities that a judge gives can be believed.

The calibration error is the root mean square gap between the mean probability and the share of outcomes in
bins with equally many items. The plain estimate is biased upwards with few labels, because chance alone makes
gaps; the debiased one takes the variance of the gaps off (Bröcker 2012; Kumar, Liang and Ma 2019), and the
plain one to expect under perfect calibration comes with it. The interval inverts the distribution of the
sum of squared gaps, so that it reaches 0 where chance explains the gaps. Groups are respected everywhere:
items of one group count as one observation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Interval, Numbers, floats, label_codes, make_estimate, same_length, t_quantile, undefined
from .means import mean_interval, share_interval, wilson_interval
from .resample import few_groups, few_units
from .risk_coverage import CoverageRisk, risks_at_coverages

if TYPE_CHECKING:
    from .arrays import Codes, Floats

LEAST_ITEMS = 20
"""Labelled items below which no calibration is estimated."""

_MOST_BINS = 10
_LEAST_IN_BIN = 10


class ReliabilityBin(Struct, frozen=True):
    """One point of the reliability diagram."""

    n: int
    probability: float
    """mean of the probabilities"""
    share: float
    """of items whose event happened"""
    low: float
    high: float
    """of the share"""


class Probabilities(Struct, frozen=True):
    """How far probabilities of an event can be believed."""

    error: Estimate
    """root mean square calibration error, debiased; 0 is perfect"""
    plain: float | None
    """the same without the correction for chance"""
    by_chance: float | None
    """the plain error to expect of perfectly calibrated probabilities, with as many items"""
    brier: Estimate
    calibration: Estimate
    """the part of the Brier score that a map of the probabilities could remove"""
    refinement: Estimate
    """the rest: how little the probabilities separate the outcomes"""
    auroc: Estimate
    """the chance that an item whose event happened has the higher probability"""
    bins: tuple[ReliabilityBin, ...] = ()
    risk: tuple[CoverageRisk, ...] = ()


class _Gaps(NamedTuple):
    """The gaps of the bins, with their shares of the items and their covariance."""

    place: Codes
    gaps: Floats
    weights: Floats
    covariance: Floats
    is_crossed: bool
    """whether each fold's probabilities come from the outcomes of the others"""


def probability_quality(
    probabilities: Numbers,
    happened: Sequence[bool | None],
    *,
    certainties: Numbers | None = None,
    wrong: Sequence[bool | None] | None = None,
    clusters: Sequence[Hashable] | None = None,
    folds: Sequence[Hashable] | None = None,
) -> Probabilities:
    """How far probabilities of an event agree with whether it happened.

    Bins are made within each of the `folds` of cross-fitted probabilities: a fold that raises the curves of
    all others is above its own, so that gaps over all folds would cancel.
    `certainties` and `wrong` are for the risk at a coverage: how certain each decision is and whether it is
    wrong; without them, the event is decided to happen where its probability is at least one half.
    """
    import numpy as np

    same_length(probabilities, happened, certainties, wrong, clusters, folds)
    p = floats(probabilities)
    y = floats([None if event is None else float(event) for event in happened])
    with np.errstate(invalid="ignore"):
        kept = ~np.isnan(y) & (p >= 0) & (p <= 1)
    n_undefined = int(len(kept) - kept.sum())
    p, y, n = p[kept], y[kept], int(kept.sum())
    if n < LEAST_ITEMS:
        none = undefined(
            f"fewer than {LEAST_ITEMS} labelled items", n=n, n_undefined=n_undefined, unit="item"
        )
        return Probabilities(none, None, None, none, none, none, none)
    rows = np.flatnonzero(kept).tolist()
    groups = None if clusters is None else [clusters[row] for row in rows]
    codes = np.arange(n) if groups is None else label_codes(groups)[0]
    gaps = _gaps(p, y, codes, label_codes([folds[row] if folds else 0 for row in rows])[0])
    square = _mean_square(gaps)
    unit, cautions = _unit(codes, groups is not None)
    error, calibration = (
        structs.replace(
            make_estimate(
                power(square.value), square.interval(power), name, n=n, unit=unit, cautions=cautions
            ),
            n_undefined=n_undefined,
        )
        for name, power in _SCALES.items()
    )
    sizes = np.bincount(gaps.place)[gaps.place]
    rest = (p - y - gaps.gaps[gaps.place]) ** 2 * sizes / np.maximum(sizes - 1, 1)
    sure = np.maximum(p, 1 - p) if certainties is None else floats(certainties)[kept]
    missed = (p >= 0.5) != (y == 1) if wrong is None else np.array([bool(wrong[row]) for row in rows])
    return Probabilities(
        error,
        math.sqrt(float((gaps.weights * gaps.gaps**2).sum())),
        _by_chance(p, gaps),
        mean_interval(((p - y) ** 2).tolist(), groups, limits=(0.0, 1.0), name="Brier score"),
        calibration,
        mean_interval(rest.tolist(), groups, name="refinement part of the Brier score"),
        _auroc(p, y, codes, unit, cautions),
        tuple(_bins(p, y, gaps.place, codes)),
        tuple(risks_at_coverages(sure, missed, groups)),
    )


def _root(value: float) -> float:
    return math.sqrt(max(0.0, value))


def _same(value: float) -> float:
    return max(0.0, value)


_SCALES: dict[str, Callable[[float], float]] = {
    "calibration error (root mean square, equal-mass bins, debiased)": _root,
    "calibration part of the Brier score, debiased": _same,
}


def _unit(codes: Codes, has_groups: bool) -> tuple[str, list[str]]:
    n_units = int(codes.max()) + 1
    if not has_groups:
        return "item", few_units(n_units, None)
    return f"group (n={n_units})", few_groups(n_units)


def _places(p: Floats, fold: Codes) -> Codes:
    """The bin of each item within its fold: equally many in each, equal probabilities together."""
    import numpy as np

    places = np.zeros(len(p), dtype=np.intp)
    for number in range(int(fold.max()) + 1):
        rows = fold == number
        n_bins = max(2, min(_MOST_BINS, int(rows.sum()) // _LEAST_IN_BIN))
        edges = np.unique(np.quantile(p[rows], np.arange(1, n_bins) / n_bins))
        places[rows] = number * (_MOST_BINS + 1) + np.searchsorted(edges, p[rows], side="right")
    return np.unique(places, return_inverse=True)[1].reshape(-1)


def _gaps(p: Floats, y: Floats, codes: Codes, fold: Codes) -> _Gaps:
    import numpy as np

    place = _places(p, fold)
    sizes = np.bincount(place).astype(np.float64)
    n_bins, n_units = len(sizes), int(codes.max()) + 1
    residuals = p - y
    gaps = np.bincount(place, weights=residuals) / sizes
    parts = np.zeros((n_units, n_bins))
    np.add.at(parts, (codes, place), (residuals - gaps[place]) / sizes[place])
    # Units of one fold alone stand in a bin.
    n_met = np.array([len(np.unique(codes[fold == number])) for number in range(int(fold.max()) + 1)])
    few = np.zeros(n_bins)
    few[place] = (n_met / np.maximum(n_met - 1, 1))[fold]
    covariance = parts.T @ parts * np.sqrt(np.outer(few, few))
    # The mean of a bin takes a degree of freedom. A bin whose events all happened, or none, still has chance
    # in it.
    spread = sizes / np.maximum(sizes - 1, 1)
    covariance *= np.sqrt(np.outer(spread, spread))
    shares = (np.bincount(place, weights=y) + 0.5) / (sizes + 1)
    least = shares * (1 - shares) / (sizes + 1)
    np.fill_diagonal(covariance, np.where(np.diag(covariance) < 0.25 * least, least, np.diag(covariance)))
    return _Gaps(place, gaps, sizes / len(p), covariance, is_crossed=len(n_met) > 1)


class _Square(NamedTuple):
    """The mean square gap without what chance adds, with the ends of its interval."""

    value: float
    low: float
    high: float

    def interval(self, power: Callable[[float], float]) -> Interval:
        """The interval on another scale."""
        return Interval(power(self.low), power(self.high), ", interval by inversion")


def _mean_square(gaps: _Gaps) -> _Square:
    import numpy as np

    weights = gaps.weights
    plain = float((weights * gaps.gaps**2).sum())
    spread = np.sqrt(weights)[:, None] * gaps.covariance * np.sqrt(weights)[None, :]
    chance = float(np.trace(spread))
    own = 2 * float((spread * spread).sum())
    pull = np.sqrt(weights) * gaps.gaps
    along = 4 * float(pull @ spread @ pull) / plain if plain > 0 else 4 * float(np.diag(spread).max())
    # An outcome that moves the gap of its own fold has moved the curves of the others the other way: the
    # product of two folds' errors occurs twice.
    along *= 2 if gaps.is_crossed else 1
    low, high = (_inverted(plain, chance, own, along, tail) for tail in (0.975, 0.025))
    return _Square(plain - chance, low, high)


def _inverted(plain: float, chance: float, own: float, along: float, tail: float) -> float:
    """The mean square gap under which a plain one up to this has the probability `tail`, by bisection.

    A sum of squares of normal gaps is close to a gamma variable of the same mean and variance.
    """
    from scipy.special import gammainc

    def below(value: float) -> float:
        mean, variance = value + chance, own + along * value
        if variance <= 0 or mean <= 0:
            return 1.0 if plain >= mean else 0.0
        return float(gammainc(mean * mean / variance, plain * mean / variance))

    if below(0.0) <= tail:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) > tail else (low, middle)
    return high


def _by_chance(p: Floats, gaps: _Gaps) -> float:
    """The plain error to expect where every event happens with its probability."""
    import numpy as np

    sizes = np.bincount(gaps.place)
    variances = np.bincount(gaps.place, weights=p * (1 - p)) / sizes**2
    return math.sqrt(float((gaps.weights * variances).sum()))


def _auroc(p: Floats, y: Floats, codes: Codes, unit: str, cautions: Sequence[str]) -> Estimate:
    """The area under the ROC curve, with the interval of DeLong et al. (1988), for groups Obuchowski's
    (1997)."""
    import numpy as np

    from .correlation import rank_rows

    name, n = "area under the ROC curve", len(p)
    yes, no = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    if len(yes) == 0 or len(no) == 0:
        return undefined("the event happened always or never", n=n, unit=unit)
    among_all, of_yes, of_no = rank_rows(p), rank_rows(p[yes]), rank_rows(p[no])
    above = (among_all[yes] - of_yes) / len(no)
    below = 1 - (among_all[no] - of_no) / len(yes)
    value = float(above.mean())
    parts = np.zeros(int(codes.max()) + 1)
    np.add.at(parts, codes[yes], (above - value) / len(yes))
    np.add.at(parts, codes[no], (below - value) / len(no))
    n_units = len(parts)
    error = math.sqrt(float((parts**2).sum()) * n_units / max(1, n_units - 1))
    least = min(len(yes), len(no), n_units)
    if error <= 0 or not 0 < value < 1:
        ends = wilson_interval(value, least)
        return make_estimate(value, Interval(*ends, ", Wilson"), name, n=n, unit=unit, cautions=cautions)
    half = t_quantile(max(1, least - 1)) * error / (value * (1 - value))
    middle = math.log(value / (1 - value))
    ends = (1 / (1 + math.exp(-(middle - half))), 1 / (1 + math.exp(-(middle + half))))
    return make_estimate(
        value, Interval(*ends, ", DeLong on the logit scale"), name, n=n, unit=unit, cautions=cautions
    )


def _bins(p: Floats, y: Floats, place: Codes, codes: Codes) -> list[ReliabilityBin]:
    import numpy as np

    bins = []
    for number in range(int(place.max()) + 1):
        rows = np.flatnonzero(place == number)
        units = np.unique(codes[rows], return_inverse=True)[1].reshape(-1)
        ends = share_interval(y[rows], units)
        bins.append(
            ReliabilityBin(len(rows), float(p[rows].mean()), float(y[rows].mean()), ends.low, ends.high)
        )
    return bins
