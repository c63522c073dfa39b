"""Simulations of means and differences corrected with labels: unequal probabilities, ceilings, groups, and plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from adjudge.records import Estimate
from adjudge.stats import labels_needed, ppi_difference, ppi_mean
from adjudge.stats.drift import drift
from promises import Check

Array = np.ndarray


def _labels(random: np.random.Generator, people: Array, probabilities: Array) -> list[float | None]:
    drawn = random.random(len(people)) < probabilities
    return [float(value) if is_drawn else None for value, is_drawn in zip(people, drawn, strict=True)]


def difference_under_sampling() -> Check:
    """Two systems on 300 inputs, uncertain items drawn four times as often, as `sample --where uncertain` does."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        covered = 0
        for _ in range(worlds):
            hard = random.normal(size=300)
            sides = []
            for lenient in (0.0, 0.6):
                people = np.clip(np.round(3.3 + hard + random.normal(0, 0.7, 300)), 1, 5)
                is_unsure = random.random(300) < (0.5 if lenient else 0.2)
                # The judge errs where it is unsure, one system more often than the other.
                judge = np.clip(people + is_unsure * random.choice([1, 1, -1], 300), 1, 5)
                chance = np.where(is_unsure, 0.48, 0.12)
                sides.append((_labels(random, people, chance), judge.tolist(), chance.tolist()))
            (y, f, p), (g, h, q) = sides
            found = ppi_difference(y, f, g, h, probabilities=(p, q), limits=(1.0, 5.0)).corrected
            truth = 0.0
            covered += found.low is not None and found.high is not None and found.low <= truth <= found.high
        return covered / worlds

    return Check(
        "Corrected difference, unequal probabilities",
        "300 inputs, uncertain items 4 × as often",
        0.93,
        0.99,
        run,
    )


FIVE = (1.0, 2.0, 3.0, 4.0, 5.0)
HALVES = tuple(np.arange(0, 10.5, 0.5).tolist())


class Ceiling(NamedTuple):
    """Labels with these shares of each level, and a judge with this noise and leniency."""

    name: str
    levels: Sequence[float]
    shares: Sequence[float]
    noise: float = 0.8
    lenient: float = 0.0

    @property
    def truth(self) -> float:
        return float(np.dot(self.levels, self.shares))

    def corrected(self, random: np.random.Generator, n: int) -> tuple[Estimate, Estimate]:
        """The corrected mean and that of the labels alone, from n labels of 1,000 items."""
        step = min(high - low for low, high in pairwise(self.levels))
        people = random.choice(self.levels, p=self.shares, size=1000)
        heard = people + self.lenient + random.normal(0, self.noise, 1000)
        judge = np.clip(np.round(heard / step) * step, self.levels[0], self.levels[-1])
        labels: list[float | None] = [None] * 1000
        for place in random.choice(1000, n, replace=False).tolist():
            labels[place] = float(people[place])
        found = ppi_mean(labels, judge.tolist(), limits=(self.levels[0], self.levels[-1]))
        return found.corrected, found.labels_only


MOST_FIVES = Ceiling("85 % at 5 of 1–5", FIVE, (0.05, 0.0, 0.0, 0.1, 0.85))
MOST_TENS = Ceiling(
    "0–10 in half points at the ceiling", HALVES,
    (0.0, 0.0, 0.0, 0.0, 0.05, *(0.0,) * 11, 0.05, 0.0, 0.1, 0.2, 0.6),
)  # fmt: skip
HIGH = Ceiling("half at 5 of 1–5, lenient judge", FIVE, (0.02, 0.05, 0.1, 0.33, 0.5), 0.7, 0.3)


def bias_at_the_ceiling(world: Ceiling, n: int) -> Check:
    """The bias of the corrected mean in points: 3 % is three hundredths of a point."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        errors = [(world.corrected(random, n)[0].value or math.nan) - world.truth for _ in range(worlds)]
        return abs(float(np.nanmean(errors)))

    return Check("Corrected mean: bias in points × 100 %", f"{world.name}, {n} labels", 0.0, 0.03, run)


def covers_at_the_ceiling(world: Ceiling, n: int, low: float = 0.93) -> Check:
    def run(worlds: int, seed: int) -> float:
        random, covered = np.random.default_rng(seed), 0
        for _ in range(worlds):
            found = world.corrected(random, n)[0]
            covered += found.low is not None and found.low <= world.truth <= (found.high or 0.0)
        return covered / worlds

    return Check("Corrected mean", f"{world.name}, {n} labels", low, 1.0, run)


def error_to_labels(world: Ceiling, n: int) -> Check:
    """The root mean square error of the corrected mean as a share of that of the labels alone."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        pairs = [world.corrected(random, n) for _ in range(worlds)]
        errors = [[(one.value or math.nan) - world.truth for one in pair] for pair in pairs]
        corrected, alone = np.sqrt(np.nanmean(np.square(errors), axis=0))
        return float(corrected / alone)

    return Check(
        "Corrected mean: its error / that of the labels", f"{world.name}, {n} labels", 0.0, 1.05, run
    )


def _grouped(random: np.random.Generator, n_groups: int, size: int) -> tuple[Array, Array, list[int]]:
    groups = np.repeat(np.arange(n_groups), size)
    people = (
        3
        + math.sqrt(0.4) * random.normal(size=n_groups)[groups]
        + math.sqrt(0.6) * random.normal(size=len(groups))
    )
    return people, people + random.normal(0, 0.6, len(groups)), groups.tolist()


def plan_with_groups() -> Check:
    """A plan from 40 groups of 3 labels: the median width reached with the groups that it names, against the request."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        within = 0
        for _ in range(worlds):
            people, judge, groups = _grouped(random, 80, 5)
            labels = [float(y) if place % 5 < 3 else None for place, y in enumerate(people)]
            plan = labels_needed(labels, judge.tolist(), 0.3, groups)
            assert plan.groups is not None
            people, judge, groups = _grouped(random, plan.groups, 5)
            labels = [float(y) if place % 5 < 3 else None for place, y in enumerate(people)]
            found = ppi_mean(labels, judge.tolist(), clusters=groups).corrected
            assert found.low is not None
            assert found.high is not None
            within += found.high - found.low <= 0.3 * 1.1
        return within / worlds

    return Check(
        "Plan with groups: width at most 10 % above the request", "80 groups of 5, ICC .4", 0.9, 1.0, run
    )


def false_drift(n_looks: int) -> Check:
    """A judge that did not change, with its stored replies as one noisy draw: how often any look says "changed"."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        alarms = 0
        for _ in range(worlds):
            truth = random.choice([2.0, 3.0, 4.0], 100)

            def draw(truth: Array = truth) -> list[float]:
                return np.clip(np.round(truth + random.normal(0, 0.6, 100)), 1, 5).tolist()

            looks = drift(draw(), [draw() for _ in range(n_looks)], 0.2)
            alarms += any(look.verdict == "changed" for look in looks)
        return alarms / worlds

    return Check(
        "Drift: false alarm at any look", f"unchanged judge, 100 items, {n_looks} looks", 0.0, 0.05, run
    )


def drift_found() -> Check:
    """A judge whose scores rose by 0.3 standard deviations: found at the tenth look or before."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        found = 0
        for _ in range(worlds):
            truth = random.normal(3, 1, 200)
            stored = truth + random.normal(0, 0.6, 200)
            fresh = [(truth + 0.3 + random.normal(0, 0.6, 200)).tolist() for _ in range(10)]
            found += any(look.verdict == "changed" for look in drift(stored.tolist(), fresh, 0.2))
        return found / worlds

    return Check("Drift: a shift of 0.3 SD found within 10 looks", "200 items", 0.9, 1.0, run)


CHECKS = (
    false_drift(50),
    drift_found(),
    difference_under_sampling(),
    *(bias_at_the_ceiling(world, n) for world in (MOST_FIVES, MOST_TENS, HIGH) for n in (20, 50)),
    covers_at_the_ceiling(MOST_FIVES, 20),
    covers_at_the_ceiling(MOST_FIVES, 50),
    # The rare 2 is missing in a third of such samples; the labels alone cover 87 %.
    covers_at_the_ceiling(MOST_TENS, 20, 0.91),
    covers_at_the_ceiling(MOST_TENS, 50),
    covers_at_the_ceiling(HIGH, 20),
    *(error_to_labels(world, n) for world in (MOST_FIVES, MOST_TENS, HIGH) for n in (20, 50)),
    plan_with_groups(),
)
