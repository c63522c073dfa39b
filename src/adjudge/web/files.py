"""Writes a page so that it appears whole or not at all, and never over something that is not a page."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from ..errors import DataError

_BEGINNING = b"<!doctype html"


def write_page(path: Path, text: str) -> int:
    """Write a page and return its size in bytes. A link is not followed: what it points to may be anybody's file."""
    _check(path)
    body = text.encode("utf-8", "backslashreplace")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as fault:
        raise _cannot(path, fault) from fault
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a report is as open as any file of the user's.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        # `replace` changes the name in its folder; even a link that was put there meanwhile is not followed.
        os.replace(name, path)
        _sync_folder(path.parent)
    except OSError as fault:
        raise _cannot(path, fault) from fault
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
    return len(body)


def _check(path: Path) -> None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise DataError(
                f"{path} cannot be written: there is no folder {path.parent}. Make it first."
            ) from None
        return
    except (OSError, ValueError) as fault:
        raise _cannot(path, fault) from fault
    if stat.S_ISLNK(found.st_mode):
        raise DataError(f"{path} is a link, and links are not followed. Give the name of the file itself.")
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "no plain file"
        raise DataError(f"{path} is {what}. Give the name of a file, such as report.html.")
    if found.st_size and not _is_page(path):
        raise DataError(
            f"{path} is there already and is no HTML page: it is not written over. Give another name, such as report.html."
        )


def _is_page(path: Path) -> bool:
    try:
        # Between the look at it and the opening somebody may have put a link in its place.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(handle, "rb") as file:
            return file.read(64).lstrip().lower().startswith(_BEGINNING)
    except OSError as fault:
        raise _cannot(path, fault) from fault


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot(path: Path, fault: OSError | ValueError) -> DataError:
    why = fault.strerror if isinstance(fault, OSError) else str(fault)
    return DataError(f"{path} cannot be written: {why}. Choose another place with --html.")
