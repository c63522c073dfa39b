"""Putting imported folders on the disk: all of them, or none.

The folders are built and loaded in a temporary place beside their destination, and renamed
into it at the end. Nothing that exists is ever overwritten.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ...errors import DataError, ProtocolError, problem_list
from ..folder import read_folder


class NewFolder(Struct, frozen=True):
    """A protocol folder to be: its name, and the text of each of its files."""

    name: str
    files: Mapping[str, str]


def file_text(prompt: str) -> str:
    """A prompt as the content of `user.md` or `system.md`, which is sent without one final newline."""
    return prompt + "\n"


def write_folders(folders: Sequence[NewFolder], to: Path) -> tuple[Path, ...]:
    """Write the folders below `to` and return their paths. A failure leaves nothing behind."""
    _refuse_existing(folders, to)
    created = _missing_parents(to)
    try:
        to.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=".adjudge-import-", dir=to))
    except OSError as error:
        _remove_empty(created)
        raise _cannot_write(to, error) from error
    is_done = False
    moved: list[Path] = []
    try:
        for folder in folders:
            _stage(staged / folder.name, folder)
        for folder in folders:
            (staged / folder.name).rename(to / folder.name)
            moved.append(to / folder.name)
        is_done = True
    except OSError as error:
        raise _cannot_write(to, error) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        if not is_done:
            for path in moved:
                shutil.rmtree(path, ignore_errors=True)
            _remove_empty(created)
    return tuple(moved)


def _refuse_existing(folders: Sequence[NewFolder], to: Path) -> None:
    if os.path.lexists(to) and not to.is_dir():
        raise DataError(f"{to}: this is not a folder. Name a folder, new or not, with --to DIR.")
    # A dangling link counts as something that exists.
    existing = [
        f"{folder.name}/ is already there." for folder in folders if os.path.lexists(to / folder.name)
    ]
    if existing:
        what_to_do = "Nothing was written. Name another folder with --to DIR, or move these away."
        raise ProtocolError(f"{problem_list(str(to), existing)}\n{what_to_do}")


def _stage(path: Path, folder: NewFolder) -> None:
    """Write one folder and load it: what was imported can be shown and checked at once."""
    path.mkdir()
    for name, text in folder.files.items():
        (path / name).write_bytes(text.encode("utf-8"))
    protocol, findings = read_folder(path, folder.name)
    if protocol is None:
        problems = [f"{Path(finding.file).name}: {finding.message} {finding.todo}" for finding in findings]
        what_to_do = "Nothing was written. Copy this prompt into a folder made by: adjudge protocols new DIR."
        raise ProtocolError(f"{problem_list(f'the import of {folder.name}', problems)}\n{what_to_do}")


def _missing_parents(to: Path) -> list[Path]:
    """The folders that have to be made for `to`, the innermost first."""
    return [path for path in (to, *to.parents) if not path.exists()]


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _cannot_write(to: Path, error: OSError) -> DataError:
    reason = error.strerror or str(error)
    return DataError(f"{to}: cannot write there ({reason}). Name a folder of yours with --to DIR.")
