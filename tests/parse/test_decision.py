"""Answers of decision models: what is a distribution over
the options becomes a number, everything else a status.
"""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.parse.decision import NOTE, judgment_of
from adjudge.records import Judgment, Option, Question

LEVELS = tuple(Option(str(level), f"text {level}", float(level)) for level in range(1, 6))
SCORE = Question("tact", "score", "How tactful?", LEVELS, "tact")
PREDICATE = Question(
    "kind", "predicate", "Is it kind?", (Option("no", value=2.0), Option("yes", value=6.0)), "kind"
)
CLASSES = Question(
    "topic", "choice", "Which?", (Option("a", value=0.0), Option("b", value=1.0), Option("c", value=2.0)),
    "topic", is_class=True
)  # fmt: skip
CHOICE = Question(
    "choice",
    "choice",
    "Which?",
    (Option("A", choice="a"), Option("B", choice="b"), Option("tie", choice="tie")),
)


def listed(probabilities: list[Any], **more: Any) -> dict[str, Any]:
    levels = [{"value": n, "label": str(n + 1), "probability": p} for n, p in enumerate(probabilities)]
    return {"type": "score", "name": "tact", "score": 1, "confidence": 0.5, "probabilities": levels, **more}


def keyed(probabilities: list[Any]) -> dict[str, Any]:
    return {
        "tact": {
            "type": "score",
            "score": 1,
            "confidence": 0.5,
            "probabilities": {str(n): p for n, p in enumerate(probabilities)},
        }
    }


def read(answers: Any, *questions: Question, order: Any = "ab") -> Judgment:
    return judgment_of(questions or (SCORE,), json.dumps(answers), order)


@pytest.mark.parametrize("answers", [[listed([0, 0, 0.5, 0.5, 0])], keyed([0, 0, 0.5, 0.5, 0])])
def test_a_score_is_the_expected_value_on_the_protocols_own_scale(answers: Any) -> None:
    (score,) = read(answers).scores
    assert (score.status, score.value, score.estimator, score.confidence) == ("ok", 3.5, "decision", 0.5)
    assert score.distribution == {1: 0, 2: 0, 3: 0.5, 4: 0.5, 5: 0}


def test_a_predicate_lies_between_the_lower_and_the_upper_level() -> None:
    for answers in (
        [{"type": "predicate", "name": "kind", "probability": 0.75}],
        {"kind": {"type": "noul", "noul": 0.75}},
    ):
        (score,) = read(answers, PREDICATE).scores
        assert (score.value, score.label, score.confidence) == (5.0, "yes", 0.75)


@pytest.mark.parametrize(
    ("probabilities", "status"),
    [
        ([0.2, 0.2, 0.2, 0.2, 0.19], "ok"),
        ([0.2, 0.2, 0.2, 0.2, 0.15], "ok"),
        ([0.2, 0.2, 0.2, 0.2, 0.14], "unparsed"),
        ([0.2, 0.2, 0.2, 0.2, 0.26], "unparsed"),
        ([0.0] * 5, "unparsed"),
        ([0.2, 0.2, 0.2, 0.4], "unparsed"),
        ([0.1] * 4 + [0.5, 0.1], "unparsed"),
        ([0.25, 0.25, 0.25, 0.25, None], "unparsed"),
        ([0.25, 0.25, 0.25, 0.25, "0"], "unparsed"),
        ([0.25, 0.25, 0.25, 0.25, False], "unparsed"),
        ([0.25, 0.25, 0.25, 0.25, math.nan], "unparsed"),
        ([0.6, 0.6, 0.0, 0.0, -0.2], "unparsed"),
    ],
)
def test_only_a_distribution_over_the_levels_is_a_number(probabilities: list[Any], status: str) -> None:
    for answers in ([listed(probabilities)], keyed(probabilities)):
        judgment = read(answers)
        (score,) = judgment.scores
        assert score.status == status
        if status == "ok":
            assert score.distribution is not None
            assert math.fsum(score.distribution.values()) == pytest.approx(1)
        else:
            assert score.value is None
            assert "tact: " in judgment.notes[NOTE]


def test_many_options_may_add_up_to_less_by_rounding() -> None:
    options = tuple(Option(f"o{n}", value=float(n)) for n in range(40))
    question = Question("topic", "choice", "Which?", options, "topic", is_class=True)
    for total, status in ((0.81, "ok"), (0.79, "unparsed")):
        shares = {f"o{n}": total / 40 for n in range(40)}
        (score,) = read(
            {"topic": {"type": "choice", "choice": "o0", "probabilities": shares}}, question
        ).scores
        assert score.status == status


def test_a_refusal_is_refused_and_a_missing_answer_is_no_reply() -> None:
    assert read([{"type": "refusal", "name": "tact"}]).scores[0].status == "refused"
    assert read({}).scores[0].status == "no_reply"
    assert read([]).scores[0].status == "no_reply"


def test_answers_are_found_by_name_in_any_order_and_by_place_only_without_names() -> None:
    kind = {"type": "predicate", "name": "kind", "probability": 1.0}
    tact = listed([0, 0, 0, 0, 1])
    for answers in ([kind, tact], [tact, kind], [{**tact, "name": None}, {**kind, "name": None}]):
        values = [score.value for score in read(answers, SCORE, PREDICATE).scores]
        assert values == [5.0, 6.0]
    statuses = [score.status for score in read([{**tact, "name": None}], SCORE, PREDICATE).scores]
    assert statuses == ["no_reply", "no_reply"], "one answer without a name may belong to either"


def test_two_different_answers_to_one_question_conflict() -> None:
    assert read([listed([1, 0, 0, 0, 0]), listed([0, 0, 0, 0, 1])]).scores[0].status == "conflicting"


@pytest.mark.parametrize("answer", [{"type": "box"}, {"type": "choice", "choice": "5"}, {}, "5", 5, [5]])
def test_an_answer_of_another_type_is_unparsed(answer: Any) -> None:
    assert read({"tact": answer}).scores[0].status == "unparsed"


def test_a_class_is_the_likeliest_option() -> None:
    answer = {
        "topic": {
            "type": "choice",
            "choice": "b",
            "confidence": 0.3,
            "probabilities": {"a": 0.3, "b": 0.4, "c": 0.3},
        }
    }
    (score,) = read(answer, CLASSES).scores
    assert (score.value, score.label) == (1.0, "b")
    judgment = read({"topic": {**answer["topic"], "choice": "a"}}, CLASSES)
    assert judgment.scores[0].label == "b"
    assert judgment.flags == ("choice_contradicts_probabilities",)


def test_a_choice_is_in_the_frame_of_the_item() -> None:
    chances = [
        {"value": "A", "probability": 0.7},
        {"value": "B", "probability": 0.2},
        {"value": "tie", "probability": 0.1},
    ]
    answer = [
        {"type": "choice", "name": "choice", "choice": "A", "confidence": 0.6, "probabilities": chances}
    ]
    given, swapped = read(answer, CHOICE), read(answer, CHOICE, order="ba")
    assert (given.choice, given.choice_probabilities) == ("a", {"a": 0.7, "b": 0.2, "tie": 0.1})
    assert (swapped.choice, swapped.choice_probabilities) == ("b", {"a": 0.2, "b": 0.7, "tie": 0.1})


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.sampled_from(["score", "choice",
    "noul"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["type", "name", "tact", "probabilities", "0",
    "1"]) | st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(json_values)
def test_any_json_gives_a_status_and_never_a_number_off_the_scale(value: Any) -> None:
    for question in (SCORE, PREDICATE, CLASSES):
        (score,) = judgment_of((question,), json.dumps(value)).scores
        assert (score.value is not None) == (score.status == "ok")
        if score.value is not None:
            values = [option.value for option in question.options if option.value is not None]
            assert min(values) <= score.value <= max(values)


def test_a_refusal_without_a_name_belongs_to_the_question_at_its_place() -> None:
    answers = [{"type": "predicate", "name": "kind", "probability": 0.5}, {"type": "refusal", "name": None}]
    kind, tact = read(answers, PREDICATE, SCORE).scores
    assert (kind.status, tact.status) == ("ok", "refused")
    turned = read(answers[::-1], PREDICATE, SCORE).scores
    assert [score.status for score in turned] == ["ok", "no_reply"], "a list out of order has no places"
