"""Maps of scores: rising, and measured on items that they did not see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from adjudge.analysis.calibrate import LEAST_FOR_ISOTONIC, Shares, fitted_curve, held_out

SHARES = st.floats(0, 1, allow_nan=False)


@given(
    st.lists(st.tuples(SHARES, st.sampled_from([0.0, 0.25, 1.0])), min_size=2, max_size=60),
    st.sampled_from([1, LEAST_FOR_ISOTONIC]),
    SHARES,
    SHARES,
)
def test_a_map_keeps_the_order_of_scores(
    rows: list[tuple[float, float]], n_labels: int, one: float, other: float
) -> None:
    scores, labels = zip(*rows, strict=True)
    curve = fitted_curve("m", "c", Shares(list(scores), list(labels), []), n_labels)
    low, high = curve.share(min(one, other)), curve.share(max(one, other))
    assert 0 <= low <= high + 1e-12
    assert high <= 1


@pytest.mark.parametrize("n_items", [100, LEAST_FOR_ISOTONIC])
def test_the_score_after_the_map_does_not_know_the_labels_of_its_group(n_items: int) -> None:
    random = default_rng(1)
    scores = random.random(n_items).tolist()
    labels = (random.random(n_items) < 0.5).astype(float).tolist()
    groups = [f"g{place // 4}" for place in range(n_items)]
    before = held_out(Shares(scores, labels, groups)).scores
    turned = [1 - label if group == "g3" else label for label, group in zip(labels, groups, strict=True)]
    after = held_out(Shares(scores, turned, groups)).scores
    in_group = [place for place, group in enumerate(groups) if group == "g3"]
    assert [after[place] for place in in_group] == [before[place] for place in in_group]
    assert after != before, "the other items are judged by curves that saw the group"


def test_a_map_of_noise_does_not_seem_better_than_a_constant() -> None:
    random = default_rng(2)
    scores = random.random(LEAST_FOR_ISOTONIC).tolist()
    labels = (random.random(LEAST_FOR_ISOTONIC) < 0.5).astype(float).tolist()
    names = [str(place) for place in range(LEAST_FOR_ISOTONIC)]
    shares = Shares(scores, labels, names)
    curve = fitted_curve("m", "c", shares)
    assert curve.method == "isotonic"

    def brier(values: list[float]) -> float:
        return sum((value - label) ** 2 for value, label in zip(values, labels, strict=True)) / len(labels)

    assert brier([curve.share(score) for score in scores]) < 0.25
    assert brier(held_out(shares).scores) >= 0.25
