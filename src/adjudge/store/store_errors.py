"""Turns errors of SQLite and the file system into messages that a user can act on.

A message says what happened, where, and what to do. This file knows no tables.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ..errors import StoreError
from .rows import DamagedError

_MEANING = {
    sqlite3.SQLITE_FULL: (
        "the disk is full",
        "Nothing that was stored before is lost. Free some space, then run the same command again to resume.",
    ),
    sqlite3.SQLITE_READONLY: (
        "the store cannot be written, only read",
        "Make the file and its folder writable, or choose another file with --store.",
    ),
    sqlite3.SQLITE_PERM: (
        "no permission",
        "Change the permissions of the file, or choose another with --store.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the store cannot be opened",
        "Check that the file and its folder are readable and writable, or choose another file with --store.",
    ),
    sqlite3.SQLITE_BUSY: (
        "the store is locked by another program",
        "Wait until that program has finished, or close it, then run the same command again.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "this is not an Adjudge store",
        "Check the name, or choose another file with --store.",
    ),
    sqlite3.SQLITE_IOERR: (
        "the disk failed to read or write",
        "Nothing that was stored before is lost. Check the disk, its free space and quota, "
        "then run the same command again.",
    ),
    sqlite3.SQLITE_TOOBIG: (
        "a text is too long to be stored",
        "Shorten the item or the reply that it belongs to.",
    ),
}
_MEANING[sqlite3.SQLITE_LOCKED] = _MEANING[sqlite3.SQLITE_BUSY]
_MEANING[sqlite3.SQLITE_PROTOCOL] = _MEANING[sqlite3.SQLITE_BUSY]
_MEANING[sqlite3.SQLITE_AUTH] = _MEANING[sqlite3.SQLITE_PERM]


def primary_code(fault: sqlite3.Error) -> int:
    """SQLite's primary result code, without the extended bits; -1 where there is none."""
    code: int | None = getattr(fault, "sqlite_errorcode", None)
    return -1 if code is None else code & 0xFF


def damage_error(where: Path, what: object) -> StoreError:
    """The error for a file that does not hold what was written to it."""
    return StoreError(
        f"{where}: the store is damaged ({what}).\n"
        f"See what is lost with adjudge doctor --store {where}; adjudge doctor --store {where} "
        "--repair NEW.db saves what is whole. Or use a backup."
    )


def is_explained(fault: sqlite3.Error) -> bool:
    """Whether SQLite's code is enough to say what is wrong."""
    return primary_code(fault) in _MEANING or primary_code(fault) == sqlite3.SQLITE_CORRUPT


def store_error(where: Path, fault: Exception) -> StoreError:
    """The error for the user that a fault stands for, to be raised or passed to a waiting caller."""
    if isinstance(fault, StoreError):
        # Several callers may wait for one outcome. An exception raised twice would collect the
        # tracebacks of all of them.
        return StoreError(*fault.args)
    if isinstance(fault, DamagedError) or (
        isinstance(fault, sqlite3.Error) and primary_code(fault) == sqlite3.SQLITE_CORRUPT
    ):
        return damage_error(where, fault)
    if isinstance(fault, sqlite3.Error):
        happened, remedy = _MEANING.get(
            primary_code(fault),
            ("the store cannot be used", "Please report this: it is a bug in adjudge."),
        )
        return StoreError(f"{where}: {happened} ({fault}).\n{remedy}")
    if isinstance(fault, OSError):
        reason = (fault.strerror or str(fault)).lower()
        return StoreError(
            f"{where}: the store cannot be opened: {reason}.\n"
            "Check that the file and its folder are readable and writable, or choose another file "
            "with --store."
        )
    return StoreError(
        f"{where}: a record cannot be stored: {fault}.\nRemove the part that is not valid text from "
        "the item or the reply."
    )
