"""The embedded judge: a model that runs in this process, without a key and without a network.

Likelihoods are computed in lanes, at most two at once, and of the calls that wait the one is next that shares most
of its beginning with the last one of the lane. Generated replies come from the wheel's own server, several at once.
All of it happens in threads: the event loop stays free. The weights are loaded, and if need be pulled, with the
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
from ..base import Form, Model, Parameters, Passage, Price, failed, passages_of, said_beside
from .llama_cpp import VERSION, check_installed, laid_out_otherwise
from .scorer import Scored, Scorer, TooLong, Unscored
from .weights import SMOLLM2, Say, Weights, digest_of, pull

# Between a `Call` and the wire format of llama.cpp's chat: what is asked, and what is read from the answer.


PLACES = 2
"""Replies generated at once: they share the reading of the weights, which is most of the work."""

CONTEXT = 4096
"""Tokens of prompt and reply, where the model was trained for so many."""

FORMS = "forms 1"
"""How replies are held to a form. Part of the model's identity: another way would give other replies."""

LONGEST_TEXT = 300
"""Characters before the answer, or behind it, of a reply that is held to a form: it must fit into the longest reply."""

LONGEST_REPLY = 512
"""Unless a length is asked for: small models like to go round in circles."""


class _Token(Struct):
    token: str
    logprob: float
    top_logprobs: tuple[TopToken, ...] = ()


class _Logprobs(Struct):
    content: list[_Token] | None = None


class _Said(Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(Struct):
    message: _Said
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Answer(Struct):
    choices: list[_Choice]
    usage: _Usage = _Usage()


def request_for(call: Call, params: Parameters) -> dict[str, Any]:
    """A chat request; a schema becomes a grammar that the reply cannot leave."""
    request: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.content} for message in call.messages],
        "max_tokens": params.max_tokens or LONGEST_REPLY,
        # Repeated samples must differ, a single one must not: the sample is part of the seed.
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
    """The grammar of a reply: some text that does not begin the answer, and the answer; or the other way round.

    It leaves the probabilities that are reported as they were: only what may follow is held to it.
    """
    values = " | ".join(map(_quoted, form.values))
    answer = f"{_quoted(form.opening)} value {_quoted(form.closing)}"
    # Whatever begins as the answer does cannot be text, or the text would never have to end.
    barred = re.sub(r"([\\\]\[])", r"\\\1", form.opening[:1])
    text = f"[^{barred}]" if barred and not form.is_first else "[^\\x00]"
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
    """The reply in an answer, or the error that it tells of."""
    if isinstance(error := answer.get("error"), dict):
        kind = "too_long" if error.get("type") == "exceed_context_size_error" else "bad_reply"
        return failed(call, kind, f"{error.get('message', 'no reason given')}"[:500], seconds)  # type: ignore[arg-type]
    try:
        read = msgspec.convert(answer, _Answer)
        choice = read.choices[0]
    except (msgspec.ValidationError, IndexError) as wrong:
        return failed(call, "bad_reply", f"llama.cpp's answer holds no reply ({wrong})"[:500], seconds)
    tokens = choice.logprobs.content if choice.logprobs is not None else None
    usage = read.usage
    return Reply(
        call.key,
        choice.message.content or "",
        choice.message.reasoning_content or "",
        tuple(TokenLogprob(one.token, one.logprob, one.top_logprobs) for one in tokens) if tokens else None,
        usage.prompt_tokens,
        usage.completion_tokens,
        cost(usage.prompt_tokens, usage.completion_tokens),
        seconds,
        title,
        finish=choice.finish_reason,
    )


# The wheel's own interface to llama.cpp: it generates text, and it is what the C interface is held against.
#
# It cannot be had without a listening socket. That one lies in a folder that only the user can enter, with a
# random key on it, and nothing is ever sent there: calls go from function to function inside the process.


_KNOWN_TEXT = "The capital of France is the city of"
_COMPARED = 10
_TOLERANCE = 0.25
"""Nats between the two interfaces. Rounding makes hundredths, as they cut a text into batches differently;
parameters that are not where they should be make several."""

_checked: set[Path] = set()


class Server:
    """The generating interface, with so many places for replies at once."""

    def __init__(self, path: Path, *, n_ctx: int, places: int, threads: int) -> None:
        package = importlib.import_module("xllamacpp")
        self._folder = tempfile.mkdtemp(prefix="adjudge-")
        params = package.CommonParams()
        params.model.path = str(path)
        params.n_ctx, params.n_parallel = n_ctx * places, places
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
        """The answer to a completion request, as the wire format has it."""
        answer: dict[str, Any] = self._server.handle_completions(request)
        return answer

    def chat(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a chat request, as the wire format has it."""
        answer: dict[str, Any] = self._server.handle_chat_completions(request)
        return answer


def check_against_server(scorer: Scorer, path: Path, threads: int) -> None:
    """Refuse a library whose two interfaces do not tell the same of a known text.

    The server cuts the text into tokens itself, so this covers the tokens, the batch, the parameters and
    the logits at once. Once per file and process.
    """
    if path in _checked:
        return
    server = Server(path, n_ctx=256, places=1, threads=threads)
    try:
        request = {"prompt": _KNOWN_TEXT, "max_tokens": 1, "n_probs": _COMPARED, "temperature": 0.0}
        told = _likeliest(server.complete(request))
    finally:
        server.close()
        # It took over what the library prints.
        scorer.library.listen()
    ours = scorer.next_logprobs(_KNOWN_TEXT, list(told))
    worst = max((abs(a - b) for a, b in zip(ours, told.values(), strict=True)), default=float("inf"))
    if not worst <= _TOLERANCE:
        raise laid_out_otherwise(f"its two interfaces differ by {worst:.2g} nats for a known text")
    _checked.add(path)


def _likeliest(answer: dict[str, Any]) -> dict[int, float]:
    """The likeliest next tokens with their log-probabilities; none where the answer does not hold them."""
    try:
        content = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        return {int(entry["id"]): float(entry["logprob"]) for entry in content[:_COMPARED]}
    except (KeyError, IndexError, TypeError, ValueError):
        return {}


T = TypeVar("T")

LANES = 2
"""Likelihoods computed at once, where there are as many threads. Each lane takes memory for the logits of a batch."""

DOES_NOT_FOLLOW = (
    "the embedded model {name} does not follow rubrics: a score that it writes says next to nothing. "
    "Judge by likelihood (the protocols gptscore/…), or use a larger model."
)


class _Waiting(NamedTuple):
    call: Call
    first: Passage
    answer: asyncio.Future[Reply]


class LocalModel(Model):
    """A GGUF model in this process: weights that can be pulled, or a file of the user's."""

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
        super().__init__(name, price)
        self._file = file
        self._say = say or _to_stderr
        self.threads = threads or default_threads()
        self.n_evaluated = 0
        """tokens that were really evaluated for likelihoods; less than asked where beginnings are shared"""
        self._digest = file.sha256 if isinstance(file, Weights) else ""
        self._scorer: Scorer | None = None
        self._server: Server | None = None
        self._loading, self._counting = threading.Lock(), threading.Lock()
        self._lanes = min(LANES, self.threads)
        self._scoring = ThreadPoolExecutor(self._lanes, "adjudge-likelihood")
        self._some = ThreadPoolExecutor(PLACES, "adjudge-generate")
        self._waiting: list[_Waiting] = []
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._last = [Passage("", "")] * self._lanes
        self._alone: dict[str, float] = {}
        self._fault: ModelError | None = None
        self._is_closed = False

    @property
    def identity(self) -> str:
        """The content of the weights, whatever the file is called, and the release that runs them."""
        if not self._digest:
            self.check(Parameters())
            assert isinstance(self._file, Path)
            self._digest = digest_of(self._file)
        return f"local|{self._digest}|{VERSION}|{FORMS}"

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        super().check(params, kinds)
        check_installed()
        if isinstance(self._file, Path) and not self._file.is_file():
            raise ModelError(f"{self.name}: there is no file {self._file}. Give the path of a GGUF file.")

    async def ask(self, call: Call, params: Parameters) -> Reply:
        """The log-probabilities of the call's target, or a generated reply."""
        if self._is_closed:
            raise ModelError(f"{self.name} was closed. Make another object for further calls.")
        if call.kind != "likelihood":
            return await self._in(self._some, lambda: self._generate(call, params))
        asked = passages_of(call)
        if not all(passage.target.strip() for passage in asked):
            return failed(call, "bad_reply", "the text to be scored is empty: it has no likelihood")
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(call, asked[0], answer))
        for lane in range(self._lanes):
            if lane not in self._workers:
                self._workers[lane] = asyncio.create_task(self._work(lane))
                break
        return await answer

    async def close(self) -> None:
        """End the call in work, and give the memory back."""
        self._is_closed = True
        for waiting in self._waiting:
            waiting.answer.cancel()
        self._waiting.clear()
        # Whoever still computes must have ended before the model is freed, also where nobody waits for it any more.
        await self._in(self._some, self._scoring.shutdown)
        if self._workers:
            await asyncio.wait(self._workers.values())
        await self._in(self._some, self._free)
        self._some.shutdown()

    # -- likelihoods

    async def _work(self, lane: int) -> None:
        """Answer those that wait, nearest first; ends when nobody waits."""
        try:
            while (waiting := self._next(lane)) is not None:
                try:
                    reply = await self._in(self._scoring, partial(self._likelihood, waiting.call, lane))
                except BaseException as fault:  # it belongs to whoever asked
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
        """Of those that still wait, the one that shares most of its beginning with the lane's last.

        Where none shares anything, one that is far from what the other lanes are at; the first of equals.
        """
        self._waiting = [one for one in self._waiting if not one.answer.done()]
        if not self._waiting:
            return None
        others = [last for other, last in enumerate(self._last) if other != lane]

        def order(n: int) -> tuple[int, int, int, int]:
            first = self._waiting[n].first
            elsewhere = max((n_shared(first.prompt, last.prompt) for last in others), default=0)
            return *_nearness(first, self._last[lane]), -elsewhere, -n

        chosen = self._waiting.pop(max(range(len(self._waiting)), key=order))
        self._last[lane] = chosen.first
        return chosen

    def _likelihood(self, call: Call, lane: int) -> Reply:
        started = perf_counter()
        scored: list[Scored] = []
        alone: list[float] = []
        try:
            scorer = self._loaded()
            for prompt, target in passages_of(call):
                scored.append(scorer.score(prompt, target, lambda: self._is_closed, lane))
                self._count(scored[-1])
                alone.append(self._unconditional(scorer, target, lane))
        except TooLong as long:
            return failed(call, "too_long", f"{long}.", perf_counter() - started)
        except Unscored as why:
            return failed(call, "bad_reply", f"{why}.", perf_counter() - started)
        tokens_in = sum(one.tokens_in for one in scored)
        return Reply(
            call.key,
            text=said_beside(alone, [len(one.logprobs) for one in scored]),
            logprobs=tuple(token for one in scored for token in _tokens(one)),
            tokens_in=tokens_in,
            cost_usd=self.cost(tokens_in, 0),
            seconds=perf_counter() - started,
            model_name=self._title(scorer),
            finish="stop",
        )

    def _unconditional(self, scorer: Scorer, target: str, lane: int) -> float:
        """The mean log-probability of a target without its prompt: the same for all criteria of an item."""
        found = self._alone.get(target)
        if found is None:
            scored = scorer.score_alone(target, lambda: self._is_closed, lane)
            self._count(scored)
            if len(self._alone) >= 1000:
                self._alone.clear()
            found = self._alone[target] = scored.mean
        return found

    def _count(self, scored: Scored) -> None:
        with self._counting:
            self.n_evaluated += scored.evaluated

    # -- generated replies

    def _generate(self, call: Call, params: Parameters) -> Reply:
        started = perf_counter()
        scorer = self._loaded()
        if not scorer.has_template:
            raise ModelError(
                f"{self.name} has no chat template: it continues texts and answers no questions. "
                "Judge with it by likelihood (the protocols gptscore/…), or use a model that was trained for chat."
            )
        with self._loading:
            if self._server is None:
                path, size = self._path(), min(CONTEXT, scorer.longest)
                self._server = Server(path, n_ctx=size, places=PLACES, threads=self.threads)
                scorer.library.listen()
                self.adjustments.append(DOES_NOT_FOLLOW.format(name=self.name))
        try:
            answer = self._server.chat(request_for(call, params))
        except (ValueError, RuntimeError) as error:
            return failed(call, "bad_reply", f"{self.name}: {error}"[:500], perf_counter() - started)
        return reply_of(call, answer, self.cost, self._title(scorer), perf_counter() - started)

    # -- loading

    def _title(self, scorer: Scorer) -> str:
        """What the model is called: its file's own word for it may be that of a training run."""
        return self._file.title if isinstance(self._file, Weights) else scorer.title

    def _path(self) -> Path:
        return self._file.path if isinstance(self._file, Weights) else self._file

    def _loaded(self) -> Scorer:
        """The model, loaded and checked once."""
        with self._loading:
            if self._fault is not None:
                # What failed once is not tried again for each of the calls that wait.
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
        if isinstance(self._file, Weights):
            pull(self._file, self._say_if_new())
        scorer = Scorer(self._path(), self.threads // self._lanes, self._lanes)
        try:
            check_against_server(scorer, self._path(), self.threads)
        except BaseException:
            scorer.close()
            raise
        return scorer

    def _say_if_new(self) -> Say:
        """Weights that are there are nothing to talk about."""
        assert isinstance(self._file, Weights)
        return self._say if not self._file.path.exists() else lambda _text: None

    def _free(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
            self._scorer = None
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _in(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(threads, work)


def _nearness(one: Passage, last: Passage) -> tuple[int, int]:
    """How many characters of the prompt and, where that is the same, of the target are those of the last."""
    prompt, target = one
    return n_shared(prompt, last.prompt), n_shared(target, last.target) if prompt == last.prompt else 0


def n_shared(one: str, other: str) -> int:
    """How many characters two texts share at their beginning."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    # Halving: comparing slices is far quicker than comparing characters.
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def default_threads() -> int:
    """One less than there are processors: threads that wait for each other busily must not wait for others, too."""
    given = os.environ.get("ADJUDGE_THREADS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min(count - 1, 8))


def _tokens(scored: Scored) -> tuple[TokenLogprob, ...]:
    pairs = zip(scored.pieces, scored.logprobs, strict=True)
    return tuple(TokenLogprob(piece, logprob) for piece, logprob in pairs)


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
