"""Exports of Langfuse (traces with observations), and the spans that its SDK sends
(`langfuse.observation.*`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..json_rows import Row
from ..table import Problems
from .calls import CallKind, TracedCall, assembled
from .spans import Span
from .trace import Trace
from .values import object_of, parsed, text_of

CONTENTS = "langfuse.observation.input, langfuse.observation.output"
_KINDS: Mapping[str, CallKind] = {
    "GENERATION": "model",
    "TOOL": "tool",
    "RETRIEVER": "retriever",
    **dict.fromkeys(("EMBEDDING", "GUARDRAIL", "EVALUATOR", "EVENT"), "aside"),
}


def langfuse_call(span: Span) -> TracedCall | None:
    """The call in a span of Langfuse's SDK; none where it is none."""
    if not any(key.startswith("langfuse.") for key in span.attributes):
        return None
    kind = _KINDS.get(text_of(span.get("langfuse.observation.type")).upper(), "other")
    is_error = text_of(span.get("langfuse.observation.level")) == "ERROR"
    said = text_of(span.get("langfuse.observation.status_message")) or "failed"
    return TracedCall(
        number=span.number,
        trace=span.trace,
        id=span.id,
        parent=span.parent,
        at=span.at,
        kind=kind,
        name=("" if span.parent else text_of(span.get("langfuse.trace.name"))) or span.name,
        input=parsed(span.get("langfuse.observation.input", "langfuse.trace.input")),
        output=parsed(span.get("langfuse.observation.output", "langfuse.trace.output")),
        error=span.error or (said if is_error else ""),
        tool_call_id=text_of(span.get("langfuse.observation.metadata.tool_call_id")).strip('"'),
        system=text_of(span.get("langfuse.observation.model.name")),
        group=text_of(span.get("session.id", "langfuse.session.id")),
    )


def read_langfuse(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    calls = (call for number, record in records for call in _langfuse_calls(number, record))
    return assembled(calls, problems, "'input' and 'output', of the trace and of its observations")


def _langfuse_calls(number: int, record: Row) -> Iterator[TracedCall]:
    """The observations of a trace, with the trace itself as their root; or one observation of an export."""
    if not isinstance(record.get("observations"), list):
        yield _observation(number, record, text_of(record.get("traceId")), text_of(record.get("sessionId")))
        return
    trace = object_of(record.get("trace")) or record
    trace_id, group = text_of(trace.get("id")), text_of(trace.get("sessionId"))
    yield TracedCall(
        number, trace_id, trace_id, "", "", "other", text_of(trace.get("name")), parsed(trace.get("input")),
        parsed(trace.get("output")), group=group,
    )  # fmt: skip
    for observation in record["observations"]:
        if isinstance(observation, dict):
            call = _observation(number, observation, trace_id, group)
            yield call if call.parent else call._replace(parent=trace_id)


def _observation(number: int, observation: Row, trace: str, group: str) -> TracedCall:
    is_error = observation.get("level") == "ERROR"
    return TracedCall(
        number=number,
        trace=text_of(observation.get("traceId")) or trace,
        id=text_of(observation.get("id")),
        parent=text_of(observation.get("parentObservationId")),
        at=text_of(observation.get("startTime")),
        kind=_KINDS.get(text_of(observation.get("type")).upper(), "other"),
        name=text_of(observation.get("name")),
        input=parsed(observation.get("input")),
        output=parsed(observation.get("output")),
        error=(text_of(observation.get("statusMessage")) or "failed") if is_error else "",
        system=text_of(observation.get("model") or observation.get("providedModelName")),
        group=group,
    )
