"""Tracks which processes have a store open for writing, and whether they are still alive.

A process on this machine is gone when the system no longer runs it. Any other process is declared
lost when its heartbeat stops for a whole lease, measured by the observer's monotonic clock: clocks
of different machines are never compared. This file knows nothing of calls.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import time
from pathlib import Path

from msgspec import Struct

from .rows import DamagedError

BEAT_SECONDS = 5.0
LEASE_SECONDS = 60.0


class Owner(Struct, frozen=True):
    """A process that opened the store for writing, and the number of its heartbeats."""

    id: int
    machine: str
    pid: int
    started: str
    beats: int


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def machine_name() -> str:
    """Identifies where a process id is unique: a host since its last boot, and its process namespace."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    host = platform.node().replace("|", "_")
    return f"{host}|{_text('/proc/sys/kernel/random/boot_id')}|{namespace}"


def start_of(pid: int) -> str | None:
    """When a process was started, in kernel ticks; none where it has ended or is not visible.

    Process ids are reused: only together with its start time does an id name one process.
    """
    # The program name is in parentheses and may contain spaces and parentheses itself.
    after_name = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(after_name) < 20 or after_name[0] in ("Z", "X"):
        return None
    return after_name[19]


def is_gone(owner: Owner) -> bool:
    """Whether the owner's process has certainly ended; false where this is not known."""
    if ran_before_boot(owner):
        return True
    if owner.machine != machine_name():
        return False
    if sys.platform.startswith("linux"):
        return start_of(owner.pid) != owner.started
    if os.name != "posix":
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def ran_before_boot(owner: Owner) -> bool:
    """Whether the owner ran on this machine before its last boot, for example before a power failure."""
    (host, boot, _), (this_host, this_boot, _) = owner.machine.split("|"), machine_name().split("|")
    return host == this_host and boot != this_boot


class Watch:
    """Remembers when each owner's heartbeat last changed, by this process's clock."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, float]] = {}

    def is_lost(self, owner: Owner) -> bool:
        """Whether the owner is gone, or had no heartbeat for a whole lease since we first saw it."""
        beats, since = self._seen.get(owner.id, (-1, 0.0))
        if beats != owner.beats:
            since = time.monotonic()
            self._seen[owner.id] = (owner.beats, since)
        return is_gone(owner) or time.monotonic() - since > LEASE_SECONDS


def enter(connection: sqlite3.Connection) -> int:
    """Register this process as an owner; ids are never reused."""
    pid = os.getpid()
    row = connection.execute(
        "INSERT INTO owners (machine, pid, started) VALUES (?, ?, ?)",
        (machine_name(), pid, start_of(pid) or ""),
    )
    assert row.lastrowid is not None
    return row.lastrowid


def leave(connection: sqlite3.Connection, owner: int) -> None:
    """Remove an owner. All calls it had claimed are free again."""
    connection.execute("DELETE FROM owners WHERE id = ?", (owner,))


def beat(connection: sqlite3.Connection, owner: int) -> bool:
    """Record a heartbeat; false where another process has removed this owner."""
    return connection.execute("UPDATE owners SET beats = beats + 1 WHERE id = ?", (owner,)).rowcount == 1


def owners(connection: sqlite3.Connection) -> list[Owner]:
    """All registered owners, oldest first."""
    found = [
        Owner(*row)
        for row in connection.execute("SELECT id, machine, pid, started, beats FROM owners ORDER BY id")
    ]
    for owner in found:
        _check(owner)
    return found


def _check(owner: Owner) -> None:
    """`DamagedError` for a row that no process wrote: nothing but damage changes its types."""
    is_whole = (
        isinstance(owner.machine, str)
        and owner.machine.count("|") == 2
        and all(isinstance(number, int) for number in (owner.pid, owner.beats))
        and isinstance(owner.started, str)
    )
    if not is_whole:
        raise DamagedError(f"the row of process number {owner.id}")
