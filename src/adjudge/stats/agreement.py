"""Whether two raters, a judge and a person for instance, say the same of the same items.

Categories are the declared scale, never the values that happened to occur: a category that nobody
used still has its distance. Shares come with Wilson's interval, kappa and Gwet's coefficient with
their large-sample ones; where items share a group, the groups are the independent observations.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..records import Estimate
from .means import mean_interval, standard_error
from .proportions import wilson
from .undefined import undefined, without_interval

if TYPE_CHECKING:
    from .arrays import Codes, Floats

Category = float | str
Weights = Literal["none", "linear", "quadratic"]
CHOICES: tuple[Category, ...] = ("a", "b", "tie")


class ChoiceAgreement(Struct, frozen=True):
    """How often two raters of pairs choose alike: with ties as a third answer, and where both decide."""

    exact: Estimate
    decided: Estimate
    """only where both chose a or b"""
    kappa: Estimate


def exact_agreement(
    first: Sequence[Category | None],
    second: Sequence[Category | None],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    n_failed: int = 0,
) -> Estimate:
    """The share of items on which both say the same; items with only one answer are left out and counted."""
    kept = _both(first, second)
    same = [float(first[i] == second[i]) for i in kept]
    n_undefined = len(first) - len(kept)
    if not kept:
        return undefined("no item has two answers", n_failed=n_failed, n_undefined=n_undefined, unit="item")
    if clusters is None:
        found = wilson(sum(same), len(same), confidence, n_failed)
    else:
        of_kept = [clusters[i] for i in kept]
        found = mean_interval(same, of_kept, n_failed, confidence, limits=(0.0, 1.0))
    method = found.method.replace("mean", "share of equal answers").replace(
        "share, W", "share of equal answers, W"
    )
    return Estimate(found.value, found.low, found.high, found.n, n_failed, n_undefined, method, found.unit)


def cohen_kappa(
    first: Sequence[Category | None],
    second: Sequence[Category | None],
    categories: Sequence[Category],
    weights: Weights = "none",
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    n_failed: int = 0,
) -> Estimate:
    """Cohen's kappa (1960; weighted 1968) by the declared categories: 1 - observed / expected disagreement.

    Its standard error is the one of Fleiss, Cohen and Everitt (1969), from each item's influence on
    kappa. Answers that are no category are left out and counted.
    """
    import numpy as np

    name = {"none": "Cohen's kappa", "linear": "linear kappa", "quadratic": "quadratic kappa"}[weights]
    places = {category: place for place, category in enumerate(categories)}
    kept = [i for i in _both(first, second) if first[i] in places and second[i] in places]
    n, n_undefined = len(kept), len(first) - len(kept)
    if n == 0:
        return undefined(
            "no item has two answers on the scale", n_failed=n_failed, n_undefined=n_undefined, unit="item"
        )
    a = np.array([places[first[i]] for i in kept])  # type: ignore[index]
    b = np.array([places[second[i]] for i in kept])  # type: ignore[index]
    value, influence = _kappa(a, b, distances(categories, weights))
    of_kept = None if clusters is None else [clusters[i] for i in kept]
    unit = "item" if of_kept is None else f"group (n={len(set(of_kept))})"
    if value is None:
        return undefined(
            "both always give one and the same answer",
            n=n,
            n_failed=n_failed,
            n_undefined=n_undefined,
            unit=unit,
        )
    low, high, method = influence_interval(value, influence, of_kept, confidence, name)
    return Estimate(value, low, high, n, n_failed, n_undefined, method, unit)


def _both(first: Sequence[Category | None], second: Sequence[Category | None]) -> list[int]:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} answers against {len(second)}")
    # NaN is the one value that is not itself.
    return [
        i
        for i, (one, other) in enumerate(zip(first, second, strict=True))
        if one is not None and other is not None and one == one and other == other
    ]


def distances(categories: Sequence[Category], weights: Weights) -> Floats:
    """How far apart two categories are, by their values on the scale."""
    import numpy as np

    if weights == "none":
        return 1 - np.eye(len(categories))
    values = np.array([float(category) for category in categories])
    apart: Floats = np.abs(values[:, None] - values[None, :])
    return apart if weights == "linear" else apart**2


def _kappa(a: Codes, b: Codes, apart: Floats) -> tuple[float | None, Floats]:
    """Kappa, and for each item the derivative of kappa by its weight."""
    import numpy as np

    n, k = len(a), len(apart)
    p, q = np.bincount(a, minlength=k) / n, np.bincount(b, minlength=k) / n
    observed, expected = float(apart[a, b].mean()), float(p @ apart @ q)
    if expected <= 0:
        return None, np.empty(0)
    by_chance = (apart @ q)[a] + (apart.T @ p)[b] - 2 * expected
    influence = -(apart[a, b] - observed) / expected + observed / expected**2 * by_chance
    return 1 - observed / expected, influence


def influence_interval(
    value: float, influence: Floats, clusters: Sequence[Hashable] | None, confidence: float, name: str
) -> tuple[float | None, float | None, str]:
    """The interval of a coefficient of at most 1 from each item's influence on it."""
    from scipy.special import stdtrit

    if clusters is None:
        se, quantile = (
            math.sqrt(float((influence**2).sum())) / len(influence),
            NormalDist().inv_cdf((1 + confidence) / 2),
        )
        method = f"{name}, large-sample interval"
    else:
        precision = standard_error(influence.tolist(), clusters)
        if precision is None:
            return None, None, without_interval(name, "all items belong to one group")
        se, quantile = precision.se, float(stdtrit(precision.df, (1 + confidence) / 2))
        method = f"{name}, cluster-robust interval"
    if se <= 1e-12:
        why = "perfect agreement" if value > 1 - 1e-12 else "the items do not differ"
        return None, None, without_interval(name, why)
    return max(-1.0, value - quantile * se), min(1.0, value + quantile * se), method


def choice_agreement(
    judge: Sequence[str | None],
    human: Sequence[str | None],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    n_failed: int = 0,
) -> ChoiceAgreement:
    """Agreement of choices (a, b, tie) between a judge and people."""
    decided = [
        (one, other) if one in ("a", "b") and other in ("a", "b") else (None, None)
        for one, other in zip(judge, human, strict=True)
    ]
    return ChoiceAgreement(
        exact_agreement(judge, human, clusters, confidence, n_failed),
        exact_agreement(
            [one for one, _ in decided], [other for _, other in decided], clusters, confidence, n_failed
        ),
        cohen_kappa(judge, human, CHOICES, "none", clusters, confidence, n_failed),
    )


def nearest(values: Sequence[float | None], levels: Sequence[float]) -> list[float | None]:
    """Each value as the nearest level, halves upward: kappa needs categories, a mean of samples is none."""
    ordered = sorted(levels)
    if not ordered:
        return [None] * len(values)

    def level(value: float | None) -> float | None:
        if value is None or not math.isfinite(value):
            return None
        return min(ordered, key=lambda candidate: (abs(candidate - value), -candidate))

    return [level(value) for value in values]
