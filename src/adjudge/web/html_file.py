"""An HTML file that opens offline: its one style, its policy, and writing it completely or not at all.

The policy allows the one style block by its hash and forbids scripts, frames and fetches.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

from ..errors import DataError
from .templating import static_text

_BEGINNING = b"<!doctype html"


def style() -> str:
    """The style sheet without its comments and its line breaks."""
    text = re.sub(r"/\*.*?\*/", "", static_text("adjudge.css"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", text).strip()


def policy(css: str) -> str:
    """The content security policy: this style block, and images inside the page."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def write_page(path: Path, text: str) -> int:
    """Write a page, completely or not at all; its size in bytes.

    Only an HTML page is overwritten. A link is not followed: it may point to any file.
    """
    _check(path)
    body = text.encode("utf-8", "backslashreplace")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a report gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        # `replace` does not follow a link, not even one that was made since `_check`.
        os.replace(name, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
    return len(body)


def _check(path: Path) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise DataError(
                f"{path} cannot be written: there is no folder {path.parent}. Create it first."
            ) from None
        return
    except (OSError, ValueError) as error:
        raise _cannot(path, error) from error
    if stat.S_ISLNK(status.st_mode):
        raise DataError(f"{path} is a link, and links are not followed. Give the name of the file itself.")
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise DataError(f"{path} is {what}. Give the name of a file, such as report.html.")
    if status.st_size and not _is_page(path):
        raise DataError(
            f"{path} already exists and is not an HTML page, so it is not overwritten. Give another "
            "name, such as report.html."
        )


def _is_page(path: Path) -> bool:
    try:
        # Since `lstat` a link may have been put in its place.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(handle, "rb") as file:
            return file.read(64).lstrip().lower().startswith(_BEGINNING)
    except OSError as error:
        raise _cannot(path, error) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot(path: Path, error: OSError | ValueError) -> DataError:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return DataError(f"{path} cannot be written: {why}. Choose another place with --html.")
