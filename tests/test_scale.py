"""What a scale says of itself: which end is good, where it ends, which scores it has."""

from __future__ import annotations

import pytest

from adjudge.records import Scale


@pytest.mark.parametrize(
    ("scale", "direction"),
    [
        (Scale(1, 5, 5), 1),
        (Scale(1, 5, 1), -1),
        (Scale(None, None, "high"), 1),
        (Scale(None, None, "low"), -1),
        (Scale(1, 5, "unknown"), 0),
    ],
)
def test_the_direction_says_which_end_is_good(scale: Scale, direction: int) -> None:
    assert scale.direction == direction


def test_limits_are_none_where_a_scale_is_unbounded() -> None:
    assert Scale(1, 5, 5).limits == (1, 5)
    assert Scale(None, None, "high").limits is None
    assert Scale(0, None, "high").limits is None


def test_values_are_the_steps_from_low_to_high() -> None:
    assert Scale(1, 5, 5, 1).values() == [1, 2, 3, 4, 5]
    assert Scale(0, 1, 1, 0.1).values()[3] == 0.3
    assert Scale(0, 1, 1, 0.4).values() == [0, 0.4, 0.8]
    assert Scale(1, 5, 5).values() == []
    assert Scale(0, 100, 100, 1).values(most=100) == []
    assert len(Scale(0, 100, 100, 1).values(most=101)) == 101


def test_the_ends_are_the_worst_score_and_the_best_also_where_one_of_them_is_0() -> None:
    assert Scale(0, 1, 1).ends == (0, 1)
    assert Scale(0, 1, 0).ends == (1, 0)
    assert Scale(-2, 0, 0).ends == (-2, 0)
    assert Scale(1, 5, "unknown").ends is None
    assert Scale(None, None, "high").ends is None


def test_the_worst_score_is_plain_zero_of_the_width_on_either_kind_of_scale() -> None:
    assert str(Scale(1, 5, 1).normalized(5)) == "0.0"
    assert Scale(1, 5, 1).normalized(2) == 0.75
    assert Scale(1, 5, "unknown").normalized(3) is None
