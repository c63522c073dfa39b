"""Means and differences of these items: the draw of the labels is the only chance."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import ppi_difference, ppi_mean, ppi_stratified

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
    assert (found.low, found.reason) == (None, "these items were all judged")


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
