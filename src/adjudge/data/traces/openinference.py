"""Spans by the conventions of OpenInference, which Phoenix and Arize use:
`llm.input_messages.0.message.content`, `input.value`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..json_rows import Row
from .calls import CallKind, TracedCall
from .spans import Span
from .values import first_of, indexed, list_of, object_of, parsed, text_of

CONTENTS = "llm.input_messages, llm.output_messages, input.value, output.value, retrieval.documents"
_KINDS: Mapping[str, CallKind] = {
    "LLM": "model",
    "TOOL": "tool",
    "RETRIEVER": "retriever",
    "RERANKER": "reranker",
    **dict.fromkeys(("EMBEDDING", "GUARDRAIL", "EVALUATOR", "PROMPT"), "aside"),
}
_SIGNS = ("openinference.span.kind", "input.value", "output.value", "input.mime_type", "output.mime_type")


def openinference_call(span: Span) -> TracedCall | None:
    """The call in a span that follows the conventions; none where it does not."""
    attributes = span.attributes
    is_known = any(key in attributes for key in _SIGNS) or any(key.startswith("llm.") for key in attributes)
    if not is_known and span.kind not in (*_KINDS, "CHAIN", "AGENT"):
        return None
    kind = _KINDS.get(text_of(span.get("openinference.span.kind") or span.kind).upper(), "other")
    inputs, outputs = _contents(attributes, kind)
    name = text_of(span.get("tool.name") if kind == "tool" else span.get("agent.name")) or span.name
    return TracedCall(
        number=span.number,
        trace=span.trace,
        id=span.id,
        parent=span.parent,
        at=span.at,
        kind=kind,
        name=name,
        input=inputs,
        output=outputs,
        error=span.error,
        tool_call_id=text_of(span.get("tool_call.id", "tool.id")),
        system=text_of(span.get("llm.model_name")),
        group=text_of(span.get("session.id")),
        tools=tuple(_tools(attributes)),
    )


def _contents(attributes: Mapping[str, Any], kind: CallKind) -> tuple[Any, Any]:
    """The input and output by the kind of the span; of a model the messages before the request as it was
    sent."""
    inputs, outputs = parsed(attributes.get("input.value")), parsed(attributes.get("output.value"))
    if kind == "model":
        sent, replied = (
            [_message(entry) for entry in indexed(attributes, f"llm.{side}_messages")]
            for side in ("input", "output")
        )
        prompts = [_inner(entry, "prompt").get("text") for entry in indexed(attributes, "llm.prompts")]
        texts = [_inner(entry, "completion").get("text") for entry in indexed(attributes, "llm.choices")]
        return sent or _joined(prompts) or inputs, replied or _joined(texts) or outputs
    if kind == "retriever":
        return inputs, indexed(attributes, "retrieval.documents") or outputs
    if kind == "reranker":
        return inputs, indexed(attributes, "reranker.output_documents") or outputs
    return inputs, outputs


def _joined(texts: list[Any]) -> str | None:
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _inner(entry: object, name: str) -> Row:
    """An entry without the name that wraps it: `{"message": {…}}`."""
    whole = object_of(entry)
    return object_of(whole.get(name)) or whole


def _message(entry: object) -> Any:
    """A message as OpenAI writes it."""
    message = _inner(entry, "message")
    content: Any = message.get("content")
    if not content and isinstance(message.get("contents"), list):
        content = [_part(part) for part in message["contents"]]
    calls = [_call(call) for call in list_of(message.get("tool_calls"))]
    name = message.get("function_call_name")
    if name and not calls:
        calls = [{"name": name, "arguments": message.get("function_call_arguments_json")}]
    kept = {key: message[key] for key in ("name", "tool_call_id") if message.get(key) is not None}
    role = text_of(message.get("role")) or "assistant"
    return {"role": role, "content": "" if content is None else content, "tool_calls": calls, **kept}


def _call(entry: object) -> Row:
    call = _inner(entry, "tool_call")
    function = object_of(call.get("function"))
    arguments = first_of(function, ("arguments",))
    return {"id": call.get("id"), "function": {"name": function.get("name"), "arguments": arguments}}


def _part(entry: object) -> Any:
    part = _inner(entry, "message_content")
    image = object_of(object_of(part.get("image")).get("image") or part.get("image"))
    if image.get("url"):
        return {"type": "image_url", "image_url": {"url": image["url"]}}
    return part


def _tools(attributes: Mapping[str, Any]) -> list[Any]:
    """The definitions of the tools that a model was offered."""
    schemas = [_inner(entry, "tool").get("json_schema") for entry in indexed(attributes, "llm.tools")]
    return [parsed(schema) for schema in schemas if schema is not None]
