"""Can the judge replace a human rater? The alternative annotator test (Calderon, Reichart and Dror 2025).

Each rater in turn is left out, and the judge and that rater are compared with the others: which of the two is
closer to them, item by item? The judge wins against a rater if the rater's advantage is below eps, the cost
of a human rating. omega is the share of raters it wins against, rho how often it is at least as close.

Where most ratings are one level, a judge that always gives that level passes. So two rivals take the same
test: the best constant answer, and the judge's own answers shuffled over the items. The judge passes only
where it is significantly closer than both.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import (
    label_codes,
    make_estimate,
    no_interval,
    sensible,
    undefined,
)
from .means import standard_error
from .multiple_tests import adjusted
from .resample import (
    few_groups,
    generator,
    jackknife_interval,
    sums_left_out,
)

if TYPE_CHECKING:
    from .arrays import Codes, Floats


Answer = float | str | None


Closeness = Literal["equal", "near"]
_MOST_VALUES = 60
"""Different answers up to which each is tried; a judge by likelihood has as many as items."""
_N_SHUFFLES = 50
"""Shuffles over which the winning rate of shuffled answers is averaged."""
EPSILON = 0.2
"""How much less often than a rater the judge may be closer: what a human rating costs. For raters who are
experts."""


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
    missing answer of the judge takes its item out of the test and is counted as failed. `names` are the
    raters'. `levels` are the constants that compete, beside the answers that occur. `clusters` are the items'
    groups.
    """
    import numpy as np

    table, scores, constants = _as_numbers(judge, ratings, levels)
    present = ~np.isnan(table)
    is_rated = present.sum(axis=1) >= 2 if table.size else np.zeros(len(table), dtype=bool)
    n_failed = int((is_rated & np.isnan(scores)).sum())
    kept = is_rated & ~np.isnan(scores)
    # As numbers: hundreds of shuffles look at them again.
    numbered = None if clusters is None else label_codes(clusters)[0]
    groups = None if numbered is None else numbered[kept].tolist()
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
    """Answers as numbers, words (a, b, tie) as numbers that stand for them; and each constant by its
    number."""
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
    """The constant with the highest advantage: chosen with the ratings in view, so that it is hard to
    beat."""
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
    """The judge's answers on items drawn at random: the advantage is the mean over all shuffles, not over
    some."""
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
    """The mean over raters of the judge's share, or of its lead over a rival; items or groups are
    independent."""
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
