"""What the judge has brought: the corrected mean and the labels alone are known in one way, and `worth`
follows from it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.records import Estimate
from adjudge.stats import Corrected, ppi_difference, ppi_mean, ppi_stratified, worth
from thorough import tries

N = 24
LABELS = st.lists(st.none() | st.integers(1, 5).map(float), min_size=N, max_size=N)
SCORES = st.lists(st.integers(1, 5).map(float), min_size=N, max_size=N)


def width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def assert_worth_is_what_the_intervals_say(correction: Corrected, n_items: int) -> None:
    corrected, alone = correction.corrected, correction.labels_only
    if correction.effective_labels is None:
        assert None in (corrected.low, alone.low), "it is given wherever both intervals are"
        return
    assert 0 < correction.effective_labels <= n_items
    assert (correction.effective_labels > corrected.n) == (
        width(corrected) < width(alone) and n_items > corrected.n
    )


@settings(max_examples=tries(80))
@given(LABELS, SCORES, st.booleans(), st.sampled_from([None, (1.0, 5.0)]))
def test_labels_are_worth_more_than_their_number_exactly_where_the_interval_is_narrower(
    labels: list[float | None], scores: list[float], is_grouped: bool, limits: tuple[float, float] | None
) -> None:
    groups = [place // 2 for place in range(N)] if is_grouped else None
    strata = ["a"] * 12 + ["b"] * 12
    corrected = ppi_mean(labels, scores, clusters=groups, limits=limits)
    if corrected.power is not None:
        assert_worth_is_what_the_intervals_say(corrected, N)
    by_strata = ppi_stratified(labels, scores, strata, clusters=groups, limits=limits)
    if by_strata.power is not None:
        assert_worth_is_what_the_intervals_say(by_strata, N)


@settings(max_examples=tries(40))
@given(LABELS, LABELS, SCORES, SCORES)
def test_the_same_holds_for_a_difference(
    first: list[float | None], second: list[float | None], judge: list[float], other: list[float]
) -> None:
    difference = ppi_difference(first, judge, second, other, limits=(1, 5))
    if difference.effective_labels is not None:
        assert_worth_is_what_the_intervals_say(difference, N)


@pytest.mark.parametrize("is_grouped", [False, True])
def test_a_judge_that_is_not_believed_leaves_the_interval_of_the_labels(is_grouped: bool) -> None:
    labels = [5.0, 4.0, 2.0, 1.0, 3.0, 5.0, 4.0, 2.0, *[None] * 16]
    against = [6 - (label or 3.0) for label in labels]
    groups = [place // 2 for place in range(N)] if is_grouped else None
    strata = ["a", "b"] * 12
    for corrected in (
        ppi_mean(labels, against, clusters=groups, limits=(1, 5)),
        ppi_stratified(labels, against, strata, clusters=groups, limits=(1, 5)),
    ):
        assert corrected.power == 0
        assert (corrected.corrected.value, corrected.corrected.low, corrected.corrected.high) == (
            corrected.labels_only.value,
            corrected.labels_only.low,
            corrected.labels_only.high,
        )
        assert corrected.effective_labels == pytest.approx(8)


def test_where_every_item_has_a_label_the_judge_adds_nothing() -> None:
    labels = [float(1 + place * 7 % 5) for place in range(N)]
    corrected = ppi_mean(labels, labels, limits=(1, 5))
    assert corrected.power == 0
    assert (corrected.corrected.low, corrected.corrected.high) == (
        corrected.labels_only.low,
        corrected.labels_only.high,
    )
    assert corrected.effective_labels == pytest.approx(N)


def test_no_judge_makes_labels_worth_more_than_all_items() -> None:
    labels = [float(1 + place * 7 % 5) if place < 8 else None for place in range(N)]
    perfect = [float(1 + place * 7 % 5) for place in range(N)]
    corrected = ppi_mean(labels, perfect, limits=(1, 5))
    assert corrected.effective_labels is not None
    assert 16 < corrected.effective_labels <= N


def test_unequal_chances_count_in_the_labels_alone_too() -> None:
    values = [1.0, 1.0, 2.0, 1.0, 5.0, 4.0, 5.0, 5.0]
    chances = [0.1] * 4 + [0.8] * 4
    corrected = ppi_mean([*values, *[None] * 16], [3.0] * N, probabilities=[*chances, *[None] * 16])
    weights = [1 / chance for chance in chances]
    expected = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    assert corrected.labels_only.value == pytest.approx(expected)
    assert corrected.corrected.value == pytest.approx(expected)


def test_without_two_intervals_there_is_no_worth() -> None:
    known, none = Estimate(1.0, 0.5, 1.5, 4), Estimate(1.0, None, None, 4)
    assert worth(known, none, 10) is None
    assert worth(none, known, 10) is None
    assert worth(known, Estimate(1.0, 0.0, 2.0, 4), 100) == pytest.approx(16)
    assert worth(known, Estimate(1.0, 0.0, 2.0, 4), 10) == 10
