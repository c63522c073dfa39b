"""Can the judge replace a human rater? The alternative annotator test (Calderon, Reichart and Dror 2025).

Each rater in turn is left out, and the judge and that rater are compared with the others: which of the two is
closer to them, item by item? The judge wins against a rater if the rater's advantage is below eps, the cost of a
human rating. omega is the share of raters it wins against, rho how often it is at least as close.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from ..records import Estimate
from .arrays import Interval, label_codes, make_estimate, no_interval, sensible, t_quantile, undefined
from .paired import adjusted

if TYPE_CHECKING:
    from .arrays import Codes, Floats

Answer = float | str | None
Closeness = Literal["equal", "near"]


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


class AltTest(Struct, frozen=True):
    """Whether the judge can replace a human rater, and the tests behind it."""

    winning_rate: Estimate
    advantage: Estimate
    passes: bool | None
    """whether omega is at least one half; none where it is undefined"""
    eps: float
    raters: tuple[RaterTest, ...]
    cautions: tuple[str, ...] = ()


def alt_test(
    judge: Sequence[Answer],
    ratings: Sequence[Sequence[Answer]],
    closeness: Closeness = "near",
    *,
    eps: float = 0.2,
    q: float = 0.05,
    min_items: int = 30,
    names: Sequence[str] = (),
) -> AltTest:
    """The test over items × raters. `near` compares squared distances, `equal` counts equal answers.

    eps is .2 where the raters are experts, .15 where they are skilled, .1 where they are a crowd. A
    missing answer of the judge takes its item out of the test and is counted as failed. `names` are the raters'.
    """
    import numpy as np

    table, scores = _as_numbers(judge, ratings)
    present = ~np.isnan(table)
    is_rated = present.sum(axis=1) >= 2 if table.size else np.zeros(len(table), dtype=bool)
    n_failed = int((is_rated & np.isnan(scores)).sum())
    kept = is_rated & ~np.isnan(scores)
    duels = [_duel(table[kept], scores[kept], rater, closeness) for rater in range(table.shape[1])]
    tests = [_tested(rater, duel, eps, min_items) for rater, duel in enumerate(duels)]
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
    rho = _advantage([duels[place] for place in made], n_failed)
    return AltTest(rate, rho, omega >= 0.5, eps, tuple(tests), cautions)


class _Duel(Struct, frozen=True):
    """On which items the judge, and on which the rater, is at least as close to the others."""

    items: Codes
    judge: Floats
    rater: Floats


def _as_numbers(judge: Sequence[Answer], ratings: Sequence[Sequence[Answer]]) -> tuple[Floats, Floats]:
    """Answers as numbers; words (a, b, tie) as numbers that stand for them."""
    import numpy as np

    if len(judge) != len(ratings):
        raise ValueError(f"{len(judge)} judged items against {len(ratings)} rated ones")
    width = len(ratings[0]) if ratings else 0
    if any(len(row) != width for row in ratings):
        raise ValueError("rows of different lengths: give every item a place for every rater")
    flat = [*judge, *(answer for row in ratings for answer in row)]
    if any(isinstance(answer, str) for answer in flat):
        numbers, _ = label_codes(flat)
        flat = [
            None if answer is None else float(number) for answer, number in zip(flat, numbers, strict=True)
        ]
    array = sensible(np.array(flat, dtype=np.float64))
    return array[len(judge) :].reshape(len(judge), width), array[: len(judge)]


def _duel(table: Floats, scores: Floats, rater: int, closeness: Closeness) -> _Duel:
    import numpy as np

    items = np.flatnonzero(~np.isnan(table[:, rater]))
    others = np.delete(table[items], rater, axis=1)

    def distance(answers: Floats) -> Floats:
        with np.errstate(all="ignore"):
            distances = (
                (others - answers[:, None]) ** 2
                if closeness == "near"
                else (others != answers[:, None]) * 1.0
            )
        total: Floats = np.round(np.where(np.isnan(others), 0, distances).sum(axis=1), 9)
        return total

    of_judge, of_rater = distance(scores[items]), distance(table[items, rater])
    return _Duel(items, (of_judge <= of_rater).astype(np.float64), (of_rater <= of_judge).astype(np.float64))


def _tested(rater: int, duel: _Duel, eps: float, min_items: int) -> RaterTest:
    """The one-sided t test of the rater's advantage against eps."""
    from scipy.special import stdtr

    n = len(duel.items)
    if n < max(2, min_items):
        return RaterTest(rater, n, why=f"{n} items, fewer than {max(2, min_items)}")
    d = duel.rater - duel.judge
    mean, advantage = float(d.mean()), float(duel.judge.mean())
    if d.min() == d.max():
        return _of_equal_items(rater, n, mean, advantage, eps)
    t = (mean - eps) / math.sqrt(float(d.var(ddof=1)) / n)
    return RaterTest(rater, n, advantage, mean, float(stdtr(n - 1, t)))


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


def _advantage(duels: list[_Duel], n_failed: int) -> Estimate:
    """The mean over raters of the judge's share; items are the independent observations."""
    import numpy as np

    rho = float(np.mean([duel.judge.mean() for duel in duels]))
    parts = np.zeros(max(int(duel.items.max()) for duel in duels) + 1)
    for duel in duels:
        parts[duel.items] += (duel.judge - duel.judge.mean()) / (len(duel.items) * len(duels))
    n = len({int(item) for duel in duels for item in duel.items})
    se = math.sqrt(float((parts**2).sum()) * n / (n - 1))
    interval = no_interval("every item says the same")
    if se > 1e-12:
        half = t_quantile(n - 1) * se
        interval = Interval(max(0.0, rho - half), min(1.0, rho + half), ", t interval")
    name = "advantage: how often the judge is at least as close"
    return make_estimate(rho, interval, name, n=n, n_failed=n_failed)


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
    cautions = [f"{called[test.rater]} is left out: {test.why}" for test in tests if test.advantage is None]
    if made and len(made) < 3:
        cautions.append(f"{len(made)} raters are few: the test needs three")
    if n_failed:
        cautions.append(f"{n_failed} of {n + n_failed} items are left out because the judge gave no answer")
    return tuple(cautions)
