"""Reading the file that someone wants to import: text, or a clear reason why not.

This file knows bytes and limits. It does not know what a prompt looks like, and it decodes strictly: a prompt
whose bytes were guessed would no longer be the original.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from ...errors import DataError

LIMIT_BYTES = 5_000_000
"""Larger than any document of prompts that we know of; a larger file is surely something else."""

_OTHER_FORMATS = (".toml", ".csv", ".tsv", ".ipynb", ".html", ".xml", ".parquet")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Document(Struct, frozen=True):
    """A file of prompts: its name without folders, the sha256 of its bytes, and its text."""

    name: str
    sha256: str
    text: str

    @property
    def suffix(self) -> str:
        """The ending of the name, in small letters, with its dot."""
        return Path(self.name).suffix.lower()


def read_document(path: str | Path) -> Document:
    """The document at `path`. Raises `DataError` where it cannot be a document of prompts."""
    path = Path(path)
    content = _file_content(path)
    if path.suffix.lower() in _OTHER_FORMATS:
        raise DataError(
            f"{path}: a {path.suffix.lower()} file cannot be searched for prompts. "
            "Save the prompts in a .md file, one under each heading or in each fence, and import that."
        )
    if content.startswith(_UTF16_MARKS):
        raise DataError(f"{path}: the text is in UTF-16. Save it as UTF-8 and import it again.")
    if b"\0" in content:
        raise DataError(
            f"{path}: this is a binary file (a zero byte at position {content.index(0)}). "
            "Give a text file that holds prompts."
        )
    try:
        # A byte order mark belongs to the encoding, not to the text.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path} line {line}: byte {error.start} is not UTF-8. "
            "Save the file as UTF-8; nothing was guessed, so that no character of a prompt changes."
        ) from error
    return Document(path.name, hashlib.sha256(content).hexdigest(), text)


def _file_content(path: Path) -> bytes:
    """The bytes of a regular file within the limit."""
    try:
        if path.is_dir():
            raise DataError(f"{path}: this is a folder. Give one file of prompts.")
        if not path.exists():
            raise DataError(f"{path}: there is no such file. Check the path.")
        if not path.is_file():
            raise DataError(f"{path}: this is not a regular file. Give a file of prompts.")
        with path.open("rb") as file:
            # One byte more than allowed tells a large file without reading all of it.
            content = file.read(LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path}: the file cannot be read ({error}). Check the path and its rights."
        ) from error
    if len(content) > LIMIT_BYTES:
        size = path.stat().st_size / 1e6
        raise DataError(
            f"{path}: {size:.1f} MB is more than the {LIMIT_BYTES / 1e6:.0f} MB that a document of "
            f"prompts may "
            "have. Cut out the part with the prompts and import that."
        )
    return content
