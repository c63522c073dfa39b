"""Numbers as judges write them, and what only looks like one."""

from __future__ import annotations

import pytest

from adjudge.parse.numbers.number import number_at, numbers_between


@pytest.mark.parametrize(
    ("text", "value", "top"),
    [
        ("4", 4, None),
        ("4.5", 4.5, None),
        ("4/5", 4, 5),
        ("4 out of 5", 4, 5),
        ("four out of five", 4, 5),
        ("4 out of a possible 5", 4, 5),
        ("4점", 4, None),
        ("사점", 4, None),
        ("네 점", 4, None),
        ("다섯", 5, None),
        ("5점 만점에 4점", 4, 5),
        ("4점 (5점 만점)", 4, 5),
        ("8分", 8, None),
        ("八分", 8, None),
        ("两分", 2, None),
        ("八点五分", 8.5, None),
        ("8分半", 8.5, None),
        ("满分10分，得8分", 8, 10),
        ("8/10", 8, 10),
        ("Ten", 10, None),
        ("4 and a half", 4.5, None),
        ("85%", 85, 100),
        ("1,234", 1234, None),
        ("-1", -1, None),
        ("★★★★☆", 4, 5),
    ],
)
def test_a_number_is_read_as_it_is_written(text: str, value: float, top: float | None) -> None:
    number = number_at(text, 0)
    assert number is not None
    assert (number.value, number.top) == (value, top)


@pytest.mark.parametrize(
    "text",
    [
        "1_0",
        "1-5",
        "1~5",
        "0到10",
        "3 or 4",
        "1 to 5",
        "4th",
        "3D",
        "4.0.1",
        "1e999",
        "2024-01-02",
        "10:30",
        "А",
        "一些",
        "oneself",
        "4,5",
    ],
)
def test_what_only_looks_like_a_number_is_none(text: str) -> None:
    assert number_at(text, 0) is None


def test_numbers_in_prose_leave_out_versions_money_and_parts_of_words() -> None:
    text = "GPT-4 paid $5 for v3, #2 and x1; between 1 and 5 I say 4."
    assert [number.value for number in numbers_between(text)] == [4.0]


def test_a_number_too_long_to_be_meant_is_infinite() -> None:
    number = number_at("9" * 5000, 0)
    assert number is not None
    assert number.value == float("inf")
