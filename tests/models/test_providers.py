"""Each provider by its name: the address, the key header and the wire format that its own API has."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from adjudge.errors import AuthError, ModelError
from adjudge.models import Model, Network, Parameters, forms, parse_model
from adjudge.models.bedrock import BedrockModel, Credentials, SigningScope, region_of, signature
from adjudge.models.prices import list_price
from adjudge.models.providers import providers
from adjudge.records import Call, Message, NamedModel, Reply
from fakeserver import Answer, FakeServer, Request, as_json, chat, error, message
from running import adjudge, answers, read_rows

KEY = "key-canary-9b1f6e40"
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}


def call(text: str = "Judge this.") -> Call:
    return Call("k", "i", "p@1", ("c",), "m", (Message("system", "You judge."), Message("user", text)))


def ask(spec: str | NamedModel, params: Parameters | None = None) -> tuple[Model, Reply]:
    async def run() -> tuple[Model, Reply]:
        network = Network(outage_seconds=2.0)
        model = parse_model(spec, network=network)
        try:
            return model, await model.ask(call(), params or Parameters(temperature=0.0))
        finally:
            await model.close()
            await network.close()

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in providers().values():
        for name in (
            provider.key_env,
            provider.address_env,
            *provider.fill.values(),
            *provider.query_env.values(),
        ):
            if name:
                monkeypatch.delenv(name, raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("spec", "environment", "endpoint"),
    [
        ("azure:res/dep", {}, "https://res.openai.azure.com/openai/deployments/dep"),
        ("azure:dep", {"AZURE_OPENAI_ENDPOINT": "https://x.example/"},
        "https://x.example/openai/deployments/dep"),
        ("gemini:gemini-2.5-flash", {}, "https://generativelanguage.googleapis.com/v1beta/openai"),
        (
            "vertex:gemini-2.5-pro",
            {"GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "europe-west1"},
            "https://europe-west1-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west1/endpoints/openapi",
        ),
        (
            "vertex:gemini-2.5-pro",
            {"GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "global"},
            "https://aiplatform.googleapis.com/v1/projects/p1/locations/global/endpoints/openapi",
        ),
        ("bedrock:m", {"AWS_REGION": "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com"),
        ("bedrock:m", {"AWS_DEFAULT_REGION": "us-east-1"}, "https://bedrock-runtime.us-east-1.amazonaws.com"),
        ("mistral:m", {}, "https://api.mistral.ai/v1"),
        ("deepseek:m", {}, "https://api.deepseek.com/v1"),
        ("groq:m", {}, "https://api.groq.com/openai/v1"),
        ("together:org/m", {}, "https://api.together.xyz/v1"),
        ("openrouter:org/m", {}, "https://openrouter.ai/api/v1"),
        ("ollama:m", {}, "http://localhost:11434/v1"),
        ("ollama:m", {"OLLAMA_HOST": "0.0.0.0:99"}, "http://127.0.0.1:99/v1"),
        ("ollama:m", {"OLLAMA_HOST": "box"}, "http://box:11434/v1"),
        ("vllm:org/m", {}, "http://localhost:8000/v1"),
    ],
)  # fmt: skip
def test_a_provider_has_its_address(
    spec: str, environment: dict[str, str], endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    model = parse_model(spec)
    assert (model.name, model.endpoint) == (spec, endpoint)


def test_a_variable_that_an_address_needs_is_named() -> None:
    for spec, variable in (("vertex:m", "GOOGLE_CLOUD_PROJECT"), ("bedrock:m", "AWS_REGION")):
        with pytest.raises(ModelError, match=variable):
            parse_model(spec)
    with pytest.raises(ModelError, match="azure:RESOURCE/DEPLOYMENT"):
        parse_model("azure:dep")


CHAT = [
    ("openai:gpt-x", "/v1", "/v1/chat/completions", "authorization", "gpt-x"),
    ("azure:dep", "", "/openai/deployments/dep/chat/completions?api-version=2024-10-21", "api-key", "dep"),
    ("gemini:g", "/v1beta/openai", "/v1beta/openai/chat/completions", "authorization", "g"),
    ("vertex:g", "", "/v1/projects/p1/locations/l1/endpoints/openapi/chat/completions", "authorization",
    "google/g"),
    ("mistral:m", "/v1", "/v1/chat/completions", "authorization", "m"),
    ("deepseek:m", "/v1", "/v1/chat/completions", "authorization", "m"),
    ("groq:m", "/openai/v1", "/openai/v1/chat/completions", "authorization", "m"),
    ("together:org/m", "/v1", "/v1/chat/completions", "authorization", "org/m"),
    ("openrouter:org/m", "/api/v1", "/api/v1/chat/completions", "authorization", "org/m"),
    ("ollama:m:7b", "/v1", "/v1/chat/completions", "", "m:7b"),
    ("vllm:org/m", "/v1", "/v1/chat/completions", "", "org/m"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "base", "path", "header", "name"), CHAT)
def test_a_provider_of_chat_completions_gets_its_path_its_key_and_its_model(
    spec: str, base: str, path: str, header: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = providers()[spec.partition(":")[0]]
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p1")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "l1")
    if provider.key_env:
        monkeypatch.setenv(provider.key_env, KEY)
    with FakeServer([chat("Fine. 4")]) as server:
        monkeypatch.setenv(provider.address_env, server.url + base)
        model, reply = ask(spec)
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", path)
    assert request.json["model"] == name
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("Fine. 4", 20, 5)
    sent = {header: value for header, value in request.headers.items() if KEY in value}
    assert sent == ({} if not header else {header: KEY if header == "api-key" else f"Bearer {KEY}"})
    assert model.is_local == (spec.startswith(("ollama:", "vllm:")))
    assert reply.cost_usd == (0.0 if model.is_local else None)


def test_azures_version_of_the_api_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AZURE_OPENAI_API_VERSION", "2025-01-01-preview")
    with FakeServer([chat()]) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        ask("azure:dep")
        assert server.requests[0].path.endswith("?api-version=2025-01-01-preview")


def converse(*blocks: dict[str, Any], stop: str = "end_turn") -> Answer:
    """An answer of Bedrock's Converse API."""
    return as_json(
        {
            "output": {"message": {"role": "assistant", "content": list(blocks)}},
            "stopReason": stop,
            "usage": {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17, "cacheReadInputTokens": 8},
            "metrics": {"latencyMs": 100},
        }
    )


@pytest.fixture
def _aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session-canary-5e21")


def test_bedrock_takes_an_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
    with FakeServer(
        [converse({"reasoningContent": {"reasoningText": {"text": "Hm."}}}, {"text": "Fine. 4"})]
    ) as server:
        monkeypatch.setenv("BEDROCK_BASE_URL", server.url)
        _, reply = ask("bedrock:us.anthropic.claude-v1:0", Parameters(temperature=0.0, max_tokens=300))
        (request,) = server.requests
    assert request.path == "/model/us.anthropic.claude-v1%3A0/converse"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {
        "messages": [{"role": "user", "content": [{"text": "Judge this."}]}],
        "system": [{"text": "You judge."}],
        "inferenceConfig": {"temperature": 0.0, "maxTokens": 300},
    }
    assert (reply.text, reply.reasoning, reply.finish) == ("Fine. 4", "Hm.", "stop")
    assert (reply.tokens_in, reply.tokens_out) == (20, 5)


@pytest.mark.usefixtures("_aws")
def test_bedrock_signs_requests_and_never_sends_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(
        [converse({"toolUse": {"toolUseId": "t", "name": "answer", "input": {"score": 4}}}, stop="tool_use")]
    ) as server:
        monkeypatch.setenv("BEDROCK_BASE_URL", server.url)
        _, reply = ask("bedrock:m:0", Parameters(temperature=0.0, schema=SCHEMA))
        (request,) = server.requests
    assert json.loads(reply.text) == {"score": 4}
    assert request.json["toolConfig"]["toolChoice"] == {"tool": {"name": "answer"}}
    assert KEY not in str(request.headers)
    assert request.headers["x-amz-security-token"] == "session-canary-5e21"
    when = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    credentials = Credentials("AKIDEXAMPLE", KEY, "session-canary-5e21")
    signed = signature(
        "POST",
        f"{server.url}{request.path}",
        {},
        request.body,
        credentials,
        SigningScope("us-east-1", "bedrock"),
        when,
    )
    assert request.headers["authorization"] == signed["Authorization"]


@pytest.mark.usefixtures("_aws")
def test_bedrock_without_tools_or_temperature_is_asked_again_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(request: Request) -> Answer:
        if "toolConfig" in request.json:
            return as_json({"message": "This model doesn't support tool use."}, 400)
        if "temperature" in request.json.get("inferenceConfig", {}):
            return as_json({"message": "temperature is deprecated for this model."}, 400)
        return converse({"text": '{"score": 4}'})

    with FakeServer(refuse) as server:
        monkeypatch.setenv("BEDROCK_BASE_URL", server.url)
        model, reply = ask("bedrock:m", Parameters(temperature=0.0, schema=SCHEMA, seed=7))
    assert reply.text == '{"score": 4}'
    assert model.refused == {"schema", "temperature"}
    assert any(text.startswith("seed 7 is not sent") for text in model.adjustments)


def test_bedrock_without_any_key_says_which_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    model = parse_model("bedrock:m")
    assert isinstance(model, BedrockModel)
    assert model.is_signed
    with pytest.raises(AuthError, match="AWS_SECRET_ACCESS_KEY"):
        model.check(Parameters())
    assert region_of("bedrock-runtime-fips.us-west-2.amazonaws.com") == "us-west-2"


# Signature Version 4. The first vectors are those of AWS's own test suite (aws-sig-v4-test-suite: one key,
# one moment, a service called "service"); the last is the GET example of the Amazon S3 API Reference, with
# its hash as a header.

SUITE = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("method", "url", "headers", "body", "signed"),
    [
        ("GET", "/", {}, b"", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("POST", "/", {}, b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "POST", "/", {"Content-Type": "application/x-www-form-urlencoded"}, b"Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
        (
            "GET", "/", {"My-Header1": "value2,value2,value1"}, b"",
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
        ),
        (
            "GET", "/", {"My-Header1": "value1,value2,value3"}, b"",
            "ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790",
        ),
    ],
    ids=["get-vanilla", "post-vanilla", "post-x-www-form-urlencoded", "get-header-key-duplicate",
    "get-header-value-multiline"],
)  # fmt: skip
def test_a_signature_is_that_of_the_test_suite_of_aws(
    method: str, url: str, headers: dict[str, str], body: bytes, signed: str
) -> None:
    when = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    made = signature(
        method,
        f"https://example.amazonaws.com{url}",
        headers,
        body,
        SUITE,
        SigningScope("us-east-1", "service"),
        when,
    )
    names = ";".join(sorted(["host", "x-amz-date", *(name.lower() for name in headers)]))
    assert made == {
        "x-amz-date": "20150830T123600Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signed}",
    }


def test_a_signature_is_that_of_the_example_of_s3() -> None:
    made = signature(
        "GET",
        "https://examplebucket.s3.amazonaws.com/test.txt",
        {"Range": "bytes=0-9", "x-amz-content-sha256": EMPTY},
        b"",
        Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        SigningScope("us-east-1", "s3"),
        datetime(2013, 5, 24, tzinfo=UTC),
    )
    expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    assert made["Authorization"].endswith(f"Signature={expected}")


# What users write, prices, thinking


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("openai/gpt-4o", "openai:gpt-4o"),
        ("anthropic/claude-x", "anthropic:claude-x"),
        ("gemini/gemini-2.5-pro", "gemini:gemini-2.5-pro"),
        ("vertex_ai/gemini-2.5-pro", "vertex:gemini-2.5-pro"),
        ("together_ai/org/m", "together:org/m"),
        ("openrouter/org/m", "openrouter:org/m"),
        ("azure/dep", "azure:RESOURCE/dep"),
        ("bedrock/amazon.nova-lite-v1:0", "bedrock:"),
        ("gpt-4o", "openai:gpt-4o"),
        ("gemini-2.5-pro", "gemini:gemini-2.5-pro"),
        ("mistral-large", "mistral:mistral-large"),
        ("meta-llama/Llama-3-8B", "http://HOST/v1#meta-llama/Llama-3-8B"),
    ],
)
def test_the_names_of_other_tools_get_the_right_suggestion(spec: str, meant: str) -> None:
    with pytest.raises(ModelError, match=f"Did you mean {re.escape(meant)}"):
        parse_model(spec)


def test_every_provider_is_listed() -> None:
    starts = {form.partition(":")[0] for form, _ in forms()}
    assert starts >= {
        "openai", "azure", "gemini", "anthropic", "bedrock", "vertex", "mistral", "deepseek", "groq",
        "together",
        "openrouter", "ollama", "vllm",
    }  # fmt: skip


def test_a_published_price_is_an_estimate_with_its_date_and_a_given_price_wins() -> None:
    model = parse_model("openai:gpt-6-luna-2026-10-06")
    assert model.price == (0.10, 0.50)
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", model.price_date)
    assert model.cost(1_000_000, 1_000_000) == pytest.approx(0.6)
    given = parse_model("openai:gpt-6-luna", price=(1.0, 2.0))
    assert (given.price, given.price_date) == ((1.0, 2.0), "")
    assert parse_model("openai:gpt-unheard-of").price is None
    assert list_price("openai", "gpt-6-lunatic") is None


@pytest.mark.parametrize(
    ("spec", "base", "sent"),
    [
        ("openai:gpt-x", "/v1", {"reasoning_effort": "low"}),
        ("gemini:g", "", {"extra_body": {"google": {"thinking_config": {"thinking_budget": 512}}}}),
        ("openrouter:o/m", "", {"reasoning": {"max_tokens": 512}}),
        ("anthropic:claude-x", "", {"thinking": {"type": "enabled", "budget_tokens": 512},
        "output_config": {"effort": "low"}}),
        ("bedrock:m", "", {"additionalModelRequestFields": {"thinking": {"type": "enabled",
        "budget_tokens": 512}}}),
    ],
)  # fmt: skip
def test_thinking_is_sent_in_the_form_of_the_provider(
    spec: str, base: str, sent: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = providers()[spec.partition(":")[0]]
    monkeypatch.setenv(provider.key_env, KEY)
    answer = {
        "chat": chat(),
        "messages": message({"type": "text", "text": "4"}),
        "converse": converse({"text": "4"}),
    }
    with FakeServer([answer[provider.wire]]) as server:
        monkeypatch.setenv(provider.address_env, server.url + base)
        params = Parameters(temperature=0.0, max_tokens=100, reasoning_effort="low", thinking_tokens=512)
        model, reply = ask(spec, params)
        request = server.requests[0].json
    assert {name: request.get(name) for name in sent} == sent
    assert reply.text == "4"
    if provider.wire != "chat":
        assert "temperature" not in request
        assert request.get("max_tokens", request.get("inferenceConfig", {}).get("maxTokens")) == 612
    left_out = [text for text in model.adjustments if "thinking_tokens" in text]
    assert bool(left_out) == (spec == "openai:gpt-x")


def test_reasoning_tokens_that_stand_in_the_total_alone_are_counted_and_paid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = json.loads(chat("4").body)
    body["usage"] = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 211}
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    with FakeServer([as_json(body)]) as server:
        monkeypatch.setenv("GEMINI_BASE_URL", server.url)
        _, reply = ask("gemini:gemini-2.5-flash-lite")
    assert (reply.tokens_in, reply.tokens_out) == (10, 201)
    assert reply.cost_usd == pytest.approx((10 * 0.10 + 201 * 0.40) / 1e6)


# Headers of one model


def test_headers_belong_to_their_model_and_never_stand_in_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_TOKEN", "gate-canary-11aa22bb")
    with FakeServer([chat("Seen gate-canary-11aa22bb and plain-canary-33cc44. 4")]) as server:
        headers = {"X-Team": "search", "X-Gate": "$GATE_TOKEN", "X-Plain": "plain-canary-33cc44"}
        _, reply = ask(NamedModel(model=f"{server.url}/v1#m", headers=headers))
        sent = server.requests[0].headers
    assert (sent["x-team"], sent["x-gate"]) == ("search", "gate-canary-11aa22bb")
    assert "canary" not in reply.text


@pytest.mark.parametrize("name", ["Host", "content-length", "Bad Name", "X\r\nY"])
def test_a_header_that_would_change_the_request_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match="header"):
        parse_model(NamedModel(model="http://h/v1#m", headers={name: "x"}))
    with pytest.raises(ModelError, match="header"):
        parse_model(NamedModel(model="http://h/v1#m", headers={"X-A": "x\r\nEvil: 1"}))


# A thousand judgments by each wire format, from a host with faults


def faulty(wire: str) -> Any:
    """A host that answers in its own format, and is overloaded, limited or broken for every seventh
    request."""

    def plan(request: Request) -> Answer:
        text = request.body.decode()
        number = int(re.search(r"answer (\d+)\.", text)[1])  # type: ignore[index]
        seen[number] = seen.get(number, 0) + 1
        if number % 7 == 0 and seen[number] == 1:
            return (
                error(503, "overloaded"), error(429, "Rate limit reached"), Answer(500, b"<html>"),
                Answer(wire="close"),
            )[number // 7 % 4]  # fmt: skip
        reply = f"Fine. [RESULT] {number % 5 + 1}"
        return {
            "chat": chat(reply),
            "messages": message({"type": "text", "text": reply}),
            "converse": converse({"text": reply}),
        }[wire]

    seen: dict[int, int] = {}
    return plan


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["azure:dep", "anthropic:claude-x", "bedrock:m:0"])
def test_a_thousand_judgments_of_a_faulty_host_lose_none(
    spec: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = providers()[spec.partition(":")[0]]
    monkeypatch.setenv(provider.key_env, KEY)
    items, store = answers(tmp_path / "items.jsonl", 1000), tmp_path / "adjudge.db"
    rubric = tmp_path / "tact.toml"
    rubric.write_text('criterion = "Is it fine?"\n', encoding="utf-8")
    with FakeServer(faulty(provider.wire)) as server:
        monkeypatch.setenv(provider.address_env, server.url)
        done = adjudge(
            "run", items, "-p", "prometheus/direct", "--rubric", rubric, "-m", spec, "--store", store, "-q"
        )  # fmt: skip
    assert done.code == 0, done.err
    assert adjudge("export", "last", "--store", store, "-o", tmp_path / "rows.jsonl").code == 0
    rows = read_rows(tmp_path / "rows.jsonl")
    assert len(rows) == 1000
    assert {row["status"] for row in rows} == {"ok"}
    assert all(row["score"] == int(row["item"][1:]) % 5 + 1 for row in rows)
