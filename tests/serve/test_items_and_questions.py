"""What callers of `adjudge serve` may send: items of every form, and questions that are criteria or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adjudge.store import open_store
from served import Served

RUN_FILE = """
[runs.tact]
protocol = "prometheus/direct"
rubric = "tact.toml"
reask = 0
models = ["fake:script=by_text.jsonl"]
[runs.pair]
protocol = "prometheus/pairwise"
rubric = "tact.toml"
order = "given"
models = ["fake:text=[RESULT] B"]
[runs.faithful]
protocol = "opinion-summary/faithfulness"
models = ["fake:text=No. <score>2</score>"]
[runs.topic]
protocol = "classify"
rubric = "topic.toml"
models = ["fake:text=<label>true</label>"]
[runs.panel]
protocol = "prometheus/direct"
rubric = "tact.toml"
reask = 0
models = ["fake:text=[RESULT] 2", "fake:text=no answer"]
[runs.both]
protocol = "geval/compare"
order = "given"
reask = 0
models = ["fake:script=both.jsonl"]
[runs.renamed]
protocol = "prometheus/direct"
rubric = "tact.toml"
map = { response = "answer", instruction = "question" }
models = ["fake:script=by_text.jsonl"]
[runs.silent]
protocol = "prometheus/direct"
rubric = "tact.toml"
models = ["fake:script=silent.jsonl"]
"""
SCRIPT = [
    {"match": "first text", "text": "[RESULT] 2"},
    {"match": "second text", "text": "[RESULT] 5"},
    {"match": "Is it about money?", "text": "[RESULT] 1"},
    {"text": "[RESULT] 4"},
]
SIDES = {"response_a": {"score": 5}, "response_b": {"score": 4}}
NAMES = ("accuracy", "completeness", "clarity", "actionability", "relevance")
BOTH = json.dumps(dict.fromkeys(NAMES, SIDES) | {"overall": {**SIDES, "winner": "A"}})
TOPIC = 'criterion = "What is it about?"\n[labels]\ntrue = "Money."\nfalse = "Anything else."\n'
LEVELS = [{"label": str(k)} for k in range(1, 6)]
QUESTION = {"type": "score", "name": "tact", "levels": LEVELS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "by_text.jsonl").write_text("".join(json.dumps(line) + "\n" for line in SCRIPT))
    (folder / "topic.toml").write_text(TOPIC)
    (folder / "both.jsonl").write_text(json.dumps({"text": BOTH}) + "\n")
    (folder / "silent.jsonl").write_text('{"match": "never asked", "text": "[RESULT] 1"}\n')
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    server = Served(folder, "--log", run_file=RUN_FILE)
    yield server
    server.stop()


def scores(served: Served, *items: Any, model: str = "tact") -> list[dict[str, Any]]:
    status, body = served.post("/score", {"model": model, "items": list(items)})
    assert status == 200, body
    assert body["n_failed"] == sum(one["score"] is None and "choice" not in one for one in body["scores"])
    return list(body["scores"])


def answers(served: Served, model: str, given: Any, **questions: Any) -> dict[str, Any]:
    _, body = served.post("/v1/systemone", {"model": model, "state": given, "questions": questions})
    return {**body["answers"], **body["errors"]}


def decided(served: Served, model: str, given: Any, question: dict[str, Any]) -> dict[str, Any]:
    _, body = served.post("/v1/decisions", {"model": model, "input": given, "questions": [question]})
    (answer,) = body["answers"]
    return dict(answer)


def test_two_texts_with_one_id_have_their_own_scores(served: Served) -> None:
    rows = [{"id": "x", "response": "first text"}, {"id": "x", "response": "second text"}]
    assert [one["score"] for one in scores(served, *rows, rows[0])] == [2, 5, 2]
    assert scores(served, {"id": ["x"], "response": "first text"})[0]["score"] in (2, None)


def test_one_bad_item_does_not_fail_the_others(served: Served) -> None:
    good, bad, empty = scores(served, "first text", 5, {"task": "t"})
    assert good["score"] == 2
    assert [one["status"] for one in (bad, empty)] == ["bad_request"] * 2
    assert "no 'response'" in empty["error"]["message"]
    assert "line 1" not in json.dumps([bad, empty])


@pytest.mark.parametrize("given", [{}, {"task": "t"}, '{"respnse": "x"}', None, 5, []])
def test_without_the_judged_text_there_is_an_error_and_no_score(served: Served, given: Any) -> None:
    assert set(decided(served, "tact", given, QUESTION)) == {"type", "name", "error"}


def test_inputs_that_are_not_given_are_shown_and_flagged_as_such(served: Served) -> None:
    alone, whole = scores(served, "first text", {"task": "t", "response": "first text"})
    assert ("input_missing" in alone["flags"], "input_missing" in whole["flags"]) == (True, False)
    (one,) = scores(served, "A summary of nothing.", model="faithful")
    assert (one["score"], one["flags"]) == (2, ["input_missing"])
    assert "response_a and response_b" in scores(served, "text", model="pair")[0]["error"]["message"]


def test_the_words_of_other_tools_name_the_judged_texts(served: Served, folder: Path) -> None:
    """What MLflow and deepeval send as the state."""
    of_mlflow = {"inputs": {"question": "Where?"}, "outputs": "a first text of MLflow"}
    of_deepeval = {"test_case": {"input": "Where?", "actual_output": "a first text of deepeval"}}
    for state in (of_mlflow, of_deepeval, {"inputs": {"task": "Where?"}, "outputs": "a first text of both"}):
        asked = {"tact": {"type": "score", "criteria": list("abcde")}}
        assert answers(served, "tact", state, **asked)["tact"]["score"] == 1
    with open_store(folder / "adjudge.db", write=False) as store:
        fields = [item.fields for item in store.items(store.run("serve/tact"))]
    tasks = {
        one["response"].rpartition(" ")[2]: one["task"] for one in fields if "text of" in one["response"]
    }
    assert tasks == {"MLflow": '{"question": "Where?"}', "deepeval": "Where?", "both": "Where?"}
    found = answers(
        served, "topic", of_mlflow, label={"type": "choice", "criteria": {"true": None, "x": None}}
    )
    assert found["label"]["choice"] == "true"


def test_the_names_of_the_run_file_and_those_of_the_protocol_are_both_taken(served: Served) -> None:
    items = [
        {"question": "q", "answer": "a first text"}, {"instruction": "q", "response": "a first text"},
        {"task": "q", "answer": "a first text"}, "a first text",
        {"answer": "text", "response": "second text"},
    ]  # fmt: skip
    found = scores(served, *items, model="renamed")
    assert [one["score"] for one in found] == [2, 2, 2, 2, 5]
    assert ["input_missing" in one["flags"] for one in found] == [False, False, False, True, True]
    asked = {"good": {"type": "noul", "criteria": {"true": "Is it about money?", "false": "no"}}}
    assert answers(served, "renamed", {"answer": "text"}, **asked)["good"]["noul"] == 1


def test_messages_are_judged_by_their_texts(served: Served, folder: Path) -> None:
    said = [{"type": "output_text", "text": "It is a second text."}]
    call = {"type": "function_call", "name": "search", "arguments": '{"q": 1}', "call_id": "1"}
    given = [{"role": "user", "content": "Where?"}, call, {"role": "assistant", "content": said}]
    assert decided(served, "tact", given, QUESTION)["score"] == 4
    with open_store(folder / "adjudge.db", write=False) as store:
        items = list(store.items(store.run("serve/tact")))
    (task,) = [item.fields["task"] for item in items if item.fields["response"] == "It is a second text."]
    assert [turn.role for turn in task] == ["user", "assistant"]
    assert task[1].tool_calls[0].name == "search"


def test_a_choice_keeps_the_form_that_the_caller_gave_it(served: Served) -> None:
    pair = {"task": "t", "response_a": "x", "response_b": "y"}
    asked = {"type": "choice", "name": "tact", "choices": [{"value": "A"}, {"value": "B"}]}
    assert decided(served, "pair", pair, asked)["choice"] == "B"
    asked = {"type": "choice", "name": "topic", "choices": [{"value": True}, {"value": False}]}
    answer = decided(served, "topic", "A refund.", asked)
    assert answer["choice"] is True
    assert [one["value"] for one in answer["probabilities"]] == [True, False]


def test_a_question_that_is_no_criterion_becomes_one_where_the_protocol_takes_it(served: Served) -> None:
    found = answers(
        served, "tact", "text",
        is_it_good={"type": "noul", "criteria": {"true": "Is it about money?", "false": "Or not?"}},
        helpfulness={"type": "score", "criteria": list("abcde")},
        kind={"type": "choice", "criteria": {"a": None, "b": None}},
        one={"type": "score", "criteria": ["the only level"]}, none={"type": "score"},
    )  # fmt: skip
    assert [found[name]["status"] for name in ("one", "none")] == ["too_few_options"] * 2
    assert found["is_it_good"]["noul"] == 1
    assert (found["helpfulness"]["score"], found["helpfulness"]["calibrated"]) == (4, False)
    assert found["kind"]["status"] == "no_such_criterion"
    found = answers(served, "topic", "text", other={"type": "choice", "criteria": {"true": "a", "x": "b"}})
    assert found["other"]["choice"] == "true"
    found = answers(served, "topic", "text", other={"type": "noul", "instructions": "Is it good?"})
    assert found["other"]["status"] == "no_such_criterion"


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ("x", "send a list"), ([3], "question_1: a question is an object"), ([{}], "'type' is missing"),
        ([{"type": "score", "name": "n"}], "n: 'levels' is missing"), ([{"type": "odd"}], "'odd' is unknown"),
        ([{"type": "score", "levels": 5}], "options do not have the form"),
        ([{"type": "choice", "choices": [{"value": "a"}] * 2}], "two options have the same name"),
    ],
)  # fmt: skip
def test_a_question_of_another_form_is_named(served: Served, questions: Any, said: str) -> None:
    status, body = served.post("/v1/decisions", {"model": "tact", "input": "x", "questions": questions})
    assert (status, said in body["error"]["message"]) == (400, True), body
    assert "Error at" not in body["error"]["message"]


def test_levels_can_be_asked_as_choices(served: Served) -> None:
    choices = [{"value": str(k)} for k in (5, 4, 3, 2, 1)]
    answer = decided(served, "tact", "first text", {"type": "choice", "name": "tact", "choices": choices})
    assert answer["choice"] == "2"
    assert [one["probability"] for one in answer["probabilities"]] == [0, 0, 0, 1, 0]
    words = [{"value": word} for word in "abcde"]
    answer = decided(served, "tact", "first text", {"type": "choice", "name": "tact", "choices": words})
    assert answer["error"]["status"] == "other_levels"


def test_a_judge_of_two_responses_gives_its_choice_and_both_scores(served: Served) -> None:
    pair = {"task": "t", "response_a": "x", "response_b": "y"}
    (one,) = scores(served, pair, model="both")
    assert (one["choice"], one["status"]) == ("a", "ok")
    overall, accuracy = one["criteria"]["overall"], one["criteria"]["accuracy"]
    assert [overall[key] for key in ("a", "b", "choice", "score")] == [5, 4, "a", None]
    assert ([accuracy[key] for key in ("a", "b", "score")], "choice" in accuracy) == ([5, 4, None], False)
    asked = {
        "overall": {"type": "choice", "criteria": {"a": None, "b": None}},
        "accuracy": {"type": "score", "criteria": list("abcde")},
    }
    found = answers(served, "both", pair, **asked)
    assert (found["overall"]["choice"], found["accuracy"]["status"]) == ("a", "two_scores")


def test_a_label_is_no_score(served: Served) -> None:
    (one,) = scores(served, "A refund.", model="topic")
    assert (one["score"], one["choice"], one["status"]) == (None, "true", "ok")


def test_more_criteria_than_are_kept_open_are_all_answered(served: Served) -> None:
    """Those of callers come and go; each of them keeps its judgments."""
    for n in (120, 20):  # 100 are kept open: the first 20 are closed, and opened again
        names = [f"is it {k}?" for k in range(n)]
        found = answers(served, "tact", "about money", **{name: {"type": "noul"} for name in names})
        assert {found[name].get("status", "ok") for name in names} == {"out_of_range"}


def test_judges_of_a_panel_that_failed_are_counted(served: Served) -> None:
    answer = decided(served, "panel", "text", QUESTION)
    assert (answer["score"], answer["n_failed"]) == (1, 1)


def test_a_judge_that_cannot_be_reached_is_named(served: Served) -> None:
    message = decided(served, "silent", "text", QUESTION)["error"]["message"]
    assert "no_reply" in message
    (one,) = scores(served, "text", model="silent")
    assert (one["score"], one["status"]) == (None, "no_reply")
    assert one["error"]["message"] in message
