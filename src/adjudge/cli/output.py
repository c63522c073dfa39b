"""Printing: tables for people, JSON for programs, and judged text that cannot act on the terminal."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import DataError

# Judged text may hold escape sequences for the terminal and overrides of the writing direction.
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def print_json(value: Any) -> None:
    """One JSON value on standard output, indented, without escapes for other scripts."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def print_note(text: str) -> None:
    """Text that a judge wrote, on standard error; made harmless on a terminal."""
    if sys.stderr.isatty():
        text = _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    sys.stderr.write(text)


def print_text(text: str) -> None:
    """Text that holds judged text: byte for byte into a pipe, made harmless on a terminal.

    In a GitHub log, lines that look like commands to the runner are kept from acting.
    """
    if sys.stdout.isatty():
        text = _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    if os.environ.get("GITHUB_ACTIONS") == "true" and "::" in text:
        token = secrets.token_hex(16)
        text = f"::stop-commands::{token}\n{text}\n::{token}::"
    sys.stdout.write(text + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> None:
    """A table as wide as the terminal; cut nowhere when it is piped."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    is_terminal = sys.stdout.isatty()
    Console(width=None if is_terminal else 200, soft_wrap=False).print(table)


def print_error(message: str) -> None:
    """An error for a person, on standard error, without a traceback."""
    sys.stderr.write(f"adjudge: {message}\n")


@contextlib.contextmanager
def writing(output: Path | None) -> Iterator[IO[bytes]]:
    """A file that appears whole or not at all, or standard output."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        handle, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
    except OSError as error:
        raise DataError(
            f"{output} cannot be written: {error.strerror}. Choose another place with -o."
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; an export is as open as any file of the user's.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, output)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
