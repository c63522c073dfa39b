"""What a result keeps of its judgments: the quotations, the notes, and the reply that its value is from."""

from __future__ import annotations

import json

import pytest

from adjudge import Item, load_protocol
from adjudge.parse import parse
from adjudge.parse.conversation import judge_conversation
from adjudge.parse.glimpse import glimpsed
from adjudge.parse.reask_answers import with_reask
from adjudge.records import Call, Evidence, Reply, Result
from adjudge.results.combine import CallJudgment, combine

DIRECT = load_protocol("prometheus/direct")
COMPARE = load_protocol("geval/compare")
ITEM = Item("i", fields={})


def said(text: str, finish: str = "") -> tuple[Call, Reply]:
    return Call(text, "i", "p@1", ("direct",), "m", ()), Reply(text, text, finish=finish)


def compared() -> list[Result]:
    """The results of a pair whose judge quotes one sentence that is there and one that is not."""
    criteria = ("accuracy", "completeness", "clarity", "actionability", "relevance")
    side = {
        "reasoning": "because",
        "evidence": ["the sky is blue", "grass is red"],
        "confidence": 0.8,
        "score": 4,
    }
    reply = {name: {"response_a": side, "response_b": side} for name in criteria}
    overall = {"response_a": {"score": 4}, "response_b": {"score": 4}, "winner": "tie", "confidence": 0.9}
    text = json.dumps(
        {**reply, "overall": overall, "rationale": "Both say the same.", "recommendations": "None."}
    )
    item = Item("i", fields={"task": "t", "response_a": "The sky is blue.", "response_b": "It is night."})
    judgment = parse(COMPARE, text, item=item)
    return [result for result, _ in combine(item, COMPARE, "m", [CallJudgment("ab", 0, judgment)])]


def test_a_result_keeps_each_quotation_and_whether_it_stands_in_the_judged_response() -> None:
    by_subject = {result.subject: result for result in compared() if result.criterion == "accuracy"}
    assert by_subject["a"].evidence == (Evidence("the sky is blue", True), Evidence("grass is red", False))
    assert [quote.grounded for quote in by_subject["b"].evidence] == [False, False]


def test_a_result_keeps_the_notes_by_name_and_explains_an_overall_score_by_the_rationale() -> None:
    overall = [result for result in compared() if result.criterion == "overall"]
    assert all(result.notes["recommendations"] == "None." for result in overall)
    assert {result.explanation for result in overall} == {"Both say the same."}


@pytest.mark.parametrize(
    "first", ["Coherence: 5\nand more of the same follows here.", "It seems fine (5). It goes on."]
)
def test_a_follow_up_that_contradicts_what_the_first_reply_shows_is_a_conflict(first: str) -> None:
    judgment, seen = parse(DIRECT, first), glimpsed(DIRECT, first)
    assert judgment.scores[0].status == "unparsed"
    contradicted = with_reask(judgment, parse(DIRECT, "[RESULT] 1"), 1, seen).scores[0]
    assert (contradicted.status, contradicted.value) == ("conflicting", None)
    confirmed = with_reask(judgment, parse(DIRECT, "[RESULT] 5"), 2, seen).scores[0]
    assert (confirmed.status, confirmed.value, confirmed.reply) == ("ok", 5.0, 2)


@pytest.mark.parametrize(
    "first",
    [
        "4 or 5",
        "A solid four, or maybe less.",
        "three or four",
        "8/10",
        "I would put this at 80/100 for its warmth, although the ending drags on for too long.",
        "3-4",
        "Between 4 and 5, hard to say.",
        "Ставлю 4 из 5 за этот ответ.",
        "Ik geef dit 4 van 5.",
        "我给这个回答4分。",
        "[RESULT] 4 [RESULT] 5",
        "Hmm, perhaps 4.",
        "Warm, but vague; 4 bis 5 Punkte.",
        "The tone is warm. " * 30 + "Ik kom uit op 4 van 5.",
    ],
)
def test_a_follow_up_that_is_no_value_of_the_first_reply_is_a_conflict(first: str) -> None:
    def judged(second: str) -> tuple[str, float | None]:
        (score,) = judge_conversation(DIRECT, ITEM, [said(first), said(second)], ()).scores
        return score.status, score.value

    assert judged("[RESULT] 1") == ("conflicting", None)
    assert judged("[RESULT] 4") == ("ok", 4.0)


@pytest.mark.parametrize(
    "first",
    [
        "The response names 3 of the 5 steps and leaves 2 of them unexplained, which users may not notice.",
        "It has 4 of 5 parts. " + "The response is polite. " * 20 + "It names no cause.",
        "[RESULT] 9",
        "I find it tactful, 4 of my friends too.",
        "It names 4 steps.",
        "9/10 claims are supported.",
        "This one is fine.",
        "-1",
        "x\ufffd 4",
        "",
    ],
)
def test_numbers_that_are_no_grade_contradict_no_follow_up(first: str) -> None:
    (score,) = judge_conversation(DIRECT, ITEM, [said(first), said("[RESULT] 1")], ()).scores
    assert (score.status, score.value, score.reply) == ("ok", 1.0, 1)


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        ("Warm. [RESULT] 4", "[RESULT] 1", "conflicting"),
        ("Warm. [RESULT] 4", "[RESULT] 4", "ok"),
        ("Warm. Score: 5. It is good, and", "[RESULT] 1", "conflicting"),
        ("I think it is a 4, because", "[RESULT] 1", "ok"),
        ("Of the 5 steps 4 stand, and", "[RESULT] 1", "ok"),
    ],
)
def test_a_follow_up_does_not_override_an_answer_that_was_cut_off(
    first: str, second: str, status: str
) -> None:
    (score,) = judge_conversation(DIRECT, ITEM, [said(first, "length"), said(second)], ()).scores
    assert score.status == status


def test_a_follow_up_completes_a_number_that_was_cut_off() -> None:
    ten = load_protocol("commentary-zh/structure")
    for second, status in (("10", "ok"), ("1", "ok"), ("4", "conflicting")):
        (score,) = judge_conversation(ten, ITEM, [said("1", "length"), said(second)], ()).scores
        assert (score.status, score.value) == (status, float(second) if status == "ok" else None)


def test_a_follow_up_answers_where_the_first_reply_shows_nothing() -> None:
    first = "The response is well written and complete."
    judgment = with_reask(parse(DIRECT, first), parse(DIRECT, "[RESULT] 4"), 1, glimpsed(DIRECT, first))
    (result,) = (
        row for row, _ in combine(Item("i", fields={}), DIRECT, "m", [CallJudgment("ab", 0, judgment)])
    )
    assert (result.value, result.how, result.reply) == (4.0, "reask", 1)
