"""Inter-rater agreement as a ceiling for the judge.

The ceiling is the correlation of one rater with the mean of the others (lower bound) and with the mean of all, the
rater included (upper bound), averaged over raters (Nili et al. 2014). The judge is compared with the same means of the
others, so that judge and rater are measured in the same way.

Can the judge replace a human rater? The alternative annotator test (Calderon, Reichart and Dror 2025).

Each rater in turn is left out, and the judge and that rater are compared with the others: which of the two is
closer to them, item by item? The judge wins against a rater if the rater's advantage is below eps, the cost of a
human rating. omega is the share of raters it wins against, rho how often it is at least as close.

Where most ratings are one level, a judge that always gives that level passes. So two rivals take the same test: the best
constant answer, and the judge's own answers shuffled over the items. The judge passes only where it is significantly
closer than both.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    CONFIDENCE,
    Interval,
    JackknifeScale,
    Numbers,
    Ratings,
    blocks,
    draw,
    few_groups,
    few_units,
    floats,
    generator,
    jackknife_interval,
    label_codes,
    left_out,
    make_estimate,
    no_interval,
    percentile_interval,
    rated,
    same_length,
    scaled,
    sensible,
    sums_left_out,
    undefined,
)
from .correlation import NAMES, Kind, weighted
from .means import standard_error
from .paired import adjusted

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
    """The ceiling with intervals over items, or over groups of them. With a judge, only items that it scored are used."""
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
        [examined(draw(rng, n, size)) for size in blocks(n_resamples, n * 4)]
        if codes is None
        else [_left_out(examined, codes)]
    )
    frame = _Frame(n, n_undefined, codes, seed)

    def estimate(part: str, what: str, why: str) -> Estimate:
        value = float(_over_raters(getattr(once, part))[0])
        if not math.isfinite(value):
            return undefined(why, n=n, n_undefined=n_undefined, unit="item")
        values = np.concatenate([_over_raters(getattr(each, part)) for each in draws])
        # The judge's part is a plain correlation; what the raters' own agreement is in is skewed the other way.
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


# -- severity


Basis = Literal["same items", "judge"]

_FEWEST_RATED = 10
"""Ratings below which the severity of a rater has no interval."""


def rater_severity(
    ratings: Ratings,
    judge: Numbers,
    *,
    clusters: Sequence[Hashable] | None = None,
    width: float | None = None,
) -> dict[int, tuple[Estimate, Basis]]:
    """How much higher each rater scores than the others, with intervals that hold together (Bonferroni).

    On the items that others rated as well; where a rater shares no item with another, by the distances of both from the
    judge's scores. `width` is that of the scale, which no difference exceeds.
    """
    import numpy as np

    table, scores = rated(ratings), floats(judge)
    same_length(table, scores, clusters)
    confidence = 1 - (1 - CONFIDENCE) / max(1, table.shape[1])
    severities: dict[int, tuple[Estimate, Basis]] = {}
    for rater in range(table.shape[1]):
        own, others = table[:, rater], np.delete(table, rater, axis=1)
        n_others = (~np.isnan(others)).sum(axis=1)
        is_shared = ~np.isnan(own) & (n_others > 0)
        if is_shared.any():
            rest = np.where(np.isnan(others), 0, others).sum(axis=1) / np.maximum(n_others, 1)
            sides = np.stack(
                [np.where(is_shared, own - rest, np.nan), np.where(is_shared, 0.0, np.nan)], axis=1
            )
            severities[rater] = _severity(sides, clusters, confidence, width), "same items"
        else:
            gaps = others - scores[:, None]
            n_gaps = (~np.isnan(gaps)).sum(axis=1)
            with np.errstate(all="ignore"):
                of_others = np.where(np.isnan(gaps), 0, gaps).sum(axis=1) / n_gaps
            sides = np.stack([own - scores, of_others], axis=1)
            severities[rater] = _severity(sides, clusters, confidence, width), "judge"
    return severities


def _severity(
    sides: Floats, clusters: Sequence[Hashable] | None, confidence: float, width: float | None
) -> Estimate:
    """The mean of one side - that of the other; NaN where an item is not on a side."""
    import numpy as np

    present = ~np.isnan(sides)
    used = np.flatnonzero(present.any(axis=1))
    codes, n_units = (
        (np.arange(len(used)), len(used))
        if clusters is None
        else label_codes([clusters[i] for i in used.tolist()])
    )
    unit = "item" if clusters is None else f"group (n={n_units})"
    n = int(present[:, 0].sum())
    if not present.any(axis=0).all():
        return undefined("no scored item of this rater, or of another", n=n, unit=unit)
    parts = np.concatenate([np.where(present, sides, 0), present], axis=1)[used].astype(np.float64)

    def difference(sums: Floats) -> Floats:
        with np.errstate(all="ignore"):
            means = sums[:, :2] / sums[:, 2:]
        apart: Floats = means[:, 0] - means[:, 1]
        return apart

    value, limit = float(difference(parts.sum(axis=0)[None, :])[0]), math.inf if width is None else width
    interval = no_interval(f"fewer than {_FEWEST_RATED} ratings")
    if min(present.sum(axis=0)) >= _FEWEST_RATED:
        interval = jackknife_interval(
            value, difference(sums_left_out(parts, codes)), codes,
            unit="items" if clusters is None else "groups", scale="linear", limits=(-limit, limit),
            confidence=confidence,
        )  # fmt: skip
    return make_estimate(
        value, interval, "rater - other raters", n=n, unit=unit,
        cautions=() if clusters is None else few_groups(n_units),
    )  # fmt: skip


Answer = float | str | None
Closeness = Literal["equal", "near"]
_MOST_VALUES = 60
"""Different answers up to which each is tried; a judge by likelihood has as many as items."""
_N_SHUFFLES = 50
"""Shuffles over which the winning rate of shuffled answers is averaged."""


EPSILON = 0.2
"""How much less often than a rater the judge may be closer: what a human rating costs. For raters who are experts."""


class RaterTest(Struct, frozen=True):
    """The judge against one rater."""

    rater: int
    """the rater's column"""
    n: int
    """items that this rater, another rater and the judge rated"""
    advantage: float | None = None
    """how often the judge is at least as close to the others"""
    difference: float | None = None
    """how much more often the rater is closer than the judge"""
    p: float | None = None
    wins: bool = False
    why: str = ""
    """why there is no test, or how it had to be done"""


class Rival(Struct, frozen=True):
    """What takes the same test without looking at the items."""

    winning_rate: float
    """omega; of shuffled answers the mean over shuffles"""
    advantage: float
    """how often it is at least as close to the others as a rater is"""
    lead: Estimate
    """the judge's advantage - that of the rival"""
    is_beaten: bool
    """whether the judge's lead is significantly above 0"""
    answer: float | str | None = None
    """the constant answer; none for shuffled answers"""


class AltTest(Struct, frozen=True):
    """Whether the judge can replace a human rater, and the tests behind it."""

    winning_rate: Estimate
    advantage: Estimate
    passes: bool | None
    """whether omega is at least one half and both rivals are beaten; none where it is undefined"""
    eps: float
    raters: tuple[RaterTest, ...]
    cautions: tuple[str, ...] = ()
    constant: Rival | None = None
    """the constant answer with the highest advantage"""
    shuffled: Rival | None = None
    """the judge's own answers shuffled over the items"""


def alt_test(
    judge: Sequence[Answer],
    ratings: Sequence[Sequence[Answer]],
    closeness: Closeness = "near",
    *,
    eps: float = EPSILON,
    q: float = 0.05,
    min_items: int = 30,
    names: Sequence[str] = (),
    levels: Sequence[float | str] = (),
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> AltTest:
    """The test over items × raters. `near` compares squared distances, `equal` counts equal answers.

    eps is .2 where the raters are experts, .15 where they are skilled, .1 where they are a crowd. A
    missing answer of the judge takes its item out of the test and is counted as failed. `names` are the raters'.
    `levels` are the constants that compete, beside the answers that occur. `clusters` are the items' groups.
    """
    import numpy as np

    table, scores, constants = _as_numbers(judge, ratings, levels)
    present = ~np.isnan(table)
    is_rated = present.sum(axis=1) >= 2 if table.size else np.zeros(len(table), dtype=bool)
    n_failed = int((is_rated & np.isnan(scores)).sum())
    kept = is_rated & ~np.isnan(scores)
    groups = None if clusters is None else [clusters[i] for i in np.flatnonzero(kept).tolist()]
    grid = _Grid(table[kept], closeness, groups)
    duels = [grid.duel(scores[kept], rater) for rater in range(table.shape[1])]
    tests = [_tested(rater, duel, eps, min_items, groups) for rater, duel in enumerate(duels)]
    made = [place for place, test in enumerate(tests) if test.advantage is not None]
    tests = _decided(tests, made, q)
    n = int(kept.sum())
    cautions = _cautions(tests, made, n_failed, n, names)
    unit = f"rater (n={len(made)})"
    if not made:
        none = undefined(_why(table, n, min_items), n=n, n_failed=n_failed, unit=unit)
        return AltTest(none, none, None, eps, tuple(tests), cautions)
    omega = sum(tests[place].wins for place in made) / len(made)
    few = no_interval("it is a share of the few raters, each won or not")
    name = f"winning rate at eps = {eps:g}, Benjamini-Yekutieli at {q:g}"
    rate = make_estimate(omega, few, name, n=n, n_failed=n_failed, unit=unit)
    own = [duels[place] for place in made]
    rho = structs.replace(_advantage(own, grid), n_failed=n_failed)
    match = _Match(grid, own, tuple(made), eps, q, min_items)
    constant = _best_constant(match, constants)
    shuffled = _shuffled(match, scores[kept], seed)
    passes = omega >= 0.5 and constant.is_beaten and shuffled.is_beaten
    return AltTest(rate, rho, passes, eps, tuple(tests), cautions, constant, shuffled)


class _Duel(Struct, frozen=True):
    """On which items the judge, and on which the rater, is at least as close to the others."""

    items: Codes
    judge: Floats
    rater: Floats


def _as_numbers(
    judge: Sequence[Answer], ratings: Sequence[Sequence[Answer]], levels: Sequence[float | str]
) -> tuple[Floats, Floats, dict[float, float | str]]:
    """Answers as numbers, words (a, b, tie) as numbers that stand for them; and each constant by its number."""
    import numpy as np

    if len(judge) != len(ratings):
        raise ValueError(f"{len(judge)} judged items against {len(ratings)} rated ones")
    width = len(ratings[0]) if ratings else 0
    if any(len(row) != width for row in ratings):
        raise ValueError("rows of different lengths: give every item a place for every rater")
    flat = [*judge, *(answer for row in ratings for answer in row), *levels]
    originals = list(flat)
    if any(isinstance(answer, str) for answer in flat):
        numbers, _ = label_codes(flat)
        flat = [
            None if answer is None else float(number) for answer, number in zip(flat, numbers, strict=True)
        ]
    array = sensible(np.array(flat, dtype=np.float64))
    constants = {
        float(number): answer
        for number, answer in zip(array.tolist(), originals, strict=True)
        if answer is not None and math.isfinite(number)
    }
    n = len(judge)
    return array[n : n + n * width].reshape(n, width), array[:n], constants


class _Grid:
    """The ratings that judge and rivals are compared with."""

    def __init__(self, table: Floats, closeness: Closeness, groups: Sequence[Hashable] | None) -> None:
        import numpy as np

        self.table, self.closeness = table, closeness
        self.groups = groups
        self.codes = np.arange(len(table)) if groups is None else label_codes(groups)[0]
        self.items = [np.flatnonzero(~np.isnan(column)) for column in table.T]
        self.others = [np.delete(table[kept], rater, axis=1) for rater, kept in enumerate(self.items)]
        self.of_rater = [self.distance(table[kept, rater], rater) for rater, kept in enumerate(self.items)]

    def distance(self, answers: Floats, rater: int) -> Floats:
        """How far the answers on a rater's items are from the others' ratings."""
        import numpy as np

        others = self.others[rater]
        with np.errstate(all="ignore"):
            distances = (
                (others - answers[:, None]) ** 2
                if self.closeness == "near"
                else (others != answers[:, None]) * 1.0
            )
        total: Floats = np.round(np.where(np.isnan(others), 0, distances).sum(axis=1), 9)
        return total

    def duel(self, scores: Floats, rater: int) -> _Duel:
        """The answers against one rater."""
        import numpy as np

        items, of_rater = self.items[rater], self.of_rater[rater]
        of_judge = self.distance(scores[items], rater)
        return _Duel(
            items, (of_judge <= of_rater).astype(np.float64), (of_rater <= of_judge).astype(np.float64)
        )


class _Match(Struct, frozen=True):
    """What the rivals are measured against: the judge's duels with the raters whose tests were made."""

    grid: _Grid
    duels: list[_Duel]
    raters: tuple[int, ...]
    eps: float
    q: float
    min_items: int

    def winning_rate(self, scores: Floats) -> float:
        duels = [self.grid.duel(scores, rater) for rater in self.raters]
        tests = [_tested(i, duel, self.eps, self.min_items, self.grid.groups) for i, duel in enumerate(duels)]
        return sum(test.wins for test in _decided(tests, list(range(len(tests))), self.q)) / len(tests)

    def rival(self, duels: list[_Duel], winning_rate: float, answer: float | str | None) -> Rival:
        """The rival's numbers and the judge's lead over it, item by item."""
        lead = _advantage(self.duels, self.grid, duels)
        is_beaten = lead.low is not None and lead.low > 0
        advantage = sum(float(duel.judge.mean()) for duel in duels) / len(duels)
        return Rival(winning_rate, advantage, lead, is_beaten, answer)


def _thinned(ordered: Floats) -> tuple[Floats, Codes]:
    """The different values with their counts; of very many, as many as are spread evenly over them."""
    import numpy as np

    if len(np.unique(ordered)) > _MOST_VALUES:
        ordered = ordered[np.linspace(0, len(ordered) - 1, _MOST_VALUES).round().astype(np.int64)]
    values, counts = np.unique(ordered, return_counts=True)
    return values, counts


def _best_constant(match: _Match, constants: dict[float, float | str]) -> Rival:
    """The constant with the highest advantage: chosen with the ratings in view, so that it is hard to beat."""
    import numpy as np

    numbers, _ = _thinned(np.array(sorted(constants)))
    duels = {
        number: [match.grid.duel(np.full(len(match.grid.table), number), rater) for rater in match.raters]
        for number in numbers.tolist()
    }
    best = max(duels, key=lambda number: sum(float(duel.judge.mean()) for duel in duels[number]))
    rate = match.winning_rate(np.full(len(match.grid.table), best))
    return match.rival(duels[best], rate, constants[best])


def _shuffled(match: _Match, scores: Floats, seed: int) -> Rival:
    """The judge's answers on items drawn at random: the advantage is the mean over all shuffles, not over some."""
    import numpy as np

    values, counts = _thinned(np.sort(scores))
    expected = []
    for rater in match.raters:
        duels = [match.grid.duel(np.full(len(scores), value), rater) for value in values]
        judge, other = (
            np.average([getattr(duel, side) for duel in duels], axis=0, weights=counts)
            for side in ("judge", "rater")
        )
        expected.append(_Duel(match.grid.items[rater], judge, other))
    rng = generator(seed)
    rates = [match.winning_rate(rng.permutation(scores)) for _ in range(_N_SHUFFLES)]
    return match.rival(expected, sum(rates) / len(rates), None)


def _tested(
    rater: int, duel: _Duel, eps: float, min_items: int, groups: Sequence[Hashable] | None
) -> RaterTest:
    """The one-sided t test of the rater's advantage against eps, over items or over their groups."""
    from scipy.special import stdtr

    n = len(duel.items)
    if n < max(2, min_items):
        return RaterTest(rater, n, why=f"{n} items, fewer than {max(2, min_items)}")
    d = duel.rater - duel.judge
    mean, advantage = float(d.mean()), float(duel.judge.mean())
    if d.min() == d.max():
        return _of_equal_items(rater, n, mean, advantage, eps)
    precision = standard_error(
        d.tolist(), None if groups is None else [groups[item] for item in duel.items.tolist()]
    )
    if precision is None or precision.se <= 0:
        why = "all items belong to one group" if precision is None else "every group says the same"
        return RaterTest(rater, n, advantage, mean, None, why=f"{why}: there is no test")
    t = (mean - eps) / precision.se
    return RaterTest(rater, n, advantage, mean, float(stdtr(precision.df, t)))


def _of_equal_items(rater: int, n: int, mean: float, advantage: float, eps: float) -> RaterTest:
    """The result where all items agree, so that there is no variance for a t test.

    If the rater's true advantage were eps, some items would have to differ, by 1 at the most: the
    share of the others is then at most (1 - eps) / (1 - mean), and to see none of them in n items
    has at most the nth power of that as its probability.
    """
    if mean >= eps:
        why = (
            "judge and rater are equally close on every item"
            if mean == 0
            else "the rater is closer on every item"
        )
        return RaterTest(rater, n, advantage, mean, None, why=f"{why}, which is not below eps = {eps:g}")
    p = ((1 - min(1.0, eps)) / (1 - mean)) ** n
    return RaterTest(
        rater, n, advantage, mean, p, why="all items say the same: exact bound in place of a t test"
    )


def _decided(tests: list[RaterTest], made: list[int], q: float) -> list[RaterTest]:
    """The tests with their winners, by Benjamini and Yekutieli over the raters."""
    # A test that was made and has no p-value counts as one that found nothing.
    corrected = adjusted([1.0 if (p := tests[place].p) is None else p for place in made], "by")
    won = {place for place, p in zip(made, corrected, strict=True) if p is not None and p <= q}
    return [structs.replace(test, wins=place in won) for place, test in enumerate(tests)]


def _advantage(duels: list[_Duel], grid: _Grid, rivals: list[_Duel] | None = None) -> Estimate:
    """The mean over raters of the judge's share, or of its lead over a rival; items or groups are independent."""
    import numpy as np

    parts = np.zeros((len(grid.codes), 2 * len(duels)))
    for place, duel in enumerate(duels):
        other = 0.0 if rivals is None else rivals[place].judge
        parts[duel.items, 2 * place], parts[duel.items, 2 * place + 1] = duel.judge - other, 1.0
    used = parts[:, 1::2].any(axis=1)
    parts, (codes, n_units) = parts[used], label_codes(grid.codes[used].tolist())

    def mean(sums: Floats) -> Floats:
        with np.errstate(all="ignore"):
            shares: Floats = (sums[:, 0::2] / sums[:, 1::2]).mean(axis=1)
        return shares

    value = float(mean(parts.sum(axis=0)[None, :])[0])
    limits = (0.0, 1.0) if rivals is None else (-1.0, 1.0)
    has_groups = grid.groups is not None
    interval = jackknife_interval(
        value, mean(sums_left_out(parts, codes)), codes, unit="groups" if has_groups else "items",
        scale="linear", limits=limits,
    )  # fmt: skip
    if interval.low is None:
        interval = no_interval("all items belong to one group" if n_units < 2 else "every item says the same")
    what = "advantage: how often the judge is at least as close"
    return make_estimate(
        value, interval, what if rivals is None else "the judge's advantage - that of the rival",
        n=len(parts), unit=f"group (n={n_units})" if has_groups else "item",
        cautions=few_groups(n_units) if has_groups else (),
    )  # fmt: skip


def _why(table: Floats, n: int, min_items: int) -> str:
    if table.shape[1] < 2:
        return "it needs two raters: each is compared with the others"
    if n == 0:
        return "no item has two ratings and an answer of the judge"
    return f"no rater has {min_items} items that another rater and the judge rated, too"


def _cautions(
    tests: list[RaterTest], made: list[int], n_failed: int, n: int, names: Sequence[str]
) -> tuple[str, ...]:
    called = {test.rater: f"rater {test.rater + 1}" for test in tests}
    called.update((place, f"rater '{name}'") for place, name in enumerate(names))
    # With one rater the test is undefined, and says so.
    cautions = [
        f"{called[test.rater]} is left out: {test.why}"
        for test in tests
        if test.advantage is None and len(tests) > 1
    ]
    if made and len(made) < 3:
        cautions.append(f"{len(made)} raters are few: the test needs three")
    if n_failed:
        cautions.append(f"{n_failed} of {n + n_failed} items are left out because the judge gave no answer")
    return tuple(cautions)
