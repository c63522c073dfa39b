"""The label that people would give to one item: conformal, weighted where labels were drawn unequally."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import score_interval


def test_probabilities_that_are_equal_change_nothing() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(3, 1, 100)
    labels = (scores + rng.normal(0, 0.5, 100)).tolist()
    plain = score_interval(labels, scores.tolist())
    equal = score_interval(labels, scores.tolist(), probabilities=[0.2] * 100)
    assert (equal.below, equal.above) == (plain.below, plain.above)
    assert equal.coverage == plain.coverage


def test_a_label_counts_by_as_many_items_as_it_stands_for() -> None:
    """A hundred labels of items with small errors drawn always, fifty with large errors drawn once in ten."""
    gaps = np.concatenate([np.linspace(-0.1, 0.1, 100), np.linspace(-2, 2, 50)])
    chances = [1.0] * 100 + [0.1] * 50
    plain = score_interval(gaps.tolist(), [0.0] * 150)
    weighted = score_interval(gaps.tolist(), [0.0] * 150, probabilities=chances)
    # 600 items in all, 500 of them like the rare ones, and a new one that stands for 10: 5.25 of 610 below
    # the low end.
    assert weighted.below == pytest.approx(-2.0)
    assert weighted.above == pytest.approx(2.0)
    assert plain.below is not None
    assert plain.below > weighted.below


def test_labels_of_which_a_few_stand_for_nearly_all_items_give_no_interval() -> None:
    found = score_interval([1.0, 2.0] * 40, [1.5] * 80, probabilities=[0.01] * 4 + [1.0] * 76)
    assert found.below is None
    assert "unequal probabilities" in found.reason


def test_labels_without_a_probability_above_zero_are_left_out() -> None:
    found = score_interval([1.0, 2.0] * 40, [1.5] * 80, probabilities=[0.0] * 10 + [0.5] * 70)
    assert found.n == 70
