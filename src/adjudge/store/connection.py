"""Opens the database file: writes go to the writer thread, reads to one connection per thread.

This file knows nothing of runs and calls beyond registering this process as an owner. Disk errors
become errors for the user here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from ..errors import StoreError
from . import owners, schema
from .calls import CallWriter
from .sqlite_errors import store_error
from .writer import Put, Writer

T = TypeVar("T")

LINGER_SECONDS = 0.002
"""How long the writer waits for more work before a commit. Shorter than a commit takes."""


class Access:
    """The connections to one file, and the thread that writes to it."""

    connection: sqlite3.Connection
    """the writer's connection, to be used only inside `do` and `soon`"""
    calls: CallWriter

    def __init__(self, where: Path, *, write: bool, busy_seconds: float) -> None:
        self.path = where
        self._busy_seconds = busy_seconds
        self._pid = os.getpid()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._is_open = True
        self._writer: Writer | None = None
        try:
            if write or self._is_older():
                self._open_writer()
            if not write:
                self._close_writer()
        except BaseException:
            self.close()
            raise

    @property
    def is_writable(self) -> bool:
        return self._writer is not None

    def close(self) -> None:
        """Write what is queued, remove this owner, and close the file."""
        self._is_open = False
        if os.getpid() != self._pid:
            return
        # The writer is closed last: the last connection removes the log, and a reader cannot.
        while self._readers:
            self._readers.pop().close()
        self._close_writer()

    def do(self, work: Callable[[], T]) -> T:
        """Run work in the writer thread, and block until it is durable."""
        return self._writing().now(work)

    def soon(self, work: Put | Callable[[], Any]) -> asyncio.Future[Any]:
        """Run work in the writer thread; the future is done when it is durable."""
        return self._writing().soon(work)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read with this thread's connection."""
        self._check_open()
        try:
            return work(self._reader())
        except (sqlite3.Error, StoreError) as fault:
            raise store_error(self.path, fault) from fault

    def stream(self, work: Callable[[sqlite3.Connection], Iterator[T]]) -> Iterator[T]:
        """Read row by row with this thread's connection."""
        self._check_open()
        try:
            yield from work(self._reader())
        except sqlite3.Error as fault:
            raise store_error(self.path, fault) from fault

    def _is_older(self) -> bool:
        return schema.version_of(self._reader(), self.path) < len(schema.MIGRATIONS)

    def _open_writer(self) -> None:
        connection = schema.connect(self.path, write=True, busy_seconds=self._busy_seconds)
        try:
            schema.migrate(connection, self.path, busy_seconds=self._busy_seconds)
            self.calls = CallWriter(connection)
            self.calls.owner = self._register(connection)
        except BaseException:
            connection.close()
            raise
        self.connection = connection
        self._writer = Writer(
            connection,
            self.path,
            put_all=self.calls.put_all,
            forget=self.calls.forget,
            beat=self.calls.beat,
            linger_seconds=LINGER_SECONDS,
        )

    def _register(self, connection: sqlite3.Connection) -> int:
        gone = [owner for owner in owners.owners(connection) if owners.is_gone(owner)]
        if gone:
            # A process was killed, or the power failed, while writing. SQLite recovers by itself if
            # the disk kept its promises; the check takes a second per gigabyte.
            check_pages(connection, self.path)
        connection.execute("BEGIN IMMEDIATE")
        try:
            for owner in gone:
                owners.leave(connection, owner.id)
            number = owners.enter(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return number

    def _close_writer(self) -> None:
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        # On a full disk even this write may fail; the claims then end with this process.
        with contextlib.suppress(StoreError):
            writer.now(lambda: owners.leave(self.connection, self.calls.owner))
        writer.close()
        self.connection.close()

    def _check_open(self) -> None:
        if not self._is_open:
            raise StoreError(f"{self.path}: the store has been closed.\nOpen it again.")
        if os.getpid() != self._pid:
            raise StoreError(f"{self.path}: the store was opened before a fork.\nOpen it in the new process.")

    def _writing(self) -> Writer:
        self._check_open()
        if self._writer is None:
            raise StoreError(f"{self.path}: the store was opened for reading only.\nOpen it for writing.")
        return self._writer

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = schema.connect(self.path, write=False, busy_seconds=self._busy_seconds)
            self._local.connection = connection
            self._readers.append(connection)
        return connection


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Have SQLite check every page; `StoreError` where one is damaged."""
    (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise StoreError(
            f"{path}: the store is damaged ({problem}).\nPut a backup in its place, or move the file away and start "
            "a new one; `sqlite3 FILE .recover` saves what can still be read."
        )
