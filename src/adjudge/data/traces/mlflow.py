"""Traces of MLflow: `trace.to_json()`, rows of `search_traces()`, and spans with its attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..json_rows import Row
from ..table import Problems
from .calls import CallKind, TracedCall, assembled
from .spans import Span, span_of
from .trace import Trace
from .values import first_of, list_of, object_of, parsed, text_of, unquoted

CONTENTS = "mlflow.spanInputs, mlflow.spanOutputs"
_KINDS: Mapping[str, CallKind] = {
    "LLM": "model",
    "CHAT_MODEL": "model",
    "TOOL": "tool",
    "RETRIEVER": "retriever",
    "RERANKER": "reranker",
    **dict.fromkeys(("EMBEDDING", "GUARDRAIL", "EVALUATOR", "PARSER", "MEMORY"), "aside"),
}


def mlflow_call(span: Span) -> TracedCall | None:
    """The call in a span with MLflow's attributes; none where it has none."""
    if not any(key.startswith("mlflow.") for key in span.attributes):
        return None
    kind = _KINDS.get(text_of(unquoted(span.get("mlflow.spanType"))).upper(), "other")
    return TracedCall(
        number=span.number,
        trace=text_of(unquoted(span.get("mlflow.traceRequestId"))) or span.trace,
        id=span.id,
        parent=span.parent,
        at=span.at,
        kind=kind,
        name=span.name,
        input=unquoted(span.get("mlflow.spanInputs")),
        output=unquoted(span.get("mlflow.spanOutputs")),
        error=span.error,
        tool_call_id=text_of(unquoted(span.get("tool_call_id"))),
        system=text_of(unquoted(span.get("mlflow.llm.model", "model"))),
        group=text_of(unquoted(span.get("mlflow.trace.session", "session.id"))),
        tools=tuple(list_of(unquoted(span.get("mlflow.chat.tools")))),
    )


def is_mlflow(record: Row) -> bool:
    """Whether a record is a trace with `info` and `data`, or a row of `search_traces()`, which has it as JSON
    in `trace`."""
    whole = _whole(record)
    return isinstance(whole.get("info"), dict) and isinstance(object_of(whole.get("data")).get("spans"), list)


def _whole(record: Row) -> Row:
    inner = parsed(record.get("trace"))
    return inner if isinstance(inner, dict) and "info" in inner else record


def read_mlflow(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    searched = f"the attributes {CONTENTS}"
    return assembled(
        (call for number, record in records for call in _calls(number, _whole(record))), problems, searched
    )


def _calls(number: int, record: Row) -> Iterator[TracedCall]:
    """The spans of a trace, with its session as their group."""
    info = object_of(record.get("info"))
    metadata = object_of(first_of(info, ("trace_metadata", "request_metadata")))
    trace = text_of(first_of(info, ("trace_id", "request_id")))
    group = text_of(metadata.get("mlflow.trace.session"))
    for entry in list_of(object_of(record.get("data")).get("spans")):
        span = span_of(number, object_of(entry))
        call = mlflow_call(span) or _bare(span)
        yield call._replace(trace=trace or call.trace, group=group or call.group)


def _bare(span: Span) -> TracedCall:
    return TracedCall(
        span.number, span.trace, span.id, span.parent, span.at, "other", span.name, None, None, span.error
    )
