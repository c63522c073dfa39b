"""Files as lines of UTF-8.

Handles gzip, byte order marks and UTF-16. Memory is bounded by one block and one line, also for a file
without line ends or a gzip bomb. The encoding is never guessed: bytes that are not UTF-8 are reported by the
reader of the line.
"""

from __future__ import annotations

import codecs
import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..errors import DataError

BLOCK = 1 << 18
LINE_LIMIT = 64_000_000
"""Bytes in one line. A longer line is cut one byte behind this length, so that it can be reported."""

SMALL_LIMIT = 1_000_000
"""Bytes in a text of a protocol, a rubric, examples or a run file."""

WHOLE_LIMIT = 500_000_000
"""Bytes in a file that is held in memory, such as a JSON list."""

COLUMN_LIMIT = 10_000
"""Columns of a table."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order mark → encoding. UTF-32-LE comes first, because its mark begins with that of UTF-16-LE."""

_MOST_BLANK = 1_000_000
"""Empty lines that any file may have. More of them must come with rows: a small .gz can hold billions."""

GZIP_MAGIC = b"\x1f\x8b"


class BrokenFileError(DataError):
    """The rest of the file cannot be read. `problem` is the message without the file's name."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.problem = problem


class BadRowError(ValueError):
    """One row, or one field of it, cannot be used; the text says why and what to do."""


def check_blank(path: Path, n_blank: int, n_lines: int) -> None:
    """`BrokenFileError` where a file has hardly anything but empty lines: reading on would find nothing."""
    if n_blank > _MOST_BLANK and n_blank > 10 * (n_lines - n_blank):
        raise BrokenFileError(path, f"{n_blank:,} of the first {n_lines:,} lines are empty. Remove them.")


def is_gzip(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def read_small(path: Path) -> bytes:
    """The bytes of a short file that goes to a judge or decides what does: part of a protocol, a rubric, a
    run file.

    It must be a regular file inside its own folder: a link in a folder that a person sent could otherwise
    pass on a file of the user's, and a device or a pipe would never end.
    `BrokenFileError` says what is wrong; a missing file is a `FileNotFoundError`.
    """
    try:
        home = os.path.realpath(path.parent)
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


def utf8_blocks(path: Path, raw: Iterator[bytes] | None = None) -> Iterator[bytes]:
    """The file in blocks of UTF-8, decompressed, without a byte order mark; `raw` where it was read
    already."""
    raw = raw_blocks(path) if raw is None else raw
    head = next(raw, b"")
    if head.startswith(GZIP_MAGIC):
        raise BrokenFileError(path, "holds gzip data. Give it a name that ends in .gz.")
    encoding, mark = encoding_of(head)
    if encoding == "utf-8":
        yield head[mark:]
        yield from raw
    else:
        yield from _recoded(path, encoding, head[mark:], raw)


def batches(path: Path) -> Iterator[list[bytes]]:
    """The file's lines in lists, without line feeds: yielding each line would cost as much as decoding it."""
    tail: list[bytes] = []
    size = 0
    for block in utf8_blocks(path):
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


def read_whole(path: Path, source: Iterator[bytes] | None = None) -> bytes:
    """A file in memory, decompressed; `BrokenFileError` where it is far too large. `source` are its
    blocks."""
    data = bytearray()
    for block in raw_blocks(path) if source is None else source:
        data += block
        if len(data) > WHOLE_LIMIT:
            limit = f"{WHOLE_LIMIT // 1_000_000} MB"
            raise BrokenFileError(
                path, f"larger than {limit}, and read as a whole. Give its rows as JSONL, which streams."
            )
    return bytes(data)


def read_text(path: Path, raw: Iterator[bytes] | None = None) -> str:
    """A file as one text; `BrokenFileError` where it is not UTF-8 or far too large."""
    data = read_whole(path, utf8_blocks(path, raw))
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


def encoding_of(head: bytes) -> tuple[str, int]:
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
