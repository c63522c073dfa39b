"""The embedded judge in Ray actors: the same model, on more cores or machines than one process has.

    run ─ ask ─▶ RayModel ═ pipe ═▶ the process `serve` ─ batches ─▶ Ray actors, each with a `LocalModel`

Only asking is distributed. Engine, store and claims stay in the run's process, so that nothing they promise depends on
Ray, and the identity of a call is that of the model inside. Ray is used in a separate process: what it prints cannot mix
with ours, a cluster that does not answer can be given up, and when the run's process ends, in whatever way, the pipe
ends and everything that was started is stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import importlib.util
import logging
import math
import os
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
from msgspec import Struct, structs

from ...errors import HostDown, ModelError
from ...records import Call, Reply
from ...version import __version__
from ..base import Model, Parameters, failed
from ..likelihood_passages import passages_of
from ..prices import Price
from .llama_cpp import VERSION
from .local_model import PARALLEL_REPLIES, LocalModel, n_shared
from .weights import Weights, cache_folder, digest_of, pull

HERE = "local"
"""The address that means: start Ray on this machine, for this run alone."""

CONNECT_SECONDS = 20.0
"""How long a cluster may take to answer."""

START_SECONDS = 120.0
"""How long starting Ray on this machine may take."""

STOP_SECONDS = 15.0

BATCH_SECONDS = 1.0
"""The work in one batch: sending a batch takes some milliseconds, and a batch that is lost is asked again."""

LARGEST_BATCH = 64

LONGEST_STREAK = 64
"""Calls of one source that an actor takes in a row while calls of other sources wait."""

MOST_LOSSES = 3
"""A call whose actor died so often has failed: it may be the reason."""

_OBJECT_STORE_BYTES = 128 << 20
_PIECE_BYTES = 64 << 20
_SOURCE_CHARACTERS = 100


def actors_here(threads: int) -> int:
    """How many actors fit this machine: one for each group of `threads` CPUs."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, count // threads)


def threads_of_actor() -> int:
    """One, unless ADJUDGE_THREADS sets more: threads that share a text wait for each other, actors do not."""
    setting = os.environ.get("ADJUDGE_THREADS", "")
    return int(setting) if setting.isdecimal() and int(setting) > 0 else 1


# -- which calls go to which actor


class Asked(Struct, eq=False, tag=True):
    """A call that waits for an actor, under the number by which its caller knows it."""

    number: int
    call: Call
    params: Parameters
    n_losses: int = 0
    """actors that died while they had it"""


class WaitingCalls:
    """The calls that no actor has yet, by source: an actor keeps to one source, so that its prefix stays cached.

    Actors are known by their position. A call that was lost with its actor goes first and alone, so that a call that
    kills actors takes no other with it.
    """

    def __init__(self) -> None:
        self._by_source: dict[str, deque[Asked]] = {}
        self._lost: deque[Asked] = deque()
        self._held: dict[int, str] = {}
        self._streaks: dict[int, int] = {}
        self._common: str | None = None
        self._n_waiting = 0
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        return self._n_waiting + len(self._lost)

    def add(self, asked: Asked) -> None:
        self._by_source.setdefault(self._source_of(asked.call), deque()).append(asked)
        self._n_waiting += 1
        self._arrived.set()

    def add_lost(self, batch: Sequence[Asked]) -> None:
        """Put calls back whose actor died; the caller has counted the loss."""
        self._lost.extend(batch)
        self._arrived.set()

    async def take(self, actor: int, most: Callable[[], int]) -> list[Asked]:
        """The next batch of an actor, as soon as there is one; `most` says how many calls it may have."""
        while not len(self):
            self._arrived.clear()
            await self._arrived.wait()
        if self._lost:
            return [self._lost.popleft()]
        return [self._next(actor) for _ in range(min(max(1, most()), self._n_waiting))]

    def release(self, actor: int) -> None:
        """The actor died: its source is free for others."""
        self._held.pop(actor, None)

    def _next(self, actor: int) -> Asked:
        source = self._choose(actor)
        waiting = self._by_source[source]
        asked = waiting.popleft()
        if not waiting:
            del self._by_source[source]
        self._n_waiting -= 1
        self._streaks[actor] = self._streaks.get(actor, 0) + 1
        return asked

    def _choose(self, actor: int) -> str:
        """Its own source; or else the one that waits longest and no other actor has; or else the one with most calls."""
        own = self._held.get(actor)
        if own is not None and own in self._by_source:
            if self._streaks[actor] < LONGEST_STREAK:
                return own
            self._by_source[own] = self._by_source.pop(own)  # to the end of the line
        taken = {source for other, source in self._held.items() if other != actor}
        source = next((source for source in self._by_source if source not in taken), None)
        if source is None:
            source = max(self._by_source, key=lambda source: len(self._by_source[source]))
        self._held[actor], self._streaks[actor] = source, 0
        return source

    def _source_of(self, call: Call) -> str:
        """What distinguishes the prompts of one source: their first characters after those that all prompts share.

        Generated replies have none: the prompt of a rubric shares little beyond the rubric.
        """
        if call.kind != "likelihood":
            return ""
        prompt = passages_of(call)[0].prompt
        common = prompt if self._common is None else self._common
        self._common = common[: n_shared(common, prompt)]
        start = len(self._common)
        return prompt[start : start + _SOURCE_CHARACTERS]


class Answers(Struct, frozen=True):
    """What an actor returns for a batch."""

    replies: list[Reply]
    warnings: list[str] = []
    fault: str = ""
    """why the run must stop; the replies are then incomplete"""


class ActorLost(Exception):
    """An actor or its node died; its calls can be asked elsewhere."""


class Pool:
    """Keeps `n` actors busy: each gets its next batch when it has returned the last one.

    `start` creates the actor for a position, `send` asks it a batch; both raise `ActorLost` where it died and `ModelError`
    where the run must stop. An actor that dies is replaced.
    """

    def __init__(
        self,
        n: int,
        *,
        start: Callable[[], Awaitable[Any]],
        send: Callable[[Any, list[Asked]], Awaitable[Answers]],
        answered: Callable[[list[tuple[int, Reply]], list[str]], None],
        patience_seconds: float,
        pause_seconds: float = 0.5,
    ) -> None:
        self._n = n
        self._start, self._send, self._answered = start, send, answered
        self._patience_seconds, self._pause_seconds = patience_seconds, pause_seconds
        self.waiting = WaitingCalls()
        self.n_lost = 0
        self._n_ready = 0
        self._down_since = time.monotonic()
        self._losses_in_a_row = 0
        self._reason = "no actor was started"
        self._seconds_per_call = BATCH_SECONDS

    async def run(self) -> None:
        """Answer calls until cancelled; `ModelError` where no actor can."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            for number in range(self._n):
                group.create_task(self._keep(number))

    async def _watch(self) -> None:
        """Stop where no actor has been ready for too long."""
        while True:
            await asyncio.sleep(min(1.0, self._patience_seconds / 4 + 0.01))
            down = time.monotonic() - self._down_since
            if not self._n_ready and down > self._patience_seconds:
                raise HostDown(
                    f"no Ray actor has been ready for {down:.0f} seconds: {self._reason}. "
                    "Check with ray status that the cluster has free CPUs."
                )

    async def _keep(self, number: int) -> None:
        """One actor after the other for this position."""
        while True:
            try:
                actor = await self._start()
                self._n_ready += 1
                try:
                    await self._serve(number, actor)
                finally:
                    self._n_ready -= 1
                    self._down_since = time.monotonic()
            except ActorLost as loss:
                self.waiting.release(number)
                self._note(loss)
                pause = self._pause_seconds * 2.0 ** min(self._losses_in_a_row, 5)
                await asyncio.sleep(pause)

    def _note(self, loss: ActorLost) -> None:
        self.n_lost += 1
        self._losses_in_a_row += 1
        self._reason = str(loss)
        if self._losses_in_a_row > self._n + 2 * MOST_LOSSES:
            raise ModelError(
                f"{self._losses_in_a_row} Ray actors died one after the other without a reply: {self._reason}. "
                "The memory of a node may be too small: use fewer actors with --replicas N."
            )

    async def _serve(self, number: int, actor: Any) -> None:
        while True:
            batch = await self.waiting.take(number, self._batch_size)
            started = time.monotonic()
            try:
                answers = await self._send(actor, batch)
            except ActorLost as loss:
                self._put_back(batch, loss)
                raise
            except BaseException:
                self.waiting.add_lost(batch)
                raise
            if answers.fault:
                raise ModelError(answers.fault)
            self._losses_in_a_row = 0
            seconds = (time.monotonic() - started) / len(batch)
            self._seconds_per_call += 0.3 * (seconds - self._seconds_per_call)
            numbers = (asked.number for asked in batch)
            self._answered(list(zip(numbers, answers.replies, strict=True)), answers.warnings)

    def _put_back(self, batch: list[Asked], loss: ActorLost) -> None:
        """Ask the calls again elsewhere, except those that have lost too many actors."""
        again = []
        for asked in batch:
            asked.n_losses += 1
            if asked.n_losses < MOST_LOSSES:
                again.append(asked)
                continue
            message = f"{asked.n_losses} Ray actors died while they had this call: {loss}"[:500]
            self._answered([(asked.number, failed(asked.call, "server", message))], [])
        self.waiting.add_lost(again)

    def _batch_size(self) -> int:
        """About a second of work, and no more than the actor's share of what waits."""
        size = round(BATCH_SECONDS / max(self._seconds_per_call, 1e-3))
        share = math.ceil(len(self.waiting) / self._n)
        return min(max(size, PARALLEL_REPLIES), share, LARGEST_BATCH)


# -- the actor, on a node


class Spec(Struct, frozen=True):
    """What an actor needs to build the model, and to know that it is the same one."""

    name: str
    file: str | Weights
    """the path that the user named, or the weights that can be pulled"""
    sha256: str
    price: Price | None
    threads: int
    version: str = f"Adjudge {__version__}, {VERSION}"


def file_on_node(spec: Spec) -> Path | Weights | None:
    """The weights on this machine: where the user named them, or in the cache; none where they are missing."""
    candidates: tuple[Path, ...] = (cached_file(spec),)
    if isinstance(spec.file, str):
        candidates = (Path(spec.file), *candidates)
    for path in candidates:
        if path.is_file() and digest_of(path) == spec.sha256:
            return spec.file if isinstance(spec.file, Weights) else path
    return None


def cached_file(spec: Spec) -> Path:
    """Where the weights are kept on a node that has received them."""
    if isinstance(spec.file, Weights):
        return spec.file.path
    return cache_folder() / "models" / f"{spec.sha256[:32]}.gguf"


def receive(spec: Spec, pieces: Iterator[bytes]) -> None:
    """Write weights to the cache of this machine, if they are the expected ones; one process at a time, and once."""
    path = cached_file(spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.with_suffix(".lock")):
        if file_on_node(spec) is not None:
            return
        handle, fresh = tempfile.mkstemp(dir=path.parent, prefix=".receive-")
        try:
            digest = hashlib.sha256()
            with os.fdopen(handle, "wb") as file:
                for piece in pieces:
                    digest.update(piece)
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            if digest.hexdigest() != spec.sha256:
                raise ModelError(f"the weights of {spec.name} changed while they were sent to this node.")
            os.replace(fresh, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fresh)


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


class Actor:
    """A `LocalModel` in a process of a Ray node."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._model: LocalModel | None = None
        self._node = socket.gethostname()

    async def start(self, pieces: Sequence[Any] = ()) -> tuple[bool, str]:
        """Whether the weights are here, and why the run must stop; `pieces` of the weights are received."""
        if self._spec.version != (mine := f"Adjudge {__version__}, {VERSION}"):
            return False, self._at_node(
                f"{mine} is installed there, and {self._spec.version} here. Install the same."
            )
        try:
            if pieces:
                get = importlib.import_module("ray").get
                await asyncio.to_thread(receive, self._spec, (get(piece) for piece in pieces))
            file = await asyncio.to_thread(file_on_node, self._spec)
            if file is None:
                return False, ""
            self._model = LocalModel(
                self._spec.name, file, price=self._spec.price, threads=self._spec.threads
            )
            self._model.check(Parameters())
        except (ModelError, OSError) as fault:
            return False, self._at_node(str(fault))
        return True, ""

    async def ask(self, batch: Sequence[tuple[Call, Parameters]]) -> Answers:
        """The replies to a batch, in its order."""
        assert self._model is not None
        asked = (self._model.ask(call, params) for call, params in batch)
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
        replies: list[Reply] = []
        for (call, _), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, ModelError):
                return Answers([], fault=self._at_node(str(outcome)))
            if isinstance(outcome, BaseException):
                outcome = failed(call, "bad_reply", f"{type(outcome).__name__}: {outcome}"[:500])
            replies.append(outcome)
        return Answers(replies, self._model.warnings)

    def _at_node(self, message: str) -> str:
        return f"on the Ray node {self._node}: {message}"


# -- the process between a run and Ray


class Settings(Struct, frozen=True, tag=True):
    """How the process is to use Ray."""

    address: str
    n_actors: int
    spec: Spec
    patience_seconds: float


class Ready(Struct, frozen=True, tag=True):
    """Ray is connected."""


class Replied(Struct, frozen=True, tag=True):
    replies: list[tuple[int, Reply]]
    warnings: list[str]
    n_lost: int


class Stopped(Struct, frozen=True, tag=True):
    """The run must stop."""

    message: str
    is_down: bool


_LENGTH = struct.Struct(">I")


ToRay = Settings | Asked
FromRay = Ready | Replied | Stopped
_Message = TypeVar("_Message", ToRay, FromRay)


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


TO_RAY: msgspec.msgpack.Decoder[ToRay] = msgspec.msgpack.Decoder(ToRay)
FROM_RAY: msgspec.msgpack.Decoder[FromRay] = msgspec.msgpack.Decoder(FromRay)


async def _reader_of(file: IO[bytes]) -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    return reader


def serve() -> None:
    """Answer the calls that come through standard input, until it ends."""
    # Ray prints to standard output, also from its own threads. Frames have a file of their own.
    out = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    # Ctrl-C and `kill` are for the run's process: it stores what it has, and closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(out))


async def _serve(out: IO[bytes]) -> None:
    reader = await _reader_of(sys.stdin.buffer)
    settings = await read_frame(reader, TO_RAY)
    if not isinstance(settings, Settings):
        return

    def tell(value: FromRay) -> None:
        # The reader at the other end is never busy for long: it only resolves futures.
        with contextlib.suppress(BrokenPipeError):
            out.write(frame(value))
            out.flush()

    folder = tempfile.mkdtemp(prefix=f"adjudge-ray-{os.getpid()}-", dir=_short_folder())
    ray = importlib.import_module("ray")
    try:
        try:
            connect(ray, settings, folder)
        except Exception as fault:  # noqa: BLE001  Ray raises all kinds; the run is told
            tell(Stopped(f"{type(fault).__name__}: {fault}", is_down=False))
            return
        tell(Ready())
        await _answer(ray, settings, reader, tell)
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> Path:
    """Where Ray's folder is: its sockets are in it, and their paths have at most 107 bytes; TMPDIR may be too long."""
    return Path("/tmp") if os.access("/tmp", os.W_OK) else Path(tempfile.gettempdir())


def connect(ray: Any, settings: Settings, folder: str) -> None:
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
    pool: Pool | None = None

    def answered(replies: list[tuple[int, Reply]], warnings: list[str]) -> None:
        assert pool is not None
        tell(Replied(replies, warnings, pool.n_lost))

    actors = _RayActors(ray, settings.spec)
    pool = Pool(
        settings.n_actors,
        start=actors.start,
        send=actors.send,
        answered=answered,
        patience_seconds=settings.patience_seconds,
    )
    working = asyncio.create_task(pool.run())

    async def listen() -> None:
        while isinstance(asked := await read_frame(reader, TO_RAY), Asked):
            pool.waiting.add(asked)

    listening = asyncio.create_task(listen())
    await asyncio.wait((working, listening), return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        faults = working.exception()
        fault = faults.exceptions[0] if isinstance(faults, BaseExceptionGroup) else faults
        tell(Stopped(str(fault), is_down=isinstance(fault, HostDown)))
        await listening  # until the run has closed the pipe
    working.cancel()
    await asyncio.wait((working,))


class _RayActors:
    """Starts actors and asks them."""

    def __init__(self, ray: Any, spec: Spec) -> None:
        self._ray, self._spec = ray, spec
        # Ray would restart an actor and repeat its calls by itself, but not elsewhere, and not only the calls that are lost.
        self._remote = ray.remote(Actor).options(
            num_cpus=spec.threads, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD"
        )
        self._pieces: list[Any] | None = None
        self._reading = asyncio.Lock()

    async def start(self) -> Any:
        """An actor with its weights in place."""
        actor = self._remote.remote(self._spec)
        has_weights, fault = await self._result(actor.start.remote())
        if not has_weights and not fault:
            has_weights, fault = await self._result(actor.start.remote(await self._weights()))
        if not has_weights:
            raise ModelError(fault or f"a Ray node cannot keep the weights of {self._spec.name}.")
        return actor

    async def send(self, actor: Any, batch: list[Asked]) -> Answers:
        answers: Answers = await self._result(
            actor.ask.remote([(asked.call, asked.params) for asked in batch])
        )
        return answers

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


# -- the model of a run


class RayModel(Model):
    """A model of this process, asked in Ray actors. Ray is started, or connected to, with the first call."""

    is_local = True

    def __init__(
        self, inner: LocalModel, address: str, n_actors: int | None, *, patience_seconds: float
    ) -> None:
        super().__init__(inner.name, inner.price)
        self.spec, self.settings = inner.spec, inner.settings
        self.gives_logprobs, self.gives_likelihood = inner.gives_logprobs, inner.gives_likelihood
        self._inner = inner
        self._address = address
        self._threads = threads_of_actor()
        self._patience_seconds = patience_seconds
        self.n_hosts = n_actors or actors_here(self._threads)
        self.endpoint = f"ray {inner.spec}"
        self._starting = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._pipe: asyncio.WriteTransport | None = None
        self._listening: asyncio.Task[None] | None = None
        self._futures: dict[int, asyncio.Future[Reply]] = {}
        self._n_asked = 0
        self._fault: ModelError | None = None
        self._loss_warning = ""
        self._is_closed = False

    @property
    def identity(self) -> str:
        """That of the model in the actors: where it runs does not matter."""
        return self._inner.identity

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        self._inner.check(params, kinds)
        if importlib.util.find_spec("ray") is None:
            raise ModelError(
                "--ray needs Ray, which is not installed. Install it: pip install 'adjudge[ray]'."
            )

    async def ask(self, call: Call, params: Parameters) -> Reply:
        if self._is_closed:
            raise ModelError(f"{self.name} was closed. Create a new object for further calls.")
        async with self._starting:
            if self._pipe is None:
                await self._start()
        if self._fault is not None:
            raise type(self._fault)(str(self._fault))
        self._n_asked += 1
        number = self._n_asked
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._futures[number] = future
        assert self._pipe is not None
        # A function cannot go through the pipe; the model does not need this one.
        self._pipe.write(frame(Asked(number, call, structs.replace(params, is_cut_off=None))))
        try:
            return await future
        finally:
            self._futures.pop(number, None)

    async def close(self) -> None:
        """Stop the actors, and Ray where it was started here."""
        self._is_closed = True
        if self._pipe is not None:
            self._pipe.close()
        await asyncio.to_thread(self._stop)
        if self._listening is not None:
            await asyncio.wait((self._listening,))

    # Starting and stopping

    async def _start(self) -> None:
        if self._fault is not None:
            raise type(self._fault)(str(self._fault))
        try:
            await asyncio.to_thread(self._prepare)
            reader = await self._launch()
            seconds = START_SECONDS if self._address == HERE else CONNECT_SECONDS
            try:
                first = await asyncio.wait_for(read_frame(reader, FROM_RAY), seconds)
            except TimeoutError:
                raise self._unreachable(f"no answer within {seconds:.0f} seconds") from None
            if not isinstance(first, Ready):
                raise self._unreachable(first.message if isinstance(first, Stopped) else self._last_words())
        except BaseException as fault:
            if isinstance(fault, ModelError):
                self._fault = fault
            await asyncio.to_thread(self._stop, 0.0)
            raise
        self._listening = asyncio.create_task(self._listen(reader))

    def _prepare(self) -> None:
        """What can be checked without Ray: the weights, and whether the address answers at all."""
        if (weights := self._inner.weights) is not None:
            pull(weights, self._inner.say_if_missing())
        match = re.fullmatch(r"(?:ray://)?\[?([^\[\]/]+?)\]?:([0-9]+)", self._address)
        if match is None:
            return
        try:
            socket.create_connection((match[1], int(match[2])), 5.0).close()
        except (OSError, OverflowError) as error:
            raise self._unreachable(str(error)) from error

    async def _launch(self) -> asyncio.StreamReader:
        """Start the process between this one and Ray."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(self._address == HERE),
            start_new_session=True,  # Ctrl-C in the terminal is for the run
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        reader = await _reader_of(self._process.stdout)
        loop = asyncio.get_running_loop()
        pipe, _ = await loop.connect_write_pipe(asyncio.Protocol, self._process.stdin)
        inner = self._inner.file
        named = inner if isinstance(inner, Weights) else str(inner)
        spec = Spec(self.name, named, self._inner.digest, self.price, self._threads)
        pipe.write(frame(Settings(self._address, self.n_hosts, spec, self._patience_seconds)))
        self._pipe = pipe
        return reader

    def _stop(self, seconds: float = STOP_SECONDS) -> None:
        """Let the process end by itself, and stop it where it does not."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                # The session is the process's own: this ends what it has started too.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for folder in _short_folder().glob(f"adjudge-ray-{process.pid}-*"):
                shutil.rmtree(folder, ignore_errors=True)
        if self._log is not None:
            self._log.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Give the replies to their callers, until the process ends."""
        while (told := await read_frame(reader, FROM_RAY)) is not None:
            if isinstance(told, Replied):
                self._note(told)
                for number, reply in told.replies:
                    future = self._futures.get(number)
                    if future is not None and not future.done():
                        future.set_result(reply)
            elif isinstance(told, Stopped):
                self._fail((HostDown if told.is_down else ModelError)(told.message))
        self._fail(ModelError(f"the process that asks Ray has ended: {self._last_words()}."))

    def _note(self, told: Replied) -> None:
        for text in told.warnings:
            if text not in self.warnings:
                self.warnings.append(text)
        if told.n_lost:
            words = (
                "1 Ray actor died; its calls were"
                if told.n_lost == 1
                else f"{told.n_lost} Ray actors died; their calls were"
            )
            if self._loss_warning in self.warnings:
                self.warnings.remove(self._loss_warning)
            self._loss_warning = f"{words} asked again"
            self.warnings.append(self._loss_warning)

    def _fail(self, fault: ModelError) -> None:
        self._fault = self._fault or fault
        for future in self._futures.values():
            if not future.done():
                future.set_exception(type(fault)(str(fault)))

    def _last_words(self) -> str:
        """The last line that the process wrote to standard error."""
        if self._log is None or self._log.closed:
            return "no reason given"
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 4000))
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "no reason given")[:300]

    def _unreachable(self, reason: str) -> ModelError:
        reason = " ".join(reason.split())[:400].rstrip(".")
        if self._address == HERE:
            return ModelError(f"Ray cannot be started on this machine: {reason}.")
        if self._address == "auto" and "Could not find any running Ray" in reason:
            return ModelError(
                "--ray auto: this machine belongs to no running Ray cluster. Start one with ray up or ray start --head, give the "
                "address of one, or give --ray alone to use this machine's CPUs."
            )
        return ModelError(
            f"the Ray cluster at {self._address} cannot be reached: {reason}. Check the address with ray status on the "
            "head node; outside the cluster use --ray ray://HOST:10001, which needs pip install 'ray[client]'."
        )


def _environment(is_here: bool) -> dict[str, str]:
    """The environment of the process: without keys, which are for hosts, and without Ray's reports of its use."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("RAY_") or not re.search("KEY|TOKEN|SECRET|PASSWORD", name.upper())
    }
    kept |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    if is_here:
        # Other users of this machine cannot use it, and no token is left in the home folder.
        kept |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return kept


def on_ray(model: Model, address: str, n_actors: int | None, *, patience_seconds: float) -> RayModel:
    """The same judge in Ray actors; `ModelError` where it does not run in this process."""
    if isinstance(model, LocalModel):
        return RayModel(model, address, n_actors, patience_seconds=patience_seconds)
    reason = "it is asked over the network" if model.needs_network else "it needs no computation"
    raise ModelError(
        f"--ray is for models that run in the process (local, local:FILE.gguf), and {model.name} does not: {reason}. "
        "Leave --ray out. Several servers with one model: -m 'http://A/v1,http://B/v1#NAME'."
    )
