"""Reading replies under a protocol: the ladder, the frames, the flags, and text that is out to harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from adjudge import Item, Protocol, load_protocol, read_json
from adjudge.parse import parse
from adjudge.protocols import builtin_ids
from adjudge.records import Answer, Judgment, Rubric, Scale
from clock import LINEAR, growth
from thorough import tries

Rows = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def protocols() -> dict[str, Protocol]:
    return {protocol_id: load_protocol(protocol_id) for protocol_id in builtin_ids()}


def only(judgment: Judgment) -> tuple[float | None, str, str | None]:
    (score,) = judgment.scores
    return score.value, score.status, score.how


def comparison(winner: str = "A", a: int = 4, b: int = 3, **changes: Any) -> str:
    """A complete reply to geval/compare."""
    criteria = ("accuracy", "completeness", "clarity", "actionability", "relevance")
    side = {"reasoning": "because", "evidence": ["the sky is blue"], "confidence": 0.8}
    reply: dict[str, Any] = {
        name: {"response_a": {**side, "score": a}, "response_b": {**side, "score": b}} for name in criteria
    }
    reply["overall"] = {
        "response_a": {"score": a},
        "response_b": {"score": b},
        "winner": winner,
        "confidence": 0.7,
    }
    reply |= {"rationale": "A is better.", "key_differences": ["one", "two"], "recommendations": []}
    return json.dumps({**reply, **changes})


# -- the ladder


@pytest.mark.parametrize(
    ("protocol_id", "reply", "expected"),
    [
        ("prometheus/direct", "Feedback: fine [RESULT] 4", (4, "ok", "strict")),
        ("prometheus/direct", "Feedback: fine **[RESULT]** (4).", (4, "ok", "anchored")),
        ("prometheus/direct", "Feedback: fine\nScore: 4/5", (4, "ok", "anchored")),
        ("prometheus/direct", "The reply says [RESULT] 5 in a quote: \"[RESULT] 5\".\n[RESULT] 5", (5, "ok",
        "anchored")),
        ("prometheus/direct", 'The answer contains "[RESULT] 5", which is an attempt to cheat.', (None,
        "unparsed", None)),
        ("prometheus/direct", 'It claims "[RESULT] 5". [RESULT] 1', (1, "ok", "anchored")),
        ("prometheus/direct", "<think>[RESULT] 5?</think> weak [RESULT] 2", (2, "ok", "anchored")),
        ("prometheus/direct", "The response gives 3 of the 5 steps that were asked for.", (None, "unparsed",
        None)),
        ("opinion-summary/fluency", "Good. Score- <score>4</score>", (4, "ok", "strict")),
        ("opinion-summary/fluency", "Good. Score- <score>４</score>", (4, "ok", "anchored")),
        ("opinion-summary/fluency", "<score>1</score> - bad\n<score>5</score> - perfect\n\nScore- "
                                    "<score>4</score>", (4, "ok", "anchored")),
        ("gptscore-ko/fluency", "문장이 자연스럽습니다.\n\nFluency Score (1-5): 4", (4, "ok", "strict")),
        ("gptscore-ko/fluency", "문장이 자연스럽습니다.\n\nFluency Score (1-5): 사점", (4, "ok", "anchored")),
        ("gptscore-ko/fluency", "문장이 자연스럽습니다.\n\nFluency Score: 5점 만점에 4점", (4, "ok", "anchored")),  # noqa: E501
        ("commentary-zh/structure", "8\n结构合理。", (8, "ok", "strict")),
        ("commentary-zh/structure", "GPT-4回答:8\n结构合理。", (8, "ok", "anchored")),
        ("commentary-zh/structure", "八分\n结构合理。", (8, "ok", "anchored")),
        ("commentary-zh/structure", "-1\n结构混乱。", (None, "out_of_range", "anchored")),
        ("commentary-zh/structure", "七点五分\n结构尚可。", (None, "out_of_range", "anchored")),
        ("commentary-zh/structure", "评分：8 评分：6", (None, "conflicting", None)),
        ("commentary-zh/evidence", '{"score": 8, "reason": "充分"}', (8, "ok", "strict")),
        ("commentary-zh/evidence", '{"score": "8", "reason": "充分"}', (8, "ok", "anchored")),
        ("commentary-zh/evidence", '{"score": 1', (None, "unparsed", None)),
        ("commentary-zh/evidence", '{"score": 1, "score": 9}', (None, "conflicting", None)),
    ],
)  # fmt: skip
def test_a_reply_is_read_on_the_right_rung(
    protocols: dict[str, Protocol],
    protocol_id: str,
    reply: str,
    expected: tuple[float | None, str, str | None],
) -> None:
    assert only(parse(protocols[protocol_id], reply)) == expected


def test_a_span_holds_the_value_in_the_original_text(protocols: dict[str, Protocol]) -> None:
    for reply in ("  ```\nfine [RESULT] ４\n```", "fine **[RESULT] 4**", "好 [RESULT] 4"):
        (score,) = parse(protocols["prometheus/direct"], reply).scores
        assert score.span is not None
        assert reply[slice(*score.span)] in ("4", "４")


def test_level_names_are_read_where_a_scale_has_them() -> None:
    scale = Scale(0, 1, 1, 1, names={0: "fail", 1: "pass"})
    direct = load_protocol("prometheus/direct", rubric=Rubric("safe", "Is it safe?", scale))
    assert only(parse(direct, "Nothing harmful. [RESULT] pass"))[:2] == (1, "ok")
    assert only(parse(direct, "It explains how. [RESULT] **Fail**"))[:2] == (0, "ok")


@pytest.mark.parametrize(
    ("finish", "status"),
    [("length", "truncated"), ("content_filter", "refused"), ("stop", "unparsed"), (None, "unparsed")],
)
def test_why_a_model_stopped_decides_the_status_of_an_unread_reply(
    protocols: dict[str, Protocol], finish: str | None, status: str
) -> None:
    judgment = parse(protocols["prometheus/direct"], "Feedback: the response begins well and", finish=finish)
    assert only(judgment)[1] == status


CUT_OFF = {
    "Good. [RESULT] 4": None,
    "It could be [RESULT] 4 or": None,
    "[RESULT] 4.": None,
    "[RESULT] 4/5": None,
    "I would give it a score of 4. But then": None,
    "[RESULT] 4\n": 4,
    "[RESULT] 4\nThe response is": 4,
    "[RESULT] 4. The response": 4,
    "[RESULT] (4)": 4,
    "**[RESULT]** **4**": 4,
    "[RESULT] 4 because it is": 4,
}


@pytest.mark.parametrize("text", CUT_OFF)
def test_a_cut_reply_is_read_only_where_its_answer_is_complete(
    text: str, protocols: dict[str, Protocol]
) -> None:
    expected = CUT_OFF[text]
    value, status, how = only(parse(protocols["prometheus/direct"], text, finish="length"))
    assert (value, status) == (expected, "truncated" if expected is None else "ok")
    assert (how is None) == (expected is None)
    assert only(parse(protocols["prometheus/direct"], text, finish="stop"))[:2] == (4, "ok")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"score": "1', None),
        ('{"score": 1', None),
        ('{"score": 10', None),
        ('{"score": 4, "reason": "it is', 4),
        ('{"score": "4", "rea', 4),
        ('{"reason": "fine", "score": 4}', 4),
        ('```json\n{"score": 4}\n', 4),
        ('{"reason": "the score is 4', None),
    ],
)
def test_cut_json_is_read_only_where_the_value_is_complete(text: str, expected: float | None) -> None:
    scale = Scale(1, 10, 10, 1)
    direct = load_protocol("prometheus/direct", rubric=Rubric("tact", "Is it?", scale))
    protocol = structs.replace(direct, answer=Answer("json", score="score"))
    assert only(parse(protocol, text, finish="length"))[:2] == (
        expected,
        "truncated" if expected is None else "ok",
    )


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Fine. [RESULT] A", None),
        ("Fine. [RESULT] A\nIt is", "a"),
        ("[RESULT] [[B]] as", "b"),
        ("[RESULT] A or", None),
    ],
)
def test_a_cut_choice_counts_only_where_it_is_complete(text: str, choice: str | None) -> None:
    protocol = load_protocol("prometheus/pairwise", rubric=Rubric("tact", "Is it?", Scale(1, 5, 5, 1)))
    judgment = parse(protocol, text, finish="length")
    assert (judgment.choice, judgment.choice_status) == (choice, "truncated" if choice is None else "ok")


def test_a_filtered_reply_is_refused_whatever_it_says(protocols: dict[str, Protocol]) -> None:
    assert only(parse(protocols["prometheus/direct"], "[RESULT] 4", finish="content_filter"))[:2] == (
        None,
        "refused",
    )
    judgment = parse(protocols["geval/compare"], comparison(), finish="content_filter")
    assert {score.status for score in judgment.scores} == {"refused"}
    assert (judgment.choice, judgment.choice_status) == (None, "refused")


@given(st.text(alphabet='[RESULT] 0123456789./-\n*()or{}":,abx', max_size=60))
def test_what_is_read_of_a_cut_reply_is_read_of_the_whole_one(text: str) -> None:
    protocol = load_protocol("prometheus/direct", rubric=Rubric("tact", "Is it?", Scale(1, 10, 10, 1)))
    cut = only(parse(protocol, f"Fine. [RESULT] {text}", finish="length"))
    whole = only(parse(protocol, f"Fine. [RESULT] {text}"))
    assert cut[1] != "unparsed"
    assert cut[0] is None or cut == whole


# -- comparisons


def test_a_comparison_keeps_scores_choice_confidence_and_notes(protocols: dict[str, Protocol]) -> None:
    item = Item("1", {"task": "t", "response_a": "I think the sky is  blue.", "response_b": "Grass."})
    judgment = parse(protocols["geval/compare"], comparison(), item=item)
    assert judgment.choice == "a"
    assert judgment.choice_confidence == 0.7
    assert judgment.notes == {
        "rationale": "A is better.",
        "key_differences": "one\ntwo",
        "recommendations": "",
    }
    scores = {(score.criterion, score.subject): score for score in judgment.scores}
    assert len(scores) == 12
    assert scores["clarity", "a"].value == 4
    assert scores["clarity", "a"].confidence == 0.8
    assert scores["clarity", "a"].grounded == 1.0
    assert scores["clarity", "b"].grounded == 0.0
    assert judgment.flags == ()


def test_the_second_order_comes_out_in_the_frame_of_the_item(protocols: dict[str, Protocol]) -> None:
    item = Item("1", {"task": "t", "response_a": "Grass.", "response_b": "the sky is blue"})
    judgment = parse(protocols["geval/compare"], comparison(), item=item, order="ba")
    assert judgment.choice == "b"
    scores = {(score.criterion, score.subject): score for score in judgment.scores}
    assert scores["overall", "b"].value == 4
    assert scores["clarity", "b"].grounded == 1.0
    pair = parse(load_protocol("prometheus/pairwise"), "B is clearer. [RESULT] B", order="ba")
    assert (pair.choice, pair.choice_status) == ("a", "ok")


@pytest.mark.parametrize(
    ("winner", "a", "b", "is_flagged"),
    [("A", 4, 3, False), ("A", 3, 4, True), ("tie", 4, 3, True), ("tie", 3, 3, False), ("B", 3, 3, True)],
)
def test_a_winner_that_contradicts_the_scores_is_flagged(
    protocols: dict[str, Protocol], winner: str, a: int, b: int, is_flagged: bool
) -> None:
    judgment = parse(protocols["geval/compare"], comparison(winner, a, b))
    assert ("verdict_contradicts_scores" in judgment.flags) == is_flagged


def test_one_bad_criterion_does_not_fail_the_others(protocols: dict[str, Protocol]) -> None:
    reply = comparison(clarity={"response_a": {"score": 9}, "response_b": {"score": True}})
    scores = {(s.criterion, s.subject): s.status for s in parse(protocols["geval/compare"], reply).scores}
    assert scores["clarity", "a"] == "out_of_range"
    assert scores["clarity", "b"] == "unparsed"
    assert list(scores.values()).count("ok") == 10


def test_a_confidence_that_is_none_is_dropped_and_flagged(protocols: dict[str, Protocol]) -> None:
    overall = {"response_a": {"score": 4}, "response_b": {"score": 3}, "winner": "A", "confidence": 1.7}
    judgment = parse(protocols["geval/compare"], comparison(overall=overall))
    assert judgment.choice_confidence is None
    assert "confidence_out_of_range" in judgment.flags


def test_json_with_a_comma_too_many_is_repaired_and_flagged(protocols: dict[str, Protocol]) -> None:
    judgment = parse(protocols["geval/compare"], comparison()[:-1] + ",}")
    assert judgment.choice == "a"
    assert "repaired" in judgment.flags


def test_text_around_the_json_is_kept(protocols: dict[str, Protocol]) -> None:
    judgment = parse(protocols["geval/compare"], f"Here it is:\n```json\n{comparison()}\n```\nIn short, A.")
    assert judgment.choice == "a"
    assert "In short, A." in judgment.explanation


@pytest.mark.parametrize(
    ("protocol_id", "reply", "is_flagged"),
    [
        ("gptscore-ko/fluency",
        "The response is written in a natural and fluent way.\nFluency Score (1-5): 4", True),
        ("gptscore-ko/fluency", "문장이 자연스럽고 읽기 쉬우며 문법적인 오류가 전혀 보이지 않습니다. 표현도 다양하고 정확합니다.\nFluency Score "  # noqa: E501
                                "(1-5): 4", False),
        ("commentary-zh/structure", "8\nThe structure is sound and the paragraphs follow each other well.",
        True),
        ("prometheus/direct", "结构合理，层次清晰，详略得当，但还有提升空间，总体来说是一篇不错的文章，值得推荐给大家阅读，希望以后更好。 [RESULT] 4", True),  # noqa: E501
        ("gptscore-ko/fluency", "4", False),
    ],
)  # fmt: skip
def test_a_reply_in_another_language_is_read_and_flagged(
    protocols: dict[str, Protocol], protocol_id: str, reply: str, is_flagged: bool
) -> None:
    judgment = parse(protocols[protocol_id], reply)
    assert only(judgment)[1] == "ok"
    assert ("language_mismatch" in judgment.flags) == is_flagged


# -- read_json


def test_read_json_finds_each_criterion_wherever_it_stands() -> None:
    text = (
        '{"scores": [{"name": "clarity", "score": 4}], "result": {"Depth Of View": {"reason": "r", '
        '"rating": "3/5"}}, "tone": 9}'
    )
    readings = read_json(text, ["clarity", "depth_of_view", "tone", "other"], 1, 5)
    assert {name: (r.value, r.status) for name, r in readings.items()} == {
        "clarity": (4, "ok"), "depth_of_view": (3, "ok"), "tone": (None, "out_of_range"), "other": (None,
        "unparsed"),
    }  # fmt: skip


def test_read_json_takes_a_lone_score_for_a_lone_criterion_only() -> None:
    assert read_json('{"score": 4, "reason": "r"}', ["clarity"], 1, 5)["clarity"].value == 4
    readings = read_json('{"score": 4}', ["clarity", "depth"], 1, 5)
    assert {reading.status for reading in readings.values()} == {"unparsed"}


def test_read_json_reads_the_real_replies_with_several_criteria(real_rows: Rows) -> None:
    for row in real_rows("parser_stress.dev"):
        if row["kind"] == "multi-score":
            readings = read_json(row["text"], list(row["truth"]), *row["scale"])
            assert {name: reading.value for name, reading in readings.items()} == row["truth"], row["id"]
        elif row["kind"] == "multi-verdict":
            names = {"A": "first", "B": "second"}
            readings = read_json(row["text"], list(row["truth"]))
            expected = {name: names.get(choice, "tie") for name, choice in row["truth"].items()}
            assert {name: reading.value for name, reading in readings.items()} == expected, row["id"]


# -- real replies


DIMENSIONS = {
    "结构": "structure",
    "论证": "reasoning",
    "立论": "thesis",
    "论据": "evidence",
    "语言": "language",
    "时效性": "structure",
}


def test_every_commentary_reply_reads(protocols: dict[str, Protocol], real_rows: Rows) -> None:
    rows = real_rows("thoughtwave.judgments")
    unread = [
        reply
        for row in rows
        for reply in row["responses"]
        if only(parse(protocols[f"commentary-zh/{DIMENSIONS[row['dimension']]}"], reply))[1] != "ok"
    ]
    assert len(rows) == 1438
    assert unread == []


# -- attacks


def test_every_attack_on_the_parser_behaves_as_written(
    attacks: list[dict[str, str]], protocols: dict[str, Protocol]
) -> None:
    direct, pair = protocols["prometheus/direct"], protocols["prometheus/pairwise"]
    tag, first_line = protocols["opinion-summary/faithfulness"], protocols["commentary-zh/structure"]
    payloads = {attack["id"]: attack["payload"] for attack in attacks if attack["layer"].startswith("L3")}
    expected: dict[str, tuple[Protocol, float | None, set[str]]] = {
        "parse-02": (direct, None, {"conflicting"}),
        "parse-04": (direct, 4, {"ok"}),
        "parse-06": (direct, None, {"out_of_range"}),
        "parse-08": (direct, None, {"out_of_range"}),
        "parse-10": (protocols["commentary-zh/evidence"], None, {"unparsed"}),
        "parse-12": (protocols["commentary-zh/evidence"], None, {"unparsed"}),
        "parse-14": (protocols["commentary-zh/evidence"], None, {"unparsed"}),
        "parse-16": (first_line, 8, {"ok"}),
        "parse-18": (first_line, 8, {"ok"}),
        "parse-20": (tag, None, {"conflicting"}),
        "parse-22": (tag, 4, {"ok"}),
        "parse-24": (protocols["commentary-zh/evidence"], 4, {"ok"}),
        "parse-26": (direct, None, {"refused"}),
        "parse-32": (first_line, None, {"unparsed"}),
        "parse-34": (direct, None, {"out_of_range", "unparsed"}),
    }
    for name, (protocol, value, statuses) in expected.items():
        read = only(parse(protocol, payloads[name]))
        assert read[0] == value, name
        assert read[1] in statuses, name
    assert only(parse(tag, payloads["parse-22"]))[2] == "anchored"
    cyrillic = parse(pair, payloads["parse-28"])
    assert (cyrillic.choice, cyrillic.choice_status) == (None, "unparsed")
    assert set(payloads) == {*expected, "parse-28", "parse-30"}


# -- any text


@settings(max_examples=tries(150))
@given(
    st.text(alphabet=st.sampled_from(list("{}[]\"'`<>/*:：.-,\n 012345９八점分scoreRESULTAB")), max_size=200)
)
def test_any_text_gives_a_status_and_a_value_on_the_scale(text: str) -> None:
    for protocol_id in (
        "prometheus/direct",
        "prometheus/pairwise",
        "opinion-summary/fluency",
        "gptscore-ko/fluency",
        "commentary-zh/structure",
        "commentary-zh/evidence",
        "geval/compare",
    ):
        protocol = _cached(protocol_id)
        judgment = parse(protocol, text)
        assert judgment == parse(protocol, text)
        for score in judgment.scores:
            scale = protocol.criteria[score.criterion]
            assert scale is not None
            assert (score.value is not None) == (score.status == "ok")
            assert score.value is None or scale.status_of(score.value) == "ok"
        assert (judgment.choice is not None) == (judgment.choice_status == "ok")


@given(
    st.sampled_from(
        ["Fine.\n[RESULT] 4", "[RESULT] 9", "no score here", "[RESULT] 1 [RESULT] 2", "[RESULT] 4.5"]
    ),
    st.sampled_from(["{}", "  {}\n\n", "**{}**", "```\n{}\n```", "```text\n{}\n```\n", "\n\n{}  "]),
)
def test_what_stands_around_the_whole_reply_changes_nothing(reply: str, around: str) -> None:
    bare, wrapped = (
        only(parse(_cached("prometheus/direct"), text)) for text in (reply, around.format(reply))
    )
    assert bare[:2] == wrapped[:2]


_PROTOCOLS: dict[str, Protocol] = {}


def _cached(protocol_id: str) -> Protocol:
    if protocol_id not in _PROTOCOLS:
        _PROTOCOLS[protocol_id] = load_protocol(protocol_id)
    return _PROTOCOLS[protocol_id]


HOSTILE = [
    "[",
    "{",
    '"',
    "<",
    "`",
    "*",
    "1",
    "[RESULT] ",
    "<score>",
    "Score: ",
    "\n",
    '{"score":',
    "“",
    "4/",
    "Fluency Score ",
    "评分：",
    "<think>",
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_megabyte_takes_time_in_proportion_to_its_length(unit: str) -> None:
    for protocol_id in (
        "prometheus/direct",
        "prometheus/pairwise",
        "opinion-summary/fluency",
        "gptscore-ko/fluency",
        "commentary-zh/structure",
        "commentary-zh/evidence",
        "geval/compare",
    ):
        assert growth(partial(parse, _cached(protocol_id)), unit, 1_000_000) < LINEAR, protocol_id


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["```\nScore: 4\n```\n", "Score: 1. a 2 ", "> Score: 4\n"])
def test_marks_without_end_take_time_in_proportion_to_their_number(piece: str) -> None:
    assert growth(partial(parse, load_protocol("geval/score")), piece, 300_000) < LINEAR


# -- options

VERDICTS = {"supported": 1.0, "not supported": 0.0}


@pytest.mark.parametrize(
    ("answer", "reply", "expected"),
    [
        (Answer("tag", tag="v"), "Because. <v>not supported</v>", ("not supported", 0, "strict")),
        (Answer("tag", tag="v"), "<v>\"Not Supported\"</v>", ("not supported", 0, "anchored")),
        (Answer("tag", tag="v"), "It quotes `<v>supported</v>`. <v>not supported</v>", ("not supported", 0,
        "anchored")),
        (Answer("tag", tag="v"), "<v>supported</v> <v>not supported</v>", (None, None, "conflicting")),
        (Answer("tag", tag="v"), "<v>supported or not supported</v>", (None, None, "unparsed")),
        (Answer("tag", tag="v"), "Verdict: supported", ("supported", 1, "anchored")),
        (Answer("tag", tag="v"), "<v>supported</v> Correction: not supported.", (None, None, "conflicting")),
        (Answer("marker", marker="[RESULT]"), "Fine. [RESULT] supported", ("supported", 1, "strict")),
        (Answer("marker", marker="[RESULT]"), "Fine. [RESULT] **NOT_SUPPORTED**.", ("not supported", 0,
        "anchored")),
        (Answer("label", labels=("Verdict",)), "Why: no.\nVerdict: not supported", ("not supported", 0,
        "strict")),
        (Answer("first_line"), "not supported\nNo passage says so.", ("not supported", 0, "strict")),
        (Answer("first_line"), "Not supported: no passage says so.", ("not supported", 0, "anchored")),
        (Answer("free"), "The claim is not supported by the text.", ("not supported", 0, "anchored")),
        (Answer("json", score="verdict"), '{"verdict": "not supported"}', ("not supported", 0, "strict")),
        (Answer("json", score="verdict"), '{"verdict": "NOT_SUPPORTED"}', ("not supported", 0, "anchored")),
        (Answer("json", score="verdict"), '{"verdict": "Supported (passage 2)"}', ("supported", 1,
        "anchored")),
        (Answer("json", score="verdict"), '{"verdict": "partly supported"}', (None, None, "unparsed")),
        (Answer("json", score="verdict"), '{"verdict": false}', ("not supported", 0, "anchored")),
        (Answer("json", score="verdict"), '{"verdict": null}', (None, None, "unparsed")),
    ],
)  # fmt: skip
def test_an_option_is_read_with_its_value(
    protocols: dict[str, Protocol], answer: Answer, reply: str, expected: tuple[Any, ...]
) -> None:
    answer = structs.replace(answer, options=VERDICTS)
    protocol = structs.replace(
        protocols["prometheus/direct"], answer=answer, criteria={"supported": Scale(0, 1, 1)}
    )
    (score,) = parse(protocol, reply).scores
    assert (score.label, score.value, score.how or score.status) == expected


@pytest.mark.parametrize(
    ("reply", "label"), [("[RESULT] relevant", None), ("[RESULT] relevant**", "relevant")]
)
def test_a_name_that_begins_another_one_may_have_been_cut_off(
    protocols: dict[str, Protocol], reply: str, label: str | None
) -> None:
    answer = Answer("marker", marker="[RESULT]", options={"relevant": 1.0, "relevant in part": 0.5})
    protocol = structs.replace(protocols["prometheus/direct"], answer=answer, criteria={"r": Scale(0, 1, 1)})
    (score,) = parse(protocol, reply, finish="length").scores
    assert score.label == label
    assert (score.status == "truncated") == (label is None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It is clear. Rating: [[4]]", "It is clear."),
        ("It is clear. Score: **4**", "It is clear."),
        ("<score>4</score> because it is clear.", "because it is clear."),
        ("So I give it 4 out of 5.", "So I give it 4 out of 5."),
        ("Clear and short, so 4/5 it is.", "Clear and short, so 4/5 it is."),
        ("4\nIt is clear.", "It is clear."),
    ],
)
def test_an_explanation_has_no_half_of_a_mark_and_whole_sentences(text: str, said: str) -> None:
    for name in ("geval/score", "prometheus/direct"):
        assert parse(load_protocol(name), text).explanation == said
