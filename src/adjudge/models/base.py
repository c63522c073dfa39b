"""What a judge is to the rest of the program: something that takes a `Call` and gives a `Reply`.

Knows nothing of HTTP, files or prices of providers. The one rule about faults: what concerns one
call alone comes back as a `Reply` with a typed error; what would meet every further call in the
same way (a refused key, a spent quota, a host that is not there) is raised as a `ModelError`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ..errors import AuthError, BudgetReached, ModelError
from ..records import Call, ErrorKind, Message, Reply, ReplyError

Price = tuple[float, float]
"""USD for a million tokens in and a million tokens out."""

RETRYABLE: frozenset[ErrorKind] = frozenset(("rate_limited", "server", "transport", "timeout"))
"""Kinds of error after which the same call may well succeed another time."""


class Form(Struct, frozen=True):
    """A reply that is text and one answer out of a list, with what stands around the answer."""

    values: tuple[str, ...]
    opening: str = ""
    closing: str = ""
    is_first: bool = False
    """whether the answer stands before the text"""


class Parameters(Struct, frozen=True):
    """How a judge is asked. None always means: not sent, the model's own default."""

    temperature: float | None = None
    max_tokens: int | None = None
    top_logprobs: int | None = None
    """log-probabilities of this many alternatives at each place; 0 for those of the reply alone"""
    schema: dict[str, Any] | None = None
    """the JSON schema that the reply must have, where the model can be held to one"""
    seed: int | None = None
    timeout_seconds: float = 120.0
    """for one request; waits that a host asks for do not count"""
    form: Form | None = None
    """the form of a reply that is not JSON; only models in this process are held to it"""


class Probe(Struct, frozen=True):
    """What a model showed it can do when it was asked; `notes` says why not."""

    answers: bool
    logprobs: bool | None = None
    schema: bool | None = None
    model_name: str = ""
    fingerprint: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


class Model(ABC):
    """A judge. One object serves many calls at once, within one event loop."""

    name: str
    """the spec that the user gave; it holds no secret"""
    endpoint: str = ""
    """the address that calls are sent to; empty where nothing is sent"""
    is_fake: bool = False
    is_recorded: bool = False
    """whether replies were recorded before, so that nothing new can be asked"""
    needs_network: bool = False
    gives_logprobs: bool | None = None
    """none: only asking tells"""
    gives_likelihood: bool | None = False
    """whether it can tell the log-probability of a text that it did not write; none: only asking tells"""

    def __init__(self, name: str, price: Price | None = None) -> None:
        self.name = name
        self.price = price
        self.adjustments: list[str] = []
        """what was asked for and is not sent, because the model refuses it; for the report"""

    @property
    def identity(self) -> str:
        """All that decides, beside the call itself, what the model answers; part of every call's key."""
        return f"{self.name}|{self.endpoint}"

    @abstractmethod
    async def ask(self, call: Call, params: Parameters) -> Reply:
        """The reply to one call, or a typed error in it. `ModelError` where the run must stop."""

    async def close(self) -> None:
        """Give back connections and files. Further calls are not possible."""
        return

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        """`ModelError` for what cannot work, before anything is sent."""
        if params.top_logprobs is not None and self.gives_logprobs is False:
            raise no_logprobs(self.name)
        if "likelihood" in kinds and self.gives_likelihood is False:
            raise ModelError(
                f"{self.name} cannot tell the likelihood of a given text. "
                "Use a protocol that asks for a score, or recorded replies with log-probabilities."
            )

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """What so many tokens cost in USD; none where no price was given or no token counted."""
        if self.price is None or not (tokens_in or tokens_out):
            return None
        return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6

    async def probe(self) -> Probe:
        """What the model can do, found out with one call for each question."""
        return await probe(self)

    async def probe_logprobs(self) -> bool:
        """Whether the model gives log-probabilities, found out with one call."""
        return bool(await _probe_logprobs(self, _probe_question(self), _PROBE_ROOM, []))


def no_logprobs(name: str, said: str = "") -> ModelError:
    """The error for a model that gives no log-probabilities although they are needed."""
    because = f" ({said})" if said else ""
    return ModelError(
        f"{name} gives no log-probabilities{because}. "
        "Use a model that does, or another estimator: --estimator parsed or samples."
    )


def failed(call: Call, kind: ErrorKind, message: str, seconds: float = 0.0) -> Reply:
    """The reply that says why there is none."""
    return Reply(call.key, error=ReplyError(kind, message, kind in RETRYABLE), seconds=seconds)


def stop_error(kind: ErrorKind, message: str) -> ModelError:
    """The exception for a fault that would meet every further call."""
    if kind == "auth":
        return AuthError(message)
    return BudgetReached(message) if kind == "quota" else ModelError(message)


PROBE_SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}


def _probe_call(model: Model, text: str) -> Call:
    return Call("probe", "probe", "probe", (), model.name, (Message("user", text),))


_PROBE_ROOM = 512
"""Enough tokens for a model that thinks before it says one digit."""


def _probe_question(model: Model) -> Call:
    return _probe_call(model, "How many legs has a dog? Answer with the digit alone.")


async def probe(model: Model) -> Probe:
    """Ask for an answer, for log-probabilities and for a schema: at most one call each."""
    room = _PROBE_ROOM
    question = _probe_question(model)
    first = await model.ask(question, Parameters(max_tokens=room))
    if first.error is not None:
        return Probe(False, notes=(first.error.message,))
    notes: list[str] = []
    logprobs = await _probe_logprobs(model, question, room, notes)
    schema = await _probe_schema(model, room, notes)
    return Probe(
        True,
        logprobs,
        schema,
        first.model_name,
        first.fingerprint,
        first.seconds,
        (*notes, *model.adjustments),
    )


async def _probe_logprobs(model: Model, question: Call, room: int, notes: list[str]) -> bool | None:
    if model.gives_logprobs is False:
        return False
    try:
        reply = await model.ask(question, Parameters(max_tokens=room, top_logprobs=5))
    except (AuthError, BudgetReached):
        raise
    except ModelError as error:
        notes.append(str(error))
        return False
    if reply.error is not None:
        notes.append(reply.error.message)
        return None
    return bool(reply.logprobs)


async def _probe_schema(model: Model, room: int, notes: list[str]) -> bool | None:
    question = _probe_call(model, "How many legs has a dog? Answer in JSON with the key score.")
    known = len(model.adjustments)
    reply = await model.ask(question, Parameters(max_tokens=room, schema=PROBE_SCHEMA))
    if reply.error is not None:
        notes.append(reply.error.message)
        return None
    if any(text.startswith("schema") for text in model.adjustments[known:]):
        return False
    try:
        msgspec.json.decode(reply.text, type=dict[str, int])
    except msgspec.DecodeError:
        notes.append("The schema was taken, but the reply does not follow it.")
        return False
    return True


# What a likelihood call asks, whoever answers it: texts, each with what stands before it.
#
# Mostly there is one: the target, after the messages. Where two texts are each asked given the other, the first
# stands among the messages as an answer. Knows neither how a model computes nor how a score is read.


class Passage(NamedTuple):
    """A text whose likelihood is asked, and the prompt before it."""

    prompt: str
    target: str


def passages_of(call: Call) -> list[Passage]:
    """The texts that a call asks for. Messages become one text to be continued.

    No chat template: it would make the text an answer to a turn, and a model without one could not be used.
    """
    found: list[Passage] = []
    before: list[str] = []
    for message in call.messages:
        if message.role == "assistant":
            found.append(Passage("\n\n".join(before), message.content))
            before = []
        else:
            before.append(message.content)
    found.append(Passage("\n\n".join(before), call.target or ""))
    return found


def said_beside(unconditional: Sequence[float | None], parts: Sequence[int]) -> str:
    """The text of a reply that has none of its own: what belongs to the score beside its tokens."""
    told = [value for value in unconditional if value is not None]
    beside: dict[str, object] = {}
    if told and len(told) == len(unconditional):
        beside["unconditional"] = sum(told) / len(told)
    if len(parts) > 1:
        beside["parts"] = list(parts)
    return msgspec.json.encode(beside).decode()
