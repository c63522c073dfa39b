"""A mark that cannot be read is an answer that cannot be read: no earlier mark takes its place."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from adjudge import Protocol, load_protocol, read_choice, read_json, read_option, read_score
from adjudge.parse import parse
from adjudge.records import Answer, Judgment
from thorough import tries

BOTH = ("accuracy", "completeness", "clarity", "actionability", "relevance", "overall")
COMPARED = ", ".join(
    f'"{name}": {{"response_a": {{"score": @}}, "response_b": {{"score": @}}}}' for name in BOTH
)
"""The JSON of a comparison, with `@` in the place of each score."""

MARKED = {
    "tag": ("opinion-summary/fluency", "<score>@</score>"),
    "tag of a choice": ("pairwise/helpful", "<winner>@</winner>"),
    "tag of named levels": ("direct/reference-answer", "<verdict>@</verdict>"),
    "tag of options": ("classify", "<label>@</label>"),
    "marker": ("prometheus/direct", "[RESULT] @"),
    "choice": ("prometheus/pairwise", "[RESULT] @"),
    "label": ("gptscore-ko/fluency", "Fluency Score (1-5): @"),
    "Korean label": ("gptscore-ko/fluency", "유창성 점수: @"),
    "plain label": ("geval/score", "Score: @"),
    "other label": ("geval/score", "Final rating: @"),
    "Chinese label": ("commentary-zh/structure-reason-first", "评分：@"),
    "json": ("commentary-zh/evidence", '{"score": @}'),
    "json of two scores": ("safety/harm", '{"harm": @, "over-refusal": @}'),
    "json of a comparison": ("geval/compare", "{" + COMPARED.replace("}}}", '}, "winner": @}}') + "}"),
    "first line": ("commentary-zh/structure", "评分：@"),
    "first line, another mark": ("commentary-zh/structure", "[RESULT] @"),
}
PROTOCOLS = {name: (load_protocol(protocol_id), form) for name, (protocol_id, form) in MARKED.items()}
GRADED = structs.replace(
    load_protocol("geval/score"),
    answer=Answer(reader="label", labels=("GRADE",), options={"C": 1.0, "P": 0.5, "I": 0.0}),
)
FREE = structs.replace(load_protocol("prometheus/direct"), answer=Answer(reader="free"))
CHOSEN = structs.replace(load_protocol("prometheus/pairwise"), answer=Answer(reader="free"))
PROTOCOLS |= {
    "options": (GRADED, "GRADE: @"),
    "free, in brackets": (FREE, "[[@]]"),
    "free, a tag": (FREE, "<score>@</score>"),
    "free, a marker": (FREE, "[RESULT] @"),
    "free, a label": (FREE, "Score: @"),
    "free choice, in brackets": (CHOSEN, "[[@]]"),
    "free choice, a tag": (CHOSEN, "<winner>@</winner>"),
    "free choice, a label": (CHOSEN, "Winner: @"),
}
INVISIBLE = "\u2061\u2062\u2063\u2064\u180e\u034f\u115f\u3164\ufe0f\u200b\u00ad\U000e0041"
UNREADABLE = (
    *("N/A", "n.a.", "none", "neither of them", "I cannot say", "???", "-", "…", "pending", "see above"),
    *("(1-5)", "1 to 5", "3 or 4", "A or B", "99", "-7", "1e9", "1_0", "", " ", "[ ]", "**", '""', "`N/A`"),
    *("无法评分", "无", "없음", "평가 불가", "なし", "nicht bewertbar", "aucune", "SCORE", "excellent"),
    *INVISIBLE,
    *(char * 3 for char in INVISIBLE),
)  # fmt: skip
NOT_A_SCORE = ("null", "true", "[]", "{}", "NaN", "1e999")
"""What JSON may hold in the place of a score, besides a text."""

pieces = st.sampled_from(
    [
        *("5", "4", "A", "B", "[RESULT] 5", "[RESULT] A", "<score>5</score>", "Score: 5",
        "Fluency Score (1-5): 4", '{"score": 8}', "GRADE: C"),
        *("I give it 5 out of 5.", "Response A is better.", "So the score is 4.", "\n", " ", ". ",
        "The text is clear. ", "5/5", "Feedback: fine. "),
    ]
)  # fmt: skip
replies = st.lists(pieces, max_size=8).map("".join)


def value_of(judgment: Judgment) -> object:
    return judgment.choice if judgment.choice_status is not None else judgment.scores[0].value


def status_of(protocol: Protocol, text: str) -> str | None:
    judgment = parse(protocol, text)
    return judgment.choice_status if judgment.choice_status is not None else judgment.scores[0].status


def filled(form: str, content: str, *, is_json: bool) -> str:
    """A mark with a content; a text in JSON stands in quotation marks."""
    return form.replace("@", json.dumps(content) if is_json and content not in NOT_A_SCORE else content)


@settings(max_examples=tries(1000))
@given(
    replies,
    st.sampled_from(sorted(PROTOCOLS)),
    st.sampled_from(UNREADABLE + NOT_A_SCORE),
    st.sampled_from(["\n", "\n\n", ". ", "\nRevised: "]),
)
def test_an_unreadable_mark_behind_any_reply_never_leaves_a_value(
    reply: str, kind: str, content: str, gap: str
) -> None:
    protocol, form = PROTOCOLS[kind]
    is_json = "json" in kind
    judgment = parse(protocol, reply + gap + filled(form, content, is_json=is_json))
    assert [judgment.choice, *(score.value for score in judgment.scores)] == [None] * (
        len(judgment.scores) + 1
    )


@settings(max_examples=tries(200))
@given(replies, st.sampled_from(UNREADABLE))
def test_nor_does_it_where_the_format_is_not_known(reply: str, content: str) -> None:
    assert read_score(f"{reply}\n[RESULT] 5 [RESULT] {content}", 1, 5).value is None
    assert read_choice(f"{reply}\n[RESULT] A [RESULT] {content}").value is None
    assert read_option(f"{reply}\n[RESULT] good [RESULT] {content}", ("good", "bad")).value is None
    assert (
        read_json(f'{{"clarity": 4}}{reply}\n{{"clarity": {json.dumps(content)}}}', ("clarity",), 1, 5)[
            "clarity"
        ].value
        is None
    )
    assert read_score(f"{reply}\n[[5]]\n[[{content}]]", 1, 5).value is None
    assert read_choice(f"{reply}\n[[A]]\n[[{content}]]").value is None


@pytest.mark.parametrize(
    ("kind", "text", "status"),
    [
        ("marker", "If it were flawless I would write [RESULT] 5. There is nothing to judge. [RESULT] N/A",
        "refused"),
        ("marker", "Good. [RESULT] 5\nRevised: [RESULT] none", "refused"),
        ("choice", "[RESULT] A at first glance. In the end: [RESULT] neither", "conflicting"),
        ("choice", "[RESULT] A at first glance. In the end: [RESULT] C", "conflicting"),
        ("label", "Fluency Score (1-5): 5 here for style. But then Fluency Score (1-5): N/A", "refused"),
        ("tag", "<score>5</score> would be too kind. <score>N/A</score>", "refused"),
        ("json", '{"score": 8}\nRevised: {"score": N/A}', "conflicting"),
        ("plain label", "I'd give it 5 out of 5 if it had sources. Score: N/A", "refused"),
    ],
)  # fmt: skip
def test_what_a_later_mark_says_is_why_there_is_no_value(kind: str, text: str, status: str) -> None:
    assert status_of(PROTOCOLS[kind][0], text) == status


@pytest.mark.parametrize("later", ["最终得分：无法评分", "Score: N/A", "评分：不适用"])
def test_a_score_on_the_first_line_is_taken_back_by_a_label_that_abstains(later: str) -> None:
    assert status_of(PROTOCOLS["first line"][0], f"8\n结构清晰。\n{later}") == "refused"
    assert status_of(PROTOCOLS["first line"][0], "8\n评分：结构清晰，层次分明。") == "ok"


def test_a_grade_that_was_not_offered_does_not_leave_an_earlier_one() -> None:
    assert status_of(GRADED, "GRADE: C here would be wrong\nGRADE: Incorrect") == "conflicting"
    assert parse(GRADED, "GRADE: I").scores[0].value == 0.0


@pytest.mark.parametrize("char", INVISIBLE, ids=lambda char: f"{ord(char):04X}")
def test_an_invisible_character_hides_no_answer(char: str) -> None:
    assert unicodedata.category(char) in ("Cf", "Mn", "Lo")
    protocol = PROTOCOLS["marker"][0]
    assert status_of(protocol, f"[RESULT] 5 at first. Final: [RESULT]{char}2") == "conflicting"
    if char not in "\u115f\u3164":
        assert status_of(protocol, f"[RESULT] 5 at first. Final: [RES{char}ULT] 2") == "conflicting"
    text = f"It {char}is fine{char}. [RESULT]{char} 4"
    score = parse(protocol, text).scores[0]
    assert score.value == 4.0
    assert score.span is not None
    assert text[slice(*score.span)] == "4"


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("marker", (
            "The format is: Feedback: (feedback) [RESULT] (an integer between 1 and 5)\n\nFeedback: "
            "good. [RESULT] 4"
        ), 4.0),
        ("marker", "Format: Feedback: ... [RESULT] 1, 2, 3, 4 or 5\n\nFeedback: good. [RESULT] 4", 4.0),
        ("choice", "Format: Feedback: ... [RESULT] A or B\n\nFeedback: good. [RESULT] A", "a"),
        ("tag", "I answer in the form <score>1-5</score>. It reads well. <score>4</score>", 4.0),
        ("plain label", "Score: (1-5)\n\nIt covers the task.\nScore: 4", 4.0),
        ("marker", "(Score 5)", 5.0),
        ("marker", "A fine response. (Score 5)", 5.0),
        ("choice", "[Response B]", "b"),
    ],
)  # fmt: skip
def test_a_repeated_format_before_the_answer_does_no_harm(kind: str, text: str, value: object) -> None:
    assert value_of(parse(PROTOCOLS[kind][0], text)) == value


@pytest.mark.parametrize("protocol_id", ["geval/score", "direct/helpful"])
def test_a_score_that_a_sentence_concludes_with_is_read_in_a_run_as_by_read_score(protocol_id: str) -> None:
    text = "It covers the task and misses one detail, so I give it 4 out of 5."
    assert read_score(text, 1, 5).value == 4.0
    assert parse(load_protocol(protocol_id), text).scores[0].value == 4.0


@pytest.mark.parametrize("text", ["Response B is better.", "Response B is better overall."])
def test_a_verdict_in_a_sentence_of_its_own_is_read_in_a_run(text: str) -> None:
    assert value_of(parse(PROTOCOLS["choice"][0], text)) == "b"


@pytest.mark.parametrize(
    ("kind", "text", "status"),
    [
        ("Chinese label", "评分：8\n结尾较弱。\n最终评分：6", "conflicting"),
        ("Chinese label", "评分：8\n更正后的评分：无法确定", "refused"),
        ("Chinese label", "评分：8\n重新评分：6", "conflicting"),
        ("first line", "8\n结构清晰。\n评分：6", "conflicting"),
        ("first line", "8\n结构清晰。重新考虑后，应为6分。", "conflicting"),
        ("first line", "8\n结构得分：6", "ok"),
        ("tag", "<score>3</score>\nActually, 4.", "conflicting"),
        ("tag", "<score>3</score>\nActually, 4 of the claims are fine.", "ok"),
        ("options", "GRADE: I cannot say", "refused"),
        ("plain label", "Score (4/5): one error remains.", "ok"),
        ("plain label", "Score: one error remains.", "unparsed"),
    ],
)
def test_an_answer_that_is_given_anew_or_is_none_does_not_stand(kind: str, text: str, status: str) -> None:
    assert status_of(PROTOCOLS[kind][0], text) == status


@pytest.mark.parametrize(
    "text",
    [
        "harm: 2\nover-refusal: 0",
        "- **Harm**: 2\n- **Over-refusal**: 0",
        "| Criterion | Level |\n|---|---|\n| harm | 2 |\n| over-refusal | 0 |",
    ],
)
def test_criteria_that_are_given_behind_their_names_instead_of_in_json_are_read(text: str) -> None:
    scores = parse(PROTOCOLS["json of two scores"][0], text).scores
    assert [(score.value, score.how) for score in scores] == [(2.0, "anchored"), (0.0, "anchored")]
    readings = read_json(text, ("harm", "over-refusal"), 0, 4)
    assert [reading.value for reading in readings.values()] == [2.0, 0.0]
