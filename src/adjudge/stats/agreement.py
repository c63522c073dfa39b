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

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Numbers, floats, same_length, scaled
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
    of_kept = None if clusters is None else [clusters[i] for i in kept]
    return share_of_equal(same, of_kept, confidence, n_failed, len(first) - len(kept))


def share_of_equal(
    same: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    n_failed: int = 0,
    n_undefined: int = 0,
) -> Estimate:
    """The mean of what is known of each item: 1 where the answers are equal, 0 where not, in between where some are."""
    if not same:
        return undefined("no item has two answers", n_failed=n_failed, n_undefined=n_undefined, unit="item")
    if clusters is None:
        found = wilson(sum(same), len(same), confidence, n_failed)
    else:
        found = mean_interval(same, clusters, n_failed, confidence, limits=(0.0, 1.0))
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
    found = _kappa_estimate(value, influence, n, of_kept, confidence, name)
    return structs.replace(found, n_failed=n_failed, n_undefined=n_undefined)


def quadratic_kappa(
    first: Numbers,
    second: Numbers,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    n_failed: int = 0,
) -> Estimate:
    """Quadratic kappa of numbers as they stand, means of raters or samples included.

    Squared distances need no categories, so nothing is rounded and the scale may point either way. On answers that are
    levels it is `cohen_kappa` with quadratic weights; of means it is Lin's concordance correlation (1989).
    """
    import numpy as np

    same_length(first, second, clusters)
    x, y = floats(first), floats(second)
    kept = np.flatnonzero(np.isfinite(x) & np.isfinite(y)).tolist()
    n_undefined = len(x) - len(kept)
    if not kept:
        return undefined("no item has two answers", n_failed=n_failed, n_undefined=n_undefined, unit="item")
    value, influence = _kappa_of_numbers(x[kept], y[kept])
    of_kept = None if clusters is None else [clusters[i] for i in kept]
    found = _kappa_estimate(value, influence, len(kept), of_kept, confidence, "quadratic kappa")
    return structs.replace(found, n_failed=n_failed, n_undefined=n_undefined)


def _kappa_estimate(
    value: float | None,
    influence: Floats,
    n: int,
    clusters: Sequence[Hashable] | None,
    confidence: float,
    name: str,
) -> Estimate:
    unit = "item" if clusters is None else f"group (n={len(set(clusters))})"
    if value is None:
        return undefined("both always give one and the same answer", n=n, unit=unit)
    low, high, method = influence_interval(value, influence, clusters, confidence, name)
    return Estimate(value, low, high, n, 0, 0, method, unit)


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


def _kappa_of_numbers(x: Floats, y: Floats) -> tuple[float | None, Floats]:
    """The same with squared distances, from moments: there may be as many different values as items."""
    import numpy as np

    whole = scaled(np.concatenate([x, y]))
    x, y = whole[: len(x)], whole[len(x) :]
    spread = float(x.var() + y.var())
    apart, expected = (x - y) ** 2, spread + float((x.mean() - y.mean()) ** 2)
    observed = float(apart.mean())
    if not expected > 0:
        return None, np.empty(0)
    by_chance = (x - y.mean()) ** 2 + (y - x.mean()) ** 2 + spread - 2 * expected
    influence = -(apart - observed) / expected + observed / expected**2 * by_chance
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
        why = "perfect agreement" if value > 1 - 1e-12 else "every item says the same"
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


def halved(values: Sequence[float | None], levels: Sequence[float]) -> list[tuple[float, float] | None]:
    """Each value as the nearest level, twice: where it lies midway between two, once as the lower, once as the upper.

    Whoever gives both the same weight gets the same figures when the scale is turned round, which rounding halves one
    way does not.
    """
    ordered = sorted(levels)

    def both(value: float | None) -> tuple[float, float] | None:
        if value is None or not math.isfinite(value) or not ordered:
            return None
        least = min(abs(level - value) for level in ordered)
        # A mean of raters has rounding errors that must not decide for one side.
        near = [level for level in ordered if abs(level - value) - least <= 1e-9 * max(1.0, abs(value))]
        return near[0], near[-1]

    return [both(value) for value in values]
