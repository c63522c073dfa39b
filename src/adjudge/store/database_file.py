"""The file of a store: created so that only its owner can read it, and opened with SQLite."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from ..errors import StoreError
from . import rows
from .store_errors import store_error


def create_file(path: Path) -> None:
    """Create an empty file that only its owner can read; prompts and replies may be confidential."""
    if not path.parent.is_dir():
        raise StoreError(
            f"{path}: there is no folder {path.parent}.\nCreate it, or choose another file with --store."
        )
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as fault:
        raise store_error(path, fault) from fault


def address_of(path: Path, *, write: bool) -> str:
    """The file as SQLite opens it."""
    address = path.absolute().as_uri() + ("?mode=rw" if write else "?mode=ro")
    if not write and _is_unwritable_at_rest(path):
        # SQLite cannot create the index of a write-ahead log in a read-only folder; without a log,
        # the file alone is complete.
        address += "&immutable=1"
    return address


def connect(path: Path, *, write: bool, busy_seconds: float) -> sqlite3.Connection:
    """A connection without automatic transactions that may be used from any thread."""
    connection = sqlite3.connect(
        address_of(path, write=write),
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
    except BaseException as fault:
        connection.close()
        if isinstance(fault, UnicodeDecodeError):  # SQLite's message quotes a damaged name
            raise rows.DamagedError("the list of tables cannot be read") from None
        raise
    return connection


def _is_unwritable_at_rest(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    return not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
