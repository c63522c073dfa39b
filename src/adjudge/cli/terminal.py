"""Prints results: sections and tables for people, JSON for programs. Escapes the names that users chose.

Sections as Markdown, for a pull request, a paper or a step summary.

Names come from users' files, so they are escaped: they cannot start a tag, a table cell, a link or a mention.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from ..errors import DataError
from ..sections import Bars, Interval, Section, Value, plain_lines, text_of
from ..untrusted import raw_stream, safe, safe_text
from ..words import Line, n_columns, prose

if TYPE_CHECKING:
    from ..analysis.item_view import AnswerView, CallView, ElementView

# Text, JSON and files


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

    A GitHub runner reads `##[…]` as a command anywhere in a line; written as `#\\u0023[` it is the same JSON. The other form,
    `::…::`, must begin a line, which no string in JSON does.
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
    """The text between lines that turn the commands of a GitHub runner off and on again, where that is needed.

    The runner reads `::name::` after leading spaces and `##[name]` anywhere in a line. It does not read files.
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
        _print_lines(_piped_table(columns, rows))


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


@contextlib.contextmanager
def writing(output: Path | None, *, is_replacing: bool = True) -> Iterator[IO[bytes]]:
    """A file that is written completely or not at all, or standard output: byte for byte into a pipe, escaped on a terminal."""
    if output is None:
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
    """A binary file as text. It is let go also after an error: otherwise Python closes standard output behind it."""
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


# Tables and prose in the width of a terminal: cells are wrapped between words, and nothing is cut.
#
# An interval, a share and a comparison stay on one line: half an interval reads as another number. A table that is still too
# wide becomes a list with a block for each row.


_GAP = "  "
_TALLEST = 4
"""With more lines than this per row, a list is easier to read."""

_LONGEST_CELL = 40
"""A last cell wider than this goes below its row."""

_SHORT_CELL = 22
"""Up to this width, cells of a list share a line."""

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
    """A table of at most `width` columns of text, or a list if it does not fit.

    The columns in `spare` are hidden, one after the other, if that makes the table fit; a note names them.
    """
    left_out: list[str] = []
    names, cells = [safe(name) for name in columns], [[safe(cell) for cell in row] for row in rows]
    while True:
        shown = [at for at, name in enumerate(names) if name not in left_out]
        heads, body = [names[at] for at in shown], [[row[at] for at in shown] for row in cells]
        # A column that may be hidden does not deserve a line of each row.
        if lines := _table(heads, body, width, with_remarks=heads[-1] not in spare):
            break
        if len(left_out) == len(spare):
            return _list(names, cells, width)
        left_out.append(spare[len(left_out)])
    if left_out:
        note = f"Columns hidden (terminal too narrow): {', '.join(reversed(left_out))}. --json has all."
        lines += [("", ""), *prose(" ", note, width, "dim")]
    return lines


def wrapped(text: str, width: int, lead: str = "") -> list[str]:
    """A text wrapped between words with a hanging indent; its leading spaces and bullet are kept."""
    match = _LEAD.match(text)
    mark = match[0] if match is not None else ""
    lines = prose(lead + mark, _bound(text[len(mark) :]), width)
    return [line.replace(_BOUND, " ").rstrip() for line, _ in lines]


def _bound(text: str) -> str:
    """The text with non-breaking spaces where a line must not be broken."""
    return _TOGETHER.sub(lambda match: match[0].replace(" ", _BOUND), text)


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, with_remarks: bool
) -> list[Line]:
    """The table; empty if it does not fit."""
    remarks = [""] * len(rows)
    if with_remarks and _is_prose(heads, rows) and _natural_width([heads, *rows]) > width:
        # A long text beside the numbers would take their room, so it goes on its own line below them.
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
    # Rows of several lines need an empty line between them.
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
    """The width of each column; none if not even the longest words fit."""
    columns = list(zip(*rows, strict=True))
    wanted = [max(map(n_columns, column)) for column in columns]
    widths = [max(map(_longest_word, column)) for column in columns]
    if sum(widths) > room:
        return None
    # Columns that need least come first, so that as many as possible stay on one line.
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
    """A cell wrapped between words, without an indent."""
    return [line.replace(_BOUND, " ") for line, _ in prose("", _bound(cell), width)]


def _list(heads: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> list[Line]:
    """A block for each row: its first cell, then the others that are not empty, short cells side by side."""
    lines: list[Line] = []
    for row in rows:
        if lines:
            lines.append(("", ""))
        first, *others = [(f"{head}: " if head else "", cell) for head, cell in zip(heads, row, strict=True)]
        lines += [(line, "bold") for line in wrapped(first[1], width, f" {first[0]}")]
        lines += [(line, "") for line in _flowing([entry for entry in others if entry[1]], width)]
    return lines


def _flowing(cells: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Cells with their heads: one line for each long cell, several short cells on one line."""
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


def section_lines(sections: Iterable[Section], width: int | None) -> list[Line]:
    """Sections wrapped to `width` columns; without a width, each line and each table row is one line."""
    lines: list[Line] = []
    has_gap = False
    for section in sections:
        if section.depth > 1 and not has_gap:
            lines.append(("", ""))
        lines += _paragraph(section.title, width, "bold")
        for text in plain_lines(section):
            lines += _paragraph(f"  {text}", width)
        for notice in section.notices:
            lines += _paragraph(f"  ! {notice.text}", width, "bold yellow" if notice.is_severe else "yellow")
        table = _section_table(section, width)
        lines += table
        for text in section.notes:
            lines += _paragraph(f"  {text}", width, "dim")
        # A table already ends with an empty line.
        has_gap = bool(table) and not section.notes
    return lines


def _paragraph(text: str, width: int | None, style: str = "") -> list[Line]:
    shown = safe(text)
    return [(line, style) for line in ([shown] if width is None else wrapped(shown, width))]


def _section_table(section: Section, width: int | None) -> list[Line]:
    """The table of a section between two empty lines; nothing if all cells are empty."""
    filled = section.filled()
    if not filled.columns:
        return []
    names = [column.name for column in filled.heads]
    rows = [[text_of(value) for value in row] for row in filled.rows]
    if width is None:
        return _piped_table(names, rows)
    spare = [column.name for column in filled.heads if column.is_spare]
    return [("", ""), *table_lines(names, rows, width, spare), ("", "")]


def _piped_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Line]:
    """As wide as needed: a program reads it line by line."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*(safe(name) for name in columns), box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(safe(cell)) for cell in row))
    wide = Console(width=1_000_000)
    console = Console(width=max(200, wide.measure(table).maximum), file=io.StringIO(), no_color=True)
    with console.capture() as captured:
        console.print(table)
    # Without the spaces that fill the last column: a pipe has no right edge.
    return [(text.rstrip(), "") for text in captured.get().removesuffix("\n").split("\n")]


_SPECIAL = re.compile(r"[&<>|`*_\[\]~\\$]")
_LINKING = re.compile(r"(?<=@)|(?<=#)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=GH)(?=-\d)", re.IGNORECASE)


def escaped(text: str) -> str:
    """A text that Markdown shows unchanged: no HTML, no table cell, no emphasis, no link, no mention."""
    # A zero-width space keeps GitHub from turning names into links and mentions.
    unlinked = _LINKING.sub("\u200b", safe(text))
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", unlinked)


def markdown_of(sections: Iterable[Section]) -> str:
    """Headings, paragraphs and tables, separated by empty lines."""
    return "\n\n".join(block for section in sections for block in _blocks(section.filled()))


def _blocks(section: Section) -> Iterator[str]:
    yield f"{'#' * section.depth} {escaped(section.title)}"
    yield from (escaped(line.strip()) for line in plain_lines(section))
    yield from (f"! {escaped(notice.text)}" for notice in section.notices)
    if section.columns:
        yield _markdown_table(section)
    yield from (escaped(note) for note in section.notes)


def _markdown_table(section: Section) -> str:
    """The table without its histograms, which need the spaces that Markdown drops."""
    kept = [
        at for at in range(len(section.columns)) if not any(isinstance(row[at], Bars) for row in section.rows)
    ]
    heads = [escaped(section.heads[at].name) for at in kept]
    rows = [[_cell(row[at]) for at in kept] for row in section.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(kept), *rows))


def _cell(value: Value) -> str:
    # An interval contains only numbers, so its brackets need no escape.
    return value.text if isinstance(value, Interval) else escaped(text_of(value))


# One call, verbatim


_AROUND = 40
"""How much of a reply is shown on either side of the place where a score was read."""


def call_text(item: str, call: CallView) -> str:
    """A call as the terminal shows it."""
    order = f", order {call.order}" if call.order == "ba" else ""
    lines = [f"=== {item} · {call.protocol} · {call.model}{order} · sample {call.sample} · {call.kind}"]
    lines += [f"--- {turn.role} ---\n{turn.content.text}" for turn in call.messages]
    if call.error is not None:
        lines.append(f"--- no reply: {call.error.kind} ---\n{call.error.message}")
    reply = call.reply.text if call.reply is not None else ""
    if call.reply is not None and call.kind != "combine":
        lines.append(f"--- reply ---\n{reply}")
    if call.is_judged:
        lines.append("--- read ---")
        searched = "source" if call.elements else "response"
        lines += [_answer_text(answer, reply, searched) for answer in call.answers]
        lines += [_element_text(element) for element in call.elements]
        if call.flags:
            lines.append(f"flags: {', '.join(call.flags)}")
    return "\n".join(lines) + "\n"


def _element_text(element: ElementView) -> str:
    """One element that a step has checked: verdict, text, place, evidence."""
    place = "not word for word in the text" if element.span is None else f"at {element.span[0]}"
    lines = [f"  {element.number}. [{element.verdict}] {element.text} ({place})"]
    for evidence in element.evidence:
        passage = f", passage {element.passage}" if element.passage is not None else ""
        is_found = element.grounded == 1.0 or bool(evidence.fields)
        lines.append(
            f'     evidence: "{evidence.text}" ({"found" + passage if is_found else "not found in the source"})'
        )
    return "\n".join(lines)


def _answer_text(answer: AnswerView, reply: str, searched: str = "response") -> str:
    subject = f"/{answer.subject}" if answer.subject else ""
    value = f"{answer.value:g}" if isinstance(answer.value, float) else answer.value or answer.status_text
    grounded = ""
    if answer.grounded is not None:
        grounded = f", {answer.grounded:.0%} of its evidence found in the {searched}"
    return f"{answer.name}{subject}: {value}{_source_text(answer, reply)}{grounded}"


def _source_text(answer: AnswerView, reply: str) -> str:
    """How an answer was read, and the text around the place in the reply."""
    if answer.how is None:
        return ""
    if answer.span is None:
        return f" ({answer.how})"
    start, end = answer.span
    before = reply[max(0, start - _AROUND) : start].replace("\n", " ")
    after = reply[end : end + _AROUND].replace("\n", " ")
    return f" ({answer.how}, at {start}: …{before}»{reply[start:end]}«{after}…)"
