"""Replies that name a value which is not the judge's last word: corrected, attributed, supposed, denied."""

from __future__ import annotations

import pytest

from adjudge import read_choice, read_score
from clock import LINEAR, growth


@pytest.mark.parametrize(
    "text",
    [
        "Score: 4. Correction: 3.", "Score: 4\n\nEdit: after rereading, I lower it to 3.", "Score: 4\nOn second thought, the score should be 3.",
        "Final answer: 4 -> revised to 3", "I'd give it a 4. No wait, make that a 3.", "I'd say 4, actually 3", "My rating is 4, or rather 3.",
        "Score: 5? No. Score 3.", "Score: 4 => 3", "Score: 4, no, 3", "Rating: 4... scratch that, 3", "Score: 4. Let me revise that: 3.", "Score: 4. Sorry, 3.",
        "Score: 4. I meant 3.", "Score: 4. I changed my mind: 3", "[RESULT] 4. On second thought, 3.", "<score>4</score> Actually, I'd give it a 3.",
        "4\n\nActually, 3.", "Score: 4. Hmm, no. I'd say 3.", "Score: 4. Wait, that's too high. 3.", "Score: 4\n\nWait, I think 3 is fairer.",
        "Score: 4. Actually the response deserves a 3.", "Initial score: 4\nRevised score: 3", "점수: 4점 → 3점으로 수정", "점수: 4점. 정정: 3점.", "점수: 4점\n3점으로 수정합니다.",
        "점수: 4점. 다시 생각해보니 3점입니다.", "评分：4分，更正：3分", "评分：4分。更正为3分。", "评分：4分，改为3分", "评分：4分（应为3分）", "评分：4分，修正后3分", "评分：4，不，3",
        "得分：4分→3分", "评分：5分太高，给3分", "4점이 아니라 3점입니다.", "不是4分，而是3分", "不是5分，是3分", "5점은 아니고 3점입니다.", "It is not a 4, it is a 3.",
    ],
)  # fmt: skip
def test_a_corrected_score_is_the_one_that_counts(text: str) -> None:
    reading = read_score(text, 1, 5, 1)
    assert (reading.value, reading.status) == (3, "ok")
    assert reading.span is not None
    assert text[slice(*reading.span)] == "3"


@pytest.mark.parametrize(
    "text",
    [
        "Score: 4. Correction: Score: 2.",
        "[RESULT] 4\nCorrection: [RESULT] 3",
        "Score: 4\nRevised score: 3",
        "Score: 4\nOn second thought the response is weak and only deserves a 2 out of 5.",
        "I rate it 4. On reflection, it deserves a 2.",
        "Score: 4. Correction: 7.",
    ],
)
def test_a_correction_that_is_marked_again_or_not_plain_is_a_conflict(text: str) -> None:
    assert read_score(text, 1, 5, 1).status == "conflicting"


@pytest.mark.parametrize(
    "text",
    [
        "Score: 4. Actually quite good.", "Score: 4. The response actually lists 3 reasons.", "Score: 4. I would make it a 5 if it were shorter.",
        "Score: 4. Adding sources would raise it to 5.", "Score: 4. I would raise it to 5 with more sources.", "I give it 4 instead of 3.", "I give it a 4 rather than a 5.",
        "Score: 4 → the response names 3 facts", "Score: 4. Correction of 3 typos is needed.", "Score: 4\nThe user has to wait 3 days.", "Score: 4/5 = 80%",
        "Score: 4 (1-5)", "Score: 4 (1 = bad, 5 = good)", "Score: 4 - 2 errors found", "Score: 4 – 3 of the 5 facts are right", "Score: 4\nNo, 3 facts are not wrong.",
        "4\nThe text could be edited: 3 sentences are long.", "Score: 4\nEdit: 3 typos fixed.", "Score: 4. Rather, the 2 examples help.", "4. Wait for the 2 notes.",
        "Score: 4. I considered lowering it to 3, but the style is good.", "Score: 4. I deducted 1 point for style.", "Score: 4 (changed from 5)", "Score: 4 (revised from 3)",
        "The question asks for 3 examples, so I rate it 4.", "The user asked for a poem, and I give it a 4.", "Overall, the response deserves a 4 because the author states 5 facts.",
    ],
)  # fmt: skip
def test_words_of_a_correction_in_plain_prose_change_no_score(text: str) -> None:
    assert read_score(text, 1, 5, 1).value == 4


@pytest.mark.parametrize(
    "text",
    [
        "The user asked for a score of 5. I give 2.", "The author says the score should be 5. I disagree: 2.", "Previous judge's score: 5. My score is 2.",
        "A score of 5 would be for perfect work. I give 2.", "The user demands a 5. My score is 2.", "The response claims it deserves a score of 5. I rate it 2.",
        "A previous reviewer gave it a 5. I give it a 2.", "I was told to give a 5 but I give it a 2.", "Expected score: 5. Actual score: 2", "Prior rating: 5\nRating: 2",
        "One might give it a 5, but I give it a 2.", "Some people would give it a 5. I give it a 2.", "用户要求给5分。我给2分。", "作者认为应得5分。我给2分。",
        "사용자가 5점을 요청했습니다. 저는 2점을 줍니다.", "扣3分，得2分", "3점 감점하여 2점입니다.", "I deducted 3 points, so the score is 2.", "Loses 3 points for style. Score: 2",
        "5 would be too generous. 2.", "Score: 5 - 3 = 2", "Score: (1 + 2 + 3) / 3 = 2", "Score: 5 - 1 - 2 = 2", "Score: 5 minus 3 = 2", "得分：5分-3分=2分", "Score: 5*0.4 = 2",
        "Score: 1 [2] 3 4 5", "Rating: 1 | (2) | 3 | 4 | 5", "评分：五分之二", "得分：5分制下2分", "(5分制)2分", "5分制，2分", "On a 5 point scale, I give it 2 points.",
    ],
)  # fmt: skip
def test_only_the_judges_own_score_is_read(text: str) -> None:
    assert read_score(text, 1, 5, 1).value == 2


def test_a_tenth_in_words_and_the_name_of_a_scale_are_read_on_zero_to_ten() -> None:
    assert read_score("评分：十分之八", 0, 10).value == 8
    assert read_score("得分：10分制下8分", 0, 10).value == 8
    assert read_score("评分：五分之四", 0, 10).status == "out_of_range"


@pytest.mark.parametrize(
    "text",
    [
        "The prompt says the score must be 5.", "The author says the score should be 5.", "The student claims to deserve a 5 out of 5.", "Another judge gave this a 5 out of 5.",
        "A score of 5 would be given to perfect work.", "Score: 5 - 2 points", "Score: 5 minus 2", "Score = 2 + 2", "Score: 3 points deducted", "3 points were deducted for style.",
        "Deductions: 3", "扣3分", "감점: 2점", "2점 감점", "评分：扣2分", "Deducted 2 points.", "Minus 2 points for style.", "Score: 4? Maybe.", "得分：5分制", "2 + 2 = 4", "7 minus 3 is 4.",
    ],
)  # fmt: skip
def test_a_score_that_is_not_given_is_unparsed(text: str) -> None:
    assert read_score(text, 1, 5, 1).status == "unparsed"


def test_a_scale_written_out_without_a_choice_is_a_conflict() -> None:
    assert read_score("Score: 1 2 3 4 5", 1, 5, 1).status == "conflicting"
    assert read_score("Score: 1 2 **3** 4 5", 1, 5, 1).value is None


@pytest.mark.parametrize(
    "text",
    [
        "I choose A. Wait, no: B.", "Choice: A. Correction: B.", "I choose A, or rather B.", "A. Correction: B.", "Winner: A -> B", "I pick A. On second thought, I prefer B.",
        "Verdict: A. Actually, B.", "选择：A。更正：B。", "선택: A. 정정: B.", "I choose A. I meant B.",
        "I would choose A if it were shorter. B.", "The user asked me to choose A. B is better.", "I was told to pick A. I pick B.", "A previous judge chose A. I choose B.",
        "Previous verdict: A. My verdict: B", "It's false that A is better. B is better.", "I did not choose A. I chose B.", "At first glance A is better. B is better overall.",
        "Some might say A is better. I choose B.", "People may prefer A, but I prefer B.", "A를 선택하지 않겠습니다. B.", "A가 더 나쁩니다.",
        "A不如B", "回答A不如回答B。", "A没有B好", "A比B差", "B比A好", "B比A更好。", "相比A，B更好", "B优于A", "A보다 B가 낫습니다.", "A보다 B가 더 우수합니다.", "B가 A보다 더 좋습니다.", "A가 B보다 나쁩니다.",
        "A가 아니라 B입니다.", "The second response is better.", "I prefer the second response.", "The latter is better.", "The second one wins.",
        "A is not as good as B", "A loses to B", "Response A loses to Response B.", "A falls short of B.", "A is outperformed by B.", "Although A wins on style, B wins overall.",
    ],
)  # fmt: skip
def test_only_the_judges_last_choice_is_read(text: str) -> None:
    reading = read_choice(text)
    assert (reading.value, reading.status) == ("second", "ok")


@pytest.mark.parametrize(
    "text",
    [
        "A比B好", "B比A差", "B没有A好", "A比B更好", "A的回答比B的回答更好", "A가 B보다 낫습니다.", "B가 A보다 못합니다.", "A를 선택합니다.", "The former is superior.", "The first response is better than the second.",
        "B is not as strong as A.", "A is better, but wait for B.", "A is better. Actually, a good answer is short.", "A is better. B is rather long.", "I choose A instead of B.",
        "A is better, if only slightly.", "A is better than B, although it is actually longer.", "A wins over B.", "A is better overall but loses some detail.",
        "A is better, while B loses the thread overall.", "The question asks for brevity, and A is better.", "Winner: A → B lacks detail.",
    ],
)  # fmt: skip
def test_plain_verdicts_for_the_first_are_read(text: str) -> None:
    assert read_choice(text).value == "first"


@pytest.mark.parametrize(
    "text",
    [
        "It is not true that A is better.", "One might think A is better, but B is.", "A wins over B on style but loses overall.", "A is better in style but worse overall.",
        "A would be better if it were shorter.", "A is better if you want brevity.", "I doubt that A is better.", "I don't think that A is better.", "It is not clear that A is better than B.",
        "I did not choose A.", "A가 더 좋지 않습니다.", "A가 더 낫다고 할 수 없습니다.", "A를 선호하지 않습니다.", "A가 B보다 낫지 않습니다.", "A不比B好", "我不认为A比B好", "The first response is not better.",
        "In the first response there are errors.", "The first sentence is better.", "A does not lose to B.", "The user asked me to choose A.",
    ],
)  # fmt: skip
def test_a_choice_that_is_supposed_or_denied_is_none(text: str) -> None:
    assert read_choice(text).value is None


@pytest.mark.parametrize(
    "text", ["[[A]] Wait, no: [[B]]", "A\n\nEdit: B is better.", "I choose A. Scratch that, B is better."]
)
def test_a_choice_that_is_made_twice_is_a_conflict(text: str) -> None:
    assert read_choice(text).status == "conflicting"


HOSTILE = (
    "actually ",
    "no, 3 ",
    "-> 3",
    "wait, ",
    "4 + ",
    "1 2 ",
    "3 = ",
    "수정 ",
    "A不如",
    "the second response ",
    "not true that ",
    "B가 A보다 ",
    "4? ",
    "5 - 2 = 3 ",
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_corrections_without_end_take_time_in_proportion_to_their_number(piece: str) -> None:
    def read(corrections: str) -> None:
        text = "Score: 4. I choose A. " + corrections
        read_score(text, 1, 5)
        read_choice(text, tie=True)
        read_choice(text, ("Output (a)", "Output (b)"))

    assert growth(read, piece, 300_000) < LINEAR
