"""A run in a separate thread with its own event loop, so that it works in a script, beside a running event
loop and in a notebook.

The calling thread waits, and passes Ctrl-C on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .loop import Interrupted
from .request import Request
from .run import Run, RunState, execute
from .watcher import Watcher

_POLL_SECONDS = 0.1


_GRACE_SECONDS = 5.0
"""how long an interrupted run may take to store the replies that it has paid for"""


def run_in_thread(request: Request, watcher: Watcher | None = None) -> Run:
    """Carry out a request in a new thread; Ctrl-C stops it and loses no reply that was received."""
    worker = _Worker(request, watcher or request.watcher or Watcher())
    outer = _task_of_this_thread()
    ends_at = float("inf")
    # Not `join`: after a Ctrl-C in it Python takes the thread for ended.
    while not worker.has_ended.is_set():
        try:
            worker.has_ended.wait(_POLL_SECONDS)
            # `asyncio.run` turns the first Ctrl-C into a cancellation, which waits until this function
            # returns.
            is_interrupted = outer is not None and outer.cancelling() > 0 and ends_at == float("inf")
        except KeyboardInterrupt:
            is_interrupted = True
        if is_interrupted:
            worker.interrupt()
            ends_at = min(ends_at, time.monotonic() + (_GRACE_SECONDS if worker.state.is_in_store else 0))
        if time.monotonic() >= ends_at:
            raise Interrupted("interrupted")
    if isinstance(worker.outcome, BaseException):
        raise worker.outcome
    assert worker.outcome is not None
    return worker.outcome


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop where it is installed: a third less CPU for each call."""
    try:
        import uvloop
    except ImportError:
        return None
    new_loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return new_loop


def new_loop() -> asyncio.AbstractEventLoop:
    """A new event loop, of the faster kind where it is installed."""
    return (_loop_factory() or asyncio.new_event_loop)()


def _task_of_this_thread() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class _Worker:
    """The thread that carries out a request; another thread can interrupt it."""

    def __init__(self, request: Request, watcher: Watcher) -> None:
        self.outcome: Run | BaseException | None = None
        self.has_ended = threading.Event()
        self.state = RunState()
        self._request, self._watcher = request, watcher
        self._task: asyncio.Task[Run] | None = None
        self._is_interrupted = False
        threading.Thread(target=self._work, name="adjudge-run", daemon=True).start()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                self.outcome = runner.run(self._execute())
        except asyncio.CancelledError:
            self.outcome = Interrupted("interrupted")
        except BaseException as fault:  # noqa: BLE001  raised again in the thread that waits
            self.outcome = fault
        finally:
            self.has_ended.set()

    async def _execute(self) -> Run:
        self._task = asyncio.current_task()
        if self._is_interrupted:
            raise Interrupted("interrupted")
        return await execute(self._request, self._watcher, self.state)

    def interrupt(self) -> None:
        """Stop the run: what is in flight may end. A second time: at once."""
        self._is_interrupted = True
        if self._task is not None:
            # The event loop is already closed where the run has just ended by itself.
            with suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        assert self._task is not None
        if self.state.loop is not None:
            self.state.loop.stop(Interrupted("interrupted"))
        self._task.cancel()
