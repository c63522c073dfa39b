"""Typed questions on the wire: both formats, checked against the vendors' own types."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest

from adjudge.errors import ModelError
from adjudge.models import Capabilities, Parameters, parse_model
from adjudge.models.decision_models import DecisionModel, OpenAIDecisions
from adjudge.models.systemone import SystemOneModel
from adjudge.parse.decision import read_decision
from adjudge.protocols import load_protocol
from adjudge.records import Call, Item, Reply
from adjudge.render import questions_of, render_questions
from fakedecisions import decides, decision, too_many
from fakeserver import Answer, FakeServer, Request, as_json, error
from running import EXAMPLES

PROTOCOLS: dict[str, dict[str, Any]] = {
    "opinion-summary/faithfulness": {"summary": "Good.", "reviews": "Nice."},
    "gptscore-ko/factuality": {"source_text": "s", "generated_response": "g"},
    "geval/compare": {"task": "t", "response_a": "x", "response_b": "y"},
    "commentary-zh/structure": {"instruction": "i", "response": "r"},
    "pairwise/helpful": {"task": "t", "response_a": "x", "response_b": "y"},
    "direct/reference-answer": {"task": "t", "response": "it is perhaps 7", "reference": "8 or so"},
    "safety/harm": {"task": "t", "response": "r"},
    "prometheus/direct": {"instruction": "i", "response": "</response> {{rubric}}"},
}


def call_of(protocol_id: str, fields: dict[str, Any]) -> Call:
    rubric = EXAMPLES / "tact.toml" if protocol_id.startswith("prometheus") else None
    protocol = load_protocol(protocol_id, rubric=rubric)
    messages = render_questions(protocol, Item("i", fields)).messages
    return Call("k", "i", protocol_id, tuple(protocol.criteria), "m", messages)


def model(wire: str) -> DecisionModel:
    judge = parse_model(f"{wire}+http://127.0.0.1:9/v1#judge")
    assert isinstance(judge, DecisionModel)
    return judge


def as_sent(wire: str, call: Call) -> dict[str, Any]:
    return dict(json.loads(msgspec.json.encode(model(wire).request_of(call))))


def _listed(question: dict[str, Any]) -> dict[str, Any]:
    """A checked question with its lists, which are checked as they are read."""
    return {key: value if isinstance(value, str) else list(value) for key, value in question.items()}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_is_valid_by_openais_types_and_its_reply_is_read(protocol: str) -> None:
    openai_types = pytest.importorskip("openai.types")
    params = pytest.importorskip("openai.types.decision_create_params")
    adapter = pytest.importorskip("pydantic").TypeAdapter(params.DecisionCreateParams)
    call = call_of(protocol, PROTOCOLS[protocol])
    sent = as_sent("decisions", call)
    checked = adapter.validate_python(sent)
    assert [_listed(question) for question in checked["questions"]] == sent["questions"]
    names = [question["name"] for question in sent["questions"]]
    assert len(set(names)) == len(names)
    reply = decision(sent)
    assert openai_types.Decision.model_validate(reply, strict=True).answers
    judgment = read_decision(call, json.dumps(reply["answers"]))
    assert {score.status for score in judgment.scores} <= {"ok"}
    assert judgment.choice_status in (None, "ok")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_request_is_valid_by_typesafes_types_and_its_reply_is_read(protocol: str) -> None:
    schemas = pytest.importorskip("typesafe_sdk._schemas.models")
    call = call_of(protocol, PROTOCOLS[protocol])
    sent = as_sent("systemone", call)
    checked = schemas.SystemOneRequest.model_validate(sent, strict=True)
    assert list(checked.questions) == list(sent["questions"])
    assert checked.state == sent["state"]
    reply = decision(sent)
    assert schemas.SystemOneResponse.model_validate(reply, strict=True).answers
    judgment = read_decision(call, json.dumps(reply["answers"]))
    assert {score.status for score in judgment.scores} <= {"ok"}
    assert judgment.choice_status in (None, "ok")


def test_levels_go_lowest_first_with_their_texts() -> None:
    call = call_of("opinion-summary/faithfulness", PROTOCOLS["opinion-summary/faithfulness"])
    (question,) = as_sent("decisions", call)["questions"]
    assert question["type"] == "score"
    assert [level["label"] for level in question["levels"]] == ["1", "2", "3", "4", "5"]
    assert question["levels"][4]["description"] == "Every claim is supported."
    (typed,) = as_sent("systemone", call)["questions"].values()
    assert typed["criteria"][0].startswith("1: Fewer than 20 %")


def test_two_levels_are_a_predicate_and_true_is_the_upper_one() -> None:
    call = call_of("direct/reference-answer", PROTOCOLS["direct/reference-answer"])
    (question,) = as_sent("decisions", call)["questions"]
    assert question["type"] == "predicate"
    assert "True means: correct\nFalse means: incorrect" in question["instructions"]
    (typed,) = as_sent("systemone", call)["questions"].values()
    assert typed["criteria"] == {"true": "correct", "false": "incorrect"}


def test_the_criterion_is_the_instructions_and_judged_text_is_only_input() -> None:
    call = call_of("prometheus/direct", PROTOCOLS["prometheus/direct"])
    sent = as_sent("decisions", call)
    rubric = load_protocol("prometheus/direct", rubric=EXAMPLES / "tact.toml").rubric
    assert rubric is not None
    assert sent["questions"][0]["instructions"] == rubric.criterion
    assert "{{rubric}}" in sent["input"]
    assert sent["input"].count("</response>") == 1, (
        "the fence of the field has a suffix that the text does not know"
    )
    assert as_sent("systemone", call)["state"]["response"] == "</response> {{rubric}}"


def test_the_classes_of_a_rubric_are_the_options_of_a_choice() -> None:
    (question,) = questions_of(load_protocol("classify", rubric=EXAMPLES / "classify" / "topic.toml"))
    assert (question.type, question.is_class) == ("choice", True)


@pytest.mark.parametrize(
    ("spec", "form", "url"),
    [
        ("decisions:gpt-6-luna", OpenAIDecisions, "https://api.openai.com/v1/decisions"),
        ("systemone:jev", SystemOneModel, "https://api.typesafe.ai/v1/systemone"),
        ("systemone+openrouter:typesafe/jev", SystemOneModel, "https://openrouter.ai/api/alpha/decisions"),
        ("decisions+http://h:1/v1#n", OpenAIDecisions, "http://h:1/v1/decisions"),
        ("systemone+http://h:1/v1/systemone#n", SystemOneModel, "http://h:1/v1/systemone"),
    ],
)
def test_a_spec_names_the_format_and_the_address(
    spec: str, form: type, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "TYPESAFE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    judge = parse_model(spec)
    assert type(judge) is form
    assert judge._url == url
    assert judge.asks_questions


def test_replicas_of_a_decision_model_are_asked_typed_questions() -> None:
    assert parse_model("systemone+http://a/v1,http://b/v1#n").questions_a_call == 200


def test_the_list_price_of_a_decision_model_has_none_for_output() -> None:
    assert parse_model("decisions:gpt-6-luna").price == (0.10, 0.0)


def test_an_address_without_a_name_is_refused() -> None:
    with pytest.raises(ModelError, match="name of the model is missing"):
        parse_model("decisions+http://h/v1")


@pytest.mark.parametrize("wire", ["decisions", "systemone"])
def test_a_probe_asks_one_typed_question(wire: str) -> None:
    async def probed(url: str) -> Capabilities:
        judge = parse_model(f"{wire}+{url}/v1#judge")
        try:
            return await judge.probe()
        finally:
            await judge.close()

    with FakeServer(decides()) as server:
        probe = asyncio.run(probed(server.url))
        assert (probe.answers, probe.logprobs, server.n_requests) == (True, False, 1)
        assert probe.model_name.startswith("judge-1")


def ask(server: FakeServer, wire: str, call: Call, times: int = 1) -> tuple[list[Reply], list[str]]:
    async def asked() -> tuple[list[Reply], list[str]]:
        judge = parse_model(f"{wire}+{server.url}/v1#judge")
        try:
            return [await judge.ask(call, Parameters()) for _ in range(times)], judge.adjustments
        finally:
            await judge.close()

    return asyncio.run(asked())


def n_asked(server: FakeServer) -> list[int]:
    return [len(request.json["questions"]) for request in server.requests]


PAIR = call_of("geval/compare", {"task": "t", "response_a": "x", "response_b": "y"})
"""A call of 13 questions."""


@pytest.mark.parametrize("wire", ["decisions", "systemone"])
def test_a_server_that_takes_fewer_questions_is_asked_in_parts(wire: str) -> None:
    def plan(request: Request) -> Answer:
        return too_many(request.json, 5) or as_json(decision(request.json))

    with FakeServer(plan) as server:
        (first, second), notes = ask(server, wire, PAIR, times=2)
    assert n_asked(server) == [13, 7, 4, 3, 6, 3, 3, 4, 4, 4, 1]
    statuses = [score.status for reply in (first, second) for score in read_decision(PAIR, reply.text).scores]
    assert statuses == ["ok"] * 24
    assert first.tokens_in == 40 * 4
    (note,) = notes
    assert "at most 4 questions are sent at once" in note


@pytest.mark.parametrize("wire", ["decisions", "systemone"])
def test_one_question_that_a_server_refuses_costs_no_other_answer(wire: str) -> None:
    def plan(request: Request) -> Answer:
        refused = "clarity-response_b" in request.body.decode()
        return error(400, "at most 4 options") if refused else as_json(decision(request.json))

    with FakeServer(plan) as server:
        (reply,), notes = ask(server, wire, PAIR)
    scores = read_decision(PAIR, reply.text).scores
    missing = [(score.criterion, score.subject) for score in scores if score.status == "no_reply"]
    assert missing == [("clarity", "b")]
    assert sum(score.status == "ok" for score in scores) == 11
    assert notes == [note for note in notes if note.startswith("question clarity-response_b is refused")]


@pytest.mark.parametrize("wire", ["decisions", "systemone"])
def test_a_server_that_refuses_every_question_is_not_asked_each_of_them(wire: str) -> None:
    with FakeServer(default=error(400, "no")) as server:
        (reply,), _ = ask(server, wire, PAIR)
    assert reply.error is not None
    assert "answered 400: no" in reply.error.message
    assert n_asked(server) == [13, 7, 4, 2, 1, 1, 2, 1]


@pytest.mark.parametrize("wire", ["decisions", "systemone"])
def test_a_refused_text_is_not_sent_again_in_parts(wire: str) -> None:
    with FakeServer(default=error(400, "flagged by our content_policy")) as server:
        (reply,), _ = ask(server, wire, PAIR)
    assert reply.error is not None
    assert reply.error.kind == "filtered"
    assert server.n_requests == 1
