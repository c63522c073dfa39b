"""A thread with an event loop for live runs, so that a judge works in a script, beside a running event loop
and in a notebook."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

from .live_run import LiveRun
from .request import Request
from .thread import new_loop

T = TypeVar("T")


class LiveThread:
    """Live runs by their names, in one thread that is started on first use."""

    def __init__(self) -> None:
        self._forget()
        _THREADS.add(self)

    def _forget(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._runs: dict[str, asyncio.Task[LiveRun]] = {}

    def start_anew(self) -> None:
        """After a fork: the thread is not in the new process, and its connections belong to the old one.

        They are kept, because closing one here could release the locks of the old process.
        """
        _OF_THE_PARENT.append((self._loop, self._runs))
        self._forget()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Carry out work in the thread's event loop."""
        with self._starting:
            if self._loop is None:
                self._loop = new_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="adjudge-judge", daemon=True
                )
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out work, and block until it is done; Ctrl-C cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def live(self, request: Request) -> LiveRun:
        """The live run of a request, by its name; opened on first use. Called in the thread's event loop."""
        name = str(request.run)
        task = self._runs.get(name)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._runs[name] = asyncio.create_task(_opened(request))
        return await asyncio.shield(task)

    async def end(self, request: Request) -> None:
        """Close one live run."""
        if (task := self._runs.pop(str(request.run), None)) is not None:
            await _closed(task)

    def close(self) -> None:
        """Close all live runs, and end the thread. The next use starts another."""
        with self._starting:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None or not thread.is_alive():
            return
        if thread is threading.current_thread():  # a judge that was dropped while it was asked
            closing = loop.create_task(self._close_all())
            closing.add_done_callback(lambda _: loop.stop())
            return
        asyncio.run_coroutine_threadsafe(self._close_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    async def _close_all(self) -> None:
        """Cancel what is under way, so that no caller waits for ever, and close the runs."""
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for work in under_way:
            work.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        runs, self._runs = self._runs, {}
        for task in runs.values():
            await _closed(task)


_THREADS: weakref.WeakSet[LiveThread] = weakref.WeakSet()
_OF_THE_PARENT: list[object] = []


def _after_fork() -> None:
    for thread in _THREADS:
        thread.start_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


async def _opened(request: Request) -> LiveRun:
    live = LiveRun(request)
    await live.open()
    return live


async def _closed(task: asyncio.Task[LiveRun]) -> None:
    if task.done() and not task.cancelled() and task.exception() is None:
        await task.result().close()
