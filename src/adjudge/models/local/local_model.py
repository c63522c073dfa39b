"""The embedded judge: a model that runs in this process, without a key and without a network.

Likelihoods are computed in at most two lanes; the next call of a lane is the waiting one that shares the
longest prefix with its last call. Generated replies come from the wheel's server, several at once. Everything
runs in threads, so that the event loop stays free. The weights are loaded, and pulled if necessary, with the
first call.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import secrets
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from ...errors import ModelError
from ...records import Call, Reply, TokenLogprob, TopToken
from ..base import Form, Model, Parameters, failed
from ..likelihood_passages import Passage, likelihood_details, passages_of
from ..prices import Price
from .llama_cpp import VERSION, Scored, Scorer, TooLong, Unscored, check_installed, unexpected_layout
from .weights import SMOLLM2, Say, Weights, pull, sha256_of

PARALLEL_REPLIES = 2
"""Replies generated at once: they share the memory reads of the weights, which is most of the work."""

CONTEXT = 4096
"""Tokens of prompt and reply, where the model's context length allows it."""

FORMS = "forms 1"
"""The version of the reply grammars. Part of the model's identity: other grammars give other replies."""

LONGEST_TEXT = 300
"""Characters of free text in a reply with a form: it must fit into the longest reply."""

LONGEST_REPLY = 512
"""Tokens, unless a limit is set: small models tend to repeat themselves."""


class _Token(Struct):
    token: str
    logprob: float
    top_logprobs: tuple[TopToken, ...] = ()


class _Logprobs(Struct):
    content: list[_Token] | None = None


class _ChatMessage(Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(Struct):
    message: _ChatMessage
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Answer(Struct):
    choices: list[_Choice]
    usage: _Usage = _Usage()


def request_for(call: Call, params: Parameters) -> dict[str, Any]:
    """A chat request; a schema or form becomes a grammar that constrains the reply."""
    request: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "max_tokens": params.max_tokens or LONGEST_REPLY,
        # Samples must differ from each other, and be reproducible: the sample number is part of the seed.
        "seed": (params.seed or 0) + call.sample,
    }
    if params.temperature is not None:
        request["temperature"] = params.temperature
    if params.top_logprobs is not None:
        request |= {"logprobs": True, "top_logprobs": params.top_logprobs}
    if params.schema is not None:
        answer = {"name": "answer", "strict": True, "schema": params.schema}
        request["response_format"] = {"type": "json_schema", "json_schema": answer}
    elif params.form is not None and call.kind != "steps":
        request["grammar"] = grammar_of(params.form)
    return request


def grammar_of(form: Form) -> str:
    """The grammar of a reply: free text that cannot begin the answer, then the answer; or the other way
    round.

    It constrains only which token is chosen; the reported probabilities are unconstrained.
    """
    values = " | ".join(map(_quoted, form.values))
    answer = f"{_quoted(form.opening)} value {_quoted(form.closing)}"
    # Text cannot contain the first character of the answer, or it would never have to end.
    excluded = re.sub(r"([\\\]\[])", r"\\\1", form.opening[:1])
    text = f"[^{excluded}]" if excluded and not form.is_first else "[^\\x00]"
    rules = f"{answer} text" if form.is_first else f"text {answer}"
    return f"root ::= {rules}\nvalue ::= {values}\ntext ::= {text}{{0,{LONGEST_TEXT}}}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def reply_of(
    call: Call,
    answer: dict[str, Any],
    cost: Callable[[int, int], float | None],
    title: str,
    seconds: float,
) -> Reply:
    """The reply in a response of llama.cpp, or its error."""
    if isinstance(error := answer.get("error"), dict):
        kind = "too_long" if error.get("type") == "exceed_context_size_error" else "bad_reply"
        return failed(call, kind, f"{error.get('message', 'no reason given')}"[:500], seconds)  # type: ignore[arg-type]
    try:
        completion = msgspec.convert(answer, _Answer)
        choice = completion.choices[0]
    except (msgspec.ValidationError, IndexError) as fault:
        return failed(call, "bad_reply", f"llama.cpp's answer holds no reply ({fault})"[:500], seconds)
    tokens = choice.logprobs.content if choice.logprobs is not None else None
    usage = completion.usage
    return Reply(
        call.key,
        choice.message.content or "",
        choice.message.reasoning_content or "",
        (
            tuple(TokenLogprob(token.token, token.logprob, token.top_logprobs) for token in tokens)
            if tokens
            else None
        ),
        usage.prompt_tokens,
        usage.completion_tokens,
        cost(usage.prompt_tokens, usage.completion_tokens),
        seconds,
        title,
        finish=choice.finish_reason,
    )


# The wheel's interface to llama.cpp generates text, and serves to check the C interface. It always opens a
# socket: ours is in a folder that only the user can enter, with a random key, and nothing is ever sent there.
# Calls are function calls inside the process.


_KNOWN_TEXT = "The capital of France is the city of"
_COMPARED = 10
_TOLERANCE = 0.25
"""Nats between the two interfaces. Different batches cause rounding differences of hundredths; wrong
parameters cause differences of several."""

_checked: set[Path] = set()


class Server:
    """The generating interface, with `parallel` replies at once."""

    def __init__(self, path: Path, *, n_ctx: int, parallel: int, threads: int) -> None:
        package = importlib.import_module("xllamacpp")
        self._folder = tempfile.mkdtemp(prefix="adjudge-")
        params = package.CommonParams()
        params.model.path = str(path)
        params.n_ctx, params.n_parallel = n_ctx * parallel, parallel
        params.n_batch = params.n_ubatch = min(512, n_ctx)
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.flash_attn_type = package.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.warmup = params.fit_params = params.ui = params.endpoint_slots = False
        params.cache_ram_mib = 0
        params.verbosity = -1
        params.n_threads_http = 1
        params.api_keys = [secrets.token_hex(16)]
        if sys.platform != "win32":
            params.hostnames = [f"{self._folder}/s.sock"]
        try:
            self._server: Any = package.Server(params)
        except (RuntimeError, ValueError, MemoryError) as error:
            self.close()
            raise ModelError(
                f"{path} cannot be loaded to generate text: {error}. Use another model, or free some memory."
            ) from error

    def close(self) -> None:
        """Stop it, and remove its socket."""
        self._server = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def complete(self, request: dict[str, Any]) -> dict[str, Any]:
        """The response to a completion request, in the wire format."""
        answer: dict[str, Any] = self._server.handle_completions(request)
        return answer

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        """The response to a chat request, in the wire format."""
        answer: dict[str, Any] = self._server.handle_chat_completions(request)
        return answer


def check_against_server(scorer: Scorer, path: Path, threads: int) -> None:
    """Refuse a library whose two interfaces disagree about a known text.

    The server tokenizes the text itself, so this checks the tokens, the batch, the parameters and the logits
    together. Once per file and process.
    """
    if path in _checked:
        return
    server = Server(path, n_ctx=256, parallel=1, threads=threads)
    try:
        request = {"prompt": _KNOWN_TEXT, "max_tokens": 1, "n_probs": _COMPARED, "temperature": 0.0}
        expected = _likeliest(server.complete(request))
    finally:
        server.close()
        # The server has redirected the library's log.
        scorer.library.capture_log()
    logprobs = scorer.next_logprobs(_KNOWN_TEXT, list(expected))
    worst = max((abs(a - b) for a, b in zip(logprobs, expected.values(), strict=True)), default=float("inf"))
    if not worst <= _TOLERANCE:
        raise unexpected_layout(f"its two interfaces differ by {worst:.2g} nats for a known text")
    _checked.add(path)


def _likeliest(answer: dict[str, Any]) -> dict[int, float]:
    """The likeliest next tokens with their log-probabilities; empty where the response has none."""
    try:
        content = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        return {int(entry["id"]): float(entry["logprob"]) for entry in content[:_COMPARED]}
    except (KeyError, IndexError, TypeError, ValueError):
        return {}


T = TypeVar("T")

LANES = 2
"""Likelihoods computed at once, given enough threads. Each lane takes memory for the logits of a batch."""

_NO_RUBRICS = (
    "the embedded model {name} does not follow rubrics: the scores that it writes are nearly meaningless. "
    "Judge by likelihood (the protocols gptscore/…), or use a larger model."
)


class _Waiting(NamedTuple):
    call: Call
    first: Passage
    answer: asyncio.Future[Reply]


class LocalModel(Model):
    """A GGUF model in this process: weights that can be pulled, or a user's file."""

    is_local = True
    gives_logprobs = True
    gives_likelihood = True

    def __init__(
        self,
        name: str,
        file: Path | Weights = SMOLLM2,
        *,
        price: Price | None = None,
        threads: int | None = None,
        say: Say | None = None,
    ) -> None:
        super().__init__(name, price or (0.0, 0.0))
        self.file = file
        self._say = say or _to_stderr
        self.threads = threads or default_threads()
        self.n_evaluated = 0
        """tokens evaluated for likelihoods; fewer than requested where prefixes are shared"""
        self._digest = file.sha256 if isinstance(file, Weights) else ""
        self._scorer: Scorer | None = None
        self._server: Server | None = None
        self._loading, self._counting = threading.Lock(), threading.Lock()
        self._lanes = min(LANES, self.threads)
        self._scoring = ThreadPoolExecutor(self._lanes, "adjudge-likelihood")
        self._generating = ThreadPoolExecutor(PARALLEL_REPLIES, "adjudge-generate")
        self._waiting: list[_Waiting] = []
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._last = [Passage("", "")] * self._lanes
        self._unconditional_means: dict[str, float] = {}
        self._fault: ModelError | None = None
        self._is_closed = False

    @property
    def identity(self) -> str:
        """The hash of the weights, not the file's name, and the release of llama.cpp."""
        return f"local|{self.digest}|{VERSION}|{FORMS}"

    @property
    def digest(self) -> str:
        """The sha256 of the weights."""
        if not self._digest:
            self.check(Parameters())
            assert isinstance(self.file, Path)
            self._digest = sha256_of(self.file)
        return self._digest

    @property
    def weights(self) -> Weights | None:
        """The weights that can be pulled; none where the user has a file."""
        return self.file if isinstance(self.file, Weights) else None

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        super().check(params, kinds)
        check_installed()
        if isinstance(self.file, Path) and not self.file.is_file():
            raise ModelError(f"{self.name}: there is no file {self.file}. Give the path of a GGUF file.")

    async def ask(self, call: Call, params: Parameters) -> Reply:
        """The log-probabilities of the call's target, or a generated reply."""
        if self._is_closed:
            raise ModelError(f"{self.name} was closed. Create a new object for further calls.")
        if call.kind != "likelihood":
            return await self._run_in(self._generating, lambda: self._generate(call, params))
        passages = passages_of(call)
        if not all(passage.target.strip() for passage in passages):
            return failed(call, "bad_reply", "the text to be scored is empty: it has no likelihood")
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(call, passages[0], answer))
        for lane in range(self._lanes):
            if lane not in self._workers:
                self._workers[lane] = asyncio.create_task(self._work(lane))
                break
        return await answer

    async def close(self) -> None:
        """End the current calls, and free the memory."""
        self._is_closed = True
        for waiting in self._waiting:
            waiting.answer.cancel()
        self._waiting.clear()
        # All computations must have ended before the model is freed, also those that no caller waits for.
        await self._run_in(self._generating, self._scoring.shutdown)
        if self._workers:
            await asyncio.wait(self._workers.values())
        await self._run_in(self._generating, self._free)
        self._generating.shutdown()

    # Likelihoods

    async def _work(self, lane: int) -> None:
        """Answer the waiting calls of a lane; ends when none is left."""
        try:
            while (waiting := self._next(lane)) is not None:
                try:
                    reply = await self._run_in(self._scoring, partial(self._likelihood, waiting.call, lane))
                except BaseException as fault:  # it is the caller's
                    if not waiting.answer.done():
                        waiting.answer.set_exception(fault)
                    if isinstance(fault, asyncio.CancelledError):
                        raise
                else:
                    if not waiting.answer.done():
                        waiting.answer.set_result(reply)
        finally:
            del self._workers[lane]

    def _next(self, lane: int) -> _Waiting | None:
        """The waiting call that shares the longest prefix with the lane's last call.

        Where none shares any, the one that shares least with the calls of other lanes; the first of equals.
        """
        self._waiting = [waiting for waiting in self._waiting if not waiting.answer.done()]
        if not self._waiting:
            return None
        others = [last for other, last in enumerate(self._last) if other != lane]

        def priority(n: int) -> tuple[int, int, int, int]:
            first = self._waiting[n].first
            shared_elsewhere = max((n_shared(first.prompt, last.prompt) for last in others), default=0)
            return *_shared_prefix(first, self._last[lane]), -shared_elsewhere, -n

        chosen = self._waiting.pop(max(range(len(self._waiting)), key=priority))
        self._last[lane] = chosen.first
        return chosen

    def _likelihood(self, call: Call, lane: int) -> Reply:
        started = perf_counter()
        scored: list[Scored] = []
        unconditional: list[float] = []
        try:
            scorer = self._loaded()
            for prompt, target in passages_of(call):
                scored.append(scorer.score(prompt, target, lambda: self._is_closed, lane))
                self._count(scored[-1])
                unconditional.append(self._unconditional(scorer, target, lane))
        except TooLong as fault:
            return failed(call, "too_long", f"{fault}.", perf_counter() - started)
        except Unscored as fault:
            return failed(call, "bad_reply", f"{fault}.", perf_counter() - started)
        tokens_in = sum(target.tokens_in for target in scored)
        return Reply(
            call.key,
            text=likelihood_details(unconditional, [len(target.logprobs) for target in scored]),
            logprobs=tuple(token for target in scored for token in _tokens(target)),
            tokens_in=tokens_in,
            cost_usd=self.cost(tokens_in, 0),
            seconds=perf_counter() - started,
            model_name=self._title(scorer),
            finish="stop",
        )

    def _unconditional(self, scorer: Scorer, target: str, lane: int) -> float:
        """The mean log-probability of a target without its prompt: the same for all criteria of an item."""
        mean = self._unconditional_means.get(target)
        if mean is None:
            scored = scorer.score_alone(target, lambda: self._is_closed, lane)
            self._count(scored)
            if len(self._unconditional_means) >= 1000:
                self._unconditional_means.clear()
            mean = self._unconditional_means[target] = scored.mean
        return mean

    def _count(self, scored: Scored) -> None:
        with self._counting:
            self.n_evaluated += scored.evaluated

    # Generated replies

    def _generate(self, call: Call, params: Parameters) -> Reply:
        started = perf_counter()
        scorer = self._loaded()
        if not scorer.has_template:
            raise ModelError(
                f"{self.name} has no chat template: it continues texts but answers no questions. "
                "Judge with it by likelihood (the protocols gptscore/…), or use a chat model."
            )
        with self._loading:
            if self._server is None:
                path, size = self._path(), min(CONTEXT, scorer.longest)
                self._server = Server(path, n_ctx=size, parallel=PARALLEL_REPLIES, threads=self.threads)
                scorer.library.capture_log()
                self.warnings.append(_NO_RUBRICS.format(name=self.name))
        try:
            answer = self._server.chat(request_for(call, params))
        except (ValueError, RuntimeError) as error:
            return failed(call, "bad_reply", f"{self.name}: {error}"[:500], perf_counter() - started)
        return reply_of(call, answer, self.cost, self._title(scorer), perf_counter() - started)

    # Loading

    def _title(self, scorer: Scorer) -> str:
        """The model's name; that in a weights file may be the name of a training run."""
        return self.file.title if isinstance(self.file, Weights) else scorer.title

    def _path(self) -> Path:
        return self.file.path if isinstance(self.file, Weights) else self.file

    def _loaded(self) -> Scorer:
        """The model, loaded and checked once."""
        with self._loading:
            if self._fault is not None:
                # A failed load is not retried for each of the waiting calls.
                raise ModelError(str(self._fault))
            if self._scorer is None:
                try:
                    self._scorer = self._load()
                except ModelError as fault:
                    self._fault = fault
                    raise
            return self._scorer

    def _load(self) -> Scorer:
        check_installed()
        if isinstance(self.file, Weights):
            pull(self.file, self.say_if_missing())
        scorer = Scorer(self._path(), self.threads // self._lanes, self._lanes)
        try:
            check_against_server(scorer, self._path(), self.threads)
        except BaseException:
            scorer.close()
            raise
        return scorer

    def say_if_missing(self) -> Say:
        """Print progress only where the weights are missing."""
        assert isinstance(self.file, Weights)
        return self._say if not self.file.path.exists() else lambda _text: None

    def _free(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
            self._scorer = None
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _run_in(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, work)


def _shared_prefix(passage: Passage, last: Passage) -> tuple[int, int]:
    """How many characters of the prompt, and of the target where the prompts are equal, the two share."""
    prompt, target = passage
    return n_shared(prompt, last.prompt), n_shared(target, last.target) if prompt == last.prompt else 0


def n_shared(left: str, right: str) -> int:
    """The length of the common prefix of two texts."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    # Binary search: comparing slices is far faster than comparing characters.
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


def default_threads() -> int:
    """One less than the number of CPUs: busy-waiting threads must not compete with other work."""
    setting = os.environ.get("ADJUDGE_THREADS", "")
    if setting.isdecimal() and int(setting) > 0:
        return int(setting)
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(count - 1, 8))


def _tokens(scored: Scored) -> tuple[TokenLogprob, ...]:
    pairs = zip(scored.pieces, scored.logprobs, strict=True)
    return tuple(TokenLogprob(piece, logprob) for piece, logprob in pairs)


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
