"""Simulations of the judge card: agreement in groups of items, quadratic kappa, parts, single scores, many
judges."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from adjudge.records import Estimate
from adjudge.stats import (
    agreement_in_parts,
    alt_test,
    calibrate,
    correlate,
    gwet,
    krippendorff_alpha,
    many_judges,
    noise_ceiling,
    quadratic_kappa,
    score_interval,
)
from promises import Check

ICC = 0.4
LEVELS = [1.0, 2.0, 3.0, 4.0, 5.0]


def levels(values: Any) -> Any:
    """Scores on 1 to 5."""
    return np.clip(np.round(values), 1, 5)


class World:
    """Scores of a judge and three raters on items in groups that share part of their quality and of the
    errors."""

    def __init__(self, random: np.random.Generator, sizes: Any, *, is_truth: bool = False) -> None:
        codes = np.repeat(np.arange(len(sizes)), sizes)
        self.groups = None if is_truth else codes.tolist()
        self.n_resamples = 1 if is_truth else 2000
        n = len(codes)

        def shared(sd: float) -> Any:
            return random.normal(0, sd, len(sizes))[codes]

        quality = 3 + shared(ICC**0.5) + random.normal(0, (1 - ICC) ** 0.5, n)
        self.judge = levels(quality + 0.4 + shared(0.4) + random.normal(0, 0.6, n))
        errors = shared(0.4)[:, None] + random.normal(0, 0.6, (n, 3))
        self.raters = levels(quality[:, None] + errors)
        self.people = np.round(self.raters.mean(axis=1), 12)


Statistic = Callable[[World], Estimate]


def spearman(world: World) -> Estimate:
    return correlate(
        world.judge.tolist(), world.people.tolist(), groups=world.groups, n_resamples=world.n_resamples
    )


def kappa(world: World) -> Estimate:
    return quadratic_kappa(world.judge.tolist(), world.people.tolist(), world.groups)


def alpha(world: World) -> Estimate:
    return krippendorff_alpha(world.raters.tolist(), clusters=world.groups, n_resamples=world.n_resamples)


def ac2(world: World) -> Estimate:
    pairs = np.stack([np.repeat(world.judge, 3), world.raters.reshape(-1)], axis=1)
    items = np.repeat(np.arange(len(world.judge)), 3)
    groups = None if world.groups is None else np.repeat(world.groups, 3).tolist()
    return gwet(pairs.tolist(), LEVELS, items.tolist(), groups)


def in_ceiling(part: str) -> Statistic:
    def statistic(world: World) -> Estimate:
        found = noise_ceiling(
            world.raters.tolist(), world.judge.tolist(), clusters=world.groups, n_resamples=world.n_resamples
        )
        estimate: Estimate = getattr(found, part)
        return estimate

    return statistic


def advantage(world: World) -> Estimate:
    return alt_test(world.judge.tolist(), world.raters.tolist(), clusters=world.groups).advantage


def distance(world: World) -> Estimate:
    return calibrate(world.people.tolist(), world.judge.tolist(), clusters=world.groups).mae_before


STATISTICS: dict[str, Statistic] = {
    "Spearman with people": spearman,
    "Quadratic kappa": kappa,
    "Krippendorff's alpha of the raters": alpha,
    "Gwet's AC2": ac2,
    "A rater with the others": in_ceiling("lower"),
    "The judge with the raters": in_ceiling("judge"),
    "Judge / rater": in_ceiling("share"),
    "Disattenuated correlation": in_ceiling("corrected"),
    "Alternative annotator test: advantage": advantage,
    "Distance of a score from people": distance,
}

N_TRUTH = 200_000


@cache
def truth(name: str) -> float:
    """The value over so many items that its own error is far below that of a world."""
    random = np.random.default_rng(99)
    world = World(random, random.integers(2, 21, N_TRUTH // 11), is_truth=True)
    value = STATISTICS[name](world).value
    assert value is not None
    return value


def in_groups(name: str, n_groups: int) -> Check:
    """Coverage of one statistic over groups of 2 to 20 items."""

    def run(worlds: int, seed: int) -> float:
        random, right = np.random.default_rng(seed), truth(name)
        covered = 0
        for _ in range(worlds):
            estimate = STATISTICS[name](World(random, random.integers(2, 21, n_groups)))
            assert estimate.low is not None
            assert estimate.high is not None
            covered += estimate.low <= right <= estimate.high
        return covered / worlds

    low, high = (0.93, 0.97) if n_groups >= 20 else (0.90, 1.0)
    return Check(name, f"{n_groups} groups of 2 to 20 items, ICC {ICC}", low, high, run)


def kappa_of_few(n: int, middle: float, noise: float) -> Check:
    """Coverage of quadratic kappa over few independent items."""

    def sides(random: np.random.Generator, n_items: int) -> tuple[list[float], list[float]]:
        quality = random.normal(middle, 1, n_items)
        first, second = (levels(quality + random.normal(0, noise, n_items)) for _ in range(2))
        return first.tolist(), second.tolist()

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        right = quadratic_kappa(*sides(np.random.default_rng(99), 400_000)).value
        covered = 0
        for _ in range(worlds):
            estimate = quadratic_kappa(*sides(random, n))
            covered += estimate.low is not None and estimate.low <= right <= (estimate.high or 0.0)
        return covered / worlds

    return Check("Quadratic kappa", f"{n} items, quality {middle:g} ± 1, noise {noise:g}", 0.93, 1.0, run)


def false_yes(kind: str) -> Check:
    """How often a judge that does not look at the items passes the alternative annotator test."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        passed = 0
        for _ in range(worlds):
            quality = random.normal(5.2, 0.5, 60)
            raters = levels(quality[:, None] + random.normal(0, 0.5, (60, 3)))
            judge = np.full(60, 5.0) if kind == "always 5" else random.permutation(raters[:, 0])
            passed += bool(alt_test(judge.tolist(), raters.tolist(), levels=LEVELS).passes)
        return passed / worlds

    return Check(f"A false yes for a judge: {kind}", "60 items, most ratings are 5", 0.0, 0.05, run)


def true_yes() -> Check:
    """How often a fourth person passes."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        passed = 0
        for _ in range(worlds):
            people = levels(random.normal(3, 1, 150)[:, None] + random.normal(0, 0.6, (150, 4)))
            passed += bool(alt_test(people[:, 0].tolist(), people[:, 1:].tolist(), levels=LEVELS).passes)
        return passed / worlds

    return Check("A yes for a judge that is as good as the raters", "150 items, 3 raters", 0.8, 1.0, run)


def parts_together(n_parts: int) -> Check:
    """How often the intervals of all parts hold together."""

    def run(worlds: int, seed: int) -> float:
        random, right = np.random.default_rng(seed), truth("Spearman with people")
        covered = 0
        for _ in range(worlds):
            world = World(random, random.integers(2, 21, 30 * n_parts))
            found = agreement_in_parts(
                world.judge.tolist(),
                world.people.tolist(),
                [group % n_parts for group in world.groups or ()],
                world.groups,
            )
            covered += all(
                (part.agreement.low or -1.0) <= right <= (part.agreement.high or 1.0)
                for part in found.values()
            )
        return covered / worlds

    return Check("Agreement in parts, all together", f"{n_parts} parts of 30 groups", 0.93, 1.0, run)


def single_score(n_groups: int | None) -> Check:
    """The share of new items whose label is inside the interval of their score."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        covered, total = 0, 0
        for _ in range(worlds):
            sizes = np.ones(60, dtype=int) if n_groups is None else random.integers(2, 21, n_groups)
            world, new = World(random, sizes), World(random, np.ones(50, dtype=int))
            groups = None if n_groups is None else world.groups
            found = score_interval(
                world.people.tolist(), world.judge.tolist(), clusters=groups, limits=(1.0, 5.0)
            )
            for score, label in zip(new.judge.tolist(), new.people.tolist(), strict=True):
                ends = found.around(score)
                assert ends is not None
                covered += ends[0] - 1e-9 <= label <= ends[1] + 1e-9
                total += 1
        return covered / total

    what = "60 labelled items" if n_groups is None else f"{n_groups} labelled groups of 2 to 20"
    return Check("Interval of a single score", what, 0.95, 1.0, run)


def single_score_drawn(is_rare: bool) -> Check:
    """Sure items are drawn a quarter as often, and the judge errs more on them: the labels inside, of these
    or of all."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        covered, total = 0, 0
        for _ in range(worlds):
            people = levels(random.normal(3, 1, 1000))
            is_sure = random.random(1000) < 0.7
            judge = levels(
                people + np.where(is_sure, random.normal(0, 1.2, 1000), random.normal(0, 0.4, 1000))
            )
            chance = np.where(is_sure, 0.12, 0.48)
            drawn = random.random(1000) < chance
            found = score_interval(
                people[drawn].tolist(),
                judge[drawn].tolist(),
                probabilities=chance[drawn].tolist(),
                limits=(1.0, 5.0),
            )
            new = ~drawn & is_sure if is_rare else ~drawn
            for score, label in zip(judge[new].tolist(), people[new].tolist(), strict=True):
                ends = found.around(score)
                assert ends is not None
                covered += ends[0] - 1e-9 <= label <= ends[1] + 1e-9
                total += 1
        return covered / total

    of = "of the items drawn less often" if is_rare else "of all items"
    return Check(
        "Interval of a single score, unequal probabilities",
        f"220 labels, {of}",
        0.93 if is_rare else 0.95,
        1.0,
        run,
    )


def judges_of(random: np.random.Generator, n: int, n_judges: int, lead: float) -> tuple[Any, Any]:
    """Choices of judges that are right on 60 % of items, the last one more often; easy items are easy for
    all."""
    human = random.integers(0, 2, n)
    ease = random.normal(0, 1, n)[:, None]
    shares = np.full(n_judges, 0.6)
    shares[-1] += lead
    from scipy.stats import norm

    is_right = ease + random.normal(0, 1, (n, n_judges)) < norm.ppf(shares) * 2**0.5
    return np.where(is_right, human[:, None], 1 - human[:, None]), human


def best_judge(n_judges: int, lead: float, is_shuffled: bool) -> Check:
    """How often a judge is claimed to be better than the first."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        claimed = 0
        names = np.array(["a", "b"])
        for _ in range(worlds):
            judges, human = judges_of(random, 400, n_judges, lead)
            human = random.permutation(human) if is_shuffled else human
            found = many_judges(names[judges.T].tolist(), names[human].tolist(), is_choices=True, seed=seed)
            claimed += n_judges - 1 in found.improved if lead else bool(found.improved)
        return claimed / worlds

    what = f"{n_judges} judges, 400 pairs, " + (
        "labels shuffled" if is_shuffled else f"one better by {lead:.2f}"
    )
    low, high = (0.8, 1.0) if lead else (0.0, 0.05)
    name = "A better judge is found" if lead else "A false claim of a better judge"
    return Check(name, what, low, high, run)


def best_of_scores(n_judges: int, lead: float) -> Check:
    """The same with Spearman of scores: .50 for all, .60 for the last."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        claimed = 0
        for _ in range(worlds):
            human = random.normal(0, 1, 400)
            common = random.normal(0, 1, 400)
            rho = np.full(n_judges, 0.5)
            rho[-1] += lead
            noise = 0.6**0.5 * common[:, None] + 0.4**0.5 * random.normal(0, 1, (400, n_judges))
            judges = rho * human[:, None] + (1 - rho**2) ** 0.5 * noise
            labels = human if lead else random.permutation(human)
            found = many_judges(judges.T.tolist(), labels.tolist(), seed=seed)
            claimed += n_judges - 1 in found.improved if lead else bool(found.improved)
        return claimed / worlds

    what = f"{n_judges} judges, 400 scores, " + (f"one better by {lead:.2f}" if lead else "labels shuffled")
    low, high = (0.8, 1.0) if lead else (0.0, 0.05)
    name = "A better judge is found" if lead else "A false claim of a better judge"
    return Check(name, what, low, high, run)


CHECKS = [
    *(in_groups(name, n_groups) for name in STATISTICS for n_groups in (10, 20)),
    in_groups("Judge / rater", 40),
    in_groups("Quadratic kappa", 40),
    kappa_of_few(20, 3, 0.7),
    kappa_of_few(20, 4.3, 0.7),
    kappa_of_few(20, 3, 0.3),
    kappa_of_few(50, 4.3, 0.7),
    false_yes("always 5"),
    false_yes("shuffled"),
    true_yes(),
    parts_together(6),
    single_score(None),
    single_score(60),
    single_score_drawn(is_rare=False),
    single_score_drawn(is_rare=True),
    best_judge(4, 0.0, is_shuffled=True),
    best_judge(4, 0.1, is_shuffled=False),
    best_of_scores(4, 0.0),
    best_of_scores(4, 0.1),
]
