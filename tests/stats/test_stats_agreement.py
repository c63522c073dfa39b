"""Agreement of two raters, of several, and of a judge with them, against the oracles and the shared
vectors."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjudge.stats import (
    alt_test,
    choice_agreement,
    cohen_kappa,
    exact_agreement,
    gwet,
    halved,
    krippendorff_alpha,
    nearest_levels,
    noise_ceiling,
    quadratic_kappa,
    retest,
    tie_calibration,
)

FIVE = [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    vectors = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))
    assert isinstance(vectors, dict)
    return vectors


def some_ratings(n: int = 40, k: int = 4, gaps: float = 0.0, seed: int = 2) -> list[list[float | None]]:
    rng = np.random.default_rng(seed)
    table = np.clip(np.round(rng.normal(3, 1, (n, 1)) + rng.normal(0, 0.7, (n, k))), 1, 5)
    return [[None if rng.random() < gaps else float(value) for value in row] for row in table]


def test_kappa_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["cohen_kappa"]["inputs"], vectors["cohen_kappa"]["expected"]
    a, b = inputs["a"], inputs["b"]
    plain = cohen_kappa(a, b, FIVE)
    assert plain.value == pytest.approx(expected["cohen"], abs=1e-9)
    assert [plain.low, plain.high] == pytest.approx(expected["cohen_ci"], abs=1e-9)
    assert quadratic_kappa(a, b).value == pytest.approx(expected["quadratic"], abs=1e-9)
    assert exact_agreement(a, b).value == pytest.approx(expected["po"], abs=1e-9)


def test_kappa_weighs_by_the_declared_scale_and_not_by_the_values_that_occur(vectors: dict[str, Any]) -> None:
    vector = vectors["cohen_kappa_missing_category"]
    kappa = quadratic_kappa(vector["inputs"]["a"], vector["inputs"]["b"])
    assert kappa.value == pytest.approx(vector["expected"]["quadratic_labels_1_5"], abs=1e-9)
    assert kappa.value != pytest.approx(vector["expected"]["quadratic_default"], abs=1e-3)


def test_kappa_of_one_answer_is_undefined_while_the_agreement_is_not(vectors: dict[str, Any]) -> None:
    inputs = vectors["cohen_kappa_degenerate"]["inputs"]
    kappa = cohen_kappa(inputs["a"], inputs["b"], FIVE)
    assert (kappa.value, kappa.reason) == (None, "both always give one and the same answer")
    assert exact_agreement(inputs["a"], inputs["b"]).value == 1


@pytest.mark.parametrize("weights", ["none", "quadratic"])
def test_kappa_and_its_interval_are_those_of_statsmodels_and_scikit_learn(weights: Any) -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="the oracle is not installed")
    metrics = pytest.importorskip("sklearn.metrics", reason="the oracle is not installed")
    rows = some_ratings(60, 2)
    a, b = [row[0] for row in rows], [row[1] for row in rows]
    table = np.zeros((5, 5))
    for x, y in zip(a, b, strict=True):
        assert x is not None
        assert y is not None
        table[int(x) - 1, int(y) - 1] += 1
    wt = {"none": None, "quadratic": "quadratic"}[weights]
    oracle = inter_rater.cohens_kappa(table, wt=wt)
    kappa = cohen_kappa(a, b, FIVE) if weights == "none" else quadratic_kappa(a, b)
    by_label = metrics.cohen_kappa_score(
        [int(x or 0) for x in a], [int(x or 0) for x in b], labels=[1, 2, 3, 4, 5], weights=wt
    )
    assert kappa.value == pytest.approx(oracle.kappa, abs=1e-9)
    assert kappa.value == pytest.approx(by_label, abs=1e-9)
    if weights == "none":
        # The quadratic one's own interval covers 84 to 87 % at n = 20, so that ours is another.
        assert [kappa.low, kappa.high] == pytest.approx([oracle.kappa_low, oracle.kappa_upp], abs=1e-9)


def test_answers_off_the_scale_or_missing_are_left_out_and_counted() -> None:
    kappa = cohen_kappa([1, 2, 9, None, math.nan, 3], [1, 2, 3, 3, 3, 2], FIVE)
    assert (kappa.n, kappa.n_undefined) == (3, 3)


def test_items_of_one_group_say_the_same_thing_twice() -> None:
    rows = some_ratings(40, 2)
    a, b = [row[0] for row in rows] * 5, [row[1] for row in rows] * 5
    alone, grouped = cohen_kappa(a, b, FIVE), cohen_kappa(a, b, FIVE, clusters=list(range(40)) * 5)
    assert alone.value == grouped.value
    assert alone.low is not None
    assert grouped.low is not None
    assert alone.value is not None
    # Five copies of each item make a false interval narrower by the root of five.
    assert (alone.value - grouped.low) / (alone.value - alone.low) == pytest.approx(math.sqrt(5), rel=0.1)


def test_choices_agree_with_and_without_ties() -> None:
    agreement = choice_agreement(["a", "b", "tie", "a", "b", None], ["a", "a", "tie", "tie", "b", "a"])
    assert (agreement.exact.value, agreement.exact.n, agreement.exact.n_undefined) == (
        pytest.approx(3 / 5),
        5,
        1,
    )
    assert (agreement.decided.value, agreement.decided.n) == (pytest.approx(2 / 3), 3)
    # observed .6; chance .4 · .4 + .4 · .2 + .2 · .4 = .32
    assert agreement.kappa.value == pytest.approx((0.6 - 0.32) / (1 - 0.32))


def test_real_annotators_of_pairs_agree_as_published(
    shared: Path, real_rows: Callable[[str], list[dict[str, Any]]]
) -> None:
    expected = json.loads((shared / "data" / "EXPECTED.json").read_text(encoding="utf-8"))["pandalm"]["kappa"]
    rows = [row["annotators"] for row in real_rows("pandalm.items")]
    figures = [
        choice_agreement([row[i] for row in rows], [row[j] for row in rows]).kappa.value
        for i, j in itertools.combinations(range(3), 2)
    ]
    assert figures == pytest.approx(expected, abs=6e-5)


def test_a_mean_of_samples_becomes_the_nearest_level() -> None:
    assert nearest_levels([1.2, 3.5, 9.0, None, math.nan], FIVE) == [1, 4, 5, None, None]
    assert nearest_levels([1.0], []) == [None]


@pytest.mark.parametrize("name", ["multi_rater_agreement", "multi_rater_agreement_missing"])
def test_alpha_and_gwet_of_the_shared_vectors(vectors: dict[str, Any], name: str) -> None:
    ratings, expected = vectors[name]["inputs"]["ratings_items_x_raters"], vectors[name]["expected"]
    for metric in ("nominal", "interval"):
        alpha = krippendorff_alpha(ratings, metric)  # type: ignore[arg-type]
        assert alpha.value == pytest.approx(expected[f"alpha_{metric}"], abs=1e-9)
    if name.endswith("missing"):
        assert alpha.n_undefined == 1
        return
    ours = gwet(ratings, FIVE)
    assert ours.value == pytest.approx(expected["irrCAC_quadratic_gwet"], abs=1e-4)
    assert [ours.low, ours.high] == pytest.approx(expected["irrCAC_quadratic_gwet_ci"], abs=1e-4)


@pytest.mark.parametrize("metric", ["nominal", "interval"])
@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_alpha_is_that_of_the_krippendorff_package(metric: Any, gaps: float) -> None:
    oracle = pytest.importorskip("krippendorff", reason="the oracle is not installed")
    ratings = some_ratings(50, 5, gaps)
    table = np.array(ratings, dtype=float).T
    expected = oracle.alpha(reliability_data=table, level_of_measurement=metric)
    alpha = krippendorff_alpha(ratings, metric, n_resamples=200)
    assert alpha.value == pytest.approx(expected, abs=1e-9)
    assert alpha.low is not None
    assert alpha.high is not None
    assert alpha.low < expected < alpha.high


def test_a_resample_of_items_has_the_alpha_of_those_items() -> None:
    oracle = pytest.importorskip("krippendorff", reason="the oracle is not installed")
    from adjudge.stats.agreement import _alpha
    from adjudge.stats.arrays import rated

    ratings = some_ratings(12, 3, 0.1)
    for metric in ("nominal", "interval"):
        rating_table = rated(ratings)
        kept = (~np.isnan(rating_table)).sum(axis=1) >= 2
        weights = np.random.default_rng(0).integers(0, 3, (int(kept.sum()), 1)).astype(float)
        alpha = _alpha(rating_table[kept], metric)(weights)[0]  # type: ignore[arg-type]
        table = np.repeat(np.array(ratings, dtype=float)[kept], weights[:, 0].astype(int), axis=0)
        assert alpha == pytest.approx(
            oracle.alpha(reliability_data=table.T, level_of_measurement=metric), abs=1e-9
        )


def test_the_one_way_intraclass_correlations_of_shrout_and_fleiss() -> None:
    # Shrout and Fleiss 1979, table 2; intervals as McGraw and Wong's formulas give them for it.
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    both = retest(ratings)
    published = ((both.single, (0.17, -0.13, 0.72)), (both.mean, (0.44, -0.88, 0.91)))
    for value, expected in published:
        assert (value.value, value.low, value.high) == pytest.approx(expected, abs=0.006)
    assert (both.within, both.between) == (pytest.approx(6.2639, abs=1e-4), pytest.approx(1.2444, abs=1e-4))


def test_retest_takes_items_with_unequal_numbers_of_samples() -> None:
    rng = np.random.default_rng(4)
    true = rng.normal(0, 2, 400)
    samples = [[*(level + rng.normal(0, 1, 5)).tolist()] for level in true]
    samples = [[value if rng.random() < 0.7 else None for value in row] for row in samples]  # type: ignore[misc]
    reliability = retest(samples)
    assert reliability.within == pytest.approx(1, abs=0.1)
    assert reliability.between == pytest.approx(4, abs=0.7)
    assert reliability.single.value == pytest.approx(0.8, abs=0.05)
    assert reliability.n_items < 400


def test_the_noise_ceiling_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    vector = vectors["noise_ceiling"]
    ceiling = noise_ceiling(vector["inputs"]["ratings_items_x_raters"])
    assert ceiling.lower.value == pytest.approx(vector["expected"]["lower_loo_mean_spearman"], abs=1e-9)
    assert ceiling.upper.value == pytest.approx(vector["expected"]["upper_mean_spearman"], abs=1e-9)
    assert list(ceiling.by_rater) == pytest.approx(vector["expected"]["loo"], abs=1e-9)
    assert (ceiling.judge.value, ceiling.judge.reason) == (None, "no judge was given")


def test_a_judge_that_is_one_more_rater_reaches_the_whole_ceiling() -> None:
    rows = some_ratings(600, 4, seed=9)
    ceiling = noise_ceiling([row[:3] for row in rows], [row[3] for row in rows], n_resamples=300)
    assert ceiling.share.value == pytest.approx(1, abs=0.08)
    assert ceiling.share.low is not None
    assert ceiling.share.high is not None
    assert ceiling.share.low < 1 < ceiling.share.high
    assert ceiling.corrected.value is not None
    assert ceiling.judge.value is not None
    assert ceiling.corrected.value > ceiling.judge.value


def test_tie_calibration_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    vector = vectors["wmt_pairwise_accuracy_tie_calibration"]
    inputs, expected = vector["inputs"], vector["expected"]
    human, judge, whole = (
        np.array(inputs[key]).ravel().tolist() for key in ("human", "judge", "judge_integer")
    )
    groups = np.repeat(np.arange(6), 5).tolist()
    by_group, pooled = tie_calibration(judge, human, groups), tie_calibration(judge, human)
    assert by_group.plain.value == pytest.approx(expected["acc23_at_eps0"], abs=1e-9)
    assert by_group.best.value == pytest.approx(expected["acc_eq_star"], abs=1e-9)
    assert by_group.eps == pytest.approx(expected["best_eps"], abs=1e-9)
    assert pooled.best.value == pytest.approx(expected["pooled_acc_eq_star"], abs=1e-9)
    assert pooled.eps == pytest.approx(expected["pooled_best_eps"], abs=1e-9)
    of_whole = tie_calibration(whole, human, groups)
    assert of_whole.plain.value == pytest.approx(expected["int_judge_acc23_at_eps0"], abs=1e-9)
    assert of_whole.best.value == pytest.approx(expected["int_judge_acc_eq_star"], abs=1e-9)
    assert of_whole.eps == expected["int_judge_best_eps"]


def test_pairwise_accuracy_counts_ties_of_both_as_right(vectors: dict[str, Any]) -> None:
    inputs = vectors["ties_pooled"]["inputs"]
    calibration = tie_calibration(inputs["judge"], inputs["human"])
    assert calibration.plain.value == pytest.approx(vectors["ties_pooled"]["expected"]["acc23"], abs=1e-9)
    assert calibration.plain.value == pytest.approx(
        vectors["wmt_kendall_variants"]["expected"]["acc23"], abs=1e-9
    )


def test_a_threshold_from_other_items_is_not_optimistic() -> None:
    rng = np.random.default_rng(3)
    gains = []
    for _ in range(30):
        human = rng.integers(1, 4, 60).astype(float)
        judge = (human * 0.1 + rng.normal(0, 1, 60)).tolist()
        calibration = tie_calibration(judge, human.tolist(), np.repeat(np.arange(12), 5).tolist())
        assert calibration.best.value is not None
        assert calibration.held_out.value is not None
        gains.append(calibration.best.value - calibration.held_out.value)
    assert np.mean(gains) > 0.01


@pytest.mark.slow
def test_many_items_without_groups_are_thinned_and_said_to_be() -> None:
    rng = np.random.default_rng(3)
    human = rng.integers(1, 6, 2500).astype(float)
    calibration = tie_calibration((human + rng.normal(0, 1, 2500)).tolist(), human.tolist())
    assert "2000 of 2500 items drawn at random" in calibration.plain.method


def test_the_alternative_annotator_test_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["alt_test"]["inputs"], vectors["alt_test"]["expected"]
    humans = inputs["humans"]
    answers = next(value for key, value in inputs.items() if key not in ("humans", "q_fdr"))
    judge = list(answers.values())
    ratings = [[humans[rater].get(item) for rater in humans] for item in answers]
    for closeness, name in (("equal", "accuracy"), ("near", "neg_rmse")):
        for eps in (0.0, 0.1, 0.2):
            test = alt_test(judge, ratings, closeness, eps=eps)  # type: ignore[arg-type]
            assert test.winning_rate.value == pytest.approx(
                expected[f"{name}_eps{eps}"]["winning_rate"], abs=1e-9
            )
            assert test.advantage.value == pytest.approx(
                expected[f"{name}_eps{eps}"]["advantage_prob"], abs=1e-9
            )
            assert test.passes is ((test.winning_rate.value or 0) >= 0.5)


def test_an_alternative_annotator_test_without_variance_is_explained(vectors: dict[str, Any]) -> None:
    vector = vectors["alt_test_degenerate"]
    n, expected = vector["inputs"]["n"], vector["expected"]
    strict, kind = (alt_test([3.0] * n, [[3.0] * 3] * n, eps=eps) for eps in (0.0, 0.2))
    assert (strict.winning_rate.value, kind.winning_rate.value) == (
        expected["winning_rate_eps0"],
        expected["winning_rate_eps0.2"],
    )
    assert kind.advantage.value == expected["adv_prob"]
    assert [test.p for test in strict.raters] == [expected["p_eps0"]] * 3
    # Thirty equal items do not make a probability of 0: .8 ** 30.
    assert [test.p for test in kind.raters] == [pytest.approx(0.8**30)] * 3
    assert "equally close on every item" in strict.raters[0].why


def test_the_conditions_of_the_alternative_annotator_test_are_checked_and_said() -> None:
    ratings: list[list[float | None]] = [[3.0, 3.0, None] for _ in range(35)]
    ratings[0] = [2.0, 3.0, 4.0]
    judge: list[float | str | None] = [3.0] * 34 + [None]
    test = alt_test(judge, ratings)
    assert test.raters[2].why == "1 items, fewer than 30"
    assert test.winning_rate.n_failed == 1
    assert any("left out" in text for text in test.cautions)
    assert any("2 raters are few" in text for text in test.cautions)


@pytest.mark.parametrize(
    ("judge", "ratings", "why"),
    [
        ([], [], "it needs two raters"),
        ([1.0], [[1.0]], "it needs two raters"),
        ([None, None], [[1.0, 2.0], [2.0, 1.0]], "no item has two ratings"),
        ([1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]], "no rater has 30 items"),
    ],
)
def test_an_alternative_annotator_test_that_cannot_be_made_says_why(
    judge: Any, ratings: Any, why: str
) -> None:
    test = alt_test(judge, ratings)
    assert (test.winning_rate.value, test.passes) == (None, None)
    assert test.winning_rate.reason.startswith(why)


def test_the_alternative_annotator_test_takes_choices() -> None:
    rng = np.random.default_rng(0)
    truth = rng.choice(["a", "b", "tie"], 90).tolist()

    def rater(accuracy: float) -> list[str]:
        return [answer if rng.random() < accuracy else str(rng.choice(["a", "b", "tie"])) for answer in truth]

    raters = [rater(0.6) for _ in range(3)]
    good = alt_test(rater(0.95), [list(row) for row in zip(*raters, strict=True)], "equal")
    bad = alt_test(rater(0.0), [list(row) for row in zip(*raters, strict=True)], "equal")
    assert (good.passes, bad.passes) == (True, False)


def test_quadratic_kappa_of_means_is_lins_concordance_correlation() -> None:
    x, y = [1.5, 2.25, 3.0, 4.75, 4.0], [1.0, 2.5, 3.5, 4.5, 5.0]
    covariance = np.cov(x, y, ddof=0)
    apart = (np.mean(x) - np.mean(y)) ** 2
    expected = 2 * covariance[0, 1] / (covariance[0, 0] + covariance[1, 1] + apart)
    assert quadratic_kappa(x, y).value == pytest.approx(expected)


def test_a_value_midway_between_two_levels_counts_for_both() -> None:
    assert halved([1.2, 3.5, 9.0, None, math.nan], FIVE) == [(1, 1), (3, 4), (5, 5), None, None]
    assert halved([0.1 + 0.2 - 0.05], [0.2, 0.3]) == [(0.2, 0.3)]
    assert halved([1.0], []) == [None]


def test_rows_of_one_item_count_as_one_in_gwets_coefficient() -> None:
    rows = [[1.0, 2.0], [3.0, 3.0], [4.0, 5.0], [2.0, 2.0], [5.0, 3.0]]
    thrice = [row for row in rows for _ in range(3)]
    items = [place for place in range(5) for _ in range(3)]
    once, again = gwet(rows, FIVE), gwet(thrice, FIVE, items)
    assert (again.n, again.unit, again.method) == (once.n, once.unit, once.method)
    for value, other in ((again.value, once.value), (again.low, once.low), (again.high, once.high)):
        assert value == pytest.approx(other)


def test_alpha_of_a_thousand_different_values_takes_no_table_of_them() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=20_000)
    ratings = np.stack([truth, truth + rng.normal(size=20_000)], axis=1).tolist()
    alpha = krippendorff_alpha(ratings, "interval", n_resamples=20)
    assert alpha.value == pytest.approx(2 / 3, abs=0.02)
