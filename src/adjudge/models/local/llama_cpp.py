"""How much memory can still be had, before llama.cpp asks for it: where it gets none, it ends the whole process.

The least of what the machine, the container and the user's own limit leave. None where the system does not tell.
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

# llama.cpp's C interface, as the library inside the `xllamacpp` wheel exports it.
#
# The wheel's own Python interface generates text and cannot tell the likelihood of a text that is given; the C
# interface can. Two things of it are laid out per release: the functions' signatures, so exactly one version is
# taken, and the parameter structures. Of these we write the first words of one only, and look first whether the
# defaults that should stand there do. Batches go through the functions that hide their structure. `server.py`
# then holds what comes out against the wheel's own interface.


VERSION = "2026.10.11549"
"""The release of xllamacpp whose interface this file describes; the extra `local` names the same."""

_INSTALL = "Install it with: pip install 'adjudge[local]'."

_ROOM = 128
_N_CTX, _N_BATCH, _N_UBATCH, _N_SEQ_MAX, _N_OUTPUTS, _N_OUTPUTS_SEQ, _FLASH = 0, 1, 2, 3, 5, 6, 13
_DEFAULTS = (512, 2048, 512, 1, 0, 0, 1, 4, 4, 0, -1, -1, -1, -1)
"""The first words of the context's parameters as this release sets them; -1 means automatic."""


class _Opaque(ctypes.Structure):
    """A parameter structure whose layout is not described. Larger than any, which every calling
    convention allows for a last argument and for a value that is returned in memory."""

    _fields_ = (("words", c_int32 * _ROOM),)


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
    """Whether the package is there; it is not imported for that."""
    return importlib.util.find_spec("xllamacpp") is not None


def check_installed() -> None:
    """`ModelError` where the extra is missing, or another version of it is there."""
    if not is_installed():
        raise ModelError(f"local models need the package xllamacpp, which is not installed. {_INSTALL}")
    try:
        found = importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError:
        found = "an unknown version"
    if found != VERSION:
        raise ModelError(
            f"local models need xllamacpp {VERSION}, and {found} is installed: its C interface may be laid out "
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
    """The functions of the library that are used, typed, and what it complained of last."""

    def __init__(self, dll: Any) -> None:
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(dll, name)
            function.restype, function.argtypes = result, arguments
        self._dll = dll
        self.complaints: deque[str] = deque(maxlen=4)
        self._callback = _LogCallback(self._listen)
        self.listen()

    def listen(self) -> None:
        """Take over what the library prints; its server takes it away when it starts."""
        self._dll.llama_log_set(self._callback, None)

    def _listen(self, level: int, text: bytes | None, _data: Any) -> None:
        said = (text or b"").decode("utf-8", "replace").strip()
        if level == 4 and said:  # an error; the rest is chatter
            self.complaints.append(said)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._dll, name)
        return function

    def load(self, path: str) -> int:
        """The model in a file; 0 where it cannot be loaded, and then `complaints` says why."""
        self.complaints.clear()
        handle = self.llama_model_load_from_file(path.encode(), self.llama_model_default_params())
        return int(handle or 0)

    def new_context(self, model: int, n_ctx: int, n_batch: int, threads: int) -> int:
        """A context for one sequence, with logits for every token of a batch; 0 where there is no memory for it."""
        params = self.llama_context_default_params()
        words = params.words
        if tuple(words[: len(_DEFAULTS)]) != _DEFAULTS:
            raise laid_out_otherwise("its default parameters are not where they should be")
        words[_N_CTX], words[_N_BATCH], words[_N_UBATCH], words[_N_SEQ_MAX] = n_ctx, n_batch, n_batch, 1
        words[_N_OUTPUTS] = words[_N_OUTPUTS_SEQ] = n_batch
        # Flash attention rounds by the size of the batch: the same text would score differently after
        # another prefix was shared, by up to half a nat a token.
        words[_FLASH] = 0
        self.complaints.clear()
        context = int(self.llama_init_from_model(model, params) or 0)
        if not context:
            return 0
        took = (
            self.llama_n_batch(context),
            self.llama_n_ubatch(context),
            self.llama_n_seq_max(context),
            self.llama_n_ctx(context) >= n_ctx,
        )
        if took != (n_batch, n_batch, 1, True):
            self.llama_free(context)
            raise laid_out_otherwise("it took other sizes than it was given")
        self.llama_set_n_threads(context, threads, threads)
        return context

    def tokenize(self, vocab: int, text: str, *, begins: bool) -> list[int]:
        """The tokens of a text. Control tokens that the text spells out stay text.

        `begins` adds what the model wants at the beginning of a text, if it wants something there.
        """
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (c_int32 * room)()
        count = self.llama_tokenize(vocab, data, len(data), tokens, room, begins, False)
        if count < 0:
            raise ValueError(f"the text cannot be cut into tokens (it would need {-count})")
        return list(tokens[:count])

    def piece(self, vocab: int, token: int) -> str:
        """The text of one token; half a character shows as a replacement."""
        room = 256
        buffer = ctypes.create_string_buffer(room)
        length = self.llama_token_to_piece(vocab, token, buffer, room, 0, True)
        return buffer.raw[: max(0, length)].decode("utf-8", "replace")

    def metadata(self, model: int, key: str) -> str:
        """A value that the model's file gives, as text; empty where it gives none."""
        buffer = ctypes.create_string_buffer(512)
        length = self.llama_model_meta_val_str(model, key.encode(), buffer, 512)
        return buffer.value.decode("utf-8", "replace") if length >= 0 else ""

    def process(self, context: int, batch: int, tokens: list[int], start: int, first_output: int) -> int:
        """Evaluate tokens from the position `start` on, with logits from the index `first_output` on; 0 is success."""
        self.llama_batch_ext_clear(batch)
        for index, token in enumerate(tokens):
            place = self.llama_batch_ext_add_token(batch, 0, token)
            if place != index or not self.llama_batch_ext_set_pos(
                batch, place, byref(c_int32(start + index))
            ):
                return -1
            if index >= first_output and not self.llama_batch_ext_set_output_logits(batch, place, True):
                return -1
        return int(self.llama_process(context, _DECODE, batch))

    def logits(self, context: int, index: int, n_vocab: int) -> Any:
        """The logits at one index of the batch, as a buffer that is good until the next batch; none: none were made."""
        found = self.llama_get_logits_ith(context, index)
        if not found:
            return None
        return (c_float * n_vocab).from_address(ctypes.addressof(found.contents))


def laid_out_otherwise(what: str) -> ModelError:
    """The refusal of a library that is not what this file describes."""
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
"""Limit, use and its parts, in the two layouts of Linux."""


def free_bytes() -> int | None:
    """Memory that can still be had."""
    known = [found for found in (_machine(), _container(), _own_limit()) if found is not None]
    return max(0, min(known)) if known else None


def _machine() -> int | None:
    if sys.platform == "linux":
        found = _entry(Path("/proc/meminfo"), "MemAvailable:")
        return None if found is None else found * 1024
    if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _container() -> int | None:
    """What the limit of a container leaves; pages of files that were read can be had back."""
    for limit, use, parts in _CONTAINER:
        most, used = _number(Path(limit)), _number(Path(use))
        if most is not None and used is not None:
            return most - used + (_entry(Path(parts), "inactive_file") or 0)
    return None


def _own_limit() -> int | None:
    """What the limit of this process (`ulimit -v`) leaves."""
    if sys.platform != "linux":
        return None
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _entry(Path("/proc/self/status"), "VmSize:")
    return None if most == resource.RLIM_INFINITY or used is None else most - used * 1024


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # "max" is no limit
        return None


def _entry(path: Path, name: str) -> int | None:
    """The number behind a name, in a file with one of each a line."""
    try:
        for line in path.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return None
