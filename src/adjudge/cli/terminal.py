"""Sections of text and tables on a terminal or as Markdown. Names in them are users': here they are made harmless."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from ..analysis.report_words import Line, n_columns, prose
from ..errors import DataError
from ..sections import Section
from ..untrusted import safe, safe_text

# Printing: tables for people, JSON for programs, and judged text that cannot act on the terminal.


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
        text = safe_text(text)
    sys.stderr.write(_without_commands(text, sys.stderr))


def print_text(text: str) -> None:
    """Text that holds judged text: byte for byte into a pipe, made harmless on a terminal.

    In a GitHub log, lines that look like commands to the runner are kept from acting.
    """
    if sys.stdout.isatty():
        text = safe_text(text)
    sys.stdout.write(_without_commands(text + "\n", sys.stdout))


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


# Tables and prose in the width of a terminal: cells are broken between words, and nothing is ever cut.
#
# An interval, a share and a comparison stay in one piece: half an interval reads as another number. A table that has no room
# even so becomes a list, a block for each row. Nothing here knows what is shown, or prints.


_GAP = "  "
_TALLEST = 4
"""Lines of one row, beyond which a list is easier to read."""

_LONGEST_CELL = 40
"""Columns of text, beyond which the last cell of a row is a remark."""

_SHORT_CELL = 22
"""Columns of text, up to which a cell with its head shares its line in a list."""

_BOUND = "\N{NO-BREAK SPACE}"
_TOGETHER = re.compile(
    r"\[[^\[\]\n]{0,32}\]"  # an interval, or the head of a column of them
    r"|(?<=[\d)]) (?=%)"
    r"|(?<=[<>=≤≥±]) (?=[\d.-])"
    r"|(?<=\w) (?=[<>=≤≥] [\d.-])"
    r"| ?(?<=[\d %])/ ?(?=[\d ])"
)
_LEAD = re.compile(r" *(?:[!*•-] )?")


def table_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, spare: Sequence[str] = ()
) -> list[Line]:
    """A table in so many columns of text; a list where there is no room for one.

    The columns named in `spare` are left out, one after the other, where that saves the table; what is left out is said.
    """
    left_out: list[str] = []
    names, cells = [safe(name) for name in columns], [[safe(cell) for cell in row] for row in rows]
    while True:
        shown = [at for at, name in enumerate(names) if name not in left_out]
        heads, body = [names[at] for at in shown], [[row[at] for at in shown] for row in cells]
        # What may be left out is not worth a line for each row.
        if lines := _table(heads, body, width, with_remarks=heads[-1] not in spare):
            break
        if len(left_out) == len(spare):
            return _list(names, cells, width)
        left_out.append(spare[len(left_out)])
    if left_out:
        said = f"Left out for want of room: {', '.join(reversed(left_out))}. A wider terminal and --json have all."
        lines += [("", ""), *prose(" ", said, width, "dim")]
    return lines


def wrapped(text: str, width: int, lead: str = "") -> list[str]:
    """A text broken between words; the lines after the first stand under it. Its own indent and mark stay in front."""
    own = _LEAD.match(text)
    mark = own[0] if own is not None else ""
    found = prose(lead + mark, _bound(text[len(mark) :]), width)
    return [line.replace(_BOUND, " ").rstrip() for line, _ in found]


def _bound(text: str) -> str:
    """The text with spaces that no line may be broken at."""
    return _TOGETHER.sub(lambda found: found[0].replace(" ", _BOUND), text)


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, with_remarks: bool
) -> list[Line]:
    """The table; nothing where it has no room."""
    remarks = [""] * len(rows)
    if with_remarks and _is_prose(heads, rows) and _natural_width([heads, *rows]) > width:
        # Beside the numbers a long text takes the room of all of them; below them it has a line of its own.
        remarks = [f"{heads[-1]}: {row[-1]}" if row[-1] else "" for row in rows]
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    widths = _widths([heads, *rows], width - 1 - len(_GAP) * (len(heads) - 1))
    if widths is None:
        return []
    head, *blocks = [_block(row, widths) for row in (heads, *rows)]
    if any(len(block) > _TALLEST for block in (head, *blocks)):
        return []
    blocks = [
        [*block, *(wrapped(remark, width, "   ") if remark else [])]
        for block, remark in zip(blocks, remarks, strict=True)
    ]
    # Where most rows take several lines, something between them has to tell them apart.
    is_tall = 2 * sum(len(block) > 1 for block in blocks) > len(rows)
    lines: list[Line] = [(line, "bold") for line in head]
    lines.append((" " + "─" * (sum(widths) + len(_GAP) * (len(widths) - 1)), ""))
    for at, block in enumerate(blocks):
        lines += ([("", "")] if is_tall and at else []) + [(line, "") for line in block]
    return lines


def _is_prose(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    return len(heads) > 2 and max((n_columns(row[-1]) for row in rows), default=0) > _LONGEST_CELL


def _natural_width(rows: Sequence[Sequence[str]]) -> int:
    columns = list(zip(*rows, strict=True))
    return 1 + len(_GAP) * (len(columns) - 1) + sum(max(map(n_columns, column)) for column in columns)


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """How wide each column is; nothing where the longest words alone have no room."""
    columns = list(zip(*rows, strict=True))
    wanted = [max(map(n_columns, column)) for column in columns]
    widths = [max(map(_longest_word, column)) for column in columns]
    if sum(widths) > room:
        return None
    # Those that lack least come first: as many columns as possible stay on one line.
    for at in sorted(range(len(widths)), key=lambda at: wanted[at] - widths[at]):
        widths[at] += min(wanted[at] - widths[at], room - sum(widths))
    return widths


def _longest_word(cell: str) -> int:
    return max(map(n_columns, _bound(cell).split(" ")))


def _block(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of one row."""
    cells = [_cell_lines(cell, wide) if cell else [] for cell, wide in zip(row, widths, strict=True)]
    lines = []
    for at in range(max(1, *map(len, cells))):
        parts = [cell[at] if at < len(cell) else "" for cell in cells]
        padded = [part + " " * (wide - n_columns(part)) for part, wide in zip(parts, widths, strict=True)]
        lines.append(" " + _GAP.join(padded).rstrip())
    return lines


def _cell_lines(cell: str, width: int) -> list[str]:
    """A cell broken between words, without an indent."""
    return [line.replace(_BOUND, " ") for line, _ in prose("", _bound(cell), width)]


def _list(heads: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> list[Line]:
    """A block for each row: its first cell, then the others that are not empty, short ones side by side."""
    lines: list[Line] = []
    for row in rows:
        if lines:
            lines.append(("", ""))
        first, *others = [(f"{head}: " if head else "", cell) for head, cell in zip(heads, row, strict=True)]
        lines += [(line, "bold") for line in wrapped(first[1], width, f" {first[0]}")]
        lines += [(line, "") for line in _flowing([one for one in others if one[1]], width)]
    return lines


def _flowing(cells: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Cells under their heads: a line for each long one, as many short ones on a line as it holds."""
    lines: list[str] = []
    is_open = False
    for head, cell in cells:
        text = head + cell
        is_short = n_columns(text) <= _SHORT_CELL
        if is_short and is_open and n_columns(f"{lines[-1]} · {text}") <= width:
            lines[-1] += f" · {text}"
        else:
            lines += [f"   {text}"] if is_short else wrapped(cell, width, f"   {head}")
        is_open = is_short
    return lines


def print_sections(parts: Iterable[Section]) -> None:
    """Broken between words to the width of a terminal; a line for each line when it is piped."""
    has_gap = False
    for part in parts:
        if part.depth > 1 and not has_gap:
            print_text("")
        _print_line(safe(part.title))
        for line in part.lines:
            _print_line(f"  {safe(line)}")
        sys.stdout.flush()
        has_table = any(any(row) for row in part.rows)
        if has_table:
            print_table(*_without_empty(part.columns, part.rows))
        # A table on a terminal has ended with an empty line already.
        has_gap = has_table and sys.stdout.isatty()


def _print_line(text: str) -> None:
    if not sys.stdout.isatty():
        print_text(text)
        return

    for line in wrapped(text, terminal_width()):
        print_text(line)


def markdown_of(parts: Iterable[Section]) -> str:
    """For a paper, a pull request or a step summary."""
    from ..analysis.report_words import escaped

    blocks = []
    for part in parts:
        blocks.append(f"{'#' * part.depth} {escaped(part.title)}")
        blocks += [escaped(line.strip()) for line in part.lines]
        if part.rows:
            columns, rows = _without_empty(part.columns, part.rows)
            lines = [
                [escaped(name) for name in columns],
                ["---"] * len(columns),
                *([escaped(cell) for cell in row] for row in rows),
            ]
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(blocks)


def _without_empty(
    columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """The table without remarks that no row has."""
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    return [columns[i] for i in kept], [[row[i] for i in kept] for row in rows]
