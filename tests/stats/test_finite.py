"""Means and differences of these items: the draw of the labels is the only chance."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import difference_by_group, ppi_difference, ppi_mean, ppi_stratified

N = 300


def drawn(rng: np.random.Generator, n: int) -> tuple[np.ndarray, list[float], list[float | None], list[int]]:
    """One group of 150 and others of 5, of which n random items have a label."""
    groups = np.array([0] * 150 + [1 + place // 5 for place in range(150)])
    people = np.clip(np.round(3 + rng.normal(size=31)[groups] + rng.normal(0, 0.7, N)), 1, 5)
    judge = np.clip(np.round(people + rng.normal(0, 0.8, N)), 1, 5)
    labels: list[float | None] = [None] * N
    for place in rng.choice(N, n, replace=False).tolist():
        labels[place] = float(people[place])
    return people, judge.tolist(), labels, groups.tolist()


def test_the_interval_covers_the_mean_of_these_items_whatever_the_groups() -> None:
    rng = np.random.default_rng(5)
    covered, widths = 0, []
    for _ in range(400):
        people, judge, labels, groups = drawn(rng, 60)
        found = ppi_mean(labels, judge, clusters=groups, limits=(1.0, 5.0), is_finite=True).corrected
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= people.mean() <= found.high
        widths.append(found.high - found.low)
    assert 0.92 <= covered / 400 <= 0.98
    assert np.mean(widths) < 0.5


def test_all_labels_leave_nothing_unknown() -> None:
    people, judge, _, _ = drawn(np.random.default_rng(1), 60)
    found = ppi_mean(people.tolist(), judge, is_finite=True).corrected
    assert found.value == pytest.approx(people.mean())
    assert found.low == found.value == found.high
    assert found.reason == ""


@pytest.mark.parametrize("labels", [[4.0, 5.0, 4.0, 2.0], [4.0] * 4, [4.0, 5.0]])
def test_labels_of_all_items_are_their_mean_however_few_or_equal(labels: list[float]) -> None:
    judge = [3.0] * len(labels)
    strata = ["a", "b"] * (len(labels) // 2)
    for found in (
        ppi_mean(labels, judge, limits=(1.0, 5.0), is_finite=True),
        ppi_stratified(labels, judge, strata, limits=(1.0, 5.0), is_finite=True),
    ):
        for estimate, value in ((found.corrected, np.mean(labels)), (found.bias, 3 - np.mean(labels))):
            assert estimate.low == estimate.value == estimate.high == pytest.approx(value)
    found = ppi_difference(labels, judge, judge, labels, is_finite=True)
    assert found.corrected.low == found.corrected.value == found.corrected.high


def test_these_items_are_known_better_than_new_inputs() -> None:
    _, judge, labels, groups = drawn(np.random.default_rng(2), 150)
    strata = [place % 2 for place in range(N)]
    for of_items, of_inputs in (
        (ppi_mean(labels, judge, is_finite=True), ppi_mean(labels, judge)),
        (ppi_stratified(labels, judge, strata, is_finite=True), ppi_stratified(labels, judge, strata)),
        (
            ppi_difference(labels, judge, labels[::-1], judge[::-1], is_finite=True),
            ppi_difference(labels, judge, labels[::-1], judge[::-1]),
        ),
    ):
        widths = [
            (made.corrected.high or 0.0) - (made.corrected.low or 0.0) for made in (of_items, of_inputs)
        ]
        assert 0 < widths[0] < widths[1]
    assert groups


def test_the_difference_by_group_of_these_items_needs_no_groups() -> None:
    people, judge, labels, groups = drawn(np.random.default_rng(2), 120)
    sides = [
        (labels[part], judge[part], groups[part], None) for part in (slice(None, None, 2), slice(1, None, 2))
    ]
    found = difference_by_group(*sides, limits=(1.0, 5.0), is_finite=True)
    assert found.judge_only.value == pytest.approx(np.mean(judge[::2]) - np.mean(judge[1::2]))
    assert "all judged" in found.judge_only.reason
    assert found.corrected.unit == "label"
    known = [(people[k::2].tolist(), judge[k::2], groups[k::2], None) for k in (0, 1)]
    exact = difference_by_group(*known, limits=(1.0, 5.0), is_finite=True).corrected
    assert exact.low == exact.high == pytest.approx(people[::2].mean() - people[1::2].mean())


def test_equal_probabilities_of_one_system_leave_its_error() -> None:
    """Where only the labels of the other system were drawn with unequal probabilities."""
    rng = np.random.default_rng(3)
    people = rng.normal(3, 1, (2, 100))
    judge = people + rng.normal(0, 0.5, (2, 100))
    labels = [[float(y) if place < 20 else None for place, y in enumerate(side)] for side in people]
    labels[1] = [*labels[1][:10], *(float(y) if k % 3 else None for k, y in enumerate(people[1, 10:]))]
    unequal = [0.2 if place < 10 else 0.67 for place in range(100)]
    arguments = labels[0], judge[0].tolist(), labels[1], judge[1].tolist()
    found = ppi_difference(*arguments, probabilities=(None, unequal), is_finite=True).corrected
    given = ppi_difference(*arguments, probabilities=([0.2] * 100, unequal), is_finite=True).corrected
    assert (found.low, found.high) == pytest.approx((given.low, given.high))
