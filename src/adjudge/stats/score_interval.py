"""The label that people would give to one item, from its score.

Split conformal prediction with the judge as the model (Vovk et al. 2005, Lei et al. 2018): the distances
label - score of the labelled items bound that of a new one, whatever their distribution. Where items share a
group the new item is of a new group, and each group has the same weight (Dunn, Wasserman and Ramdas 2022).
Where labels were drawn with unequal probabilities, each counts by as many items as it stands for, and the new
item by the most (Tibshirani et al. 2019).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    Numbers,
    floats,
    label_codes,
    same_length,
    undefined,
)
from .means import mean_interval
from .resample import (
    generator,
)

if TYPE_CHECKING:
    from .arrays import Codes, Floats


class ScoreInterval(Struct, frozen=True):
    """Between which labels of people one score stands: from score + `below` to score + `above`, cut at the
    scale's ends."""

    below: float | None
    above: float | None
    n: int
    unit: str
    coverage: Estimate
    """the share of labelled items inside, each measured without its own label"""
    limits: tuple[float, float] | None = None
    reason: str = ""

    def around(self, score: float) -> tuple[float, float] | None:
        """The interval of a score; none where there is none."""
        if self.below is None or self.above is None:
            return None
        low, high = score + self.below, score + self.above
        if self.limits is not None:
            low, high = (min(max(end, self.limits[0]), self.limits[1]) for end in (low, high))
        return low, high


_FEWEST_UNITS = math.ceil(2 / (1 - CONFIDENCE) - 1e-9) - 1
"""Labelled items (or groups) from which both ends exist: 39 at 95 %."""
_MOST_FOLDS = 20


def score_interval(
    labels: Numbers,
    scores: Numbers,
    *,
    clusters: Sequence[Hashable] | None = None,
    probabilities: Numbers | None = None,
    limits: tuple[float, float] | None = None,
    seed: int = 0,
) -> ScoreInterval:
    """The conformal interval of a single score, from the items with a label and a score.

    `probabilities` are those with which the items were drawn to be labelled, where they differ.
    """
    import numpy as np

    same_length(labels, scores, clusters, probabilities)
    y, f = floats(labels), floats(scores)
    drawn = np.ones(len(y)) if probabilities is None else floats(probabilities)
    kept = np.flatnonzero(~np.isnan(y) & ~np.isnan(f) & (drawn > 0))
    codes, n_units = (
        (np.arange(len(kept)), len(kept))
        if clusters is None
        else label_codes([clusters[i] for i in kept.tolist()])
    )
    unit = "item" if clusters is None else f"group (n={n_units})"
    gaps, weights = y[kept] - f[kept], 1 / drawn[kept]
    if _worth(codes, weights) < _FEWEST_UNITS:
        noun = "labelled items" if clusters is None else "labelled groups"
        why = f"fewer than {_FEWEST_UNITS} {noun}"
        if n_units >= _FEWEST_UNITS:
            why = (
                f"{n_units} {noun} count as fewer than {_FEWEST_UNITS}, because of their unequal"
                " probabilities"
            )
        return ScoreInterval(None, None, len(kept), unit, undefined(why, n=len(kept), unit=unit), limits, why)
    below, above = _conformal(gaps, codes, weights)
    hits = _held_out_hits(gaps, codes, weights, n_units, seed)
    if hits is None:
        coverage = undefined(f"fewer than {_FEWEST_UNITS} are left without some", n=len(kept), unit=unit)
    else:
        groups = None if clusters is None else codes.tolist()
        coverage = mean_interval(hits.tolist(), groups, limits=(0.0, 1.0), name="share of labels inside")
    return ScoreInterval(below, above, len(kept), unit, coverage, limits)


def _masses(codes: Codes, weights: Floats) -> tuple[Floats, float]:
    """What each label counts for, its group divided among its items, and the most that a new item can count
    for."""
    import numpy as np

    sizes = np.bincount(codes)
    masses = weights / sizes[codes]
    return masses, float(np.bincount(codes, weights=masses).max(initial=0.0))


def _worth(codes: Codes, weights: Floats) -> float:
    """As how many equal labels, or groups of labels, these count: the largest is one."""
    masses, largest = _masses(codes, weights)
    return float(masses.sum()) / largest + 1e-9 if largest > 0 else 0.0


def _conformal(gaps: Floats, codes: Codes, weights: Floats) -> tuple[float, float]:
    """The least and the greatest gap that a new item has with the wanted chance."""
    import numpy as np

    masses, largest = _masses(codes, weights)
    order = np.argsort(gaps, kind="stable")
    all_mass = float(masses.sum()) + largest
    mass = masses[order] / all_mass
    tail = (1 - CONFIDENCE) / 2 - largest / all_mass + 1e-12
    before, after = np.cumsum(mass) - mass, np.cumsum(mass[::-1]) - mass[::-1]
    ordered = gaps[order]
    return (
        float(ordered[np.flatnonzero(before <= tail)[-1]]),
        float(ordered[::-1][np.flatnonzero(after <= tail)[-1]]),
    )


def _held_out_hits(gaps: Floats, codes: Codes, weights: Floats, n_units: int, seed: int) -> Floats | None:
    """Whether each item is inside the interval that items of other folds give; none where too few are
    left."""
    import numpy as np

    n_folds = min(n_units, _MOST_FOLDS)
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    fold_of_unit[generator(seed).permutation(n_units)] = np.arange(n_units) % n_folds
    folds = fold_of_unit[codes]
    hits = np.empty(len(gaps))
    for fold in range(n_folds):
        held = folds == fold
        others = codes[~held], weights[~held]
        if _worth(*others) < _FEWEST_UNITS:
            return None
        below, above = _conformal(gaps[~held], *others)
        # Sums of the same numbers may differ in the last digit.
        hits[held] = (gaps[held] >= below - 1e-9) & (gaps[held] <= above + 1e-9)
    return hits
