"""Two one-sided tests of a difference against a margin."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from adjudge.records import Estimate
from adjudge.stats import equivalence, mean_interval


def difference(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, 50)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.05, 0.08, "equivalent"),
        (-0.05, 0.3, "not worse"),
        (-0.3, 0.3, "not shown"),
        (-0.3, -0.05, "not shown"),
        (-0.4, -0.2, "worse"),
        (0.2, 0.4, "better"),
        (0.05, 0.08, "equivalent"),
    ],
)
def test_a_verdict_is_what_the_interval_says(low: float, high: float, verdict: str) -> None:
    assert equivalence(difference(low, high), 0.1, 48).verdict == verdict


@given(st.floats(-2, 2), st.floats(0.01, 1), st.floats(0.01, 1))
def test_equivalent_means_that_the_interval_lies_within_the_margins(
    middle: float, half: float, margin: float
) -> None:
    """The 90 % interval: it is narrower than the one of 95 % by the ratio of two quantiles of t."""
    found = equivalence(difference(middle - half, middle + half), margin, 30)
    half *= scipy.stats.t.ppf(0.95, 30) / scipy.stats.t.ppf(0.975, 30)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half))
    is_within = -margin <= middle - half and middle + half <= margin
    if abs(abs(middle) + half - margin) > 1e-6:
        assert (found.verdict == "equivalent") == is_within


@given(st.floats(-1, 1), st.floats(0.01, 1))
def test_a_scale_where_lower_is_better_is_its_mirror(middle: float, half: float) -> None:
    up = equivalence(difference(middle - half, middle + half), 0.1, 20)
    down = equivalence(difference(-middle - half, -middle + half), 0.1, 20, direction=-1)
    assert (down.verdict, down.p_not_worse, down.p_not_better) == (
        up.verdict,
        up.p_not_worse,
        up.p_not_better,
    )


def test_the_p_values_are_those_of_two_t_tests() -> None:
    ttest = scipy.stats.ttest_1samp
    values = np.random.default_rng(1).normal(0.05, 0.4, 40)
    found = equivalence(mean_interval(values.tolist()), 0.2, 39)
    assert found.p_not_worse == pytest.approx(ttest(values, -0.2, alternative="greater").pvalue)
    assert found.p_not_better == pytest.approx(ttest(values, 0.2, alternative="less").pvalue)


def test_a_difference_without_an_interval_shows_nothing() -> None:
    found = equivalence(Estimate(0.0, None, None, 3), 0.1, 2)
    assert (found.verdict, found.p_not_worse) == ("not shown", None)


def test_a_difference_of_which_only_the_wider_interval_reaches_beyond_is_equivalent() -> None:
    assert equivalence(difference(-0.105, 0.05), 0.1, 48).verdict == "equivalent"
    assert equivalence(difference(-0.05, 0.105), 0.1, 48).verdict == "equivalent"
    assert equivalence(difference(-0.13, 0.05), 0.1, 48).verdict == "not shown"


def test_the_verdict_is_that_of_statsmodels() -> None:
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    rng = np.random.default_rng(4)
    verdicts = []
    for _ in range(200):
        values = rng.normal(rng.uniform(-0.3, 0.3), 0.6, 60)
        found = equivalence(mean_interval(values.tolist()), 0.25, 59)
        p = weightstats.DescrStatsW(values).ttost_mean(-0.25, 0.25)[0]
        assert max(found.p_not_worse or 0, found.p_not_better or 0) == pytest.approx(p)
        assert (found.verdict == "equivalent") == (p <= 0.05)
        verdicts.append(found.verdict)
    assert 20 < verdicts.count("equivalent") < 180
