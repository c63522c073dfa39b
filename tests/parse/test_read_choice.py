"""Reading a choice between two options from a reply of unknown format, case by case."""

from __future__ import annotations

import pytest

from adjudge import read_choice
from adjudge.records import Reading

OUTPUTS = ("Output (a)", "Output (b)")


@pytest.mark.parametrize("text", ["B", " B\n", "b", "Ｂ", "[[B]]", "[RESULT] B", "<verdict>B</verdict>"])
def test_a_reply_that_is_only_the_choice_is_strict(text: str) -> None:
    reading = read_choice(text)
    assert (reading.value, reading.status, reading.how) == ("second", "ok", "strict")


@pytest.mark.parametrize(
    "text",
    [
        "B.", "**B**", "`B`", '"B"', "(B)", "[B]", "B: because it is shorter", "B) because", "B, since it is shorter", "Response B", "Assistant B",
        "Winner: B", "**Winner:** Response B", "Final verdict: B", "Feedback: fine ... Response A. [RESULT] B", "Answer: B", "The answer is B.",
        "[[B>A]]", "[[B>>A]]", "[[A<B]]", "[[B>>A]] as said: [[B>A]]", '{"winner": "B"}', '{"winner":"response_b"}', '{"choice": "B"}',
        '{"winner": "B", "reason": "[[A]] is better at x"}', "Response B is better.", "B is better than A.", "A is worse than B.",
        "I would go with Response B.", "I prefer B over A.", "Assistant B's answer is slightly better.", "The winner is clearly Response B.",
        "A better response is B.", "Is A better? No: B is better.", "Response A is better in style. Overall, Response B is better.",
        "If brevity matters, A is better. Therefore, B is better overall.", "Assistant A argues that A is better. Therefore, B is better.",
        "Response B is the clear winner.", "Better Response: B\nReason: A lacks detail", "A: 7/10\nB: 8/10\nWinner: B", "Both are great, but B is slightly better.",
        "Although Response A is better, it is long. Overall, B is better.", "{\"better_response\": \"B\"}", "Verdict - B", "B — more detailed",
        "回答B更好", "选择：B", "因此，助手B的回答更好。", "B가 더 좋습니다", "응답 B가 더 낫습니다", "<think>[[A]]</think>[[B]]", "> [[A]]\n[[B]]",
        'It says "[[A]]". [[B]]', "```\n[[A]]\n```\n[[B]]", "```\n[[B]]\n```", "Reasons above.\n\nB", "It is hard to say, but B is better.",
    ],
)  # fmt: skip
def test_a_choice_is_read_as_judges_write_it(text: str) -> None:
    reading = read_choice(text)
    assert (reading.value, reading.status) == ("second", "ok")
    assert reading.span is not None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (" [[B>>A]] ", "B>>A"),
        ("Winner: **B**", "B"),
        ("So Response B is better.", "Response B"),
        ("Ｂ", "Ｂ"),
    ],
)
def test_the_span_holds_the_choice_in_the_original_text(text: str, written: str) -> None:
    reading = read_choice(text)
    assert reading.span is not None
    assert text[slice(*reading.span)] == written


@pytest.mark.parametrize(
    "text",
    [
        "[[A]] [[B]]",
        "[RESULT] A [RESULT] B",
        "[[A>B]] ... [[B>>A]]",
        "Response A is better. Response B is better.",
        "A\n\nResponse B is better.",
    ],
)
def test_choices_that_differ_are_a_conflict(text: str) -> None:
    assert read_choice(text) == Reading(status="conflicting")


@pytest.mark.parametrize(
    "text",
    [
        "", "A or B", "A and B", "A/B", "AB", "C", "[RESULT] А", "[RESULT] C", "[RESULT] A or B", "Result A or B, not results", "Response C is clearly superior.",
        "The better response is obviously B... or is it A? It's hard to decide.", "A is not better than B.", "A并不比B更好", "A: 8/10\nB: 7/10", "A good answer would be short.",
        "Which one is better?", "Neither is better.", "It's a tie.", "[[A=B]]", "Both are equally good.", "A: good point.\nB: bad point.",
        "Response A:\nIt is long.\n\nResponse B:\nIt is short.", "<think>[[A]]", "Assistant A argues that Response A is better.", '"[[A]]" is in the text.',
    ],
)  # fmt: skip
def test_a_reply_that_does_not_choose_is_unparsed(text: str) -> None:
    assert read_choice(text) == Reading(status="unparsed")


@pytest.mark.parametrize(
    "text",
    [
        "I cannot evaluate this content.",
        "抱歉，我无法评价。",
        "평가할 수 없습니다.",
        "[RESULT] N/A",
        "I can't choose between A and B.",
    ],
)
def test_a_judge_that_declines_is_refused(text: str) -> None:
    assert read_choice(text) == Reading(status="refused")


@pytest.mark.parametrize(
    "text",
    [
        "C",
        "[[C]]",
        "[RESULT] C",
        "C: Both are equally relevant.",
        "Tie",
        "Winner: tie",
        "[[A=B]]",
        "It's a tie.",
        "Both responses are equally good.",
    ],
)
def test_a_tie_is_read_where_it_was_offered(text: str) -> None:
    assert read_choice(text, tie=True).value == "tie"
    assert read_choice(text).status == "unparsed"


@pytest.mark.parametrize(
    ("options", "text", "value"),
    [
        (OUTPUTS, "Output (b)", "second"),
        (OUTPUTS, "Output (a) (Output (b) provides appropriate options)", "first"),
        (OUTPUTS, "(b)", "second"),
        (OUTPUTS, "Assistant (a) prefers it, but Output (b) is better.", "second"),
        (OUTPUTS, "# Output (a):\nOnce upon a time", None),
        (("[[A]]", "[[B]]"), "Final verdict: [[A]]", "first"),
        (("[[A]]", "[[B]]"), "A", "first"),
        (("1", "2"), "2", "second"),
        (("1", "2"), "Response 1 is better.", "first"),
        (("1", "2"), "1. Read both.\n2. Compare them.", None),
        (("Response 1", "Response 2"), "Response 2 is better because it is right.", "second"),
        (("baseline", "enhanced"), '{"overall":{"winner":"enhanced","confidence":1.7}}', "second"),
        (("baseline", "enhanced"), "The baseline response is better.", "first"),
        (("m", "M"), "M", "second"),
        (("m", "M"), "m", "first"),
        (("m", "M"), "Model M is better.", None),
    ],
)
def test_options_may_have_any_names(options: tuple[str, str], text: str, value: str | None) -> None:
    assert read_choice(text, options).value == value
