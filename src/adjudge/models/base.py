"""The interface of a judge: it takes a `Call` and returns a `Reply`.

Knows nothing of HTTP, files or prices of providers. The rule for errors: an error of a single call is
returned as a `Reply` with a typed error; a fault that every further call would meet (a refused key, a
used-up quota, an unreachable host) is raised as a `ModelError`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ..errors import AuthError, BudgetReached, ModelError
from ..records import Call, ErrorKind, Image, Message, ModelSettings, Reply, ReplyError
from ..score_map import ScoreMap
from .prices import Price

if TYPE_CHECKING:
    from .batch_apis.base import BatchApi
    from .retirement import Ending


RETRYABLE: frozenset[ErrorKind] = frozenset(("rate_limited", "server", "transport", "timeout"))
"""Kinds of error after which a retry may succeed."""


class Form(Struct, frozen=True):
    """The form of a reply that is free text and one answer out of a list, and the text around the answer."""

    values: tuple[str, ...]
    opening: str = ""
    closing: str = ""
    is_first: bool = False
    """whether the answer comes before the text"""


TIMEOUT_SECONDS = 120.0
"""For one request: the default of --timeout."""


class Parameters(Struct, frozen=True):
    """The parameters of a call. None means: not sent, the model's default applies."""

    temperature: float | None = None
    max_tokens: int | None = None
    top_logprobs: int | None = None
    """log-probabilities of this many alternatives to each token; 0 for those of the reply alone"""
    schema: dict[str, Any] | None = None
    """the JSON schema of the reply, for models with structured output"""
    seed: int | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    """for one request; rate-limit waits do not count"""
    form: Form | None = None
    """the form of a reply that is not JSON; only local models support it"""
    is_cut_off: Callable[[Reply], bool] | None = None
    """whether a reply that ends at the token limit lacks its answer"""
    more_room: bool = False
    """whether a reply that was cut off before its answer is requested once more with a larger limit"""
    reasoning_effort: str | None = None
    """how much a reasoning model thinks: low, medium, high, or another word that the model knows"""
    thinking_tokens: int | None = None
    """the most tokens that a model may think, for models that take a number"""


class Capabilities(Struct, frozen=True):
    """The capabilities of a model, found by calling it; `notes` says why one is missing."""

    answers: bool
    logprobs: bool | None = None
    schema: bool | None = None
    model_name: str = ""
    fingerprint: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


class Model(ABC):
    """A judge. One object serves concurrent calls within one event loop."""

    name: str
    """what calls, results and reports call it: the alias that the user gave, or else the spec; it contains no
    secret"""
    settings: ModelSettings | None = None
    """parameters of this model alone; none where it has none"""
    endpoint: str = ""
    """the base URL that calls are sent to; empty where nothing is sent"""
    n_hosts: int = 1
    """how many hosts answer its calls"""
    is_fake: bool = False
    is_recorded: bool = False
    """whether it replays recorded replies and cannot answer new calls"""
    needs_network: bool = False
    is_local: bool = False
    """whether it runs on the user's own machine, so that calls cost nothing"""
    is_batched: bool = False
    """whether its calls go to the provider's batch API; see `batch_api`"""
    gives_logprobs: bool | None = None
    """none: unknown until it is probed"""
    takes_images: bool = False
    """whether images of a prompt can be sent to it"""
    score_map: ScoreMap | None = None
    """the map of its scores; part of the judge, but of no call"""
    asks_questions: bool = False
    """whether it answers typed questions with probabilities and writes no text"""
    most_questions: int = 1
    """how many typed questions one call may ask"""
    gives_likelihood: bool | None = False
    """whether it can score the log-probability of a given text; none: unknown until it is probed"""

    ending: Ending | None = None
    """when its provider ends it; none where no end is known"""
    plugin: str = ""
    """the package and version of the plug-in that opened it; empty where it is built in"""

    def __init__(self, name: str, price: Price | None = None) -> None:
        self.name = self.spec = name
        self.price = price
        self.price_date = ""
        """the date of a published price; empty where the user gave the price"""
        self.adjustments: list[str] = []
        """parameters that are not sent because the model refuses them; for the report"""
        self.refused: set[str] = set()
        """the names of these parameters, as users know them"""
        self.warnings: list[str] = []
        """what a user should know about this model before using its replies"""

    @property
    def questions_a_call(self) -> int:
        """How many typed questions one call may ask; 0 where it is asked in prose."""
        return self.most_questions if self.asks_questions else 0

    @property
    def trouble(self) -> str:
        """Why calls wait for its hosts now, with the remedy; empty where they do not."""
        return ""

    @property
    def identity(self) -> str:
        """Everything besides the call that decides the reply; part of every call's key."""
        return f"{self.spec}|{self.endpoint}"

    @abstractmethod
    async def ask(self, call: Call, params: Parameters) -> Reply:
        """The reply to one call, possibly with a typed error. `ModelError` where the run must stop."""

    async def close(self) -> None:
        """Close connections and files. Further calls are not possible."""
        return

    def batch_api(self) -> BatchApi | None:
        """The batch API of its provider; none where there is none."""
        return None

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        """`ModelError` for unsupported parameters or kinds of call, before anything is sent."""
        if params.top_logprobs is not None and self.gives_logprobs is False:
            raise no_logprobs(self.name)
        if "likelihood" in kinds and self.gives_likelihood is False:
            raise ModelError(
                f"{self.name} cannot compute the likelihood of a given text. "
                "Use a protocol that asks for a score, or recorded replies with log-probabilities."
            )

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """The cost in USD; none without a price or without token counts."""
        if self.price is None or not (tokens_in or tokens_out):
            return None
        return (tokens_in * self.price[0] + tokens_out * self.price[1]) / 1e6

    async def probe(self) -> Capabilities:
        """The model's capabilities: an answer, log-probabilities, a schema; at most one call for each."""
        call = _probe_call(self)
        reply = await self.ask(call, Parameters(max_tokens=_PROBE_MAX_TOKENS))
        if reply.error is not None:
            return Capabilities(False, notes=(reply.error.message,))
        notes: list[str] = []
        logprobs = await _probe_logprobs(self, call, notes)
        schema = await _probe_schema(self, notes)
        notes += [*self.adjustments, *self.warnings]
        return Capabilities(
            True, logprobs, schema, reply.model_name, reply.fingerprint, reply.seconds, tuple(notes)
        )

    async def find_ending(self) -> None:
        """Ask the provider when the model ends, where the provider says so; never an error."""
        return

    async def probe_logprobs(self) -> bool:
        """Whether the model returns log-probabilities, found with one call."""
        return bool(await _probe_logprobs(self, _probe_call(self), []))


def no_logprobs(name: str, reason: str = "") -> ModelError:
    """The error for a model that returns no log-probabilities although they are needed."""
    because = f" ({reason})" if reason else ""
    return ModelError(
        f"{name} returns no log-probabilities{because}. "
        "Use a model that does, or another estimator: --estimator parsed or samples."
    )


def with_images(message: Message, as_part: Callable[[Image], dict[str, Any]]) -> Message | dict[str, Any]:
    """A message as it is sent: one with images in parts, the text first, then each image after its number."""
    if not message.images:
        return message
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}]
    for number, image in enumerate(message.images, 1):
        parts += [{"type": "text", "text": f"Image {number}:"}, as_part(image)]
    return {"role": message.role, "content": parts}


def failed(call: Call, kind: ErrorKind, message: str, seconds: float = 0.0) -> Reply:
    """A reply with an error."""
    return Reply(call.key, error=ReplyError(kind, message, kind in RETRYABLE), seconds=seconds)


def stop_error(kind: ErrorKind, message: str) -> ModelError:
    """The exception for a fault that every further call would meet."""
    if kind == "auth":
        return AuthError(message)
    return BudgetReached(message) if kind == "quota" else ModelError(message)


_PROBE_SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}


_PROBE_MAX_TOKENS = 512
"""Enough for a model that thinks before it answers with one digit."""


def _probe_call(model: Model, instruction: str = "Answer with the digit alone.") -> Call:
    message = Message("user", f"How many legs has a dog? {instruction}")
    return Call("probe", "probe", "probe", (), model.name, (message,))


async def _probe_logprobs(model: Model, call: Call, notes: list[str]) -> bool | None:
    if model.gives_logprobs is False:
        return False
    try:
        reply = await model.ask(call, Parameters(max_tokens=_PROBE_MAX_TOKENS, top_logprobs=5))
    except (AuthError, BudgetReached):
        raise
    except ModelError as error:
        notes.append(str(error))
        return False
    if reply.error is not None:
        notes.append(reply.error.message)
        return None
    return bool(reply.logprobs)


async def _probe_schema(model: Model, notes: list[str]) -> bool | None:
    call = _probe_call(model, "Answer in JSON with the key score.")
    reply = await model.ask(call, Parameters(max_tokens=_PROBE_MAX_TOKENS, schema=_PROBE_SCHEMA))
    if reply.error is not None:
        notes.append(reply.error.message)
        return None
    if "schema" in model.refused or any(note.startswith("schema is ") for note in model.adjustments):
        return False  # its note says why
    try:
        msgspec.json.decode(reply.text, type=dict[str, int])
    except msgspec.DecodeError:
        notes.append("The schema was accepted, but the reply does not follow it.")
        return False
    return True
