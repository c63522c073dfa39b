"""The embedded judge in a Ray actor, and the weights on the actor's node."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...errors import ModelError
from ...records import Call, Reply
from ...version import __version__
from ..base import Parameters, failed
from ..prices import Price
from .llama_cpp import VERSION
from .local_model import LocalModel
from .weights import Weights, cache_folder, sha256_of


class Spec(Struct, frozen=True):
    """What an actor needs to build the model, and to know that it is the same one."""

    name: str
    file: str | Weights
    """the path that the user named, or the weights that can be pulled"""
    sha256: str
    price: Price | None
    threads: int
    version: str = f"Adjudge {__version__}, {VERSION}"


class ActorAnswer(Struct, frozen=True):
    """What an actor returns for a call."""

    reply: Reply
    warnings: list[str] = []
    fault: str = ""
    """why the run must stop; the reply is then none"""
    has_no_model: bool = False
    """the actor died, and Ray restarted it, before the call came; the reply is then none"""


class Actor:
    """A `LocalModel` in a process of a Ray node. Ray restarts it, without its model, where it dies."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._model: LocalModel | None = None

    async def start(self, pieces: Sequence[Any] = ()) -> tuple[bool, str]:
        """Whether the weights are here, and why the run must stop; `pieces` of the weights are received."""
        spec = self._spec
        if spec.version != (mine := f"Adjudge {__version__}, {VERSION}"):
            return False, _at_node(f"{mine} is installed there, and {spec.version} here. Install the same.")
        try:
            if pieces:
                get = importlib.import_module("ray").get
                await asyncio.to_thread(receive, spec, (get(piece) for piece in pieces))
            file = await asyncio.to_thread(file_on_node, spec)
            if file is None:
                return False, ""
            self._model = LocalModel(spec.name, file, price=spec.price, threads=spec.threads)
            self._model.check(Parameters())
        except (ModelError, OSError) as fault:
            return False, _at_node(str(fault))
        return True, ""

    async def ask(self, call: Call, params: Parameters) -> ActorAnswer:
        if self._model is None:
            return ActorAnswer(failed(call, "server", ""), has_no_model=True)
        try:
            reply = await self._model.ask(call, params)
        except ModelError as fault:
            return ActorAnswer(failed(call, "server", ""), fault=_at_node(str(fault)))
        except Exception as fault:  # noqa: BLE001  one call that fails is no reason to end the run
            reply = failed(call, "bad_reply", f"{type(fault).__name__}: {fault}"[:500])
        return ActorAnswer(reply, self._model.warnings)


def _at_node(message: str) -> str:
    return f"on the Ray node {socket.gethostname()}: {message}"


def file_on_node(spec: Spec) -> Path | Weights | None:
    """The weights on this machine: where the user named them, or in the cache; none where they are
    missing."""
    named = [Path(spec.file)] if isinstance(spec.file, str) else []
    for path in (*named, cached_file(spec)):
        if path.is_file() and sha256_of(path) == spec.sha256:
            return spec.file if isinstance(spec.file, Weights) else path
    return None


def cached_file(spec: Spec) -> Path:
    """Where the weights are kept on a node that has received them."""
    if isinstance(spec.file, Weights):
        return spec.file.path
    return cache_folder() / "models" / f"{spec.sha256[:32]}.gguf"


def receive(spec: Spec, pieces: Iterator[bytes]) -> None:
    """Write weights to the cache of this machine, if they are the expected ones; one process at a time, and
    once."""
    path = cached_file(spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.with_suffix(".lock")):
        if file_on_node(spec) is not None:
            return
        digest = hashlib.sha256()
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".receive-", delete=False) as file:
            try:
                for piece in pieces:
                    digest.update(piece)
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
                if digest.hexdigest() != spec.sha256:
                    raise ModelError(f"the weights of {spec.name} changed while they were sent to this node.")
                os.replace(file.name, path)
            finally:
                Path(file.name).unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one process of this machine in at a time."""
    try:
        import fcntl
    except ImportError:  # Windows: several may receive the weights, and the last one's file stays
        yield
        return
    with lock.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
