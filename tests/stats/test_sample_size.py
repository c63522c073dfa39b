"""Sample sizes, compared with those of statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adjudge.stats.sample_size import design_effect, intraclass_correlation, size_for_distance, size_for_width


def test_the_size_for_a_difference_is_that_of_statsmodels() -> None:
    power = pytest.importorskip("statsmodels.stats.power")
    for d in (0.2, 0.35, 0.5):
        expected = math.ceil(power.TTestPower().solve_power(effect_size=d, alpha=0.05, power=0.8) - 1e-6)
        assert size_for_distance(d, 1.0).items == expected


def test_two_tenths_of_a_deviation_take_199_items() -> None:
    assert size_for_distance(0.2, 1.0).items == 199


def test_a_width_is_reached_and_one_item_less_does_not_reach_it() -> None:
    from scipy.stats import t

    n = size_for_width(0.4, 1.0).items
    assert n is not None
    assert 2 * t.ppf(0.975, n - 1) / math.sqrt(n) <= 0.4 < 2 * t.ppf(0.975, n - 2) / math.sqrt(n - 1)


def test_groups_take_more_items_by_the_design_effect() -> None:
    alone, grouped = size_for_width(0.1, 1.0), size_for_width(0.1, 1.0, 5, 0.4)
    assert grouped.design_effect == design_effect(5, 0.4) == pytest.approx(2.6)
    assert alone.items is not None
    assert grouped.items == pytest.approx(2.6 * alone.items, rel=0.02)
    assert grouped.groups == (grouped.items or 0) / 5


def test_the_icc_of_simulated_groups_comes_back() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(400), 5)
    values = math.sqrt(0.3) * rng.normal(size=400)[groups] + math.sqrt(0.7) * rng.normal(size=2000)
    assert intraclass_correlation(values.tolist(), [str(g) for g in groups]) == pytest.approx(0.3, abs=0.05)


def test_nothing_reaches_a_goal_of_zero() -> None:
    assert size_for_width(0.0, 1.0).items is None
    assert size_for_distance(0.0, 1.0).items is None
