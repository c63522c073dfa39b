"""Simulations of means and differences corrected with labels: unequal probabilities, ceilings, groups, and
plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from adjudge.analysis.gate.decision import decision_by_interval
from adjudge.analysis.pilot import Pilot
from adjudge.analysis.plan import planned
from adjudge.records import Estimate
from adjudge.stats import labels_needed, ppi_difference, ppi_mean
from adjudge.stats.drift import drift
from promises import Check

Array = np.ndarray


def _labels(random: np.random.Generator, people: Array, probabilities: Array) -> list[float | None]:
    drawn = random.random(len(people)) < probabilities
    return [float(value) if is_drawn else None for value, is_drawn in zip(people, drawn, strict=True)]


def difference_under_sampling() -> Check:
    """Two systems on 300 inputs, uncertain items drawn four times as often, as `sample --where uncertain`
    does."""

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


def false_pass_of_a_drop(name: str, levels: Sequence[float], shares: Sequence[float], n_labels: int) -> Check:
    """`gate --max-drop` with labels of both runs, where the true drop is what is allowed: a false pass."""

    def run(worlds: int, seed: int) -> float:
        random, passed = np.random.default_rng(seed), 0
        for _ in range(worlds):
            before = random.choice(levels, p=shares, size=300)
            # A tenth of the items fall to the lowest level.
            after = np.where(random.random(300) < 0.1, levels[0], before)
            drop = 0.1 * (float(np.dot(levels, shares)) - levels[0])
            judged = [
                np.clip(np.round(side + random.normal(0, 0.8, 300)), levels[0], levels[-1]).tolist()
                for side in (after, before)
            ]
            labels = [
                [float(value) if place < n_labels else None for place, value in enumerate(side)]
                for side in (after, before)
            ]
            found = ppi_difference(labels[0], judged[0], labels[1], judged[1])
            decision = decision_by_interval(found.corrected, -drop, 1, found.corrected.n)
            passed += not found.is_thin and decision is not None and decision.p_good <= 0.025
        return passed / worlds

    return Check("Gate of a drop, with labels: false pass at what is allowed", name, 0.0, 0.025, run)


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
MOST_SEVENS = Ceiling(
    "90 % at 7 of 1–7", tuple(range(1, 8)), (0.03, 0.0, 0.0, 0.0, 0.02, 0.05, 0.9), 1.0, 0.4
)
FLOOR = Ceiling("80 % at 1 of 1–5", FIVE, (0.8, 0.12, 0.0, 0.03, 0.05))
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
    """A plan from 40 groups of 3 labels: the median width reached with the groups that it names, against the
    request."""

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


def plan_before_labels() -> Check:
    """`adjudge plan` for a width, with the items that the judge scores and the labels that it names: the
    width reached, against the request."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        plan = planned("width", 0.4, Pilot(1.0, 0.3, 5), 0.7, 0.8)
        assert plan.judged_items is not None
        assert plan.labels is not None
        groups = np.repeat(np.arange(plan.judged_items // 5), 5)
        reached = 0.0
        for _ in range(worlds):
            people, other = (
                math.sqrt(0.3) * random.normal(size=len(groups))[groups]
                + math.sqrt(0.7) * random.normal(size=len(groups))
                for _ in range(2)
            )
            judge = 0.7 * people + math.sqrt(1 - 0.7**2) * other
            labels = [float(y) if place < plan.labels else None for place, y in enumerate(people)]
            found = ppi_mean(labels, judge.tolist(), clusters=groups.tolist()).corrected
            reached += (found.high or math.inf) - (found.low or -math.inf)
        return reached / worlds / 0.4

    return Check(
        "Plan before labels: width reached / request", "groups of 5, ICC .3, a judge of r = .7", 0.0, 1.1, run
    )


def _draw(random: np.random.Generator, truth: Array, shift: float = 0.0) -> list[float]:
    return np.clip(np.round(truth + shift + random.normal(0, 0.6, len(truth))), 1, 5).tolist()


def false_drift(n_looks: int, n_criteria: int = 1) -> Check:
    """A judge that did not change, with its stored replies as one noisy draw: how often any look says
    "changed" of any criterion."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        alarms = 0
        for _ in range(worlds):
            is_alarm = False
            for _ in range(n_criteria):
                truth = random.choice([2.0, 3.0, 4.0], 100)
                stored = _draw(random, truth)
                fresh = [_draw(random, truth) for _ in range(n_looks)]
                looks = drift(stored, fresh, 0.2, n_tests=n_criteria)
                is_alarm |= any(look.verdict == "changed" for look in looks)
            alarms += is_alarm
        return alarms / worlds

    of = "" if n_criteria == 1 else f", {n_criteria} criteria"
    return Check(
        "Drift: false alarm at any look", f"unchanged judge, 100 items, {n_looks} looks{of}", 0.0, 0.05, run
    )


def drift_found(n_items: int, n_looks: int, low: float) -> Check:
    """A judge whose scores rose by 0.3 standard deviations: found at this look or before."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        found = 0
        for _ in range(worlds):
            truth = random.normal(3, 1, n_items)
            stored = truth + random.normal(0, 0.6, n_items)
            fresh = [(truth + 0.3 + random.normal(0, 0.6, n_items)).tolist() for _ in range(n_looks)]
            found += any(look.verdict == "changed" for look in drift(stored.tolist(), fresh, 0.2))
        return found / worlds

    looks = "the first look" if n_looks == 1 else f"{n_looks} looks"
    return Check(f"Drift: a shift of 0.3 SD found within {looks}", f"{n_items} items", low, 1.0, run)


CHECKS = (
    false_drift(50),
    false_drift(20, 4),
    drift_found(200, 1, 0.9),
    drift_found(100, 1, 0.7),
    drift_found(100, 10, 0.9),
    drift_found(50, 10, 0.5),
    difference_under_sampling(),
    false_pass_of_a_drop("mid scale, 60 labels of each run", FIVE, (0.1, 0.2, 0.4, 0.2, 0.1), 60),
    false_pass_of_a_drop("ceiling, 60 labels of each run", FIVE, (0.05, 0.0, 0.0, 0.1, 0.85), 60),
    *(bias_at_the_ceiling(world, n) for world in (MOST_FIVES, MOST_TENS, HIGH) for n in (20, 50)),
    covers_at_the_ceiling(MOST_FIVES, 20),
    covers_at_the_ceiling(MOST_FIVES, 50),
    # The rare 2 is missing in a third of such samples; the labels alone cover 87 %.
    covers_at_the_ceiling(MOST_TENS, 20, 0.91),
    covers_at_the_ceiling(MOST_TENS, 50),
    covers_at_the_ceiling(HIGH, 20),
    *(
        check(world, 20)
        for world in (MOST_SEVENS, FLOOR)
        for check in (bias_at_the_ceiling, covers_at_the_ceiling)
    ),
    *(error_to_labels(world, n) for world in (MOST_FIVES, MOST_TENS, HIGH) for n in (20, 50)),
    plan_with_groups(),
    plan_before_labels(),
)
