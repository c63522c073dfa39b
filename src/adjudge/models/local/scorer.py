"""The log-probability of every token of a target after a prompt, by a model in this process.

Prompt and target are tokenized separately, so that the boundary between them does not depend on the text. A prefix
that two calls share, of prompt or target, is evaluated once: the context keeps the tokens of the last call and
their log-probabilities. The same call gives the same numbers to the last bit, whatever was evaluated before it.
One call at a time in each lane; nothing here knows of protocols or event loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from ...errors import ModelError
from ...stats.arrays import logprobs_at
from .llama_cpp import Library, free_bytes, open_library

BATCH = 128
"""Tokens evaluated together. More is no faster on a CPU and takes memory for the logits of each."""

_SMALLEST_CONTEXT = 1024
_MARGIN_BYTES = 64_000_000
"""For small allocations that are not counted."""
_ALONE = "\n"
"""The prompt for an unconditional likelihood: real prompts end with a line break, too."""


class TooLong(Exception):
    """A text that exceeds the model's context length or the memory."""


class Unscored(Exception):
    """A text could not be scored; the message says why."""


class Scored(Struct, frozen=True):
    """The target's tokens with their log-probabilities, and how many tokens were evaluated for them."""

    pieces: tuple[str, ...]
    logprobs: tuple[float, ...]
    tokens_in: int
    evaluated: int

    @property
    def mean(self) -> float:
        """The mean log-probability of the tokens."""
        return sum(self.logprobs) / len(self.logprobs)


class Scorer:
    """A loaded model. Freed by `close`.

    Calls in different lanes may run at once, in different threads. Lanes with one thread each never wait for
    each other; several threads on one text busy-wait for each other at every layer.
    """

    def __init__(self, path: Path, threads: int, lanes: int = 1) -> None:
        self._library = open_library()
        self._threads = threads
        _check_file(path, self.free_bytes())
        self._model = self._library.load(str(path))
        if not self._model:
            messages = self._library.error_messages
            reason = messages[-1] if messages else "no reason given"
            raise ModelError(
                f"{path} cannot be loaded: {reason}. It must be a whole GGUF file of a kind of model that "
                "this release of llama.cpp knows; download it again, or use another."
            )
        self.vocab = int(self._library.llama_model_get_vocab(self._model))
        self.n_vocab = int(self._library.llama_vocab_n_tokens(self.vocab))
        self.longest = int(self._library.llama_model_n_ctx_train(self._model))
        self.title = self._library.metadata(self._model, "general.name") or path.stem
        self.has_template = bool(self._library.metadata(self._model, "tokenizer.chat_template"))
        self._conditional = [_Context(self) for _ in range(lanes)]
        self._unconditional = [_Context(self) for _ in range(lanes)]
        if self._library.llama_model_has_encoder(self._model) or not self.n_vocab:
            self.close()
            raise ModelError(f"{path} does not predict text from left to right. Use a model that does.")

    def free_bytes(self) -> int | None:
        """The free memory; none where it is unknown."""
        return free_bytes()

    @property
    def library(self) -> Library:
        return self._library

    def close(self) -> None:
        """Free the memory."""
        for context in (*self._conditional, *self._unconditional):
            context.close()
        if self._model:
            self._library.llama_model_free(self._model)
            self._model = 0

    def score(
        self, prompt: str, target: str, is_stopped: Callable[[], bool] = lambda: False, lane: int = 0
    ) -> Scored:
        """The log-probabilities of the target's tokens after the prompt."""
        return self._score(self._conditional[lane], prompt, target, is_stopped)

    def score_alone(
        self, target: str, is_stopped: Callable[[], bool] = lambda: False, lane: int = 0
    ) -> Scored:
        """The same without a prompt, in a separate context, so that a shared prompt stays evaluated."""
        return self._score(self._unconditional[lane], _ALONE, target, is_stopped)

    def next_logprobs(self, prompt: str, next_tokens: Sequence[int]) -> list[float]:
        """The log-probabilities of these tokens directly after a prompt."""
        tokens = self._library.tokenize(self.vocab, prompt, begins=True)
        (logprobs,) = self._unconditional[0].evaluate(tokens, len(tokens) - 1, [next_tokens], lambda: False)
        return logprobs

    def _score(self, context: _Context, prompt: str, target: str, is_stopped: Callable[[], bool]) -> Scored:
        library = self._library
        before = library.tokenize(self.vocab, prompt, begins=True)
        after = library.tokenize(self.vocab, target, begins=False)
        if not after:
            raise Unscored("the text whose likelihood is asked is empty")
        if not before:
            raise Unscored("the prompt is empty: the first token has nothing to follow")
        # The last token is not evaluated: what would follow it is not needed.
        tokens = before + after[:-1]
        logprobs, evaluated = context.logprobs(tokens, len(before) - 1, after, is_stopped)
        if not all(logprob <= 0.0 for logprob in logprobs):
            raise Unscored("the model gives probabilities that are none; its file may be damaged")
        pieces = tuple(library.piece(self.vocab, token) for token in after)
        return Scored(pieces, logprobs, len(before) + len(after), evaluated)

    def new_context(self, n_tokens: int) -> int:
        """A context for at least so many tokens."""
        size = _SMALLEST_CONTEXT
        while size < n_tokens:
            size *= 2
        size = min(size, self.longest)
        needed, free = self._bytes_for(size), self.free_bytes()
        if free is not None and needed > free:
            raise TooLong(
                f"{n_tokens} tokens need {needed / 1e6:.0f} MB of memory, and {free / 1e6:.0f} MB are free"
            )
        context = self._library.new_context(self._model, size, BATCH, self._threads)
        if not context:
            raise TooLong(f"there is not enough memory for {n_tokens} tokens")
        return context

    def _bytes_for(self, n_tokens: int) -> int:
        """Keys and values of all layers in 16 bits, the logits of one batch, and intermediate results."""
        library, model = self._library, self._model
        heads = max(1, int(library.llama_model_n_head(model)))
        width = int(library.llama_model_n_embd(model)) * int(library.llama_model_n_head_kv(model)) // heads
        layers = int(library.llama_model_n_layer(model))
        attention = 3 * heads * BATCH * n_tokens * 4
        return n_tokens * layers * width * 4 + 2 * BATCH * self.n_vocab * 4 + attention + _MARGIN_BYTES


class _Context:
    """One sequence of evaluated tokens; its memory grows with the longest sequence so far."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._handle = self._batch = 0
        self._tokens: list[int] = []
        self._followers: list[tuple[int, float] | None] = []
        """for each token: the next token in the last call, with its log-probability"""

    def close(self) -> None:
        library = self._scorer.library
        if self._batch:
            library.llama_batch_ext_free(self._batch)
        if self._handle:
            library.llama_free(self._handle)
        self._handle = self._batch = 0
        self._tokens, self._followers = [], []

    def logprobs(
        self, tokens: list[int], first: int, after: list[int], is_stopped: Callable[[], bool]
    ) -> tuple[tuple[float, ...], int]:
        """The log-probabilities of the tokens `after`, which begin behind index `first`; and how many were evaluated."""
        self._ensure_size(len(tokens))
        cached = self._cached_logprobs(tokens, first, after)
        if len(cached) == len(after):
            return tuple(cached), 0
        at = first + len(cached)
        n_known = self.n_shared(tokens, min(at, len(tokens) - 2))
        evaluated = self.evaluate(tokens, at, [[token] for token in after[len(cached) :]], is_stopped)
        logprobs = (*cached, *(values[0] for values in evaluated))
        for index, pair in enumerate(zip(after, logprobs, strict=True), first):
            self._followers[index] = pair
        return logprobs, len(tokens) - n_known

    def _cached_logprobs(self, tokens: list[int], first: int, after: list[int]) -> list[float]:
        """The log-probabilities at the beginning of a target that are known from the last call."""
        n_shared = self.n_shared(tokens, len(tokens))
        logprobs: list[float] = []
        for index, token in enumerate(after, first):
            pair = self._followers[index] if index < n_shared else None
            if pair is None or pair[0] != token:
                break
            logprobs.append(pair[1])
        return logprobs

    def n_shared(self, tokens: list[int], most: int) -> int:
        """How many tokens at the beginning are evaluated already, at most `most`."""
        most = max(0, min(most, len(self._tokens)))
        if tokens[:most] == self._tokens[:most]:
            return most
        return next(n for n in range(most) if tokens[n] != self._tokens[n])

    def evaluate(
        self, tokens: list[int], first: int, wanted: Sequence[Sequence[int]], is_stopped: Callable[[], bool]
    ) -> list[list[float]]:
        """For each token from index `first` on, the log-probabilities of the tokens wanted after it."""
        self._ensure_size(len(tokens))
        library = self._scorer.library
        start = self._truncate(self.n_shared(tokens, min(first, len(tokens) - 2)))
        logprobs: list[list[float]] = []
        while start < len(tokens):
            if is_stopped():
                raise Unscored("stopped")
            part = tokens[start : start + _next_batch_size(len(tokens) - start)]
            first_output = max(0, first - start)
            # The state of the context is unknown after an evaluation fails.
            del self._tokens[start:], self._followers[start:]
            code = library.process(self._handle, self._batch, part, start, first_output)
            if code != 0:
                self.close()
                raise Unscored(f"llama.cpp could not evaluate the text (code {code})")
            self._tokens += part
            self._followers += [None] * len(part)
            for index in range(first_output, len(part)):
                logprobs.append(self._logprobs_at(index, wanted[len(logprobs)]))
            start += len(part)
        return logprobs

    def _logprobs_at(self, index: int, tokens: Sequence[int]) -> list[float]:
        logits = self._scorer.library.logits(self._handle, index, self._scorer.n_vocab)
        if logits is None:
            raise Unscored("llama.cpp gave no logits")
        return logprobs_at(logits, tokens)

    def _ensure_size(self, n_tokens: int) -> None:
        library, longest = self._scorer.library, self._scorer.longest
        if n_tokens > longest:
            raise TooLong(
                f"prompt and text have {n_tokens} tokens, and the model takes at most {longest}. "
                "Nothing was cut off. Shorten them, or use a model with a longer context"
            )
        if self._handle and library.llama_n_ctx(self._handle) >= n_tokens:
            return
        self.close()
        self._handle = self._scorer.new_context(n_tokens)
        self._batch = int(library.llama_batch_ext_init(self._handle) or 0)

    def _truncate(self, n_tokens: int) -> int:
        """Keep only so many tokens, or none where the model cannot drop a part; returns how many are kept."""
        library = self._scorer.library
        memory = library.llama_get_memory(self._handle)
        if not library.llama_memory_seq_rm(memory, 0, n_tokens, -1):
            library.llama_memory_clear(memory, True)
            n_tokens = 0
        del self._tokens[n_tokens:], self._followers[n_tokens:]
        return n_tokens


def _next_batch_size(n_left: int) -> int:
    """How many tokens to evaluate next: never leaves a single token for the last batch.

    llama.cpp evaluates a single token by another code path, which rounds differently: a score would
    depend on where the batches end. Batches of two and more tokens give the same bits.
    """
    return BATCH - 1 if n_left == BATCH + 1 else min(n_left, BATCH)


def _check_file(path: Path, free: int | None) -> None:
    """`ModelError` for a file that is not a model or too large, before llama.cpp loads it."""
    try:
        with path.open("rb") as file:
            is_gguf = file.read(4) == b"GGUF"
        size = path.stat().st_size
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}. Give the path of a GGUF file.") from error
    if not is_gguf:
        raise ModelError(
            f"{path} is no GGUF file: it does not begin as one. Download it again, or convert the model."
        )
    if free is not None and size + _MARGIN_BYTES > free:
        raise ModelError(
            f"{path} takes {size / 1e6:.0f} MB of memory, and {free / 1e6:.0f} MB are free. "
            "Use a smaller or more strongly quantised model."
        )
