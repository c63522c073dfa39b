"""llama.cpp's C interface, as the library inside the `xllamacpp` wheel exports it; and the free memory.

The wheel's Python interface generates text and cannot score the likelihood of a given text; the C interface can.
Two parts of it depend on the release: the functions' signatures, so exactly one version is accepted, and the
parameter structures. We write only the first words of one structure, after checking that they hold the expected
defaults. Batches use the functions that hide their structure. `local_model.py` then compares the results with the
wheel's interface.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections import deque
from collections.abc import Callable
from ctypes import POINTER, byref, c_bool, c_char_p, c_float, c_int32, c_uint32, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from ...errors import ModelError

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
            f"local models need xllamacpp {VERSION}, and {installed} is installed: its C interface may be laid out "
            f"in another way, and likelihoods would be wrong without a sign. {_INSTALL}"
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
            raise unexpected_layout("its default parameters are not where they should be")
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
            raise unexpected_layout("it took other sizes than it was given")
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
        """Evaluate tokens from position `start` on, with logits from index `first_output` on; 0 is success."""
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
        f"the library of xllamacpp {VERSION} is not laid out as expected on this machine: {what}. Its likelihoods "
        "cannot be trusted, so none are given. Use a protocol that asks for a score, or another machine."
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
    """The free memory of the machine, the container and the user's limit, whichever is least; none where unknown.

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
