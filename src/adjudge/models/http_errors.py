"""What a host's answer means when it is not a reply: one table of faults for all providers.

Pure: status, headers and body in, a `Fault` out. Knows the words that hosts use; does not decide
how often something is tried again. Nothing here is redacted: whoever knows the key does that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from math import inf, isfinite
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from ..records import ErrorKind
from .timeouts import stated_wait

# JSON as servers really send it: strict where it can be, lenient where it must.
#
# Servers send infinities for tokens that cannot be, and cut texts through the middle of a character. Pure;
# knows no format. What is not JSON at all stays unread.


T = TypeVar("T")

LEAST_LOGPROB = -9999.0
"""What stands for minus infinity, which JSON does not have. OpenAI writes the same number."""


def decode_slowly(body: bytes, kind: type[T]) -> T | None:
    """The value in a body that the strict decoder refused; none where it holds no such value."""
    try:
        return msgspec.convert(_cleaned(json.loads(body)), kind, strict=False)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors, as are those of UTF-8
        return None


def _cleaned(value: Any) -> Any:
    """The value in strict JSON: a replacement character for half a surrogate pair, null for NaN."""
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, list):
        return [_cleaned(entry) for entry in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(entry) for key, entry in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return LEAST_LOGPROB if value == -inf else None
    return value


# Which parameter of a request a host will not take, by the words of its error.
#
# Pure. Only a parameter that was sent and that the host calls unsupported is named: a value that is
# out of range is the user's to correct, and a word that happens to stand in a message is no reason to
# leave something out.


_UNSUPPORTED = re.compile(
    r"unsupport|not\s+(?:currently\s+)?(?:be\s+)?(?:support|permit|allow|implement|available|enabled|recogni)|unrecogni"
    r"|unknown|unexpected|extra (?:inputs|fields)|only the default|deprecated|does(?: not|n't) (?:accept|take|have)"
    r"|cannot be (?:used|set|combined)|incompatible|invalid schema|no longer|use '?\w+'? instead",
    re.IGNORECASE,
)

_OTHER_NAMES = {
    "response_format": ("json_schema", "json schema", "structured output", "guided", "grammar"),
    "logprobs": ("log probabilities", "log-probabilities", "logprob"),
    "tools": ("tool_choice", "tool use", "function calling", "input_schema"),
}


def refused_parameter(said: Said, sent: Collection[str]) -> str | None:
    """The parameter among those sent that the host will not take; none: it objects to something else."""
    if not _UNSUPPORTED.search(f"{said.code} {said.message}"):
        return None
    head = re.split(r"[.\[]", said.param)[0]
    if head in sent:
        return head
    if head not in ("", "body"):
        return None
    # Longest names first: "max_tokens" must not be found inside another name.
    places = [
        (found.start(), name) for name in sent if (found := re.search(rf"(?<!\w){name}(?!\w)", said.message))
    ]
    if places:
        return min(places)[1]
    lower = said.message.lower()
    return next(
        (
            name
            for name, words in _OTHER_NAMES.items()
            if name in sent and any(word in lower for word in words)
        ),
        None,
    )


SHOWN = 200
"""How many characters of a host's answer an error message repeats."""


class Said(NamedTuple):
    """The words of an error body, wherever the host puts them."""

    message: str = ""
    code: str = ""
    param: str = ""


class Fault(Struct, frozen=True):
    """Why a request brought no reply, and what may be done about it."""

    kind: ErrorKind
    message: str
    is_retryable: bool = False
    wait_seconds: float | None = None
    """how long the host asks us to wait"""
    is_final: bool = False
    """every further call would end alike: the run must stop"""
    is_unreached: bool = False
    """no connection was made, so nothing can have been charged"""
    is_overload: bool = False
    """the host has more to do than it can"""
    status: int = 0
    said: Said = Said()


class Answer(NamedTuple):
    """An answer over HTTP, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


_QUOTA = re.compile(
    r"insufficient_quota|billing_(?:hard_limit|not_active)|exceeded your current quota|credit balance is too low"
    r"|insufficient (?:credits?|balance|funds)|out of credits",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|string_above_max_length|exceed_context_size|request_too_large|context (?:length|window|size)"
    r"|prompt is too long|input (?:is )?too long|too many (?:input )?tokens|request too large|reduce the length"
    r"|maximum (?:input|prompt) length",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content_filter|content_policy|content management policy|responsibleaipolicy|\bmoderation\b|\bflagged\b",
    re.IGNORECASE,
)


def said(body: bytes) -> Said:
    """The words of an error body; empty where it is not JSON or holds none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Said()
    return _said(value)


def _said(value: Any) -> Said:
    if isinstance(value, str):
        return Said(value)
    if isinstance(value, list) and value:
        return _said(value[0])
    if not isinstance(value, dict):
        return Said()
    for inner in ("error", "detail", "errors"):
        if value.get(inner):
            return _said(value[inner])
    place = value.get("loc")  # the validation errors of FastAPI, on which many servers are built
    param = value.get("param") or (place[-1] if isinstance(place, list) and place else "")
    codes = (str(value[key]) for key in ("code", "type") if value.get(key) not in (None, ""))
    return Said(str(value.get("message") or value.get("msg") or ""), " ".join(codes), str(param or ""))


def shown(body: bytes) -> str:
    """The beginning of a body, as one line that is safe to print."""
    text = body[: SHOWN * 4].decode("utf-8", "replace")
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= SHOWN else line[:SHOWN] + "…"


def fault_of(answer: Answer, host: str) -> Fault:
    """The fault that an answer with a status other than 200 stands for."""
    status = answer.status
    words = said(answer.body)
    text = shown(words.message.encode("utf-8", "replace") if words.message else answer.body)
    what = f"{host} answered {status}: {text}" if text else f"{host} answered {status} without a word"
    if 300 <= status < 400:
        return _redirect(answer, host)
    if 400 <= status < 500:
        return _refused(answer, words, what, host)
    if status >= 500:
        is_overload = status in (503, 529)
        wait = stated_wait(answer.headers) if is_overload else None
        return Fault("server", what, True, wait, is_overload=is_overload, status=status, said=words)
    return Fault("bad_reply", what, True, status=status, said=words)


def _redirect(answer: Answer, host: str) -> Fault:
    # The target's host is told, the rest is not: an address may hold a token.
    target = re.match(r"(https?://)?(?:[^/@?#]*@)?([^/?#]*)", answer.headers.get("location", ""))
    to = (
        shown((target[2] if target and target[1] else "").encode("utf-8", "replace"))
        or "another address of its own"
    )
    return Fault(
        "bad_reply",
        f"{host} answered {answer.status} and points to {to}. Redirects are not followed, because the key belongs to "
        f"{host} alone. Give the right address of the model.",
        is_final=True,
        status=answer.status,
    )


def _refused(answer: Answer, words: Said, what: str, host: str) -> Fault:
    """Statuses from 400 to 499. The words come first where hosts use a status for several things."""
    status = answer.status
    text = f"{words.code} {words.message}"
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(text)):
        advice = "Add credit, then give the same command again: it goes on where it stopped."
        return Fault(
            "quota", f"{what}. The quota of this key is used up. {advice}", is_final=True, status=status
        )
    if status == 413 or (status in (400, 422, 429) and _TOO_LONG.search(text)):
        return Fault("too_long", what, status=status, said=words)
    if status in (400, 403, 422) and _FILTERED.search(text):
        return Fault("filtered", what, status=status, said=words)
    if status == 401:
        # No word of the host's: it often repeats a part of the key.
        return Fault("auth", f"{host} refused the key (401)", is_final=True, status=status)
    if status == 403:
        return Fault("auth", f"{what}. This may not be done with the key", is_final=True, status=status)
    if status == 429:
        return Fault("rate_limited", what, True, stated_wait(answer.headers), is_overload=True, status=status)
    if status in (404, 405, 410):
        return Fault(
            "bad_reply", f"{what}. Check the address and the name of the model.", is_final=True, status=status
        )
    if status in (408, 409, 425):
        return Fault("timeout" if status == 408 else "server", what, True, status=status)
    return Fault("bad_reply", what, status=status, said=words)


def no_reply_in(body: bytes, headers: Mapping[str, str], host: str) -> Fault:
    """The fault of an answer with status 200 whose body is no reply."""
    words = said(body)
    if words.message or words.code:
        # Gateways send what went wrong behind them with a status of 200; the code may be the real one.
        code = next((int(part) for part in words.code.split() if part.isdigit()), 0)
        if 400 <= code < 600:
            return fault_of(Answer(code, headers, body), host)
        return Fault(
            "server", f"{host} answered 200 with an error: {shown(words.message.encode())}", True, said=words
        )
    if not body.strip():
        return Fault("transport", f"{host} answered 200 with nothing", True)
    start = body.lstrip()[:1]
    if start == b"<":
        kind = headers.get("content-type", "no content type")[:60]
        return Fault(
            "bad_reply",
            f"{host} answered with a page ({kind}) in place of a reply, as a login page or a proxy does: {shown(body)}",
            True,
            # Where no reply ever came, whatever sent the page is not the host that was meant.
            is_unreached=True,
        )
    if start == b"{" and _is_json(body):
        return Fault("bad_reply", f"{host} answered with JSON that is no reply: {shown(body)}", True)
    return Fault("transport", f"{host} answered with damaged JSON: {shown(body)}", True)


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
