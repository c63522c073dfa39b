"""A comparison about these items: what was judged is known, and what failed is a range."""

from __future__ import annotations

import pytest

from adjudge.analysis.compare.compare import compare_views
from adjudge.analysis.compare.comparison import Comparison
from adjudge.analysis.run_view.criteria import by_criterion
from adjudge.analysis.run_view.given_results import view_of_results
from judged import FIVE, score


def compared(n_failed: int) -> Comparison:
    """Two systems; A is 0.4 lower and B unchanged in the second run, where the first items of A fail."""
    first = [score(f"{s}{k}", 3.0 + k % 2 + (s == "A"), s, f"g{k}") for s in "AB" for k in range(10)]
    second = [
        score(f"{s}{k}", None if s == "A" and k < n_failed else 3.0 + k % 2 + 0.6 * (s == "A"), s, f"g{k}")
        for s in "AB"
        for k in range(10)
    ]
    views = [
        view_of_results(results, by_criterion({"clarity": FIVE}), name)
        for results, name in ((first, "old"), (second, "new"))
    ]
    return compare_views(*views, is_finite=True)


def test_means_differences_and_order_are_known_where_nothing_failed() -> None:
    comparison = compared(0)
    card = comparison.criteria["clarity"]
    for found in card.systems.values():
        for estimate in (found.first, found.second, found.difference):
            assert estimate.low == estimate.value == estimate.high
    assert card.systems["A"].difference.value == pytest.approx(-0.4)
    assert (card.systems["A"].p, card.systems["B"].p) == (0.0, 1.0)
    assert card.order is not None
    (pair,) = card.order.pairs
    assert (pair.first.low, pair.first.high) == (pair.first.value, pair.first.value)
    assert pair.change == "same"
    assert any("about these items" in note for note in comparison.notes)


def test_failures_leave_a_range_of_means_and_differences() -> None:
    card = compared(5).criteria["clarity"]
    found = card.systems["A"]
    # 5 of 10 items are known, and each of the others was between 1 and 5.
    assert found.second.value is not None
    assert found.second.low == pytest.approx(0.5 * found.second.value + 0.5)
    assert found.second.high == pytest.approx(0.5 * found.second.value + 2.5)
    assert (found.difference.low or 0) < 0 < (found.difference.high or 0)
    assert not found.is_shown
    assert card.order is not None
    assert card.order.pairs[0].p_second == 1.0
