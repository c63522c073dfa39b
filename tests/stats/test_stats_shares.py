"""Shares, correlations, spread and columns, against hand-made values, scipy and the shared vectors."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from adjudge.stats import (
    ScoreColumn,
    difference_of_shares,
    matched,
    missing_from,
    pooled,
    spearman,
    spread,
    wilson,
)


def column(*rows: tuple[int, float], groups: dict[int, int] | None = None) -> ScoreColumn:
    made = ScoreColumn()
    for key, value in rows:
        made.add(key, value, (groups or {}).get(key, key), is_grouped=groups is not None)
    return made


def test_wilson_intervals_are_the_shared_ones(shared: Path) -> None:
    expected = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))["binomial_ci"]["expected"]
    for successes, n in ((0, 20), (20, 20), (7, 50)):
        share = wilson(successes, n)
        assert [share.low, share.high] == pytest.approx(expected[f"{successes}/{n}_wilson"], abs=1e-9)


def test_a_tie_may_count_as_half_a_success() -> None:
    assert wilson(3.5, 7).value == 0.5


def test_a_share_of_nothing_is_undefined() -> None:
    share = wilson(0, 0, n_failed=4)
    assert (share.value, share.n_failed, share.reason) == (None, 4, "there is nothing to count")


@given(st.integers(0, 200), st.integers(1, 200))
def test_a_share_lies_in_its_interval_and_the_interval_in_0_to_1(successes: int, n: int) -> None:
    share = wilson(min(successes, n), n)
    assert share.low is not None
    assert share.high is not None
    assert share.value is not None
    assert 0 <= share.low <= share.value <= share.high <= 1
    assert share.low < share.high


def test_the_difference_of_shares_is_newcombes() -> None:
    # Newcombe 1998, table II, method 10, 56/70 - 48/80
    difference = difference_of_shares(56, 70, 48, 80)
    assert (difference.value, difference.low, difference.high) == (
        pytest.approx(0.2),
        pytest.approx(0.0524, abs=5e-5),
        pytest.approx(0.3339, abs=5e-5),
    )
    assert difference_of_shares(1, 2, 0, 0).value is None


def test_correlations_are_scipys_ties_included() -> None:
    draw = random.Random(4)
    x = [draw.randint(1, 5) for _ in range(200)]
    y = [min(5, max(1, value + draw.randint(-1, 1))) for value in x]
    assert spearman(x, y).value == pytest.approx(oracle.spearmanr(x, y).statistic)


def test_the_spearman_interval_is_fishers_with_the_variance_of_ranks() -> None:
    correlation = spearman([1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4, 3, 6, 5, 8, 7])
    # rho = 1 - 6 · 8 / (8 · 63) = 0.904762; z = 1.498; half = 1.96 · sqrt((1 + rho²/2) / 5) = 1.040554
    assert correlation.value == pytest.approx(0.904762, abs=1e-6)
    ends = [math.tanh(math.atanh(0.904762) + side * 1.040554) for side in (-1, 1)]
    assert (correlation.low, correlation.high) == (
        pytest.approx(ends[0], abs=1e-5),
        pytest.approx(ends[1], abs=1e-5),
    )


def test_groups_widen_the_interval_of_a_correlation() -> None:
    x, y = [1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4, 3, 6, 5, 8, 8]
    alone, grouped = spearman(x, y), spearman(x, y, n_units=4)
    assert grouped.low is not None
    assert alone.low is not None
    assert (grouped.value, grouped.unit) == (alone.value, "group (n=4)")
    assert grouped.low < alone.low


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        ([], [], "fewer than two pairs"),
        ([1], [2], "fewer than two pairs"),
        ([1, 1, 1], [1, 2, 3], "one side is constant"),
        ([1, math.nan, 3], [1, 2, math.inf], "fewer than two pairs"),
    ],
)
def test_a_correlation_that_is_undefined_says_why(x: list[float], y: list[float], why: str) -> None:
    correlation = spearman(x, y)
    assert (correlation.value, correlation.reason) == (None, why)


def test_a_perfect_correlation_has_no_interval() -> None:
    correlation = spearman([1, 2, 3, 4, 5], [10, 20, 30, 40, 50])
    assert (correlation.value, correlation.low, correlation.reason) == (1.0, None, "a perfect correlation")


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=10))
def test_any_pairs_give_a_correlation_within_its_range_or_a_reason(rows: list[tuple[float, float]]) -> None:
    correlation = spearman([x for x, _ in rows], [y for _, y in rows])
    assert correlation.n + correlation.n_undefined == len(rows)
    if correlation.value is None:
        assert correlation.reason
    else:
        assert -1 <= correlation.value <= 1


def test_spread_by_hand() -> None:
    summary = spread({1.0: 2, 3.0: 4, 5.0: 2}, n_levels=5)
    assert (summary.n, summary.mode, summary.mode_share, summary.entropy_bits) == (8, 3.0, 0.5, 1.5)
    assert summary.relative_entropy == pytest.approx(1.5 / math.log2(5))


def test_one_value_has_no_entropy_and_none_has_no_spread() -> None:
    assert spread({4.0: 9}).entropy_bits == 0
    assert spread({}).mode is None


def test_pooling_averages_per_key_and_counts_the_incomplete() -> None:
    whole, n_partial = pooled([column((1, 2.0), (2, 4.0)), column((2, 5.0), (3, 1.0))])
    assert dict(zip(whole.keys, whole.values, strict=True)) == {1: 2.0, 2: 4.5, 3: 1.0}
    assert n_partial == 2


def test_pooling_equal_values_gives_that_value() -> None:
    whole, _ = pooled([column((1, 0.1)), column((1, 0.1)), column((1, 0.1))])
    assert list(whole.values) == [0.1]


def test_matching_takes_the_keys_that_both_have() -> None:
    x, y, n_groups, n_unmatched = matched(
        column((1, 1.0), (2, 2.0), (3, 3.0)), column((2, 20.0), (3, 30.0), (4, 40.0))
    )
    assert (list(x), list(y), n_groups, n_unmatched) == ([2.0, 3.0], [20.0, 30.0], None, 2)


def test_matching_counts_the_groups_of_what_it_took() -> None:
    groups = {1: 7, 2: 7, 3: 8}
    both = column((1, 1.0), (2, 2.0), (3, 3.0), groups=groups)
    assert matched(both, both)[2] == 2


def test_an_empty_column_can_be_pooled_matched_and_averaged() -> None:
    empty = ScoreColumn()
    assert pooled([empty, empty])[1] == 0
    assert matched(empty, column((1, 1.0)))[3] == 1
    assert empty.mean().value is None
    assert empty.counts() == {}
    assert len(missing_from(empty, empty)) == 0


def test_a_key_is_missing_once_however_often_it_failed() -> None:
    left = missing_from(column((1, 1.0), (1, 2.0), (2, 3.0)), column((2, 5.0)))
    assert (list(left.keys), list(left.values)) == ([1], [1.0])


def test_two_scores_of_one_item_are_one_cluster() -> None:
    made = ScoreColumn()
    for key, value, item in ((11, 1.0, 1), (12, 2.0, 1), (21, 4.0, 2), (22, 5.0, 2)):
        made.add(key, value, item, is_grouped=False)
    assert made.mean().unit == "group (n=2)"
