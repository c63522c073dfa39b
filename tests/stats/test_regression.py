"""The slope of labels on judges' scores, held out one label or group at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats import ppi_mean
from adjudge.stats.regression import regression
from adjudge.stats.regression_mean import fit

Array = np.ndarray


def at_the_ceiling(seed: int, n: int = 24, n_items: int = 200) -> tuple[Array, Array]:
    """Labels and scores of 1 to 5, most of them 5."""
    rng = np.random.default_rng(seed)
    people = rng.choice([1.0, 4.0, 5.0], p=[0.1, 0.15, 0.75], size=n_items)
    return people[:n], np.clip(np.round(people + rng.normal(0, 0.8, n_items)), 1, 5)


def brute_force(y: Array, f: Array, everywhere: Array, strata: Array, kept: Array) -> float:
    """The held-out slope from its definition."""
    covariance = square = 0.0
    for stratum in np.unique(strata[kept]):
        at = kept & (strata == stratum)
        covariance += float(((y[at] - y[at].mean()) * (f[at] - f[at].mean())).sum())
        square += float(((f[at] - f[at].mean()) ** 2).sum())
    own = float((everywhere**2).sum()) / (len(everywhere) - len(np.unique(strata)))
    return max(0.0, covariance / kept.sum() / max(own, square / kept.sum()))


@pytest.mark.parametrize("n_strata", [1, 3])
@pytest.mark.parametrize("group_size", [1, 2])
def test_each_label_has_the_slope_of_the_other_groups(n_strata: int, group_size: int) -> None:
    y, f = at_the_ceiling(3)
    n = len(y)
    strata, units = np.arange(n) % n_strata, np.arange(n) // group_size
    all_strata = np.arange(len(f)) % n_strata
    around = f - np.array([f[all_strata == place].mean() for place in range(n_strata)])[all_strata]
    found = regression(y, f[:n, None], around[:, None], np.array([0.1]), np.ones(n), units, strata)
    for place in range(n):
        expected = brute_force(y, f[:n], around, strata, units != units[place])
        assert found.slopes[place, 0] == pytest.approx(expected, rel=1e-9)


def test_the_slope_of_labels_that_are_not_skewed_is_the_published_one() -> None:
    rng = np.random.default_rng(1)
    f = rng.normal(size=400)
    y = f[:80] + rng.normal(0, 0.5, 80)
    found = regression(y, f[:80, None], (f - f.mean())[:, None], np.array([0.0]), np.ones(80), np.arange(80))
    published = float(np.cov(y, f[:80], ddof=0)[0, 1] / f.var(ddof=1))
    assert found.slopes[:, 0] == pytest.approx(published)


@given(st.integers(0, 1000))
def test_the_order_of_the_items_does_not_matter(seed: int) -> None:
    y, f = at_the_ceiling(seed)
    labels = np.append(y, np.full(len(f) - len(y), np.nan))
    order = np.random.default_rng(seed).permutation(len(f))
    first, second = fit(labels, f), fit(labels[order], f[order])
    if first is None or second is None:
        assert first is second
    else:
        assert first.value == pytest.approx(second.value)
        assert first.variance == pytest.approx(second.variance)


def test_a_second_judge_that_only_copies_the_first_adds_nothing() -> None:
    y, f = at_the_ceiling(5, 40)
    labels = np.append(y, np.full(len(f) - len(y), np.nan))
    one, two = fit(labels, f), fit(labels, np.column_stack([f, f]))
    assert one is not None
    assert two is not None
    assert two.value == pytest.approx(one.value, abs=1e-6)


def test_two_judges_with_errors_of_their_own_are_better_than_one() -> None:
    rng = np.random.default_rng(6)
    widths = []
    for _ in range(30):
        people = rng.normal(3, 1, 600)
        judges = people[:, None] + rng.normal(0, 0.8, (600, 3))
        labels = np.where(np.arange(600) < 60, people, np.nan)
        fits = [fit(labels, judges[:, :k]) for k in (1, 3)]
        assert fits[0] is not None
        assert fits[1] is not None
        widths.append((fits[0].variance, fits[1].variance))
    one, three = np.mean(widths, axis=0)
    assert three < 0.7 * one


def test_the_mean_at_the_ceiling_is_not_biased_upwards() -> None:
    rng = np.random.default_rng(7)
    errors = []
    for _ in range(300):
        people = rng.choice([1.0, 4.0, 5.0], p=[0.05, 0.1, 0.85], size=500)
        judge = np.clip(np.round(people + rng.normal(0, 0.8, 500)), 1, 5)
        labels = [float(value) if place < 30 else None for place, value in enumerate(people)]
        value = ppi_mean(labels, judge.tolist(), limits=(1.0, 5.0)).corrected.value
        assert value is not None
        errors.append(value - 4.7)
    # One slope from all labels gives +0.07 here.
    assert abs(float(np.mean(errors))) < 0.03
