"""Spans of OpenTelemetry in their spellings: OTLP in JSON, the SDK's own JSON, Phoenix' client and its
tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..json_rows import Row
from .values import first_of, hex_id, list_of, object_of, text_of


class Span(NamedTuple):
    """One span, before its attributes are read by a convention."""

    number: int
    trace: str
    id: str
    parent: str
    at: str
    name: str
    service: str
    kind: str
    """what Phoenix calls the kind of a span, beside the attributes"""
    error: str
    attributes: Mapping[str, Any]

    def get(self, *names: str) -> Any:
        """The first of these attributes that has a value."""
        return first_of(self.attributes, names)


def is_span(record: Row) -> bool:
    has_id = any(key in record for key in ("traceId", "trace_id", "context.trace_id"))
    has_id = has_id or isinstance(record.get("context"), dict)
    return has_id and ("attributes" in record or any(key.startswith("attributes.") for key in record))


def is_request(record: Row) -> bool:
    """Whether a record is an OTLP request, which holds the spans of a resource."""
    return "resourceSpans" in record or "resource_spans" in record


def spans_in(number: int, record: Row) -> Iterator[Span]:
    """The spans of an OTLP request with the name of their service; or one span alone."""
    if not is_request(record):
        resource = object_of(record.get("resource"))
        attributes = span_attributes(resource.get("attributes")) or resource
        yield span_of(number, record, text_of(attributes.get("service.name")))
        return
    for resource in list_of(first_of(record, ("resourceSpans", "resource_spans"))):
        attributes = span_attributes(object_of(object_of(resource).get("resource")).get("attributes"))
        for scope in list_of(first_of(object_of(resource), ("scopeSpans", "scope_spans"))):
            for span in list_of(object_of(scope).get("spans")):
                if isinstance(span, dict):
                    yield span_of(number, span, text_of(attributes.get("service.name")))


def span_of(number: int, span: Row, service: str = "") -> Span:
    context = object_of(span.get("context"))
    attributes = span_attributes(span.get("attributes"))
    for event in list_of(span.get("events")):
        # Some exporters put the messages into an event of the span.
        attributes = {**span_attributes(object_of(event).get("attributes")), **attributes}
    attributes |= {
        key.removeprefix("attributes."): value
        for key, value in span.items()
        if key.startswith("attributes.") and value is not None
    }
    start = text_of(first_of(span, ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")))
    return Span(
        number=number,
        trace=hex_id(first_of({**context, **span}, ("traceId", "trace_id", "context.trace_id"))),
        id=hex_id(first_of({**context, **span}, ("spanId", "span_id", "context.span_id"))),
        parent=hex_id(first_of(span, ("parentSpanId", "parent_span_id", "parent_id"))),
        at=start.zfill(24) if start.isdecimal() else start,
        name=text_of(span.get("name")),
        service="" if service.startswith("unknown_service") else service,
        kind=text_of(span.get("span_kind")),
        error=_error(span),
        attributes=attributes,
    )


def _error(span: Row) -> str:
    status = object_of(span.get("status"))
    code = text_of(first_of(status, ("code", "status_code")) or span.get("status_code"))
    if code not in ("2", "ERROR", "STATUS_CODE_ERROR"):
        return ""
    return text_of(first_of(status, ("message", "description")) or span.get("status_message")) or "failed"


def span_attributes(value: object) -> dict[str, Any]:
    """Attributes as a mapping, from OTLP's list of keys and typed values or as they are."""
    if isinstance(value, dict):
        return dict(value)
    return {
        str(pair.get("key")): _any_value(pair.get("value"))
        for pair in list_of(value)
        if isinstance(pair, dict)
    }


def _any_value(value: object) -> Any:
    inner = object_of(value)
    pairs = first_of(inner, ("kvlistValue", "kvlist_value"))
    if pairs is not None:
        return span_attributes(object_of(pairs).get("values"))
    entries = first_of(inner, ("arrayValue", "array_value"))
    if entries is not None:
        return [_any_value(entry) for entry in list_of(object_of(entries).get("values"))]
    return next((entry for entry in inner.values() if entry is not None), None)
