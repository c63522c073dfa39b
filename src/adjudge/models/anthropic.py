"""Anthropic's messages API: wire formats only.

It has no log-probabilities and no seed. A schema becomes a tool that the model must use; the tool's input is
the text of the reply. Thinking is kept separate from the answer.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
from msgspec import Struct, structs

from ..records import Call, Image, Message, Reply
from .base import Parameters, with_images
from .keys import Secret
from .remote import RemoteModel
from .response_bodies import decode_leniently, streamed
from .token_counts import IMPLAUSIBLE, token_count

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
    messages: list[Message | dict[str, Any]]
    system: str | list[dict[str, Any]] = ""
    temperature: float | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, str] | None = None
    stream: bool = False
    thinking: dict[str, Any] | None = None
    output_config: dict[str, str] | None = None


class _Block(Struct):
    type: str
    text: str | None = None
    thinking: str | None = None
    input: Any = None


class _Usage(Struct):
    input_tokens: Any = None
    output_tokens: Any = None
    cache_read_input_tokens: Any = None
    cache_creation_input_tokens: Any = None


class _Answer(Struct):
    content: list[_Block]
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


class _Delta(Struct):
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(Struct):
    """One event of a reply that is sent as a stream."""

    type: str
    index: int = 0
    message: _Answer | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Answer).decode


def _image_part(image: Image) -> dict[str, Any]:
    if image.address:
        return {"type": "image", "source": {"type": "url", "url": image.address}}
    source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    return {"type": "image", "source": source}


def _kept(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


class AnthropicModel(RemoteModel):
    """A model behind Anthropic's messages API."""

    gives_logprobs = False
    takes_images = True
    usual_reply_tokens: ClassVar[int] = DEFAULT_MAX_TOKENS
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
            [with_images(message, _image_part) for message in call.messages if message.role != "system"],
            "\n\n".join(system),
            params.temperature if "temperature" not in self._changes else None,
        )
        if params.schema is not None and "tools" not in self._changes:
            request.tools = [
                {"name": _TOOL, "description": "Give the answer.", "input_schema": params.schema}
            ]
            request.tool_choice = {"type": "tool", "name": _TOOL}
        self._mark_shared(call, request)
        request.stream = self._streams
        if params.reasoning_effort is not None and "output_config" not in self._changes:
            request.output_config = {"effort": params.reasoning_effort}
        if params.thinking_tokens is not None and "thinking" not in self._changes:
            # A model that thinks takes no temperature and no forced tool; the budget is a part of the longest
            # reply.
            request.thinking = {"type": "enabled", "budget_tokens": params.thinking_tokens}
            request.max_tokens += params.thinking_tokens
            request.temperature = None
            if request.tool_choice is not None:
                request.tool_choice = {"type": "auto"}
        if params.seed is not None:
            self._leave_out("seed", params.seed)
        return _encode(request)

    def _mark_shared(self, call: Call, request: _Request) -> None:
        """Mark the end of what all calls of this kind begin with, for Anthropic to keep."""
        first = request.messages[0] if request.messages else None
        system = str(request.system)
        if not isinstance(first, Message):
            return
        n_shared = self.prompt_cache.shared(call, f"{system}\0{first.content}") - len(system) - 1
        if n_shared < -1 or not self.prompt_cache.may_mark(call):
            return
        # A word is not cut: what is kept ends where the judged text begins.
        at = max(first.content.rfind(sign, 0, max(0, n_shared)) for sign in "\n ") + 1
        if at > 0 and first.content[at:].strip():
            request.messages[0] = {
                "role": first.role,
                "content": [_kept(first.content[:at]), {"type": "text", "text": first.content[at:]}],
            }
        elif system:
            request.system = [_kept(system)]

    def _decode(self, call: Call, body: bytes, seconds: float) -> Reply | None:
        try:
            answer: _Answer | None = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            events = streamed(body)
            answer = decode_leniently(body, _Answer) if events is None else _assembled(events)
        if answer is None:
            return None
        text = reasoning = ""
        is_cut = _FINISH.get(answer.stop_reason or "") == "length"
        for block in answer.content:
            if block.type == "tool_use":
                written = _encode(block.input).decode()
                # The API closes an input that was cut off; the reader must see that its last value may go on.
                text += written.rstrip('}]"') if is_cut and block is answer.content[-1] else written
            text += block.text or ""
            reasoning += block.thinking or ""
        usage = answer.usage or _Usage()
        counts = [
            token_count(count)
            for count in (
                usage.input_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
            )
        ]
        tokens_in = sum(counts) if min(counts) >= 0 else IMPLAUSIBLE
        tokens_out = token_count(usage.output_tokens)
        finish = answer.stop_reason and _FINISH.get(answer.stop_reason, answer.stop_reason)
        reply = self._made(call, (text, reasoning), (tokens_in, tokens_out), seconds, finish)
        reply = self._with_cache(call, reply, counts[1], counts[2])
        return structs.replace(reply, model_name=answer.model or "")


def _assembled(events: list[bytes]) -> _Answer | None:
    """The message in a stream; none where the stream broke off before its end."""
    answer = _Answer([])
    inputs: dict[int, str] = {}
    is_complete = False
    for data in events:
        event = decode_leniently(data, _Event)
        if event is None or event.type == "error":
            return None
        if event.message is not None:
            answer.model, answer.usage = event.message.model, event.message.usage
        if event.content_block is not None:
            answer.content.append(event.content_block)
        delta = event.delta or _Delta()
        if event.type == "content_block_delta" and answer.content:
            block = answer.content[-1]
            block.text = (block.text or "") + delta.text
            block.thinking = (block.thinking or "") + delta.thinking
            inputs[len(answer.content) - 1] = inputs.get(len(answer.content) - 1, "") + delta.partial_json
        answer.stop_reason = delta.stop_reason or answer.stop_reason
        if event.usage is not None:
            answer.usage = answer.usage or _Usage()
            answer.usage.output_tokens = event.usage.output_tokens
        is_complete = is_complete or event.type == "message_stop"
    for at, text in inputs.items():
        if answer.content[at].type == "tool_use" and text:
            # A tool's input that is cut off in the middle stays as it is, for the reader to decide.
            answer.content[at].input = msgspec.Raw(text.encode())
    return answer if is_complete else None
