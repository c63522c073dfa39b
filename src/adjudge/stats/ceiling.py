"""Inter-rater agreement as a ceiling for the judge.

The ceiling is the correlation of one rater with the mean of the others (lower bound) and with the mean of
all, the rater included (upper bound), averaged over raters (Nili et al. 2014). The judge is compared with the
same means of the others, so that judge and rater are measured in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from ..records import Estimate
from .arrays import (
    Interval,
    Numbers,
    Ratings,
    floats,
    label_codes,
    make_estimate,
    rated,
    same_length,
    scaled,
    undefined,
)
from .correlation import NAMES, Kind, weighted
from .resample import (
    JackknifeScale,
    blocks,
    draw_units,
    few_groups,
    few_units,
    generator,
    jackknife_interval,
    left_out,
    percentile_interval,
)

if TYPE_CHECKING:
    from .arrays import Codes, Floats


_N_RESAMPLES = 1000


class Ceiling(Struct, frozen=True):
    """Inter-rater agreement, and the agreement of the judge with the same raters."""

    lower: Estimate
    """a rater against the mean of the others"""
    upper: Estimate
    """a rater against the mean of all"""
    judge: Estimate
    """the judge against the same means as `lower`"""
    share: Estimate
    """judge / lower; above 1 the judge is closer to the others than a rater is"""
    corrected: Estimate
    """the judge against the mean of all, divided by the root of that mean's reliability, ICC(C,k)"""
    by_rater: tuple[float | None, ...]
    """each rater against the mean of the others"""


class _Parts(Struct, frozen=True):
    """The coefficients under some weightings: parts × resamples, NaN where undefined."""

    lower: Floats
    upper: Floats
    judge: Floats
    corrected: Floats


def noise_ceiling(
    ratings: Ratings,
    judge: Numbers | None = None,
    kind: Kind = "spearman",
    *,
    clusters: Sequence[Hashable] | None = None,
    n_resamples: int = _N_RESAMPLES,
    seed: int = 0,
) -> Ceiling:
    """The ceiling with intervals over items, or over groups of them. With a judge, only items that it scored
    are used."""
    import numpy as np

    table = rated(ratings)
    same_length(table, clusters)
    width, n_all = table.shape[1], len(table)
    kept, table, scores = _usable(table, None if judge is None else floats(judge))
    n, n_undefined = len(table), n_all - len(table)
    if n < 2:
        why = "there is one rater" if width < 2 else "fewer than two items have two ratings"
        none = undefined(why, n=n, n_undefined=n_undefined, unit="item")
        return Ceiling(none, none, none, none, none, ())
    examined = _Examination(table, scores, kind)
    once = examined(np.ones((n, 1)))
    codes = None if clusters is None else label_codes([clusters[i] for i in kept.tolist()])[0]
    rng = generator(seed)
    draws = (
        [examined(draw_units(rng, n, size)) for size in blocks(n_resamples, n * 4)]
        if codes is None
        else [_left_out(examined, codes)]
    )
    frame = _Frame(n, n_undefined, codes, seed)

    def estimate(part: str, what: str, why: str) -> Estimate:
        value = float(_over_raters(getattr(once, part))[0])
        if not math.isfinite(value):
            return undefined(why, n=n, n_undefined=n_undefined, unit="item")
        values = np.concatenate([_over_raters(getattr(each, part)) for each in draws])
        # The judge's part is a plain correlation; what the raters' own agreement is in is skewed the other
        # way.
        most = math.inf if part == "corrected" else 1.0
        scale: JackknifeScale = "z" if part == "judge" else "linear"
        return frame.estimate(value, values, f"{NAMES[kind]}, {what}", scale, most)

    lower = estimate("lower", "each rater against the mean of the others", _FLAT)
    upper = estimate("upper", "each rater against the mean of all", _FLAT)
    by_judge = estimate(
        "judge", "the judge against the mean of all raters but one", _NO_JUDGE if scores is None else _FLAT
    )
    corrected = estimate(
        "corrected", "the judge against the mean of all, corrected for their reliability", _GAPS
    )
    share = _share(lower, by_judge, draws, frame)
    each = tuple(float(value) if math.isfinite(value) else None for value in once.lower[:, 0])
    return Ceiling(lower, upper, by_judge, share, corrected, each)


class _Frame(Struct, frozen=True):
    """What all parts rest on."""

    n: int
    n_undefined: int
    codes: Codes | None
    """the group of each item; none where items are independent"""
    seed: int

    def estimate(
        self, value: float, values: Floats, name: str, scale: JackknifeScale, most: float = 1.0
    ) -> Estimate:
        """From resamples of items, or from the values without each group in turn."""
        if self.codes is None:
            interval = percentile_interval(values)
        else:
            interval = jackknife_interval(value, values, self.codes, scale=scale, limits=(-1.0, most))
        return self.with_interval(value, interval, name)

    def with_interval(self, value: float, interval: Interval, name: str) -> Estimate:
        if self.codes is None:
            return make_estimate(
                value, interval, name, n=self.n, n_undefined=self.n_undefined, seed=self.seed,
                cautions=few_units(self.n, None),
            )  # fmt: skip
        n_groups = int(self.codes.max()) + 1
        return make_estimate(
            value, interval, name, n=self.n, n_undefined=self.n_undefined, unit=f"group (n={n_groups})",
            cautions=few_groups(n_groups),
        )  # fmt: skip


def _left_out(examined: _Examination, codes: Codes) -> _Parts:
    """All coefficients without each group in turn."""
    import numpy as np

    sizes: list[int] = []

    def statistic(weights: Floats) -> Floats:
        parts = examined(weights)
        stacked = [parts.lower, parts.upper, parts.judge, parts.corrected]
        sizes[:] = [len(part) for part in stacked]
        return np.concatenate(stacked)

    values = left_out(statistic, codes)
    return _Parts(*np.split(values, np.cumsum(sizes)[:-1]))


_FLAT = "one side is constant for every rater"
_NO_JUDGE = "no judge was given"
_GAPS = "it needs a judge, and items with all ratings, which agree to some degree"


def _usable(table: Floats, scores: Floats | None) -> tuple[Codes, Floats, Floats | None]:
    """The items with two ratings, and with a score where there is a judge."""
    import numpy as np

    kept = (~np.isnan(table)).sum(axis=1) >= 2
    if scores is None:
        return np.flatnonzero(kept), table[kept], None
    same_length(scores, table)
    kept = kept & ~np.isnan(scores)
    return np.flatnonzero(kept), table[kept], scores[kept]


class _Examination:
    """Each rater and the judge against the others, for items that count as often as they are drawn."""

    def __init__(self, table: Floats, scores: Floats | None, kind: Kind) -> None:
        import numpy as np

        self.parts = []
        present = ~np.isnan(table)
        total, sizes = np.where(present, table, 0).sum(axis=1), present.sum(axis=1)
        # Equal means must be equal for any order of the sum, or ranks would separate them.
        everyone = np.round(total / sizes, 12)
        for rater in range(table.shape[1]):
            rated_items = np.flatnonzero(present[:, rater])
            scores_of_rater = table[rated_items, rater]
            rest = np.round((total[rated_items] - scores_of_rater) / (sizes[rated_items] - 1), 12)
            judge = None if scores is None else weighted(scores[rated_items], rest, kind)
            sides = (
                weighted(scores_of_rater, rest, kind),
                weighted(scores_of_rater, everyone[rated_items], kind),
                judge,
            )
            self.parts.append((rated_items, sides))
        is_whole = bool(present.all()) and scores is not None
        self.table = scaled(table) if is_whole else None
        self.judge_all = weighted(scores, everyone, kind) if is_whole and scores is not None else None

    def __call__(self, counts: Floats) -> _Parts:
        import numpy as np

        none = np.full(counts.shape[1], np.nan)
        coefficients: list[list[Floats]] = [[], [], []]
        for rated_items, sides in self.parts:
            drawn = counts[rated_items]
            for place, side in enumerate(sides):
                coefficients[place].append(none if side is None or len(rated_items) < 2 else side(drawn))
        lower, upper, judge = (np.stack(part) for part in coefficients)
        corrected = none
        if self.table is not None and self.judge_all is not None:
            with np.errstate(all="ignore"):
                corrected = self.judge_all(counts) / np.sqrt(_reliability(self.table, counts))
        return _Parts(lower, upper, judge, corrected[None, :])


def _reliability(table: Floats, counts: Floats) -> Floats:
    """ICC(C,k) of weighted items: 1 - mean square of error / mean square of items; NaN where not above 0."""
    import numpy as np

    k, n = table.shape[1], counts.sum(axis=0)
    by_item = table.mean(axis=1)
    middle = np.einsum("ib,i->b", counts, by_item) / n
    items = k * (np.einsum("ib,i->b", counts, by_item**2) - n * middle**2)
    total = np.einsum("ib,i->b", counts, (table**2).sum(axis=1)) - n * k * middle**2
    by_rater = np.einsum("ib,ij->jb", counts, table) / n
    raters = n * ((by_rater - middle) ** 2).sum(axis=0)
    with np.errstate(all="ignore"):
        reliability = 1 - (total - items - raters) / ((n - 1) * (k - 1)) / (items / (n - 1))
    return np.where(reliability > 0, reliability, np.nan)


def _over_raters(values: Floats) -> Floats:
    """The mean over the raters for whom there is a value."""
    import numpy as np

    is_defined = ~np.isnan(values)
    with np.errstate(all="ignore"):
        mean: Floats = np.where(is_defined, values, 0).sum(axis=0) / is_defined.sum(axis=0)
    return mean


def _share(lower: Estimate, judge: Estimate, draws: list[_Parts], frame: _Frame) -> Estimate:
    import numpy as np

    if lower.value is None or judge.value is None:
        return undefined(
            "the ceiling or the judge is undefined", n=lower.n, n_undefined=lower.n_undefined, unit="item"
        )
    if lower.value <= 0:
        why = "the raters do not agree with each other, so there is no ceiling to reach"
        return undefined(why, n=lower.n, n_undefined=lower.n_undefined, unit="item")
    tops = np.concatenate([_over_raters(each.judge) for each in draws])
    bottoms = np.concatenate([_over_raters(each.lower) for each in draws])
    name, value = "the judge as a share of the ceiling", judge.value / lower.value
    with np.errstate(all="ignore"):
        values = np.where(bottoms > 0, tops / bottoms, np.nan)
    if frame.codes is None:
        return frame.estimate(value, values, name, "linear")
    # The ratio is skewed to the left where the judge is below the raters; its square is not.
    squared = jackknife_interval(
        _squared(value), _squared(values), frame.codes, scale="linear", limits=(-math.inf, math.inf)
    )
    if squared.low is None or squared.high is None:
        return frame.with_interval(value, squared, name)
    low, high = (math.copysign(math.sqrt(abs(end)), end) for end in (squared.low, squared.high))
    return frame.with_interval(value, squared._replace(low=low, high=high), name)


Ratio = TypeVar("Ratio", float, "Floats")


def _squared(ratio: Ratio) -> Ratio:
    """The square with the sign of the ratio."""
    return ratio * abs(ratio)
