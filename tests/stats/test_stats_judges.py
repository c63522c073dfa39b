"""Two judges on the same items and many tests at once, against scipy, statsmodels and the shared vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as oracle

from adjudge.stats import (
    adjusted,
    compare_judges,
    mcnemar,
    mcnemar_of,
    minimum_detectable,
    retest,
    sign_flip,
    williams,
)
from adjudge.stats.ceiling import _reliability


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    vectors = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))
    assert isinstance(vectors, dict)
    return vectors


def test_williams_test_is_the_shared_one(vectors: dict[str, Any]) -> None:
    vector = vectors["williams_test_wmt"]
    test = williams(
        vector["inputs"]["r12"], vector["inputs"]["r13"], vector["inputs"]["r23"], vector["inputs"]["n"]
    )
    assert test.p == pytest.approx(vector["expected"]["p_two_sided"], abs=1e-9)


@pytest.mark.parametrize("name", ["steiger_z_dependent_corr", "meng_z_dependent_corr"])
def test_williams_test_agrees_with_the_other_tests_of_dependent_correlations(
    vectors: dict[str, Any], name: str
) -> None:
    given, expected = vectors[name]["inputs"], vectors[name]["expected"]
    found = williams(given["r_hx"], given["r_hy"], given["r_xy"], given["n"])
    assert found.p == pytest.approx(expected["p_two_sided"], abs=1e-3)


def test_a_perfect_correlation_or_three_items_cannot_be_tested() -> None:
    assert williams(1.0, 0.5, 0.5, 50).why == "a correlation is perfect or undefined"
    assert williams(0.6, 0.5, 0.5, 3).why == "fewer than four items"
    assert williams(0.5, 0.5, 0.9, 50).p == pytest.approx(1)


def test_mcnemar_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    (_, b), (c, _) = vectors["mcnemar"]["inputs"]["table"]
    assert mcnemar(b, c).p == pytest.approx(vectors["mcnemar"]["expected"]["exact_p"], abs=1e-9)
    first, second = [True] * b + [False] * c + [True, None], [False] * b + [True] * c + [True, True]
    assert mcnemar_of(first, second).p == mcnemar(b, c).p
    assert mcnemar(0, 0).why == "both judges are right on the same items"


def test_flipping_signs_gives_the_shared_p_value(vectors: dict[str, Any]) -> None:
    vector = vectors["paired_sign_flip_exact"]
    test = sign_flip(vector["inputs"]["diff"])
    assert (test.statistic, test.p) == (
        pytest.approx(vector["expected"]["mean"]),
        pytest.approx(vector["expected"]["p_two_sided"], abs=1e-9),
    )


def test_flipping_a_random_part_of_many_signs_is_near_the_t_test() -> None:
    differences = np.random.default_rng(1).normal(0.15, 1, 150)
    test = sign_flip(differences.tolist())
    assert test.p == pytest.approx(oracle.ttest_1samp(differences, 0).pvalue, abs=0.015)
    assert (test.seed, sign_flip(differences.tolist()).p) == (0, test.p)


def test_adjusted_p_values_are_the_shared_ones(vectors: dict[str, Any]) -> None:
    p, expected = vectors["multiple_testing"]["inputs"]["p"], vectors["multiple_testing"]["expected"]
    for ours, theirs in (("holm", "holm"), ("by", "fdr_by")):
        assert adjusted(p, ours) == pytest.approx(expected[theirs], abs=1e-9)  # type: ignore[arg-type]


def test_adjusted_p_values_keep_their_order_and_skip_what_is_missing() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="the oracle is not installed")
    p = np.random.default_rng(2).random(12).tolist()
    for ours, theirs in (("holm", "holm"), ("by", "fdr_by")):
        expected = multitest.multipletests(p, method=theirs)[1].tolist()
        assert adjusted(p, ours) == pytest.approx(expected)  # type: ignore[arg-type]
        assert adjusted([None, *p, None], ours)[1:-1] == pytest.approx(expected)  # type: ignore[arg-type]
    assert adjusted([]) == []


@pytest.mark.parametrize("unit", ["systems", "inputs", "both"])
def test_swapping_judges_gives_the_shared_p_values(vectors: dict[str, Any], unit: Any) -> None:
    inputs, expected = vectors["deutsch_boot_perm"]["inputs"], vectors["deutsch_boot_perm"]["expected"]
    human, first, second = (np.array(inputs[key]).ravel().tolist() for key in ("human", "judge1", "judge2"))
    groups, systems = np.repeat(np.arange(6), 5).tolist(), np.tile(np.arange(5), 6).tolist()
    comparison = compare_judges(
        first, second, human, "pearson", groups=groups, systems=systems, resample=unit, n_permutations=2000
    )
    # Monte Carlo on both sides; far tighter than the vector's own tolerance of .05.
    assert comparison.permutation.p == pytest.approx(expected[f"perm_{unit}_global_pearson_p"], abs=0.015)
    assert comparison.first.value is not None
    assert comparison.second.value is not None
    assert comparison.difference.value == pytest.approx(comparison.first.value - comparison.second.value)


@pytest.mark.parametrize("level", ["item", "group", "system"])
@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_the_better_judge_is_found_at_each_level(level: Any, kind: Any) -> None:
    rng = np.random.default_rng(3)
    human = rng.normal(0, 1, (40, 10)) + np.linspace(-0.3, 0.3, 10)
    first, second = human + rng.normal(0, 0.3, human.shape), human + rng.normal(0, 3, human.shape)
    groups, systems = np.repeat(np.arange(40), 10).tolist(), np.tile(np.arange(10), 40).tolist()
    comparison = compare_judges(
        first.ravel().tolist(), second.ravel().tolist(), human.ravel().tolist(), kind, level,
        groups=groups, systems=systems, n_resamples=300, n_permutations=200,
    )  # fmt: skip
    assert comparison.difference.low is not None
    assert comparison.difference.low > 0
    assert comparison.permutation.p is not None
    assert comparison.permutation.p < 0.05


def test_two_judges_that_are_alike_differ_by_chance_alone() -> None:
    rng = np.random.default_rng(4)
    p_values = []
    for _ in range(120):
        human = rng.normal(0, 1, 60)
        first, second = human + rng.normal(0, 1, 60), human + rng.normal(0, 1, 60)
        p_values.append(
            compare_judges(
                first.tolist(), second.tolist(), human.tolist(), n_resamples=2, n_permutations=99
            ).permutation.p
        )
    small = sum(p is not None and p <= 0.1 for p in p_values)
    # Binomial with 120 tests at .1: 99.9 % lie between 3 and 24.
    assert 3 <= small <= 24


def test_williams_takes_its_correlations_from_the_same_items() -> None:
    rng = np.random.default_rng(5)
    human = rng.normal(0, 1, 80)
    first, second = human + rng.normal(0, 1, 80), human + rng.normal(0, 1.5, 80)
    gaps: list[float | None] = [None, *first.tolist()[1:]]
    comparison = compare_judges(
        gaps, second.tolist(), human.tolist(), "pearson", n_resamples=10, n_permutations=10
    )
    r = np.corrcoef([human[1:], first[1:], second[1:]])
    assert comparison.williams.p == pytest.approx(williams(r[0, 1], r[0, 2], r[1, 2], 79).p)
    assert comparison.difference.n == 79


def test_the_smallest_difference_is_the_one_that_the_shared_power_is_for(vectors: dict[str, Any]) -> None:
    expected = vectors["power"]["expected"]
    detectable = minimum_detectable(round(expected["paired_t_n_for_d0.2_power.8"]), 1.0, is_paired=True)
    assert detectable == pytest.approx(0.2, abs=2e-4)
    assert minimum_detectable(
        100, 1.0, is_paired=True, power=expected["paired_t_power_n100_d.2"]
    ) == pytest.approx(0.2, abs=1e-4)


def test_reliability_is_the_shared_icc(vectors: dict[str, Any]) -> None:
    """ICC(1,1) and ICC(1,k) of repeated samples, ICC(C,k) of raters who rated all items."""
    vector = vectors["icc"]
    ratings = vector["inputs"]["ratings_items_x_raters"]
    found = retest(ratings)
    assert found.single.value == pytest.approx(vector["expected"]["ICC(1,1)"], abs=1e-9)
    assert found.mean.value == pytest.approx(vector["expected"]["ICC(1,k)"], abs=1e-9)
    table = np.array(ratings, dtype=float)
    of_raters = _reliability(table, np.ones((len(table), 1)))
    assert float(of_raters[0]) == pytest.approx(vector["expected"]["ICC(C,k)"], abs=1e-9)
