"""The gain of one candidate over another, against exact tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from adjudge.stats.paired_gain import paired_gain


@pytest.mark.parametrize(
    ("won", "lost", "same"), [(9, 1, 40), (8, 2, 40), (3, 9, 20), (5, 0, 50), (6, 0, 50)]
)
def test_right_or_wrong_is_mcnemars_exact_test_and_the_interval_says_the_same(
    won: int, lost: int, same: int
) -> None:
    gain = paired_gain([1.0] * won + [-1.0] * lost + [0.0] * same, 0.025)
    assert gain.p == pytest.approx(binomtest(won, won + lost, 0.5, alternative="greater").pvalue)
    assert gain.p is not None
    low, value, high = gain.estimate.low, gain.estimate.value, gain.estimate.high
    assert low is not None
    assert value is not None
    assert high is not None
    assert low <= value <= high
    assert (low > 0) == (gain.p <= 0.025)


def test_candidates_that_never_differ_show_no_gain() -> None:
    gain = paired_gain([0.0] * 30, 0.025)
    assert gain.p == 1.0
    assert gain.estimate.value == 0.0
    assert paired_gain([], 0.025).estimate.value is None


def test_the_interval_covers_the_true_gain() -> None:
    rng, covered = np.random.default_rng(1), 0
    for _ in range(600):
        values = rng.choice([1.0, -1.0, 0.0], size=100, p=[0.12, 0.06, 0.82])
        estimate = paired_gain(values.tolist(), 0.025).estimate
        covered += (estimate.low or 0) <= 0.06 <= (estimate.high or 0)
    assert covered >= 600 * 0.94


def test_scores_and_groups_use_subsets_whose_interval_and_p_value_agree() -> None:
    rng = np.random.default_rng(2)
    for shift in (0.0, 0.1, 0.3):
        values = (rng.normal(shift, 0.5, 60)).tolist()
        for groups in (None, [k // 3 for k in range(60)]):
            gain = paired_gain(values, 0.025, groups)
            assert gain.p is not None
            assert gain.estimate.low is not None
            assert (gain.estimate.low > 0) == (gain.p <= 0.025)


@pytest.mark.slow
def test_a_sign_flip_over_groups_is_rarely_wrong() -> None:
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(600):
        values = np.repeat(rng.normal(0, 1, 20), 5).tolist()
        p = paired_gain(values, 0.025, [k // 5 for k in range(100)]).p
        wrong += p is not None and p <= 0.025
    assert wrong <= 600 * 0.025 + 2 * (600 * 0.025 * 0.975) ** 0.5


def test_too_few_groups_have_no_interval() -> None:
    gain = paired_gain([0.5, 0.5, 0.4, 0.4], 0.025, ["x", "x", "y", "y"])
    assert gain.estimate.low is None
    assert gain.p is not None
    assert gain.p > 0.025


def test_a_large_gain_of_scores_is_shown_at_the_strict_level_of_a_late_look() -> None:
    rng = np.random.default_rng(3)
    gain = paired_gain((rng.random(80) - 0.1).tolist(), 0.0025 / 90)
    assert gain.p is not None
    assert gain.p <= 0.0025 / 90
    assert gain.estimate.low is not None
    assert gain.estimate.low > 0
