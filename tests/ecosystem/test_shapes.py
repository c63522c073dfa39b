"""What is sent to Langfuse, LangSmith and collectors of OpenTelemetry, read by the types of their own SDKs.

Each is skipped where its package is not installed (`make ecosystem`).
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from adjudge.platforms.langfuse import _COLUMNS, langfuse_score
from adjudge.platforms.langsmith import feedback_of
from adjudge.platforms.otlp import logs_of, spans_of
from adjudge.platforms.score import PlatformScore

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]

TRACE = "0af7651916cd43dd8448eb211c80319c"


def score(value: float | str | None, error: str = "") -> PlatformScore:
    return PlatformScore(
        "0a97ad74-7cd8-5693-a13f-b34075590fc0", "b2ef7954", TRACE, "tact", value, "Because.", error, "judge",
        {"adjudge.status": error or "ok"},
    )  # fmt: skip


SCORES = [score(4.0), score("a"), score(None, "unparsed")]


def test_scores_of_langfuse() -> None:
    pytest.importorskip("langfuse")
    from langfuse.api.scores.types import ScoreBody

    fields = {
        next((note.alias for note in field.metadata if hasattr(note, "alias")), name): name
        for name, field in ScoreBody.model_fields.items()
    }
    sent = [langfuse_score(one) for one in SCORES]  # a key that Langfuse does not know is a KeyError
    read = [ScoreBody.model_validate({fields[key]: value for key, value in one.items()}) for one in sent]
    assert [(one.value, one.data_type) for one in read] == [
        (4.0, "NUMERIC"), ("a", "CATEGORICAL"), ("error: unparsed", "CATEGORICAL"),
    ]  # fmt: skip
    assert all(one.trace_id == TRACE and one.id and one.comment == "Because." for one in read)


def test_the_addresses_of_langfuse() -> None:
    """The columns and parameters that traces are asked for by."""
    client = pytest.importorskip("langfuse.api.observations.client")
    described = client.ObservationsClient.get_many.__doc__
    for column in ("isRootObservation", "startTime", "tags", *_COLUMNS.values()):
        assert f"`{column}`" in described
    for group in ("core", "basic", "io", "model", "trace_context"):
        assert f"`{group}`" in described


def test_feedback_of_langsmith() -> None:
    schemas = pytest.importorskip("langsmith.schemas")
    sent = [feedback_of(one) for one in SCORES]
    read = [schemas.FeedbackCreate.model_validate(one) for one in sent]
    assert [(one.score, one.value, one.error) for one in read] == [
        (4.0, None, None), (None, "a", None), (None, "error: unparsed", True),
    ]  # fmt: skip
    assert all(set(one) <= set(schemas.FeedbackCreate.model_fields) for one in sent)


def in_base64(value: Any) -> Any:
    """OTLP writes ids in hexadecimal, where JSON of protocol buffers has base64."""
    if isinstance(value, list):
        return [in_base64(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(one)).decode() if key in ("traceId", "spanId") else in_base64(one)
        for key, one in value.items()
    }


def test_events_of_opentelemetry() -> None:
    """An unknown field, or one of another type, is an error of the parser."""
    pytest.importorskip("opentelemetry.proto")
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    logs = ParseDict(in_base64(json.loads(json.dumps(logs_of(SCORES)))), ExportLogsServiceRequest())
    records = logs.resource_logs[0].scope_logs[0].log_records
    assert {one.event_name for one in records} == {"gen_ai.evaluation.result"}
    assert [one.trace_id.hex() for one in records] == [TRACE] * 3
    spans = ParseDict(in_base64(json.loads(json.dumps(spans_of(SCORES)))), ExportTraceServiceRequest())
    (events,) = zip(*(one.events for one in spans.resource_spans[0].scope_spans[0].spans), strict=True)
    assert {one.name for one in events} == {"gen_ai.evaluation.result"}
    for found in (records, events):
        values = [{pair.key: pair.value for pair in one.attributes} for one in found]
        assert [one["gen_ai.evaluation.name"].string_value for one in values] == ["tact"] * 3
        assert values[0]["gen_ai.evaluation.score.value"].double_value == 4.0
        assert values[1]["gen_ai.evaluation.score.label"].string_value == "a"
        assert values[2]["error.type"].string_value == "unparsed"
        assert not any(key.startswith("gen_ai.evaluation.score") for key in values[2])
