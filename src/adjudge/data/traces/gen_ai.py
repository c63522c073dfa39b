"""Spans by OpenTelemetry's conventions for generative AI (`gen_ai.*`), and their older form with numbered
prompts."""

from __future__ import annotations

from typing import Any

from .calls import CallKind, TracedCall
from .messages import content_part
from .spans import Span
from .values import indexed, list_of, parsed, text_of

CONTENTS = "gen_ai.input.messages, gen_ai.output.messages"
_MODEL_OPERATIONS = ("chat", "text_completion", "generate_content")
_AGENT_OPERATIONS = ("invoke_agent", "create_agent", "invoke_workflow")


def gen_ai_call(span: Span) -> TracedCall | None:
    """The call in a span that follows the conventions; none where it does not."""
    if not any(key.startswith("gen_ai.") for key in span.attributes):
        return None
    operation = text_of(span.get("gen_ai.operation.name"))
    inputs, outputs = _contents(span, operation)
    kind = _kind(operation, has_messages=inputs is not None or outputs is not None)
    name = text_of(span.get("gen_ai.tool.name" if kind == "tool" else "gen_ai.agent.name"))
    return TracedCall(
        number=span.number,
        trace=span.trace,
        id=span.id,
        parent=span.parent,
        at=span.at,
        kind=kind,
        name=name or (span.service if kind == "other" else span.name),
        input=inputs,
        output=outputs,
        error=span.error,
        tool_call_id=text_of(span.get("gen_ai.tool.call.id")),
        system=text_of(span.get("gen_ai.response.model", "gen_ai.request.model")),
        group=text_of(span.get("gen_ai.conversation.id", "session.id")),
        before=_system_messages(span),
        tools=tuple(list_of(parsed(span.get("gen_ai.tool.definitions")))),
    )


def _kind(operation: str, *, has_messages: bool) -> CallKind:
    if operation == "execute_tool":
        return "tool"
    if operation in ("retrieval", "retrieve"):
        return "retriever"
    if operation == "embeddings":
        return "aside"
    is_model = operation in _MODEL_OPERATIONS or (has_messages and operation not in _AGENT_OPERATIONS)
    return "model" if is_model else "other"


def _contents(span: Span, operation: str) -> tuple[Any, Any]:
    """The input and output of the operation."""
    if operation == "execute_tool":
        return parsed(span.get("gen_ai.tool.call.arguments")), parsed(span.get("gen_ai.tool.call.result"))
    if operation in ("retrieval", "retrieve"):
        return span.get("gen_ai.retrieval.query.text"), parsed(span.get("gen_ai.retrieval.documents"))
    inputs, outputs = parsed(span.get("gen_ai.input.messages")), parsed(span.get("gen_ai.output.messages"))
    return (
        inputs if inputs is not None else indexed(span.attributes, "gen_ai.prompt") or None,
        outputs if outputs is not None else indexed(span.attributes, "gen_ai.completion") or None,
    )


def _system_messages(span: Span) -> tuple[Any, ...]:
    system = parsed(span.get("gen_ai.system_instructions"))
    if not isinstance(system, list):
        return ()
    return ({"role": "system", "content": [content_part(part) for part in system]},)
