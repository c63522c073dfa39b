"""The file that a command writes, complete or not at all; or standard output."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from ..errors import DataError
from ..untrusted import safe_text

STANDARD_OUTPUT = Path("-")
"""what `-o -` names, as in other commands of a shell"""


@contextlib.contextmanager
def writing(output: Path | None, *, is_replacing: bool = True) -> Iterator[IO[bytes]]:
    """A file that is written completely or not at all, or standard
    output: byte for byte into a pipe, escaped on a terminal.
    """
    if output is None or output == STANDARD_OUTPUT:
        file: Any = _TerminalBytes() if sys.stdout.isatty() else sys.stdout.buffer
        yield file
        file.flush()
        sys.stdout.flush()
        return
    try:
        with _new_file(output, is_replacing) as file:
            yield file
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise DataError(f"{output} cannot be written: {reason}. Choose another place with -o.") from error


@contextlib.contextmanager
def _new_file(output: Path, is_replacing: bool) -> Iterator[IO[bytes]]:
    if output.is_dir():
        raise DataError(f"{output} is a folder. Give the name of a file with -o.")
    # The name of the temporary file may not be longer than the file's own.
    handle, name = tempfile.mkstemp(dir=output.parent, prefix=".adjudge-")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; an export gets the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        if is_replacing:
            os.replace(name, output)
        else:
            os.link(name, output)  # fails where the file exists
            os.unlink(name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def as_text(file: IO[bytes]) -> Iterator[IO[str]]:
    """A binary file as text. It is let go also after an error:
    otherwise Python closes standard output behind it.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    try:
        yield text
    finally:
        text.detach()


class _TerminalBytes(io.BufferedIOBase):
    """A terminal as a binary file; what is written to it is made harmless."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        sys.stdout.write(safe_text(self._decoder.decode(bytes(data)).replace("\r\n", "\n")))
        return len(data)


def write_rows(rows: Sequence[dict[str, Any]], output: Path | None) -> None:
    import msgspec

    with writing(output) as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")
