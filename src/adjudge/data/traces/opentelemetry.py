"""Spans of OpenTelemetry, by its conventions for generative AI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from ..json_rows import Row
from ..table import Problems
from .calls import TracedCall, assembled
from .messages import part_of
from .trace import Trace
from .values import object_of, parsed, text_of


def read_opentelemetry(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    return assembled(
        (_span(number, span, service) for number, record in records for span, service in _spans(record)),
        problems,
    )


def _spans(record: Row) -> Iterator[tuple[Row, str]]:
    """The spans of an OTLP request with the name of their service; or one span alone."""
    if "resourceSpans" not in record:
        yield record, text_of(object_of(record.get("resource")).get("service.name"))
        return
    for resource in record["resourceSpans"] or ():
        attributes = _attributes(object_of(object_of(resource).get("resource")).get("attributes"))
        for scope in object_of(resource).get("scopeSpans") or ():
            for span in object_of(scope).get("spans") or ():
                if isinstance(span, dict):
                    yield span, text_of(attributes.get("service.name"))


def _attributes(value: object) -> dict[str, Any]:
    """Attributes as a mapping, from OTLP's list of keys and typed values or as they are."""
    if isinstance(value, dict):
        return value
    pairs = value if isinstance(value, list) else []
    return {str(pair.get("key")): _any_value(pair.get("value")) for pair in pairs if isinstance(pair, dict)}


def _any_value(value: object) -> Any:
    inner = object_of(value)
    if "kvlistValue" in inner:
        return _attributes(object_of(inner["kvlistValue"]).get("values"))
    if "arrayValue" in inner:
        return [_any_value(entry) for entry in object_of(inner["arrayValue"]).get("values") or ()]
    return next(iter(inner.values()), None)


_MODEL_OPERATIONS = ("chat", "text_completion", "generate_content")


def _span(number: int, span: Row, service: str) -> TracedCall:
    context = object_of(span.get("context"))
    attributes = _attributes(span.get("attributes"))
    for event in span.get("events") or ():
        # Some exporters put the messages into an event of the span.
        attributes = {**_attributes(object_of(event).get("attributes")), **attributes}
    operation = text_of(attributes.get("gen_ai.operation.name"))
    has_messages = "gen_ai.input.messages" in attributes or "gen_ai.output.messages" in attributes
    is_agent = operation in ("invoke_agent", "create_agent", "invoke_workflow")
    kind: Literal["model", "tool", "other"] = "other"
    if operation == "execute_tool":
        kind = "tool"
    elif operation in _MODEL_OPERATIONS or (has_messages and not is_agent):
        kind = "model"
    status = object_of(span.get("status"))
    is_error = text_of(status.get("code") or status.get("status_code")) in ("2", "ERROR", "STATUS_CODE_ERROR")
    system = parsed(attributes.get("gen_ai.system_instructions"))
    before = (
        ({"role": "system", "content": [part_of(part) for part in system]},)
        if isinstance(system, list)
        else ()
    )
    start = text_of(span.get("startTimeUnixNano") or span.get("start_time") or span.get("startTime"))
    is_tool = kind == "tool"
    return TracedCall(
        number=number,
        trace=text_of(span.get("traceId") or span.get("trace_id") or context.get("trace_id")),
        id=text_of(span.get("spanId") or span.get("span_id") or context.get("span_id")),
        parent=text_of(span.get("parentSpanId") or span.get("parent_id") or span.get("parent_span_id")),
        at=start.zfill(24) if start.isdecimal() else start,
        kind=kind,
        name=text_of(attributes.get("gen_ai.tool.name") if is_tool else attributes.get("gen_ai.agent.name"))
        or (service if kind == "other" else text_of(span.get("name"))),
        input=parsed(attributes.get("gen_ai.tool.call.arguments" if is_tool else "gen_ai.input.messages")),
        output=parsed(attributes.get("gen_ai.tool.call.result" if is_tool else "gen_ai.output.messages")),
        error=(text_of(status.get("message") or status.get("description")) or "failed") if is_error else "",
        tool_call_id=text_of(attributes.get("gen_ai.tool.call.id")),
        system=text_of(attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")),
        group=text_of(attributes.get("gen_ai.conversation.id")),
        before=before,
    )
