"""Writing a commented protocol folder for a user to start from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ..errors import ProtocolError

_FILES = ("protocol.toml", "user.md", "cases.toml", "NOTES.md")


def write_starter(folder: Path) -> None:
    """Write the starter into a new folder; an existing one is never touched."""
    if folder.exists():
        raise ProtocolError(f"{folder} already exists. Choose a new folder; nothing was written.")
    try:
        folder.mkdir(parents=True)
        for name in _FILES:
            text = resources.files(__package__).joinpath("starter", name).read_bytes()
            (folder / name).write_bytes(text)
    except OSError as error:
        raise ProtocolError(f"{folder} cannot be written: {error.strerror}. Choose another place.") from error
