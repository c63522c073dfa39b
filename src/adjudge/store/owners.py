"""Says which process works on a store, and whether another one is still there.

A process is gone for certain where the same machine no longer runs it. Otherwise it is
given up when its heartbeats stop for a whole lease, counted by the observer's own
monotonic clock: no clock of any machine is compared with another, so none can jump.
This file knows nothing of calls.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
import time
from pathlib import Path

from msgspec import Struct

BEAT_SECONDS = 5.0
LEASE_SECONDS = 60.0


class Owner(Struct, frozen=True):
    """One opened store: the process that opened it, and how often it has given a sign of life."""

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
    """Where process numbers have one meaning: a host since its last start, and its process namespace."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    host = platform.node().replace("|", "_")
    return f"{host}|{_text('/proc/sys/kernel/random/boot_id')}|{namespace}"


def start_of(pid: int) -> str | None:
    """When a process was started, in the kernel's own count; none where it has ended or cannot be seen.

    Numbers are used again: only with its start does a number name one process.
    """
    # The name of the program stands in brackets and may itself hold spaces and brackets.
    after_name = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(after_name) < 20 or after_name[0] in ("Z", "X"):
        return None
    return after_name[19]


def is_gone(owner: Owner) -> bool:
    """Whether the owner's process has certainly ended. False where this cannot be known."""
    if was_cut_off(owner):
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


def was_cut_off(owner: Owner) -> bool:
    """Whether the owner's machine is this one and has been restarted since, perhaps by a power failure."""
    (host, boot, _), (our_host, our_boot, _) = owner.machine.split("|"), machine_name().split("|")
    return host == our_host and boot != our_boot


class Watch:
    """Remembers when each owner's heartbeat last changed, by this process's own clock."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, float]] = {}

    def is_lost(self, owner: Owner) -> bool:
        """Whether the owner is gone, or has been silent for a whole lease while we looked."""
        beats, since = self._seen.get(owner.id, (-1, 0.0))
        if beats != owner.beats:
            since = time.monotonic()
            self._seen[owner.id] = (owner.beats, since)
        return is_gone(owner) or time.monotonic() - since > LEASE_SECONDS


def enter(connection: sqlite3.Connection) -> int:
    """Sign in this process; the number is never given again."""
    pid = os.getpid()
    row = connection.execute(
        "INSERT INTO owners (machine, pid, started) VALUES (?, ?, ?)",
        (machine_name(), pid, start_of(pid) or ""),
    )
    assert row.lastrowid is not None
    return row.lastrowid


def leave(connection: sqlite3.Connection, owner: int) -> None:
    """Sign out. All that the owner had claimed is free with that."""
    connection.execute("DELETE FROM owners WHERE id = ?", (owner,))


def beat(connection: sqlite3.Connection, owner: int) -> bool:
    """Give a sign of life; false where others have given this owner up."""
    return connection.execute("UPDATE owners SET beats = beats + 1 WHERE id = ?", (owner,)).rowcount == 1


def owners(connection: sqlite3.Connection) -> list[Owner]:
    """All that have signed in and not out, in that order."""
    return [
        Owner(*row)
        for row in connection.execute("SELECT id, machine, pid, started, beats FROM owners ORDER BY id")
    ]
