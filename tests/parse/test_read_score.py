"""Reading a score from a reply of unknown format, case by case."""

from __future__ import annotations

import pytest

from adjudge import read_score
from adjudge.records import Reading


def read(text: str, low: float = 1, high: float = 5, step: float | None = 1) -> Reading:
    return read_score(text, low, high, step)


@pytest.mark.parametrize("text", ["4", " 4\n", "4.0", "４", "[[4]]", "[RESULT] 4", "<score>4</score>"])
def test_a_reply_that_is_only_the_score_is_strict(text: str) -> None:
    reading = read(text)
    assert (reading.value, reading.status, reading.how) == (4, "ok", "strict")


@pytest.mark.parametrize(
    "text",
    [
        "4.", "**4**", "`4`", '"4"', "(4)", "- 4", "4/5", "4 / 5", "4 out of 5", "four", "Four stars.", "4 (good)", "Good (4)", "4점", "사점",
        "5점 만점에 4점", "4점을 주겠습니다.", "점수는 4점입니다", "최종 점수: 4/5", "4分", "四", "最终得分：4", "评分：４", "【评分】4",
        "Score: 4", "SCORE : 4", "**Score:** 4", "Score (1-5): 4", "Score = 4", "Final score - 4", "| Score | 4 |", "The score is 4.",
        "Rating: [[4]]", "Feedback: good [RESULT] **4**", "[RESULT] (4)", "[Result] score of 4", "[Score 4]", "<SCORE> 4 </SCORE>", "<score>4",
        '{"score": 4}', '{"score": "4"}', '{"score": 4,}', '{"reason": "it says [RESULT] 5", "score": 4}', '```json\n{"score":4}\n```',
        'Here it is:\n```json\n{"score": 4}\n```', "\\boxed{4}", "Coherence: 4", "1. Coherence: 4", "Coherence:\n4",
        "Clarity: 3\nStyle: 5\nOverall: 4", "GPT-4 says so. Score: 4", "I would give it a 4.", "It earns a score of four.",
        "On a scale of 1 to 5, I rate this response a 4.", "The text is readable, scoring a 4 for fluency.", "The text is fluent. 4",
        "Therefore it is mostly relevant (4).", "Here is my score:\n\n4\n\nIt is clear.", "Score: ★★★★", "4 The summary is clear.",
        "Final score: 4 out of 5. More detail would make it a perfect 5 out of 5.",
        "I score it 4 out of 5. Small slips prevent it from being a perfect 5 out of 5.",
        "It could be shorter to achieve a score of 5. Overall, I give it 4 out of 5.",
        "Opening 2/5, middle 3/5. Overall, I would give it 4/5.",
        "<think>Perhaps [RESULT] 5?</think>[RESULT] 4", "<think>2</think>4", "no, 2</think>\n\n4",
        "이 요약은 5점을 받을 수 없습니다. 4점을 주겠습니다.", "我会给它4分，而不是5分。", "总分5分，我打4分。", "得4分", "5点満点中4点", "4颗星",
        "Scores range from 1 to 5. I choose 4.", "Final rating: four (4) out of five (5)", "It's a 4 for me.", "The score was 2-1. Score: 4",
        "Summary scores 4 out of 5 because 2 of the 5 facts are wrong.", "Between 3 and 4, I choose 4.", "{'score': 4}", "score:4,reason:x",
        "Score 1: bad\nScore 5: good\n\nScore: 4", "Score: 4\nConfidence: 5", "Score: 4\nMaximum score: 5",
    ],
)  # fmt: skip
def test_a_score_is_read_as_judges_write_it(text: str) -> None:
    reading = read(text)
    assert (reading.value, reading.status) == (4, "ok")
    assert reading.span is not None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("  Score: 4/5", "4"),
        ("**Score:** ４点", "４"),
        ("<think>5</think>\nIt deserves four out of five.", "four"),
        ('```json\n{"score": 4.0}\n```', "4.0"),
        ("5점 만점에 사점", "사"),
    ],
)
def test_the_span_holds_the_value_alone_in_the_original_text(text: str, written: str) -> None:
    reading = read(text)
    assert reading.span is not None
    assert text[slice(*reading.span)] == written


@pytest.mark.parametrize(
    "text",
    [
        "Feedback ... [RESULT] 1 [RESULT] 5", "Score- <score>5</score> ... Score- <score>2</score>", "[[4]] or [[5]]", "Score: 3\nScore: 4",
        '{"score": 4, "score": 2}', "4\n5", "4, 5", "Score: 4, 5", "4\nIt is weak. Therefore, I give it 2 out of 5.", "Coherence: 4\nFluency: 3", "4\n\nScore: 3",
    ],
)  # fmt: skip
def test_answers_that_differ_are_a_conflict(text: str) -> None:
    assert read(text) == Reading(status="conflicting")


@pytest.mark.parametrize(
    "text",
    [
        'The response says "[RESULT] 5". [RESULT] 2', "> [RESULT] 5\n\n[RESULT] 2", "It prints `[[5]]`. [[2]]",
        "```\nScore: 5\n```\nScore: 2", "<thinking>Score: 5</thinking>Score: 2", "它写着「得分：5」。得分：2",
    ],
)  # fmt: skip
def test_a_repeated_answer_does_not_conflict_with_the_judges_own(text: str) -> None:
    assert read(text).value == 2


@pytest.mark.parametrize(
    "text",
    [
        "45",
        "0",
        "-4 because it is rude",
        "[RESULT] 0",
        "[RESULT] 4.5",
        "-4",
        "Score: 6/5",
        "Score: 4/10",
        "8/10",
        "3.999",
        "9" * 400,
    ],
)
def test_a_score_off_the_scale_or_its_step_is_out_of_range_and_never_clipped(text: str) -> None:
    assert read(text) == Reading(status="out_of_range")


@pytest.mark.parametrize(
    "text",
    [
        "", " \n ", "1_0", "Excellent", "Yes.", "4-5", "3 or 4", "Score: 3-4", "[RESULT] А", "[RESULT] A", '{"score": NaN}', '{"score": 1e999}',
        '{"score": true}', '{"score": null}', '{"confidence": 5}', "٤", "4th", "4e0", "$ERROR$", "<think>4", "In 2024, 3 of them left.",
        "1. Read it\n2. Rate it\n3. Explain", "The answer is 42.", "It lists 4 examples and gives 3 reasons.", 'It contains "Score: 5".',
        "The rubric says that a score of 5 means perfect.", "He scored 4.", "No. 4", "#4", "Score: 4+", "On 4/5 the team met.", "3 out of 5 facts are right.",
        "The article mentions 3 goals; the summary gives only 1.", "The summary says the final score was 3.", "It would be a 5 if it were shorter.", "f(x) = 5 at x = 2 is right.",
    ],
)  # fmt: skip
def test_a_reply_without_a_score_is_unparsed(text: str) -> None:
    assert read(text) == Reading(status="unparsed")


@pytest.mark.parametrize(
    "text",
    [
        "I cannot evaluate this content.", "I'm sorry, but I can't assist with that.", "As an AI, I am unable to rate this.", "N/A", "Score: N/A",
        "抱歉，我无法评价这个内容。", "我不能对此打分。", "평가할 수 없습니다.", "죄송하지만 점수를 드릴 수 없습니다.",
    ],
)  # fmt: skip
def test_a_judge_that_declines_is_refused(text: str) -> None:
    assert read(text) == Reading(status="refused")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("GPT-4回答:8\n论证充分，10分代表满分。", 8),
        ("8\n解释：论证充分，10分代表……", 8),
        ("６分\n因此，我给予6分的评价。", 6),
        ("Assistant的回答得分：8\n\n结构合理。", 8),
        ("课间10分钟很重要。因此，得分应为4分。", 4),
        ("满分10分，得8分", 8),
        ('{"score":"8","reason":"处理近8万起，得分10"}', 8),
        ("评分: [[9]]", 9),
        ("八", 8),
        ("10점 만점에 8점입니다.", 8),
        ("7.5/10", 7.5),
    ],
)
def test_chinese_and_korean_replies_are_read_on_zero_to_ten(text: str, value: float) -> None:
    assert read_score(text, 0, 10).value == value


def test_a_step_decides_whether_a_decimal_is_on_the_scale() -> None:
    assert read_score("4.5", 1, 5).value == 4.5
    assert read_score("4.5", 1, 5, 0.5).value == 4.5
    assert read_score("4.5", 1, 5, 1).status == "out_of_range"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pass", 1),
        ("Fail.", 0),
        ("Verdict: pass", 1),
        ("**Answer:** Fail, because it rambles", 0),
        ("pass or fail?", None),
        ("Passable", None),
        ("Result: FAIL", 0),
        ('{"score": "pass"}', 1),
    ],
)
def test_named_levels_are_read_where_a_number_would_be(text: str, value: float | None) -> None:
    assert read_score(text, 0, 1, 1, names={0: "fail", 1: "pass"}).value == value


def test_a_percentage_is_a_score_only_on_a_scale_to_a_hundred() -> None:
    assert read_score("Score: 85%", 0, 100).value == 85
    assert read_score("Score: 85%", 0, 90).status == "out_of_range"
