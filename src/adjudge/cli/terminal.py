"""Prints results: text, tables and sections for people, JSON for
programs. Text of users and judges cannot act on a terminal or a log.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import msgspec

from ..sections import Section
from ..terminal.sections import section_lines
from ..terminal.tables import piped_table, table_lines
from ..terminal_text import Line
from ..untrusted import raw_stream, safe_text


@contextlib.contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Ignore a pipe that is closed early (`… | head`): the exit code must not depend on it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """One JSON value on standard output, indented, without escapes for other scripts.

    A GitHub runner reads `##[…]` as a command anywhere in a line; written as `#\\u0023[` it is the same JSON.
    The other form, `::…::`, must begin a line, which no string in JSON does.
    """
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.write(text.replace("##[", "#\\u0023[") + "\n")


def print_note(text: str) -> None:
    """Untrusted text on standard error; escaped on a terminal and in a GitHub log."""
    if sys.stderr.isatty():
        text = safe_text(text)
    sys.stderr.write(_without_commands(text, sys.stderr))


def print_text(text: str) -> None:
    """Text that contains judged text: unchanged into a pipe, escaped on a terminal.

    In a GitHub log, lines that look like runner commands are disabled.
    """
    if sys.stdout.isatty():
        text = safe_text(text)
    sys.stdout.write(_without_commands(text + "\n", sys.stdout))


def _without_commands(text: str, stream: IO[str]) -> str:
    """The text between lines that turn the commands of a GitHub runner off and on again, where that is
    needed.

    The runner reads `::name::` after leading spaces and `##[name]` anywhere in a line. It does not read
    files.
    """
    is_runner = os.environ.get("GITHUB_ACTIONS") == "true" and ("::" in text or "##[" in text)
    if not is_runner or _is_file(stream):
        return text
    token = secrets.token_hex(16)
    end = "" if text.endswith("\n") else "\n"
    return f"::stop-commands::{token}\n{text}{end}::{token}::\n"


def _is_file(stream: IO[str]) -> bool:
    """Whether a stream writes to a file on disk, as in `--markdown > FILE`."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, spare: Sequence[str] = ()) -> None:
    """A table in the width of the terminal, or a list if it is too narrow; one line per row into a pipe.

    Columns in `spare` may be hidden on a narrow terminal, in that order.
    """
    if sys.stdout.isatty():
        _print_lines([("", ""), *table_lines(columns, rows, terminal_width(), spare), ("", "")])
    else:
        _print_lines(piped_table(columns, rows))


def print_sections(sections: Iterable[Section]) -> None:
    """Wrapped to the width of the terminal; unwrapped into a pipe."""
    _print_lines(section_lines(sections, terminal_width() if sys.stdout.isatty() else None))


def _print_lines(lines: Sequence[Line]) -> None:
    """Lines that are already escaped: with styles on a terminal, as plain text into a pipe."""
    if not sys.stdout.isatty():
        print_text("\n".join(text for text, _ in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=raw_stream(sys.stdout), highlight=False, markup=False, emoji=False)
    for text, style in lines:
        console.print(Text(text, style=style), soft_wrap=True)


def terminal_width() -> int:
    """The width of the terminal in columns; at least 40."""
    return max(40, shutil.get_terminal_size().columns)


def print_error(message: str) -> None:
    """An error message on standard error, without a traceback. It may quote a user's file."""
    print_note(f"adjudge: {message}\n")
