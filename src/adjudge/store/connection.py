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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..errors import StoreError
from . import database_file, owners, schema
from .calls import CallWriter
from .inline_writer import InlineWriter
from .results import CannotStoreError, connect_for_results
from .rows import DECODE_FAULTS
from .store_errors import damage_error, is_explained, primary_code, store_error
from .writer import Put, Writer

T = TypeVar("T")

LINGER_SECONDS = 0.002
"""How long the writer waits for more work before a commit. Shorter than a commit takes."""


_REFUSALS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR)
"""SQLite's codes for a file or folder that cannot be written."""


class Access:
    """The connections to one file, and the thread that writes to it."""

    connection: sqlite3.Connection
    """the writer's connection, to be used only inside `do` and `soon`"""
    calls: CallWriter

    def __init__(self, where: Path, *, write: bool, busy_seconds: float, is_durable: bool = True) -> None:
        self.path = where
        self._is_durable = is_durable
        self._busy_seconds = busy_seconds
        self._pid = os.getpid()
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._is_open = True
        self._writer: Writer | None = None
        self._has_old_layout = False
        self._cache: sqlite3.Connection | None = None
        self._caching = threading.Lock()
        try:
            if write:
                self._open_writer()
            elif self._is_older():
                self._upgrade()
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
        while self._readers:
            self._readers.pop().close()
        if self._cache is not None:
            self._cache.close()
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
        except (sqlite3.Error, StoreError, *DECODE_FAULTS) as fault:
            raise self._read_error(fault) from fault

    def stream(self, work: Callable[[sqlite3.Connection], Iterator[T]]) -> Iterator[T]:
        """Read row by row with this thread's connection."""
        self._check_open()
        try:
            yield from work(self._reader())
        except (sqlite3.Error, *DECODE_FAULTS) as fault:
            raise self._read_error(fault) from fault

    @contextlib.contextmanager
    def caching(self) -> Iterator[sqlite3.Connection]:
        """The connection that stores results, of a store that is open for reading too."""
        self._check_open()
        with self._caching:
            if self._has_old_layout:
                raise CannotStoreError
            if self._cache is None:
                self._cache = connect_for_results(self.path)
            yield self._cache

    def _read_error(self, fault: Exception) -> StoreError:
        """Nothing but damage makes a row that was written undecodable, or SQLite miss a table."""
        if isinstance(fault, StoreError) or (isinstance(fault, sqlite3.Error) and is_explained(fault)):
            return store_error(self.path, fault)
        return damage_error(self.path, fault)

    def _is_older(self) -> bool:
        return schema.version_of(self._reader(), self.path) < len(schema.MIGRATIONS)

    def _upgrade(self) -> None:
        """Bring an older file up to date; where it cannot be written, it is read as it is."""
        try:
            self._open_writer()
            self._close_writer()
        except (sqlite3.Error, OSError) as fault:
            is_refused = isinstance(fault, OSError) or primary_code(fault) in _REFUSALS
            if not is_refused or schema.version_of(self._reader(), self.path) == 0:
                raise
            self._has_old_layout = True
            schema.stand_in(self._reader(), self.path)

    def _open_writer(self) -> None:
        connection = database_file.connect(self.path, write=True, busy_seconds=self._busy_seconds)
        try:
            schema.migrate(connection, self.path, busy_seconds=self._busy_seconds)
            if not self._is_durable:
                connection.execute("PRAGMA synchronous = OFF")
            found = os.stat(self.path)
            # SQLite holds the file open, so no other file gets its number.
            self._identity = (found.st_dev, found.st_ino)
            self.calls = CallWriter(connection)
            self.calls.owner = self._register(connection)
        except BaseException:
            connection.close()
            raise
        self.connection = connection
        work: dict[str, Any] = {
            "put_all": self._put_all, "forget": self.calls.forget, "beat": self.calls.beat,
        }  # fmt: skip
        if self._is_durable:
            self._writer = Writer(connection, self.path, **work, linger_seconds=LINGER_SECONDS)
        else:
            self._writer = InlineWriter(connection, self.path, **work)

    def _put_all(self, puts: Sequence[Put]) -> list[bool]:
        self.check_in_place()
        return self.calls.put_all(puts)

    def check_in_place(self) -> None:
        """`StoreError` where the file was deleted, moved or replaced: what is written to it would be lost."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._identity:
            raise StoreError(
                f"{self.path}: the store was deleted, moved or replaced while it was in use, so "
                "nothing more is sent.\nPut the file back and give the same command again: it "
                "resumes from what the file holds."
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
            connection = database_file.connect(self.path, write=False, busy_seconds=self._busy_seconds)
            if self._has_old_layout:
                schema.stand_in(connection, self.path)
            self._local.connection = connection
            self._readers.append(connection)
        return connection


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Have SQLite check every page; `StoreError` where one is damaged."""
    (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise damage_error(path, problem)
