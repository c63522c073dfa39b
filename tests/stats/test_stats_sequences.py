"""Labels looked at one by one: answers that hold at every look, and the first look at which they were
known."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import LabelStream, any_time_mean

FIVE = (1.0, 5.0)


def stream(mean: float, n: int, noise: float = 0.5, seed: int = 1) -> LabelStream:
    rng = np.random.default_rng(seed)
    people = np.clip(np.round(rng.normal(mean, 0.9, 1000)), 1, 5)
    judge = np.clip(people + rng.normal(0, noise, 1000), 1, 5)
    return LabelStream(people[:n].tolist(), judge[:n].tolist(), judge.tolist(), FIVE)


def test_a_mean_far_from_the_threshold_is_known_early_and_on_the_right_side() -> None:
    far, near = stream(4.2, 300).crossing(3.2), stream(4.2, 300).crossing(3.8)
    assert far is not None
    assert near is not None
    assert far.side == near.side == "above"
    assert far.n < near.n
    below = stream(2.0, 300).crossing(3.0)
    assert below is not None
    assert below.side == "below"


def test_more_labels_do_not_change_when_an_answer_was_known() -> None:
    found = stream(4.2, 300).crossing(3.7)
    assert found is not None
    assert stream(4.2, found.n).crossing(3.7) == found
    assert stream(4.2, found.n - 1).crossing(3.7) is None


def test_a_good_judge_narrows_the_interval_and_a_useless_one_does_not_widen_it_much() -> None:
    widths = []
    for noise in (0.3, 100.0):
        found = stream(3.0, 200, noise).estimate()
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths[0] < 0.7 * widths[1]


def test_the_width_is_reached_at_the_first_label_that_is_enough() -> None:
    labels = stream(3.0, 300)
    n = labels.reaching(0.6)
    assert n is not None
    for size, is_enough in ((n, True), (n - 1, False)):
        found = labels.estimate(size)
        assert found.low is not None
        assert found.high is not None
        assert (found.high - found.low <= 0.6) == is_enough
    assert labels.reaching(0.001) is None


def test_a_scale_turned_round_gives_the_mirrored_answer() -> None:
    rng = np.random.default_rng(2)
    people = rng.integers(1, 6, 100).astype(float)
    judge = np.clip(people + rng.normal(0, 1, 100), 1, 5)
    straight = LabelStream(people[:60].tolist(), judge[:60].tolist(), judge.tolist(), FIVE).estimate()
    turned = LabelStream(
        (6 - people[:60]).tolist(), (6 - judge[:60]).tolist(), (6 - judge).tolist(), FIVE
    ).estimate()
    assert turned.low == pytest.approx(6 - (straight.high or 0), abs=1e-6)
    assert turned.high == pytest.approx(6 - (straight.low or 0), abs=1e-6)


def test_equal_labels_no_label_and_a_judge_that_failed_are_no_certainty() -> None:
    equal = LabelStream([5.0] * 30, [None] * 30, [None] * 100, FIVE)
    found = equal.estimate()
    assert found.value == found.high == 5
    assert found.low is not None
    assert 3.5 < found.low < 4.9
    assert equal.crossing(4.9) is None
    empty = LabelStream([], [], [3.0] * 10, FIVE)
    assert empty.estimate().value is None
    assert empty.crossing(3.0) is None
    assert empty.reaching(1.0) is None


def test_without_a_judge_it_is_about_as_wide_as_the_mean_of_any_time() -> None:
    values = np.random.default_rng(4).integers(0, 2, 150).astype(float)
    ours = LabelStream(values.tolist(), [None] * 150, [None] * 1000, (0.0, 1.0)).estimate()
    theirs = any_time_mean(values.tolist())
    assert (ours.high or 0) - (ours.low or 0) < 1.2 * ((theirs.high or 0) - (theirs.low or 0))
