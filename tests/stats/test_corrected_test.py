"""A corrected mean against a threshold: the interval decides, and at the end of a scale also the bound."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import MeanTest, corrected_mean_test, ppi_mean
from adjudge.stats.threshold import BoundedMean, p_with_error

LIMITS = (1.0, 5.0)


def world(shares: list[float], n: int, seed: int = 1) -> tuple[list[float | None], list[float]]:
    """Labels of the first n of 400 items, and a judge's scores of all."""
    rng = np.random.default_rng(seed)
    people = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], p=shares, size=400)
    judge = np.clip(np.round(people + rng.normal(0, 0.8, 400)), 1, 5)
    return [float(value) if place < n else None for place, value in enumerate(people)], judge.tolist()


def decide(labels: list[float | None], scores: list[float], threshold: float, **options: bool) -> MeanTest:
    estimate = ppi_mean(labels, scores, limits=LIMITS, **options).corrected
    found = corrected_mean_test(estimate, labels, scores, threshold, LIMITS, **options)
    assert found is not None
    return found


def test_labels_in_the_middle_of_the_scale_are_decided_by_their_interval() -> None:
    labels, scores = world([0.1, 0.2, 0.4, 0.2, 0.1], 60)
    estimate = ppi_mean(labels, scores, limits=LIMITS).corrected
    assert estimate.low is not None
    found = decide(labels, scores, estimate.low)
    assert (found.low, found.high) == (estimate.low, estimate.high)
    assert found.p_above == pytest.approx(0.025, abs=1e-6)


def test_twenty_labels_at_the_ceiling_do_not_show_what_a_rare_low_label_would_undo() -> None:
    labels, scores = world([0.05, 0.0, 0.0, 0.15, 0.8], 20, seed=2)
    labels = [None if label is None else max(4.0, label) for label in labels]
    estimate = ppi_mean(labels, scores, limits=LIMITS).corrected
    found = decide(labels, scores, 4.4)
    assert estimate.low is not None
    assert estimate.low > 4.4
    assert found.p_above > 0.025
    assert found.low is not None
    assert found.low < 4.4
    # More such labels are enough.
    assert decide([*labels[:20], *[4.0, 5.0, 5.0, 5.0] * 40, *[None] * 220], scores, 4.4).p_above < 0.025


def test_the_floor_of_a_scale_is_the_mirror_of_its_ceiling() -> None:
    labels, scores = world([0.05, 0.0, 0.05, 0.1, 0.8], 30)
    turned = [None if label is None else 6 - label for label in labels]
    ceiling, floor = decide(labels, scores, 4.5), decide(turned, [6 - score for score in scores], 1.5)
    assert floor.p_below == pytest.approx(ceiling.p_above)
    assert floor.high == pytest.approx(6 - (ceiling.low or 0.0))


def test_the_bound_is_where_the_p_value_decides() -> None:
    bounded = BoundedMean(np.array([4.0, 5.0, 5.0, 3.0] * 8), None, 1.0, 5.0)
    for error in (0.0, 0.1):
        assert p_with_error(bounded, bounded.bound(error), error) == pytest.approx(0.025, abs=1e-6)
    assert bounded.bound(0.1) < bounded.bound()


def test_labels_of_most_of_these_items_decide_sooner_about_these_than_about_new_inputs() -> None:
    labels, scores = world([0.05, 0.0, 0.05, 0.1, 0.8], 300)
    about_these = decide(labels, scores, 4.5, is_finite=True)
    assert about_these.p_above < decide(labels, scores, 4.5).p_above


def test_no_interval_decides_nothing() -> None:
    labels, scores = world([0.2] * 5, 2)
    estimate = ppi_mean(labels, scores, limits=LIMITS).corrected
    assert corrected_mean_test(estimate, labels, scores, 3.0, LIMITS) is None


def test_few_labels_at_the_end_that_do_not_look_skewed_still_need_the_bound() -> None:
    # 20 labels of 9, 9.5 and 10 on 0 to 10: one unseen 2 moves their mean by more than the interval allows.
    rng = np.random.default_rng(3)
    people = np.array([9.0] * 7 + [9.5] * 6 + [10.0] * 7)
    labels: list[float | None] = [*people.tolist(), *[None] * 380]
    scores = np.clip(np.round(rng.normal(9, 3, 400) * 2) / 2, 0, 10).tolist()
    estimate = ppi_mean(labels, scores, limits=(0.0, 10.0)).corrected
    assert (estimate.low or 0.0) > 9.2
    found = corrected_mean_test(estimate, labels, scores, 9.2, (0.0, 10.0))
    assert found is not None
    assert found.p_above > 0.025
    assert found.low is not None
    assert found.low < 9.2
