"""The embedded judge in Ray actors: the same model, on more cores or machines than one process has.

    run ─ ask ─▶ RayModel ═ pipe ═▶ the process `serve` ─ batches ─▶ Ray actors, each with a `LocalModel`

Only asking is distributed. Engine, store and claims stay in the run's process, so that nothing they promise
depends on Ray, and the identity of a call is that of the model inside. Ray is used in a separate process
(`ray_process.py`, docs/decisions/015-ray-in-its-own-process.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Collection
from typing import IO

from msgspec import structs

from ...errors import HostDown, ModelError
from ...records import Call, Reply
from ..base import Model, Parameters
from . import ray_process
from .local_model import LocalModel
from .ray_actor import Spec
from .ray_process import FROM_RAY, HERE, NumberedCall, Ready, Replied, Settings, Stopped, frame, read_frame
from .weights import Weights, pull

CONNECT_SECONDS = 20.0
"""How long a cluster may take to answer."""

START_SECONDS = 120.0
"""How long starting Ray on this machine may take."""

STOP_SECONDS = 15.0


def actors_here(threads: int) -> int:
    """How many actors fit this machine: one for each group of `threads` CPUs."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, count // threads)


def threads_of_actor() -> int:
    """One, unless ADJUDGE_THREADS sets more: threads that share a text wait for each other, actors do not."""
    setting = os.environ.get("ADJUDGE_THREADS", "")
    return int(setting) if setting.isdecimal() and int(setting) > 0 else 1


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
        self._lost_before = ""
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
        self._raise_fault()
        self._n_asked += 1
        number = self._n_asked
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._futures[number] = future
        assert self._pipe is not None
        # A function cannot go through the pipe; the model does not need this one.
        self._pipe.write(frame(NumberedCall(number, call, structs.replace(params, is_cut_off=None))))
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

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise type(self._fault)(str(self._fault))

    async def _start(self) -> None:
        self._raise_fault()
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
            [sys.executable, "-c", f"from {ray_process.__name__} import answer_calls; answer_calls()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(self._address == HERE),
            start_new_session=True,  # Ctrl-C in the terminal is for the run
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        reader = await ray_process.reader_of(self._process.stdout)
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
            for folder in ray_process.short_folder().glob(f"adjudge-ray-{process.pid}-*"):
                shutil.rmtree(folder, ignore_errors=True)
        if self._log is not None:
            self._log.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Give the replies to their callers, until the process ends."""
        while (told := await read_frame(reader, FROM_RAY)) is not None:
            if isinstance(told, Replied):
                self._note(told)
                future = self._futures.get(told.number)
                if future is not None and not future.done():
                    future.set_result(told.reply)
            elif isinstance(told, Stopped):
                self._fail((HostDown if told.is_down else ModelError)(told.message))
        self._fail(ModelError(f"the process that asks Ray has ended: {self._last_words()}."))

    def _note(self, told: Replied) -> None:
        for text in told.warnings:
            if text not in self.warnings:
                self.warnings.append(text)
        if told.n_lost:
            died = "1 Ray actor died; its" if told.n_lost == 1 else f"{told.n_lost} Ray actors died; their"
            self._lost_before, before = f"{died} calls were asked again", self._lost_before
            self.warnings[:] = [text for text in self.warnings if text != before] + [self._lost_before]

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
                "--ray auto: this machine belongs to no running Ray cluster. Start one with ray up or ray"
                " start --head, give the address of one, or give --ray alone to use this machine's CPUs."
            )
        return ModelError(
            f"the Ray cluster at {self._address} cannot be reached: {reason}. Check the address with ray"
            " status on the head node; outside the cluster use --ray ray://HOST:10001, which needs pip"
            " install 'ray[client]'."
        )


def _environment(is_here: bool) -> dict[str, str]:
    """The environment of the process: without keys, which are for hosts, and without Ray's reports of its
    use."""
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
        f"--ray is for models that run in the process (local, local:FILE.gguf), and {model.name} does not:"
        f" {reason}. Leave --ray out. Several servers with one model: -m 'http://A/v1,http://B/v1#NAME'."
    )
