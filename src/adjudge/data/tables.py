"""Input tables as streams of rows with their numbers: JSONL, a JSON list, CSV, TSV, Parquet, Excel; also .gz.

A table may also come from standard input (`-`) or from the Hugging Face hub (`hf://…`). Knows nothing of what the rows are about: items, labels, examples and recorded replies are read on
top of this. A bad row is reported and the stream continues, so that one pass finds every problem;
where nothing after a fault can be trusted, the stream ends with `BrokenFileError`.
"""

from __future__ import annotations

import atexit
import codecs
import csv
import datetime
import decimal
import gzip
import io
import json
import math
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NoReturn

import msgspec

from ..errors import DataError, listed

if TYPE_CHECKING:
    import polars

    PolarsFrame = polars.DataFrame

# Files as lines of UTF-8. Handles gzip, byte order marks and UTF-16. Memory is bounded by one block
# and one line, also for a file without line ends or a gzip bomb. The encoding is never guessed: bytes
# that are not UTF-8 are reported by the reader of the line.


BLOCK = 1 << 18
LINE_LIMIT = 64_000_000
"""Bytes in one line. A longer line is cut one byte behind this length, so that it can be reported."""

SMALL_LIMIT = 1_000_000
"""Bytes in a text of a protocol, a rubric, examples or a run file."""

WHOLE_LIMIT = 500_000_000
"""Bytes in a file that is held in memory, such as a JSON list."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order mark → encoding. UTF-32-LE comes first, because its mark begins with that of UTF-16-LE."""

_GZIP_MAGIC = b"\x1f\x8b"


class BrokenFileError(DataError):
    """The rest of the file cannot be read. `problem` is the message without the file's name."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.problem = problem


class BadRowError(ValueError):
    """One row, or one field of it, cannot be used; the text says why and what to do."""


def is_gzip(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def read_small(path: Path, folder: Path | None = None) -> bytes:
    """The bytes of a short file that goes to a judge or decides what does: part of a protocol, a rubric, a run file.

    It must be a regular file inside `folder` (its own folder where none is given): a link in a folder that somebody sent
    could otherwise pass on a file of the user's, and a device or a pipe would never end. `BrokenFileError` says what is
    wrong; a missing file is a `FileNotFoundError`.
    """
    try:
        home = os.path.realpath(path.parent if folder is None else folder)
        real = os.path.realpath(path, strict=True)
        if not real.startswith(os.path.join(home, "")):
            raise BrokenFileError(
                path, f"a link out of its folder, to {real}. Copy the file into the folder."
            )
        if not stat.S_ISREG(os.stat(real).st_mode):
            raise BrokenFileError(path, "not a regular file. Put a text file in its place.")
        # Without blocking: the file may have been replaced by a pipe in the meantime.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(real, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BrokenFileError(path, "not a regular file. Put a text file in its place.")
            data = file.read(SMALL_LIMIT + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise BrokenFileError(
            path, f"cannot be read ({reason}). Check the path and its permissions."
        ) from None
    if len(data) > SMALL_LIMIT:
        raise BrokenFileError(path, f"larger than {SMALL_LIMIT // 1_000_000} MB. Shorten it.")
    return data


def read_small_text(path: Path) -> str:
    """A short file as text; UTF-16 and byte order marks are understood."""
    try:
        data = read_small(path)
    except FileNotFoundError:
        raise BrokenFileError(path, "there is no such file. Check the name and the folder.") from None
    return read_text(path, iter((data,)))


def blocks(path: Path, raw: Iterator[bytes] | None = None) -> Iterator[bytes]:
    """The file in blocks of UTF-8, decompressed, without a byte order mark; `raw` where it was read already."""
    raw = raw_blocks(path) if raw is None else raw
    head = next(raw, b"")
    if head.startswith(_GZIP_MAGIC):
        raise BrokenFileError(path, "holds gzip data. Give it a name that ends in .gz.")
    encoding, mark = _encoding(head)
    if encoding == "utf-8":
        yield head[mark:]
        yield from raw
    else:
        yield from _recoded(path, encoding, head[mark:], raw)


def batches(path: Path) -> Iterator[list[bytes]]:
    """The file's lines in lists, without line feeds: yielding each line would cost as much as decoding it."""
    tail: list[bytes] = []
    size = 0
    for block in blocks(path):
        lines = block.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join((*tail, lines[0]))
            tail, size = [], 0
            last = lines.pop()
            yield lines
        else:
            last = block
        # The rest of a line beyond the limit is dropped; what is kept is one byte too long.
        if last and size <= LINE_LIMIT:
            tail.append(last[: LINE_LIMIT + 1 - size])
            size += len(last)
    if tail:
        yield [b"".join(tail)]


def read_text(path: Path, raw: Iterator[bytes] | None = None) -> str:
    """A file as one text; `BrokenFileError` where it is not UTF-8 or far too large."""
    data = bytearray()
    for block in blocks(path, raw):
        data += block
        if len(data) > WHOLE_LIMIT:
            limit = f"{WHOLE_LIMIT // 1_000_000} MB"
            raise BrokenFileError(
                path, f"larger than {limit}, and read as a whole. Give its rows as JSONL, which streams."
            )
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            _decoded(line)
        except BadRowError as bad:
            raise BrokenFileError(path, f"line {number}: {bad}") from None
    return data.decode("utf-8")


def utf8(line: bytes) -> str:
    """The line as text; `BadRowError` names the byte that is not UTF-8, a NUL, or the length."""
    if len(line) > LINE_LIMIT:
        limit = f"{LINE_LIMIT // 1_000_000} MB"
        raise BadRowError(f"longer than {limit}. Shorten its fields, or leave the item out.")
    return _decoded(line)


def _decoded(line: bytes | bytearray) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode("utf-8")) + 1
        raise BadRowError(
            f"not UTF-8 (byte 0x{line[error.start]:02x} at column {column}). "
            "Save the file as UTF-8; adjudge does not guess the encoding."
        ) from None
    if "\0" in text:
        raise BadRowError(f"NUL character at column {text.index(chr(0)) + 1}. Remove it.")
    return text


def raw_blocks(path: Path) -> Iterator[bytes]:
    """The file's bytes, decompressed where its name ends in .gz; disk errors become `BrokenFileError`."""
    try:
        with gzip.open(path, "rb") if is_gzip(path) else path.open("rb", buffering=0) as file:
            while block := file.read(BLOCK):
                yield block
    except gzip.BadGzipFile as error:
        raise BrokenFileError(
            path, f"not gzip data ({error}). Compress it again, or remove .gz from its name."
        ) from None
    except (EOFError, zlib.error) as error:
        raise BrokenFileError(
            path, f"gzip data is damaged ({error}). Copy or compress the file again."
        ) from None
    except FileNotFoundError:
        raise BrokenFileError(path, "there is no such file. Check the name and the folder.") from None
    except IsADirectoryError:
        raise BrokenFileError(path, "a folder, not a file. Name one file in it.") from None
    except PermissionError:
        raise BrokenFileError(path, "permission denied. Check its permissions.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise BrokenFileError(path, f"cannot be read ({error}). Check the path and the disk.") from None


def _encoding(head: bytes) -> tuple[str, int]:
    """The encoding by a file's first bytes, and the length of their byte order mark."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding, len(mark)
    return _encoding_without_mark(head[:512]), 0


def _encoding_without_mark(sample: bytes) -> str:
    """UTF-16 has a NUL in the two bytes of each ASCII letter; in UTF-8 a NUL is rare.

    The first letter, which is ASCII in JSON and in most headers, shows the byte order; otherwise the
    side with more NULs does, though letters such as 一 (U+4E00) have theirs on the other side.
    """
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if len(sample) < 2 or (even + odd) * 10 < len(sample):
        return "utf-8"
    first, second = sample[:2]
    if (first == 0) != (second == 0):
        return "utf-16-be" if first == 0 else "utf-16-le"
    return "utf-16-be" if even > odd else "utf-16-le"


def _recoded(path: Path, encoding: str, head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks in another encoding as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    block: bytes | None = head
    while True:
        try:
            text = decoder.decode(block or b"", final=block is None)
        except UnicodeDecodeError as error:
            name = encoding[:6].upper()
            raise BrokenFileError(
                path, f"at or after line {line}: not valid {name} ({error.reason}). Save the file as UTF-8."
            ) from None
        line += text.count("\n")
        yield text.encode("utf-8")
        if block is None:
            return
        block = next(rest, None)


# Formula injection: a spreadsheet runs a cell that begins with one of a few characters. Our exports put an
# apostrophe before such a cell, and before a cell that begins with an apostrophe. It is removed again only below
# a header that we wrote (an export, items drawn to be labelled, replies drawn to be checked).


EXPORT_HEADER = (
    "item", "system", "group", "protocol", "criterion", "subject", "model", "score", "normalized", "status", "how",
    "estimator", "samples", "n_failed", "choice", "confidence", "explanation", "system_a", "system_b", "flags",
)  # fmt: skip
"""The columns of an export; a file with this header is recognised as one."""

_DRAWN_HEADERS = ({"rater", "value", "probability"}, {"reply", "read", "status", "right"})
"""Columns of the files that are drawn to be filled in. They begin with item and criterion; users may add columns."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
"""With the full-width signs, which spreadsheets of East Asian locales treat like the ASCII ones."""


def _is_written_by_us(header: Sequence[str]) -> bool:
    """Whether `guarded` was applied to the cells below this header."""
    if tuple(header) in (EXPORT_HEADER, (*EXPORT_HEADER, "low", "high")):
        return True
    return tuple(header[:2]) == ("item", "criterion") and any(
        columns <= set(header) for columns in _DRAWN_HEADERS
    )


def guarded(text: str) -> str:
    """The text as a cell that no spreadsheet runs as a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def unguarded(cell: str) -> str:
    """The inverse of `guarded`."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell


# JSON objects as rows: a fast path for usual lines, an exact one for the others. Numbers are kept as
# written (`Number`). What JSON parsers usually accept silently is refused: duplicate keys, NaN, lone
# surrogates, NULs.


Row = dict[str, Any]
Report = Callable[[int, str], None]
"""Takes the number of a bad row (its line or its record number) and what is wrong with it."""

FIELD_LIMIT = 10_000_000
"""Bytes of UTF-8 in one field: 10 MB."""

ONE_OBJECT = "Each line must be one JSON object"

_BACKSLASH, _MINUS, _TAB, _RETURN = b"\\-\t\r"  # searching one byte is far faster than two
_MINUS_ZERO = re.compile(rb"[:\[,]\s*-0\s*[,\]}]")
_KEY_END = re.compile(rb'"\s*:')
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u(0000|[dD][89a-fA-F]..)|.)")
"""Any escape in valid JSON. A surrogate pair is one match, so group 1 holds a NUL or half a pair; an escaped
backslash is one match, so the u0000 after it is plain text."""
_MAYBE_BAD_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str)
"""Finds where an entry ends; numbers as texts, because int() refuses thousands of digits."""
_SPACE = re.compile(r"[ \t\r\n]*")


class Number(str):
    """A number as it is written in the file: 4.50 stays 4.50."""

    __slots__ = ()


_decode: Callable[[bytes], Row] = msgspec.json.Decoder(Row, float_hook=Number).decode


def jsonl_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """Each line's object with its line number; blank lines are skipped."""
    number = 0
    for batch in batches(path):
        for line in batch:
            number += 1
            try:
                row = _decode(line)
                # As many colons as keys: no key is repeated. This suffices for most lines.
                if (
                    (line.count(b":") != len(row) and _may_repeat_keys(line, row))
                    or (_BACKSLASH in line and b"\\u0000" in line)
                    or (_MINUS in line and b"-0" in line and _MINUS_ZERO.search(line) is not None)
                    or len(line) > FIELD_LIMIT
                ):
                    row = exact(line)
            except (ValueError, RecursionError):  # msgspec's errors and BadRowError are ValueErrors
                # The exact reader decides: it says what is wrong, and accepts some lines that msgspec does not.
                if not line.strip():
                    continue
                try:
                    row = exact(line)
                except BadRowError as bad:
                    report(number, str(bad))
                    continue
            yield number, row


def list_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """The objects of a JSON list with their numbers from 1. The file is held in memory."""
    text = read_text(path)
    for number, entry in enumerate(_entries(path, text), start=1):
        try:
            row = exact(entry.encode("utf-8"), "Each entry of the list must be one JSON object")
        except BadRowError as bad:
            report(number, str(bad))
        else:
            yield number, row


def exact(line: bytes, rule: str = ONE_OBJECT) -> Row:
    """The object with all checks, slowly; `BadRowError` says what is wrong with it."""
    text = utf8(line)
    try:
        row = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_float=Number,
            parse_int=Number,
            parse_constant=_refuse_constant,
        )
        if isinstance(row, dict):
            refuse_long_fields(row)
    except json.JSONDecodeError as error:
        reason = error.msg[0].lower() + error.msg[1:]
        reason = reason.removesuffix(" at").removesuffix(" starting")
        raise BadRowError(
            f"not JSON ({reason} at column {error.colno}). {rule}, with keys and texts in double quotes."
        ) from None
    except RecursionError:
        raise BadRowError("nested too deeply. Flatten it, or give the inner part as a text.") from None
    if not isinstance(row, dict):
        raise BadRowError(f'{_kind(row)}, not an object. {rule}, such as {{"id": "1", …}}.')
    _refuse_escapes(text)
    return row


def texts(value: object) -> Iterator[str]:
    """Every text in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from texts(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield key
            yield from texts(entry)


def refuse_long_fields(row: Row) -> None:
    """`BadRowError` where a field is beyond the limit."""
    for key, value in row.items():
        if isinstance(value, str) and len(value) * 4 <= FIELD_LIMIT:
            continue  # a character has at most four bytes
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts(value))
        if size > FIELD_LIMIT:
            raise BadRowError(
                f"field '{key:.80}' has {size / 1e6:.1f} MB ({size} bytes); "
                f"the limit is {FIELD_LIMIT // 1_000_000} MB. Shorten it, or leave the item out."
            )


def json_text(value: object) -> str:
    """A value as JSON, with its numbers as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        members = (
            f"{json.dumps(key, ensure_ascii=False)}: {json_text(entry)}" for key, entry in value.items()
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _may_repeat_keys(line: bytes, row: Row) -> bool:
    """Whether the line may have more keys than the row on all levels; a false alarm is possible, a miss is not."""
    if b" :" in line or _TAB in line or _RETURN in line:
        n_keys = len(_KEY_END.findall(line))
    else:
        n_keys = line.count(b'":')
    return n_keys != len(row) and n_keys != _count_keys(row)


def _count_keys(value: object) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(entry) for entry in value.values() if type(entry) in (dict, list))
    if isinstance(value, list):
        return sum(_count_keys(entry) for entry in value if type(entry) in (dict, list))
    return 0


def _unique_keys(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) != len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise BadRowError(f"key '{repeated:.80}' is given twice. Keep one of them.")
    return row


def _refuse_constant(name: str) -> NoReturn:
    raise BadRowError(
        f"{name} is not JSON. Write null where there is no value, or give the number as a text."
    )


def _refuse_escapes(text: str) -> None:
    """`BadRowError` where an escape stands for a NUL, or for half a surrogate pair."""
    for match in _ESCAPE.finditer(text) if _MAYBE_BAD_ESCAPE.search(text) else ():
        if match[1] is None:
            continue
        if match[1] == "0000":
            raise BadRowError(f"NUL character (\\u0000) at column {match.start() + 1}. Remove it.")
        raise BadRowError(
            f"lone surrogate \\u{match[1]} at column {match.start() + 1}, half a character. "
            "Write the text again from its source; cutting an emoji in half causes this."
        )


def _kind(value: object) -> str:
    if isinstance(value, list):
        return "a list"
    if isinstance(value, Number):
        return "a number"
    return "a text" if isinstance(value, str) else "null" if value is None else "true or false"


def _entries(path: Path, text: str) -> Iterator[str]:
    """The source text of each entry of a JSON list."""
    at = _after_space(text, 0)
    if at == len(text):
        return
    if text[at] != "[":
        raise BrokenFileError(
            path,
            "not a list. A .json file must hold a list of objects; "
            "name it .jsonl if it has one object per line.",
        )
    at = _after_space(text, at + 1)
    closed = text[at : at + 1] == "]"
    while not closed:
        end = _entry_end(path, text, at)
        yield text[at:end]
        at = _after_space(text, end)
        closed = text[at : at + 1] == "]"
        if not closed and text[at : at + 1] != ",":
            raise BrokenFileError(
                path, f"{_position(text, at)}: expected a comma or the closing bracket. Complete the list."
            )
        at = at if closed else _after_space(text, at + 1)
    at = _after_space(text, at + 1)
    if at < len(text):
        raise BrokenFileError(
            path, f"{_position(text, at)}: text after the list's end. Remove it; the file must hold one list."
        )


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _entry_end(path: Path, text: str, at: int) -> int:
    """Where the entry that begins at `at` ends."""
    try:
        return _SCANNER.raw_decode(text, at)[1]
    except json.JSONDecodeError as error:
        where = _position(text, error.pos)
        raise BrokenFileError(
            path, f"{where}: not JSON ({error.msg}). Correct it; the file must hold one list of objects."
        ) from None
    except RecursionError:
        raise BrokenFileError(
            path, f"{_position(text, at)}: nested too deeply. Flatten the entry that begins there."
        ) from None


def _position(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line} column {at - text.rfind(chr(10), 0, at)}"


# CSV and TSV as rows: a header, then records, which may span lines. Strict: a record with a wrong number
# of cells or unclosed quotes is a problem.


def csv_rows(path: Path, report: Report, delimiter: str) -> Iterator[tuple[int, Row]]:
    """The rows below the header with the lines at which they start.

    An empty cell is an absent field; an empty line is no row.
    """
    # The limit is global to the process, so it is only ever raised. It also bounds the cell that an
    # unclosed quote makes.
    csv.field_size_limit(max(csv.field_size_limit(), LINE_LIMIT))
    source = _TextLines(path)
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    header = _header(path, source, reader)
    if delimiter == "," and len(header) == 1 and (other := _other_delimiter(header[0])):
        yield from csv_rows(path, report, other)
        return
    has_guards = _is_written_by_us(header)
    while True:
        start = source.number + 1
        try:
            cells = next(reader, None)
            source.refuse_bad(start)
            if cells is None:
                return
            row = _csv_row(header, [unguarded(cell) for cell in cells] if has_guards else cells)
        except BadRowError as bad:
            report(start, str(bad))
        except csv.Error as error:
            problem = _csv_problem(error)
            # After an unclosed quote that spans lines, no row starts where it seems to.
            if source.has_ended or source.number > start:
                raise BrokenFileError(path, f"line {start}: {problem}") from None
            report(start, problem)
        else:
            if row:
                yield start, row


def _other_delimiter(cell: str) -> str | None:
    """The delimiter of a header that has no comma. Spreadsheets of many locales write semicolons to a .csv file."""
    return max((sign for sign in ";\t" if sign in cell), key=cell.count, default=None)


def _header(path: Path, source: _TextLines, reader: Iterator[list[str]]) -> list[str]:
    """The first line that has cells. Without a header no row has names, so every problem ends the file."""
    header: list[str] = []
    start = 1
    try:
        while not header:
            start = source.number + 1
            header = next(reader)
            source.refuse_bad(start)
    except StopIteration:
        return []
    except BadRowError as bad:
        raise BrokenFileError(path, f"line {start}: {bad}") from None
    except csv.Error as error:
        raise BrokenFileError(path, f"line {start}: {_csv_problem(error)}") from None
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        names = ", ".join(f"'{name:.80}'" for name in repeated)
        raise BrokenFileError(
            path, f"line {start}: the header names {names} more than once. Give each column its own name."
        )
    return header


def _csv_row(header: list[str], cells: list[str]) -> Row:
    if not cells:
        return {}
    if len(cells) != len(header):
        noun = "cell" if len(cells) == 1 else "cells"
        raise BadRowError(
            f"{len(cells)} {noun} where the header has {len(header)}. "
            "Quote a cell that holds the separator or a line end; leave missing cells empty."
        )
    row = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
    if sum(map(len, cells)) * 4 > FIELD_LIMIT:
        refuse_long_fields(row)
    # A row of empty cells is still a row: what it lacks is reported with its number.
    return row or {header[0]: None}


def _csv_problem(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end" in text:
        return (
            "a quote that opens in this row is never closed. "
            "Close it, or double a quote that belongs to the text."
        )
    if "field limit" in text:
        return (
            f"a cell of more than {LINE_LIMIT // 1_000_000} MB (the limit is {FIELD_LIMIT // 1_000_000} MB). "
            "Shorten it, or close the quote that opens in this row."
        )
    if "new-line" in text:
        return (
            "a carriage return outside quotes. "
            "Save the file with line ends \\n or \\r\\n, and quote cells that hold one."
        )
    return f"quotes are not closed properly ({text}). Double each quote that belongs to a quoted text."


class _TextLines:
    """The lines for a CSV reader, as text.

    A line that is not valid text is remembered, not left out: it may be inside a quoted cell,
    and the cells after it would move.
    """

    def __init__(self, path: Path) -> None:
        self._lines = (line for batch in batches(path) for line in batch)
        self._bad: tuple[int, BadRowError] | None = None
        self.number = 0
        self.has_ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = next(self._lines)
        except StopIteration:
            self.has_ended = True
            raise
        self.number += 1
        try:
            return utf8(line) + "\n"
        except BadRowError as bad:
            self._bad = self._bad or (self.number, bad)
            return line.decode("utf-8", "replace") + "\n"

    def refuse_bad(self, start: int) -> None:
        """`BadRowError` where a line of the row that began at `start` was not valid text."""
        if self._bad is not None:
            (number, bad), self._bad = self._bad, None
            raise bad if number == start else BadRowError(f"in line {number}: {bad}")


# Parquet and Excel as rows. polars is imported only here. Values become what JSON would give.


ROWS_AT_ONCE = 5_000
_MAGIC = b"PAR1"


def parquet_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """The rows with their numbers from 1. A compressed file (.parquet.gz) is held in memory."""
    return _frame_rows(_frames(path, _polars("Parquet")), report)


def excel_rows(path: Path, report: Report) -> Iterator[tuple[int, Row]]:
    """The rows below the header of the first sheet, with their numbers from 1. The file is held in memory."""
    return _frame_rows(_first_sheet(path, _polars("Excel")), report)


def _polars(what: str) -> Any:
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise DataError(f"{what} needs polars. Install it: pip install 'adjudge[data]'") from None
    return pl


def _frame_rows(frames: Iterable[polars.DataFrame], report: Report) -> Iterator[tuple[int, Row]]:
    number = 0
    for frame in frames:
        for values in frame.iter_rows(named=True):
            number += 1
            try:
                row = _parquet_row(values)
            except BadRowError as bad:
                report(number, str(bad))
            else:
                yield number, row


def _first_sheet(path: Path, pl: Any) -> Iterator[polars.DataFrame]:
    data = b"".join(raw_blocks(path))
    try:
        yield pl.read_excel(io.BytesIO(data), engine="calamine", infer_schema_length=None)
    except ModuleNotFoundError:
        raise DataError("Excel files need fastexcel. Install it: pip install 'adjudge[data]'") from None
    except Exception as error:  # noqa: BLE001  the reader of Excel files has errors of its own, which it may not export
        raise BrokenFileError(
            path,
            f"not an Excel file that can be read ({str(error)[:200]}). Save it again as .xlsx, or as .csv.",
        ) from None


def _frames(path: Path, pl: Any) -> Iterator[polars.DataFrame]:
    """The table in slices, so that memory does not grow with the number of rows."""
    # Opened here for the usual messages about a missing or unreadable file.
    head = next(raw_blocks(path), b"")
    if not head:
        return
    if not head.startswith(_MAGIC):
        raise BrokenFileError(path, "not a Parquet file. Write it again, or give it the right suffix.")
    try:
        source = io.BytesIO(b"".join(raw_blocks(path))) if is_gzip(path) else path
        # Without globbing: a file's name may contain [ ] or *.
        table = pl.scan_parquet(source, glob=False)
        start = 0
        while len(frame := table.slice(start, ROWS_AT_ONCE).collect()):
            yield frame
            start += len(frame)
    # polars panics on some damaged files; a panic is not an Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise BrokenFileError(path, f"damaged Parquet data ({str(error)[:200]}). Write it again.") from None


def _parquet_row(values: dict[str, Any]) -> Row:
    row = {name: _json_value(name, value) for name, value in values.items()}
    for name, value in row.items():
        if any("\0" in text for text in texts(value)):
            raise BadRowError(f"NUL character in field '{name:.80}'. Remove it.")
    refuse_long_fields(row)
    return row


def _json_value(name: str, value: object) -> object:
    """A value as JSON would give it; dates and times in ISO 8601."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise BadRowError(f"field '{name:.80}' is {value}. Store null where there is no value.")
    if isinstance(value, int | float | decimal.Decimal):
        return Number(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list):
        return [_json_value(name, entry) for entry in value]
    if isinstance(value, dict):
        return {key: _json_value(name, entry) for key, entry in value.items()}
    raise BadRowError(
        f"field '{name:.80}' holds {type(value).__name__}. Store it as text, a number or a list of them."
    )


def write_parquet(rows: Iterator[dict[str, Any]], columns: Mapping[str, type], file: IO[bytes]) -> None:
    """Write rows as one Parquet file; `columns` are their names with the Python type of each."""
    frame_of(rows, columns).write_parquet(file)


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> polars.DataFrame:
    """Rows as a polars frame; `columns` are their names with the Python type of each."""
    pl = _polars("A frame")
    # Explicit types: two exports must have the same schema even if a column of one is empty.
    kinds: dict[type, Any] = {str: pl.String, float: pl.Float64, int: pl.Int64, list: pl.List(pl.String)}
    schema = {name: kinds[kind] for name, kind in columns.items()}
    frame: polars.DataFrame = pl.DataFrame(list(rows), schema=schema)
    return frame


# Tables that are not files on this machine. They are copied to a temporary file once, because a table is read several
# times: checked, hashed and judged.


STANDARD_INPUT = "-"
_HUB = "hf://"
_COPIES: dict[str, Path] = {}
"""address → its copy, until the process ends"""


def is_address(name: str | Path) -> bool:
    """Whether a name stands for standard input or for a table on the Hugging Face hub."""
    text = str(name)
    return text == STANDARD_INPUT or text.startswith("hf:/")


def local_file(name: str | Path) -> Path:
    """The file itself, or the copy of standard input or of a table on the hub."""
    if not is_address(name):
        return Path(name)
    text = str(name)
    if text.startswith("hf:/") and not text.startswith(_HUB):
        text = text.replace("hf:/", _HUB, 1)  # a path loses a slash
    if text not in _COPIES:
        folder = tempfile.mkdtemp(prefix="adjudge-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        copy = _copy_of_input if text == STANDARD_INPUT else _copy_of_hub
        _COPIES[text] = copy(text, Path(folder))
    return _COPIES[text]


def _copy_of_input(_: str, folder: Path) -> Path:
    """Standard input as a file with the suffix of its format."""
    if sys.stdin is None or sys.stdin.isatty():
        raise DataError(
            "- reads the table from standard input, which is a terminal. Pipe a file into it: … < FILE"
        )
    plain = folder / "standard-input"
    with plain.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with plain.open("rb") as file:
        head = file.read(BLOCK)
    return plain.rename(plain.with_suffix(_suffix_by_content(head)))


def _suffix_by_content(head: bytes) -> str:
    """The format by the first bytes: standard input has no name."""
    if head.startswith(_GZIP_MAGIC):
        return _suffix_by_content(zlib.decompressobj(wbits=31).decompress(head, BLOCK)) + ".gz"
    if head.startswith(_MAGIC):
        return ".parquet"
    if head.startswith(b"PK\x03\x04"):
        return ".xlsx"
    encoding, mark = _encoding(head)
    text = head[mark:].decode(encoding, "ignore").lstrip()
    if text.startswith(("{", "[")):
        return ".jsonl" if text.startswith("{") else ".json"
    return ".tsv" if "\t" in text.partition("\n")[0] else ".csv"


def _copy_of_hub(address: str, folder: Path) -> Path:
    """A table on the Hugging Face hub as a local Parquet file; polars downloads it."""
    pl = _polars("A table on the Hugging Face hub")
    suffix = Path(address).suffix.lower()
    scan = {".csv": pl.scan_csv, ".jsonl": pl.scan_ndjson, ".ndjson": pl.scan_ndjson}.get(
        suffix, pl.scan_parquet
    )
    path = folder / "hub.parquet"
    try:
        scan(address).collect().write_parquet(path)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise DataError(
            f"{address}: cannot be read ({str(error)[:300]}). The form is hf://datasets/OWNER/NAME/FILE.parquet; a private "
            "dataset needs the variable HF_TOKEN."
        ) from None
    return path


SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xlsx")
"""The formats by suffix; each may be followed by .gz."""


class Table:
    """A file of rows. `unit` is what row numbers count: lines, or records where lines mean nothing."""

    def __init__(self, path: str | Path) -> None:
        self.path = local_file(path)
        stem = self.path.with_suffix("") if is_gzip(self.path) else self.path
        self.suffix = stem.suffix.lower()
        by_record = (".json", ".parquet", ".xlsx")
        self.unit: Literal["line", "record"] = "record" if self.suffix in by_record else "line"

    @property
    def is_by_line(self) -> bool:
        """Whether each line is one row."""
        return self.suffix in (".jsonl", ".ndjson")

    def rows(self, report: Report) -> Iterator[tuple[int, Row]]:
        """The rows with their numbers. For CSV the number is the line at which the row starts."""
        if self.suffix in (".jsonl", ".ndjson"):
            return jsonl_rows(self.path, report)
        if self.suffix == ".json":
            return list_rows(self.path, report)
        if self.suffix in (".csv", ".tsv"):
            return csv_rows(self.path, report, "," if self.suffix == ".csv" else "\t")
        if self.suffix == ".parquet":
            return parquet_rows(self.path, report)
        if self.suffix == ".xlsx":
            return excel_rows(self.path, report)
        if self.path.is_dir():
            raise BrokenFileError(self.path, "a folder, not a file. Name one file in it.")
        known = ", ".join(SUFFIXES)
        raise BrokenFileError(
            self.path, f"format unknown by its name. Name it {known}, with .gz added if it is compressed."
        )


_LISTED_SEPARATELY = 3
"""A problem on more rows than this is listed once for all of them."""


def _where(unit: str, numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"{unit} {numbers[0]}"
    first = ", ".join(str(number) for number in numbers[:3])
    return f"{unit}s {first}, … ({len(numbers):,} {unit}s)"


class Problems:
    """The problems of one file, added in any order and listed in the order of the file."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._problems: list[tuple[int, str]] = []
        self._texts: dict[str, str] = {}
        self.remark = ""
        """a sentence after the list of problems"""

    def add(self, row_number: int, text: str) -> None:
        """Add a problem of a row; the number 0 stands for the whole file."""
        # A million rows with the same problem share one text.
        self._problems.append((row_number, self._texts.setdefault(text, text)))

    def __len__(self) -> int:
        return len(self._problems)

    @property
    def of_file(self) -> bool:
        """Whether the whole file has a problem, which skipping rows does not solve."""
        return any(number == 0 for number, _ in self._problems)

    def row_numbers(self) -> set[int]:
        """The numbers of the bad rows."""
        return {number for number, _ in self._problems if number}

    def texts(self) -> tuple[str, ...]:
        """Each problem with its row numbers before it; those of the whole file first."""
        numbers_by_text: dict[str, list[int]] = {}
        for number, text in sorted(self._problems, key=lambda problem: problem[0]):
            numbers_by_text.setdefault(text, []).append(number)
        entries: list[tuple[list[int], str]] = []
        for text, numbers in numbers_by_text.items():
            if len(numbers) > _LISTED_SEPARATELY and 0 not in numbers:
                entries.append((numbers, text))
            else:
                entries += [([number], text) for number in numbers]
        entries.sort(key=lambda entry: entry[0][0])
        unit = self._table.unit
        return tuple(
            f"{_where(unit, numbers)}: {text}" if numbers != [0] else text for numbers, text in entries
        )

    def error(self) -> DataError:
        """All of them as one error."""
        message = listed(str(self._table.path), self.texts())
        return DataError(f"{message}\n{self.remark}" if self.remark else message)
