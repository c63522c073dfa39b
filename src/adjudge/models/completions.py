"""Likelihoods over HTTP: the log-probabilities of a given text, from servers that really tell them.

Two extensions of the completions interface do it: `echo` with `logprobs`, and vLLM's `prompt_logprobs`. Many
servers take these words and do something else without an error: llama.cpp's ignores `echo`, so that the
log-probabilities of a generated word would pass for those of the text. So nothing is believed before a probe has shown
that the text comes back, that likely words are likely, and that a token has the same probability whether it is
generated or given.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from ..errors import ModelError
from ..records import Call, Message, Reply, TokenLogprob
from .api_keys import Secret
from .base import Parameters, Passage, failed, passages_of, said_beside
from .http_errors import decode_slowly
from .remote import RemoteModel

PATH = "/completions"

Form = Literal["echo", "prompt_logprobs"]
FORMS: tuple[Form, ...] = ("echo", "prompt_logprobs")

KNOWN_TEXT = "The capital of France is the city of"
SCRAMBLED = "of city the is France of capital The"
TOLERANCE = 0.3
"""Nats. Servers round differently when they generate and when they read; a token too early makes several."""

_LEAST_GAP = 0.5
"""Nats a token by which a sentence is likelier than its words backwards, for the weakest of models."""

_ALONE = "\n"
"""What stands before a text whose likelihood is asked without a prompt: prompts end with a line break, too."""

_REMEMBERED = 1000


class _Given(Struct):
    logprob: float
    decoded_token: str | None = None


class _Logprobs(Struct):
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None


class _Choice(Struct):
    text: str = ""
    logprobs: _Logprobs | None = None
    prompt_logprobs: list[dict[str, _Given] | None] | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None


class _Completion(Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class _Unscored(Exception):
    """Why one text has no likelihood; carries the reply that says so."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.error.message if reply.error is not None else "no reply")
        self.reply = reply


class Completions(RemoteModel):
    """The completions interface of a server, asked for one generated token and those of the text before it."""

    droppable: ClassVar[frozenset[str]] = frozenset()
    form: Form = "echo"

    @property
    def was_reached(self) -> bool:
        """Whether the host has answered anything at all."""
        return self._gate.was_reached

    def _headers(self, key: Secret | None) -> dict[str, str]:
        return {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}

    def _encode(self, call: Call, params: Parameters, max_tokens: int | None) -> bytes:
        request: dict[str, Any] = {
            "model": self._model, "prompt": call.messages[0].content, "max_tokens": max_tokens, "logprobs": 1,
            "temperature": params.temperature,
        }  # fmt: skip
        request |= {"echo": True} if self.form == "echo" else {"prompt_logprobs": 0}
        return msgspec.json.encode(request)

    def _decode(self, call: Call, body: bytes, seconds: float) -> Reply | None:
        """The tokens of the text and the one generated behind them; the first has nothing to follow and counts 0."""
        completion = decode_slowly(body, _Completion)
        if completion is None or not completion.choices:
            return None
        choice = completion.choices[0]
        tokens: list[TokenLogprob] = []
        if self.form == "prompt_logprobs":
            for given in choice.prompt_logprobs or ():
                one = next(iter(given.values()), None) if given else None
                tokens.append(
                    TokenLogprob(
                        (one.decoded_token or "") if one else "", _rounded(one.logprob) if one else 0.0
                    )
                )
        own = choice.logprobs or _Logprobs()
        pairs = zip(own.tokens or (), own.token_logprobs or (), strict=False)
        tokens += [TokenLogprob(token, _rounded(logprob)) for token, logprob in pairs]
        n_in = (completion.usage.prompt_tokens or 0) if completion.usage is not None else 0
        return Reply(
            call.key, choice.text, logprobs=tuple(tokens), tokens_in=n_in, cost_usd=self.cost(n_in, 1),
            seconds=seconds, model_name=completion.model or "", finish="stop",
        )  # fmt: skip


class Likelihoods:
    """The likelihoods that one model behind HTTP tells; refused where the probe is not passed."""

    def __init__(self, asked: Completions) -> None:
        self._asked = asked
        self._probing = asyncio.Lock()
        self._is_real = False
        self._refusal = ""
        self._lengths: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._alone: OrderedDict[str, float] = OrderedDict()

    async def ask(self, call: Call, params: Parameters) -> Reply:
        """The log-probabilities of the call's texts. `ModelError` where the server does not tell any."""
        asked = passages_of(call)
        if not all(passage.target.strip() for passage in asked):
            return failed(call, "bad_reply", "the text to be scored is empty: it has no likelihood")
        await self._check(params)
        told: list[tuple[TokenLogprob, ...]] = []
        alone: list[float | None] = []
        replies: list[Reply] = []
        try:
            for passage in asked:
                tokens, reply = await self._score(call, passage, params)
                told.append(tokens)
                replies.append(reply)
                alone.append(await self._unconditional(call, passage.target, params))
        except _Unscored as why:
            return why.reply
        costs = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
        return Reply(
            call.key,
            text=said_beside(alone, [len(tokens) for tokens in told]),
            logprobs=tuple(token for tokens in told for token in tokens),
            tokens_in=sum(reply.tokens_in for reply in replies),
            cost_usd=sum(costs) if costs else None,
            seconds=sum(reply.seconds for reply in replies),
            model_name=replies[-1].model_name,
            finish="stop",
        )

    async def _score(
        self, call: Call, passage: Passage, params: Parameters
    ) -> tuple[tuple[TokenLogprob, ...], Reply]:
        """The target's tokens: those behind the tokens that the prompt has by itself."""
        before = self._lengths.get(passage.prompt)
        if before is None:
            alone = await self._echo(call, passage.prompt, params)
            before = tuple(token.token for token in (alone.logprobs or ())[:-1])
            _remember(self._lengths, passage.prompt, before)
        reply = await self._echo(call, passage.prompt + passage.target, params)
        tokens = (reply.logprobs or ())[:-1]
        n_before = len(before)
        if tuple(token.token for token in tokens[:n_before]) != before or len(tokens) == n_before:
            raise _Unscored(
                failed(
                    call, "bad_reply", "a token of the server reaches over the end of the prompt: what the text's own "
                    "likelihood is cannot be told. A text that begins with a letter has this trouble rarely.",
                )
            )  # fmt: skip
        return tokens[n_before:], reply

    async def _unconditional(self, call: Call, target: str, params: Parameters) -> float | None:
        """The mean without the prompt; none where the text cannot be told apart from what stands before it."""
        if target not in self._alone:
            try:
                tokens, _ = await self._score(call, Passage(_ALONE, target), params)
            except _Unscored:
                return None
            _remember(self._alone, target, _mean(tokens))
        return self._alone[target]

    async def _echo(self, call: Call, text: str, params: Parameters) -> Reply:
        given = Call(call.key, call.item, call.protocol, call.criteria, call.model, (Message("user", text),))
        asked = Parameters(temperature=0.0, max_tokens=1, timeout_seconds=params.timeout_seconds)
        reply = await self._asked.ask(given, asked)
        if reply.error is not None:
            raise _Unscored(reply)
        tokens = reply.logprobs or ()
        if len(tokens) < 2 or not all(
            math.isfinite(token.logprob) and token.logprob <= 0 for token in tokens
        ):
            raise _Unscored(failed(call, "bad_reply", "the server gave no log-probabilities for the text"))
        return reply

    # -- the probe

    async def _check(self, params: Parameters) -> None:
        """Once for a model: `ModelError` where its likelihoods are none."""
        async with self._probing:
            if self._is_real:
                return
            if not self._refusal:
                why = {}
                for form in FORMS:
                    self._asked.form = form
                    problem = await self._problem(params)
                    if not problem:
                        self._is_real = True
                        return
                    why[form] = problem
                self._refusal = "; ".join(f"{form}: {problem}" for form, problem in why.items())
        raise ModelError(
            f"{self._asked.name} does not tell the likelihood of a given text ({self._refusal}). vLLM's server does; "
            "llama.cpp's and Ollama's do not. Judge by likelihood on this machine: -m local, or -m local:FILE.gguf "
            "for a model of yours."
        )

    async def _problem(self, params: Parameters) -> str:
        """What is wrong with the server's likelihoods of known texts; empty where they are real."""
        call = Call("probe", "probe", "probe", (), self._asked.name, ())
        try:
            first = (await self._echo(call, KNOWN_TEXT, params)).logprobs or ()
            wrong = _wrong_tokens(first)
            if wrong:
                return wrong
            new = first[-1]
            second = (await self._echo(call, KNOWN_TEXT + new.token, params)).logprobs or ()
            scrambled = (await self._echo(call, SCRAMBLED, params)).logprobs or ()
        except _Unscored as why:
            return str(why)[:300].rstrip(".")
        except ModelError as error:
            # A server without completions answers; a refused key or a server that is not there is another matter.
            if type(error) is not ModelError or not self._asked.was_reached:
                raise
            return str(error)[:300].rstrip(".")
        return _wrong_values(first, second, scrambled)


def _wrong_tokens(told: tuple[TokenLogprob, ...]) -> str:
    """Whether the tokens are those of the known text, and one more. A mark may stand at their beginning."""
    text = "".join(token.token for token in told[:-1])
    if not text.endswith(KNOWN_TEXT) or len(told) > len(KNOWN_TEXT) + 3:
        return f"the text does not come back, {text[:60]!r} does"
    return ""


def _wrong_values(
    first: tuple[TokenLogprob, ...], second: tuple[TokenLogprob, ...], scrambled: tuple[TokenLogprob, ...]
) -> str:
    """Whether the numbers can be those of a model that has read the text."""
    n_tokens = len(first) - 1
    given = [token.logprob for token in first[1:n_tokens]]
    if not given or max(given) - min(given) < 1e-6:
        return "all tokens are equally likely"
    gaps = [abs(a.logprob - b.logprob) for a, b in zip(first[1:], second[1:], strict=False)]
    if len(second) != n_tokens + 2 or second[n_tokens].token != first[-1].token:
        return "the token that it generated does not come back"
    if max(gaps) > TOLERANCE:
        return f"the same tokens differ by {max(gaps):.2g} nats from one answer to the other"
    if not _mean(first[1:-1]) > _mean(scrambled[1:-1]) + _LEAST_GAP:
        return "a sentence is no likelier than its words backwards"
    return ""


def _rounded(logprob: float | None) -> float:
    """A certainty that rounding has put above itself is one."""
    return 0.0 if logprob is None or 0.0 < logprob < 1e-3 else logprob


def _mean(tokens: tuple[TokenLogprob, ...]) -> float:
    return math.fsum(token.logprob for token in tokens) / max(1, len(tokens))


def _remember(known: OrderedDict[str, Any], key: str, value: Any) -> None:
    known[key] = value
    while len(known) > _REMEMBERED:
        known.popitem(last=False)
