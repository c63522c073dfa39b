"""Differences of two systems corrected with labels that were drawn with unequal probabilities, or lie in
groups."""

from __future__ import annotations

import numpy as np
import pytest

from adjudge.stats import difference_by_group, ppi_difference, ppi_mean


def drawn(seed: int) -> list[tuple[list[float | None], list[float], list[float]]]:
    rng = np.random.default_rng(seed)
    sides = []
    for unsure_share in (0.2, 0.5):
        people = rng.integers(1, 6, 200).astype(float)
        is_unsure = rng.random(200) < unsure_share
        judge = np.clip(people + is_unsure, 1, 5)
        chance = np.where(is_unsure, 0.5, 0.15)
        kept = rng.random(200) < chance
        labels = [float(value) if is_kept else None for value, is_kept in zip(people, kept, strict=True)]
        sides.append((labels, judge.tolist(), chance.tolist()))
    return sides


@pytest.mark.parametrize("seed", range(5))
def test_a_difference_under_sampling_is_the_difference_of_the_means_beside_it(seed: int) -> None:
    (y, f, p), (g, h, q) = drawn(seed)
    difference = ppi_difference(y, f, g, h, probabilities=(p, q), limits=(1.0, 5.0)).corrected
    means = [
        ppi_mean(labels, scores, probabilities=chances, limits=(1.0, 5.0)).corrected.value
        for labels, scores, chances in ((y, f, p), (g, h, q))
    ]
    assert means[0] is not None
    assert means[1] is not None
    assert difference.value == pytest.approx(means[0] - means[1], abs=1e-9)


def test_equal_probabilities_change_nothing() -> None:
    (y, f, _), (g, h, _) = drawn(1)
    same = [0.3] * len(y)
    with_them = ppi_difference(y, f, g, h, probabilities=(same, same))
    without = ppi_difference(y, f, g, h)
    assert with_them.corrected.value == pytest.approx(without.corrected.value)
    assert with_them.corrected.low == pytest.approx(without.corrected.low)


def test_a_difference_by_group_with_one_item_a_group_is_that_of_inputs() -> None:
    (y, f, _), (g, h, _) = drawn(2)
    groups = list(range(len(y)))
    by_group = difference_by_group((y, f, groups, None), (g, h, groups, None))
    by_input = ppi_difference(y, f, g, h)
    assert by_group.corrected.value == pytest.approx(by_input.corrected.value)
    assert by_group.corrected.low == pytest.approx(by_input.corrected.low)
