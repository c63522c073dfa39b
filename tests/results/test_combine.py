"""What a result keeps of its judgments: the quotations, the notes, and the reply that its value is from."""

from __future__ import annotations

import json

import pytest

from adjudge import Item, load_protocol
from adjudge.parse import parse
from adjudge.parse.glimpse import glimpsed
from adjudge.parse.reask_answers import with_reask
from adjudge.records import Evidence, Result
from adjudge.results.combine import CallJudgment, combine

DIRECT = load_protocol("prometheus/direct")
COMPARE = load_protocol("geval/compare")


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


def test_a_follow_up_answers_where_the_first_reply_shows_nothing() -> None:
    first = "The response is well written and complete."
    judgment = with_reask(parse(DIRECT, first), parse(DIRECT, "[RESULT] 4"), 1, glimpsed(DIRECT, first))
    (result,) = (
        row for row, _ in combine(Item("i", fields={}), DIRECT, "m", [CallJudgment("ab", 0, judgment)])
    )
    assert (result.value, result.how, result.reply) == (4.0, "reask", 1)
