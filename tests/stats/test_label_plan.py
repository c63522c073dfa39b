"""A plan from labels in groups names the groups, and no number that cannot be reached."""

from __future__ import annotations

import random

import numpy as np

from adjudge.stats import LabelPlan, labels_needed, ppi_mean

Array = np.ndarray
Optional = list[float | None]


def plan(width: float) -> LabelPlan:
    rng = random.Random(1)
    groups = [k // 3 for k in range(90)]
    shared = [rng.gauss(3, 0.8) for _ in range(30)]
    scores = [shared[group] + rng.gauss(0, 0.6) for group in groups]
    labels = [score + rng.gauss(0, 0.4) if k % 3 < 2 else None for k, score in enumerate(scores)]
    return labels_needed(labels, scores, width, groups)


def test_a_plan_counts_groups_with_as_many_labels_in_each_as_now() -> None:
    made = plan(0.5)
    assert made.groups is not None
    assert made.n_groups == 30
    assert made.with_judge == 2 * made.groups


def test_a_few_more_groups_are_counted_and_far_too_many_are_not() -> None:
    assert "more are needed" in plan(0.3).why
    assert plan(0.005).why == "the items have 30 groups: far more than is practical"


def test_a_plan_about_these_items_needs_fewer_labels_than_there_are_items() -> None:
    rng = random.Random(2)
    people = [rng.gauss(3, 1) for _ in range(120)]
    scores = [value + rng.gauss(0, 0.8) for value in people]
    labels = [value if k < 30 else None for k, value in enumerate(people)]
    groups = [k // 40 for k in range(120)]
    for width in (0.3, 0.1, 0.001):
        made = labels_needed(labels, scores, width, groups, is_finite=True)
        assert made.with_judge is not None
        assert made.with_judge <= 120
        assert made.groups is None
    # Three groups say nothing of new inputs, however many items of them have a label.
    assert labels_needed(labels, scores, 0.3, groups).with_judge is None


def test_a_plan_reaches_its_width_where_labels_were_drawn_with_unequal_probabilities() -> None:
    rng = np.random.default_rng(3)
    reached = []
    for _ in range(40):
        people = rng.normal(3, 1, 600)
        unsure = rng.random(600) < 0.3
        scores = people + rng.normal(0, np.where(unsure, 1.2, 0.3))

        def drawn(n: float, people: Array = people, unsure: Array = unsure) -> tuple[Optional, Optional]:
            chance = np.where(unsure, 2.5, 0.5)
            chance = np.minimum(1.0, chance * n / chance.sum())
            taken = rng.random(600) < chance
            labels = [float(y) if is_in else None for y, is_in in zip(people, taken, strict=True)]
            return labels, chance.tolist()

        labels, chances = drawn(80)
        made = labels_needed(labels, scores.tolist(), 0.35, probabilities=chances)
        if made.with_judge is None:
            continue
        labels, chances = drawn(made.with_judge)
        found = ppi_mean(labels, scores.tolist(), probabilities=chances).corrected
        assert found.low is not None
        assert found.high is not None
        reached.append((found.high - found.low) / 0.35)
    assert len(reached) >= 35
    assert sum(ratio <= 1.1 for ratio in reached) >= 0.8 * len(reached)
    assert np.median(reached) > 0.6
