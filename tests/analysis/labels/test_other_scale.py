"""Whether scores of an unknown scale are on that of the labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.analysis.labels.other_scale import _are_apart, other_range
from adjudge.records import Label
from judged import score

FIVE = [1.0, 2.0, 3.0, 4.0, 5.0]
SHARES = [0.1, 0.35, 0.6, 0.8, 0.95]
TEN = [float(level) for level in range(1, 11)]


@pytest.mark.parametrize(
    ("scores", "labels", "is_other"),
    [
        (SHARES * 6, FIVE * 6, True),
        (SHARES, FIVE, True),
        (FIVE * 6, TEN * 3, True),
        ([value * 20 for value in FIVE], FIVE, True),
        ([0.0, 1.0] * 15, FIVE * 6, True),
        (FIVE * 6, FIVE * 6, False),
        ([4.0, 5.0] * 15, FIVE * 6, False),  # a lenient judge
        ([1.0, 2.0] * 15, FIVE * 6, False),  # a harsh one
        ([3.0] * 30, FIVE * 6, False),
        ([3.0, 4.0, 5.0], FIVE, False),
        (SHARES * 6, [value * 1.04 for value in SHARES] * 6, False),
    ],
)
def test_ranges_that_cannot_be_one_scale_are_named(
    scores: list[float], labels: list[float], is_other: bool
) -> None:
    results = [score(f"i{k}", value) for k, value in enumerate(scores)]
    given_labels = [Label(f"i{k}", "clarity", "ann", value) for k, value in enumerate(labels)]
    assert bool(other_range(results, given_labels)) is is_other


SCORES = st.lists(st.integers(0, 10).map(float), min_size=1, max_size=30)


@given(SCORES, SCORES, st.integers(-20, 20))
def test_a_scale_that_is_turned_round_or_moved_has_the_same_answer(
    scores: list[float], labels: list[float], end: int
) -> None:
    turned = [[end - value for value in values] for values in (scores, labels)]
    assert _are_apart(*turned) == _are_apart(scores, labels) == _are_apart(labels, scores)
