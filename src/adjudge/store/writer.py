"""The writer thread: it collects queued jobs, commits them together, and then reports to the callers.

Every commit waits for the disk, however little is in it; so all jobs that were queued during one
commit go into the next. A caller learns of its row only when the row is durable. This file
knows nothing of tables.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from ..errors import StoreError
from ..records import Call, Judgment, Reply
from .owners import BEAT_SECONDS
from .rows import DamagedError
from .store_errors import store_error

T = TypeVar("T")


_LARGEST_BATCH = 1024


class Put(Struct, frozen=True):
    """A call of a run, with its reply and judgment."""

    run: int
    item: int
    call_index: int
    call: Call
    reply: Reply | None
    judgment: Judgment | None


class Job(Struct, frozen=True):
    """Something to write, and the future that the caller waits for: asyncio's, or a thread's."""

    work: Put | Callable[[], Any]
    loop: asyncio.AbstractEventLoop | None
    future: asyncio.Future[Any] | concurrent.futures.Future[Any]


class Writer:
    """Takes jobs from any thread or event loop and runs them in order, many to a transaction.

    `put_all` writes many puts at once; `forget` is called after a rollback;
    `beat` is called inside a transaction every few seconds.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        where: Path,
        *,
        put_all: Callable[[Sequence[Put]], list[Any]],
        forget: Callable[[], None],
        beat: Callable[[], None],
        linger_seconds: float,
    ) -> None:
        self._prepare(connection, where, put_all=put_all, forget=forget, beat=beat)
        self._linger_seconds = linger_seconds
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._is_closing = False
        # A daemon, so that a program that forgets to close its store can still exit.
        self._thread = threading.Thread(target=self._write_all, name="adjudge-store", daemon=True)
        self._thread.start()

    def _prepare(
        self,
        connection: sqlite3.Connection,
        where: Path,
        *,
        put_all: Callable[[Sequence[Put]], list[Any]],
        forget: Callable[[], None],
        beat: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._where = where
        self._put_all = put_all
        self._forget = forget
        self._beat = beat
        self._last_beat = time.monotonic()

    def soon(self, work: Put | Callable[[], T]) -> asyncio.Future[Any]:
        """Queue work; the future of the running event loop is done when the work is durable."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._jobs.put(Job(work, loop, future))
        return future

    def now(self, work: Callable[[], T]) -> T:
        """Queue work and block this thread until it is durable."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._jobs.put(Job(work, None, future))
        return future.result()

    def close(self) -> None:
        """Write what is queued, then end the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _write_all(self) -> None:
        while True:
            batch = self._take()
            if batch or not self._is_closing:
                self._deliver(batch, self._commit(batch))
            if self._is_closing:
                return

    def _take(self) -> list[Job]:
        """All queued jobs; none where only a heartbeat is due."""
        try:
            first = self._jobs.get(timeout=BEAT_SECONDS)
        except queue.Empty:
            return []
        if first is None:
            self._is_closing = True
            return []
        batch = [first]
        if self._linger_seconds:
            time.sleep(self._linger_seconds)
        while len(batch) < _LARGEST_BATCH and not self._jobs.empty():
            job = self._jobs.get_nowait()
            if job is None:
                self._is_closing = True
                break
            batch.append(job)
        return batch

    def _commit(self, batch: Sequence[Job]) -> list[Any]:
        """The outcome of each job: its result, or the exception for its caller."""
        try:
            return self._transaction(batch)
        except Exception as fault:  # noqa: BLE001 - if this thread ended, its callers would wait forever
            if len(batch) > 1 and not _is_disk_fault(fault):
                # One job is at fault; the others must not fail with it.
                return [outcome for job in batch for outcome in self._commit([job])]
            return [self._outcome(fault) for _ in batch]

    def _transaction(self, batch: Sequence[Job]) -> list[Any]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            is_beat_due = time.monotonic() - self._last_beat >= BEAT_SECONDS
            if is_beat_due:
                self._beat()
            outcomes = self._run(batch)
            self._connection.execute("COMMIT")
            if is_beat_due:
                self._last_beat = time.monotonic()
        except BaseException:
            # After some errors SQLite has rolled back by itself.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._forget()
            raise
        return outcomes

    def _run(self, batch: Sequence[Job]) -> list[Any]:
        outcomes: list[Any] = []
        puts: list[Put] = []
        for job in batch:
            if isinstance(job.work, Put):
                puts.append(job.work)
                continue
            if puts:
                outcomes += self._put_all(puts)
                puts = []
            outcomes.append(job.work())
        if puts:
            outcomes += self._put_all(puts)
        return outcomes

    def _outcome(self, fault: Exception) -> Exception:
        is_expected = isinstance(
            fault, sqlite3.Error | StoreError | DamagedError | UnicodeError | OverflowError
        )
        return store_error(self._where, fault) if is_expected else fault

    def _deliver(self, batch: Sequence[Job], outcomes: Sequence[Any]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
        for job, outcome in zip(batch, outcomes, strict=True):
            if isinstance(job.future, concurrent.futures.Future):
                self.settle([(job.future, outcome)])
            elif job.loop is not None:
                by_loop.setdefault(job.loop, []).append((job.future, outcome))
        for loop, settled in by_loop.items():
            # Nothing waits in a loop that was closed in the meantime.
            if not loop.is_closed():
                loop.call_soon_threadsafe(self.settle, settled)

    @staticmethod
    def settle(settled: Sequence[tuple[Any, Any]]) -> None:
        """Give each caller its outcome."""
        for future, outcome in settled:
            if future.done():  # the caller was cancelled
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)


def _is_disk_fault(fault: Exception) -> bool:
    """Whether the next job would fail in the same way."""
    job_faults = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError)
    return isinstance(fault, sqlite3.Error) and not isinstance(fault, job_faults)
