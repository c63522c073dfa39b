"""A judge behind HTTP: what is common to all providers.

Asks until there is a reply or a fault that stands. Who is tried again, and when:

    429                       after the wait that the host states; not counted as a failure
    5xx, broken connections   after a random wait that doubles; `ATTEMPTS` in all
    timeouts                  the same, but `TIMEOUTS` in all, since each may have been charged; the first comes
                              sooner where the model's other replies show that this one is lost
    a parameter refused       at once without it, and so in all further calls; told in `adjustments`
    empty, cut off by length  once, with room for more
    401                       once, if the key in the environment has changed

The wire formats are in the subclasses. A key goes to the host of the model and nowhere else.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Collection
from random import uniform
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from ..errors import AuthError, ModelError, RateLimited
from ..records import Call, Reply
from .api_keys import KeySource, Secret
from .base import Model, Parameters, Price, failed, no_logprobs, stop_error
from .http_errors import Answer, Fault, Said, fault_of, no_reply_in, refused_parameter, shown
from .rate_limits import Network, Outcome
from .timeouts import Patience

if TYPE_CHECKING:
    from .http_client import Transport

ATTEMPTS = 6
TIMEOUTS = 3
ATTEMPTS_UNREACHED = 3
"""For a host that was never reached: its address is wrong, or nothing runs there."""

ADAPTATIONS = 8
"""How many parameters one call may shed before its refusals count as faults."""

LONGEST_BACKOFF_SECONDS = 30.0
LONGEST_LIMITED_SECONDS = 60.0

_SCHEMAS = {"response_format": "schema", "tools": "schema"}
"""Parameters that carry the schema, which the user knows by that name."""

TOKENS_PER_BYTE = 0.5
"""For the limit of tokens, until the model's own counts are known: more than any real text has."""


class _Tries:
    """What was done so far for one call."""

    __slots__ = (
        "adapted",
        "attempts",
        "is_enlarged",
        "is_reread",
        "limited",
        "max_tokens",
        "paid",
        "timeouts",
        "waited",
    )

    def __init__(self, max_tokens: int | None) -> None:
        self.max_tokens = max_tokens
        self.attempts = self.timeouts = self.limited = self.adapted = 0
        self.waited = 0.0
        self.is_reread = self.is_enlarged = False
        self.paid: Reply | None = None
        """a reply that was charged and could not be used"""


class RemoteModel(Model):
    """A judge behind HTTP. `base` is its address up to the path of the call."""

    needs_network = True
    droppable: ClassVar[frozenset[str]]
    """parameters that may be left out where a model refuses them"""

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
        self._key = key
        self._network = network or Network()
        self._owns_network = network is None
        self._gate = self._network.gate(self._host, key.env if key else "")
        self._changes: dict[str, str] = {}
        """parameter → the name it goes by instead; empty: it is left out"""
        self._stopped: tuple[Secret | None, ModelError] | None = None
        self._tokens_per_byte = 0.0
        self._has_given_logprobs = False
        self._patience = Patience(self._network.reply_floor_seconds)

    @abstractmethod
    def _headers(self, key: Secret | None) -> dict[str, str]:
        """The headers of one request, beside those of every request."""

    @abstractmethod
    def _encode(self, call: Call, params: Parameters, max_tokens: int | None) -> bytes:
        """The body of one request."""

    @abstractmethod
    def _decode(self, call: Call, body: bytes, seconds: float) -> Reply | None:
        """The reply in a body; none where there is none in it."""

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        super().check(params, kinds)
        if self._key is not None:
            self._key.read()

    async def close(self) -> None:
        if self._owns_network:
            await self._network.close()

    async def ask(self, call: Call, params: Parameters) -> Reply:
        """The reply to one call; see the module's text for what is tried again."""
        if call.kind == "likelihood" or params.top_logprobs is not None:
            super().check(params, (call.kind,))
        tries = _Tries(params.max_tokens)
        while True:
            key = self._key.read() if self._key is not None else None
            if self._stopped is not None and self._stopped[0] == key:
                raise type(self._stopped[1])(str(self._stopped[1]))
            body = self._encode(call, params, tries.max_tokens)
            result = await self._send(call, params, key, body, tries)
            if isinstance(result, Reply):
                if self._wants_more_room(result, tries):
                    continue
                return result if tries.paid is None else self._with_paid(result, tries.paid)
            wait = self._wait_after(result, tries, key, body)
            if wait is None:
                # What was charged for an empty reply must not get lost behind a later fault.
                return tries.paid or failed(call, result.kind, result.message)
            if wait > 0:
                await asyncio.sleep(wait)

    async def _send(
        self, call: Call, params: Parameters, key: Secret | None, body: bytes, tries: _Tries
    ) -> Reply | Fault:
        """One request, when the gate lets it through."""
        gate = self._gate
        tokens = self._tokens_of(body, tries.max_tokens) if gate.counts_tokens else 0
        transport = self._network.transport(self._host)
        await gate.enter(tokens)
        outcome: Outcome = "none"
        used: float | None = None
        note = ""
        started = perf_counter()
        try:
            answer = await self._post(transport, self._headers(key), body, params.timeout_seconds, tries)
            seconds = perf_counter() - started
            result = self._read(call, params, key, answer, seconds)
            if isinstance(result, Reply):
                outcome = "ok"
                self._patience.note(seconds)
                gate.was_reached = True
                if tokens:
                    used = self._tokens_used(result, body)
            else:
                outcome, note = _outcome(result), result.message
                gate.was_reached |= not result.is_unreached
        finally:
            gate.leave(outcome, tokens, used, note)
        return result

    async def _post(
        self, transport: Transport, headers: dict[str, str], body: bytes, longest: float, tries: _Tries
    ) -> Answer | Fault:
        """One request, for as long as is reasonable."""
        patience = self._patience
        if tries.timeouts:
            return await transport.post(self._url, headers, body, longest)
        sent = transport.post(self._url, headers, body, patience.seconds(longest))
        if patience.is_learned:
            return await sent
        try:
            return await patience.early(sent)
        except TimeoutError:
            return Fault("timeout", f"{self._host} had not answered when others long had", True)

    def _read(
        self, call: Call, params: Parameters, key: Secret | None, answer: Answer | Fault, seconds: float
    ) -> Reply | Fault:
        """What an answer holds. From here on nothing has the key in it."""
        if isinstance(answer, Fault):
            return _redacted(answer, key)
        body = answer.body if key is None else key.redact_bytes(answer.body)
        if not 200 <= answer.status < 300:
            return _redacted(fault_of(answer._replace(body=body), self._host), key)
        reply = self._decode(call, body, seconds)
        if reply is None:
            return _redacted(no_reply_in(body, answer.headers, self._host), key)
        if params.top_logprobs is None:
            return reply
        if reply.logprobs:
            self._has_given_logprobs = True
        elif reply.text:
            # A score read from the text in place of the probability would be another measure.
            error = no_logprobs(self.name, "they were asked for, and the reply has none")
            return Fault("bad_reply", str(error), is_final=not self._has_given_logprobs)
        return reply

    def _wait_after(self, fault: Fault, tries: _Tries, key: Secret | None, body: bytes) -> float | None:
        """Seconds until the next attempt; none: the fault stands. Raises where the run must stop."""
        if fault.status == 401 and not tries.is_reread and self._key is not None and self._key.read() != key:
            tries.is_reread = True
            return 0.0
        if fault.is_final:
            raise self._stop(fault, key)
        if fault.status in (400, 422) and tries.adapted < ADAPTATIONS and self._adapt(fault.said, body):
            tries.adapted += 1
            return 0.0
        if fault.kind == "rate_limited":
            return self._wait_for_turn(fault, tries)
        if not fault.is_retryable:
            return None
        if self._gate.given_up:
            raise ModelError(self._gate.given_up)
        tries.attempts += 1
        tries.timeouts += fault.kind == "timeout"
        is_hopeless = tries.attempts >= ATTEMPTS_UNREACHED or self._gate.is_broken
        if fault.is_unreached and not self._gate.was_reached and is_hopeless:
            advice = "Check the address, and that the server is running."
            raise self._stop(replace(fault, message=f"{fault.message}. {advice}"), key)
        if tries.attempts >= ATTEMPTS or tries.timeouts >= TIMEOUTS:
            return None
        if fault.wait_seconds:
            return self._pause(fault.wait_seconds, tries)
        longest = self._network.backoff_seconds * 2.0 ** (tries.attempts - 1)
        return uniform(0, min(LONGEST_BACKOFF_SECONDS, longest))

    def _wait_for_turn(self, fault: Fault, tries: _Tries) -> float | None:
        """How long to wait after a 429, which is no failure of the call."""
        tries.limited += 1
        if fault.wait_seconds:
            return self._pause(fault.wait_seconds, tries)
        if tries.waited > self._network.patience_seconds:
            return None
        longest = self._network.backoff_seconds * 2.0 ** min(tries.limited, 10)
        wait = min(LONGEST_LIMITED_SECONDS, longest) * uniform(0.5, 1)
        tries.waited += wait
        return wait

    def _pause(self, seconds: float, tries: _Tries) -> float | None:
        """Close the gate for as long as the host says; the call then waits there with all others."""
        if seconds > self._network.patience_seconds:
            raise RateLimited(
                f"{self._host} asks us to wait for {seconds:.0f} seconds. "
                "Give the same command again after that: it goes on where it stopped."
            )
        if tries.waited > self._network.patience_seconds:
            return None
        tries.waited += seconds
        self._gate.pause(seconds)
        return 0.0

    def _stop(self, fault: Fault, key: Secret | None) -> ModelError:
        """The error for a fault that would meet every call; the next ones do not even try."""
        message = fault.message
        if fault.kind == "auth" and self._key is not None:
            message += f". Check the key in {self._key.env}."
        elif fault.status == 401:
            message = f"{self._host} wants a key (401). Put it into an environment variable and name that with --key-env."
        error = stop_error(fault.kind, message)
        if isinstance(error, AuthError) or fault.kind == "quota":
            self._stopped = (key, error)
        return error

    def _adapt(self, said: Said, body: bytes) -> bool:
        """Leave out, or rename, the parameter that the host refuses; whether there was one."""
        sent = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        name = refused_parameter(said, sent.keys() & self.droppable)
        if name is None:
            return False
        words = shown(said.message.encode("utf-8", "replace"))
        if "logprobs" in name:
            raise no_logprobs(self.name, words)
        own_name, new_name = self._change(name, said)
        if self._changes.get(own_name) != new_name:
            self._changes[own_name] = new_name
            value = bytes(sent[name])[:40].decode("utf-8", "replace")
            what = _SCHEMAS.get(own_name) or (f"{own_name} {value}" if len(value) < 20 else own_name)
            how = f"is sent as {new_name}" if new_name else "is not sent"
            self.adjustments.append(f"{what} {how}: {self.name} refuses it ({words})")
        return True

    def _change(self, name: str, _said: Said) -> tuple[str, str]:
        """The parameter that goes by this name on the wire, and its name from now on."""
        return name, ""

    def _wants_more_room(self, reply: Reply, tries: _Tries) -> bool:
        """Whether a reply was cut off before its first word, and more room may help; once for a call."""
        if reply.finish != "length" or reply.text.strip() or tries.is_enlarged or tries.max_tokens is None:
            return False
        tries.is_enlarged = True
        tries.max_tokens = max(tries.max_tokens * 4, 4096)
        tries.paid = reply
        return True

    def _with_paid(self, reply: Reply, paid: Reply) -> Reply:
        tokens_in, tokens_out = reply.tokens_in + paid.tokens_in, reply.tokens_out + paid.tokens_out
        cost = self.cost(tokens_in, tokens_out)
        return replace(reply, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost)

    def _tokens_of(self, body: bytes, max_tokens: int | None) -> float:
        """The most that a request may take of the limit of tokens."""
        per_byte = self._tokens_per_byte * 1.1 or TOKENS_PER_BYTE
        return len(body) * per_byte + (1024 if max_tokens is None else max_tokens)

    def _tokens_used(self, reply: Reply, body: bytes) -> float | None:
        if not reply.tokens_in:
            return None
        self._tokens_per_byte = max(self._tokens_per_byte, reply.tokens_in / len(body))
        return reply.tokens_in + reply.tokens_out


def _outcome(fault: Fault) -> Outcome:
    if fault.kind == "rate_limited":
        return "limited"
    if fault.is_overload:
        return "overloaded"
    return "failed" if fault.is_retryable else "ok"


def _redacted(fault: Fault, key: Secret | None) -> Fault:
    if key is None:
        return fault
    words = Said(*(key.redact(part) for part in fault.said))
    return replace(fault, message=key.redact(fault.message), said=words)
