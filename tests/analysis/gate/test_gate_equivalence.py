"""A gate's change from the baseline has a verdict on equivalence, by the tests that decide it."""

from __future__ import annotations

import pytest

from adjudge.analysis.gate.decision import decision_by_values
from adjudge.analysis.gate.drop_check import Changes, _equivalence
from adjudge.records import Estimate
from adjudge.stats import mean_interval

REACH = (-4.0, 4.0)


def verdict(values: list[float], allowed: float, sign: int = 1) -> str:
    changes = Changes(values, None, REACH)
    decision = decision_by_values(values, None, REACH, -sign * allowed, sign)
    found = _equivalence(allowed, sign, mean_interval(values, limits=REACH), changes, decision)
    assert found is not None
    return found.verdict


SMALL = [0.1 if k % 2 else -0.1 for k in range(200)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (SMALL, "equivalent"),
        ([value + 1 for value in SMALL], "better"),
        ([value - 1 for value in SMALL], "worse"),
        ([5 * value for value in SMALL[:8]], "not shown"),
    ],
)
def test_the_verdict_is_that_of_both_sides(values: list[float], expected: str) -> None:
    assert verdict(values, 0.3) == expected


def test_where_lower_is_better_the_sides_are_exchanged() -> None:
    assert verdict([value + 1 for value in SMALL], 0.3, sign=-1) == "worse"
    assert verdict([value - 1 for value in SMALL], 0.3, sign=-1) == "better"


def test_a_drop_of_nothing_has_no_margin_and_thin_labels_show_nothing() -> None:
    estimate = Estimate(0.0, -0.1, 0.1, 50)
    assert _equivalence(0.0, 1, estimate, None, None) is None
    found = _equivalence(0.3, 1, estimate, None, None)
    assert found is not None
    assert found.verdict == "not shown"
