"""Drawing at random: as many as asked, each with the probability it had."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.analysis.sampling.draw import draw
from adjudge.analysis.sampling.stop import Stop
from adjudge.analysis.sampling.stop_rule import parse_stop_rule
from adjudge.analysis.trust.trust import trust
from adjudge.errors import DataError
from adjudge.records import Label
from judged import FIVE, score


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


@given(
    st.lists(st.sampled_from("ABC"), min_size=1, max_size=60),
    st.integers(1, 60),
    st.integers(0, 20),
    st.booleans(),
    st.booleans(),
)
def test_a_larger_draw_contains_the_smaller_one(
    systems: list[str], n: int, more: int, by_system: bool, is_weighted: bool
) -> None:
    weights = [0.5 + (place % 7) / 3 for place in range(len(systems))] if is_weighted else None
    small, large = (
        draw(systems, size, by_system=by_system, seed=3, weights=weights) for size in (n, n + more)
    )
    assert set(small) <= set(large)
    if not by_system and not is_weighted:
        assert list(large)[: len(small)] == list(small)
    assert all(0 < chance <= 1 for chance in large.values())


def test_a_draw_by_weight_is_unbiased_with_its_probabilities() -> None:
    weights = [0.5] * 15 + [3.0] * 5
    totals = [
        sum(place / chance for place, chance in drawn.items())
        for seed in range(4000)
        if (drawn := draw(["s"] * 20, 6, by_system=False, seed=seed, weights=weights))
    ]
    error = 4 * (sum((x - 190) ** 2 for x in totals) / len(totals)) ** 0.5 / len(totals) ** 0.5
    assert sum(totals) / len(totals) == pytest.approx(sum(range(20)), abs=error)


@pytest.mark.parametrize(
    "text",
    ["mean>4x", "mean", "mean>=", "median>=4", "width>=0.3", "width<=0", "width<=-1", "mean>=nan", "4"],
)
def test_a_rule_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="--stop"):
        parse_stop_rule(text)


def test_a_rule_is_read_with_or_without_spaces() -> None:
    assert parse_stop_rule("mean >= 4").value == 4
    assert parse_stop_rule("mean<=2.5").is_at_least is False
    assert parse_stop_rule(" width<0.3 ").kind == "width"


def stop_of(rule: str, mean: float, n: int, **settings: Any) -> Stop:
    rng = random.Random(1)
    values = [min(5.0, max(1.0, round(rng.gauss(mean, 0.8)))) for _ in range(400)]
    found = [
        score(f"i{k}", min(5.0, max(1.0, value + rng.choice([-1, 0, 0, 0, 1]))))
        for k, value in enumerate(values)
    ]
    labels = [Label(f"i{k}", "clarity", "ann", values[k], probability=n / 400) for k in range(n)]
    card = trust(found, labels, scales={"clarity": FIVE}, stop=rule, n_resamples=20, **settings)
    assert card.stop is not None
    return card.stop


def test_labels_are_enough_once_the_answer_is_known() -> None:
    yes, no, undecided = (
        stop_of("mean>=3.5", 4.2, 150),
        stop_of("mean>=4.5", 3.9, 150),
        stop_of("mean>=4", 4, 60),
    )
    assert [(found.decision, found.answer) for found in (yes, no, undecided)] == [
        ("stop", "yes"),
        ("stop", "no"),
        ("continue", None),
    ]
    found = yes.criteria["clarity"]["all"]
    assert found.n_decided is not None
    assert found.n_decided < found.n_labels == 150
    assert found.mean.low is not None
    assert found.mean.low >= 3.5
    assert found.n_items == 400
    assert stop_of("mean<=4.5", 3.9, 150).answer == "yes"
    planned = stop_of("mean>=3.5", 4.2, 150, plan_width=0.25).criteria["clarity"]["all"]
    assert planned.n_fixed is not None
    assert planned.n_saved == planned.n_fixed - (planned.n_decided or 0) > 0


def test_a_width_is_enough_once_it_is_reached() -> None:
    assert stop_of("width<=0.8", 3, 200).answer == "yes"
    assert stop_of("width<=0.05", 3, 200).decision == "continue"
    whole = stop_of("width<=0.05", 3, 400)
    assert (whole.decision, whole.criteria["clarity"]["all"].reason) == ("stop", "all_labelled")


def test_a_rule_off_the_scale_and_uneven_chances_are_refused() -> None:
    with pytest.raises(DataError, match="inside the scale"):
        stop_of("mean>=7", 3, 50)
    found = [score(f"i{k}", float(k % 5 + 1)) for k in range(40)]
    labels = [Label(f"i{k}", "clarity", "ann", 3.0, probability=0.2 + k / 100) for k in range(20)]
    with pytest.raises(DataError, match="different probabilities"):
        trust(found, labels, scales={"clarity": FIVE}, stop="mean>=4", n_resamples=20)
    with pytest.raises(DataError, match="two ends"):
        trust(found, labels, stop="mean>=4", n_resamples=20)
