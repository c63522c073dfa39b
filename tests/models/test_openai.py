"""Chat completions over real HTTP: what is sent, what is read, and what happens where a model refuses a
parameter."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

import fakeserver as fs
from adjudge.errors import ModelError
from adjudge.models import Model, Network, Parameters, parse_model
from adjudge.records import Call, Message, Reply, TokenLogprob, TopToken
from fakeserver import Answer, FakeServer

MESSAGES = (Message("system", "You judge."), Message("user", "Judge this: 你好 🙂"))
CALL = Call("key-1", "item-1", "p@1", ("clarity",), "m", MESSAGES)
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}


async def ask_all(
    server: FakeServer, all_params: list[Parameters], price: tuple[float, float] | None
) -> tuple[list[Reply], Model]:
    net = Network(backoff_seconds=0.01)
    model = parse_model(f"{server.url}/v1#judge", price=price, network=net)
    try:
        return [await model.ask(CALL, params) for params in all_params], model
    finally:
        await net.close()


def asked(
    plan: Iterable[Answer], *params: Parameters, price: tuple[float, float] | None = None
) -> tuple[list[Reply], Model, list[Any]]:
    """The replies to as many calls as there are parameters, the model, and the bodies that were sent."""
    with FakeServer(plan) as server:
        replies, model = asyncio.run(ask_all(server, list(params) or [Parameters()], price))
        return replies, model, [request.json for request in server.requests]


def reply_to(answer: Answer, params: Parameters | None = None) -> Reply:
    return asked([answer], params or Parameters())[0][0]


def test_a_request_holds_what_was_asked_for_and_nothing_else() -> None:
    _, _, (plain, full) = asked([], Parameters(), Parameters(0.0, 100, None, SCHEMA, 7))
    messages = [{"role": each.role, "content": each.content} for each in MESSAGES]
    assert plain == {"model": "judge", "messages": messages}
    assert full == {
        "model": "judge",
        "messages": messages,
        "temperature": 0.0,
        "max_tokens": 100,
        "seed": 7,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }


def test_a_reply_has_the_models_own_name_its_tokens_and_its_cost() -> None:
    (reply,), _, _ = asked([fs.chat("Good.\n[RESULT] 4")], price=(1.0, 10.0))
    assert (reply.call, reply.text, reply.finish) == ("key-1", "Good.\n[RESULT] 4", "stop")
    assert (reply.model_name, reply.fingerprint) == ("judge-1", "fp_1")
    assert (reply.tokens_in, reply.tokens_out) == (20, 5)
    assert reply.cost_usd == pytest.approx((20 * 1 + 5 * 10) / 1e6)
    assert reply.seconds > 0


def test_without_a_price_the_cost_is_unknown_and_without_counts_it_is_estimated() -> None:
    assert reply_to(fs.chat()).cost_usd is None
    uncounted = fs.as_json({"choices": [{"message": {"content": "4"}}], "usage": None})
    (reply,), model, _ = asked([uncounted], price=(1.0, 1.0))
    assert (reply.text, reply.tokens_out, reply.flags) == ("4", 1, ())
    assert reply.cost_usd == pytest.approx((reply.tokens_in + 1) / 1e6)
    assert 5 < reply.tokens_in < 30
    assert any("token counts are estimated" in note for note in model.adjustments)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2**63 - 1, "completion_tokens": 5},
        {"prompt_tokens": 2**80, "completion_tokens": 5},
        {"prompt_tokens": -4_000_000_000, "completion_tokens": 5},
        {"prompt_tokens": 20, "completion_tokens": -5},
        {"prompt_tokens": 20, "completion_tokens": 10**9},
        {"prompt_tokens": 1e300, "completion_tokens": 5},
        {"prompt_tokens": 20.5, "completion_tokens": 5},
        {"prompt_tokens": "many", "completion_tokens": 5},
        {"prompt_tokens": True, "completion_tokens": 5},
        {"prompt_tokens": [20], "completion_tokens": {}},
    ],
)
def test_counts_that_cannot_be_true_are_estimated_and_flagged(usage: dict[str, Any]) -> None:
    body = json.loads(fs.chat("Good.\n[RESULT] 4").body) | {"usage": usage}
    (reply,), model, _ = asked([fs.as_json(body)], price=(1.0, 1.0))
    assert reply.flags == ("usage_implausible",)
    assert 5 < reply.tokens_in < 30
    assert 1 <= reply.tokens_out < 10
    assert reply.cost_usd == pytest.approx((reply.tokens_in + reply.tokens_out) / 1e6)
    assert any("impossible" in note for note in model.adjustments)


def test_a_reply_that_comes_as_a_stream_is_read_at_the_first_answer() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 5}
    plan = [fs.events("Good.\n", "[RES", "ULT] 4", usage=usage), fs.events("한", "국 4", finish="length")]
    replies, _, sent = asked(plan, Parameters(), Parameters())
    assert [(reply.text, reply.finish, reply.error) for reply in replies] == [
        ("Good.\n[RESULT] 4", "stop", None),
        ("한국 4", "length", None),
    ]
    assert (replies[0].tokens_in, replies[0].tokens_out, replies[0].model_name) == (20, 5, "judge-1")
    assert len(sent) == 2


def test_a_stream_keeps_thinking_log_probabilities_and_a_refusal() -> None:
    chunks = [
        {"choices": [{"delta": {"reasoning_content": "hm"}}]},
        {"choices": [{"delta": {"content": "4"}, "logprobs": {"content": [fs.token("4", -0.1)]}}]},
        {"choices": [{"delta": {"content": "!"}, "logprobs": {"content": [fs.token("!", -0.2)]}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    ]
    body = ": comment\r\n\r\n" + "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
    reply = reply_to(Answer(200, body.encode()), Parameters(top_logprobs=0))
    assert (reply.text, reply.reasoning, reply.finish) == ("4!", "hm", "stop")
    assert reply.logprobs == (TokenLogprob("4", -0.1), TokenLogprob("!", -0.2))
    refusing = [
        {"choices": [{"delta": {"refusal": "No."}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in refusing)
    reply = reply_to(Answer(200, body.encode()))
    assert (reply.text, reply.finish) == ("No.", "content_filter")


@pytest.mark.parametrize(
    "broken",
    [
        fs.events("Good. [RESULT] 1", finish=None, is_done=False),
        Answer(200, fs.events("Good.").body[:-60]),
        Answer(200, b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'),
        Answer(200, b"data: \n\n"),
    ],
    ids=["without its end", "in the middle of an event", "an error", "nothing"],
)
def test_a_stream_that_breaks_off_is_no_reply_and_is_tried_again(broken: Answer) -> None:
    (reply,), _, sent = asked([broken, fs.chat("whole")])
    assert (reply.text, len(sent)) == ("whole", 2)


@pytest.mark.parametrize(
    "words",
    ["stream must be set to true", "This model only supports streaming requests.", "Streaming is required"],
)
def test_a_host_that_only_streams_is_asked_for_a_stream_from_then_on(words: str) -> None:
    replies, model, sent = asked([fs.error(400, words), *[fs.events("4")] * 2], Parameters(), Parameters())
    assert [reply.text for reply in replies] == ["4", "4"]
    assert [body.get("stream", False) for body in sent] == [False, True, True]
    assert any("stream" in note for note in model.adjustments)


def test_a_reply_cut_off_before_its_answer_is_requested_once_more_with_more_room() -> None:
    def is_cut_off(reply: Reply) -> bool:
        return reply.text.endswith("1")

    params = Parameters(max_tokens=50, is_cut_off=is_cut_off, more_room=True)
    cut = fs.chat("[RESULT] 1", finish="length")
    (reply,), _, sent = asked([cut, fs.chat("[RESULT] 10")], params, price=(1.0, 1.0))
    assert (reply.text, reply.finish, reply.tokens_in, reply.tokens_out) == ("[RESULT] 10", "stop", 40, 10)
    assert [body["max_tokens"] for body in sent] == [50, 4096]
    (reply,), _, sent = asked([cut] * 3, params)
    assert (reply.text, reply.finish, len(sent)) == ("[RESULT] 1", "length", 2)
    (reply,), _, sent = asked([fs.chat("[RESULT] 4\nand", finish="length")], params)
    assert (reply.text, len(sent)) == ("[RESULT] 4\nand", 1)
    (reply,), _, sent = asked([cut, fs.error(400, "max_tokens is too large")], params, price=(1.0, 1.0))
    assert (reply.text, reply.tokens_in, len(sent)) == ("[RESULT] 1", 20, 2), "the host allows no more"
    (reply,), _, sent = asked(
        [cut, fs.chat("[RESULT] 10")], Parameters(is_cut_off=is_cut_off, more_room=True)
    )
    assert [body.get("max_tokens") for body in sent] == [None, 4096]


def test_thinking_in_its_own_field_is_kept_apart_and_think_blocks_stay_in_the_text() -> None:
    assert reply_to(fs.chat("4", reasoning_content="hmm")).reasoning == "hmm"
    assert reply_to(fs.chat("4", reasoning="hmm")).reasoning == "hmm"
    assert reply_to(fs.chat("<think>5?</think>4")).text == "<think>5?</think>4"


def test_content_in_parts_is_joined_without_its_thinking() -> None:
    parts: Any = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]},
        {"type": "text", "text": "Score: "},
        {"type": "text", "text": "4"},
    ]
    reply = reply_to(fs.chat(parts))
    assert (reply.text, reply.reasoning) == ("Score: 4", "hmm")


def test_a_refusal_is_text_that_was_filtered() -> None:
    reply = reply_to(fs.chat(None, refusal="I cannot judge this."))
    assert (reply.text, reply.finish, reply.error) == ("I cannot judge this.", "content_filter", None)


@pytest.mark.parametrize(
    ("said", "finish"),
    [("length", "length"), ("max_tokens", "length"), ("SAFETY", "content_filter"), ("eos", "stop")],
)
def test_reasons_to_stop_go_by_the_same_names_on_every_server(said: str, finish: str) -> None:
    assert reply_to(fs.chat("4", finish=said)).finish == finish


def test_log_probabilities_are_read_with_their_alternatives() -> None:
    logprobs = {"content": [fs.token("4", -0.1, **{"4": -0.1, " 4": -3.0}), fs.token(".", -1.5)]}
    (reply,), _, (sent,) = asked([fs.chat("4.", logprobs=logprobs)], Parameters(top_logprobs=5))
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 5)
    assert reply.logprobs == (
        TokenLogprob("4", -0.1, (TopToken("4", -0.1), TopToken(" 4", -3.0))),
        TokenLogprob(".", -1.5),
    )


def test_the_older_shape_of_log_probabilities_is_read_too() -> None:
    logprobs = {
        "tokens": ["4", "."],
        "token_logprobs": [-0.1, -1.5],
        "top_logprobs": [{"4": -0.1, "5": -2.0}, None],
    }
    reply = reply_to(fs.chat("4.", logprobs=logprobs), Parameters(top_logprobs=5))
    assert reply.logprobs == (
        TokenLogprob("4", -0.1, (TopToken("4", -0.1), TopToken("5", -2.0))),
        TokenLogprob(".", -1.5),
    )


def test_an_infinite_log_probability_becomes_a_very_small_one() -> None:
    body = fs.chat("4", logprobs={"content": [fs.token("4", -7777.0, x=-8888.0)]}).body
    body = body.replace(b"-7777.0", b"-Infinity").replace(b"-8888.0", b"-Infinity")
    reply = reply_to(Answer(200, body), Parameters(top_logprobs=5))
    assert reply.logprobs == (TokenLogprob("4", -9999.0, (TopToken("x", -9999.0),)),)


def test_half_a_character_in_a_reply_becomes_a_replacement_character() -> None:
    body = fs.chat("CUT").body.replace(b"CUT", b"\\ud83d 4")
    assert reply_to(Answer(200, body)).text == "\ufffd 4"


def test_a_body_with_fields_of_unexpected_kinds_is_read_where_it_can_be() -> None:
    body = json.loads(fs.chat("4").body)
    body["usage"] = {"prompt_tokens": "20", "completion_tokens": 5.0}
    body["new_field"] = [1, {"a": None}]
    reply = reply_to(fs.as_json(body))
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("4", 20, 5)


def test_log_probabilities_that_were_asked_for_and_never_come_stop_the_run() -> None:
    with pytest.raises(ModelError, match="returns no log-probabilities"):
        asked([fs.chat("4")], Parameters(top_logprobs=5))


def test_log_probabilities_missing_from_one_reply_are_an_error_of_that_call() -> None:
    good = fs.chat("4", logprobs={"content": [fs.token("4", -0.1)]})
    params = Parameters(top_logprobs=5)
    (first, second, third), _, _ = asked([good, fs.chat("4"), good], params, params, params)
    assert (first.error, third.error) == (None, None)
    assert second.error is not None
    assert second.error.kind == "bad_reply"
    assert second.text == ""


REFUSALS = {
    "temperature": fs.error(
        400,
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is "
        "supported.",
        param="temperature",
        code="unsupported_value",
    ),
    "seed": fs.as_json({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, 422),
    "response_format": fs.error(400, "This model does not support structured outputs with a JSON schema"),
    "max_tokens": fs.error(400, "max_tokens is not supported here"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on_and_reported(name: str) -> None:
    params = Parameters(0.0, 100, None, SCHEMA, 7)
    replies, model, sent = asked([REFUSALS[name]], params, params)
    assert [reply.text for reply in replies] == ["4", "4"]
    assert [name in body for body in sent] == [True, False, False]
    assert sent[1] == sent[2] == {key: value for key, value in sent[0].items() if key != name}
    assert len(model.adjustments) == 1
    assert model.refused == {"schema" if name == "response_format" else name}
    assert "is not sent" in model.adjustments[0]


def test_the_token_limit_goes_by_its_other_name_where_the_model_wants_that() -> None:
    refusal = fs.error(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
        "instead.",
        param="max_tokens",
        code="unsupported_parameter",
    )
    params = Parameters(max_tokens=100)
    _, model, sent = asked([refusal], params, params)
    assert [body.get("max_completion_tokens") for body in sent] == [None, 100, 100]
    assert ["max_tokens" in body for body in sent] == [True, False, False]
    assert "is sent as max_completion_tokens" in model.adjustments[0]


def test_several_refusals_one_after_another_are_all_met() -> None:
    replies, model, sent = asked(list(REFUSALS.values()), Parameters(0.0, 100, None, SCHEMA, 7))
    assert replies[0].text == "4"
    assert len(model.adjustments) == 4
    assert sent[-1].keys() == {"model", "messages"}


def test_many_calls_refused_at_once_make_one_adjustment() -> None:
    def plan(request: fs.Request) -> Answer:
        return (REFUSALS["temperature"] if "temperature" in request.json else fs.chat()).after(0.05)

    async def run(server: FakeServer) -> tuple[list[Reply], Model]:
        model = parse_model(f"{server.url}/v1#judge")
        replies = await asyncio.gather(*(model.ask(CALL, Parameters(0.0)) for _ in range(20)))
        await model.close()
        return replies, model

    with FakeServer(plan) as server:
        replies, model = asyncio.run(run(server))
    assert {reply.text for reply in replies} == {"4"}
    assert len(model.adjustments) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        fs.error(400, "Invalid value for 'temperature': must be at most 2", param="temperature"),
        fs.error(
            400, "'messages' holds an unsupported role, whatever the temperature", param="messages[0].role"
        ),
        fs.error(400, "Unsupported parameter: 'top_k'", param="top_k"),
    ],
)
def test_another_complaint_is_no_reason_to_leave_a_parameter_out(refusal: Answer) -> None:
    (reply,), model, sent = asked([refusal], Parameters(temperature=3.0))
    assert reply.error is not None
    assert reply.error.kind == "bad_reply"
    assert (len(sent), model.adjustments) == (1, [])


@pytest.mark.parametrize(
    "words",
    ["logprobs is not supported with reasoning models", "This model does not support log probabilities"],
)
def test_refused_log_probabilities_stop_the_run_and_are_never_left_out(words: str) -> None:
    with pytest.raises(ModelError, match="returns no log-probabilities"):
        asked([fs.error(400, words)], Parameters(top_logprobs=5))


def test_an_empty_reply_cut_off_by_length_is_asked_once_more_with_more_room() -> None:
    cut = fs.chat("", finish="length", reasoning_content="thinking …")
    (reply,), _, sent = asked(
        [cut, fs.chat("4")], Parameters(max_tokens=50, more_room=True), price=(1.0, 1.0)
    )
    assert [body["max_tokens"] for body in sent] == [50, 4096]
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("4", 40, 10)
    assert reply.cost_usd == pytest.approx(50 / 1e6)


def test_the_token_limit_is_a_cap_unless_more_room_is_allowed() -> None:
    cut = fs.chat("", finish="length")
    (reply,), _, sent = asked([cut, fs.chat("4")], Parameters(max_tokens=50, is_cut_off=lambda _: True))
    assert ([body["max_tokens"] for body in sent], reply.finish) == ([50], "length")


def test_a_server_that_fails_with_a_schema_is_asked_without_it() -> None:
    plan = [fs.error(500, "failed to make a grammar")] * 2 + [fs.chat("4")]
    (first, second), model, sent = asked(plan, *[Parameters(schema=SCHEMA)] * 2)
    assert (first.text, second.text) == ("4", "4")
    assert ["response_format" in body for body in sent] == [True, True, False, False]
    assert model.refused == {"schema"}
    assert any("answered 500" in note for note in model.adjustments)


def test_a_server_that_has_replied_with_a_schema_keeps_getting_it_after_a_failure() -> None:
    plan = [fs.chat("4"), *[fs.error(500)] * 3, fs.chat("5")]
    replies, model, sent = asked(plan, *[Parameters(schema=SCHEMA)] * 2)
    assert {reply.text for reply in replies} == {"4", "5"}
    assert all("response_format" in body for body in sent)
    assert not model.refused


def test_a_log_probability_above_zero_is_a_failure_with_a_reason() -> None:
    reply = reply_to(fs.chat("4", logprobs={"content": [fs.token("4", 1e308)]}), Parameters(top_logprobs=5))
    assert reply.error is not None
    assert reply.error.kind == "bad_reply"
    assert "log-probability above 0" in reply.error.message


def test_a_reply_that_stays_empty_is_given_as_it_is() -> None:
    cut = fs.chat(None, finish="length")
    (reply,), _, sent = asked([cut] * 3, Parameters(max_tokens=50, more_room=True))
    assert (reply.text, reply.finish, reply.error, len(sent)) == ("", "length", None, 2)


def test_what_an_empty_reply_cost_is_kept_where_the_second_try_fails() -> None:
    cut = fs.chat("", finish="length")
    (reply,), _, sent = asked(
        [cut, fs.error(400, "max_tokens is too large")],
        Parameters(max_tokens=50, more_room=True),
        price=(1.0, 1.0),
    )
    assert (reply.text, reply.finish, reply.error, len(sent)) == ("", "length", None, 2)
    assert reply.cost_usd == pytest.approx(25 / 1e6)


def test_whether_a_server_tells_likelihoods_shows_only_when_it_is_asked() -> None:
    likelihood = Call("k", "i", "p", (), "m", MESSAGES, kind="likelihood", target="text")

    async def ask(server: FakeServer) -> None:
        model = parse_model(f"{server.url}/v1#judge")
        model.check(Parameters(), ("likelihood",))
        try:
            await model.ask(likelihood, Parameters())
        finally:
            await model.close()

    with FakeServer([]) as server, pytest.raises(ModelError, match="does not return the likelihood"):
        asyncio.run(ask(server))


async def probed(server: FakeServer) -> Any:
    model = parse_model(f"{server.url}/v1#judge", network=Network(backoff_seconds=0.01))
    try:
        return await model.probe()
    finally:
        await model._network.close()  # type: ignore[attr-defined]


def test_a_probe_finds_out_what_a_model_can_with_three_calls() -> None:
    def able(request: fs.Request) -> Answer:
        if "response_format" in request.json:
            return fs.chat('{"score": 4}')
        logprobs = {"content": [fs.token("4", -0.1)]} if request.json.get("logprobs") else None
        return fs.chat("4", logprobs=logprobs)

    with FakeServer(able) as server:
        probe = asyncio.run(probed(server))
        assert server.n_requests == 3
    assert (probe.answers, probe.logprobs, probe.schema, probe.notes) == (True, True, True, ())
    assert probe.model_name == "judge-1"


@pytest.mark.parametrize("message", ["Input should be 'text', loc response_format", "Internal Server Error"])
def test_a_probe_says_that_a_server_fails_with_a_schema_and_not_that_it_accepts_one(message: str) -> None:
    def judge(request: fs.Request) -> Answer:
        return fs.error(500, message) if "response_format" in request.json else fs.chat("4")

    with FakeServer(judge) as server:
        probe = asyncio.run(probed(server))
    assert (probe.answers, probe.schema) == (True, False)
    said = " ".join(probe.notes)
    assert "answered 500 with it, and replied without it" in said
    assert f"answered 500: {message}" in said
    assert "accepted" not in said


def test_a_probe_says_why_a_model_cannot() -> None:
    def unable(request: fs.Request) -> Answer:
        for name in ("response_format", "logprobs"):
            if name in request.json:
                return fs.error(400, f"{name} is not supported", param=name)
        return fs.chat("4")

    with FakeServer(unable) as server:
        probe = asyncio.run(probed(server))
    assert (probe.answers, probe.logprobs, probe.schema) == (True, False, False)
    assert len(probe.notes) == 2
    with FakeServer(default=fs.error(400, "no such thing")) as server:
        probe = asyncio.run(probed(server))
    assert (probe.answers, probe.logprobs, probe.schema) == (False, None, None)
    assert "no such thing" in probe.notes[0]
