"""People's labels where the judge failed, against where it answered."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import informative_failures


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_the_difference_is_the_wider_of_welchs_and_students(spread: float) -> None:
    """Student's is wider where few failed items vary less than the others, as at the ceiling of a scale."""
    ttest = pytest.importorskip("scipy.stats").ttest_ind
    rng = np.random.default_rng(1)
    labels = rng.normal(3, 1, 60)
    labels[:15] = 3 + spread * (labels[:15] - 3)
    scores = [None if place < 15 else 3.0 + place % 2 for place in range(60)]
    found = informative_failures(labels.tolist(), scores)
    assert found is not None
    expected = ttest(labels[:15], labels[15:], equal_var=spread < 1).confidence_interval(0.95)
    assert (found.difference.low, found.difference.high) == (
        pytest.approx(expected.low), pytest.approx(expected.high)
    )  # fmt: skip


def test_failures_on_bad_items_lower_the_mean_by_their_share() -> None:
    scores: list[float | None] = [4.0, 5.0] * 40 + [None] * 20
    labels: list[float | None] = [4.0, 5.0] * 40 + [1.0, 2.0] * 10
    found = informative_failures(labels, scores, limits=(1.0, 5.0))
    assert found is not None
    assert found.difference.value == pytest.approx(-3)
    assert found.imputed.value == pytest.approx(4.5 - 0.2 * 3)
    assert found.imputed.low is not None
    assert found.imputed.low < 3.9 < (found.imputed.high or 0)


def test_groups_are_the_observations() -> None:
    rng = np.random.default_rng(2)
    shared = np.repeat(rng.normal(3, 1, 30), 4)
    labels = (shared + rng.normal(0, 0.1, 120)).tolist()
    scores = [None if place % 8 < 4 else 3.0 for place in range(120)]
    groups = np.repeat(np.arange(30), 4).tolist()
    alone, grouped = (
        informative_failures(labels, scores),
        informative_failures(labels, scores, clusters=groups),
    )
    assert alone is not None
    assert grouped is not None
    assert (grouped.difference.high or 0) - (grouped.difference.low or 0) > 1.5 * (
        (alone.difference.high or 0) - (alone.difference.low or 0)
    )


def test_few_labels_of_failed_items_say_why_there_is_nothing() -> None:
    found = informative_failures([1.0, 2.0, 3.0, 4.0, None], [None, 2.0, 3.0, 4.0, None])
    assert found is not None
    assert found.difference.value is None
    assert "fewer than 3 failed items have a label" in found.difference.reason
    assert informative_failures([1.0, 2.0], [1.0, 2.0]) is None


def test_few_failed_items_with_the_usual_label_do_not_differ_from_the_others() -> None:
    """Nine of ten labels are 5, and so are those of four failed items: that is what chance gives."""
    labels = [5.0] * 4 + [5.0] * 90 + [3.0] * 10
    scores = [None] * 4 + [4.0] * 100
    found = informative_failures(labels, scores)
    assert found is not None
    assert (found.difference.low or 0) < 0 < (found.difference.high or 0)
