"""The tests behind a cascade, against independent values and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from adjudge.stats.betting import betting_bound, betting_p
from adjudge.stats.binomial import fewest_items, items_needed, lower_bound, upper_bound, upper_tail
from adjudge.stats.cascades import Answers, fit_cascade
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


def test_more_items_are_needed_the_closer_the_truth_is_to_the_target() -> None:
    near, far = items_needed(0.9, 0.92, 0.1), items_needed(0.9, 0.97, 0.1)
    assert near is not None
    assert far is not None
    assert near > 4 * far
    assert items_needed(0.9, 0.9, 0.1) is None


def test_a_sequence_ends_at_the_first_test_that_fails() -> None:
    assert last_rejected([0.01, 0.1, 0.2, 0.0], 0.1) == 1
    assert last_rejected([0.2, 0.0], 0.1) is None
    assert last_rejected([], 0.1) is None


def test_betting_over_groups_is_rarely_wrong_where_groups_agree_as_one() -> None:
    """Each group agrees or disagrees as a whole: the worst dependence."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), 5)
    wrong = 0
    for _ in range(1000):
        agrees = np.repeat(rng.random(40) < 0.8, 5).astype(float)
        wrong += betting_p(agrees, np.ones(200), groups, 0.8) <= 0.1
    assert wrong <= 119


def test_the_betting_bound_is_the_target_at_which_its_test_turns() -> None:
    groups = np.repeat(np.arange(60), 2)
    agrees = np.ones(120)
    agrees[:4] = 0.0
    low = betting_bound(agrees, np.ones(120), groups, 0.1)
    assert 0.8 < low < 116 / 120
    assert betting_p(agrees, np.ones(120), groups, low - 1e-6) <= 0.1
    assert betting_p(agrees, np.ones(120), groups, low + 1e-6) > 0.1


def judges(rng: np.random.Generator, n: int, n_labels: int) -> list[Answers]:
    """Two judges whose confidence is informative; the first n_labels items are labelled."""
    answers = []
    for skill in (0.8, 1.1):
        confidence = rng.random(n)
        agrees = rng.random(n) < 1 - 0.4 * (1 - confidence) ** skill
        labelled = [bool(flag) if at < n_labels else None for at, flag in enumerate(agrees)]
        answers.append(Answers(confidence.tolist(), labelled))
    return answers


def test_labels_that_all_agree_decide_everything() -> None:
    confidence = [float(k) for k in range(100)]
    fit = fit_cascade([Answers(confidence, [True] * 100)] * 2, 0.9, 0.1)
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
    assert fit.labels_needed > 20


def test_where_people_never_agree_no_number_of_labels_is_named() -> None:
    confidence = [float(k) for k in range(100)]
    fit = fit_cascade([Answers(confidence, [False] * 100)], 0.9, 0.1)
    assert not fit.holds
    assert fit.labels_needed is None


def test_a_judge_without_confidence_decides_nothing() -> None:
    sure = Answers([float(k) for k in range(100)], [True] * 100)
    fit = fit_cascade([Answers([None] * 100, [False] * 100), sure], 0.9, 0.1)
    assert fit.stages[0].threshold is None
    assert fit.stages[1].n_decided == 100


def test_shared_groups_make_the_bound_lower() -> None:
    answers = judges(np.random.default_rng(4), 1000, 600)
    alone = fit_cascade(answers, 0.85, 0.1, list(range(1000)))
    shared = fit_cascade(answers, 0.85, 0.1, [k // 3 for k in range(1000)])
    assert alone.n_groups is None
    assert shared.n_groups == 200
    assert sum(s.n_decided for s in shared.stages) <= sum(s.n_decided for s in alone.stages)


def test_the_promise_holds_in_all_but_the_risk_of_calibrations() -> None:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(200):
        answers = judges(rng, 1200, 1200)
        known = [Answers(a.confidence, [*a.agrees[:150], *[None] * 1050]) for a in answers]
        fit = fit_cascade(known, 0.85, 0.1)
        decided = agreed = 0
        for item in range(150, 1200):
            for stage, answer in zip(fit.stages, answers, strict=True):
                if stage.threshold is not None and (answer.confidence[item] or 0) >= stage.threshold:
                    decided, agreed = decided + 1, agreed + bool(answer.agrees[item])
                    break
        missed += agreed < 0.85 * decided
    assert missed <= 200 * 0.1 + 2 * (200 * 0.1 * 0.9) ** 0.5
