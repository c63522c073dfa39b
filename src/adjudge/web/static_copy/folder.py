"""The folder of a static copy: it appears whole or not at all, and no one else's files are touched."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...errors import DataError
from ...version import __version__

_MARKER = "adjudge-copy.json"


def check_target(folder: Path) -> None:
    """`DataError` unless the folder is new, empty, or an earlier copy to which nothing was added."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise DataError(f"{folder} is not a folder. Name a new folder for the export.")
    if not folder.absolute().parent.is_dir():
        raise DataError(f"There is no folder {folder.absolute().parent}. Create it, or choose another place.")
    if not folder.exists() or not any(folder.iterdir()):
        return
    written = _files_of(folder)
    if written is None:
        raise DataError(f"{folder} has files that are not from an export. Name a new or an empty folder.")
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if added := sorted(there - written - {_MARKER}):
        raise DataError(
            f"{folder} is an earlier export, but {added[0]} was added to it. Move it away, or name a "
            "new folder."
        )


def _files_of(folder: Path) -> set[str] | None:
    """The files of an earlier copy, by its marker; none where it has no valid one."""
    try:
        marker = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
        return (
            {str(name) for name in marker["files"]} if marker["made_by"] == "adjudge view --export" else None
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextlib.contextmanager
def new_folder(folder: Path) -> Any:
    """A folder beside the target, deleted where the export fails."""
    try:
        part = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.absolute().parent))
        (part / "pages").mkdir()
        (part / "static").mkdir()
    except OSError as fault:
        raise DataError(f"{folder} cannot be written: {fault.strerror}. Choose another place.") from fault
    try:
        yield part
    except OSError as fault:
        raise DataError(f"{folder} cannot be written: {fault.strerror}. Nothing was exported.") from fault
    finally:
        shutil.rmtree(part, ignore_errors=True)


def finish_folder(part: Path, files: Iterable[str]) -> None:
    """The list of files, which marks the folder as ours, and
    the usual rights instead of those of a temporary folder.
    """
    marker = {"made_by": "adjudge view --export", "version": __version__, "files": sorted(files)}
    (part / _MARKER).write_text(json.dumps(marker, indent=1), encoding="utf-8")
    mask = os.umask(0o022)
    os.umask(mask)
    part.chmod(0o777 & ~mask)


def put_in_place(part: Path, folder: Path) -> None:
    """Rename the complete copy; an earlier one is deleted only when the new one is there."""
    if not folder.exists():
        os.rename(part, folder)
        return
    if not any(folder.iterdir()):
        folder.rmdir()
        os.rename(part, folder)
        return
    check_target(folder)
    earlier = part.with_suffix(".earlier")
    os.rename(folder, earlier)
    os.rename(part, folder)
    shutil.rmtree(earlier, ignore_errors=True)
