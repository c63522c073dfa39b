"""Anthropic's messages over real HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import fakeserver as fs
from adjudge.errors import BudgetReached, ModelError
from adjudge.models import Model, Network, Parameters, parse_model
from adjudge.records import Call, Message, Reply
from fakeserver import Answer, FakeServer

MESSAGES = (Message("system", "You judge."), Message("system", "Be strict."), Message("user", "Judge this."))
CALL = Call("key-1", "item-1", "p@1", ("clarity",), "m", MESSAGES)
TEXT = {"type": "text", "text": "4"}
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")


def asked(
    monkeypatch: pytest.MonkeyPatch, plan: list[Answer], params: Parameters | None = None, base: str = ""
) -> tuple[Reply, Model, list[fs.Request]]:
    async def run() -> tuple[Reply, Model]:
        net = Network(backoff_seconds=0.01)
        model = parse_model("anthropic:judge", price=(1.0, 10.0), network=net)
        try:
            return await model.ask(CALL, params or Parameters()), model
        finally:
            await net.close()

    with FakeServer(plan, default=fs.message(TEXT)) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url + base)
        return *asyncio.run(run()), list(server.requests)


@pytest.mark.parametrize("base", ["", "/", "/v1", "/v1/"])
def test_a_request_has_the_system_text_apart_and_a_limit_of_tokens(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, (request,) = asked(monkeypatch, [], Parameters(temperature=0.0), base)
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == "sk-ant-0123456789abcdef"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in request.headers
    assert request.json == {
        "model": "judge",
        "max_tokens": 4096,
        "system": "You judge.\n\nBe strict.",
        "messages": [{"role": "user", "content": "Judge this."}],
        "temperature": 0.0,
    }


def test_a_reply_has_its_thinking_apart_and_counts_cached_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hmm", "signature": "x"},
        {"type": "redacted_thinking", "data": "abc"},
        {"type": "text", "text": "Score: "},
        TEXT,
    ]
    reply, _, _ = asked(monkeypatch, [fs.message(*blocks)])
    assert (reply.text, reply.reasoning, reply.finish) == ("Score: 4", "hmm", "stop")
    assert (reply.model_name, reply.tokens_in, reply.tokens_out) == ("claude-judge-1", 20, 5)
    # 8 of the 20 tokens were read from the prompt cache, at a tenth of the price.
    assert reply.cost_usd == pytest.approx((20 - 8 * 0.9 + 50) / 1e6)


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_reasons_to_stop_go_by_the_same_names_everywhere(
    stop: str, finish: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(monkeypatch, [fs.message(TEXT, stop=stop)])[0].finish == finish


def test_a_schema_is_a_tool_whose_input_is_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    block = {"type": "tool_use", "id": "t", "name": "answer", "input": {"score": 4}}
    reply, _, (request,) = asked(monkeypatch, [fs.message(block, stop="tool_use")], Parameters(schema=SCHEMA))
    assert (reply.text, reply.finish) == ('{"score":4}', "stop")
    assert request.json["tools"][0]["input_schema"] == SCHEMA
    assert request.json["tool_choice"] == {"type": "tool", "name": "answer"}


def test_a_tool_that_a_model_refuses_is_left_out_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = fs.error(400, "tools: tool use is not supported by this model")
    reply, model, requests = asked(monkeypatch, [refusal], Parameters(schema=SCHEMA))
    assert reply.text == "4"
    assert requests[1].json.keys().isdisjoint({"tools", "tool_choice"})
    assert len(model.adjustments) == 1


def test_a_seed_is_not_sent_and_that_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    _, model, (request,) = asked(monkeypatch, [], Parameters(seed=7))
    assert "seed" not in request.json
    assert model.adjustments == ["seed 7 is not sent: anthropic:judge has no such parameter"]


def test_log_probabilities_are_refused_before_anything_is_sent() -> None:
    model = parse_model("anthropic:judge")
    assert model.gives_logprobs is False
    with pytest.raises(ModelError, match="returns no log-probabilities"):
        model.check(Parameters(top_logprobs=5))
    with pytest.raises(ModelError, match="returns no log-probabilities"):
        asyncio.run(model.ask(CALL, Parameters(top_logprobs=5)))


def test_errors_in_anthropics_shape_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(kind: str, text: str, status: int) -> Answer:
        return fs.as_json({"type": "error", "error": {"type": kind, "message": text}}, status)

    reply, _, _ = asked(monkeypatch, [said("overloaded_error", "Overloaded", 529)])
    assert reply.text == "4"
    reply, _, _ = asked(
        monkeypatch, [said("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", 400)]
    )
    assert reply.error is not None
    assert reply.error.kind == "too_long"
    with pytest.raises(BudgetReached):
        asked(monkeypatch, [said("invalid_request_error", "Your credit balance is too low", 400)])


def test_an_empty_message_without_blocks_is_an_empty_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    reply, _, _ = asked(monkeypatch, [fs.message()])
    assert (reply.text, reply.error) == ("", None)


def test_half_a_character_in_a_message_becomes_a_replacement_character(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = fs.message({"type": "text", "text": "CUT"}).body.replace(b"CUT", b"\\ud83d 4")
    assert asked(monkeypatch, [Answer(200, body)])[0].text == "\ufffd 4"


def stream(*events: dict[str, Any], is_stopped: bool = True) -> Answer:
    """A message as Anthropic streams it, with a start, these events and an end."""
    start = {
        "type": "message_start",
        "message": {"content": [], "model": "claude-judge-1", "usage": {"input_tokens": 20}},
    }
    end: list[dict[str, Any]] = [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    whole = [start, {"type": "ping"}, *events, *(end if is_stopped else [])]
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in whole)
    return Answer(200, "".join(lines).encode(), {"content-type": "text/event-stream"})


def block(kind: str, **delta: str) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": 0, "content_block": {"type": kind, "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {name: piece}}
          for name, text in delta.items() for piece in (text[:3], text[3:])),
        {"type": "content_block_stop", "index": 0},
    ]  # fmt: skip


def test_a_message_that_comes_as_a_stream_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    thinking, text = block("thinking", thinking="Hmm, 4."), block("text", text="[RESULT] 4")
    reply, _, sent = asked(monkeypatch, [stream(*thinking, *text)])
    assert (reply.text, reply.reasoning, reply.finish) == ("[RESULT] 4", "Hmm, 4.", "stop")
    assert (reply.tokens_in, reply.tokens_out, reply.model_name, len(sent)) == (20, 5, "claude-judge-1", 1)
    reply, _, _ = asked(monkeypatch, [stream(*block("tool_use", partial_json='{"score": 4}'))])
    assert reply.text == '{"score": 4}'
    reply, _, sent = asked(monkeypatch, [stream(*text, is_stopped=False), fs.message(TEXT)])
    assert (reply.text, len(sent)) == ("4", 2), "a stream that breaks off is no reply"
    reply, _, sent = asked(monkeypatch, [fs.error(400, "streaming is required"), stream(*text)])
    assert [request.json.get("stream", False) for request in sent] == [False, True]


def test_an_input_that_was_cut_off_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    used = {"type": "tool_use", "id": "t", "name": "answer", "input": {"reason": "fine", "score": 1}}
    reply, _, _ = asked(monkeypatch, [fs.message(used, stop="max_tokens")])
    assert (reply.text, reply.finish) == ('{"reason":"fine","score":1', "length")
    reply, _, _ = asked(monkeypatch, [fs.message(used, stop="tool_use")])
    assert (reply.text, reply.finish) == ('{"reason":"fine","score":1}', "stop")


def test_counts_of_a_message_that_cannot_be_true_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.loads(fs.message(TEXT).body)
    body["usage"] = {"input_tokens": 10, "cache_read_input_tokens": -(10**9), "output_tokens": 5}
    reply, _, _ = asked(monkeypatch, [fs.as_json(body)])
    assert (reply.flags, reply.tokens_out) == (("usage_implausible",), 1)
    assert reply.cost_usd is not None
    assert reply.cost_usd > 0
