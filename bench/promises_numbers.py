"""Simulations of means and differences corrected with labels: unequal probabilities, ceilings, groups, and plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

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


def bias_at_the_ceiling(design: str, levels: Sequence[float], shares: Sequence[float], n: int) -> Check:
    """The bias of the corrected mean in points, as a share of the promise's unit: 0.03 is three hundredths of a point."""

    def run(worlds: int, seed: int) -> float:
        random = np.random.default_rng(seed)
        truth, total, used = float(np.dot(levels, shares)), 0.0, 0
        step = min(high - low for low, high in pairwise(levels))
        for _ in range(worlds):
            people = random.choice(levels, p=shares, size=1000)
            judge = np.clip(
                np.round((people + random.normal(0, 0.8, 1000)) / step) * step, levels[0], levels[-1]
            )
            chosen = random.choice(1000, n, replace=False)
            labels: list[float | None] = [None] * 1000
            for place in chosen.tolist():
                labels[place] = float(people[place])
            value = ppi_mean(labels, judge.tolist(), limits=(levels[0], levels[-1])).corrected.value
            if value is not None:
                total, used = total + value - truth, used + 1
        return abs(total / used)

    return Check("Corrected mean: bias in points × 100 %", f"{design}, {n} labels", 0.0, 0.03, run)


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
    bias_at_the_ceiling("85 % at 5 of 1–5", (1.0, 2.0, 3.0, 4.0, 5.0), (0.05, 0.0, 0.0, 0.1, 0.85), 20),
    bias_at_the_ceiling("85 % at 5 of 1–5", (1.0, 2.0, 3.0, 4.0, 5.0), (0.05, 0.0, 0.0, 0.1, 0.85), 50),
    bias_at_the_ceiling(
        "0–10 in half points at the ceiling", tuple(np.arange(0, 10.5, 0.5).tolist()),
        (0.0, 0.0, 0.0, 0.0, 0.05, *(0.0,) * 11, 0.05, 0.0, 0.1, 0.2, 0.6), 20,
    ),
    plan_with_groups(),
)  # fmt: skip
