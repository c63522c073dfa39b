"""Likelihoods over HTTP: the log-probabilities of a given text, from servers that support them.

Two extensions of the completions API return them: `echo` with `logprobs`, and vLLM's `prompt_logprobs`. Many
servers accept these parameters and do something else without an error: llama.cpp ignores `echo`, so that the
log-probability of a generated word would be mistaken for that of the text. So a probe first checks that the
text comes back, that likely words are likely, and that a token has the same probability whether it is
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
from .base import Parameters, failed
from .keys import Secret
from .likelihood_passages import Passage, likelihood_details, passages_of
from .remote import RemoteModel
from .response_bodies import decode_leniently

PATH = "/completions"

Form = Literal["echo", "prompt_logprobs"]
FORMS: tuple[Form, ...] = ("echo", "prompt_logprobs")

KNOWN_TEXT = "The capital of France is the city of"
SCRAMBLED = "of city the is France of capital The"
TOLERANCE = 0.3
"""Nats. Servers round differently when they generate and when they score; an offset by one token differs by
several."""

_LEAST_GAP = 0.5
"""Nats per token by which a sentence is likelier than its words in reverse, even for the weakest models."""

_ALONE = "\n"
"""The prompt for an unconditional likelihood: real prompts end with a line break, too."""

_CACHE_SIZE = 1000


class _PromptToken(Struct):
    logprob: float
    decoded_token: str | None = None


class _Logprobs(Struct):
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None


class _Choice(Struct):
    text: str = ""
    logprobs: _Logprobs | None = None
    prompt_logprobs: list[dict[str, _PromptToken] | None] | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None


class _Completion(Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class _Unscored(Exception):
    """A text has no likelihood; carries the reply with the reason."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.error.message if reply.error is not None else "no reply")
        self.reply = reply


class Completions(RemoteModel):
    """The completions API of a server: one generated token, and the tokens of the prompt before it."""

    droppable: ClassVar[frozenset[str]] = frozenset()
    form: Form = "echo"

    @property
    def was_reached(self) -> bool:
        """Whether the host has ever answered."""
        return self._limiter.was_reached

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
        """The tokens of the text and the generated one; the first token has no context and counts as 0."""
        completion = decode_leniently(body, _Completion)
        if completion is None or not completion.choices:
            return None
        choice = completion.choices[0]
        tokens: list[TokenLogprob] = []
        if self.form == "prompt_logprobs":
            for alternatives in choice.prompt_logprobs or ():
                token = next(iter(alternatives.values()), None) if alternatives else None
                tokens.append(
                    TokenLogprob(
                        (token.decoded_token or "") if token else "",
                        _rounded(token.logprob) if token else 0.0,
                    )
                )
        logprobs = choice.logprobs or _Logprobs()
        pairs = zip(logprobs.tokens or (), logprobs.token_logprobs or (), strict=False)
        tokens += [TokenLogprob(text, _rounded(logprob)) for text, logprob in pairs]
        n_in = (completion.usage.prompt_tokens or 0) if completion.usage is not None else 0
        return Reply(
            call.key, choice.text, logprobs=tuple(tokens), tokens_in=n_in, cost_usd=self.cost(n_in, 1),
            seconds=seconds, model_name=completion.model or "", finish="stop",
        )  # fmt: skip


class Likelihoods:
    """The likelihoods of one model behind HTTP; refused where the server fails the probe."""

    def __init__(self, completions: Completions) -> None:
        self._completions = completions
        self._probing = asyncio.Lock()
        self._is_real = False
        self._refusal = ""
        self._prompt_tokens: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._unconditional_means: OrderedDict[str, float] = OrderedDict()

    async def ask(self, call: Call, params: Parameters) -> Reply:
        """The log-probabilities of the call's targets. `ModelError` where the server does not support
        them."""
        passages = passages_of(call)
        if not all(passage.target.strip() for passage in passages):
            return failed(call, "bad_reply", "the text to be scored is empty: it has no likelihood")
        await self._check(params)
        targets: list[tuple[TokenLogprob, ...]] = []
        unconditional: list[float | None] = []
        replies: list[Reply] = []
        try:
            for passage in passages:
                tokens, reply = await self._score(call, passage, params)
                targets.append(tokens)
                replies.append(reply)
                unconditional.append(await self._unconditional(call, passage.target, params))
        except _Unscored as unscored:
            return unscored.reply
        costs = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
        return Reply(
            call.key,
            text=likelihood_details(unconditional, [len(tokens) for tokens in targets]),
            logprobs=tuple(token for tokens in targets for token in tokens),
            tokens_in=sum(reply.tokens_in for reply in replies),
            cost_usd=sum(costs) if costs else None,
            seconds=sum(reply.seconds for reply in replies),
            model_name=replies[-1].model_name,
            finish="stop",
        )

    async def _score(
        self, call: Call, passage: Passage, params: Parameters
    ) -> tuple[tuple[TokenLogprob, ...], Reply]:
        """The target's tokens: those after the tokens of the prompt alone."""
        before = self._prompt_tokens.get(passage.prompt)
        if before is None:
            prompt_reply = await self._echo(call, passage.prompt, params)
            before = tuple(token.token for token in (prompt_reply.logprobs or ())[:-1])
            _cache(self._prompt_tokens, passage.prompt, before)
        reply = await self._echo(call, passage.prompt + passage.target, params)
        tokens = (reply.logprobs or ())[:-1]
        n_before = len(before)
        if tuple(token.token for token in tokens[:n_before]) != before or len(tokens) == n_before:
            raise _Unscored(
                failed(
                    call, "bad_reply", "a token spans the end of the prompt and the start of the text, so "
                                       "the likelihood of the "
                    "text cannot be computed. This is rare for a text that starts with a letter.",
                )
            )  # fmt: skip
        return tokens[n_before:], reply

    async def _unconditional(self, call: Call, target: str, params: Parameters) -> float | None:
        """The mean without the prompt; none where a token spans the text and the line break before it."""
        if target not in self._unconditional_means:
            try:
                tokens, _ = await self._score(call, Passage(_ALONE, target), params)
            except _Unscored:
                return None
            _cache(self._unconditional_means, target, _mean(tokens))
        return self._unconditional_means[target]

    async def _echo(self, call: Call, text: str, params: Parameters) -> Reply:
        completion = Call(
            call.key, call.item, call.protocol, call.criteria, call.model, (Message("user", text),)
        )
        greedy = Parameters(temperature=0.0, max_tokens=1, timeout_seconds=params.timeout_seconds)
        reply = await self._completions.ask(completion, greedy)
        if reply.error is not None:
            raise _Unscored(reply)
        tokens = reply.logprobs or ()
        if len(tokens) < 2 or not all(
            math.isfinite(token.logprob) and token.logprob <= 0 for token in tokens
        ):
            raise _Unscored(failed(call, "bad_reply", "the server gave no log-probabilities for the text"))
        return reply

    # The probe

    async def _check(self, params: Parameters) -> None:
        """Probe the model once; `ModelError` where it returns no real likelihoods."""
        async with self._probing:
            if self._is_real:
                return
            if not self._refusal:
                problems = {}
                for form in FORMS:
                    self._completions.form = form
                    problem = await self._problem(params)
                    if not problem:
                        self._is_real = True
                        return
                    problems[form] = problem
                self._refusal = "; ".join(f"{form}: {problem}" for form, problem in problems.items())
        raise ModelError(
            f"{self._completions.name} does not return the likelihood of a given text ({self._refusal})."
            " vLLM's server does; llama.cpp's and Ollama's do not. Judge by likelihood on this machine: -m"
            " local, or -m local:FILE.gguf for another model."
        )

    async def _problem(self, params: Parameters) -> str:
        """What is wrong with the server's likelihoods of known texts; empty where they are real."""
        call = Call("probe", "probe", "probe", (), self._completions.name, ())
        try:
            first = (await self._echo(call, KNOWN_TEXT, params)).logprobs or ()
            if problem := _token_problem(first):
                return problem
            second = (await self._echo(call, KNOWN_TEXT + first[-1].token, params)).logprobs or ()
            scrambled = (await self._echo(call, SCRAMBLED, params)).logprobs or ()
        except _Unscored as unscored:
            return str(unscored)[:300].rstrip(".")
        except ModelError as error:
            # A server without completions answers; a refused key or an unreachable server is another fault.
            if type(error) is not ModelError or not self._completions.was_reached:
                raise
            return str(error)[:300].rstrip(".")
        return _value_problem(first, second, scrambled)


def _token_problem(tokens: tuple[TokenLogprob, ...]) -> str:
    """Empty where the tokens are those of the known text and one more; a start token may come first."""
    text = "".join(token.token for token in tokens[:-1])
    if not text.endswith(KNOWN_TEXT) or len(tokens) > len(KNOWN_TEXT) + 3:
        return f"the server did not echo the text, but {text[:60]!r}"
    return ""


def _value_problem(
    first: tuple[TokenLogprob, ...], second: tuple[TokenLogprob, ...], scrambled: tuple[TokenLogprob, ...]
) -> str:
    """Empty where the log-probabilities can be those of a model that has read the text."""
    n_tokens = len(first) - 1
    logprobs = [token.logprob for token in first[1:n_tokens]]
    if not logprobs or max(logprobs) - min(logprobs) < 1e-6:
        return "all tokens are equally likely"
    gaps = [abs(a.logprob - b.logprob) for a, b in zip(first[1:], second[1:], strict=False)]
    if len(second) != n_tokens + 2 or second[n_tokens].token != first[-1].token:
        return "the server did not echo the token that it generated"
    if max(gaps) > TOLERANCE:
        return f"the same tokens differ by {max(gaps):.2g} nats between two responses"
    if not _mean(first[1:-1]) > _mean(scrambled[1:-1]) + _LEAST_GAP:
        return "a sentence is not more likely than its words in reverse order"
    return ""


def _rounded(logprob: float | None) -> float:
    """The log-probability; 0 where it is missing, or slightly above 0 by rounding."""
    return 0.0 if logprob is None or 0.0 < logprob < 1e-3 else logprob


def _mean(tokens: tuple[TokenLogprob, ...]) -> float:
    return math.fsum(token.logprob for token in tokens) / max(1, len(tokens))


def _cache(cache: OrderedDict[str, Any], key: str, value: Any) -> None:
    cache[key] = value
    while len(cache) > _CACHE_SIZE:
        cache.popitem(last=False)
