"""llama.cpp's C interface, as the library inside the `xllamacpp` wheel exports it; and the free memory.

The wheel's Python interface generates text and cannot score the likelihood of a given text; the C interface
can. Two parts of it depend on the release: the functions' signatures, so exactly one version is accepted, and
the parameter structures. We write only the first words of one structure, after checking that they hold the
expected defaults. Batches use the functions that hide their structure. `local_model.py` then compares the
results with the wheel's interface.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_bool, c_char_p, c_float, c_int32, c_uint32, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...errors import ModelError
from ...stats.arrays import logprobs_at

VERSION = "2026.10.11549"
"""The release of xllamacpp whose interface this file describes; the extra `local` names the same."""

_INSTALL = "Install it with: pip install 'adjudge[local]'."

_STRUCTURE_WORDS = 128
_N_CTX, _N_BATCH, _N_UBATCH, _N_SEQ_MAX, _N_OUTPUTS, _N_OUTPUTS_SEQ, _FLASH = 0, 1, 2, 3, 5, 6, 13
_DEFAULTS = (512, 2048, 512, 1, 0, 0, 1, 4, 4, 0, -1, -1, -1, -1)
"""The first words of the context parameters in this release; -1 means automatic."""


class _Opaque(ctypes.Structure):
    """A parameter structure of unknown layout. Larger than any of them, which every calling convention
    allows for a last argument and for a value returned in memory."""

    _fields_ = (("words", c_int32 * _STRUCTURE_WORDS),)


_LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, c_char_p, c_void_p)

_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "llama_log_set": (None, (_LogCallback, c_void_p)),
    "llama_model_default_params": (_Opaque, ()),
    "llama_context_default_params": (_Opaque, ()),
    "llama_model_load_from_file": (c_void_p, (c_char_p, _Opaque)),
    "llama_model_free": (None, (c_void_p,)),
    "llama_model_get_vocab": (c_void_p, (c_void_p,)),
    "llama_model_n_ctx_train": (c_int32, (c_void_p,)),
    "llama_model_n_layer": (c_int32, (c_void_p,)),
    "llama_model_n_embd": (c_int32, (c_void_p,)),
    "llama_model_n_head": (c_int32, (c_void_p,)),
    "llama_model_n_head_kv": (c_int32, (c_void_p,)),
    "llama_model_has_encoder": (c_bool, (c_void_p,)),
    "llama_model_has_decoder": (c_bool, (c_void_p,)),
    "llama_model_meta_val_str": (c_int32, (c_void_p, c_char_p, c_char_p, ctypes.c_size_t)),
    "llama_vocab_n_tokens": (c_int32, (c_void_p,)),
    "llama_tokenize": (
        c_int32,
        (c_void_p, c_char_p, c_int32, POINTER(c_int32), c_int32, c_bool, c_bool),
    ),
    "llama_token_to_piece": (c_int32, (c_void_p, c_int32, c_char_p, c_int32, c_int32, c_bool)),
    "llama_init_from_model": (c_void_p, (c_void_p, _Opaque)),
    "llama_free": (None, (c_void_p,)),
    "llama_n_ctx": (c_uint32, (c_void_p,)),
    "llama_n_batch": (c_uint32, (c_void_p,)),
    "llama_n_ubatch": (c_uint32, (c_void_p,)),
    "llama_n_seq_max": (c_uint32, (c_void_p,)),
    "llama_set_n_threads": (None, (c_void_p, c_int32, c_int32)),
    "llama_get_memory": (c_void_p, (c_void_p,)),
    "llama_memory_clear": (None, (c_void_p, c_bool)),
    "llama_memory_seq_rm": (c_bool, (c_void_p, c_int32, c_int32, c_int32)),
    "llama_batch_ext_init": (c_void_p, (c_void_p,)),
    "llama_batch_ext_free": (None, (c_void_p,)),
    "llama_batch_ext_clear": (None, (c_void_p,)),
    "llama_batch_ext_add_token": (c_int32, (c_void_p, c_int32, c_int32)),
    "llama_batch_ext_set_pos": (c_bool, (c_void_p, c_int32, POINTER(c_int32))),
    "llama_batch_ext_set_output_logits": (c_bool, (c_void_p, c_int32, c_bool)),
    "llama_process": (c_int32, (c_void_p, c_int32, c_void_p)),
    "llama_get_logits_ith": (POINTER(c_float), (c_void_p, c_int32)),
}
_DECODE = 1


def is_installed() -> bool:
    """Whether the package is installed; does not import it."""
    return importlib.util.find_spec("xllamacpp") is not None


def check_installed() -> None:
    """`ModelError` where xllamacpp is missing or has another version."""
    if not is_installed():
        raise ModelError(f"local models need the package xllamacpp, which is not installed. {_INSTALL}")
    try:
        installed = importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError:
        installed = "an unknown version"
    if installed != VERSION:
        raise ModelError(
            f"local models need xllamacpp {VERSION}, but {installed} is installed: its C interface may be"
            f" laid out in another way, and likelihoods would be wrong without a sign. {_INSTALL}"
        )


@cache
def open_library() -> Library:
    """The library, once per process; `ModelError` where it cannot be used."""
    check_installed()
    try:
        module = importlib.import_module("xllamacpp")
        return Library(ctypes.CDLL(module.xllamacpp.__file__))
    except (ImportError, OSError, AttributeError) as error:
        raise ModelError(
            f"xllamacpp {VERSION} cannot be used on this machine: {error}. Serve the model with llama.cpp, "
            "vLLM or Ollama instead, and give its address: http://localhost:8080/v1#NAME."
        ) from error


class Library:
    """The typed functions of the library that we use, and its latest error messages."""

    def __init__(self, dll: Any) -> None:
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(dll, name)
            function.restype, function.argtypes = result, arguments
        self._dll = dll
        self.error_messages: deque[str] = deque(maxlen=4)
        self._callback = _LogCallback(self._log)
        self.capture_log()

    def capture_log(self) -> None:
        """Capture the library's log; its server redirects it when it starts."""
        self._dll.llama_log_set(self._callback, None)

    def _log(self, level: int, text: bytes | None, _data: Any) -> None:
        message = (text or b"").decode("utf-8", "replace").strip()
        if level == 4 and message:  # 4 is an error
            self.error_messages.append(message)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._dll, name)
        return function

    def load(self, path: str) -> int:
        """Load a model file; 0 where it cannot be loaded, with the reason in `error_messages`."""
        self.error_messages.clear()
        handle = self.llama_model_load_from_file(path.encode(), self.llama_model_default_params())
        return int(handle or 0)

    def new_context(self, model: int, n_ctx: int, n_batch: int, threads: int) -> int:
        """A context for one sequence, with logits for every token of a batch; 0 where memory is missing."""
        params = self.llama_context_default_params()
        words = params.words
        if tuple(words[: len(_DEFAULTS)]) != _DEFAULTS:
            raise unexpected_layout("its default parameters are not at the expected place")
        words[_N_CTX], words[_N_BATCH], words[_N_UBATCH], words[_N_SEQ_MAX] = n_ctx, n_batch, n_batch, 1
        words[_N_OUTPUTS] = words[_N_OUTPUTS_SEQ] = n_batch
        # With flash attention, rounding depends on the size of the batch: the score of a text would change
        # with the shared prefix, by up to half a nat per token.
        words[_FLASH] = 0
        self.error_messages.clear()
        context = int(self.llama_init_from_model(model, params) or 0)
        if not context:
            return 0
        sizes = (
            self.llama_n_batch(context),
            self.llama_n_ubatch(context),
            self.llama_n_seq_max(context),
            self.llama_n_ctx(context) >= n_ctx,
        )
        if sizes != (n_batch, n_batch, 1, True):
            self.llama_free(context)
            raise unexpected_layout("it did not use the sizes that were set")
        self.llama_set_n_threads(context, threads, threads)
        return context

    def tokenize(self, vocab: int, text: str, *, begins: bool) -> list[int]:
        """The tokens of a text. Control tokens that are spelled out in the text stay text.

        `begins` adds the model's start token, if it has one.
        """
        data = text.encode("utf-8", "replace")
        capacity = len(data) + 8
        tokens = (c_int32 * capacity)()
        count = self.llama_tokenize(vocab, data, len(data), tokens, capacity, begins, False)
        if count < 0:
            raise ValueError(f"the text cannot be cut into tokens (it would need {-count})")
        return list(tokens[:count])

    def piece(self, vocab: int, token: int) -> str:
        """The text of one token; an incomplete character becomes a replacement character."""
        capacity = 256
        buffer = ctypes.create_string_buffer(capacity)
        length = self.llama_token_to_piece(vocab, token, buffer, capacity, 0, True)
        return buffer.raw[: max(0, length)].decode("utf-8", "replace")

    def metadata(self, model: int, key: str) -> str:
        """A metadata value of the model file; empty where it has none."""
        buffer = ctypes.create_string_buffer(512)
        length = self.llama_model_meta_val_str(model, key.encode(), buffer, 512)
        return buffer.value.decode("utf-8", "replace") if length >= 0 else ""

    def process(self, context: int, batch: int, tokens: list[int], start: int, first_output: int) -> int:
        """Evaluate tokens from position `start` on, with logits from index `first_output` on; 0 is
        success."""
        self.llama_batch_ext_clear(batch)
        for index, token in enumerate(tokens):
            position = self.llama_batch_ext_add_token(batch, 0, token)
            if position != index or not self.llama_batch_ext_set_pos(
                batch, position, byref(c_int32(start + index))
            ):
                return -1
            if index >= first_output and not self.llama_batch_ext_set_output_logits(batch, position, True):
                return -1
        return int(self.llama_process(context, _DECODE, batch))

    def logits(self, context: int, index: int, n_vocab: int) -> Any:
        """The logits at one index of the batch, valid until the next batch; none where there are none."""
        pointer = self.llama_get_logits_ith(context, index)
        if not pointer:
            return None
        return (c_float * n_vocab).from_address(ctypes.addressof(pointer.contents))


def unexpected_layout(what: str) -> ModelError:
    """The error for a library whose interface differs from this file."""
    return ModelError(
        f"the library of xllamacpp {VERSION} is not laid out as expected on this machine: {what}. Its"
        " likelihoods cannot be trusted, so none are given. Use a protocol that asks for a score, or another"
        " machine."
    )


_CONTAINER = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
)
"""Limit, usage and details, in cgroup versions 2 and 1."""


def free_bytes() -> int | None:
    """The free memory of the machine, the container and the user's limit, whichever is least; none where
    unknown.

    llama.cpp ends the whole process where an allocation fails.
    """
    known = [
        free for free in (_free_on_machine(), _free_in_container(), _free_in_process()) if free is not None
    ]
    return max(0, min(known)) if known else None


def _free_on_machine() -> int | None:
    if sys.platform == "linux":
        kilobytes = _entry(Path("/proc/meminfo"), "MemAvailable:")
        return None if kilobytes is None else kilobytes * 1024
    if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_in_container() -> int | None:
    """What a container's limit leaves; pages of the file cache can be reclaimed."""
    for limit_file, usage_file, details_file in _CONTAINER:
        limit, used = _number(Path(limit_file)), _number(Path(usage_file))
        if limit is not None and used is not None:
            return limit - used + (_entry(Path(details_file), "inactive_file") or 0)
    return None


def _free_in_process() -> int | None:
    """What the limit of this process (`ulimit -v`) leaves."""
    if sys.platform != "linux":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _entry(Path("/proc/self/status"), "VmSize:")
    return None if limit == resource.RLIM_INFINITY or used is None else limit - used * 1024


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # "max" means no limit
        return None


def _entry(path: Path, name: str) -> int | None:
    """The number after a name, in a file with one name per line."""
    try:
        for line in path.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return None


# The log-probability of every token of a target after a prompt, by a model in this process.
#
# Prompt and target are tokenized separately, so that the boundary between them does not depend on the text. A
# prefix that two calls share, of prompt or target, is evaluated once: the context keeps the tokens of the
# last call and their log-probabilities. The same call gives the same numbers to the last bit, no matter what
# was evaluated before it. One call at a time in each lane; nothing here knows of protocols or event loops.


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
                f"{path} cannot be loaded: {reason}. It must be a complete GGUF file of a model type that "
                "this release of llama.cpp supports; download it again, or use another."
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
            raise Unscored("the text to be scored is empty")
        if not before:
            raise Unscored("the prompt is empty: the first token has nothing to follow")
        # The last token is not evaluated: what would follow it is not needed.
        tokens = before + after[:-1]
        logprobs, evaluated = context.logprobs(tokens, len(before) - 1, after, is_stopped)
        if not all(logprob <= 0.0 for logprob in logprobs):
            raise Unscored("the model returned invalid probabilities; its file may be damaged")
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
        """The log-probabilities of the tokens `after`, which begin behind index `first`; and how many were
        evaluated."""
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
        raise ModelError(f"{path} is not a GGUF file. Download it again, or convert the model.")
    if free is not None and size + _MARGIN_BYTES > free:
        raise ModelError(
            f"{path} takes {size / 1e6:.0f} MB of memory, and {free / 1e6:.0f} MB are free. "
            "Use a smaller or more strongly quantised model."
        )
