"""Exports of Langfuse: traces with observations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ..json_rows import Row
from ..table import Problems
from .calls import TracedCall, assembled
from .trace import Trace
from .values import object_of, parsed, text_of


def read_langfuse(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    return assembled(
        (call for number, record in records for call in _langfuse_calls(number, record)), problems
    )


def _langfuse_calls(number: int, record: Row) -> Iterator[TracedCall]:
    """The observations of a trace, with the trace itself as their root; or one observation of an export."""
    if not isinstance(record.get("observations"), list):
        yield _observation(number, record, text_of(record.get("traceId")), text_of(record.get("sessionId")))
        return
    trace = object_of(record.get("trace")) or record
    trace_id, group = text_of(trace.get("id")), text_of(trace.get("sessionId"))
    yield TracedCall(
        number, trace_id, trace_id, "", "", "other", text_of(trace.get("name")), trace.get("input"),
        trace.get("output"), group=group,
    )  # fmt: skip
    for observation in record["observations"]:
        if isinstance(observation, dict):
            call = _observation(number, observation, trace_id, group)
            yield call if call.parent else call._replace(parent=trace_id)


def _observation(number: int, observation: Row, trace: str, group: str) -> TracedCall:
    kinds: dict[str, Literal["model", "tool"]] = {"GENERATION": "model", "TOOL": "tool"}
    is_error = observation.get("level") == "ERROR"
    return TracedCall(
        number=number,
        trace=text_of(observation.get("traceId")) or trace,
        id=text_of(observation.get("id")),
        parent=text_of(observation.get("parentObservationId")),
        at=text_of(observation.get("startTime")),
        kind=kinds.get(text_of(observation.get("type")).upper(), "other"),
        name=text_of(observation.get("name")),
        input=parsed(observation.get("input")),
        output=parsed(observation.get("output")),
        error=(text_of(observation.get("statusMessage")) or "failed") if is_error else "",
        system=text_of(observation.get("model") or observation.get("providedModelName")),
        group=group,
    )
