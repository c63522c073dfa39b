"""Drawing at random: as many as asked, each with the probability it had."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.analysis.sampling import draw


@given(st.lists(st.sampled_from("ABC"), min_size=1, max_size=60), st.integers(1, 80), st.booleans())
def test_as_many_are_drawn_as_there_are(systems: list[str], n: int, by_system: bool) -> None:
    drawn = draw(systems, n, by_system=by_system, seed=0)
    assert len(drawn) == min(n, len(systems))
    assert set(drawn) <= set(range(len(systems)))
    # The probabilities of all items of a stratum add up to what is drawn from it.
    sizes = Counter(systems[place] if by_system else "" for place in drawn)
    totals = Counter(systems if by_system else [""] * len(systems))
    for place, chance in drawn.items():
        stratum = systems[place] if by_system else ""
        assert chance == pytest.approx(sizes[stratum] / totals[stratum])


def test_a_small_system_gives_its_share_to_the_others() -> None:
    drawn = draw(["A"] * 2 + ["B"] * 20 + ["C"] * 20, 12, by_system=True, seed=0)
    assert Counter("A" if place < 2 else "B" if place < 22 else "C" for place in drawn) == {
        "A": 2,
        "B": 5,
        "C": 5,
    }


def test_every_item_is_drawn_as_often_as_its_probability_says() -> None:
    n_draws = 2000
    counts = Counter(
        place for seed in range(n_draws) for place in draw(["A"] * 8, 2, by_system=False, seed=seed)
    )
    # Four standard deviations of a binomial count with probability 1/4.
    for place in range(8):
        assert counts[place] / n_draws == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / n_draws) ** 0.5)
