"""A plan before any label: what a pilot run says, and how many items a judge must score to save labels."""

from __future__ import annotations

import math
import random

import pytest

from adjudge.analysis.pilot import Pilot, pilot_of
from adjudge.analysis.plan import planned
from adjudge.analysis.run_view.given_results import view_of_results
from adjudge.records import Result
from adjudge.stats.sample_size import size_for_distance
from judged import score


def of_systems(spread: float, noise: float, n: int, size: int = 1) -> list[Result]:
    """Two systems on the same inputs, which are hard or easy for both."""
    rng, results = random.Random(4), []
    for place in range(n):
        hard = rng.gauss(0, spread)
        for system, lead in (("a", 0.0), ("b", 2.0)):
            for k in range(size):
                value = 3 + lead + hard + rng.gauss(0, noise)
                results.append(score(f"{system}{place}-{k}", value, system, f"g{place}"))
    return results


def test_the_spread_of_a_pilot_is_that_within_a_system() -> None:
    pilot = pilot_of(view_of_results(of_systems(1.0, 0.5, 400)), None, is_difference=False)
    assert pilot.sd == pytest.approx(math.sqrt(1.25), rel=0.1)
    assert pilot.group_size == 1
    grouped = pilot_of(view_of_results(of_systems(1.0, 0.5, 300, 4)), None, is_difference=False)
    assert grouped.group_size == 4
    assert grouped.icc == pytest.approx(0.8, abs=0.05)


def test_the_spread_of_a_difference_is_that_of_pairs_on_the_same_input() -> None:
    pilot = pilot_of(view_of_results(of_systems(1.0, 0.5, 400)), None, is_difference=True)
    assert pilot.sd == pytest.approx(math.sqrt(2) * 0.5, rel=0.1)
    assert "paired differences" in pilot.source
    several = pilot_of(view_of_results(of_systems(1.0, 0.5, 300, 4)), None, is_difference=True)
    plan = planned("difference", 0.2, several, 0.0, 0.8)
    assert plan.groups == pytest.approx(size_for_distance(0.2, math.sqrt(2) * 0.25).groups, rel=0.2)
    assert plan.items == 4 * (plan.groups or 0)


def test_systems_without_common_inputs_are_taken_as_independent() -> None:
    rows = [score(f"{name}{n}", float(n % 5), name) for name in "ab" for n in range(20)]
    alone, apart = (
        pilot_of(view_of_results(rows), None, is_difference=is_difference) for is_difference in (False, True)
    )
    assert apart.sd == pytest.approx(math.sqrt(2) * alone.sd)
    assert "share no inputs" in apart.source


@pytest.mark.parametrize("correlation", [0.5, 0.7, 0.9])
def test_labels_and_judged_items_of_a_plan_reach_the_width_together(correlation: float) -> None:
    plan = planned("width", 0.2, Pilot(1.0), correlation, 0.8)
    assert plan.labels is not None
    assert plan.judged_items is not None
    assert plan.items is not None
    assert plan.labels < plan.items < plan.judged_items or correlation == 0.5
    variance = (1 - correlation**2) / plan.labels + correlation**2 / plan.judged_items
    assert 2 * 1.97 * math.sqrt(variance) == pytest.approx(0.2, rel=0.02)


def test_a_judge_that_hardly_correlates_saves_no_labels() -> None:
    plan = planned("width", 0.2, Pilot(1.0), 0.3, 0.8)
    assert plan.labels == plan.items == plan.judged_items
    assert "with this judge" not in plan.summary
