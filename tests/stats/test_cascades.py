"""The tests behind a cascade, against independent values and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs
from scipy.stats import binomtest

from adjudge.stats.betting import betting_bound, betting_p, most_disagreements
from adjudge.stats.binomial import fewest_items, lower_bound, power, upper_bound, upper_tail
from adjudge.stats.cascade_path import path_of
from adjudge.stats.cascades import StageAnswers, fit_cascade
from adjudge.stats.fixed_sequence import last_rejected


@pytest.mark.parametrize(("k", "n", "share"), [(0, 5, 0.3), (5, 5, 0.9), (93, 100, 0.9), (60, 61, 0.95)])
def test_tail_and_bound_are_the_exact_binomial_ones(k: int, n: int, share: float) -> None:
    test = binomtest(k, n, share, alternative="greater")
    assert upper_tail(k, n, share) == pytest.approx(test.pvalue)
    assert lower_bound(k, n, 0.1) == pytest.approx(test.proportion_ci(0.9).low)
    less = binomtest(k, n, share, alternative="less")
    assert upper_bound(k, n, 0.1) == pytest.approx(less.proportion_ci(0.9).high)


def test_the_fewest_items_show_a_share_and_one_fewer_do_not() -> None:
    for failures in (0, 3):
        n = fewest_items(0.9, 0.1, failures)
        assert upper_tail(n - failures, n, 0.9) <= 0.1 < upper_tail(n - 1 - failures, n - 1, 0.9)


def test_the_chance_to_show_a_share_is_that_of_the_exact_test() -> None:
    n, target, truth = 120, 0.9, 0.96
    shown = [k for k in range(n + 1) if binomtest(k, n, target, alternative="greater").pvalue <= 0.1]
    assert power(n, target, truth, 0.1) == pytest.approx(upper_tail(shown[0], n, truth))
    assert power(10, target, truth, 0.1) == 0.0


def test_the_number_of_labels_that_are_needed_shows_a_threshold_in_most_draws() -> None:
    rng = np.random.default_rng(6)
    fits = [fit_cascade(judges(rng, 1000, 100), 0.9, 0.1) for _ in range(20)]
    needed = [fit.labels_needed.likely for fit in fits if not fit.holds and fit.labels_needed is not None]
    shown = [fit_cascade(judges(rng, 1000, int(np.median(needed))), 0.9, 0.1).holds for _ in range(20)]
    assert len(needed) > 10
    assert min(needed) > 100
    assert np.mean(shown) >= 0.5


def test_a_cheap_judge_that_guesses_leaves_the_items_to_the_dear_one() -> None:
    rng = np.random.default_rng(7)
    _, dear = judges(rng, 1000, 300)
    guesses = rng.random(1000) < 0.6
    same = (guesses == (rng.random(1000) < 0.9)).tolist()
    labelled = [bool(flag) if at < 300 else None for at, flag in enumerate(guesses)]
    fit = fit_cascade([StageAnswers(rng.random(1000).tolist(), labelled, same), dear], 0.85, 0.1)
    alone = fit_cascade([dear], 0.85, 0.1)
    assert fit.stages[0].n_decided <= 10
    assert fit.stages[1].n_decided >= 0.95 * alone.stages[0].n_decided


def test_a_cheap_judge_that_errs_on_other_items_than_the_dear_one_decides_with_it() -> None:
    """Each is often wrong where it is unsure, so the two differ much, but rarely where both are sure."""
    rng = np.random.default_rng(8)
    confidence = rng.random((2, 1500))
    right = rng.random((2, 1500)) < 1 - 0.3 * (1 - confidence)
    same = (right[0] == right[1]).tolist()
    cheap, dear = (
        StageAnswers(sure.tolist(), [bool(f) if at < 300 else None for at, f in enumerate(flags)], same)
        for sure, flags in zip(confidence, right, strict=True)
    )
    both, alone = fit_cascade([cheap, dear], 0.85, 0.1), fit_cascade([dear], 0.85, 0.1)
    decided = [sum(stage.n_decided for stage in fit.stages) for fit in (both, alone)]
    assert both.holds
    assert both.stages[0].n_decided > 300
    assert decided[0] > decided[1] + 100


def test_confidences_between_0_and_1_share_one_threshold_and_others_their_order() -> None:
    answers = judges(np.random.default_rng(2), 1000, 300)
    shared = [stage.threshold for stage in fit_cascade(answers, 0.85, 0.1).stages]
    assert None not in shared
    assert abs(float(shared[0] or 0) - float(shared[1] or 0)) < 0.02
    scaled = [structs.replace(one, confidence=[9 * (c or 0) for c in one.confidence]) for one in answers]
    by_order = fit_cascade(scaled, 0.85, 0.1)
    n_cheap = by_order.stages[0].n_decided
    n_sure = sum((c or 0) >= (by_order.stages[1].threshold or 0) for c in scaled[1].confidence)
    assert n_cheap == pytest.approx(1000 * (n_sure / 1000) ** 3, abs=2)


@pytest.mark.parametrize("scale", [1.0, 9.0])
def test_the_path_is_nested_and_no_level_exceeds_the_risk(scale: float) -> None:
    rng = np.random.default_rng(9)
    confidence = scale * rng.integers(0, 9, size=(3, 400)) / 8
    confidence[rng.random((3, 400)) < 0.1] = -np.inf
    path = path_of(confidence, [(rng.random(400) < 0.97).tolist() for _ in range(3)], 0.9)
    decided = path.deciders >= 0
    assert bool((decided[1:] >= decided[:-1]).all())
    assert bool((path.thresholds[1:] <= path.thresholds[:-1]).all())
    for start in (0, len(path.thresholds) // 2, len(path.thresholds) - 1):
        shares = path.risk_shares(start)
        assert float(shares.max()) <= 1.0
        assert float(shares[start]) == 1.0
        assert bool((np.diff(shares) <= 0).all())


def test_a_sequence_ends_at_the_first_test_that_fails() -> None:
    assert last_rejected([(0.01, 0.1), (0.1, 0.1), (0.2, 0.1), (0.0, 0.1)]) == 1
    assert last_rejected([(0.08, 0.1), (0.08, 0.07), (0.0, 0.1)]) == 0
    assert last_rejected([(0.2, 0.1), (0.0, 0.1)]) is None
    assert last_rejected([]) is None


def test_betting_over_groups_is_rarely_wrong_where_groups_agree_as_one() -> None:
    """Each group agrees or disagrees as a whole: the worst dependence."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 5)
    wrong = 0
    for _ in range(1000):
        agrees = np.repeat(rng.random(40) < 0.8, 5).astype(float)
        wrong += betting_p(agrees, np.ones(200), groups, 0.8) <= 0.1
    assert wrong <= 119


def test_betting_is_rarely_wrong_where_large_groups_of_uneven_sizes_disagree() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 6, size=(2000, 100))
    is_large = sizes == 5
    share_wrong = 0.2 * 3 * 5 / 5  # a fifth of the items, all of them in groups of 5
    wrong = 0
    for row, large in zip(sizes, is_large, strict=True):
        groups = np.repeat(np.arange(100), row)
        agrees = np.repeat(~(large & (rng.random(100) < share_wrong)), row).astype(float)
        wrong += betting_p(agrees, np.ones(len(groups)), groups, 0.8) <= 0.1
    assert wrong / 2000 <= 0.1 + 2 * np.sqrt(0.09 / 2000)


def test_betting_bears_as_many_disagreements_as_it_says() -> None:
    groups = np.repeat(np.arange(120), np.arange(120) % 4 + 1)
    ones = np.ones(len(groups))
    borne = most_disagreements(ones, groups, 0.9, 0.1)
    assert borne > 3
    smallest_first = np.argsort(np.bincount(groups)[groups], kind="stable")
    for n, is_shown in ((borne, True), (borne + 5, False)):
        agrees = ones.copy()
        agrees[smallest_first[:n]] = 0.0
        assert (betting_p(agrees, ones, groups, 0.9) <= 0.1) is is_shown
    assert most_disagreements(ones[:4], groups[:4], 0.9, 0.1) == -1


def test_uneven_groups_decide_with_as_many_labels_as_even_ones_need() -> None:
    rng = np.random.default_rng(4)
    confidence = rng.random(1500)
    agrees = (rng.random(1500) < 1 - 0.12 * (1 - confidence)).tolist()
    groups = np.sort(rng.integers(0, 450, 1500)).tolist()
    inside = {group for group in set(groups) if rng.random() < 1 / 3}
    labels = [flag if group in inside else None for flag, group in zip(agrees, groups, strict=True)]
    fit = fit_cascade([StageAnswers(confidence.tolist(), labels)], 0.88, 0.1, groups)
    assert fit.holds
    assert fit.stages[0].n_decided > 1000


def test_the_order_of_the_items_changes_no_threshold() -> None:
    rng = np.random.default_rng(11)
    confidence = rng.integers(1, 30, 500) / 30
    agrees = rng.random(500) < 1 - 0.1 * (1 - confidence)
    groups = np.sort(rng.integers(0, 180, 500))
    thresholds = set()
    for _ in range(12):
        order = np.concatenate([rng.permutation(300), rng.permutation(np.arange(300, 500))])
        labels = [bool(agrees[at]) if at < 300 else None for at in order]
        answers = StageAnswers(confidence[order].tolist(), labels)
        fit = fit_cascade([answers], 0.89, 0.1, groups[order].tolist())
        thresholds.add((fit.stages[0].threshold, fit.agreement))
    assert len(thresholds) == 1


def test_the_betting_bound_is_the_target_at_which_its_test_turns() -> None:
    groups = np.repeat(np.arange(60), 2)
    agrees = np.ones(120)
    agrees[:4] = 0.0
    low = betting_bound(agrees, np.ones(120), groups, 0.1)
    assert 0.8 < low < 116 / 120
    assert betting_p(agrees, np.ones(120), groups, low - 1e-6) <= 0.1
    assert betting_p(agrees, np.ones(120), groups, low + 1e-6) > 0.1


def judges(rng: np.random.Generator, n: int, n_labels: int) -> list[StageAnswers]:
    """Two judges whose confidence is informative; the first n_labels items are labelled."""
    answers = []
    for skill in (0.8, 1.1):
        confidence = rng.random(n)
        agrees = rng.random(n) < 1 - 0.4 * (1 - confidence) ** skill
        labelled = [bool(flag) if at < n_labels else None for at, flag in enumerate(agrees)]
        answers.append(StageAnswers(confidence.tolist(), labelled))
    return answers


@pytest.mark.parametrize(("price", "is_asked"), [(0.001, True), (0.0, True), (0.009, False), (None, True)])
def test_a_judge_that_costs_more_than_it_saves_is_left_out(price: float | None, is_asked: bool) -> None:
    cheap, dear = (structs.replace(one, price=0.01) for one in judges(np.random.default_rng(2), 1000, 300))
    fit = fit_cascade([structs.replace(cheap, price=price), dear], 0.85, 0.1)
    assert fit.holds
    assert (fit.stages[0].threshold is not None) is is_asked


def test_a_costly_judge_stays_where_only_it_can_decide_some_items() -> None:
    cheap, dear = (structs.replace(one, price=0.01) for one in judges(np.random.default_rng(2), 1000, 300))
    silent = structs.replace(dear, confidence=[None, *dear.confidence[1:]])
    assert fit_cascade([cheap, silent], 0.85, 0.1).stages[0].threshold is not None


def test_labels_that_all_agree_decide_everything() -> None:
    confidence = [float(k) for k in range(100)]
    fit = fit_cascade([StageAnswers(confidence, [True] * 100)] * 2, 0.9, 0.1)
    assert fit.holds
    assert sum(stage.n_decided for stage in fit.stages) == 100
    assert fit.agreement is not None
    assert fit.agreement[1] >= 0.9


def test_the_bound_of_what_is_shown_reaches_the_target() -> None:
    fit = fit_cascade(judges(np.random.default_rng(2), 1000, 300), 0.85, 0.1)
    assert fit.holds
    assert fit.agreement is not None
    assert fit.agreement[1] >= 0.85
    assert fit.stages[1].n_reached == 1000 - fit.stages[0].n_decided


def test_too_few_labels_show_nothing_and_say_how_many_are_needed() -> None:
    fit = fit_cascade(judges(np.random.default_rng(3), 500, 20), 0.9, 0.1)
    assert not fit.holds
    assert [stage.threshold for stage in fit.stages] == [None, None]
    assert fit.labels_needed is not None
    assert 20 < fit.labels_needed.low < fit.labels_needed.likely
    assert fit.labels_needed.high is None or fit.labels_needed.high > fit.labels_needed.likely


def test_few_votes_are_first_tested_at_the_whole_risk() -> None:
    """Of three votes at least half of the items are unanimous: the first test is past the beginning of the
    path, and agreement that the exact test shows at the risk is shown."""
    n = 60
    confidence = [1.0] * 52 + [2 / 3] * 8
    for wrong in range(4):
        agrees = [place >= wrong for place in range(52)] + [False] * 8
        fit = fit_cascade([StageAnswers(confidence, agrees)] * 2, 0.9, 0.1)
        assert fit.holds is (upper_tail(52 - wrong, 52, 0.9) <= 0.1)
    assert len(confidence) == n


def test_where_people_never_agree_no_number_of_labels_is_named() -> None:
    confidence = [float(k) for k in range(100)]
    fit = fit_cascade([StageAnswers(confidence, [False] * 100)], 0.9, 0.1)
    assert not fit.holds
    assert fit.labels_needed is None


def test_a_judge_without_confidence_decides_nothing() -> None:
    sure = StageAnswers([float(k) for k in range(100)], [True] * 100)
    fit = fit_cascade([StageAnswers([None] * 100, [False] * 100), sure], 0.9, 0.1)
    assert fit.stages[0].threshold is None
    assert fit.stages[1].n_decided == 100


def test_shared_groups_make_the_bound_lower() -> None:
    """On average: a bound by betting depends on the order of the groups, the exact one does not."""
    lower = []
    for seed in range(8):
        answers = judges(np.random.default_rng(seed), 1000, 600)
        assert fit_cascade(answers, 0.85, 0.1, list(range(1000))).n_groups is None
        shared = fit_cascade(answers, 0.85, 0.1, [k // 3 for k in range(1000)])
        assert shared.n_groups == 200
        if shared.agreement is not None:
            n = sum(stage.n_labelled for stage in shared.stages)
            lower.append(lower_bound(round(n * shared.agreement[0]), n, 0.1) - shared.agreement[1])
    assert len(lower) > 4
    assert float(np.mean(lower)) > 0


@pytest.mark.slow
def test_the_promise_holds_in_all_but_the_risk_of_calibrations() -> None:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(200):
        answers = judges(rng, 1200, 1200)
        known = [StageAnswers(a.confidence, [*a.agrees[:150], *[None] * 1050]) for a in answers]
        fit = fit_cascade(known, 0.85, 0.1)
        decided = agreed = 0
        for item in range(150, 1200):
            for stage, answer in zip(fit.stages, answers, strict=True):
                if stage.threshold is not None and (answer.confidence[item] or 0) >= stage.threshold:
                    decided, agreed = decided + 1, agreed + bool(answer.agrees[item])
                    break
        missed += agreed < 0.85 * decided
    assert missed <= 200 * 0.1 + 2 * (200 * 0.1 * 0.9) ** 0.5
