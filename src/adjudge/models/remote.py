"""A judge behind HTTP: what is common to all providers.

When a call is retried:

    429                       after the wait that the host states; not counted as a failure
    5xx, broken connections   with exponential backoff and jitter; `ATTEMPTS` in all
    the host is down          503, 529 or no connection, and no reply to any other call meanwhile: not counted
                              as an attempt; the limiter ends the run once its patience is over
    timeouts                  the same, but `TIMEOUTS` in all, since each may have been charged; the first
                              timeout adapts to the times of the model's other replies
    a parameter refused       at once without it, as all further calls; recorded in `adjustments`
    500 twice with a schema   at once without it; see `schema_failures`
    cut off by length         with --more-room, once with a larger token limit; see `more_room`
    401                       once, if the key in the environment has changed
    the host has replicas     5xx, timeouts, broken connections and rate limits beyond the patience at once by
                              another replica; see `replicas`

The wire formats are in the subclasses. A key is sent to the host of the model only, and is redacted in every
reply. Token counts that cannot be true are replaced by an estimate.
"""

from __future__ import annotations

import asyncio
import re
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from random import uniform
from time import monotonic, perf_counter
from typing import IO, TYPE_CHECKING, ClassVar, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from ..errors import AuthError, HostDown, ModelError, RateLimited, sentences
from ..records import Call, Reply, TokenLogprob
from ..render import estimated_tokens
from .base import Model, Parameters, failed, no_logprobs, stop_error
from .http_errors import ErrorBody, Fault, Response, fault_of, no_reply_in, printable_start
from .keys import SHORTEST_IN_REPLY, KeySource, Secret
from .more_room import larger_limit, with_cut_off
from .network import Network
from .prices import BATCH_PRICE, Price
from .prompt_cache import READ_PRICE, WRITE_PRICE, PromptCache
from .providers import BatchForm
from .rate_limits import HostLimiter, Outcome
from .redaction import redacted, response_without_key, without_key
from .refused_parameters import refused_parameter
from .retries import (
    ADAPTATIONS,
    ATTEMPTS,
    ATTEMPTS_UNREACHED,
    LONGEST_BACKOFF_SECONDS,
    TIMEOUT_ADVICE,
    TIMEOUTS,
    Attempts,
    ReplicaFailed,
    may_another_host_answer,
    outcome_of_fault,
)
from .retry_after import unstated_wait
from .schema_failures import FAILURES_NEEDED, SchemaFailures
from .timeouts import AdaptiveTimeout
from .token_counts import MOST_ADDED_TOKENS, MOST_HIDDEN_TOKENS, TOKENS_PER_BYTE, estimated_prompt

if TYPE_CHECKING:
    from .batch_apis.base import BatchApi
    from .http_client import Transport
    from .replicas import Replicas


_SCHEMAS = {"response_format": "schema", "tools": "schema", "toolConfig": "schema"}
"""Parameters that carry the schema, by the name that users know."""


MOST_LOGPROB = 0.01
"""A log-probability is at most 0; servers round."""


_ONLY_STREAMS = re.compile(
    r"\bstream(?:ing|ed)?\b.{0,80}\b(?:must|only|required|requires|true|enabled)\b|\bonly\b.{0,40}\bstream",
    re.I | re.S,
)


class RemoteModel(Model):
    """A judge behind HTTP. `base` is its URL without the path of the call."""

    needs_network = True
    is_replica = False
    """whether a fault of the host is raised as `ReplicaFailed` instead of waiting and retrying"""
    droppable: ClassVar[frozenset[str]]
    """parameters that are left out where a model refuses them"""
    usual_reply_tokens: ClassVar[int] = 1024
    """for reservations, where no limit is sent"""
    batch_form: BatchForm | Literal[""] = ""
    """the provider's batch API; empty where it has none"""
    _batch_api: BatchApi | None = None
    lists_ends: bool = False
    """whether the provider's list of models says when each ends"""

    def __init__(
        self,
        name: str,
        model: str,
        base: str,
        path: str,
        *,
        key: KeySource | None,
        price: Price | None = None,
        network: Network | None = None,
    ) -> None:
        super().__init__(name, price)
        self._model = model
        self.endpoint = base
        self._url = base + path
        self._host = urlsplit(base).netloc
        query = urlsplit(path).query
        self.query = f"?{query}" if query else ""
        """of every request, such as the version of Azure's API"""
        self._key = key
        self.headers: dict[str, str | KeySource] = {}
        """headers that the user set for this model; a `KeySource` is read from the environment"""
        self._network = network or Network()
        self._owns_network = network is None
        self._limiter = self._network.limiter(self._host, key.env if key else "")
        self._changes: dict[str, str] = {}
        """parameter → its other name; empty: it is left out"""
        self._stopped: tuple[Secret | None, ModelError] | None = None
        self._tokens_per_byte = 0.0
        self._has_given_logprobs = False
        self.schemas = SchemaFailures()
        self._streams = False
        """whether the host sends replies only as a stream"""
        self._timeout = AdaptiveTimeout(self._network.reply_floor_seconds)
        self.prompt_cache = PromptCache()

    @abstractmethod
    def _headers(self, key: Secret | None) -> dict[str, str]:
        """The headers of one request in addition to those of every request."""

    def _all_headers(self, key: Secret | None, _body: bytes) -> dict[str, str]:
        """The headers of one request with those that the user set; the key of the model is never replaced."""
        if not self.headers:
            return self._headers(key)
        values = {
            name: value.read().reveal() if isinstance(value, KeySource) else value
            for name, value in self.headers.items()
        }
        return {**values, **self._headers(key)}

    def _secrets(self, key: Secret | None) -> list[Secret]:
        """All that must not stand in a reply or a message: the key, and headers that the user set."""
        secrets = [] if key is None else [key]
        for value in self.headers.values():
            if isinstance(value, KeySource):
                secrets.append(value.read())
            elif len(value) >= SHORTEST_IN_REPLY:
                secrets.append(Secret(value))
        return secrets

    @abstractmethod
    def _encode(self, call: Call, params: Parameters, max_tokens: int | None) -> bytes:
        """The body of one request."""

    @abstractmethod
    def _decode(self, call: Call, body: bytes, seconds: float) -> Reply | None:
        """The reply in a body; none where it holds no reply."""

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        super().check(params, kinds)
        if self._key is not None:
            self._key.read()
        for value in self.headers.values():
            if isinstance(value, KeySource):
                value.read()

    async def close(self) -> None:
        if self._owns_network:
            await self._network.close()

    @property
    def trouble(self) -> str:
        return self._limiter.trouble

    @property
    def limiter(self) -> HostLimiter:
        return self._limiter

    def share_state(self, first: RemoteModel, whole: Replicas) -> None:
        """Become one of several replicas of a model: what is learned from one holds for all."""
        self.is_replica = self._limiter.is_replica = True
        self.name, self.headers = whole.name, whole.headers
        self.adjustments, self.refused, self._changes = whole.adjustments, whole.refused, first._changes
        self.schemas = first.schemas

    async def ask(self, call: Call, params: Parameters) -> Reply:
        """The reply to one call, with the retries in the module docstring."""
        if call.kind == "likelihood" or params.top_logprobs is not None:
            super().check(params, (call.kind,))
        return await self._ask(call, params, Attempts(params.max_tokens))

    async def _ask(self, call: Call, params: Parameters, attempts: Attempts) -> Reply:
        while True:
            key = self._key.read() if self._key is not None else None
            if self._stopped is not None and self._stopped[0] == key:
                raise type(self._stopped[1])(str(self._stopped[1]))
            sent = self._without_bad_schema(params, attempts)
            body = self._encode(call, sent, attempts.max_tokens)
            result = await self._send(call, sent, key, body, attempts)
            if isinstance(result, Reply):
                self._note_schema(params, sent, attempts)
                if attempts.cut_off is not None:
                    return with_cut_off(result, attempts.cut_off)
                limit = larger_limit(result, params, attempts.max_tokens)
                if limit is None:
                    return result
                attempts.max_tokens, attempts.cut_off = limit, result
                continue
            wait = self._schema_wait(result, sent, attempts)
            if wait is None:
                if self.is_replica and attempts.cut_off is None and self._may_another_answer(result):
                    raise ReplicaFailed(result)
                wait = self._wait_after(result, attempts, key, body)
            if wait is None:
                # The cost of a reply must not be lost because of a later fault.
                advice = TIMEOUT_ADVICE if result.kind == "timeout" else ""
                return attempts.cut_off or failed(call, result.kind, result.message + advice)
            if wait > 0:
                await asyncio.sleep(wait)

    async def _send(
        self, call: Call, params: Parameters, key: Secret | None, body: bytes, attempts: Attempts
    ) -> Reply | Fault:
        """Send one request when the limiter admits it."""
        limiter = self._limiter
        tokens = self._reserved_tokens(body, attempts.max_tokens) if limiter.counts_tokens else 0
        transport = self._network.transport(self._host)
        await limiter.enter(tokens)
        outcome: Outcome = "none"
        used: float | None = None
        note = ""
        started = perf_counter()
        try:
            headers = self._all_headers(key, body)
            response = await self._post(transport, headers, body, params.timeout_seconds, attempts)
            seconds = perf_counter() - started
            result = self._read(call, params, key, response, seconds, len(body))
            if isinstance(result, Reply):
                outcome = "ok"
                self._timeout.note(seconds)
                limiter.was_reached = True
                if tokens:
                    used = self._tokens_used(result, body)
            else:
                outcome, note = outcome_of_fault(result), result.message
                limiter.was_reached |= not result.is_unreached
        finally:
            took, longest = perf_counter() - started, params.timeout_seconds
            limiter.leave(outcome, tokens, used, note, seconds=took, longest=longest)
        return result

    async def _post(
        self, transport: Transport, headers: dict[str, str], body: bytes, longest: float, attempts: Attempts
    ) -> Response | Fault:
        """Send one request, the first of a call with the adaptive timeout."""
        timeout = self._timeout
        if attempts.timeouts:
            return await transport.post(self._url, headers, body, longest)
        request = transport.post(self._url, headers, body, timeout.seconds(longest))
        if timeout.is_learned:
            return await request
        try:
            return await timeout.early(request)
        except TimeoutError:
            return Fault(
                "timeout", f"{self._host} did not answer long after other calls had been answered", True
            )

    def _read(
        self,
        call: Call,
        params: Parameters,
        key: Secret | None,
        response: Response | Fault,
        seconds: float,
        n_sent: int,
    ) -> Reply | Fault:
        """The reply or fault in a response to `n_sent` bytes, without the key and other secrets."""
        secrets = self._secrets(key)
        if isinstance(response, Fault):
            return redacted(response, secrets)
        body = response.body
        for secret in secrets:
            body = secret.redact_bytes(body)
        reply = self._decode(call, body, seconds) if 200 <= response.status < 300 else None
        if reply is None:
            for secret in secrets:
                response = response_without_key(response, secret)
            if not 200 <= response.status < 300:
                return redacted(fault_of(response, self._host), secrets)
            return redacted(no_reply_in(response.body, response.headers, self._host), secrets)
        for secret in secrets:
            reply = without_key(reply, secret)
        reply = self._with_usage(call, reply, n_sent, len(body))
        if _is_impossible(reply.logprobs or ()):
            return Fault("bad_reply", f"{self._host} sent a log-probability above 0, which no token has")
        if params.top_logprobs is None:
            return reply
        if reply.logprobs:
            self._has_given_logprobs = True
        elif reply.text:
            # Never fall back on the score in the text: it is a different measure.
            error = no_logprobs(self.name, "they were requested, but the reply has none")
            return Fault("bad_reply", str(error), is_final=not self._has_given_logprobs)
        return reply

    def _with_usage(self, call: Call, reply: Reply, n_sent: int, n_received: int) -> Reply:
        """The reply with token counts that can be true.

        A host that counts nothing, or nonsense, must not make a budget unlimited.
        """
        tokens_in, tokens_out = reply.tokens_in, reply.tokens_out
        is_plausible = (
            0 <= tokens_in <= 4 * n_sent + MOST_ADDED_TOKENS
            and 0 <= tokens_out <= n_received + MOST_HIDDEN_TOKENS
        )
        is_missing = self.price is not None and not (tokens_in and (tokens_out or not reply.text))
        if is_plausible and not is_missing:
            return reply
        if not is_plausible or not tokens_in:
            tokens_in = estimated_prompt(call.messages)
        if not is_plausible or not tokens_out:
            tokens_out = max(1, estimated_tokens(reply.text + reply.reasoning))
        why = "reports none" if is_plausible else "reports impossible ones"
        note = f"token counts are estimated from the texts: {self.name} {why} for some replies"
        if note not in self.adjustments:
            self.adjustments.append(note)
        flags = reply.flags if is_plausible else (*reply.flags, "usage_implausible")
        cost = self.cost(tokens_in, tokens_out)
        return replace(reply, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost, flags=flags)

    def _wait_after(self, fault: Fault, attempts: Attempts, key: Secret | None, body: bytes) -> float | None:
        """Seconds until the next attempt; none: no retry. Raises where the run must stop."""
        if (
            fault.status == 401
            and not attempts.is_reread
            and self._key is not None
            and self._key.read() != key
        ):
            attempts.is_reread = True
            return 0.0
        if fault.is_final:
            raise self._stop(fault, key)
        if attempts.cut_off is not None and fault.status in (400, 422):
            return None  # the host allows no larger token limit
        if fault.status in (400, 406, 422) and not self._streams and _ONLY_STREAMS.search(fault.message):
            self._streams = True
            self.adjustments.append(f"replies are read as a stream: {self.name} sends no others")
            return 0.0
        if (
            fault.status in (400, 422)
            and attempts.adapted < ADAPTATIONS
            and self._adapt(fault.error_body, body)
        ):
            attempts.adapted += 1
            return 0.0
        if fault.is_retryable and self._limiter.given_up:
            raise HostDown(self._limiter.given_up)
        if fault.kind == "rate_limited":
            return self._rate_limit_wait(fault, attempts)
        if not fault.is_retryable:
            return None
        if self._is_down(fault, attempts):
            return self._outage_wait(fault, attempts)
        attempts.n += 1
        attempts.timeouts += fault.kind == "timeout"
        is_unreachable = attempts.n >= ATTEMPTS_UNREACHED or self._limiter.is_broken
        if fault.is_unreached and not self._limiter.was_reached and is_unreachable:
            advice = "Check the address, and that the server is running."
            raise self._stop(replace(fault, message=sentences(fault.message, advice)), key)
        if attempts.n >= ATTEMPTS or attempts.timeouts >= TIMEOUTS:
            return None
        if fault.wait_seconds:
            return self._pause(fault.wait_seconds, attempts)
        return self._backoff(attempts.n)

    def _backoff(self, n: int) -> float:
        longest = self._network.backoff_seconds * 2.0 ** min(n - 1, 20)
        return uniform(0, min(LONGEST_BACKOFF_SECONDS, longest))

    def _is_down(self, fault: Fault, attempts: Attempts) -> bool:
        """Whether the host as a whole is down: it has answered no call since this one began to fail."""
        attempts.failing_since = attempts.failing_since or monotonic()
        is_unreached = fault.is_unreached and fault.kind != "bad_reply"
        if not (fault.is_overload or is_unreached) or not self._limiter.was_reached:
            return False
        return self._limiter.replied_at < attempts.failing_since

    def _outage_wait(self, fault: Fault, attempts: Attempts) -> float | None:
        """How long to wait while the host is down; the limiter ends the run when its patience is over."""
        attempts.outages += 1
        if fault.wait_seconds:
            return self._pause(fault.wait_seconds, attempts)
        return self._backoff(attempts.outages)

    def _rate_limit_wait(self, fault: Fault, attempts: Attempts) -> float | None:
        """How long to wait after a 429, which does not count as a failure."""
        attempts.limited += 1
        if fault.wait_seconds:
            return self._pause(fault.wait_seconds, attempts)
        patience_left = self._network.outage_seconds - self._limiter.limited_seconds
        wait = unstated_wait(attempts.limited, self._network.backoff_seconds, patience_left)
        attempts.waited += wait
        return wait

    def _pause(self, seconds: float, attempts: Attempts) -> float | None:
        """Pause all calls to the host for as long as it states; this call then waits with the others."""
        if seconds > self._network.outage_seconds:
            raise RateLimited(
                f"{self._host} asks to wait for {seconds:.0f} seconds, longer than --patience "
                f"({self._network.outage_seconds / 60:g} minutes). "
                "Run the same command again after that, to resume."
            )
        attempts.waited += seconds
        self._limiter.pause(seconds)
        return 0.0

    def _stop(self, fault: Fault, key: Secret | None) -> ModelError:
        """The error for a fault that every call would meet; later calls raise it without a request."""
        message = fault.message
        if fault.kind == "auth" and self._key is not None:
            message += f". Check the key in {self._key.env}."
        elif fault.status == 401:
            message = (
                f"{self._host} requires a key (401). Put it into an environment variable, and name the"
                " variable with --key-env."
            )
        error = stop_error(fault.kind, message)
        if isinstance(error, AuthError) or fault.kind == "quota":
            self._stopped = (key, error)
        return error

    def _adapt(self, refusal: ErrorBody, body: bytes) -> bool:
        """Remove or rename the parameter that the host refuses; whether there was one."""
        sent = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        name = refused_parameter(refusal, sent.keys() & self.droppable)
        if name is None:
            return False
        words = printable_start(refusal.message.encode("utf-8", "replace"))
        if "logprobs" in name:
            raise no_logprobs(self.name, words)
        parameter, new_name = self._change(name, refusal)
        if self._changes.get(parameter) != new_name:
            self._changes[parameter] = new_name
            value = bytes(sent[name])[:40].decode("utf-8", "replace")
            shown_name = _SCHEMAS.get(parameter) or (f"{parameter} {value}" if len(value) < 20 else parameter)
            change = f"is sent as {new_name}" if new_name else "is not sent"
            self.refused.add(_SCHEMAS.get(parameter, parameter))
            self.adjustments.append(f"{shown_name} {change}: {self.name} refuses it ({words})")
        return True

    def _without_bad_schema(self, params: Parameters, attempts: Attempts) -> Parameters:
        """The parameters of one request, without a schema that the host fails with."""
        if params.schema is None:
            return params
        is_bad = attempts.is_without_schema or self.schemas.is_left_out(params.schema)
        return replace(params, schema=None) if is_bad else params

    def _schema_wait(self, fault: Fault, sent: Parameters, attempts: Attempts) -> float | None:
        """Seconds until a call is asked again because its schema may be the cause; none: it is not."""
        if fault.status != 500:
            return None
        if attempts.is_without_schema:
            attempts.schema_error = ""  # it fails without the schema, too
            return None
        if self._is_schema_refused() or not self.schemas.may_be_cause(sent.schema):
            return None
        attempts.schema_failures += 1
        if attempts.schema_failures >= FAILURES_NEEDED:
            attempts.is_without_schema, attempts.schema_error = True, fault.message
            return 0.0
        # Another replica would fail with the same schema: the same host is asked again.
        return self._backoff(1) if self.is_replica else None

    def _note_schema(self, params: Parameters, sent: Parameters, attempts: Attempts) -> None:
        """Learn from a reply whether the host can do with the schema, or only without it."""
        if params.schema is None or self._is_schema_refused():
            return
        if sent.schema is not None:
            self.schemas.note_reply(params.schema)
        elif attempts.is_without_schema and attempts.schema_error:
            is_left_out = self.schemas.note_reply_without(params.schema, attempts.schema_error)
            said = f"{self.name} answered 500 with it, and replied without it ({attempts.schema_error:.200})"
            text = f"schema is {'not sent' if is_left_out else 'left out of single calls'}: {said}"
            if is_left_out or self.schemas.n_asked_without == 1:
                self.adjustments.append(text)
            if is_left_out:
                self.refused.add("schema")

    def _is_schema_refused(self) -> bool:
        """Whether the host refuses every schema, so that none is sent."""
        return any(name in self._changes for name in _SCHEMAS)

    def _may_another_answer(self, fault: Fault) -> bool:
        """Whether another replica may answer a call: also one whose rate limit lasts longer than the
        patience."""
        if fault.kind != "rate_limited":
            return may_another_host_answer(fault)
        longest = self._network.outage_seconds
        return self._limiter.limited_seconds > longest or (fault.wait_seconds or 0.0) > longest

    def _made(
        self, call: Call, texts: tuple[str, str], tokens: tuple[int, int], seconds: float, finish: str | None
    ) -> Reply:
        """A reply of these texts (answer, reasoning) and tokens (in, out), with its cost."""
        return Reply(
            call.key,
            texts[0],
            texts[1],
            tokens_in=tokens[0],
            tokens_out=tokens[1],
            cost_usd=self.cost(*tokens),
            seconds=seconds,
            finish=finish,
        )

    def _with_cache(self, call: Call, reply: Reply, read: int, written: int) -> Reply:
        """The reply at its price where the host found a part of its prompt in the cache, or put one there.

        Both parts are among the tokens sent."""
        read, written = max(0, read), max(0, written)
        self.prompt_cache.note(call, read, written)
        if self.price is None or reply.cost_usd is None or read + written > reply.tokens_in:
            return reply
        less = (read * (1 - READ_PRICE) - written * (WRITE_PRICE - 1)) * self.price[0] / 1e6
        self.prompt_cache.saved_usd += less
        return replace(reply, cost_usd=reply.cost_usd - less)

    def _leave_out(self, name: str, value: object) -> None:
        """Record once that a parameter is not sent because the API has none of this kind."""
        if name not in self._changes:
            self._changes[name] = ""
            self.adjustments.append(f"{name} {value} is not sent: {self.name} has no such parameter")

    def _change(self, name: str, _refusal: ErrorBody) -> tuple[str, str]:
        """The parameter with this name on the wire, and its new name; empty: it is left out."""
        return name, ""

    # Batches: the same bodies and readers as of single calls

    def batch_api(self) -> BatchApi | None:
        if self._batch_api is None and self.batch_form:
            from .batch_apis.api_by_provider import FORMS

            self._batch_api = FORMS[self.batch_form](self)
        return self._batch_api

    def body_of(self, call: Call, params: Parameters) -> bytes:
        """The body of the first request of a call."""
        return self._encode(call, params, params.max_tokens)

    def most_reply_tokens(self, params: Parameters) -> int:
        """The most tokens of a reply; without a limit, more than most replies have."""
        limit = self.usual_reply_tokens if params.max_tokens is None else params.max_tokens
        return limit + (params.thinking_tokens or 0)

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        key_header: str = "",
        seconds: float = 120.0,
        body: bytes = b"",
        file: Sequence[bytes | Path] = (),
        sink: IO[bytes] | None = None,
    ) -> Response | Fault:
        """A request to the model's host besides its calls, sent once: a response with status 200 to 299, or a
        fault.

        `key_header` carries the key in place of the model's own headers; the key is sent to the model's host
        only.
        """
        if urlsplit(url).netloc != self._host:
            return Fault(
                "transport", f"{self._host} points to another host. Nothing was sent to it", is_final=True
            )
        key = self._key.read() if self._key is not None else None
        own = {key_header: key.reveal()} if key_header and key is not None else self._all_headers(key, body)
        secrets = self._secrets(key)
        response = await self._network.transport(self._host).send(
            method, url, {**own, **(headers or {})}, seconds, body=body, file=file, sink=sink
        )
        if isinstance(response, Fault):
            return redacted(response, secrets)
        for secret in secrets:
            response = response_without_key(response, secret)
        if 200 <= response.status < 300:
            return response
        return redacted(fault_of(response, self._host), secrets)

    async def find_ending(self) -> None:
        if self.lists_ends:
            from .retirement import end_of

            self.ending = await end_of(self, self._model) or self.ending

    def stopped_by(self, fault: Fault) -> ModelError:
        """The error for a fault that every request would meet."""
        return self._stop(fault, self._key.read() if self._key is not None else None)

    def read_batched(self, call: Call, params: Parameters, status: int, body: bytes) -> Reply | Fault:
        """The reply or fault in a line of a batch's results, at the price of a batch.

        A fault over a parameter that is now left out is retryable, as it is for a single call.
        """
        sent = self.body_of(call, params)
        key = self._key.read() if self._key is not None else None
        result = self._read(call, params, key, Response(status, {}, body), 0.0, len(sent))
        if isinstance(result, Fault):
            is_adapted = result.status in (400, 422) and (
                self._was_adapted(result.error_body) or self._adapt(result.error_body, sent)
            )
            return replace(result, is_retryable=True) if is_adapted else result
        return replace(result, cost_usd=None if result.cost_usd is None else result.cost_usd * BATCH_PRICE)

    def _was_adapted(self, refusal: ErrorBody) -> bool:
        """Whether the refused parameter has been left out or renamed since the line was written."""
        name = refused_parameter(refusal, self.droppable)
        return name is not None and self._change(name, refusal)[0] in self._changes

    def is_cut_off(self, reply: Reply, params: Parameters) -> bool:
        """Whether a reply ends before its answer, so that the call is asked again with a larger limit."""
        return larger_limit(reply, params, params.max_tokens) is not None

    async def ask_after(self, call: Call, params: Parameters, cut_off: Reply) -> Reply:
        """The reply to a call whose first reply was cut off, with a larger limit."""
        limit = larger_limit(cut_off, params, params.max_tokens)
        if limit is None:
            return cut_off
        attempts = Attempts(limit)
        attempts.cut_off = cut_off
        return await self._ask(call, params, attempts)

    def _reserved_tokens(self, body: bytes, max_tokens: int | None) -> float:
        """The most tokens that a request may use, for the rate limit."""
        per_byte = self._tokens_per_byte * 1.1 or TOKENS_PER_BYTE
        return len(body) * per_byte + (self.usual_reply_tokens if max_tokens is None else max_tokens)

    def _tokens_used(self, reply: Reply, body: bytes) -> float | None:
        if not reply.tokens_in:
            return None
        self._tokens_per_byte = max(self._tokens_per_byte, reply.tokens_in / len(body))
        return reply.tokens_in + reply.tokens_out


def _is_impossible(tokens: Sequence[TokenLogprob]) -> bool:
    """Whether a token or one of its alternatives has a log-probability above 0."""
    return any(
        token.logprob > MOST_LOGPROB or any(other.logprob > MOST_LOGPROB for other in token.top)
        for token in tokens
    )
