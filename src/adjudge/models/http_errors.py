"""Classifies HTTP responses that are not replies: one table of faults for all providers.

Pure: status, headers and body in, a `Fault` out. Knows the wording of many hosts; does not decide about
retries. Nothing here is redacted: the caller, who knows the key, does that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from ..errors import sentences
from ..records import ErrorKind
from .response_bodies import streamed
from .retry_after import stated_wait

SHOWN = 200
"""How many characters of a response an error message quotes."""


class ErrorBody(NamedTuple):
    """The message, code and parameter of an error body, wherever the host puts them."""

    message: str = ""
    code: str = ""
    param: str = ""


class Fault(Struct, frozen=True):
    """Why a request has no reply, and how it can be handled."""

    kind: ErrorKind
    message: str
    is_retryable: bool = False
    wait_seconds: float | None = None
    """the wait that the host states"""
    is_final: bool = False
    """every further call would fail in the same way: the run must stop"""
    is_unreached: bool = False
    """no connection was made, so nothing was charged"""
    is_overload: bool = False
    """the host has too much load"""
    status: int = 0
    error_body: ErrorBody = ErrorBody()


class Response(NamedTuple):
    """A complete HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


_QUOTA = re.compile(
    r"insufficient_quota|billing_(?:hard_limit|not_active)|exceeded your current quota|credit balance is"
    r" too low"
    r"|insufficient (?:credits?|balance|funds)|out of credits",
    re.IGNORECASE,
)


_TOO_LONG = re.compile(
    r"context_length_exceeded|string_above_max_length|exceed_context_size|request_too_large|context"
    r" (?:length|window|size)"
    r"|prompt is too long|input (?:is )?too long|too many (?:input )?tokens|request too large|reduce the"
    r" length"
    r"|maximum (?:input|prompt) length|token count\b.{0,40}exceed|\btokens`? \+ .{0,30}must be <="
    r"|must have less than \d+ tokens",
    re.IGNORECASE,
)


_EXCEEDED = re.compile(
    r"context_length_exceeded|exceed_context_size|exceed\w* (?:\w+ ){0,3}context (?:length|window|size)",
    re.IGNORECASE,
)
"""Servers that answer 500 to a prompt that is too long, such as llama-cpp-python: asked again, they would
answer the same."""


_FILTERED = re.compile(
    r"content_filter|content_policy|content management policy|responsibleaipolicy|\bmoderation\b|\bflagged\b",
    re.IGNORECASE,
)


def error_body(body: bytes) -> ErrorBody:
    """Parse an error body; empty where it is not JSON or names no error."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ErrorBody()
    return _error_body(value)


def _error_body(value: Any) -> ErrorBody:
    if isinstance(value, str):
        return ErrorBody(value)
    if isinstance(value, list) and value:
        return _error_body(value[0])
    if not isinstance(value, dict):
        return ErrorBody()
    for inner in ("error", "detail", "errors"):
        if value.get(inner):
            return _error_body(value[inner])
    location = value.get("loc")  # the validation errors of FastAPI, on which many servers are built
    param = value.get("param") or (location[-1] if isinstance(location, list) and location else "")
    codes = (str(value[key]) for key in ("code", "type") if value.get(key) not in (None, ""))
    return ErrorBody(str(value.get("message") or value.get("msg") or ""), " ".join(codes), str(param or ""))


def printable_start(body: bytes) -> str:
    """The beginning of a body as one printable line."""
    text = body[: SHOWN * 4].decode("utf-8", "replace")
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= SHOWN else line[:SHOWN] + "…"


def fault_of(response: Response, host: str) -> Fault:
    """The fault in a response with a status other than 200."""
    status = response.status
    words = error_body(response.body)
    text = printable_start(words.message.encode("utf-8", "replace") if words.message else response.body)
    what = f"{host} answered {status}: {text}" if text else f"{host} answered {status} without a message"
    if 300 <= status < 400:
        return _redirect(response, host)
    if 400 <= status < 500:
        return _refused(response, words, what, host)
    if status >= 500 and _EXCEEDED.search(f"{words.code} {words.message}"):
        return Fault("too_long", what, status=status, error_body=words)
    if status >= 500:
        is_overload = status in (503, 529)
        wait = stated_wait(response.headers) if is_overload else None
        return Fault("server", what, True, wait, is_overload=is_overload, status=status, error_body=words)
    return Fault("bad_reply", what, True, status=status, error_body=words)


def _redirect(response: Response, host: str) -> Fault:
    # Only the target's host is shown: an address may contain a token.
    target = re.match(r"(https?://)?(?:[^/@?#]*@)?([^/?#]*)", response.headers.get("location", ""))
    to = (
        printable_start((target[2] if target and target[1] else "").encode("utf-8", "replace"))
        or "another address on the same host"
    )
    return Fault(
        "bad_reply",
        f"{host} answered {response.status} and points to {to}. Redirects are not followed, because the key"
        f" belongs to {host} alone. Give the correct address of the model.",
        is_final=True,
        status=response.status,
    )


def _refused(response: Response, words: ErrorBody, what: str, host: str) -> Fault:
    """Statuses from 400 to 499. Where hosts use one status for several faults, the message decides."""
    status = response.status
    text = f"{words.code} {words.message}"
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(text)):
        advice = "Add credit, then run the same command again to resume."
        return Fault(
            "quota",
            sentences(what, "The quota of this key is used up.", advice),
            is_final=True,
            status=status,
        )
    if status == 413 or (status in (400, 422, 429) and _TOO_LONG.search(text)):
        return Fault("too_long", what, status=status, error_body=words)
    if status in (400, 403, 422) and _FILTERED.search(text):
        return Fault("filtered", what, status=status, error_body=words)
    if status == 401:
        # Without the host's message, which often quotes a part of the key.
        return Fault("auth", f"{host} refused the key (401)", is_final=True, status=status)
    if status == 403:
        advice = "The key does not permit this: use another one, or give this one the right to use the model."
        return Fault("auth", sentences(what, advice), is_final=True, status=status)
    if status == 429:
        return Fault(
            "rate_limited", what, True, stated_wait(response.headers), is_overload=True, status=status
        )
    if status in (404, 405, 410):
        return Fault(
            "bad_reply",
            sentences(what, "Check the address and the name of the model."),
            is_final=True,
            status=status,
        )
    if status in (408, 409, 425):
        return Fault("timeout" if status == 408 else "server", what, True, status=status)
    return Fault("bad_reply", what, status=status, error_body=words)


def proxy_requires_credentials(proxy: str, variable: str) -> Fault:
    """The fault of a proxy that answers 407. It ends the run: every call goes through the proxy."""
    message = (
        f"the proxy {proxy} requires a user name and password, or rejected those it got (407). "
        f"Set {variable} to http://USER:PASSWORD@HOST:PORT."
    )
    return Fault("transport", message, is_final=True, is_unreached=True)


def no_reply_in(body: bytes, headers: Mapping[str, str], host: str) -> Fault:
    """The fault in a response with status 200 whose body is not a reply."""
    if (events := streamed(body)) is not None:
        failed = next((event for event in events if error_body(event) != ErrorBody()), b"")
        if not failed:
            return Fault(
                "transport", f"{host} sent a stream that breaks off before the reply is complete", True
            )
        body = failed
    words = error_body(body)
    if words.message or words.code:
        # Gateways wrap an upstream error in a status of 200; the code may be the real status.
        code = next((int(part) for part in words.code.split() if part.isdigit()), 0)
        if 400 <= code < 600:
            return fault_of(Response(code, headers, body), host)
        return Fault(
            "server",
            f"{host} answered 200 with an error: {printable_start(words.message.encode())}",
            True,
            error_body=words,
        )
    if not body.strip():
        return Fault("transport", f"{host} answered 200 with an empty body", True)
    start = body.lstrip()[:1]
    if start == b"<":
        kind = headers.get("content-type", "no content type")[:60]
        return Fault(
            "bad_reply",
            f"{host} answered with a web page ({kind}) instead of a reply, perhaps from a login page or a"
            f" proxy: {printable_start(body)}",
            True,
            # If no reply has ever come, the page is from some other server.
            is_unreached=True,
        )
    if start == b"{" and _is_json(body):
        return Fault(
            "bad_reply", f"{host} answered with JSON that is not a reply: {printable_start(body)}", True
        )
    return Fault("transport", f"{host} answered with invalid JSON: {printable_start(body)}", True)


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
