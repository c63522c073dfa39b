"""The log-probability of every token of a given text, after a given beginning, by a model in this process.

Prompt and target are cut into tokens apart, so that the boundary between them does not depend on what stands
there. What two calls share at their beginning, prompt or target, is evaluated once: the context keeps the tokens
of the last call and what was told of them, and only what differs is evaluated anew. The same call gives the same
numbers to the last bit, whatever was evaluated before it. One call at a time in each lane; nothing here knows of protocols or
event loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from ...errors import ModelError
from ...stats.arrays import logprobs_at
from .llama_cpp import Library, free_bytes, open_library

BATCH = 128
"""Tokens evaluated together. More is no faster on a processor and takes memory for the logits of each."""

_SMALLEST_CONTEXT = 1024
_MARGIN_BYTES = 64_000_000
"""For what is small and not counted."""
_ALONE = "\n"
"""What stands before a text whose likelihood is asked without a prompt: prompts end with a line break, too."""


class TooLong(Exception):
    """A text that does not fit: into what the model was trained for, or into memory."""


class Unscored(Exception):
    """A text whose likelihood could not be told; the message says why."""


class Scored(Struct, frozen=True):
    """The target's tokens with their log-probabilities, and how many tokens had to be evaluated for them."""

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

    Calls in different lanes may be made at once, from different threads. Lanes with a thread each never wait for
    each other, as several threads on one text do, busily, for every layer.
    """

    def __init__(self, path: Path, threads: int, lanes: int = 1) -> None:
        self._library = open_library()
        self._threads = threads
        _check_file(path, self.free_bytes())
        self._model = self._library.load(str(path))
        if not self._model:
            said = self._library.complaints[-1] if self._library.complaints else "no reason given"
            raise ModelError(
                f"{path} cannot be loaded: {said}. It must be a whole GGUF file of a kind of model that "
                "this release of llama.cpp knows; download it again, or use another."
            )
        self.vocab = int(self._library.llama_model_get_vocab(self._model))
        self.n_vocab = int(self._library.llama_vocab_n_tokens(self.vocab))
        self.longest = int(self._library.llama_model_n_ctx_train(self._model))
        self.title = self._library.metadata(self._model, "general.name") or path.stem
        self.has_template = bool(self._library.metadata(self._model, "tokenizer.chat_template"))
        self._given = [_Context(self) for _ in range(lanes)]
        self._alone = [_Context(self) for _ in range(lanes)]
        if self._library.llama_model_has_encoder(self._model) or not self.n_vocab:
            self.close()
            raise ModelError(f"{path} does not predict text from left to right. Use a model that does.")

    def free_bytes(self) -> int | None:
        """Memory that can still be had; none where the system does not tell. llama.cpp ends the process without it."""
        return free_bytes()

    @property
    def library(self) -> Library:
        return self._library

    def close(self) -> None:
        """Give the memory back."""
        for context in (*self._given, *self._alone):
            context.close()
        if self._model:
            self._library.llama_model_free(self._model)
            self._model = 0

    def score(
        self, prompt: str, target: str, is_stopped: Callable[[], bool] = lambda: False, lane: int = 0
    ) -> Scored:
        """The log-probabilities of the target's tokens after the prompt."""
        return self._score(self._given[lane], prompt, target, is_stopped)

    def score_alone(
        self, target: str, is_stopped: Callable[[], bool] = lambda: False, lane: int = 0
    ) -> Scored:
        """The same without a prompt, in a context of its own, so that a shared prompt stays where it is."""
        return self._score(self._alone[lane], _ALONE, target, is_stopped)

    def next_logprobs(self, prompt: str, places: Sequence[int]) -> list[float]:
        """How likely each of these tokens is to come next after a prompt."""
        tokens = self._library.tokenize(self.vocab, prompt, begins=True)
        (row,) = self._alone[0].rows(tokens, len(tokens) - 1, [places], lambda: False)
        return row

    def _score(self, context: _Context, prompt: str, target: str, is_stopped: Callable[[], bool]) -> Scored:
        library = self._library
        before = library.tokenize(self.vocab, prompt, begins=True)
        after = library.tokenize(self.vocab, target, begins=False)
        if not after:
            raise Unscored("the text whose likelihood is asked is empty")
        if not before:
            raise Unscored("the prompt is empty: the first token has nothing to follow")
        # The last token is not evaluated: what would come after it is not asked.
        tokens = before + after[:-1]
        logprobs, evaluated = context.logprobs(tokens, len(before) - 1, after, is_stopped)
        if not all(logprob <= 0.0 for logprob in logprobs):
            raise Unscored("the model gives probabilities that are none; its file may be damaged")
        pieces = tuple(library.piece(self.vocab, token) for token in after)
        return Scored(pieces, logprobs, len(before) + len(after), evaluated)

    def new_context(self, n_tokens: int) -> int:
        """A context with room for so many tokens, and for some more."""
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
        """Keys and values of all layers in 16 bits, the logits of one batch, and what is computed on the way."""
        library, model = self._library, self._model
        heads = max(1, int(library.llama_model_n_head(model)))
        width = int(library.llama_model_n_embd(model)) * int(library.llama_model_n_head_kv(model)) // heads
        layers = int(library.llama_model_n_layer(model))
        attention = 3 * heads * BATCH * n_tokens * 4
        return n_tokens * layers * width * 4 + 2 * BATCH * self.n_vocab * 4 + attention + _MARGIN_BYTES


class _Context:
    """One sequence of evaluated tokens, in memory that grows with the longest that was asked for."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._handle = self._batch = 0
        self._tokens: list[int] = []
        self._told: list[tuple[int, float] | None] = []
        """beside each token: the one that followed it in the last call, with its log-probability"""

    def close(self) -> None:
        library = self._scorer.library
        if self._batch:
            library.llama_batch_ext_free(self._batch)
        if self._handle:
            library.llama_free(self._handle)
        self._handle = self._batch = 0
        self._tokens, self._told = [], []

    def logprobs(
        self, tokens: list[int], first: int, after: list[int], is_stopped: Callable[[], bool]
    ) -> tuple[tuple[float, ...], int]:
        """How likely each of `after` is behind the token at `first` and those that follow; and how many were evaluated."""
        self._make_room(len(tokens))
        told = self._told_before(tokens, first, after)
        if len(told) == len(after):
            return tuple(told), 0
        at = first + len(told)
        n_known = self.n_shared(tokens, min(at, len(tokens) - 2))
        rows = self.rows(tokens, at, [[token] for token in after[len(told) :]], is_stopped)
        found = (*told, *(row[0] for row in rows))
        for place, pair in enumerate(zip(after, found, strict=True), first):
            self._told[place] = pair
        return found, len(tokens) - n_known

    def _told_before(self, tokens: list[int], first: int, after: list[int]) -> list[float]:
        """The log-probabilities at the beginning of a target that the last call has told already."""
        n_shared = self.n_shared(tokens, len(tokens))
        found: list[float] = []
        for place, token in enumerate(after, first):
            pair = self._told[place] if place < n_shared else None
            if pair is None or pair[0] != token:
                break
            found.append(pair[1])
        return found

    def n_shared(self, tokens: list[int], most: int) -> int:
        """How many tokens at the beginning need no evaluation: at most so many."""
        most = max(0, min(most, len(self._tokens)))
        if tokens[:most] == self._tokens[:most]:
            return most
        return next(n for n in range(most) if tokens[n] != self._tokens[n])

    def rows(
        self, tokens: list[int], first: int, wanted: Sequence[Sequence[int]], is_stopped: Callable[[], bool]
    ) -> list[list[float]]:
        """Log-probabilities after each token from the index `first` on: of the places that are wanted there."""
        self._make_room(len(tokens))
        library = self._scorer.library
        start = self._go_back_to(self.n_shared(tokens, min(first, len(tokens) - 2)))
        found: list[list[float]] = []
        while start < len(tokens):
            if is_stopped():
                raise Unscored("stopped")
            part = tokens[start : start + _size_of_next(len(tokens) - start)]
            first_output = max(0, first - start)
            # Nothing is known of the context while, and after, an evaluation fails.
            del self._tokens[start:], self._told[start:]
            code = library.process(self._handle, self._batch, part, start, first_output)
            if code != 0:
                self.close()
                raise Unscored(f"llama.cpp could not evaluate the text (code {code})")
            self._tokens += part
            self._told += [None] * len(part)
            for index in range(first_output, len(part)):
                found.append(self._row(index, wanted[len(found)]))
            start += len(part)
        return found

    def _row(self, index: int, places: Sequence[int]) -> list[float]:
        logits = self._scorer.library.logits(self._handle, index, self._scorer.n_vocab)
        if logits is None:
            raise Unscored("llama.cpp gave no logits")
        return logprobs_at(logits, places)

    def _make_room(self, n_tokens: int) -> None:
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

    def _go_back_to(self, n_tokens: int) -> int:
        """Forget all behind so many tokens; all of it where the kind of model cannot forget a part."""
        library = self._scorer.library
        memory = library.llama_get_memory(self._handle)
        if not library.llama_memory_seq_rm(memory, 0, n_tokens, -1):
            library.llama_memory_clear(memory, True)
            n_tokens = 0
        del self._tokens[n_tokens:], self._told[n_tokens:]
        return n_tokens


def _size_of_next(n_left: int) -> int:
    """How many tokens to evaluate next: never one alone while there are more.

    A single token takes another way through llama.cpp, which rounds differently: with it, a score
    would depend on where the batches happen to end. Batches of two and more give the same bits.
    """
    return BATCH - 1 if n_left == BATCH + 1 else min(n_left, BATCH)


def _check_file(path: Path, free: int | None) -> None:
    """`ModelError` for what is certainly no model, before llama.cpp sees it."""
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
