"""From the rule to the score: where an answer is asked for, what it means, and what was passed over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adjudge.analysis.item_view.reading_path import answer_rule, rejected_numbers, shown_choice
from adjudge.protocols.load import load_protocol
from adjudge.records import Answer

DIRECT = load_protocol("direct/helpful")
LABEL = load_protocol("geval/score")


def test_the_rule_names_the_place_in_the_words_of_the_protocol() -> None:
    assert answer_rule(Answer("tag", tag="score")) == "between <score> and </score>"
    assert answer_rule(Answer("marker", marker="[RESULT]")) == "after [RESULT]"
    assert answer_rule(Answer("label", labels=("Final score", "Score"))) == "after “Final score:”"
    by_path = Answer("json", score="{criterion}.score", choice="winner")
    assert answer_rule(by_path, "clarity") == "JSON value “clarity.score”"
    assert answer_rule(by_path) == "JSON value “winner”"


def test_b_is_response_a_where_b_was_shown_first() -> None:
    answer = Answer("tag", tag="winner", choices={"a": "A", "b": "B", "tie": "tie"})
    assert shown_choice("a", "ab", answer) == "A"
    assert shown_choice("a", "ba", answer) == "B"
    assert shown_choice("tie", "ba", answer) == "tie"


def reasons(text: str, at: int) -> list[tuple[str, str]]:
    rejected = rejected_numbers(text, LABEL, [(at, at + 1)])
    return [(text[slice(*one.span)], one.reason) for one in rejected]


def test_numbers_that_were_passed_over_have_a_reason() -> None:
    text = 'I would give 3. The text says "2 stars". <think>4?</think> Score: 5 out of 5'
    assert reasons(text, text.index("5")) == [
        ("3", "not after “Score:”"),
        ("2", "in a quotation"),
        ("4", "part of the thinking"),
        ("5", "the top of the scale"),
    ]


def test_a_number_that_cannot_be_a_score_is_not_listed() -> None:
    text = "In 1999 it cost 22,500 (2 %).\n1. A point of 9.\n2) Another.\nScore: 4"
    assert reasons(text, len(text) - 1) == []


@given(st.text(alphabet="1234567890 .,/%\n\"'`<>thinkScore:", max_size=200), st.integers(0, 200))
def test_a_number_that_was_read_is_never_one_that_was_passed_over(text: str, at: int) -> None:
    span = (at, at + 1)
    for one in rejected_numbers(text, DIRECT, [span]):
        start, end = one.span
        assert 0 <= start < end <= len(text)
        assert not (start < span[1] and span[0] < end)
        assert 1 <= float(text[start:end]) <= 5
