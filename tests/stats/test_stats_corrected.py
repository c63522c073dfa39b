"""Means, shares and scores corrected by a few labels, against ppi-python, scikit-learn and the shared
vectors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adjudge.stats import (
    calibrate,
    calibration_error,
    confidence_quality,
    corrected_share,
    isotonic_fit,
    labels_needed,
    ordinal_fit,
    ppi_difference,
    ppi_mean,
    ppi_stratified,
    rogan_gladen,
    wilson,
)
from adjudge.stats.ppi import unskewed


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    vectors = json.loads((shared / "vectors.json").read_text(encoding="utf-8"))
    assert isinstance(vectors, dict)
    return vectors


def judged(n: int = 400, n_labels: int = 60, seed: int = 1) -> tuple[list[float | None], list[float]]:
    """Labels on a random part of items that a judge scores 0.4 too kindly."""
    rng = np.random.default_rng(seed)
    true = rng.normal(3, 1, n)
    scores = (true + 0.4 + rng.normal(0, 0.5, n)).tolist()
    drawn = set(rng.choice(n, n_labels, replace=False).tolist())
    return [float(value) if i in drawn else None for i, value in enumerate(true)], scores


def test_the_corrected_mean_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["ppi_mean"]["inputs"], vectors["ppi_mean"]["expected"]
    rest = inputs["Yhat_unlabeled"]
    labels, scores = inputs["Y"] + [None] * len(rest), inputs["Yhat_labeled"] + rest
    corrected = ppi_mean(labels, scores)
    assert corrected.corrected.value == pytest.approx(expected["ppipp_point"], abs=1e-6)
    assert corrected.labels_only.value == pytest.approx(expected["classical_mean"], abs=1e-6)
    # The vector's lambda takes n - 1 for the covariance, the published code n.
    n = len(inputs["Y"])
    closed = expected["lam_closed_form_cov/(1+n/N)/var_pooled(ddof1)"]
    assert corrected.power == pytest.approx(closed * (n - 1) / n, abs=1e-6)
    assert np.mean(rest) == pytest.approx(expected["judge_only_mean"])


def test_the_corrected_mean_is_that_of_ppi_python() -> None:
    ppi = pytest.importorskip("ppi_py", reason="the oracle is not installed")
    for seed in range(5):
        labels, scores = judged(seed=seed)
        labelled = [i for i, label in enumerate(labels) if label is not None]
        rest = [i for i, label in enumerate(labels) if label is None]
        y = np.array([labels[i] for i in labelled], dtype=float)
        f, u = np.array([scores[i] for i in labelled]), np.array([scores[i] for i in rest])
        expected = float(np.squeeze(ppi.ppi_mean_pointestimate(y, f, u)))
        assert ppi_mean(labels, scores).corrected.value == pytest.approx(expected, abs=1e-9)


def test_a_kind_judge_is_corrected_and_makes_labels_worth_more() -> None:
    labels, scores = judged(2000, 100)
    corrected = ppi_mean(labels, scores)
    for estimate in (corrected.corrected, corrected.labels_only, corrected.judge_only):
        assert estimate.low is not None
        assert estimate.high is not None
    assert corrected.corrected.low is not None
    assert corrected.corrected.high is not None
    assert corrected.labels_only.high is not None
    assert corrected.labels_only.low is not None
    assert corrected.corrected.low < 3 < corrected.corrected.high
    assert (corrected.judge_only.low or 0) > 3.2
    assert corrected.bias.value == pytest.approx(0.4, abs=0.15)
    assert corrected.corrected.high - corrected.corrected.low < 0.75 * (
        corrected.labels_only.high - corrected.labels_only.low
    )
    assert corrected.effective_labels is not None
    assert 250 < corrected.effective_labels < 600


def test_a_judge_that_knows_nothing_is_not_believed() -> None:
    rng = np.random.default_rng(0)
    labels, _ = judged(1000, 200)
    corrected = ppi_mean(labels, rng.normal(0, 1, 1000).tolist())
    assert corrected.power == pytest.approx(0, abs=0.15)
    assert corrected.effective_labels == pytest.approx(200, rel=0.1)


def test_a_judge_on_another_scale_is_as_good() -> None:
    labels, scores = judged()
    corrected, other = ppi_mean(labels, scores), ppi_mean(labels, [score / 100 for score in scores])
    assert other.corrected.value == pytest.approx(corrected.corrected.value)
    assert other.corrected.low == pytest.approx(corrected.corrected.low)


def test_failures_of_the_judge_cannot_bias_the_corrected_mean() -> None:
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(200):
        true = rng.normal(3, 1, 300)
        # The judge fails on the worst items, labelled or not.
        scores = [None if value < 2.2 else float(value) for value in true]
        drawn = set(rng.choice(300, 60, replace=False).tolist())
        labels = [float(value) if i in drawn else None for i, value in enumerate(true)]
        correction = ppi_mean(labels, scores)
        assert correction.corrected.n_failed == scores.count(None)
        assert correction.corrected.value is not None
        assert correction.judge_only.value is not None
        errors.append((correction.corrected.value - 3, correction.judge_only.value - 3))
    corrected, judge_only = np.mean(errors, axis=0)
    assert abs(corrected) < 0.03
    assert judge_only > 0.2


@pytest.mark.slow
def test_items_drawn_with_unequal_chances_are_weighted() -> None:
    rng = np.random.default_rng(4)
    errors = []
    for _ in range(300):
        true = rng.normal(3, 1, 400)
        chance = np.where(true > 3, 0.3, 0.1)
        is_drawn = rng.random(400) < chance
        labels = [float(value) if drawn else None for value, drawn in zip(true, is_drawn, strict=True)]
        scores = rng.normal(0, 1, 400).tolist()
        weighted = ppi_mean(labels, scores, probabilities=chance.tolist()).corrected.value
        plain = ppi_mean(labels, scores).corrected.value
        errors.append(((weighted or 0) - 3, (plain or 0) - 3))
    weighted_error, plain_error = np.mean(errors, axis=0)
    assert abs(weighted_error) < 0.05
    assert plain_error > 0.3


def test_labels_that_share_a_group_are_worth_less() -> None:
    labels, scores = judged(300, 60)
    groups = [f"g{i % 300}" for i in range(300)]
    alone = ppi_mean(labels, scores, clusters=groups).corrected
    copied = ppi_mean(labels * 4, scores * 4, clusters=groups * 4).corrected
    assert alone.low is not None
    assert copied.low is not None
    assert copied.value is not None
    assert alone.value is not None
    assert copied.value - copied.low == pytest.approx(alone.value - alone.low, rel=0.05)


def test_two_systems_are_compared_on_the_inputs_that_they_share() -> None:
    rng = np.random.default_rng(5)
    level = rng.normal(3, 1, 500)
    first, second = level + 0.3 + rng.normal(0, 0.3, 500), level + rng.normal(0, 0.3, 500)
    drawn = rng.random(500) < 0.2
    judge = [(side + rng.normal(0, 0.3, 500)).tolist() for side in (first, second)]
    people = [[float(v) if d else None for v, d in zip(side, drawn, strict=True)] for side in (first, second)]
    difference = ppi_difference(people[0], judge[0], people[1], judge[1])
    assert difference.corrected.low is not None
    assert difference.corrected.high is not None
    assert difference.corrected.low < 0.3 < difference.corrected.high
    assert "paired" in difference.corrected.method
    other = [None if d else label for label, d in zip(second.tolist(), drawn, strict=True)]
    apart = ppi_difference(people[0], judge[0], other, judge[1])
    assert "independent" in apart.corrected.method
    assert apart.corrected.low is not None
    assert apart.corrected.high is not None
    assert apart.corrected.low < 0.3 < apart.corrected.high


def test_a_difference_uses_the_labels_of_inputs_that_only_one_system_has() -> None:
    """Ten labels of each system, three inputs shared: the shared ones alone would know next to nothing."""
    rng = np.random.default_rng(12)
    level = rng.normal(3, 1, 60)
    sides = [level + shift + rng.normal(0, 0.3, 60) for shift in (0.5, 0.0)]
    judge = [(side + rng.normal(0, 0.3, 60)).tolist() for side in sides]
    first: list[float | None] = [float(v) if i < 10 else None for i, v in enumerate(sides[0])]
    second: list[float | None] = [float(v) if 7 <= i < 17 else None for i, v in enumerate(sides[1])]
    difference = ppi_difference(first, judge[0], second, judge[1], limits=(1, 5))
    assert "partly paired" in difference.corrected.method
    assert difference.corrected.n == 17
    assert difference.corrected.low is not None
    assert difference.corrected.high is not None
    assert difference.corrected.low < 0.5 < difference.corrected.high
    assert difference.corrected.high - difference.corrected.low < 1
    assert (difference.effective_labels or 0) > 17
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    assert len(both) == 3
    few = ppi_difference([1.0, 2.0, None, None], [1, 2, 3, 4], [None, None, 2.0, 3.0], [1, 2, 3, 4])
    assert few.corrected.value is None
    assert "fewer than three labels" in few.corrected.reason
    cut = ppi_difference([1, 5, 1, None], [1, 5, 1, 2], [None, 1, 5, 1], [2, 1, 5, 1], limits=(1, 5))
    assert cut.corrected.low is not None
    assert cut.corrected.low >= -4
    assert (cut.corrected.high or 9) <= 4


def test_one_stratum_is_the_plain_estimate_and_unequal_draws_are_put_right() -> None:
    labels, scores = judged()
    plain, weighted = (
        ppi_mean(labels, scores).corrected,
        ppi_stratified(labels, scores, ["x"] * len(labels)).corrected,
    )
    assert weighted.value == pytest.approx(plain.value, abs=1e-3)
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.normal(2, 0.5, 900), rng.normal(4, 0.5, 100)])
    strata = ["a"] * 900 + ["b"] * 100
    drawn = set(rng.choice(900, 30, replace=False).tolist()) | set(range(900, 950))
    some = [float(v) if i in drawn else None for i, v in enumerate(values)]
    three_ways = ppi_stratified(some, (values + rng.normal(0, 0.5, 1000)).tolist(), strata, limits=(1, 5))
    # The labels alone count each stratum by its items, too: their plain mean would be near 3.
    for estimate in (three_ways.corrected, three_ways.labels_only):
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < 2.2 < estimate.high
    assert three_ways.bias.value == pytest.approx(0, abs=0.2)
    refused = ppi_stratified([1.0, 2.0, 3.0, None], [1, 2, 3, 4], ["a", "a", "a", "b"]).corrected
    assert refused.reason == "1 of 2 strata have fewer than two labels"


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ([None] * 5, "there is no label"),
        ([1.0, 2.0, None, None, None], "fewer than three labels cannot say how the judge errs"),
    ],
)
def test_too_few_labels_correct_nothing(labels: list[float | None], why: str) -> None:
    corrected = ppi_mean(labels, [1, 2, 3, 4, 5])
    assert (corrected.corrected.value, corrected.corrected.reason) == (None, why)
    assert corrected.judge_only.value == 3


def test_labels_that_do_not_vary_bound_the_mean_by_the_scale() -> None:
    corrected = ppi_mean([1.0] * 20 + [None] * 80, [0.0, 1.0] * 50, limits=(0, 1)).corrected
    assert (corrected.value, corrected.high) == (1, 1)
    # After twenty equal labels at most 1 - .05 ** (1/20) of the items have another.
    assert corrected.low == pytest.approx(0.05 ** (1 / 20))


def test_a_judge_without_an_error_on_the_labels_is_cautioned() -> None:
    scores = [float(i % 5) for i in range(50)]
    corrected = ppi_mean([*scores[:20], *([None] * 30)], scores).corrected
    assert "predicts all 20 labels exactly" in corrected.caution


def test_the_skewness_correction_is_nothing_where_there_is_none() -> None:
    assert unskewed(1.96, 0.0) == 1.96
    # Hall's cubic is its own check: g(T) = T + s T² / 3 + s² T³ / 27 + s / 6.
    for skewness in (-0.5, 0.1, 0.4):
        t = unskewed(1.5, skewness)
        assert t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6 == pytest.approx(1.5)


def test_the_planned_number_of_labels_gives_the_planned_width() -> None:
    labels, scores = judged(4000, 200, seed=8)
    plan = labels_needed(labels, scores, 0.2)
    assert plan.with_judge is not None
    assert plan.without_judge is not None
    assert plan.with_judge < plan.without_judge
    widths = []
    for seed in range(9, 19):
        corrected = ppi_mean(*judged(4000, plan.with_judge, seed=seed)).corrected
        assert corrected.low is not None
        assert corrected.high is not None
        widths.append(corrected.high - corrected.low)
    assert np.median(widths) == pytest.approx(0.2, rel=0.15)


def test_a_plan_over_groups_counts_groups() -> None:
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(60), 5)
    people = 3 + rng.normal(size=60)[groups] + 0.3 * rng.normal(size=300)
    labels = [float(value) if place % 5 < 3 else None for place, value in enumerate(people)]
    scores = (people + rng.normal(size=300)).tolist()
    by_group, by_item = (
        labels_needed(labels, scores, 0.4, groups.tolist()),
        labels_needed(labels, scores, 0.4),
    )
    assert by_group.groups is not None
    assert by_group.with_judge == 3 * by_group.groups
    assert by_item.with_judge is not None
    assert by_group.with_judge > 1.5 * by_item.with_judge


def test_a_width_out_of_reach_is_refused_with_the_reason() -> None:
    labels, scores = judged(100, 30)
    assert labels_needed(labels, scores, 0.01).why == "100 items are too few for this width"
    assert labels_needed([1.0, None], [1, 2], 0.1).with_judge is None
    assert labels_needed(labels, scores, 0).why == "the width must be above 0"


def test_the_corrected_share_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["rogan_gladen"]["inputs"], vectors["rogan_gladen"]["expected"]
    share = rogan_gladen(
        inputs["true_pos"], inputs["n_pos_labeled"], inputs["true_neg"], inputs["n_neg_labeled"],
        inputs["judge_pos"], inputs["N"],
    )  # fmt: skip
    assert share.value == pytest.approx(expected["corrected"], abs=1e-9)
    assert [share.low, share.high] == pytest.approx(expected["ci95_wald"], abs=1e-9)


def test_a_judge_like_a_coin_is_refused(vectors: dict[str, Any]) -> None:
    inputs = vectors["rogan_gladen_refuse"]["inputs"]
    share = rogan_gladen(
        round(inputs["sens"] * 100),
        100,
        round(inputs["spec"] * 100),
        100,
        round(inputs["raw_rate"] * 1000),
        1000,
    )
    assert share.value is vectors["rogan_gladen_refuse"]["expected"]["corrected"]
    assert "not shown to be better than chance" in share.reason
    # Better than a coin on the face of it, but not on four labels.
    assert rogan_gladen(2, 3, 1, 1, 50, 100).value is None


def test_a_judge_without_an_error_gets_half_an_error() -> None:
    share = rogan_gladen(20, 20, 20, 20, 50, 100)
    assert share.value == pytest.approx(0.5)
    assert share.low is not None
    assert share.low < 0.42


def test_a_share_is_cut_to_0_to_1_and_counted_item_by_item() -> None:
    assert rogan_gladen(50, 60, 70, 80, 0, 1000).value == 0
    labels = [1] * 30 + [0] * 30 + [None] * 200
    judged_ = [1] * 27 + [0] * 3 + [0] * 27 + [1] * 3 + [1] * 100 + [0] * 98 + [None] * 2
    share = corrected_share(labels, judged_)
    assert share.value == pytest.approx(rogan_gladen(27, 30, 27, 30, 100, 198).value)
    assert (share.n, share.n_failed) == (198, 2)


def test_the_isotonic_curve_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["isotonic"]["inputs"], vectors["isotonic"]["expected"]
    curve = isotonic_fit(inputs["x"], inputs["y"])
    assert list(curve.y) == pytest.approx(expected["fitted"], abs=1e-9)
    assert curve.predict(np.array([0.5, 2.6, 9])).tolist() == pytest.approx(
        expected["predict_0.5_2.6_9"], abs=1e-9
    )


def test_the_isotonic_curve_is_scikit_learns_with_ties() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic", reason="the oracle is not installed")
    rng = np.random.default_rng(2)
    x = rng.integers(1, 9, 200).astype(float)
    y = x + rng.normal(0, 3, 200)
    expected = isotonic.IsotonicRegression(out_of_bounds="clip").fit(x, y).predict(np.linspace(0, 10, 41))
    assert isotonic_fit(x.tolist(), y.tolist()).predict(np.linspace(0, 10, 41)) == pytest.approx(
        expected, abs=1e-9
    )


def test_the_ordinal_model_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["ordinal_logit"]["inputs"], vectors["ordinal_logit"]["expected"]
    model = ordinal_fit(inputs["x"], inputs["y"])
    assert model.beta == pytest.approx(expected["beta"], abs=1e-3)
    assert list(model.thresholds) == pytest.approx(expected["thresholds"], abs=1e-3)
    predicted = model.probabilities(np.array([2.5, 4.0]))
    assert predicted.ravel().tolist() == pytest.approx(
        np.ravel(expected["prob_at_2.5_and_4"]).tolist(), abs=1e-3
    )
    assert model.predict(np.array([2.5]))[0] == pytest.approx(predicted[0] @ np.arange(1, 6))


def test_levels_that_the_scores_part_perfectly_still_have_a_slope() -> None:
    model = ordinal_fit([1, 2, 3, 4, 5, 6], [1, 1, 2, 2, 3, 3])
    assert math.isfinite(model.beta)
    assert model.predict(np.array([1.0, 3.5, 6.0])) == pytest.approx([1, 2, 3], abs=0.05)


def test_the_calibration_metrics_of_the_shared_vector(vectors: dict[str, Any]) -> None:
    inputs, expected = vectors["calibration_metrics"]["inputs"], vectors["calibration_metrics"]["expected"]
    assert calibration_error(inputs["p"], inputs["y"], inputs["bins"]) == pytest.approx(
        expected["ece_4bins"], abs=1e-9
    )
    quality = confidence_quality(inputs["p"], [bool(y) for y in inputs["y"]])
    assert quality.brier.value == pytest.approx(expected["brier"], abs=1e-9)


@pytest.mark.parametrize("method", ["isotonic", "ordinal"])
def test_calibration_mends_a_kind_judge_on_items_that_it_did_not_see(method: Any) -> None:
    rng = np.random.default_rng(7)
    people = rng.integers(1, 6, 300).astype(float)
    scores = np.clip(people + 1 + rng.normal(0, 0.5, 300), 1, 6)
    labels = [float(value) if i < 200 else None for i, value in enumerate(people)]
    calibration = calibrate(labels, scores.tolist(), method)
    assert calibration.mae_before.value is not None
    assert calibration.mae_after.value is not None
    assert calibration.mae_after.value < 0.6 * calibration.mae_before.value
    assert calibration.ece_before is not None
    assert calibration.ece_after is not None
    assert calibration.ece_after < 0.5 * calibration.ece_before
    assert all(value is not None for value in calibration.calibrated)
    assert np.mean(np.abs(np.array(calibration.calibrated[200:], dtype=float) - people[200:])) < 0.6


def test_calibration_on_noise_is_not_called_an_improvement() -> None:
    rng = np.random.default_rng(8)
    labels = rng.integers(1, 6, 60).astype(float)
    calibration = calibrate(labels.tolist(), labels.mean() + rng.normal(0, 0.01, 60))  # type: ignore[arg-type]
    assert calibration.mae_after.value is not None
    assert calibration.mae_before.value is not None
    # A curve fitted and measured on the same items would win here; held out, it cannot.
    assert calibration.mae_after.value > calibration.mae_before.value - 0.02


def test_confidence_that_means_nothing_is_seen() -> None:
    rng = np.random.default_rng(9)
    honest = rng.uniform(0.5, 1, 2000)
    right = [bool(value) for value in rng.random(2000) < honest]
    good = confidence_quality(honest.tolist(), right)
    boast = confidence_quality([0.99] * 2000, right)
    assert good.error.value is not None
    assert good.error.value < 0.05
    assert good.ranking is not None
    assert good.ranking > 0.6
    assert boast.error.value == pytest.approx(0.24, abs=0.04)
    assert (boast.ranking, boast.excess.value) == (0.5, pytest.approx(boast.error.value))
    assert confidence_quality([70, None], [True, True]).error.n_undefined == 2


def test_the_ranking_of_confidence_is_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="the oracle is not installed")
    rng = np.random.default_rng(10)
    p, y = np.round(rng.random(100), 1), rng.random(100) < 0.6
    quality = confidence_quality(p.tolist(), [bool(value) for value in y])
    assert quality.ranking == pytest.approx(metrics.roc_auc_score(y, p))


@pytest.mark.parametrize("n_items", [50, 500])
def test_a_corrected_share_is_never_much_wider_than_the_labels_alone(n_items: int) -> None:
    people: list[float | None] = [*([1.0] * 47), *([0.0] * 3), *([None] * (n_items - 50))]
    alone = wilson(47, 50)
    for judge in ([1.0] * n_items, [float(k % 2) for k in range(n_items)]):
        for found in (
            ppi_mean(people, judge, limits=(0.0, 1.0)).corrected,
            ppi_mean(people, judge, limits=(0.0, 1.0)).labels_only,
        ):
            assert [found.low, found.high] == pytest.approx([alone.low, alone.high])
    same = ppi_mean(people, [1.0] * 47 + [0.0] * 3 + [1.0] * (n_items - 50), limits=(0.0, 1.0)).corrected
    assert (same.high or 0) - (same.low or 0) <= 1.05 * ((alone.high or 0) - (alone.low or 0))


def test_a_pass_share_falls_back_on_the_labels_where_the_judge_says_less() -> None:
    # The judge is right on most passes; of three fails nothing can be learned about its errors.
    labels = [1.0] * 47 + [0.0] * 3 + [None] * 100
    judge = [1.0] * 30 + [0.0] * 17 + [0.0] * 3 + [1.0] * 60 + [0.0] * 40
    found, alone = corrected_share(labels, judge), wilson(47, 50)
    assert [found.value, found.low, found.high] == pytest.approx([alone.value, alone.low, alone.high])


def test_the_bias_is_weighted_by_the_chances_of_the_draw() -> None:
    # 900 items without a bias and 100 with one of 1; as many labels of each.
    rng = np.random.default_rng(0)
    people = rng.integers(1, 5, 1000).astype(float)
    judge = people + np.array([0.0] * 900 + [1.0] * 100)
    labels, chances = np.full((2, 1000), np.nan)
    for first, size in ((0, 900), (900, 100)):
        drawn = first + rng.choice(size, 25, replace=False)
        labels[drawn], chances[drawn] = people[drawn], 25 / size
    weighted = ppi_mean(labels.tolist(), judge.tolist(), probabilities=chances.tolist(), limits=(1.0, 5.0))
    assert weighted.bias.value == pytest.approx(0.1)
    assert ppi_mean(labels.tolist(), judge.tolist(), limits=(1.0, 5.0)).bias.value == pytest.approx(0.5)
    strata = ["big"] * 900 + ["small"] * 100
    assert ppi_stratified(labels.tolist(), judge.tolist(), strata).bias.value == pytest.approx(0.1)


def test_few_effective_labels_are_remarked() -> None:
    labels, scores = judged(400, 100)
    assert not ppi_mean(labels, scores).is_thin
    few_groups = [k % 6 for k in range(400)]
    assert ppi_mean(labels, scores, clusters=few_groups).is_thin
    chances = [None if label is None else 0.9 if place > 20 else 0.1 for place, label in enumerate(labels)]
    thin = ppi_mean(labels, scores, probabilities=chances)
    assert thin.is_thin
    assert thin.corrected.caution


def test_two_labels_of_a_stratum_that_agree_do_not_narrow_the_interval() -> None:
    """A third of such pairs agree by chance: the bias over all strata would be off in 4 of 10 cases."""
    rng = np.random.default_rng(8)
    covered, truth = 0, 0.0
    for _ in range(300):
        gaps = np.clip(np.round(rng.normal(0.0, 0.7, 300)), -2, 2)
        people = np.full(300, 3.0)
        labels = [float(y) if k < 60 or 150 <= k < 152 else None for k, y in enumerate(people)]
        found = ppi_stratified(labels, (people + gaps).tolist(), ["a"] * 150 + ["b"] * 150).bias
        covered += found.low is not None and found.low <= truth <= (found.high or 0.0)
    assert covered >= 0.93 * 300
