"""The process between a run and Ray: it takes calls through standard input, and returns replies.

What Ray prints cannot mix with ours, a cluster that does not answer can be given up, and when the run's
process ends, in whatever way, the pipe ends and everything that was started is stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import re
import shutil
import signal
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
from msgspec import Struct

from ...errors import HostDown, ModelError
from ...records import Call, Reply
from ..base import Parameters
from .ray_actor import Actor, ActorAnswer, Spec
from .ray_actors import ActorLost, Actors
from .weights import Weights

HERE = "local"
"""The address that means: start Ray on this machine, for this run alone."""

_OBJECT_STORE_BYTES = 128 << 20
_PIECE_BYTES = 64 << 20


class Settings(Struct, frozen=True, tag=True):
    """How the process is to use Ray."""

    address: str
    n_actors: int
    spec: Spec
    patience_seconds: float


class NumberedCall(Struct, frozen=True, tag=True):
    """A call, under the number by which the run knows it."""

    number: int
    call: Call
    params: Parameters


class Ready(Struct, frozen=True, tag=True):
    """Ray is connected."""


class Replied(Struct, frozen=True, tag=True):
    """The reply to the call of a number, and how many actors have died so far."""

    number: int
    reply: Reply
    warnings: list[str]
    n_lost: int


class Stopped(Struct, frozen=True, tag=True):
    """The run must stop."""

    message: str
    is_down: bool = False


ToRay = Settings | NumberedCall
FromRay = Ready | Replied | Stopped
TO_RAY: msgspec.msgpack.Decoder[ToRay] = msgspec.msgpack.Decoder(ToRay)
FROM_RAY: msgspec.msgpack.Decoder[FromRay] = msgspec.msgpack.Decoder(FromRay)
_Message = TypeVar("_Message", ToRay, FromRay)
_LENGTH = struct.Struct(">I")


def frame(value: ToRay | FromRay) -> bytes:
    """A message as it goes through the pipe between our two processes."""
    body = msgspec.msgpack.encode(value)
    return _LENGTH.pack(len(body)) + body


async def read_frame(
    reader: asyncio.StreamReader, decoder: msgspec.msgpack.Decoder[_Message]
) -> _Message | None:
    """The next message; none at the end."""
    try:
        (size,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        return decoder.decode(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def reader_of(file: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


def answer_calls() -> None:
    """Answer the calls that come through standard input, until it ends."""
    # Ray prints to standard output, also from its own threads. Frames have a separate file.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # Ctrl-C and `kill` are for the run's process: it stores what it has, and closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(out))


async def _serve(out: IO[bytes]) -> None:
    reader = await reader_of(sys.stdin.buffer)
    settings = await read_frame(reader, TO_RAY)
    if not isinstance(settings, Settings):
        return

    def tell(value: FromRay) -> None:
        # The reader at the other end is never busy for long: it only resolves futures.
        with contextlib.suppress(BrokenPipeError):
            out.write(frame(value))
            out.flush()

    folder = tempfile.mkdtemp(prefix=f"adjudge-ray-{os.getpid()}-", dir=short_folder())
    ray = importlib.import_module("ray")
    try:
        _connect(ray, settings, folder)
        tell(Ready())
        await _answer(ray, settings, reader, tell)
    except Exception as fault:  # noqa: BLE001  Ray raises all kinds; the run is told
        tell(Stopped(f"{type(fault).__name__}: {fault}"))
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def short_folder() -> Path:
    """Where Ray's folder is: its sockets are in it, and their paths have at most 107 bytes; TMPDIR may be too
    long."""
    return Path("/tmp") if os.access("/tmp", os.W_OK) else Path(tempfile.gettempdir())


def _connect(ray: Any, settings: Settings, folder: str) -> None:
    """Connect to a cluster, or start Ray on this machine, for this process alone."""
    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.CRITICAL}
    if settings.address != HERE:
        ray.init(address=settings.address, **quiet)
        return
    ray.init(
        address="local",
        num_cpus=settings.n_actors * settings.spec.threads,
        include_dashboard=False,
        object_store_memory=_OBJECT_STORE_BYTES,
        _node_ip_address="127.0.0.1",
        _temp_dir=folder,
        **quiet,
    )


async def _answer(
    ray: Any, settings: Settings, reader: asyncio.StreamReader, tell: Callable[[FromRay], None]
) -> None:
    on_ray = _OnRay(ray, settings.spec, settings.n_actors)
    actors = Actors(
        settings.n_actors, start=on_ray.start, ask=on_ray.ask, patience_seconds=settings.patience_seconds
    )
    asking: set[asyncio.Task[None]] = set()

    async def ask(asked: NumberedCall) -> None:
        try:
            answer = await actors.ask(asked.call, asked.params)
        except ModelError as fault:
            tell(Stopped(str(fault)))
        else:
            tell(Replied(asked.number, answer.reply, answer.warnings, actors.n_lost))

    async def listen() -> None:
        while isinstance(asked := await read_frame(reader, TO_RAY), NumberedCall):
            asking.add(task := asyncio.create_task(ask(asked)))
            task.add_done_callback(asking.discard)

    working, listening = asyncio.create_task(actors.run()), asyncio.create_task(listen())
    await asyncio.wait((working, listening), return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        faults = working.exception()
        fault = faults.exceptions[0] if isinstance(faults, BaseExceptionGroup) else faults
        tell(Stopped(str(fault), is_down=isinstance(fault, HostDown)))
        await listening  # until the run has closed the pipe
    for task in (working, *asking):
        task.cancel()


class _OnRay:
    """The actors of a run. Ray places them, and restarts those that die wherever there is room."""

    def __init__(self, ray: Any, spec: Spec, n: int) -> None:
        self._ray, self._spec = ray, spec
        remote = ray.remote(Actor).options(
            num_cpus=spec.threads, max_restarts=-1, scheduling_strategy="SPREAD"
        )
        self._actors = [remote.remote(spec) for _ in range(n)]
        self._pieces: list[Any] | None = None
        self._reading = asyncio.Lock()

    async def start(self, number: int) -> None:
        """Wait until an actor is there, and has its weights."""
        # Ray repeats this call until the actor has been restarted.
        start = self._actors[number].start.options(max_task_retries=-1)
        has_weights, fault = await self._result(start.remote())
        if not has_weights and not fault:
            has_weights, fault = await self._result(start.remote(await self._weights()))
        if not has_weights:
            raise ModelError(fault or f"a Ray node cannot keep the weights of {self._spec.name}.")

    async def ask(self, number: int, call: Call, params: Parameters) -> ActorAnswer:
        # Not repeated by Ray: that would wait for this very actor, though others may be free.
        answer: ActorAnswer = await self._result(self._actors[number].ask.remote(call, params))
        return answer

    async def _result(self, reference: Any) -> Any:
        try:
            return await asyncio.wrap_future(reference.future())
        except self._ray.exceptions.RayError as error:
            text = " ".join(str(error).split())
            if "No module named 'adjudge'" in text:
                raise ModelError(
                    "a Ray node has no Adjudge. Install it on all nodes, in the Python that Ray runs in: "
                    "pip install 'adjudge[local,ray]'."
                ) from error
            if isinstance(error, self._ray.exceptions.RayTaskError):
                raise ModelError(f"a Ray actor failed: {text[-500:]}") from error
            raise ActorLost(_short(text)) from error

    async def _weights(self) -> list[Any]:
        """The weights in pieces in Ray's object store, for the nodes that lack them."""
        async with self._reading:
            if self._pieces is None:
                weights = self._spec.file
                path = weights.path if isinstance(weights, Weights) else Path(weights)
                self._pieces = []
                with path.open("rb") as file:
                    while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
                        self._pieces.append(self._ray.put(piece))
            return self._pieces


def _short(text: str) -> str:
    """Why an actor died, without Ray's ids and advice."""
    if "OutOfMemoryError" in text:
        return "its node ran out of memory"
    detail = re.search(r"exit detail: ([^.]{1,200})", text)
    return detail[1] if detail else text[:200]
