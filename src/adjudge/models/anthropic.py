"""Anthropic's messages API: wire formats only.

It has no log-probabilities and no seed. A schema becomes a tool that the model must use; the tool's input is
the text of the reply. Thinking is kept separate from the answer.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec import Struct, structs

from ..records import Call, Message, Reply
from .base import Parameters, Secret
from .http_errors import decode_leniently
from .remote import RemoteModel

PATH = "/v1/messages"
VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4096
"""Sent where no limit is set: the API requires one."""

_TOOL = "answer"
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class _Request(Struct, omit_defaults=True):
    model: str
    max_tokens: int
    messages: list[Message]
    system: str = ""
    temperature: float | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, str] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, str] | None = None


class _Block(Struct):
    type: str
    text: str | None = None
    thinking: str | None = None
    input: Any = None


class _Usage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Answer(Struct):
    content: list[_Block]
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Answer).decode


class AnthropicModel(RemoteModel):
    """A model behind Anthropic's messages API."""

    gives_logprobs = False
    droppable: ClassVar[frozenset[str]] = frozenset(("temperature", "tools", "thinking", "output_config"))

    def _headers(self, key: Secret | None) -> dict[str, str]:
        headers = {"anthropic-version": VERSION}
        if key is not None:
            headers["x-api-key"] = key.reveal()
        return headers

    def _encode(self, call: Call, params: Parameters, max_tokens: int | None) -> bytes:
        system = [message.content for message in call.messages if message.role == "system"]
        request = _Request(
            self._model,
            DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens,
            [message for message in call.messages if message.role != "system"],
            "\n\n".join(system),
            params.temperature if "temperature" not in self._changes else None,
        )
        if params.schema is not None and "tools" not in self._changes:
            request.tools = [
                {"name": _TOOL, "description": "Give the answer.", "input_schema": params.schema}
            ]
            request.tool_choice = {"type": "tool", "name": _TOOL}
        if params.reasoning_effort is not None and "output_config" not in self._changes:
            request.output_config = {"effort": params.reasoning_effort}
        if params.thinking_tokens is not None and "thinking" not in self._changes:
            # A model that thinks takes no temperature and no forced tool; the budget is a part of the longest reply.
            request.thinking = {"type": "enabled", "budget_tokens": params.thinking_tokens}
            request.max_tokens += params.thinking_tokens
            request.temperature = None
            if request.tool_choice is not None:
                request.tool_choice = {"type": "auto"}
        if params.seed is not None:
            self._leave_out("seed", params.seed)
        return _encode(request)

    def _decode(self, call: Call, body: bytes, seconds: float) -> Reply | None:
        try:
            answer: _Answer | None = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            answer = decode_leniently(body, _Answer)
        if answer is None:
            return None
        text = reasoning = ""
        for block in answer.content:
            if block.type == "tool_use":
                text += _encode(block.input).decode()
            text += block.text or ""
            reasoning += block.thinking or ""
        usage = answer.usage or _Usage()
        tokens_in = (
            (usage.input_tokens or 0)
            + (usage.cache_read_input_tokens or 0)
            + (usage.cache_creation_input_tokens or 0)
        )
        finish = answer.stop_reason and _FINISH.get(answer.stop_reason, answer.stop_reason)
        reply = self._made(call, (text, reasoning), (tokens_in, usage.output_tokens or 0), seconds, finish)
        return structs.replace(reply, model_name=answer.model or "")
