"""Replies that rank two responses, and replies with a score for each on the first line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.parse import parse
from adjudge.records import Answer, Language, Protocol, Scale

RANKING = Protocol(
    id="ranks", digest="", title="", task="compare", language=Language("en", "en"), inputs=("response_a",
    "response_b"),
    optional=(), criteria={"rank": None}, system_text="", user_text="", source="",
    answer=Answer(reader="ranking", choices={"a": "north", "b": "south"}),
)  # fmt: skip
SCORES = Protocol(
    id="pair", digest="", title="", task="compare", language=Language("en", "en"), inputs=("response_a",
    "response_b"),
    optional=(), criteria={"quality": Scale(1, 10, 10)}, system_text="", user_text="", source="",
    answer=Answer(reader="first_line", subjects={"a": "Writer 1", "b": "Writer 2"}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("[{'model': 'north', 'rank': 1}, {'model': 'south', 'rank': 2}]", "a"),
        ('[\n  {"model": "south", "rank": 1},\n  {"model": "north", "rank": 2}\n]', "b"),
        ("```python\n[{'rank': 2, 'name': 'north'}, {'rank': 1, 'name': 'south'}]\n```", "b"),
        ("'model': south, 'rank': 1\n'model': north, 'rank': 2", "b"),
        ('["south", "north"]', "b"),
        ("north > south", "a"),
        ("<think>south > north?</think>[{'model': 'north', 'rank': 1}, {'model': 'south', 'rank': 2}]", "a"),
        ("south", "b"),
    ],
)
def test_the_response_with_the_better_rank_is_chosen(reply: str, choice: str) -> None:
    judgment = parse(RANKING, reply)
    assert (judgment.choice, judgment.choice_status) == (choice, "ok")
    assert parse(RANKING, reply, order="ba").choice == {"a": "b", "b": "a"}[choice]


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("[{'model': 'north', 'rank': 1}, {'model': 'north', 'rank': 2}]", "conflicting"),
        ("[{'model': 'north', 'rank': 1}]", "unparsed"),
        ("[{'model': 'north', 'rank': 1}, {'model': 'south', 'rank': 1}]", "unparsed"),
        ("north > south, or rather south > north", "conflicting"),
        ("Both north and south have their merits.", "unparsed"),
    ],
)
def test_a_ranking_that_names_no_winner_is_none(reply: str, status: str) -> None:
    judgment = parse(RANKING, reply)
    assert (judgment.choice, judgment.choice_status) == (None, status)


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        ("8 9\nThe second is richer.", (8, 9)),
        ("The second is richer.\nScore of Writer 1: 8\nScore of Writer 2: 9/10", (8, 9)),
        ("7, 3", (7, 3)),
        ("**8.5 9**\nWhy.", (8.5, 9)),
        ("Assistant 1: 8, Assistant 2: 6\nWhy.", (8, 6)),
        ("8/10 9/10", (8, 9)),
        ("８　９\n理由。", (8, 9)),
    ],
)
def test_the_first_line_holds_a_score_for_each_response(reply: str, values: tuple[float, float]) -> None:
    shown = {score.subject: score.value for score in parse(SCORES, reply).scores}
    assert (shown["a"], shown["b"]) == values
    swapped = {score.subject: score.value for score in parse(SCORES, reply, order="ba").scores}
    assert (swapped["b"], swapped["a"]) == values


@pytest.mark.parametrize("reply", ["8", "8 9 10", "I think 8 9", "", "They are both fine.", "1. 8 2. 9"])
def test_anything_else_on_the_first_line_is_no_pair_of_scores(reply: str) -> None:
    assert {score.status for score in parse(SCORES, reply).scores} == {"unparsed"}


def test_a_score_off_the_scale_fails_alone() -> None:
    assert [score.status for score in parse(SCORES, "11 5").scores] == ["out_of_range", "ok"]


@given(st.text(max_size=200))
def test_any_text_gives_a_status_and_values_on_the_scale(text: str) -> None:
    assert parse(RANKING, text).choice_status is not None
    for score in parse(SCORES, text).scores:
        assert (score.value is None) == (score.status != "ok")
        assert score.value is None or 1 <= score.value <= 10


@pytest.mark.parametrize(
    ("value", "choice"), [('"A++"', "a"), ('"B+"', "b"), ('"A=B"', "tie"), ('"A>>B"', "a"), ('"B>A"', "b"),
    ('"A"', "a")]
)  # fmt: skip
def test_a_choice_in_json_may_say_how_clear_it_is(value: str, choice: str) -> None:
    answer = Answer(reader="json", choice="choice", choices={"a": "A", "b": "B", "tie": "A=B"})
    protocol = Protocol(
        **{**{name: getattr(RANKING, name) for name in RANKING.__struct_fields__}, "answer": answer}
    )
    assert parse(protocol, f'{{"why": "…", "choice": {value}}}').choice == choice


def test_a_choice_in_json_may_be_a_number() -> None:
    answer = Answer(reader="json", choice="better", choices={"a": "1", "b": "2"})
    protocol = Protocol(
        **{**{name: getattr(RANKING, name) for name in RANKING.__struct_fields__}, "answer": answer}
    )
    assert parse(protocol, '{"better": 2}').choice == "b"
    assert parse(protocol, '{"better": true}').choice is None
