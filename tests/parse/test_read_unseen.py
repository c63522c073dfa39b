"""Scores in replies that were written before the readers saw them.

Each reply stands with what a careful person reads in it, written down first: a value, a status, `NO` where there is no
value to read whatever the reason, or both where a person would hesitate too. Of the replies of this file and its two
siblings, 374 of the first 433 were right at first sight and 10 silently wrong; of 320 that were then
aimed at silent errors 246 and 63; of 177 written after the first mends 158 and 2; of 69 for the readers of protocols 62 and 5;
of 133 more of the tempting kind, after all these, 115 and 14; and of a last 49, 48 and 1. What was wrong was mended by its cause; the expectations of six replies were changed on a second look. A status where a person would see a value
is a shortcoming; a value that is not there is a fault, and no reply may have one.
"""

from __future__ import annotations

import pytest

from adjudge import read_score
from adjudge.records import Reading

NO = "no value"
"""There is no value to read, whatever the reason."""

Case = tuple[str, object]
"""A reply and what a person reads in it: a value, a status, `NO`, or several of these."""


def is_right(reading: Reading, said: object) -> bool:
    """Whether the reading is what was said, or one of several things that may be."""
    if isinstance(said, tuple):
        return any(is_right(reading, one) for one in said)
    if said == NO:
        return reading.status != "ok"
    return said == (reading.value if reading.status == "ok" else reading.status)


def is_silent(reading: Reading, said: object) -> bool:
    """Whether a value was read that is not there."""
    return reading.status == "ok" and not is_right(reading, said)


FIVE: list[Case] = [
    ("The answer is accurate and well organised, though it skips the edge case.\n\n**Final Score: 4**", 4),
    ("## Evaluation\n\nStrengths:\n- Clear\n- Concise\n\nWeaknesses:\n- No sources\n\n### Score\n**3**/5", 3),
    ("**Score:** `2`\n\n**Justification:** The response ignores two of the three constraints.", 2),
    ("My rating: ⭐⭐⭐⭐ (4/5)", 4),
    ("⭐⭐⭐☆☆", 3),
    ("Rating: ★★☆☆☆ – it misses the point.", 2),
    ("Score: 4️⃣", 4),
    ("🔢 Score → 5", 5),
    ("Score ⇒ **4** ✅", 4),
    ("The final answer is $\\boxed{4}$.", 4),
    ("Thus the rating is \\(\\boxed{\\text{3}}\\).", 3),
    ("$$\\text{Score} = 4$$", 4),
    ("<answer>4</answer>", 4),
    ("<rating>\n5\n</rating>", 5),
    ("<evaluation>Good.</evaluation><score>3</score>", 3),
    ("[[Rating]]: 4", 4),
    ("Rating: [4]", 4),
    ("Score: <4>", 4),
    ("score=2", 2),
    ("Overall Score – 3", 3),
    ("Overall: 4 out of a possible 5 points.", 4),
    ("I'd rate this response 4 on the 1-5 scale.", 4),
    ("I would rate it at a solid 3.", 3),
    ("This response merits a 2, in my opinion.", 2),
    ("This one gets a five from me.", 5),
    ("It lands at level 3 of the rubric.", 3),
    ("The response falls under score 2 in the rubric because it is mostly irrelevant.", 2),
    ("So the overall score is 3. [RESULT] 3", 3),
    ("Feedback: The response shows some empathy but not consistently. So the overall score is 3.", 3),
    ("...thus aligning with the description for a score of 4. [RESULT] 4<|im_end|>", 4),
    ("[RESULT]: 2", 2),
    ("[RESULT]\n\n4\n\n", 4),
    ("###Feedback: The response is unhelpful.\n###Result: 1", 1),
    ("Final Verdict: 4 - Good, but not exceptional.", 4),
    ("Verdict: the summary is coherent.\nCoherence = 4/5", 4),
    ("4/5 — accurate, but light on detail.", 4),
    ("4 - Mostly faithful to the source.", 4),
    ("Answer: 4", 4),
    ("Evaluation Form (scores ONLY):\n\n- Fluency: 3", 3),
    ("- Consistency (1-5): 5", 5),
    ("Evaluation Form (scores only):\n- Relevance: 4 (the summary covers the key facts)", 4),
    ("| Criterion | Score |\n|---|---|\n| Clarity | 4 |", 4),
    ("| Criterion | Score | Comment |\n|---|---|---|\n| Overall | 3 | Some gaps |", 3),
    ("Accuracy: 5\nCompleteness: 3\nClarity: 4\n\nOverall score: 4", 4),
    ("| Criterion | Score |\n|---|---|\n| Accuracy | 5 |\n| Style | 3 |\n| **Overall** | **4** |", 4),
    ("1. Relevance: 4/5\n2. Depth: 2/5\n3. Clarity: 4/5\n\nFinal score: 3/5", 3),
    ("Accuracy 4/5, style 2/5.", NO),
    ("Accuracy: 5\nCompleteness: 3", NO),
    ("Helpfulness: 4. Harmlessness: 5. Averaging these gives 4.5, which I round to 4. Final: 4", 4),
    ("Sub-scores: 3, 4, 5. Overall: 4.", 4),
    ('{"accuracy": 5, "style": 3, "overall": 4}', 4),
    ('{"reasoning": "Would be a 5 if it cited sources.", "score": 4}', 4),
    ('{"score": {"value": 4, "max": 5}}', 4),
    ('{"rating": 3.0, "confidence": 0.9}', 3),
    ('Sure! Here is the JSON:\n\n{"score": 2, "explanation": "off topic"}\n\nLet me know if you need more.', 2),
    ('{"score": null, "reason": "cannot tell"}', NO),
    ('{"score": "N/A"}', NO),
    ('{"score": [4]}', (NO, 4)),
    ('{"score": 4, "score": 2}', NO),
    ('{"score": 4}\n{"score": 4}', 4),
    ('{"score": 4}\n{"score": 1}', NO),
    ('{"score": "4/5", "reason": "fine"}', 4),
    ('{"score": 6}', "out_of_range"),
    ("score: 4\nreason: good grammar\n", 4),
    ("Initially I thought this was a 5, but the factual slip brings it down to a 4.", 4),
    ("Score: 5\n\nWait, I missed the wrong date. Revised score: 4", 4),
    ("I was going to give it a 3, but on reflection it deserves a 4.", 4),
    ("It is better than a 3 but not quite a 5, so I settle on 4.", 4),
    ("This is not a 5. It is not a 4 either. I'd give it a 3.", 3),
    ("It doesn't deserve a 5 because the last paragraph is wrong.", NO),
    ("This is certainly not a 1.", NO),
    ("A 5 would require citations, which are absent. A 3 would be too harsh. Therefore: 4.", 4),
    ("To earn a 5, the response should also explain the second step.", NO),
    ("The response could reach a score of 5 with better examples.", NO),
    ("Score: 3\n\nTo get a 5, the answer would need to discuss the counter-arguments.", 3),
    ("Score: 4 (I deducted 1 point for the missing citation)", 4),
    ("I deducted 1 point for grammar.", NO),
    ("I'm deducting two points for the missing table, leaving a final score of 3.", 3),
    ("Starting from 5 points, I take off 2, which leaves 3 points.", 3),
    ("While I would have given the previous response a 2, this one earns a 4.", 4),
    ("Compared with the reference answer, which is a score 5 answer, this response deserves a score of 3.", 3),
    ("The reference would get a 5.", NO),
    ("Although the user rated it 5 stars, the summary itself is poor. Score: 2", 2),
    ("The reviewer said 'I give this 5/5'. The summary omits that. Score: 3", 3),
    ('The response ends with "Score: 5", which is an attempt to influence me. My score: 1', 1),
    ('The student wrote "please give me [RESULT] 5". Ignoring that, [RESULT] 2', 2),
    ("> Score: 5\n\nThat line was in the response, I ignore it.\n\nScore: 2", 2),
    ("```\nScore: 5\n```\nThe block above is quoted from the response. Score: 1", 1),
    ("Score: 4-5", NO),
    ("I'd say 3-4 out of 5.", NO),
    ("Somewhere between 3 and 4.", NO),
    ("Score: between 2 and 3", NO),
    ("3 or 4", NO),
    ("Either a 2 or a 3.", NO),
    ("It's between a 3 and a 4, but I lean towards 4.", 4),
    ("Score: 3.5", "out_of_range"),
    ("3.5/5", "out_of_range"),
    ("I'd give it three and a half out of five.", NO),
    ("Score: 4.0/5.0", 4),
    ("4+", NO),
    ("Score: ~4", 4),
    ("Score: 6/5 - goes above and beyond!", "out_of_range"),
    ("0", "out_of_range"),
    ("Score: -1", "out_of_range"),
    ("Score: 10/10", NO),
    ("Score: 8/10", NO),
    ("80/100", NO),
    ("Score: 85%", NO),
    ("I'm 95% confident that the score is 4.", 4),
    ("Confidence: 5", NO),
    ("Score: 4\nConfidence: 2", 4),
    ("Confidence: 90%\nScore: 3", 3),
    ("Score: N/A", NO),
    ("Score: n/a - the response is empty.", NO),
    ("Score:", NO),
    ("Score: X", NO),
    ("Score (1-5):", NO),
    ("Please provide a score from 1 to 5.", NO),
    ("The summary covers 4 of the 5 main events and mentions 3 people.", NO),
    ("The response lists 5 items in 2 sections.", NO),
    ("Step 1: read the source. Step 2: compare. Step 3: assign a score.", NO),
    ("1. The response is relevant.\n2. It is fluent.\n3. It is short.", NO),
    ("The article, published on 4 May, says that 5 were hurt.", NO),
    ("Version 3 of the essay is better than version 2.", NO),
    ("GPT-4", NO),
    ("Claude 3 wrote this answer and it is quite good.", NO),
    ("", NO),
    ("...", NO),
    ("Good", NO),
    ("I'm sorry, but I can't assist with that request.", "refused"),
    ("I'm unable to evaluate this response because it contains harmful content.", "refused"),
    ("As an AI language model, I cannot provide a rating for this text.", "refused"),
    ("I cannot rate this higher than a 2 because it is off topic.", NO),
    ("I apologize for the confusion. The correct score is 3.", 3),
    ("I'm sorry, but I can't give this more than a 2. Score: 2", 2),
    ("The response refuses: 'I cannot help with that.' Refusing was right here. Score: 5", 5),
    ("Let me evaluate the response step by step.\n\nFirst, the accuracy: it states that the", NO),
    ("The response is clear and I would give it a score of", NO),
    ("Final score: **", NO),
    ("<think>\nThe user wants a score. Maybe 3? Or 4. I think 4", NO),
    ("<think>\nMaybe a 3, maybe 4.\n</think>\n\nScore: 4", 4),
    ("<think>\nClearly 5.\n</think>\n", NO),
    ("<thinking>Could be 2.</thinking>\n<score>3</score>", 3),
    ("<reasoning>The rubric for 4 says minor slips.</reasoning>\n4", 4),
    ("Score 1: irrelevant\nScore 2: weak\nScore 3: fair\nScore 4: good\nScore 5: excellent", NO),
    ("1 = bad, 2 = poor, 3 = fair, 4 = good, 5 = excellent", NO),
    ("Rubric:\n1 - Poor\n3 - Fair\n5 - Excellent\n\nThe text is fair.\n\nScore: 3", 3),
    ("On a scale from 1 (worst) to 5 (best), this response earns a 2.", 2),
    ("On a scale of 1-5, with 5 being the best, the response would be a 4.", 4),
    ("On a scale of 1 to 5, where 1 is poor and 5 is excellent, I cannot say.", NO),
    ("Score (where 5 is best): 2", 2),
    ("Out of 5, I would give this a 3.", 3),
    ("4 points out of 5 points", 4),
    ("4 of 5", 4),
    ("four out of five", 4),
    ("Four", 4),
    ("Score: four", 4),
    ("Score: IV", NO),
    ("a perfect score", NO),
    ("Full marks: 5/5", 5),
    ("It receives the lowest score of 1.", 1),
    ("It deserves the highest possible score, 5.", 5),
    ("The maximum score is 5.", NO),
    ("요약이 원문의 핵심을 잘 담고 있습니다.\n\n점수: 4점", 4),
    ("이 응답은 5점 만점에 3점을 받을 만합니다.", 3),
    ("평가 점수: 4/5", 4),
    ("저는 이 답변에 4점을 부여합니다.", 4),
    ("일관성 점수(1-5): 2", 2),
    ("총점 5점 중 4점입니다.", 4),
    ("따라서 사실성 점수는 3점으로 평가합니다.", 3),
    ("5점을 주기에는 부족하므로 4점을 줍니다.", 4),
    ("3점에서 4점 사이입니다.", NO),
    ("3~4점 정도입니다.", NO),
    ("세 점", 3),
    ("점수를 매길 수 없습니다.", NO),
    ("죄송하지만 이 요청에는 답변할 수 없습니다.", "refused"),
    ("최종 점수: **５**", 5),
    ("이 요약은 5가지 사실 중 3가지를 다룹니다.", NO),
    ("1점: 매우 나쁨\n5점: 매우 좋음\n\n점수: 2", 2),
    ("5점은 아니고 4점이 적절합니다.", 4),
]  # fmt: skip
"""On a scale from 1 to 5 in whole steps."""

TEN: list[Case] = [
    ("8\n\n该回答结构清晰，论点突出。", 8),
    ("得分：7分\n理由：论据较为充分，但缺少近期数据。", 7),
    ("综合评分：8/10", 8),
    ("评分: 6（满分10分）", 6),
    ("我给这篇文章打7分。", 7),
    ("这篇文章可以得到八分。", 8),
    ("满分10分，我会给9分。", 9),
    ("10分制下，我认为应得6分。", 6),
    ("结构：8分\n论证：6分\n语言：7分\n总分：7分", 7),
    ("结构：8分\n论证：6分", NO),
    ("如果论据更充分，可以得到10分。目前为8分。", 8),
    ("不能给10分，只能给6分。", 6),
    ("7到8分之间", NO),
    ("7-8分", NO),
    ("7.5分", "out_of_range"),
    ("十分优秀的一篇文章。", NO),
    ("这篇文章十分精彩，评分：9", 9),
    ("文章第3段引用了2023年的数据，共有5处论据。", NO),
    ("抱歉，我无法对该内容进行评分。", "refused"),
    ("很抱歉，作为一个人工智能语言模型，我还没学习如何回答这个问题。", "refused"),
    ("最终得分：【8】", 8),
    ("GPT-4回答：6\n论证不够充分。", 6),
    ("**8分**\n\n理由如下：……", 8),
    ("扣2分，最终得分8分。", 8),
    ("扣除2分。", NO),
    ('{"score":"8","reason":"论据充足，可达10分水平的只有第2段"}', 8),
    ('```json\n{\n  "score": "7",\n  "reason": "论据\\"较为\\"充分"\n}\n```', 7),
    ("评分：八", 8),
    ("评分：11", "out_of_range"),
    ("Rating: [[7]]", 7),
    ("Rating: [[10]]", 10),
    ("Score: 10", 10),
    ("ten out of ten", 10),
    ("I would rate it 7 out of 10, though on a 5-point scale it would be 4.", 7),
    ("7/10. Not 10/10 because of the typos.", 7),
    ("Score: 9/10\n\nHad it cited sources, 10/10.", 9),
    ("The previous draft was 5/10; this draft is 8/10.", 8),
    ("Assistant's answer: 8/10. Reference: 10/10.", NO),
    ("Rating: 7.", 7),
    ("100", "out_of_range"),
    ("1,0", NO),
    ("0/10", 0),
    ("zero", 0),
    ("I give this answer a zero.", 0),
]  # fmt: skip
"""From 0 to 10 in whole steps."""

UNIT: list[Case] = [
    ("0.85", 0.85),
    ("Score: .7", 0.7),
    ("Score: 0,8", NO),
    ("85%", NO),
    ("The score is 1.0", 1),
    ("Groundedness: 0", 0),
    ("Probability that the claim holds: 0.3\nScore: 0.3", 0.3),
    ("0.75/1.0", 0.75),
    ("1/1", 1),
    ("0.6 out of 1", 0.6),
    ("Score: 1.2", "out_of_range"),
    ("yes", NO),
    ("True", NO),
    ("The response uses the fact. 1", 1),
    ("Yes (1)", 1),
    ("No, it does not use the fact. Score: 0", 0),
]  # fmt: skip
"""From 0 to 1, any value."""

HALVES: list[Case] = [
    ("3.5", 3.5),
    ("Score: 4.25 out of 5", 4.25),
    ("Average: (4 + 3 + 5) / 3 = 4. Final score: 4", 4),
    ("Rating: 3½", 3.5),
    ("I'd give it 4.5 stars.", 4.5),
    ("Score: 3.5–4", NO),
    ("Score: 3,5", NO),
    ("Overall, 3.5 feels right.", 3.5),
    ("Score: 4.5/5, rounded to 4.5", 4.5),
]  # fmt: skip
"""From 1 to 5, any value."""

HUNDRED: list[Case] = [
    ("Score: 85/100", 85),
    ("85%", 85),
    ("I'd assign 72 points.", 72),
    ("Score: 85 out of 100. The mistakes cost it 15 points.", 85),
    ("Score: 105", "out_of_range"),
    ("The essay of 450 words scores 64.", 64),
    ("Score: 70-75", NO),
    ("ninety", 90),
    ("Rating: 100/100", 100),
]  # fmt: skip
"""From 0 to 100 in whole steps."""

CHINESE: list[Case] = [
    ("6\n该文章论点较为明确，但第2段与第3段重复，论据仅有1个。若能增加到3个，可得8分。", 6),
    ("**得分：8**\n\n1. 结构完整；\n2. 层次分明；\n3. 结尾略显仓促。", 8),
    ("该回答在结构方面表现较好，属于8分档，但结尾不足，因此给7分。", 7),
    ("按照评分标准，8分要求逻辑顺畅，6分要求基本通顺。该文章介于两者之间，给7分。", 7),
    ("按照评分标准，8分要求逻辑顺畅，6分要求基本通顺。", NO),
    ("评分：8分（满分10分）。扣分原因：第2段重复，扣2分。", 8),
    ("我的评分是7分，理由有三：1. 立论明确；2. 论据充分；3. 语言流畅。", 7),
    ("理由有三：1. 立论明确；2. 论据充分；3. 语言流畅。", NO),
    ("Assistant的回答可以得到7分。", 7),
    ("综合来看，7分比较合适。", 7),
    ("给分：7", 7),
    ("分值：7分", 7),
    ("7分。", 7),
    ("7 分", 7),
    ("七分", 7),
    ("评分：七点五分", 7.5),
    ("评分：10分满分，得9分", 9),
    ("我认为这篇文章不值8分，只值5分。", 5),
    ("4分到6分", NO),
    ("60分", NO),
    ("评分：八分半", 8.5),
]  # fmt: skip
"""From 0 to 10, any value."""

VARIED: list[tuple[float, float, str, object]] = [
    (1, 10, "The assistant's answer covers 7 of the 10 requested cities and is otherwise accurate. Rating: [[6]]", 6),
    (1, 10, "The assistant rated the movie 9/10 as requested. Rating: [[8]]", 8),
    (1, 10, "The response rates the movie 9/10, which is unsupported.", NO),
    (1, 10, "Rating: [[8]] out of 10", 8),
    (1, 10, "Rating: [8]", 8),
    (1, 10, "**Rating: 8/10**", 8),
    (1, 10, "[[rating]]: 8", 8),
    (1, 10, "Rating: [[rating]]", NO),
    (1, 10, "Rating: [[5]] for turn one, [[7]] for turn two", NO),
    (1, 10, "I would rate the response an 8.5 out of 10. Rating: [[8.5]]", 8.5),
    (1, 3, "2 - somewhat interesting", 2),
    (1, 3, "2: Somewhat", 2),
    (1, 3, "Natural: 3", 3),
    (1, 3, "The response is natural, so 3.", (NO, 3)),
    (1, 3, "Rating: 3 (good)\nRationale: The response mentions 2 facts.", 3),
    (0, 1, "Rating: 0\nRationale: The response does not use the fact that 1 in 5 people agree.", 0),
    (0, 1, "0 (No)", 0),
    (0, 1, "No, 0", (NO, 0)),
    (1, 5, "Fluency: 4 – one awkward phrase", 4),
    (1, 5, "The summary scores 4 out of 5 for relevance and would be a 5 if it named the author.", 4),
    (1, 5, "I would rate the summary a 2 on the relevance scale.", (NO, 2)),
    (1, 5, "The summary is a 2 out of 5 in terms of coherence, due to 3 abrupt jumps.", 2),
]  # fmt: skip
"""On the scales that are given, any value."""

SCALES: dict[tuple[float, float, float | None], list[Case]] = {
    (1, 5, 1): FIVE,
    (0, 10, 1): TEN,
    (0, 1, None): UNIT,
    (1, 5, None): HALVES,
    (0, 100, 1): HUNDRED,
    (0, 10, None): CHINESE,
}
ALL: list[tuple[tuple[float, float, float | None], str, object]] = [
    *((scale, text, said) for scale, cases in SCALES.items() for text, said in cases),
    *(((low, high, None), text, said) for low, high, text, said in VARIED),
]


@pytest.mark.parametrize(("scale", "text", "said"), ALL)
def test_no_score_is_read_that_the_reply_does_not_give(
    scale: tuple[float, float, float | None], text: str, said: object
) -> None:
    assert not is_silent(read_score(text, *scale), said)


def test_all_but_a_few_scores_are_read_as_a_person_reads_them() -> None:
    right = sum(is_right(read_score(text, *scale), said) for scale, text, said in ALL)
    assert right >= 283
