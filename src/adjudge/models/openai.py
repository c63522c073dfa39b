"""The chat completions of OpenAI and of OpenAI-compatible servers.

Wire formats only: requests and replies. Servers differ in details (content in parts, reasoning in other
fields, two formats of log-probabilities); unknown fields are ignored. A body without a choice is not a reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from ..records import Call, Image, Message, Reply, TokenLogprob, TopToken
from .base import Parameters, with_images
from .http_errors import ErrorBody
from .http_likelihoods import PATH as COMPLETIONS
from .http_likelihoods import Completions, Likelihoods
from .keys import Secret
from .remote import RemoteModel
from .response_bodies import decode_leniently, streamed
from .token_counts import IMPLAUSIBLE, token_count

PATH = "/chat/completions"

_FINISH = {
    "max_tokens": "length",
    "MAX_TOKENS": "length",
    "model_length": "length",
    # The host broke off in the middle: such a reply is as incomplete as one that met the token limit.
    "insufficient_system_resource": "length",
    "abort": "length",
    "error": "length",
    **dict.fromkeys(("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
    "eos": "stop",
    "end_turn": "stop",
}


class _Request(Struct, omit_defaults=True):
    model: str
    messages: Sequence[Message | dict[str, Any]]
    temperature: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    logprobs: bool = False
    top_logprobs: int | None = None
    seed: int | None = None
    response_format: dict[str, Any] | None = None
    stream: bool = False
    stream_options: dict[str, bool] | None = None
    reasoning_effort: str | None = None
    reasoning: dict[str, Any] | None = None
    extra_body: dict[str, Any] | None = None
    prompt_cache_key: str | None = None


class _Part(Struct):
    type: str = "text"
    text: str | None = None
    refusal: str | None = None
    thinking: Any = None


class _Message(Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Token(Struct):
    token: str
    logprob: float
    top_logprobs: tuple[TopToken, ...] | None = None


class _Logprobs(Struct):
    content: list[_Token] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float] | None] | None = None


class _Choice(Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(Struct):
    prompt_tokens: Any = None
    completion_tokens: Any = None
    total_tokens: Any = None
    prompt_tokens_details: Any = None

    @property
    def cached(self) -> tuple[int, int]:
        """The tokens that the host found in its prompt cache, and those that it put there."""
        details = self.prompt_tokens_details
        if not isinstance(details, dict):
            return 0, 0
        return token_count(details.get("cached_tokens")), token_count(details.get("cache_write_tokens"))

    @property
    def tokens_out(self) -> int:
        """The tokens written, with those of reasoning: Gemini counts them in the total alone."""
        written = token_count(self.completion_tokens)
        total, sent = token_count(self.total_tokens), token_count(self.prompt_tokens)
        return written if IMPLAUSIBLE in (written, total, sent) else max(written, total - sent)


class _Completion(Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None
    system_fingerprint: str | None = None


class _Piece(Struct):
    delta: _Message | None = None
    index: int = 0
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Event(Struct):
    """One event of a reply that is sent as a stream."""

    choices: list[_Piece] = []
    model: str | None = None
    usage: _Usage | None = None
    system_fingerprint: str | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Completion).decode


def _image_part(image: Image) -> dict[str, Any]:
    url = image.address or f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url}}


class OpenAIModel(RemoteModel):
    """A model behind chat completions; likelihoods come from the server's completions endpoint, if it has
    one."""

    gives_likelihood = None
    takes_images = True
    key_header = "bearer"
    caches_prompts = False
    """whether its host has OpenAI's prompt cache: a key for prompts that begin alike, and lower prices"""
    thinking_form = ""
    """how a budget for thinking is sent: google, openrouter, or not at all"""
    _likelihoods: Likelihoods | None = None
    droppable: ClassVar[frozenset[str]] = frozenset(
        (
            "temperature",
            "max_tokens",
            "max_completion_tokens",
            "response_format",
            "seed",
            "logprobs",
            "top_logprobs",
            "reasoning_effort",
            "reasoning",
            "extra_body",
            "prompt_cache_key",
        )
    )

    async def ask(self, call: Call, params: Parameters) -> Reply:
        if call.kind != "likelihood":
            return await super().ask(call, params)
        if self._likelihoods is None:
            completions = Completions(
                self.name, self._model, self.endpoint, COMPLETIONS, key=self._key, price=self.price,
                network=self._network
            )  # fmt: skip
            completions.headers = self.headers
            completions.is_replica = self.is_replica
            self._likelihoods = Likelihoods(completions)
        return await self._likelihoods.ask(call, params)

    def _headers(self, key: Secret | None) -> dict[str, str]:
        if key is None:
            return {}
        if self.key_header != "bearer":
            return {self.key_header: key.reveal()}
        return {"Authorization": f"Bearer {key.reveal()}"}

    def _encode(self, call: Call, params: Parameters, max_tokens: int | None) -> bytes:
        messages = [with_images(message, _image_part) for message in call.messages]
        request = _Request(self._model, messages, params.temperature, max_tokens, seed=params.seed)
        if params.top_logprobs is not None:
            request.logprobs = True
            request.top_logprobs = params.top_logprobs
        if params.schema is not None:
            answer = {"name": "answer", "strict": True, "schema": params.schema}
            request.response_format = {"type": "json_schema", "json_schema": answer}
        if self.caches_prompts and self.prompt_cache.shared(call, _text_of(call)):
            # Requests with one key go to the machine that has kept their beginning.
            request.prompt_cache_key = f"{call.protocol}/{call.order}"[:64]
        if self._streams:
            request.stream, request.stream_options = True, {"include_usage": True}
        request.reasoning_effort = params.reasoning_effort
        if params.thinking_tokens is not None:
            self._set_thinking(request, params.thinking_tokens)
        for name, new_name in self._changes.items():
            if name not in self.droppable:
                continue
            value = getattr(request, name)
            setattr(request, name, None)
            if new_name:
                setattr(request, new_name, value)
        return _encode(request)

    def _set_thinking(self, request: _Request, tokens: int) -> None:
        if self.thinking_form == "google":
            request.extra_body = {"google": {"thinking_config": {"thinking_budget": tokens}}}
        elif self.thinking_form == "openrouter":
            request.reasoning = {"max_tokens": tokens}
        else:
            self._leave_out("thinking_tokens", tokens)

    def _change(self, name: str, refusal: ErrorBody) -> tuple[str, str]:
        if name == "max_tokens" and "max_completion_tokens" in refusal.message:
            return "max_tokens", "max_completion_tokens"
        return name.replace("max_completion_tokens", "max_tokens"), ""

    def _decode(self, call: Call, body: bytes, seconds: float) -> Reply | None:
        try:
            completion: _Completion | None = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            events = streamed(body)
            completion = decode_leniently(body, _Completion) if events is None else _assembled(events)
        if completion is None or not completion.choices:
            return None
        choice = completion.choices[0]
        message = choice.message
        finish = choice.finish_reason
        reasoning = message.reasoning_content or message.reasoning or ""
        content = message.content
        if isinstance(content, list):
            content, thoughts, refusal = _joined(content)
            reasoning = reasoning or thoughts
        else:
            refusal = ""
        if refusal := refusal or message.refusal or "":
            content, finish = content or refusal, "content_filter"
        usage = completion.usage or _Usage()
        tokens_in, tokens_out = token_count(usage.prompt_tokens), usage.tokens_out
        reply = Reply(
            call.key,
            content or "",
            reasoning,
            None if choice.logprobs is None else _logprobs(choice.logprobs),
            tokens_in,
            tokens_out,
            self.cost(tokens_in, tokens_out),
            seconds,
            completion.model or "",
            completion.system_fingerprint or "",
            finish if finish is None else _FINISH.get(finish, finish),
        )
        return self._with_cache(call, reply, *usage.cached) if self.caches_prompts else reply


def _text_of(call: Call) -> str:
    return "\0".join(message.content for message in call.messages)


def _assembled(events: list[bytes]) -> _Completion | None:
    """The reply in a stream; none where the stream broke off before its end."""
    message, logprobs, whole = _Message(""), _Logprobs([]), _Completion([])
    finish: str | None = None
    for data in events:
        if data.strip() == b"[DONE]":
            finish = finish or ""
            break
        event = decode_leniently(data, _Event)
        if event is None:
            return None
        whole.model = whole.model or event.model
        whole.usage = event.usage or whole.usage
        whole.system_fingerprint = whole.system_fingerprint or event.system_fingerprint
        for piece in event.choices:
            if piece.index == 0:
                _add_piece(message, logprobs, piece)
                finish = piece.finish_reason or finish
    if finish is None:
        return None
    whole.choices = [_Choice(message, finish or None, logprobs if logprobs.content else None)]
    return whole


def _add_piece(message: _Message, logprobs: _Logprobs, piece: _Piece) -> None:
    delta = piece.delta or _Message()
    content = delta.content
    if isinstance(content, list):
        content, thoughts, refusal = _joined(content)
        delta = _Message(content, refusal or delta.refusal, thoughts or delta.reasoning_content)
    message.content = f"{message.content}{content or ''}"
    message.refusal = (message.refusal or "") + (delta.refusal or "")
    message.reasoning = (message.reasoning or "") + (delta.reasoning_content or delta.reasoning or "")
    if piece.logprobs is not None and piece.logprobs.content and logprobs.content is not None:
        logprobs.content += piece.logprobs.content


def _joined(parts: list[_Part]) -> tuple[str, str, str]:
    """The text, thoughts and refusal of content that comes in parts."""
    text = "".join(part.text or "" for part in parts if part.type != "thinking")
    refusal = "".join(part.refusal or "" for part in parts)
    thoughts = "".join(_text_in(part.thinking) for part in parts)
    return text, thoughts, refusal


def _text_in(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text_in(entry) for entry in value)
    return str(value.get("text") or "") if isinstance(value, dict) else ""


def _logprobs(wire: _Logprobs) -> tuple[TokenLogprob, ...] | None:
    """The log-probabilities in either of the two formats; none where they are absent."""
    if wire.content:
        return tuple(
            [TokenLogprob(token.token, token.logprob, token.top_logprobs or ()) for token in wire.content]
        )
    if wire.tokens and wire.token_logprobs and len(wire.tokens) == len(wire.token_logprobs):
        tops = wire.top_logprobs or [None] * len(wire.tokens)
        return tuple(
            TokenLogprob(token, logprob, tuple(TopToken(*top) for top in (alternatives or {}).items()))
            for token, logprob, alternatives in zip(wire.tokens, wire.token_logprobs, tops, strict=False)
            if logprob is not None
        )
    return None
