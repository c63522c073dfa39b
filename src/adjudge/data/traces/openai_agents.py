"""Exports of the OpenAI Agents SDK: `trace.export()` and `span.export()`, one per line or in a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..json_rows import Row
from ..table import Problems
from .calls import CallKind, TracedCall, assembled
from .trace import Trace
from .values import first_of, object_of, parsed, text_of

_KINDS: Mapping[str, CallKind] = {
    "generation": "model",
    "response": "model",
    "function": "tool",
    **dict.fromkeys(("guardrail", "speech", "speech_group", "transcription", "mcp_tools"), "aside"),
}
_SEARCHED = (
    "'input' and 'output' of generations and functions, and 'input' with 'response' of responses. The SDK"
    " exports a response by its id alone: add span.span_data.input and span.span_data.response.output to what"
    " you write in your trace processor"
)


def is_agents_export(record: Row) -> bool:
    return record.get("object") in ("trace", "trace.span")


def read_openai_agents(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    groups = {
        text_of(record.get("id")): (text_of(record.get("group_id")), text_of(record.get("workflow_name")))
        for _, record in records
        if record.get("object") == "trace"
    }
    calls = [_call(number, record, groups) for number, record in records if record.get("object") != "trace"]
    known = {call.trace for call in calls}
    empty = [
        TracedCall(number, text_of(record.get("id")), "", "", "", "other", "", None, None)
        for number, record in records
        if record.get("object") == "trace" and text_of(record.get("id")) not in known
    ]
    return assembled([*calls, *empty], problems, _SEARCHED)


def _call(number: int, record: Row, groups: Mapping[str, tuple[str, str]]) -> TracedCall:
    data = object_of(record.get("span_data"))
    kind = _KINDS.get(text_of(data.get("type")), "other")
    trace = text_of(record.get("trace_id"))
    group, workflow = groups.get(trace, ("", ""))
    is_agent = data.get("type") == "agent"
    error = object_of(record.get("error"))
    return TracedCall(
        number=number,
        trace=trace,
        id=text_of(record.get("id")),
        parent=text_of(record.get("parent_id")),
        at=text_of(record.get("started_at")),
        kind=kind,
        # Every agent has a separate name; tasks and turns are named alike in all traces.
        name=text_of(data.get("name")) if is_agent or kind == "tool" else "",
        input=_input(data),
        output=parsed(first_of(data, ("output", "response"))) if kind != "other" else None,
        error=(text_of(error.get("message")) or "failed") if error else "",
        system=text_of(first_of(data, ("model",)) or object_of(data.get("response")).get("model"))
        or workflow,
        group=group,
    )


def _input(data: Row) -> Any:
    """The input of a span; that of a response with the instructions that its response repeats."""
    given = parsed(data.get("input"))
    instructions = object_of(data.get("response")).get("instructions")
    if given is None or not isinstance(instructions, str):
        return given
    return {"instructions": instructions, "input": given}
