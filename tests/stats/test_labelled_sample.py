"""Whether labelled items look like a random sample, by the judge's scores."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import LabelledSample, labelled_sample


def compared(
    scores: list[float | None], flags: list[bool], strata: list[str], **groups: list[int]
) -> LabelledSample:
    found = labelled_sample(scores, flags, strata, **groups)
    assert found is not None
    return found


def test_with_one_system_it_is_the_difference_of_means() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(3, 1, 80).tolist()
    found = compared(scores, [place < 20 for place in range(80)], ["A"] * 80)
    assert found.difference.value == pytest.approx(np.mean(scores[:20]) - np.mean(scores[20:]))
    assert found.labelled == pytest.approx(np.mean(scores[:20]))
    assert found.others == pytest.approx(np.mean(scores[20:]))


def test_systems_that_are_labelled_more_often_are_no_selection() -> None:
    """A is better and has most labels; within each system the labels are random."""
    rng = np.random.default_rng(2)
    systems = ["A"] * 100 + ["B"] * 100
    scores = (rng.normal(0, 0.5, 200) + np.repeat([4, 2], 100)).tolist()
    found = compared(scores, [place % 100 < (60 if place < 100 else 10) for place in range(200)], systems)
    assert not found.is_selected
    assert abs(found.difference.value or 0) < 0.3


def test_items_that_were_chosen_by_their_score_are_found() -> None:
    scores: list[float | None] = [float(1 + place % 5) for place in range(100)]
    found = compared(scores, [place % 5 < 2 for place in range(100)], ["A"] * 100)
    assert found.is_selected
    assert (found.difference.high or 0) < 0


def test_groups_are_the_observations() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(40), 5).tolist()
    scores = (np.repeat(rng.normal(3, 1, 40), 5) + rng.normal(0, 0.1, 200)).tolist()
    flags = [group < 20 for group in groups]
    alone, grouped = (
        compared(scores, flags, ["A"] * 200),
        compared(scores, flags, ["A"] * 200, clusters=groups),
    )
    widths = [(one.difference.high or 0) - (one.difference.low or 0) for one in (alone, grouped)]
    assert widths[1] > 1.7 * widths[0]


@pytest.mark.parametrize("n", [0, 3, 60])
def test_too_few_of_either_kind_are_not_compared(n: int) -> None:
    scores = [float(1 + place % 5) for place in range(60)]
    found = labelled_sample(scores, [place < n for place in range(60)], ["A"] * 60)
    assert found is None or found.difference.value is None


@pytest.mark.parametrize("seed", range(20))
def test_few_labels_that_miss_a_rare_score_are_no_selection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.choice([5.0, 1.0], p=[0.95, 0.05], size=300)
    tops = np.flatnonzero(scores == 5)
    flags = np.isin(np.arange(300), rng.choice(tops, 30, replace=False))
    assert not compared(scores.tolist(), flags.tolist(), ["A"] * 300).is_selected
