"""Between a `Call` and the wire format of llama.cpp's chat: what is asked, and what is read from the answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ...records import Call, Reply, TokenLogprob, TopToken
from ..base import Form, Parameters, failed

PLACES = 2
"""Replies generated at once: they share the reading of the weights, which is most of the work."""

CONTEXT = 4096
"""Tokens of prompt and reply, where the model was trained for so many."""

FORMS = "forms 1"
"""How replies are held to a form. Part of the model's identity: another way would give other replies."""

LONGEST_TEXT = 300
"""Characters before the answer, or behind it, of a reply that is held to a form: it must fit into the longest reply."""

LONGEST_REPLY = 512
"""Unless a length is asked for: small models like to go round in circles."""


class _Token(Struct):
    token: str
    logprob: float
    top_logprobs: tuple[TopToken, ...] = ()


class _Logprobs(Struct):
    content: list[_Token] | None = None


class _Said(Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(Struct):
    message: _Said
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Answer(Struct):
    choices: list[_Choice]
    usage: _Usage = _Usage()


def request_for(call: Call, params: Parameters) -> dict[str, Any]:
    """A chat request; a schema becomes a grammar that the reply cannot leave."""
    request: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "max_tokens": params.max_tokens or LONGEST_REPLY,
        # Repeated samples must differ, a single one must not: the sample is part of the seed.
        "seed": (params.seed or 0) + call.sample,
    }
    if params.temperature is not None:
        request["temperature"] = params.temperature
    if params.top_logprobs is not None:
        request |= {"logprobs": True, "top_logprobs": params.top_logprobs}
    if params.schema is not None:
        answer = {"name": "answer", "strict": True, "schema": params.schema}
        request["response_format"] = {"type": "json_schema", "json_schema": answer}
    elif params.form is not None and call.kind != "steps":
        request["grammar"] = grammar_of(params.form)
    return request


def grammar_of(form: Form) -> str:
    """The grammar of a reply: some text that does not begin the answer, and the answer; or the other way round.

    It leaves the probabilities that are reported as they were: only what may follow is held to it.
    """
    values = " | ".join(map(_quoted, form.values))
    answer = f"{_quoted(form.opening)} value {_quoted(form.closing)}"
    # Whatever begins as the answer does cannot be text, or the text would never have to end.
    barred = re.sub(r"([\\\]\[])", r"\\\1", form.opening[:1])
    text = f"[^{barred}]" if barred and not form.is_first else "[^\\x00]"
    rules = f"{answer} text" if form.is_first else f"text {answer}"
    return f"root ::= {rules}\nvalue ::= {values}\ntext ::= {text}{{0,{LONGEST_TEXT}}}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def reply_of(
    call: Call,
    answer: dict[str, Any],
    cost: Callable[[int, int], float | None],
    title: str,
    seconds: float,
) -> Reply:
    """The reply in an answer, or the error that it tells of."""
    if isinstance(error := answer.get("error"), dict):
        kind = "too_long" if error.get("type") == "exceed_context_size_error" else "bad_reply"
        return failed(call, kind, f"{error.get('message', 'no reason given')}"[:500], seconds)  # type: ignore[arg-type]
    try:
        read = msgspec.convert(answer, _Answer)
        choice = read.choices[0]
    except (msgspec.ValidationError, IndexError) as wrong:
        return failed(call, "bad_reply", f"llama.cpp's answer holds no reply ({wrong})"[:500], seconds)
    tokens = choice.logprobs.content if choice.logprobs is not None else None
    usage = read.usage
    return Reply(
        call.key,
        choice.message.content or "",
        choice.message.reasoning_content or "",
        tuple(TokenLogprob(one.token, one.logprob, one.top_logprobs) for one in tokens) if tokens else None,
        usage.prompt_tokens,
        usage.completion_tokens,
        cost(usage.prompt_tokens, usage.completion_tokens),
        seconds,
        title,
        finish=choice.finish_reason,
    )
