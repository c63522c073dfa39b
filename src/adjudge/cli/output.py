"""Printing: tables for people, JSON for programs, and judged text that cannot act on the terminal."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from ..errors import DataError

# Judged text may hold escape sequences for the terminal and overrides of the writing direction.
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@contextlib.contextmanager
def whoever_reads() -> Iterator[None]:
    """Print, also where the reader of a pipe leaves early (`… | head`): the exit code must not depend on it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """One JSON value on standard output, indented, without escapes for other scripts.

    A runner of GitHub takes `##[…]` for a command wherever it stands in a line; written `#\\u0023[` it is the same JSON.
    The other form of a command, `::…::`, begins a line, which no string of a JSON value does.
    """
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.write(text.replace("##[", "#\\u0023[") + "\n")


def print_note(text: str) -> None:
    """Text that others wrote, on standard error; made harmless on a terminal and in a GitHub log."""
    if sys.stderr.isatty():
        text = _harmless(text)
    sys.stderr.write(_without_commands(text, sys.stderr))


def print_text(text: str) -> None:
    """Text that holds judged text: byte for byte into a pipe, made harmless on a terminal.

    In a GitHub log, lines that look like commands to the runner are kept from acting.
    """
    if sys.stdout.isatty():
        text = _harmless(text)
    sys.stdout.write(_without_commands(text + "\n", sys.stdout))


def _harmless(text: str) -> str:
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _without_commands(text: str, stream: IO[str]) -> str:
    """The text between the lines that turn a GitHub runner's commands off and on again, where it needs them.

    The runner reads `::name::` after leading spaces and `##[name]` anywhere in a line. It does not read a file.
    """
    is_runner = os.environ.get("GITHUB_ACTIONS") == "true" and ("::" in text or "##[" in text)
    if not is_runner or _is_file(stream):
        return text
    token = secrets.token_hex(16)
    end = "" if text.endswith("\n") else "\n"
    return f"::stop-commands::{token}\n{text}{end}::{token}::\n"


def _is_file(stream: IO[str]) -> bool:
    """Whether what is written goes to a file on the disk, such as the one behind `--markdown > FILE`."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, spare: Sequence[str] = ()) -> None:
    """A table in the width of the terminal, a list where it has no room; one line a row when it is piped.

    Columns named in `spare` may be left out on a narrow terminal, the first named first.
    """
    from rich.console import Console
    from rich.text import Text

    if not sys.stdout.isatty():
        _pipe_table(columns, rows)
        return
    from .layout import table_lines

    console = Console(highlight=False, markup=False, emoji=False)
    console.print()
    for text, style in table_lines(columns, rows, terminal_width(), spare):
        console.print(Text(text, style=style), soft_wrap=True)
    console.print()


def _pipe_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..report.terminal import safe

    table = Table(*(safe(name) for name in columns), box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(safe(cell)) for cell in row))
    # A program reads it line by line: the table is as wide as it has to be.
    wide = Console(width=1_000_000)
    console = Console(width=max(200, wide.measure(table).maximum))
    with console.capture() as captured:
        console.print(table)
    print_text(captured.get().removesuffix("\n"))


def terminal_width() -> int:
    """How many columns the terminal has; below forty, lines are as if it had them."""
    return max(40, shutil.get_terminal_size().columns)


def print_error(message: str) -> None:
    """An error for a person, on standard error, without a traceback. It may quote what stands in a user's file."""
    print_note(f"adjudge: {message}\n")


@contextlib.contextmanager
def writing(output: Path | None) -> Iterator[IO[bytes]]:
    """A file that appears whole or not at all, or standard output."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if output.is_dir():
        raise DataError(f"{output} is a folder. Give the name of a file with -o.")
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
