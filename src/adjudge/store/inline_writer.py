"""A writer without a thread, for a store that need not outlive its process: nothing waits for the disk, so
handing work to a thread would cost more than doing it.

Work that is queued in one turn of an event loop goes into one transaction at the end of that turn.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .writer import Job, Put, Writer

T = TypeVar("T")


class InlineWriter(Writer):
    """As `Writer`, in the callers' own threads, one after the other."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        where: Path,
        *,
        put_all: Callable[[Sequence[Put]], list[Any]],
        forget: Callable[[], None],
        beat: Callable[[], None],
    ) -> None:
        self._prepare(connection, where, put_all=put_all, forget=forget, beat=beat)
        self._lock = threading.Lock()
        self._pending: dict[asyncio.AbstractEventLoop, list[Job]] = {}

    def soon(self, work: Put | Callable[[], T]) -> asyncio.Future[Any]:
        """Do work at the end of this turn of the running event loop."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        jobs = self._pending.setdefault(loop, [])
        if not jobs:
            loop.call_soon(self._flush, loop)
        jobs.append(Job(work, loop, future))
        return future

    def now(self, work: Callable[[], T]) -> T:
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._carry_out([Job(work, None, future)])
        return future.result()

    def close(self) -> None:
        """Do what is queued."""
        for loop in list(self._pending):
            self._flush(loop)

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        if jobs := self._pending.pop(loop, None):
            self._carry_out(jobs)

    def _carry_out(self, jobs: Sequence[Job]) -> None:
        with self._lock:
            outcomes = self._commit(jobs)
        self.settle([(job.future, outcome) for job, outcome in zip(jobs, outcomes, strict=True)])
