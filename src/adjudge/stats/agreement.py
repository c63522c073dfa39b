"""Agreement of raters: equal answers, Cohen's kappa, quadratic kappa, Krippendorff's alpha, Gwet's AC2.

Categories are the declared scale, never the values that happened to occur: an unused category still has
its distance. Shares come with Wilson's interval, kappa and Gwet's coefficient with their large-sample
intervals. Where items share a group, the groups are the independent observations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    NORMAL_QUANTILE,
    Interval,
    Numbers,
    Ratings,
    floats,
    label_codes,
    make_estimate,
    no_interval,
    rated,
    same_length,
    scaled,
    t_quantile,
    undefined,
)
from .means import mean_interval, standard_error
from .proportions import wilson
from .resample import (
    N_RESAMPLES,
    few_groups,
    few_units,
    jackknife_interval,
    left_out,
    percentile_interval,
    resampled,
    sums_left_out,
)

if TYPE_CHECKING:
    from .arrays import Codes, Floats


Category = float | str


CHOICES: tuple[Category, ...] = ("a", "b", "tie")


FEWEST_FOR_KAPPA = 20
"""With fewer items quadratic kappa has no interval: none that we know covers 93 % near 1."""


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
) -> Estimate:
    """The share of items with equal answers; items with only one answer are left out and counted."""
    kept = _both(first, second)
    same = [float(first[i] == second[i]) for i in kept]
    of_kept = None if clusters is None else [clusters[i] for i in kept]
    return share_of_equal(same, of_kept, len(first) - len(kept))


def share_of_equal(
    same: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    n_undefined: int = 0,
) -> Estimate:
    """The mean of what is known of each item: 1 where the answers are equal, 0 where not, in between where
    some are."""
    if not same:
        return undefined("no item has two answers", n_undefined=n_undefined, unit="item")
    name = "share of equal answers"
    if clusters is None:
        estimate = wilson(sum(same), len(same), name=name)
    else:
        estimate = mean_interval(same, clusters, limits=(0.0, 1.0), name=name)
    return structs.replace(estimate, n_undefined=n_undefined)


def cohen_kappa(
    first: Sequence[Category | None],
    second: Sequence[Category | None],
    categories: Sequence[Category],
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Cohen's kappa (1960) by the declared categories: 1 - observed / expected disagreement.

    Its standard error is the one of Fleiss, Cohen and Everitt (1969), from each item's influence on
    kappa. Answers that are no category are left out and counted.
    """
    import numpy as np

    places = {category: place for place, category in enumerate(categories)}
    kept = [i for i in _both(first, second) if first[i] in places and second[i] in places]
    n, n_undefined = len(kept), len(first) - len(kept)
    if n == 0:
        return undefined("no item has two answers on the scale", n_undefined=n_undefined, unit="item")
    a = np.array([places[first[i]] for i in kept])  # type: ignore[index]
    b = np.array([places[second[i]] for i in kept])  # type: ignore[index]
    value, influence = _kappa(a, b, len(categories))
    of_kept = None if clusters is None else [clusters[i] for i in kept]
    estimate = _kappa_estimate(value, influence, n, of_kept)
    return structs.replace(estimate, n_undefined=n_undefined)


def fleiss_kappa(
    ratings: Sequence[Sequence[Category]],
    categories: Sequence[Category],
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Fleiss' kappa (1971) of several raters of each item, who may be others for every item.

    Items may have different numbers of ratings: the agreement within an item is the share of equal pairs, and
    the expected agreement comes from all ratings. The standard error is the jackknife's, over items or
    clusters.
    """
    import numpy as np

    places = {category: place for place, category in enumerate(categories)}
    kept = [i for i, of_item in enumerate(ratings) if sum(one in places for one in of_item) > 1]
    n_undefined = len(ratings) - len(kept)
    if not kept:
        return undefined("no item has two ratings", n_undefined=n_undefined, unit="item")
    counts = np.zeros((len(kept), len(categories)))
    for row, i in enumerate(kept):
        for one in ratings[i]:
            if one in places:
                counts[row, places[one]] += 1
    n_ratings = counts.sum(axis=1)
    alike = (counts * (counts - 1)).sum(axis=1) / (n_ratings * (n_ratings - 1))
    codes = (
        np.arange(len(kept)) if clusters is None else np.array(label_codes([clusters[i] for i in kept])[0])
    )
    n_units = int(codes.max()) + 1

    def by_unit(values: Any) -> Any:
        return np.bincount(codes, weights=values, minlength=n_units)

    alike_of, n_of = by_unit(alike), by_unit(np.ones(len(kept)))
    counts_of = np.stack([by_unit(counts[:, place]) for place in range(len(categories))], axis=1)
    value = _fleiss(alike_of.sum(), n_of.sum(), counts_of.sum(axis=0))
    name = "Fleiss' kappa"
    unit = "item" if clusters is None else f"group (n={n_units})"
    if value is None:
        return undefined("all ratings are the same", n=len(kept), n_undefined=n_undefined, unit=unit)
    left_out = [
        _fleiss(alike_of.sum() - alike_of[i], n_of.sum() - n_of[i], counts_of.sum(axis=0) - counts_of[i])
        for i in range(n_units)
    ]
    known = [one for one in left_out if one is not None]
    if n_units < 3 or len(known) < n_units:
        interval = no_interval("too few items")
        return make_estimate(value, interval, name, n=len(kept), n_undefined=n_undefined, unit=unit)
    error = math.sqrt((n_units - 1) / n_units * sum((one - sum(known) / n_units) ** 2 for one in known))
    if error == 0:
        interval = no_interval("perfect agreement")
        return make_estimate(value, interval, name, n=len(kept), n_undefined=n_undefined, unit=unit)
    reach = t_quantile(n_units - 1) * error
    of = "items" if clusters is None else "groups"
    interval = Interval(max(-1.0, value - reach), min(1.0, value + reach), f", jackknife over {of}")
    return make_estimate(value, interval, name, n=len(kept), n_undefined=n_undefined, unit=unit)


def _fleiss(alike: float, n_items: float, counts: Any) -> float | None:
    """Kappa from the summed agreement of items and the ratings of each category; none without any
    variation."""
    shares = counts / counts.sum()
    expected = float((shares**2).sum())
    return (
        None if expected > 1 - 1e-12 or not n_items else float((alike / n_items - expected) / (1 - expected))
    )


def quadratic_kappa(
    first: Numbers,
    second: Numbers,
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Quadratic kappa of numbers as they stand, means of raters or samples included.

    Squared distances need no categories, so nothing is rounded and the scale may point either way. On answers
    that are levels it is Cohen's kappa with quadratic weights (1968); of means it is Lin's concordance
    correlation (1989).
    """
    import numpy as np

    same_length(first, second, clusters)
    x, y = floats(first), floats(second)
    kept = np.flatnonzero(np.isfinite(x) & np.isfinite(y)).tolist()
    n_undefined = len(x) - len(kept)
    if not kept:
        return undefined("no item has two answers", n_undefined=n_undefined, unit="item")
    n = len(kept)
    codes, n_units = (np.arange(n), n) if clusters is None else label_codes([clusters[i] for i in kept])
    unit = "item" if clusters is None else f"group (n={n_units})"
    numbers = scaled(np.concatenate([x[kept], y[kept]]))
    parts = _moments(numbers[:n], numbers[n:])
    value = float(_kappa_of_moments(parts.sum(axis=0)[None, :])[0])
    if not math.isfinite(value):
        reason = "both always give one and the same answer"
        return undefined(reason, n=n, n_undefined=n_undefined, unit=unit)
    if n < FEWEST_FOR_KAPPA:
        interval = no_interval(f"fewer than {FEWEST_FOR_KAPPA} items")
    else:
        without = _kappa_of_moments(sums_left_out(parts, codes))
        interval = jackknife_interval(value, without, codes, unit="items" if clusters is None else "groups")
    return make_estimate(
        value, interval, "quadratic kappa", n=n, n_undefined=n_undefined, unit=unit,
        cautions=() if clusters is None else few_groups(n_units),
    )  # fmt: skip


def _kappa_estimate(
    value: float | None,
    influence: Floats,
    n: int,
    clusters: Sequence[Hashable] | None,
) -> Estimate:
    unit = "item" if clusters is None else f"group (n={len(set(clusters))})"
    if value is None:
        return undefined("both always give one and the same answer", n=n, unit=unit)
    return make_estimate(
        value, _influence_interval(value, influence, clusters), "Cohen's kappa", n=n, unit=unit
    )


def _both(first: Sequence[Category | None], second: Sequence[Category | None]) -> list[int]:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} answers against {len(second)}")
    # NaN is the one value that is not itself.
    return [
        i
        for i, (a, b) in enumerate(zip(first, second, strict=True))
        if a is not None and b is not None and a == a and b == b
    ]


def _kappa(a: Codes, b: Codes, k: int) -> tuple[float | None, Floats]:
    """Kappa of answers that are one of `k` categories, and for each item the derivative of kappa by its
    weight."""
    import numpy as np

    n, distance = len(a), 1 - np.eye(k)
    p, q = np.bincount(a, minlength=k) / n, np.bincount(b, minlength=k) / n
    observed, expected = float(distance[a, b].mean()), float(p @ distance @ q)
    if expected <= 0:
        return None, np.empty(0)
    by_chance = (distance @ q)[a] + (distance.T @ p)[b] - 2 * expected
    influence = -(distance[a, b] - observed) / expected + observed / expected**2 * by_chance
    return 1 - observed / expected, influence


def _moments(x: Floats, y: Floats) -> Floats:
    """What quadratic kappa is made of: items × sums."""
    import numpy as np

    return np.stack([np.ones(len(x)), x, y, x * x, y * y, (x - y) ** 2], axis=1)


def _kappa_of_moments(sums: Floats) -> Floats:
    """Quadratic kappa from sums over items: weightings × sums; NaN where nothing varies."""
    import numpy as np

    with np.errstate(all="ignore"):
        mean_x, mean_y, xx, yy, observed = (sums[:, 1:] / sums[:, :1]).T
        expected = xx - mean_x**2 + yy - mean_y**2 + (mean_x - mean_y) ** 2
        return np.where(expected > 1e-14, 1 - observed / expected, np.nan)


def _influence_interval(value: float, influence: Floats, clusters: Sequence[Hashable] | None) -> Interval:
    """The interval of a coefficient of at most 1 from each item's influence on it."""
    if clusters is None:
        se, quantile = math.sqrt(float((influence**2).sum())) / len(influence), NORMAL_QUANTILE
        how = ", large-sample interval"
    else:
        precision = standard_error(influence.tolist(), clusters)
        if precision is None:
            return no_interval("all items belong to one group")
        se, quantile = precision.se, t_quantile(precision.df)
        how = ", cluster-robust interval"
    if se <= 1e-12:
        return no_interval("perfect agreement" if value > 1 - 1e-12 else "every item says the same")
    return Interval(max(-1.0, value - quantile * se), min(1.0, value + quantile * se), how)


def choice_agreement(
    judge: Sequence[str | None],
    human: Sequence[str | None],
    clusters: Sequence[Hashable] | None = None,
) -> ChoiceAgreement:
    """Agreement of choices (a, b, tie) between a judge and people."""
    decided = [
        (first, second) if first in ("a", "b") and second in ("a", "b") else (None, None)
        for first, second in zip(judge, human, strict=True)
    ]
    return ChoiceAgreement(
        exact_agreement(judge, human, clusters),
        exact_agreement([first for first, _ in decided], [second for _, second in decided], clusters),
        cohen_kappa(judge, human, CHOICES, clusters),
    )


def nearest_levels(values: Sequence[float | None], levels: Sequence[float]) -> list[float | None]:
    """Each value as the nearest level, halves upward: kappa needs categories, and a mean of samples is
    none."""
    return [None if both is None else both[1] for both in halved(values, levels)]


def halved(values: Sequence[float | None], levels: Sequence[float]) -> list[tuple[float, float] | None]:
    """Each value as the nearest level, twice: midway between two levels it is the lower and the upper one.

    Giving both the same weight gives the same figures when the scale is reversed, which rounding halves one
    way does not.
    """
    ordered = tuple(sorted(levels))
    return [_nearest_two(value, ordered) for value in values]


@lru_cache(maxsize=4096)  # ratings are few different values
def _nearest_two(value: float | None, ordered: tuple[float, ...]) -> tuple[float, float] | None:
    if value is None or not math.isfinite(value) or not ordered:
        return None
    least = min(abs(level - value) for level in ordered)
    # A mean of raters has rounding errors that must not decide for one side.
    near = [level for level in ordered if abs(level - value) - least <= 1e-9 * max(1.0, abs(value))]
    return near[0], near[-1]


# -- several raters: items × raters with gaps

# An item with one rating cannot be compared: alpha leaves it out, Gwet's coefficient uses it for the
# prevalence of the categories only.

Metric = Literal["nominal", "interval"]


def krippendorff_alpha(
    ratings: Ratings,
    metric: Metric = "interval",
    *,
    clusters: Sequence[Hashable] | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Krippendorff's alpha (2011, "Computing Krippendorff's alpha-reliability").

    1 - D_o / D_e over the pairs of ratings within items and over all pairs. The interval resamples items;
    where they share a group it leaves out one group at a time.
    """
    import numpy as np

    table = rated(ratings)
    same_length(table, clusters)
    kept = (~np.isnan(table)).sum(axis=1) >= 2 if table.size else np.zeros(len(table), dtype=bool)
    n_undefined = int(len(kept) - kept.sum())
    n = int(kept.sum())
    if n == 0:
        return undefined("no item has two ratings", n_undefined=n_undefined, unit="item")
    statistic = _alpha(table[kept], metric)
    alpha = float(statistic(np.ones((n, 1)))[0])
    if not math.isfinite(alpha):
        return undefined("all ratings are the same", n=n, n_undefined=n_undefined, unit="item")
    name = f"Krippendorff's alpha ({metric})"
    if clusters is not None:
        codes, n_groups = label_codes([clusters[i] for i in np.flatnonzero(kept).tolist()])
        interval = jackknife_interval(alpha, left_out(statistic, codes), codes, scale="linear")
        return make_estimate(
            alpha, interval, name, n=n, n_undefined=n_undefined, unit=f"group (n={n_groups})",
            cautions=few_groups(n_groups),
        )  # fmt: skip
    draws = resampled(statistic, n, n_resamples, seed)
    return make_estimate(
        alpha, percentile_interval(draws), name, n=n, n_undefined=n_undefined, seed=seed,
        cautions=few_units(n, None),
    )  # fmt: skip


def _alpha(table: Floats, metric: Metric) -> Callable[[Floats], Floats]:
    """Alpha of items × raters as a function of how often each item counts: items × resamples."""
    return _IntervalAlpha(table) if metric == "interval" else _NominalAlpha(_counts(table)[0])


def _counts(table: Floats, levels: Sequence[float] | None = None) -> tuple[Floats, Floats]:
    """How often each item got each value: items × values, and the values."""
    import numpy as np

    present = table[~np.isnan(table)]
    values = np.unique(present) if levels is None else np.array(levels, dtype=np.float64)
    if len(values) == 0 or len(table) == 0:
        return np.zeros((len(table), max(1, len(values)))), np.zeros(max(1, len(values)))
    counts = np.stack([(table == value).sum(axis=1) for value in values], axis=1)
    return counts.astype(np.float64), values


class _IntervalAlpha:
    """Alpha by squared distances, from each item's sums: there may be as many different values as ratings."""

    def __init__(self, table: Floats) -> None:
        import numpy as np

        from .arrays import scaled

        values = scaled(table)
        self.sizes = (~np.isnan(values)).sum(axis=1).astype(np.float64)
        self.sums, self.squares = np.nansum(values, axis=1), np.nansum(values**2, axis=1)
        self.within = 2 * (self.sizes * self.squares - self.sums**2) / (self.sizes - 1)

    def __call__(self, weights: Floats) -> Floats:
        import numpy as np

        # Not a matrix product: the order of its sums depends on the number of threads.
        n, sums, squares, within = (
            np.einsum("ub,u->b", weights, part) for part in (self.sizes, self.sums, self.squares, self.within)
        )
        with np.errstate(all="ignore"):
            between = 2 * (squares - sums**2 / n) / (n - 1)
            alpha = 1 - within / n / between
        return np.where(between <= 1e-12, np.nan, alpha)


class _NominalAlpha:
    """Alpha by equal values, of items that count as often as the weights say: items × resamples."""

    def __init__(self, counts: Floats) -> None:
        self.counts = counts
        self.sizes = counts.sum(axis=1)

    def __call__(self, weights: Floats) -> Floats:
        import numpy as np

        totals = np.einsum("uk,ub->kb", self.counts, weights)
        n = totals.sum(axis=0)
        with np.errstate(all="ignore"):
            within = ((self.sizes**2 - (self.counts**2).sum(axis=1)) / (self.sizes - 1)) @ weights / n
            between = (n**2 - (totals**2).sum(axis=0)) / (n * (n - 1))
            alpha = 1 - within / between
        return np.where(between <= 1e-12, np.nan, alpha)


def gwet(
    ratings: Ratings,
    levels: Sequence[float],
    items: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Gwet's AC2 with quadratic weights, by the declared levels; t interval over items (Gwet 2014, 5.3).

    Unlike kappa it does not collapse where nearly all ratings are one value. `items` says which rows are of
    one item (the judge beside each of its raters, say): together they count as one. `clusters` gives the
    group of each row; the interval then leaves out one group at a time.
    """
    import numpy as np

    table = rated(ratings)
    same_length(table, items, clusters)
    counts, values = _counts(table, levels)
    n_off = int((~np.isnan(table)).sum() - counts.sum())
    name = "Gwet's AC2 (quadratic)"
    is_rated = counts.sum(axis=1) >= 1
    of_row = np.arange(len(counts)) if items is None else label_codes(items)[0]
    _, of_row = np.unique(of_row[is_rated], return_inverse=True)
    counts = counts[is_rated]
    n = int(of_row.max(initial=-1)) + 1
    n_pairable = len(np.unique(of_row[counts.sum(axis=1) >= 2]))
    if n_pairable == 0 or len(values) < 2:
        why = (
            "the scale has fewer than two levels"
            if len(values) < 2
            else "no item has two ratings on the scale"
        )
        return undefined(why, n=n_pairable, n_undefined=n_off, unit="item")
    close = _closeness(values)
    value, each = _gwet(counts, of_row, close)
    if clusters is not None:
        rows = np.flatnonzero(is_rated).tolist()
        codes, n_groups = label_codes([clusters[row] for row in rows])
        sums = sums_left_out(_gwet_parts(counts, of_row, close), codes)
        interval = jackknife_interval(value, _gwet_of_sums(sums, close), codes, scale="skewed")
        return make_estimate(
            value, interval, name, n=n, n_undefined=n_off, unit=f"group (n={n_groups})",
            cautions=few_groups(n_groups),
        )  # fmt: skip
    interval = no_interval("one item alone")
    if n > 1:
        se = math.sqrt(float(((each - value) ** 2).sum()) / (n * (n - 1)))
        interval = no_interval("every item says the same")
        if se > 1e-12:
            half = t_quantile(n - 1) * se
            interval = Interval(max(-1.0, value - half), min(1.0, value + half), ", t interval over items")
    return make_estimate(value, interval, name, n=n, n_undefined=n_off)


def _closeness(values: Floats) -> Floats:
    """1 for the same level, less for others, 0 for the ends of the scale."""
    squares = (values[:, None] - values[None, :]) ** 2
    closeness: Floats = 1 - squares / squares.max()
    return closeness


def _gwet_parts(counts: Floats, of_row: Codes, close: Floats) -> Floats:
    """What the coefficient is made of: rows × (weight, pairable weight, agreement, prevalence of each
    level)."""
    import numpy as np

    sizes = counts.sum(axis=1)
    row_share = 1 / np.bincount(of_row)[of_row]
    is_pairable = sizes >= 2
    pairs = np.where(is_pairable, sizes * (sizes - 1), 1)
    agree = np.where(is_pairable, (counts * (counts @ close - 1)).sum(axis=1) / pairs, 0)
    parts = np.stack([row_share, row_share * is_pairable, row_share * agree], axis=1)
    return np.concatenate([parts, row_share[:, None] * counts / sizes[:, None]], axis=1)


def _gwet_of_sums(sums: Floats, close: Floats) -> Floats:
    """The coefficient from sums over rows: weightings × sums."""
    import numpy as np

    k = len(close)
    with np.errstate(all="ignore"):
        prevalence = sums[:, 3:] / sums[:, :1]
        by_chance = close.sum() / (k * (k - 1)) * (prevalence * (1 - prevalence)).sum(axis=1)
        coefficient: Floats = (sums[:, 2] / sums[:, 1] - by_chance) / (1 - by_chance)
    return coefficient


def _gwet(counts: Floats, of_row: Codes, close: Floats) -> tuple[float, Floats]:
    """The coefficient and the items' linearised parts, whose variance is that of the coefficient."""
    import numpy as np

    parts = _gwet_parts(counts, of_row, close)
    value = float(_gwet_of_sums(parts.sum(axis=0)[None, :], close)[0])
    row_share, sizes, k = parts[:, 0], counts.sum(axis=1), counts.shape[1]
    is_pairable = sizes >= 2
    agree = parts[:, 2] / row_share
    n, n_pairable = float(row_share.sum()), float(parts[:, 1].sum())
    prevalence = parts[:, 3:].sum(axis=0) / n
    factor = close.sum() / (k * (k - 1))
    by_chance = float(factor * (prevalence * (1 - prevalence)).sum())
    each = n / n_pairable * (agree - by_chance * is_pairable) / (1 - by_chance)
    chance_each = factor * (counts * (1 - prevalence) / sizes[:, None]).sum(axis=1)
    linear = each - 2 * (1 - value) * (chance_each - by_chance) / (1 - by_chance)
    of_items: Floats = np.bincount(of_row, weights=row_share * linear).astype(np.float64)
    return value, of_items


class ClassAgreement(Struct, frozen=True):
    """One class: where the judge chose it, and where people did."""

    precision: Estimate
    """the share of the judge's choices of this class with which people agree"""
    recall: Estimate
    """the share of people's choices of this class that the judge made, too; failures are not counted"""
    n_judge: int
    n_human: int
