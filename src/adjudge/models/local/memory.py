"""How much memory can still be had, before llama.cpp asks for it: where it gets none, it ends the whole process.

The least of what the machine, the container and the user's own limit leave. None where the system does not tell.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CONTAINER = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
)
"""Limit, use and its parts, in the two layouts of Linux."""


def free_bytes() -> int | None:
    """Memory that can still be had."""
    known = [found for found in (_machine(), _container(), _own_limit()) if found is not None]
    return max(0, min(known)) if known else None


def _machine() -> int | None:
    if sys.platform == "linux":
        found = _entry(Path("/proc/meminfo"), "MemAvailable:")
        return None if found is None else found * 1024
    if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _container() -> int | None:
    """What the limit of a container leaves; pages of files that were read can be had back."""
    for limit, use, parts in _CONTAINER:
        most, used = _number(Path(limit)), _number(Path(use))
        if most is not None and used is not None:
            return most - used + (_entry(Path(parts), "inactive_file") or 0)
    return None


def _own_limit() -> int | None:
    """What the limit of this process (`ulimit -v`) leaves."""
    if sys.platform != "linux":
        return None
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _entry(Path("/proc/self/status"), "VmSize:")
    return None if most == resource.RLIM_INFINITY or used is None else most - used * 1024


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # "max" is no limit
        return None


def _entry(path: Path, name: str) -> int | None:
    """The number behind a name, in a file with one of each a line."""
    try:
        for line in path.read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return None
