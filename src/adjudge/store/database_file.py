"""The file of a store: created whole, so that only its owner can read it, and opened with SQLite."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from ..errors import StoreError
from . import rows, schema
from .store_errors import store_error


def create_file(path: Path, *, busy_seconds: float = 30.0) -> None:
    """Create an empty store, which only its owner can read: prompts and replies may be confidential.

    It is made under another name and linked into place when it is whole: a kill leaves no half store, and a
    store that another process has created meanwhile stays.
    """
    if not path.parent.is_dir():
        raise StoreError(
            f"{path}: there is no folder {path.parent}.\nCreate it, or choose another file with --store."
        )
    if os.path.lexists(path):
        return
    _remove_abandoned(path)
    partial = path.with_name(f"{_partial_name(path)}{secrets.token_hex(4)}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            with closing(connect(partial, write=True, busy_seconds=busy_seconds)) as connection:
                schema.migrate(connection, path, busy_seconds=busy_seconds)
            _put_in_place(partial, path)
        finally:
            _remove(partial)
    except OSError as fault:
        raise store_error(path, fault) from fault


_ABANDONED_SECONDS = 600.0
"""No one needs so long to create a store."""


def _partial_name(path: Path) -> str:
    return f".{path.name[:200]}.new-"


def _remove_abandoned(path: Path) -> None:
    """Remove what a killed process has left of the same store."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(path.parent):
            if not entry.name.startswith(_partial_name(path)):
                continue
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_SECONDS:
                os.unlink(entry.path)


def _put_in_place(partial: Path, path: Path) -> None:
    """Give the file its name, where no other has it; a file system without links gets an empty file."""
    try:
        os.link(partial, path)
    except FileExistsError:
        return
    except OSError:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        return
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _remove(partial: Path) -> None:
    for name in (partial.name, f"{partial.name}-wal", f"{partial.name}-shm", f"{partial.name}-journal"):
        with contextlib.suppress(OSError):
            partial.with_name(name).unlink()


def _address_of(path: Path, *, write: bool) -> str:
    """The file as SQLite opens it.

    A reader opens a file that it may write for writing, too, and is kept from it by `connect`: only a
    connection that may write removes the write-ahead log when the last one is closed.
    """
    is_writable = os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)
    return path.absolute().as_uri() + "?mode=rw" if write or is_writable else address_to_attach(path)


def address_to_attach(path: Path) -> str:
    """The file as SQLite attaches it to another one, to read it: a transaction that writes to the other locks
    all files that it may write.
    """
    address = path.absolute().as_uri() + "?mode=ro"
    if _is_unwritable_at_rest(path):
        # SQLite cannot create the index of a write-ahead log in a read-only folder; without a log,
        # the file alone is complete.
        address += "&immutable=1"
    return address


def connect(path: Path, *, write: bool, busy_seconds: float) -> sqlite3.Connection:
    """A connection without automatic transactions that may be used from any thread."""
    connection = sqlite3.connect(
        _address_of(path, write=write),
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -8000")
        # A store may come from someone else: its schema must not run functions.
        connection.execute("PRAGMA trusted_schema = OFF")
        # A row that is replaced counts as deleted too; see the triggers that count.
        connection.execute("PRAGMA recursive_triggers = ON")
        if not write:
            connection.execute("PRAGMA query_only = ON")
    except BaseException as fault:
        connection.close()
        if isinstance(fault, UnicodeDecodeError):  # SQLite's message quotes a damaged name
            raise rows.DamagedError("the list of tables cannot be read") from None
        raise
    return connection


def _is_unwritable_at_rest(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
