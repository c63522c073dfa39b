"""Means corrected with several judges."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import ppi_mean, ppi_panel


def panel(n: int, noises: tuple[float, ...]) -> tuple[list[float | None], list[list[float]]]:
    rng = np.random.default_rng(1)
    people = rng.normal(3, 1, 500)
    judges = [(people + rng.normal(0, noise, 500)).tolist() for noise in noises]
    return [float(value) if place < n else None for place, value in enumerate(people)], judges


def width(labels: list[float | None], judges: list[list[float]]) -> float:
    found = ppi_panel(labels, judges).corrected
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_a_good_judge_among_poor_ones_is_used_more_than_their_mean() -> None:
    labels, judges = panel(100, (0.3, 3.0, 3.0))
    pooled = ppi_mean(labels, np.mean(judges, axis=0).tolist()).corrected
    assert pooled.low is not None
    assert pooled.high is not None
    assert width(labels, judges) < 0.7 * (pooled.high - pooled.low)


def test_few_labels_for_each_judge_leave_the_mean_of_the_panel() -> None:
    labels, judges = panel(29, (0.3, 3.0, 3.0))
    pooled = ppi_mean(labels, np.mean(judges, axis=0).tolist()).corrected
    found = ppi_panel(labels, judges).corrected
    assert (found.value, found.low) == (pytest.approx(pooled.value), pytest.approx(pooled.low))


def test_an_item_on_which_all_judges_failed_is_counted_and_one_on_which_some_did_is_used() -> None:
    labels, judges = panel(100, (0.5, 0.8))
    first: list[float | None] = [None, None, *judges[0][2:]]
    second: list[float | None] = [None, *judges[1][1:]]
    found = ppi_panel(labels, [first, second]).corrected
    assert found.n_failed == 1
    assert found.value == pytest.approx(ppi_panel(labels, judges).corrected.value, abs=0.05)
