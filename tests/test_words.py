"""Numbers in words: one form each, wherever they stand."""

from __future__ import annotations

import pytest

from adjudge.records import Estimate
from adjudge.words import (
    NO_VALUE,
    count,
    duration,
    interval,
    listed,
    number,
    p_phrase,
    percent,
    share,
    signed,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.001, "0.00"), (0.0, "0.00"), (-0.006, "−0.01"), (12.345, "12.35"), (-2e7, "−2.00e+07")],
)
def test_a_number_has_two_digits_and_a_zero_no_minus(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.31, "+0.31"), (-0.31, "−0.31"), (0.001, "0.00"), (-0.001, "0.00")]
)
def test_a_difference_has_a_sign_unless_it_is_zero(value: float, text: str) -> None:
    assert signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 %"),
        (0.0004, "0.0 %"),
        (0.0994, "9.9 %"),
        (0.0996, "10 %"),
        (0.1, "10 %"),
        (0.625, "62 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_has_one_digit_more_below_ten(value: float, text: str) -> None:
    assert share(value) == text


def estimate(value: float | None, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(value, low, high, 9, 0, 0, "m", "item")


def test_an_interval_that_is_missing_is_a_dash() -> None:
    assert interval(estimate(0.5, 0.25, 0.75)) == "0.50 [0.25, 0.75]"
    assert interval(estimate(0.5)) == f"0.50 [{NO_VALUE}]"
    assert interval(estimate(None)) == NO_VALUE
    assert percent(estimate(0.5, 0.0996, 0.75)) == "50 % [10 %, 75 %]"
    assert percent(estimate(None)) == NO_VALUE


def test_counts_lists_times_and_p_values() -> None:
    assert [count(n, "item") for n in (1, 1200)] == ["1 item", "1,200 items"]
    assert listed(list("abcde")) == "a, b, c, d, e"
    assert listed(list("abcdef")) == "a, b, c, d and 2 more"
    assert [duration(seconds) for seconds in (3.21, 48, 200, 7500)] == [
        "3.2 s",
        "48 s",
        "3 min 20 s",
        "2 h 5 min",
    ]
    assert [p_phrase(p) for p in (0.031, 0.0004, None)] == ["p = 0.031", "p < 0.001", ""]
