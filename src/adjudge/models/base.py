"""The interface of a judge: it takes a `Call` and returns a `Reply`.

Knows nothing of HTTP, files or prices of providers. The rule for errors: an error of a single call is
returned as a `Reply` with a typed error; a fault that every further call would meet (a refused key, a
used-up quota, an unreachable host) is raised as a `ModelError`.
"""

from __future__ import annotations

import base64
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import Struct

from ..errors import AuthError, BudgetReached, ModelError
from ..records import Call, ErrorKind, Image, Message, ModelSettings, Reply, ReplyError
from ..render import estimated_tokens as estimated_tokens
from ..score_map import ScoreMap

if TYPE_CHECKING:
    from .batch_apis import BatchApi

Price = tuple[float, float]
"""USD for a million tokens in and a million tokens out."""

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
    """whether a reply that lacks its answer for want of tokens is requested once more with a larger limit"""
    reasoning_effort: str | None = None
    """how much a reasoning model thinks: low, medium, high, or another word that the model knows"""
    thinking_tokens: int | None = None
    """the most tokens that a model may think, for models that take a number"""


class Probe(Struct, frozen=True):
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
    """what calls, results and reports call it: the alias that the user gave, or else the spec; it contains no secret"""
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

    async def probe(self) -> Probe:
        """The model's capabilities: an answer, log-probabilities, a schema; at most one call for each."""
        call = _probe_call(self)
        reply = await self.ask(call, Parameters(max_tokens=_PROBE_MAX_TOKENS))
        if reply.error is not None:
            return Probe(False, notes=(reply.error.message,))
        notes: list[str] = []
        logprobs = await _probe_logprobs(self, call, notes)
        schema = await _probe_schema(self, notes)
        notes += [*self.adjustments, *self.warnings]
        return Probe(True, logprobs, schema, reply.model_name, reply.fingerprint, reply.seconds, tuple(notes))

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


TOKENS_PER_IMAGE = 1_500
"""What providers charge for an image of a common size."""


def estimated_prompt(messages: Sequence[Message]) -> int:
    """About how many tokens a prompt has, images included."""
    return sum(
        estimated_tokens(message.content) + 4 + TOKENS_PER_IMAGE * len(message.images) for message in messages
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
    if "schema" in model.refused:
        return False
    try:
        msgspec.json.decode(reply.text, type=dict[str, int])
    except msgspec.DecodeError:
        notes.append("The schema was accepted, but the reply does not follow it.")
        return False
    return True


# Likelihood calls. Usually one text is scored: the target, after the messages. Where two texts are each
# scored given the other, the first is an assistant message among the messages.


class Passage(NamedTuple):
    """A text whose likelihood is scored, and the prompt before it."""

    prompt: str
    target: str


def passages_of(call: Call) -> list[Passage]:
    """The passages to score in a likelihood call. Messages become one text to be continued.

    Without a chat template: it would make the text a reply to a turn, and models without one could not be used.
    """
    passages: list[Passage] = []
    before: list[str] = []
    for message in call.messages:
        if message.role == "assistant":
            passages.append(Passage("\n\n".join(before), message.content))
            before = []
        else:
            before.append(message.content)
    passages.append(Passage("\n\n".join(before), call.target or ""))
    return passages


def likelihood_details(unconditional: Sequence[float | None], n_tokens: Sequence[int]) -> str:
    """The text of a likelihood reply: JSON with the unconditional mean, and the length of each of several targets."""
    known = [value for value in unconditional if value is not None]
    details: dict[str, object] = {}
    if known and len(known) == len(unconditional):
        details["unconditional"] = sum(known) / len(known)
    if len(n_tokens) > 1:
        details["parts"] = list(n_tokens)
    return msgspec.json.encode(details).decode()


HIDDEN = "[key]"

SHORTEST_IN_TEXT = 4
SHORTEST_IN_REPLY = 16
"""Local servers use keys such as "EMPTY"; removing that word from replies would change them."""


SHORTEST_PART = 8
"""So many characters of a key in a row, beyond the prefix that all keys of a provider share, count as the key."""

_PREFIX = re.compile(r"[A-Za-z]{1,6}[-_](?:[a-z]{1,5}[0-9]{0,2}-)*|AIza")


class Secret:
    """An API key. Only `reveal` returns its value."""

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        return self.__value

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written anywhere")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self.__value

    def __hash__(self) -> int:
        return hash(self.__value)

    @cached_property
    def _forms(self) -> tuple[str, ...]:
        """The encodings in which the key may occur in a text, longest first."""
        value = self.__value
        forms = {value, quote(value, safe=""), quote(value), quote_plus(value), value.replace("/", "\\/")}
        raw = value.encode()
        for before in range(3):
            # Base64 of a longer text that contains the key: each of the three alignments of the key to
            # groups of three bytes, without the characters that also encode its neighbours.
            encoded = base64.b64encode(b"\0" * before + raw)
            inner = encoded[(0, 2, 3)[before] : (before + len(raw)) * 4 // 3].decode()
            if len(inner) >= SHORTEST_IN_REPLY // 2:
                forms.update((inner, inner.replace("+", "-").replace("/", "_")))
        return tuple(sorted((form for form in forms if len(form) >= SHORTEST_IN_TEXT), key=len, reverse=True))

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        """The key with any of its characters escaped as in JSON, an address or a page."""
        return re.compile("".join(f"(?:{_escapes(letter)})" for letter in self.__value))

    def redact(self, text: str) -> str:
        """The text with the key replaced in all of its encodings."""
        for form in self._forms:
            text = text.replace(form, HIDDEN)
        if len(self.__value) >= SHORTEST_IN_TEXT and ("\\" in text or "%" in text or "&#" in text):
            text = self._escaped.sub(HIDDEN, text)
        for start, end in reversed(self._parts_in(text)):
            text = text[:start] + HIDDEN + text[end:]
        return text

    @cached_property
    def _parts(self) -> frozenset[str]:
        """Every run of `SHORTEST_PART` characters of a key, without runs of letters alone: those may be words."""
        value = self.__value
        if len(value) < SHORTEST_IN_REPLY:
            return frozenset()
        prefix = _PREFIX.match(value)
        starts = range(prefix.end() if prefix else 0, len(value) - SHORTEST_PART + 1)
        runs = (value[start : start + SHORTEST_PART] for start in starts)
        return frozenset(run for run in runs if any(letter.isdigit() for letter in run))

    def _parts_in(self, text: str) -> list[tuple[int, int]]:
        """Where a part of the key stands in a text, each as long as the text agrees with the key."""
        value, found = self.__value, list[tuple[int, int]]()
        if not any(part in text for part in self._parts):
            return found
        at = 0
        while at <= len(text) - SHORTEST_PART:
            if text[at : at + SHORTEST_PART] not in self._parts:
                at += 1
                continue
            start, end = at, at + SHORTEST_PART
            floor = found[-1][1] if found else 0
            while start > floor and text[start - 1 : end] in value:
                start -= 1
            while end < len(text) and text[start : end + 1] in value:
                end += 1
            found.append((start, end))
            at = end
        return found

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the key stands in a text, in any of its encodings."""
        forms = "|".join(re.escape(form) for form in self._forms)
        whole = [match.span() for match in re.finditer(f"{forms}|{self._escaped.pattern}", text)]
        return whole + self._parts_in(text)

    def redact_reply(self, text: str) -> str:
        """The same for what a model wrote; a key that may be a common word stays."""
        return text if len(self.__value) < SHORTEST_IN_REPLY else self.redact(text)

    @cached_property
    def _raw(self) -> tuple[bytes, ...]:
        value = self.__value
        if len(value) < SHORTEST_IN_REPLY:
            return ()
        return tuple({value.encode(), value.replace("/", "\\/").encode()})

    def redact_bytes(self, body: bytes) -> bytes:
        """The same for the body of a reply; plain forms only, because every call passes here."""
        for raw in self._raw:
            if raw in body:
                body = body.replace(raw, HIDDEN.encode())
        return body


def _escapes(letter: str) -> str:
    """A pattern for one character of a key: plain, or as \\u0041, \\x41, %41 or &#65;."""
    code = "".join(f"[{digit}{digit.upper()}]" for digit in f"{ord(letter):02x}")
    forms = (rf"\\+u00{code}", rf"\\+x{code}", f"%(?:25)*{code}", f"&#0*{ord(letter)};", f"&#[xX]0*{code};")
    return "|".join((rf"\\*{re.escape(letter)}" if letter in "/\"'" else re.escape(letter), *forms))


class KeySource:
    """The environment variable of a key. It is read for each call, so that a rotated key is used."""

    def __init__(self, env: str) -> None:
        self.env = env
        self._last: Secret | None = None

    def read(self) -> Secret:
        """The current key; `AuthError` where there is none, or none that can be sent."""
        value = os.environ.get(self.env, "").strip()
        if self._last is not None and self._last.reveal() == value:
            return self._last
        if not value:
            raise AuthError(f"No API key: the environment variable {self.env} is not set. Set it to the key.")
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise AuthError(
                f"The key in {self.env} contains spaces, line breaks or non-ASCII characters. "
                "Set the variable to the key alone."
            )
        self._last = Secret(value)
        return self._last
