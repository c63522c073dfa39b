"""Means and what they rest on, against values worked out by hand, scipy, and the shared vectors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from adjudge.stats import bounds, mean_interval, mean_test, minimum_detectable, standard_error, wilson
from adjudge.stats import threshold as mean_bounds

FLOATS = st.floats(allow_nan=True, allow_infinity=True)


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    vectors = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))
    assert isinstance(vectors, dict)
    return vectors


def test_the_interval_of_five_values_is_the_textbook_one() -> None:
    # sd = 1.5811, se = 0.70711, t(4) = 2.77645
    mean = mean_interval([1, 2, 3, 4, 5])
    assert (mean.value, mean.n, mean.unit) == (3.0, 5, "item")
    assert (mean.low, mean.high) == (pytest.approx(1.036757, abs=1e-6), pytest.approx(4.963243, abs=1e-6))


def test_the_interval_is_scipys() -> None:
    values = [3.2, 4.1, 2.2, 5.0, 3.3, 1.7, 4.4]
    expected = oracle.t.interval(0.95, 6, np.mean(values), oracle.sem(values))
    mean = mean_interval(values)
    assert (mean.low, mean.high) == pytest.approx(expected)


def test_the_t_interval_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    vector = vectors["bootstrap_mean"]
    mean = mean_interval(vector["inputs"]["x"])
    assert [mean.low, mean.high] == pytest.approx(vector["expected"]["t_ci"], abs=1e-9)


def test_a_failed_sample_is_left_out_and_counted_rather_than_zero(vectors: dict[str, Any]) -> None:
    vector = vectors["geval_n_samples"]
    read = [value for value in vector["inputs"]["samples"] if value is not None]
    mean = mean_interval(read, n_failed=len(vector["inputs"]["samples"]) - len(read))
    precision = standard_error(read)
    assert precision is not None
    assert mean.value == pytest.approx(vector["expected"]["mean_skip_failures"], abs=1e-9)
    assert precision.se == pytest.approx(vector["expected"]["se"], abs=1e-9)
    assert (mean.n, mean.n_failed) == (vector["expected"]["n_valid"], 1)


def test_the_clustered_standard_error_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["clustered_se"]["inputs"], vectors["clustered_se"]["expected"]
    plain = standard_error(inputs["scores"])
    rough = standard_error(inputs["scores"], inputs["cluster"], is_corrected=False)
    right = standard_error(inputs["scores"], inputs["cluster"])
    assert plain is not None
    assert rough is not None
    assert right is not None
    assert plain.se == pytest.approx(expected["naive_se_ddof1"], abs=1e-9)
    assert rough.se == pytest.approx(expected["clustered_se_CR0"], abs=1e-9)
    # Four clusters of one size: the correction is G / (G - 1) under the root, and G - 1 degrees of freedom.
    assert right.se == pytest.approx(expected["clustered_se_CR0"] * math.sqrt(4 / 3), abs=1e-9)
    assert (right.df, right.n_units) == (pytest.approx(3), 4)


def test_unequal_clusters_by_hand() -> None:
    # mean 2; sums of residuals -2 and 2; shares 1/3 and 2/3; (4 / (2/3) + 4 / (1/3)) / 9 = 2; one degree of
    # freedom
    precision = standard_error([0, 3, 3], ["x", "y", "y"])
    assert precision is not None
    assert (precision.se, precision.df, precision.n_units) == (
        pytest.approx(math.sqrt(2)),
        pytest.approx(1),
        2,
    )


def test_clusters_of_one_change_nothing() -> None:
    values = [1.0, 4.0, 2.0, 2.5, 5.0]
    alone, grouped = mean_interval(values), mean_interval(values, list("abcde"))
    assert (grouped.low, grouped.high) == (pytest.approx(alone.low), pytest.approx(alone.high))
    assert (alone.unit, grouped.unit) == ("item", "group (n=5)")


def test_items_that_repeat_within_a_group_do_not_narrow_the_interval() -> None:
    values = [1.0, 4.0, 2.0, 2.5, 5.0]
    once, many = (
        mean_interval(values, range(5)),
        mean_interval([*values] * 10, [n for _ in range(10) for n in range(5)]),
    )
    assert (once.low, once.high) == (pytest.approx(many.low), pytest.approx(many.high))


@pytest.mark.parametrize("sizes", [[10] * 20, [1 + 3 * (n % 10) for n in range(20)], [40] + [4] * 19])
def test_clustered_intervals_of_scores_cover_the_mean_as_often_as_they_say(sizes: list[int]) -> None:
    rng = np.random.default_rng(20)
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    draws = rng.normal(size=2_000_000)
    truth = np.clip(np.round(1.2 * draws + 3.6), 1, 5).mean()
    hits = 0
    for _ in range(2_000):
        common = rng.normal(size=len(sizes))[groups] * math.sqrt(0.3)
        noise = rng.normal(size=len(groups)) * math.sqrt(0.7)
        mean = mean_interval(np.clip(np.round(1.2 * (common + noise) + 3.6), 1, 5).tolist(), groups)
        assert mean.low is not None
        assert mean.high is not None
        hits += mean.low <= truth <= mean.high
    assert 0.925 <= hits / 2_000 <= 0.97


def test_no_interval_reaches_beyond_the_scale() -> None:
    mean = mean_interval([5, 5, 5, 4], limits=(1, 5))
    assert mean.high == 5
    assert mean.low is not None
    assert mean.low > 1
    assert "cut to the scale" in mean.method


def test_equal_values_are_not_taken_for_certainty() -> None:
    # After 10 equal values up to 1 - 0.05^(1/10) = 25.9 % of the others may differ.
    mean = mean_interval([4] * 10, limits=(1, 5))
    assert mean.low == pytest.approx(4 - 0.258866 * 3, abs=1e-5)
    assert mean.high == pytest.approx(4 + 0.258866, abs=1e-5)
    without = mean_interval([4] * 10)
    assert (without.value, without.low, without.high) == (4, None, None)
    assert without.reason == "all values are the same"


@pytest.mark.parametrize(
    ("values", "clusters", "value", "why"),
    [
        ([], None, None, "there is no value"),
        ([float("nan")], None, None, "there is no value"),
        ([3], None, 3, "one value alone"),
        ([3, 4, 5], ["d", "d", "d"], 4, "all items belong to one group"),
        ([1, 5, 1, 5], ["d", "d", "e", "e"], 3, "every group has the same mean"),
        ([1e308, 1e308, 1.2e308], None, None, "the values are too large to add"),
    ],
)
def test_what_is_undefined_says_why(
    values: list[float], clusters: list[str] | None, value: float | None, why: str
) -> None:
    mean = mean_interval(values, clusters, n_failed=2)
    assert (mean.value, mean.low, mean.high, mean.n_failed) == (value, None, None, 2)
    assert mean.reason == why


@given(st.lists(st.tuples(FLOATS, st.integers(0, 3)), max_size=12), st.booleans(), st.booleans())
def test_any_values_give_numbers_in_order_or_a_reason(
    rows: list[tuple[float, int]], is_clustered: bool, is_limited: bool
) -> None:
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    mean = mean_interval(values, clusters if is_clustered else None, limits=(1, 5) if is_limited else None)
    assert mean.n + mean.n_undefined == len(rows)
    if mean.low is None or mean.high is None or mean.value is None:
        assert mean.reason
    else:
        assert math.isfinite(mean.low)
        assert math.isfinite(mean.high)
        slack = 1e-12 * (1 + abs(mean.value))
        assert mean.low - slack <= mean.value <= mean.high + slack


def test_failures_bound_the_mean_from_both_sides() -> None:
    limits = bounds([4, 4, 5], 2, 1, 5)
    assert limits is not None
    assert (limits.low, limits.high) == (3.0, 4.6)
    assert bounds([4, 4, 5], 0, 1, 5) == bounds([4, 4, 5], 0, 5, 1)


def test_an_open_scale_bounds_nothing() -> None:
    assert bounds([-1.5], 3, None, None) is None
    assert bounds([], 0, 1, 5) is None


def test_the_detectable_difference_agrees_with_the_number_of_items_it_takes() -> None:
    # 198.15 pairs for d = 0.2 and 63.77 per arm for d = 0.5, at 80 % power (statsmodels).
    for n, sd, is_paired in ((198, 0.2, True), (63, 0.5, False)):
        few, enough = (minimum_detectable(size, 1.0, is_paired=is_paired) for size in (n, n + 1))
        assert few is not None
        assert enough is not None
        assert few > sd > enough


def test_the_detectable_difference_is_in_the_unit_of_the_scores_and_falls_with_the_root_of_n() -> None:
    smaller, four = minimum_detectable(2_000, 3.0), minimum_detectable(8_000, 3.0)
    assert smaller is not None
    assert four is not None
    assert smaller / four == pytest.approx(2, rel=1e-3)
    assert four == pytest.approx(3 * 2.8016 * math.sqrt(2 / 8_000), rel=1e-3)


@pytest.mark.parametrize(("n", "sd"), [(0, 1.0), (1, 1.0), (50, 0.0), (50, float("nan"))])
def test_nothing_is_detectable_without_items_or_spread(n: int, sd: float) -> None:
    assert minimum_detectable(n, sd) is None


@pytest.mark.parametrize(("passed", "n"), [(47, 50), (30, 50), (1, 3), (50, 50), (0, 7), (199, 200), (1, 1)])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9, 0.985])
def test_the_bound_of_two_levels_is_the_exact_binomial_one(passed: int, n: int, threshold: float) -> None:
    found = mean_test([1.0] * passed + [0.0] * (n - passed), None, (0.0, 1.0), threshold)
    assert found is not None
    assert found.p_above == pytest.approx(oracle.binom.sf(passed - 1, n, threshold), rel=1e-6, abs=1e-12)
    assert found.p_below == pytest.approx(oracle.binom.cdf(passed, n, threshold), rel=1e-6, abs=1e-12)
    exact = oracle.binomtest(passed, n).proportion_ci(0.95, "exact")
    assert [found.low, found.high] == pytest.approx([exact.low, exact.high], abs=1e-6)
    both = mean_test([1.0] * passed + [0.0] * (n - passed), None, (0.0, 1.0), threshold, is_two_level=True)
    assert both is not None
    share = wilson(passed, n)
    assert both.low == pytest.approx(min(exact.low, share.low or 0.0), abs=1e-6)
    assert both.high == pytest.approx(max(exact.high, share.high or 0.0), abs=1e-6)


def test_the_bound_is_a_quantile_of_randomly_weighted_means() -> None:
    rng = np.random.default_rng(1)
    scores = rng.choice([1, 2, 3, 4, 5], 30).astype(float)
    weights = rng.dirichlet(np.ones(31), 200_000)
    weighted = weights @ np.append(scores, 1.0)
    found = mean_test(scores.tolist(), None, (1.0, 5.0), 2.8)
    assert found is not None
    assert found.low == pytest.approx(np.quantile(weighted, 0.025), abs=0.01)
    assert found.p_above == pytest.approx(np.mean(weighted <= 2.8), abs=0.004)


@pytest.mark.slow
def test_groups_of_one_change_no_bound_and_many_values_are_rounded_with_care() -> None:
    scores = np.random.default_rng(2).uniform(1, 5, 5000).tolist()
    alone, grouped = (mean_test(scores, groups, (1.0, 5.0), 3.0) for groups in (None, list(range(5000))))
    assert alone is not None
    assert grouped is not None
    assert alone.low is not None
    assert grouped.low is not None
    assert grouped.low - 0.002 < alone.low <= grouped.low
    assert mean_test([], None, (1.0, 5.0), 3.0) is None


def test_a_mean_of_two_levels_is_a_share() -> None:
    found, share = mean_interval([1.0] * 3 + [2.0] * 47, limits=(1.0, 2.0)), wilson(47, 50)
    assert [found.low, found.high] == pytest.approx([1 + (share.low or 0), 1 + (share.high or 0)])
    # Five items of each group are alike, so that ten groups count.
    groups = [k // 5 for k in range(50)]
    clustered = mean_interval([0.0] * 10 + [1.0] * 40, groups, limits=(0.0, 1.0))
    assert (clustered.low or 0) < (wilson(8, 10).low or 0) + 0.03
    # Five levels of which only the ends were seen are no share.
    assert mean_interval([1.0, 5.0], limits=(1.0, 5.0)).low == 1


def test_rounding_many_group_sums_never_helps_the_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    sizes = random.integers(1, 4, 300).astype(np.float64)
    sums = sizes * random.uniform(0.2, 1.0, 300)
    exact = mean_bounds.BoundedMean(sums, sizes, 0.0, 1.0)
    monkeypatch.setattr(mean_bounds, "_MOST_VALUES", 64)
    monkeypatch.setattr(mean_bounds, "_BLOCK", 50)
    rounded = mean_bounds.BoundedMean(sums, sizes, 0.0, 1.0)
    assert len(rounded.sums) < 200 < len(exact.sums)
    assert exact.bound() - 1 / 64 < rounded.bound() <= exact.bound()
    for at in (0.5, 0.55, 0.6):
        assert rounded.p_value(at) >= exact.p_value(at)
