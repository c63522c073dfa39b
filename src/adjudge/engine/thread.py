"""`run`: the engine for code without an event loop, and beside a running one: a script, a notebook.

The run has a thread and an event loop of its own; the thread that called waits, and passes Ctrl-C on. Nothing
is judged here.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..models import Model
from ..records import Item, Protocol
from ..store import RunRow
from .api import Names, Prepared, Request, Run, Watcher, execute, requested
from .loop import Interrupted, Loop, Progress

_LOOK_SECONDS = 0.1
_LONGEST_END_SECONDS = 5.0
"""How long an interrupted run may take to store what it has paid for; after that nobody waits."""


def run(
    items: str | Path | Sequence[Item | Mapping[str, Any]],
    protocol: Names | Path | Protocol | Sequence[str | Path | Protocol] = (),
    model: Names | Model | Sequence[str | Model] = (),
    **options: Any,
) -> Run:
    """`run_async` for code without an event loop, and beside a running one: a script, a notebook."""
    return run_in_thread(*requested(items, protocol, model, options))


def run_in_thread(request: Request, watcher: Watcher) -> Run:
    """Carry out a request in a thread of its own; Ctrl-C stops it and loses nothing that was answered."""
    worker = _Worker(request, watcher)
    outer = _task_of_this_thread()
    ends_at = float("inf")
    # Not `join`: a Ctrl-C in it makes Python take the thread for ended.
    while not worker.has_ended.is_set():
        try:
            worker.has_ended.wait(_LOOK_SECONDS)
            # `asyncio.run` turns the first Ctrl-C into a cancellation, which waits until this function is left.
            is_called_off = outer is not None and outer.cancelling() > 0 and ends_at == float("inf")
        except KeyboardInterrupt:
            is_called_off = True
        if is_called_off:
            worker.interrupt()
            ends_at = min(ends_at, time.monotonic() + (_LONGEST_END_SECONDS if worker.has_begun else 0))
        if time.monotonic() >= ends_at:
            raise Interrupted("interrupted")
    if isinstance(worker.outcome, BaseException):
        raise worker.outcome
    assert worker.outcome is not None
    return worker.outcome


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed; it takes a third less CPU for each call."""
    try:
        import uvloop
    except ImportError:
        return None
    new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return new_loop


def _task_of_this_thread() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class _Worker(Watcher):
    """The thread that carries out a request. Passes on what it is told, and can be interrupted."""

    def __init__(self, request: Request, watcher: Watcher) -> None:
        self.outcome: Run | BaseException | None = None
        self.has_ended = threading.Event()
        self.has_begun = False
        """whether the run is in the store, so that there may be something to wait for"""
        self._request, self._watcher = request, watcher
        self._loop: Loop | None = None
        self._task: asyncio.Task[Run] | None = None
        self._is_interrupted = False
        threading.Thread(target=self._work, name="adjudge-run", daemon=True).start()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                self.outcome = runner.run(self._execute())
        except asyncio.CancelledError:
            self.outcome = Interrupted("interrupted")
        except BaseException as fault:  # noqa: BLE001  handed over to the thread that waits
            self.outcome = fault
        finally:
            self.has_ended.set()

    async def _execute(self) -> Run:
        self._task = asyncio.current_task()
        if self._is_interrupted:
            raise Interrupted("interrupted")
        return await execute(self._request, self, is_alone=True)

    def interrupt(self) -> None:
        """Have the run come to its end. A second time: at once."""
        self._is_interrupted = True
        if self._task is not None:
            # The event loop is closed where the run has just come to its end by itself.
            with suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._call_off)

    def _call_off(self) -> None:
        assert self._task is not None
        if self._loop is not None:
            self._loop.stop(Interrupted("interrupted"))
        self._task.cancel()

    def started(self, run: RunRow, prepared: Prepared) -> None:
        self.has_begun = True
        self._watcher.started(run, prepared)

    def wrote_steps(self, protocol: Protocol) -> None:
        self._watcher.wrote_steps(protocol)

    def looping(self, loop: Loop) -> None:
        self._loop = loop
        self._watcher.looping(loop)

    def progressed(self, progress: Progress) -> None:
        self._watcher.progressed(progress)
