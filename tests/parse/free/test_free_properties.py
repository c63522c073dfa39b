"""What holds for every reply, however odd: a status, a value on the scale, no effect of what is around it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adjudge import read_choice, read_score
from adjudge.records import Reading, Scale
from clock import LINEAR, growth
from thorough import tries

PIECES = (
    *("4", "5", "0", "10", "4.5", "3/5", "4 out of 5", "four", "八分", "4점", "４", "1-5", "-1", "N/A", "★★★"),  # noqa: E501
    *("Score: ", "score", "Rating: ", "[RESULT] ", "[[", "]]", "<score>", "</score>", "得分：", "점수: ",
    '"score": ', "{", "}", "Overall"),
    *("A", "B", "C", "a", "Output (a)", "Response B", " is better", "I choose ", "tie", "[[A>B]]",
    "Winner: ", "not ", "equally good"),
    *('"', "'", "“", "”", "「", "」", "`", "> ", "*", "_", "#", "<think>", "</think>", "\\", "\ufffc", "\x01",
    "\x02", "\u200b", "\x00"),
    *(" ", "\n", "\n\n", ". ", ", ", ": ", "? ", "。", "The response ", "would be ", "Therefore, ",
    "I cannot evaluate this", "1. ", "2. ", "İ"),
)  # fmt: skip

replies = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
scales = st.sampled_from(
    [
        (1.0, 5.0, 1.0),
        (1.0, 5.0, None),
        (0.0, 10.0, None),
        (0.0, 1.0, 0.5),
        (1.0, 3.0, 1.0),
        (0.0, 100.0, 1.0),
    ]
)
options = st.sampled_from(
    [
        ("A", "B"),
        ("Output (a)", "Output (b)"),
        ("[[A]]", "[[B]]"),
        ("1", "2"),
        ("baseline", "enhanced"),
        ("m", "M"),
    ]
)
many = settings(max_examples=tries(400))


def same_answer(reading: Reading, other: Reading) -> bool:
    return (reading.value, reading.status) == (other.value, other.status)


@many
@given(replies, scales)
def test_any_reply_gives_a_status_and_a_value_only_on_the_scale(
    text: str, scale: tuple[float, float, float | None]
) -> None:
    low, high, step = scale
    reading = read_score(text, low, high, step)
    assert (reading.value is not None) == (reading.status == "ok") == (reading.span is not None)
    if isinstance(reading.value, float) and reading.span is not None:
        assert Scale(low=low, high=high, best=high, step=step).status_of(reading.value) == "ok"
        assert 0 <= reading.span[0] < reading.span[1] <= len(text)


@many
@given(replies, options, st.booleans())
def test_any_reply_gives_a_status_and_only_choices_that_were_offered(
    text: str, names: tuple[str, str], tie: bool
) -> None:
    reading = read_choice(text, names, tie)
    assert reading.value in ({"first", "second", "tie", None} if tie else {"first", "second", None})
    assert (reading.value is not None) == (reading.status == "ok") == (reading.span is not None)
    if reading.span is not None:
        assert 0 <= reading.span[0] < reading.span[1] <= len(text)


@many
@given(replies)
def test_reading_twice_gives_the_same(text: str) -> None:
    assert read_score(text, 1, 5) == read_score(text, 1, 5)
    assert read_choice(text, tie=True) == read_choice(text, tie=True)


AROUND: dict[str, Callable[[str], str]] = {
    "white space": lambda text: f" \n{text}\t\n",
    "bold marks": lambda text: f"**{text}**",
    "code fence": lambda text: f"```\n{text}\n```",
    "named code fence": lambda text: f"```json\n{text}\n```",
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
@many
@given(replies, scales, options)
def test_what_is_around_the_whole_reply_changes_nothing(
    around: Callable[[str], str], text: str, scale: tuple[float, float, float | None], names: tuple[str, str]
) -> None:
    assume("```" not in text and "~~~" not in text)
    wrapped = around(text)
    assert same_answer(read_score(wrapped, *scale), read_score(text, *scale))
    assert same_answer(read_choice(wrapped, names, True), read_choice(text, names, True))


@many
@given(
    st.sampled_from(["1", "2", "3", "4", "5"]),
    st.text(alphabet="abc .,\n", max_size=40),
    st.sampled_from("12345"),
)
def test_a_quoted_marker_never_answers_for_the_judge(answer: str, words: str, quoted: str) -> None:
    assert read_score(f'{words}\nThe text says "[RESULT] {quoted}".\n[RESULT] {answer}', 1, 5).value == float(
        answer
    )


HOSTILE = (
    *("[", "[[a", '"', '"a ', "“", '\\"', "<", "<score>", "<think>", "*", "`", "```\n", "\n", " ", "7",
    "4 ", "4/5 ", "score: ", "score: 4 "),
    *(":", "A ", "A is better ", "A is better. ", "Output (a) ", ".", "-", "> \n", "_", "#\n", "满分十分",
    "5점 만점에 ", "1-", "1,234,", "４分", '"a":'),
    *('{"a":', "[RESULT] ", "not ", "is the ", "⭐", "one ", "I cannot ", "tie ", "4\n", "1. ", "(", "'",
    "=", "|", "\\boxed{", "【"),
)  # fmt: skip


def read_by_all(text: str) -> None:
    read_score(text, 1, 5)
    read_choice(text, tie=True)
    read_choice(text, ("Output (a)", "Output (b)"))


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_reply_takes_time_in_proportion_to_its_length(piece: str) -> None:
    assert growth(read_by_all, piece, 300_000) < LINEAR


@pytest.mark.slow
def test_an_unterminated_string_takes_time_in_proportion_to_its_length() -> None:
    assert growth(lambda text: read_by_all('{"reason": "' + text), "a \\", 900_000) < LINEAR


def test_an_unterminated_string_is_no_answer() -> None:
    text = '{"reason": "' + "a \\" * 1000
    assert read_score(text, 1, 5).status == "unparsed"
    assert read_choice(text).status == "unparsed"
