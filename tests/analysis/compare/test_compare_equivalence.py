"""Whether two runs are shown to differ by less than a margin."""

from __future__ import annotations

import random

import pytest

from adjudge.analysis.compare.compare import compare
from adjudge.analysis.compare.comparison import Comparison, SystemComparison
from adjudge.errors import DataError
from adjudge.records import Result
from judged import FIVE, choice, score


def judged(
    shift: float, noise: float, n: int = 100, failed: int = 0, systems: int = 1
) -> tuple[list[Result], list[Result]]:
    """Two runs; in the second the scores are higher by `shift` on average."""
    rng = random.Random(7)
    first, second = [], []
    for k in range(n):
        value = rng.choice([2.0, 3.0, 4.0])
        moved = value + shift + (noise if k // systems % 2 else -noise)
        system = f"s{k % systems}"
        first.append(score(f"i{k}", value, system))
        second.append(score(f"i{k}", None if k < failed else moved, system))
    return first, second


def compared(runs: tuple[list[Result], list[Result]], margin: float | None = None) -> Comparison:
    return compare(*runs, scales={"clarity": FIVE}, margin=margin)


def only(comparison: Comparison) -> SystemComparison:
    (system,) = comparison.criteria["clarity"].systems.values()
    return system


def verdict(comparison: Comparison) -> str:
    found = only(comparison).equivalence
    assert found is not None
    return found.verdict


def test_a_small_difference_that_is_known_well_is_equivalent() -> None:
    comparison = compared(judged(0.0, 0.25))
    assert verdict(comparison) == "equivalent"
    assert "are equivalent: they differ by less than 0.2" in comparison.summary[0]
    assert not any("may still exist" in text for text in comparison.summary)


def test_the_margin_is_five_percent_of_the_scale_unless_given() -> None:
    found = only(compared(judged(0.0, 0.25))).equivalence
    assert found is not None
    assert found.margin == pytest.approx(0.2)
    assert verdict(compared(judged(0.0, 0.25), margin=0.01)) == "not shown"


def test_a_difference_that_is_not_significant_need_not_be_small() -> None:
    comparison = compared(judged(0.0, 1.0, n=20))
    assert verdict(comparison) == "not shown"
    assert "nor shown to be equivalent (within 0.2)" in comparison.summary[0]


def test_a_significant_difference_may_be_below_the_margin() -> None:
    comparison = compared(judged(0.1, 0.1), margin=0.5)
    assert only(comparison).is_shown
    assert "less than the margin of 0.5" in comparison.summary[0]


def test_the_second_run_may_be_shown_not_to_be_much_worse() -> None:
    comparison = compared(judged(0.1, 1.0, n=100), margin=0.25)
    assert verdict(comparison) == "not worse"
    assert "shown to be at most 0.25 worse" in comparison.summary[0]


def test_failures_that_could_hide_a_larger_difference_leave_it_open() -> None:
    assert verdict(compared(judged(0.0, 0.1, failed=1))) == "equivalent"
    assert verdict(compared(judged(0.0, 0.1, failed=20))) == "not shown"


def test_failures_take_from_a_verdict_only_the_side_that_they_could_change() -> None:
    first = [score(f"i{k}", 1.0 if k < 20 else 3.0) for k in range(200)]
    # What failed in the second run had the lowest score: it can only have risen.
    second = [score(f"i{k}", None if k < 20 else 3.0 + 0.1 * (k % 2)) for k in range(200)]
    assert verdict(compared((first, second))) == "not worse"
    # Where the first run failed at the lowest scores, the second may be worse.
    assert verdict(compared((second, first))) == "not shown"


def test_both_directions_of_a_comparison_have_the_mirrored_verdict() -> None:
    first, second = judged(0.6, 0.2)
    assert verdict(compared((first, second))) == "better"
    assert verdict(compared((second, first))) == "worse"


def test_verdicts_of_many_systems_hold_together() -> None:
    alone = compared(judged(0.0, 0.42, n=24)).criteria["clarity"].systems
    many = compared(judged(0.0, 0.42, n=240, systems=10)).criteria["clarity"].systems
    assert [one.equivalence is not None for one in (*alone.values(), *many.values())]
    shown = [one.equivalence.verdict == "equivalent" for one in many.values() if one.equivalence]
    assert next(iter(alone.values())).is_equivalent
    assert not all(shown)


def test_win_rates_are_compared_with_a_margin_of_five_points() -> None:
    pairs = [choice(f"i{k}", "a" if k % 2 else "b") for k in range(200)]
    comparison = compare(pairs, list(pairs))
    (card,) = comparison.criteria.values()
    (system,) = card.systems.values()
    assert system.equivalence is not None
    assert system.equivalence.margin == pytest.approx(0.05)


@pytest.mark.parametrize("margin", [0.0, -1.0, float("nan")])
def test_a_margin_must_be_above_zero(margin: float) -> None:
    with pytest.raises(DataError, match="margin"):
        compared(judged(0.0, 0.1), margin=margin)
