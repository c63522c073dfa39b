"""What the parser tests of other projects ask for, as cases of our own wording.

The shapes are those that prometheus-eval, MLflow, deepeval, Opik and Inspect test. Where they return an
answer that the reply does not give, ours is a status, and the row says so.
"""

from __future__ import annotations

import pytest
from msgspec import structs

from adjudge import load_protocol
from adjudge.parse import parse
from adjudge.records import Answer, Protocol, Scale, Status


def scored(answer: Answer, scale: Scale) -> Protocol:
    protocol = load_protocol("direct/helpful")
    return structs.replace(protocol, answer=answer, criteria={"quality": scale})


RUBRIC = load_protocol("prometheus/direct")
DUEL = load_protocol("prometheus/pairwise")
OBJECT = scored(Answer(reader="json", score="score", reason="justification"), Scale(1, 5, 5, 1))
VERDICT = scored(Answer(reader="json", score="verdict", options={"yes": 1, "no": 0}), Scale(0, 1, 1, 1))
GRADE = scored(Answer(reader="label", labels=("GRADE",), options={"C": 1, "P": 0.5, "I": 0}), Scale(0, 1, 1))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # prometheus-eval, one response
        ("The sample text (Score 5) is warmer than this. [RESULT] 3", 3),
        ("The sample text (Score 5) is no measure here.", "unparsed"),
        ("Splendid. [RESULT] 5 out of 5", 5),
        ("Dull throughout. [RESULT] score of 1", 1),
        ("It will do. [Result] 3", 3),
        ("It wants work. [Result] Score: 2", 2),
        ("Done well. [Result] Result: 4", 4),
        ("So-so. [Result] 4/5", 4),
        ("It reads easily. (Score 5)", 5),
        ("It reads easily. [Score 4]", 4),
        ("It reads easily. score: 3", 3),
        ("It reads easily. [RESULT] (5)", 5),
        # The last mark counts, also where it is written without its brackets, and none hides in a filler.
        ("[RESULT] 5\nRESULT: N/A", "refused"),
        ("[RESULT] 5\nRESULT: 3", "conflicting"),
        ("[RESULT] 5\n[RE\u3164SULT] 3", "conflicting"),
        ("All of it is there (Score 4).", 4),
        ("It can surely not be a 3.", "unparsed"),
        ("A perfect 10 from me!", "unparsed"),
        ("Result: B", "unparsed"),
        ("", "unparsed"),
    ],
)
def test_a_score_behind_a_marker(reply: str, expected: float | Status) -> None:
    [score] = parse(RUBRIC, reply).scores
    assert (score.value if score.status == "ok" else score.status) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # prometheus-eval, two responses
        ("[Response B has the weaker ending. [RESULT] A", "a"),
        ("It may come out as A or B, no more to say", None),
        ("Response A rhymes better. [RESULT] A", "a"),
        ("They come close to each other… [Response B]", "b"),
        ("They are equally clear… [Result] Response B", "b"),
        ("They are equally clear… Response B Response A", None),
        ("They are equally clear… [RESULT: B]", "b"),
        ("They are equally clear… Response A. [RESULT] B", "b"),
        ("Each of them has its merits.", None),
        ("Response C is far ahead.", None),
        ("B is plainly better… or would it be A? That is hard to tell.", None),
    ],
)
def test_a_choice_behind_a_marker(reply: str, expected: str | None) -> None:
    judgment = parse(DUEL, reply)
    assert (judgment.choice if judgment.choice_status == "ok" else None) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # MLflow
        ('{"score": 4, "justification": "It answers the question."}', 4),
        ("score: 2 \njustification: It leaves out the year.", 2),
        ('{"score": "4", "justification": "It answers the question."}', 4),
        (" Score: 2 \nJustification:\nIt leaves out the year.", 2),
        # deepeval
        ('{"score": 3, "justification": "the list A, B, ] is cut"}', 3),
        ('{"score": 3, "justification": "the set {x, y, } is given",}', 3),
        ("no object {[ at all", "unparsed"),
        # Opik
        ('Here it is: {"score": 4, "justification": null} done.', 4),
        ('{"score": 4, "justification": null}\n{"score": 4, "justification": null}', 4),
        # Opik takes the first of two objects that differ; ours contradict each other.
        ('{"score": 4}{"score": 2}', "conflicting"),
    ],
)
def test_a_score_in_an_object(reply: str, expected: float | Status) -> None:
    [score] = parse(OBJECT, reply).scores
    assert (score.value if score.status == "ok" else score.status) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # deepeval, Opik
        ('{"verdict": "yes", "reason": null}', 1),
        ('{"verdict": "no"}', 0),
        ('{"verdict":"yes"}{"verdict":"no"}', "conflicting"),
        ("{not: an object}", "unparsed"),
    ],
)
def test_a_verdict_in_an_object(reply: str, expected: float | Status) -> None:
    [score] = parse(VERDICT, reply).scores
    assert (score.value if score.status == "ok" else score.status) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        # Inspect
        ("GRADE: C", 1),
        ("The year is right.\nGRADE: I\n", 0),
        ("It matches the sheet.\nGRADE: C\nGood luck!", 1),
        ("The year is right.\n\nGRADE: P", 0.5),
        ("GRADE: Z", "unparsed"),
        # An earlier grade never takes the place of one that cannot be read.
        ("A right answer would be GRADE: C here.\n\nGRADE: Z", "conflicting"),
        ("It looks wrong: GRADE: I.\n\nGRADE: N", "conflicting"),
        ("It is right.\nGRADE: I (leave it)\nGRADE:\u200bC", "conflicting"),
        ("It is right.\nGRADE: I (leave it)\nGRADE\u200e:\u200fC", "conflicting"),
        ("It is right.\nGRADE: I (leave it)\nGRADE:\u2063C", "conflicting"),
    ],
)
def test_a_grade_behind_a_label(reply: str, expected: float | Status) -> None:
    [score] = parse(GRADE, reply).scores
    assert (score.value if score.status == "ok" else score.status) == expected
