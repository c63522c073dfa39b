"""The wheel's own interface to llama.cpp: it generates text, and it is what the C interface is held against.

It cannot be had without a listening socket. That one lies in a folder that only the user can enter, with a
random key on it, and nothing is ever sent there: calls go from function to function inside the process.
"""

from __future__ import annotations

import importlib
import secrets
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from ...errors import ModelError
from .library import laid_out_otherwise
from .scorer import Scorer

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
