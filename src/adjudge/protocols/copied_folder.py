"""A copy of a protocol's folder: the files that a protocol can consist of, and nothing else.

The folder may come from the manifest of a store that others wrote, so its name proves nothing.
"""

from __future__ import annotations

from pathlib import Path

from ..data import BrokenFileError, read_small
from ..errors import ProtocolError


def copy_folder(folder: Path, to: Path) -> None:
    """Write the texts and settings of a protocol's folder to a new one.

    Folders in it, hidden files, links out of it and files above 1 MB are no part of a protocol and stay.
    """
    if not (folder / "protocol.toml").is_file():
        raise ProtocolError(f"{folder}: no protocol folder, so it cannot be copied. Restore the folder.")
    to.mkdir(parents=True)
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            try:
                content = read_small(file)
            except BrokenFileError:
                continue
            (to / file.name).write_bytes(content)
