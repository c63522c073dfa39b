"""Batch requests and answers, held against the types of the providers' own SDKs; skipped where those are not
installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import adjudge
from adjudge.engine import batching
from adjudge.models import parse_model
from adjudge.models.batch_apis import anthropic_batches, openai_batches
from adjudge.models.batch_apis.base import RemoteBatch
from fakebatches import FakeBatches

PAIR = {
    "id": "1",
    "task": "Greet.",
    "response_a": "Hello.",
    "response_b": "Go away.",
    "system_a": "a",
    "system_b": "b",
}
PLAIN = {"id": "1", "summary": "A fine pen.", "reviews": "Writes."}
WHY = "the SDK is not installed (extra oracles)"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBatches]:
    monkeypatch.setattr(batching, "POLL_SECONDS", 0.01)
    with FakeBatches() as host:
        for name, value in host.environment().items():
            monkeypatch.setenv(name, value)
        yield host


def checked(kind: Any, value: dict[str, Any]) -> None:
    """The value is of a typed dictionary's type, down to its last part, and has no key that the type does not
    have."""
    from pydantic import TypeAdapter

    unknown = value.keys() - get_type_hints(kind).keys()
    assert not unknown
    _consume(TypeAdapter(kind).validate_python(value))


def _consume(value: Any) -> None:
    """Iterables are validated only as they are read."""
    if isinstance(value, dict):
        for part in value.values():
            _consume(part)
    elif not isinstance(value, str | int | float | None):
        for part in value:
            _consume(part)


def submit(model: str, store: Path) -> None:
    """Calls of two protocols, one with a schema, with all parameters that a run may set."""
    options: dict[str, Any] = {
        "batch": True, "store": store, "max_tokens": 300, "temperature": 0.5, "seed": 7,
        "reasoning_effort": "low",
    }  # fmt: skip
    adjudge.run([PLAIN], "opinion-summary/fluency", model, **options)
    adjudge.run([PAIR], "geval/compare", model, **options)


@pytest.mark.parametrize("model", ["openai:gpt-4.1-mini", "gemini:gemini-2.5-flash", "azure:judge"])
def test_lines_and_batches_are_of_the_types_of_openais_sdk(
    host: FakeBatches, tmp_path: Path, model: str
) -> None:
    pytest.importorskip("openai", reason=WHY)
    from openai.types.batch_create_params import BatchCreateParams
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    submit(model, tmp_path / "s.db")
    created = [
        request for request in host.server.requests if request.path.partition("?")[0].endswith("/batches")
    ]
    assert len(created) == 2
    for request in created:
        body = request.json
        if model.startswith("azure"):
            assert body["endpoint"] == "/chat/completions"  # Azure's own, which OpenAI's type does not list
            body["endpoint"] = "/v1/chat/completions"
        checked(BatchCreateParams, body)
    lines = [
        json.loads(line) for name, file in host.files.items() if "in-" in name for line in file.splitlines()
    ]
    assert len(lines) == 3
    for line in lines:
        assert line.keys() == {"custom_id", "method", "url", "body"}
        assert (line["method"], line["url"].removeprefix("/v1")) == ("POST", "/chat/completions")
        checked(CompletionCreateParamsNonStreaming, line["body"])
    assert any("response_format" in line["body"] for line in lines)


@pytest.mark.slow
def test_requests_are_of_the_types_of_anthropics_sdk(host: FakeBatches, tmp_path: Path) -> None:
    pytest.importorskip("anthropic", reason=WHY)
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
    from anthropic.types.messages.batch_create_params import BatchCreateParams, Request

    submit("anthropic:claude-haiku-4-5", tmp_path / "s.db")
    created = [request.json for request in host.server.requests if request.method == "POST"]
    assert len(created) == 2
    for body in created:
        checked(BatchCreateParams, body)
        for request in body["requests"]:
            checked(Request, request)
            # Newer versions of the SDK have no temperature. Models that refuse it are asked again without it.
            assert request["params"].pop("temperature") == 0.5
            checked(MessageCreateParamsNonStreaming, request["params"])
    assert any("tools" in request["params"] for body in created for request in body["requests"])


def test_openais_sdk_reads_what_the_fake_host_answers(host: FakeBatches, tmp_path: Path) -> None:
    openai = pytest.importorskip("openai", reason=WHY)
    submit("openai:gpt-4.1-mini", tmp_path / "s.db")
    with openai.OpenAI(base_url=f"{host.url}/v1", api_key="x" * 20, max_retries=0) as client:
        listed = list(client.batches.list(limit=1))
        assert [batch.id for batch in listed] == ["batch_1", "batch_0"]
        batch = client.batches.retrieve("batch_0")
        assert batch.status == "completed"
        lines = client.files.content(batch.output_file_id).text.splitlines()
    ours = openai_batches.OpenAIBatches(parse_model("openai:gpt-4.1-mini"))._read(batch.to_dict())  # type: ignore[arg-type]
    assert (ours.phase, ours.name, ours.file, ours.outputs) == (
        "ended", batch.metadata["adjudge"], batch.input_file_id, (batch.output_file_id,),
    )  # fmt: skip
    assert lines[0].startswith('{"id": "batch_req_')


def test_anthropics_sdk_reads_what_the_fake_host_answers(host: FakeBatches, tmp_path: Path) -> None:
    anthropic = pytest.importorskip("anthropic", reason=WHY)
    submit("anthropic:claude-haiku-4-5", tmp_path / "s.db")
    with anthropic.Anthropic(base_url=host.url, api_key="x" * 20, max_retries=0) as client:
        assert [batch.id for batch in client.messages.batches.list(limit=1)] == ["msgbatch_1", "msgbatch_0"]
        batch = client.messages.batches.retrieve("msgbatch_0")
    ours = anthropic_batches.AnthropicBatches(parse_model("anthropic:claude-haiku-4-5"))._read(
        batch.to_dict()
    )  # type: ignore[arg-type]
    assert (ours.id, ours.phase, ours.n_calls, ours.outputs) == ("msgbatch_0", "ended", 1, ("msgbatch_0",))


def phases(read: Callable[[str], RemoteBatch], states: list[str]) -> dict[str, str]:
    return {state: read(state).phase for state in states}


def test_every_state_of_openais_sdk_has_a_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    openai = pytest.importorskip("openai", reason=WHY)
    from typing import get_args

    monkeypatch.setenv("OPENAI_API_KEY", "x" * 20)
    states = list(get_args(openai.types.Batch.model_fields["status"].annotation))
    api: Any = parse_model("openai:gpt-4.1-mini").batch_api()
    assert phases(lambda state: api._read({"id": "b", "status": state}), states) == {
        "validating": "open", "in_progress": "open", "finalizing": "open", "cancelling": "open",
        "completed": "ended", "expired": "ended", "cancelled": "ended", "failed": "failed",
    }  # fmt: skip


def test_every_state_of_anthropics_sdk_has_a_phase() -> None:
    anthropic = pytest.importorskip("anthropic", reason=WHY)
    from typing import get_args

    states = list(
        get_args(anthropic.types.messages.MessageBatch.model_fields["processing_status"].annotation)
    )
    api: Any = parse_model("anthropic:claude-haiku-4-5").batch_api()
    assert phases(lambda state: api._read({"id": "b", "processing_status": state}), states) == {
        "in_progress": "open", "canceling": "open", "ended": "ended",
    }  # fmt: skip


def test_every_state_of_googles_sdk_has_a_phase_and_the_upload_is_of_its_type() -> None:
    pytest.importorskip("google.genai", reason=WHY)
    from google.genai import types

    api: Any = parse_model("gemini:gemini-2.5-flash").batch_api()
    states = [state.value for state in types.JobState]
    found = phases(
        lambda state: api._read_native({"name": "batches/1", "metadata": {"state": state}}), states
    )
    assert {state for state, phase in found.items() if phase != "open"} == {
        "JOB_STATE_SUCCEEDED", "JOB_STATE_PARTIALLY_SUCCEEDED", "JOB_STATE_CANCELLED", "JOB_STATE_EXPIRED",
        "JOB_STATE_FAILED",
    }  # fmt: skip
    assert found["JOB_STATE_FAILED"] == "failed"
    assert types.File.model_validate({"displayName": "adjudge-1"}).display_name == "adjudge-1"


def test_googles_sdk_uploads_lists_and_downloads_at_the_same_addresses(
    host: FakeBatches, tmp_path: Path
) -> None:
    genai = pytest.importorskip("google.genai", reason=WHY)
    adjudge.run(
        [PLAIN],
        "opinion-summary/fluency",
        "gemini:gemini-2.5-flash",
        batch=True,
        wait=True,
        store=tmp_path / "s.db",
    )
    ours = {(request.method, request.path.partition("?")[0]) for request in host.server.requests}
    host.server.requests.clear()
    client = genai.Client(api_key="x" * 20, http_options={"base_url": host.url, "api_version": "v1beta"})
    (tmp_path / "lines.jsonl").write_text("{}\n")
    client.files.upload(file=tmp_path / "lines.jsonl", config={"mime_type": "application/jsonl"})
    (batch,) = list(client.batches.list())
    assert batch.name == "batches/b0"
    output = next(name for name in host.files if "output" in name)
    assert client.files.download(file=output) == host.files[output]
    theirs = {(request.method, request.path.partition("?")[0]) for request in host.server.requests}
    assert theirs - {("GET", "/v1beta/batches")} <= ours


def test_a_line_whose_id_is_a_number_is_no_line_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    api = parse_model("openai:gpt-4.1-mini").batch_api()
    assert api is not None
    answer = {"status_code": 200, "body": {"choices": []}}
    assert api.read_line(json.dumps({"custom_id": 7, "response": answer}).encode()) is None
    assert api.read_line(json.dumps({"custom_id": "7", "response": answer}).encode()) is not None
