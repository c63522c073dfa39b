"""Removes a key from replies, responses and faults, in whatever form the host repeats it."""

from __future__ import annotations

from msgspec.structs import replace

from ..records import Reply, TokenLogprob
from .http_errors import ErrorBody, Fault, Response
from .keys import HIDDEN, Secret


def without_key(reply: Reply, key: Secret) -> Reply:
    """The reply without the key that was sent, in whatever form the host repeats it."""
    logprobs = reply.logprobs
    if logprobs:
        joined = "".join(token.token for token in logprobs)
        logprobs = logprobs if key.redact_reply(joined) == joined else _hidden_tokens(logprobs, key)
    old = (reply.text, reply.reasoning, reply.model_name, reply.fingerprint)
    text, reasoning, name, fingerprint = new = tuple(key.redact_reply(part) for part in old)
    if new == old and logprobs is reply.logprobs:
        return reply
    return replace(
        reply, text=text, reasoning=reasoning, model_name=name, fingerprint=fingerprint, logprobs=logprobs
    )


def response_without_key(response: Response, key: Secret) -> Response:
    """The same for a response that is no reply. It is redacted whole: messages quote only its beginning."""
    text = response.body.decode("utf-8", "surrogateescape")
    headers = {name: key.redact(value) for name, value in response.headers.items()}
    return Response(response.status, headers, key.redact(text).encode("utf-8", "surrogateescape"))


def _hidden_tokens(tokens: tuple[TokenLogprob, ...], key: Secret) -> tuple[TokenLogprob, ...]:
    """The tokens of a reply without those that spell the key, nor their alternatives."""
    spans = key.spans("".join(token.token for token in tokens))
    shown, at = [], 0
    for token in tokens:
        start, at = at, at + len(token.token)
        hidden = [span for span in spans if span[0] < at and span[1] > start]
        is_first = any(span[0] >= start for span in hidden)
        shown.append(TokenLogprob(HIDDEN if is_first else "", token.logprob) if hidden else token)
    return tuple(shown)


def redacted(fault: Fault, secrets: list[Secret]) -> Fault:
    for secret in secrets:
        words = ErrorBody(*(secret.redact(part) for part in fault.error_body))
        fault = replace(fault, message=secret.redact(fault.message), error_body=words)
    return fault
