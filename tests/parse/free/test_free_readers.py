"""Reading a score or a choice from a reply of unknown format,
rule by rule: the tables in `cases/` hold the replies.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from adjudge import read_choice, read_json, read_option, read_score
from adjudge.errors import DataError
from adjudge.records import Reading
from clock import LINEAR, growth

CASES = Path(__file__).parents[1] / "cases"
READERS = {"scores": read_score, "choices": read_choice, "options": read_option}


def groups() -> list[Any]:
    """Every group of replies with the table that it comes from."""
    return [
        pytest.param(name, group, id=group["rule"])
        for name in READERS
        for group in tomllib.loads((CASES / f"{name}.toml").read_text(encoding="utf-8"))["group"]
    ]


def read(table: str, text: str, arguments: dict[str, Any]) -> Reading:
    names = arguments.get("names")
    if names is not None:
        arguments = {**arguments, "names": dict(enumerate(names))}
    return READERS[table](text, **arguments)


def is_as_expected(reading: Reading, text: str, expect: dict[str, Any]) -> bool:
    if "status" in expect:
        return reading == Reading(status=expect["status"])
    if expect.get("value") == "none":
        return reading.value is None
    facts = {"value": reading.value, "how": reading.how, "written": text[slice(*(reading.span or (0, 0)))]}
    return reading.status == "ok" and reading.span is not None and facts == {**facts, **expect}


@pytest.mark.parametrize(("table", "group"), groups())
def test_replies_are_read_by_the_rule(table: str, group: dict[str, Any]) -> None:
    cases = [*({"text": text} for text in group.get("texts", ())), *group.get("cases", ())]
    wrong = []
    for case in cases:
        arguments = {**group["read"], **{key: tuple(case[key]) for key in ("options",) if key in case}}
        expect = {key: value for key, value in case.items() if key not in ("text", "options")}
        reading = read(table, case["text"], arguments)
        if not is_as_expected(reading, case["text"], {**group.get("expect", {}), **expect}):
            wrong.append((case, reading))
    assert cases
    assert not wrong


ENDLESS = (
    *("actually ", "no, 3 ", "-> 3", "wait, ", "4 + ", "1 2 ", "3 = ", "수정 ", "A不如", "the second response ",  # noqa: E501
    "not true that "),
    *("B가 A보다 ", "4? ", "5 - 2 = 3 "),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", ENDLESS)
def test_corrections_without_end_take_time_in_proportion_to_their_number(piece: str) -> None:
    def read_all(corrections: str) -> None:
        text = "Score: 4. I choose A. " + corrections
        read_score(text, 1, 5)
        read_choice(text, tie=True)
        read_choice(text, ("Output (a)", "Output (b)"))

    assert growth(read_all, piece, 300_000) < LINEAR


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((5, 1), "low must be below high"),
        ((1, 1), "low must be below high"),
        ((float("nan"), 5), "low must be below high"),
        ((1, 5, 0), "is not above 0"),
        ((1, 5, -1), "is not above 0"),
        ((1, 5, float("nan")), "is not above 0"),
    ],
)
def test_a_scale_on_which_no_score_can_be_is_a_mistake(ends: tuple[float, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_score("Score: 4", *ends)
    if len(ends) == 2:
        with pytest.raises(DataError, match=message):
            read_json('{"clarity": 4}', ["clarity"], *ends)
