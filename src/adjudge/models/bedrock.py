"""Amazon Bedrock's Converse API: wire formats, and the signature of a request (Signature Version 4).

With an API key (`AWS_BEARER_TOKEN_BEDROCK`) a request carries the key; otherwise it is signed with the access
key of the environment, and the secret itself is never sent. No file of credentials is read. There are no
log-probabilities and no seed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from msgspec import Struct

from ..errors import AuthError
from ..records import Call, Reply
from .base import Parameters
from .http_errors import ErrorBody
from .keys import KeySource, Secret
from .remote import RemoteModel
from .response_bodies import decode_leniently

API_KEY = "AWS_BEARER_TOKEN_BEDROCK"
SECRET_KEY = "AWS_SECRET_ACCESS_KEY"
SERVICE = "bedrock"

_TOOL = "answer"
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}


class _Tool(Struct):
    input: Any = None


class _Thought(Struct):
    text: str | None = None


class _Reasoning(Struct, rename="camel"):
    reasoning_text: _Thought | None = None


class _Block(Struct, rename="camel"):
    text: str | None = None
    tool_use: _Tool | None = None
    reasoning_content: _Reasoning | None = None


class _Message(Struct):
    content: list[_Block]


class _Output(Struct):
    message: _Message


class _Usage(Struct, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


class _Answer(Struct, rename="camel"):
    output: _Output
    stop_reason: str | None = None
    usage: _Usage | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Answer).decode


class BedrockModel(RemoteModel):
    """A model behind Amazon Bedrock."""

    gives_logprobs = False
    droppable: ClassVar[frozenset[str]] = frozenset(("temperature", "maxTokens", "toolConfig"))

    def __init__(
        self, name: str, model: str, base: str, path: str, *, key: KeySource | None, **options: Any
    ) -> None:
        self.is_signed = key is None or (key.env == API_KEY and not os.environ.get(API_KEY, "").strip())
        super().__init__(
            name, model, base, path, key=KeySource(SECRET_KEY) if self.is_signed else key, **options
        )

    def _headers(self, key: Secret | None) -> dict[str, str]:
        return {} if key is None or self.is_signed else {"Authorization": f"Bearer {key.reveal()}"}

    def _all_headers(self, key: Secret | None, body: bytes) -> dict[str, str]:
        headers = super()._all_headers(key, body)
        if not self.is_signed or key is None:
            return headers
        credentials = Credentials(
            _variable("AWS_ACCESS_KEY_ID"), key.reveal(), os.environ.get("AWS_SESSION_TOKEN", "").strip()
        )
        scope = SigningScope(region_of(self._host), SERVICE)
        return {**headers, **signature("POST", self._url, {}, body, credentials, scope, datetime.now(UTC))}

    def _secrets(self, key: Secret | None) -> list[Secret]:
        token = os.environ.get("AWS_SESSION_TOKEN", "").strip()
        return [*super()._secrets(key), *([Secret(token)] if token and self.is_signed else [])]

    def _encode(self, call: Call, params: Parameters, max_tokens: int | None) -> bytes:
        request: dict[str, Any] = {
            "messages": [
                {"role": message.role, "content": [{"text": message.content}]}
                for message in call.messages
                if message.role != "system"
            ]
        }
        system = [{"text": message.content} for message in call.messages if message.role == "system"]
        if system:
            request["system"] = system
        if params.thinking_tokens is not None:
            thinking = {"type": "enabled", "budget_tokens": params.thinking_tokens}
            request["additionalModelRequestFields"] = {"thinking": thinking}
            # Models that think take no temperature, and the budget is a part of the longest reply.
            max_tokens = None if max_tokens is None else max_tokens + params.thinking_tokens
        temperature = params.temperature if params.thinking_tokens is None else None
        values = {"temperature": temperature, "maxTokens": max_tokens}
        config = {k: v for k, v in values.items() if v is not None and k not in self._changes}
        if config:
            request["inferenceConfig"] = config
        if params.schema is not None and "toolConfig" not in self._changes:
            tool = {"name": _TOOL, "description": "Give the answer.", "inputSchema": {"json": params.schema}}
            choice = {"tool": {"name": _TOOL}} if params.thinking_tokens is None else {"auto": {}}
            request["toolConfig"] = {"tools": [{"toolSpec": tool}], "toolChoice": choice}
        if params.seed is not None:
            self._leave_out("seed", params.seed)
        if params.reasoning_effort is not None:
            self._leave_out("reasoning_effort", params.reasoning_effort)
        return _encode(request)

    def _adapt(self, refusal: ErrorBody, body: bytes) -> bool:
        """The parameters that a host may refuse stand in a separate table."""
        sent = msgspec.json.decode(body, type=dict[str, Any])
        return super()._adapt(refusal, _encode({**sent, **sent.get("inferenceConfig", {})}))

    def _decode(self, call: Call, body: bytes, seconds: float) -> Reply | None:
        try:
            answer: _Answer | None = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            answer = decode_leniently(body, _Answer)
        if answer is None:
            return None
        text = reasoning = ""
        for block in answer.output.message.content:
            if block.tool_use is not None:
                text += _encode(block.tool_use.input).decode()
            text += block.text or ""
            if block.reasoning_content is not None and block.reasoning_content.reasoning_text is not None:
                reasoning += block.reasoning_content.reasoning_text.text or ""
        usage = answer.usage or _Usage()
        tokens_in = (
            (usage.input_tokens or 0)
            + (usage.cache_read_input_tokens or 0)
            + (usage.cache_write_input_tokens or 0)
        )
        finish = answer.stop_reason and _FINISH.get(answer.stop_reason, answer.stop_reason)
        # A reply does not say which model wrote it.
        return self._made(call, (text, reasoning), (tokens_in, usage.output_tokens or 0), seconds, finish)


def region_of(host: str) -> str:
    """The region of a host of Bedrock; for another address, such as a private one, that of the
    environment."""
    match = re.match(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.", host)
    if match:
        return match[1]
    return os.environ.get("AWS_REGION", "").strip() or _variable("AWS_DEFAULT_REGION")


def _variable(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise AuthError(
            f"There is no key: the environment variable {name} is not set. Set {API_KEY}, "
            f"or AWS_REGION, AWS_ACCESS_KEY_ID and {SECRET_KEY}."
        )
    return value


# -- Signature Version 4, as AWS describes it in "Create a signed AWS API request"


class Credentials(NamedTuple):
    access_key: str
    secret_key: str
    session_token: str = ""


class SigningScope(NamedTuple):
    region: str
    service: str


_ALGORITHM = "AWS4-HMAC-SHA256"


def signature(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    credentials: Credentials,
    scope: SigningScope,
    when: datetime,
) -> dict[str, str]:
    """The headers that sign a request: its date, the session token where there is one, and the
    authorization."""
    date = when.strftime("%Y%m%dT%H%M%SZ")
    added = {"x-amz-date": date}
    if credentials.session_token:
        added["x-amz-security-token"] = credentials.session_token
    parts = urlsplit(url)
    signed = {name.lower(): " ".join(value.split()) for name, value in (*headers.items(), *added.items())}
    signed["host"] = parts.netloc
    names = ";".join(sorted(signed))
    canonical = "\n".join(
        (
            method,
            # A path that is sent encoded is encoded once more, for every service but S3.
            quote(parts.path or "/", safe="/-_.~"),
            _canonical_query(parts.query),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    place = f"{date[:8]}/{scope.region}/{scope.service}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{credentials.secret_key}".encode()
    for text in (date[:8], scope.region, scope.service, "aws4_request"):
        key = hmac.digest(key, text.encode(), "sha256")
    final = hmac.digest(key, f"{_ALGORITHM}\n{date}\n{place}\n{digest}".encode(), "sha256").hex()
    authorization = (
        f"{_ALGORITHM} Credential={credentials.access_key}/{place}, SignedHeaders={names}, Signature={final}"
    )
    return {**added, "Authorization": authorization}


def _canonical_query(query: str) -> str:
    pairs = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
        for name, value in parse_qsl(query, keep_blank_values=True)
    )
    return "&".join(f"{name}={value}" for name, value in pairs)
