"""From a path to lines of UTF-8, whatever the file was saved as.

Knows gzip, byte order marks, UTF-16 and line ends, and nothing of what a line means. Memory is
bounded by one block and one line, also for a file that has no line end at all or that unpacks
to far more than its size. Text is never guessed at: bytes that are not UTF-8 are left for the
reader of the line to report, with their place.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import DataError

BLOCK = 1 << 18
LINE_LIMIT = 64_000_000
"""Bytes that one line may have. A longer line is cut just behind this length, so it can be told."""

WHOLE_LIMIT = 500_000_000
"""Bytes that a file may have which is read as a whole, such as a JSON list."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
"""Byte order mark → encoding. The mark of UTF-32-LE begins with that of UTF-16-LE: it comes first."""

_GZIP_MAGIC = b"\x1f\x8b"


class BrokenFileError(DataError):
    """From here on the file cannot be read. `problem` is the message without the file's name."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.problem = problem


class BadRowError(ValueError):
    """One line, or one field of it, cannot be used; the text says why and what to do."""


def is_gzip(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def blocks(path: Path) -> Iterator[bytes]:
    """The file in blocks of UTF-8, unpacked, without a byte order mark."""
    raw = raw_blocks(path)
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
    """The file's lines, many at a time, without their line feed.

    In lists, because a generator's step per line would cost as much as decoding the line.
    """
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
        # A line beyond the limit is dropped as it comes; what is kept is one byte too long.
        if last and size <= LINE_LIMIT:
            tail.append(last[: LINE_LIMIT + 1 - size])
            size += len(last)
    if tail:
        yield [b"".join(tail)]


def read_text(path: Path) -> str:
    """A whole file as one text; `BrokenFileError` where it is not UTF-8 or far too large."""
    data = bytearray()
    for block in blocks(path):
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
            "Save the file as UTF-8; its encoding is not guessed."
        ) from None
    if "\0" in text:
        raise BadRowError(f"NUL character at column {text.index(chr(0)) + 1}. Remove it.")
    return text


def raw_blocks(path: Path) -> Iterator[bytes]:
    """The file's bytes, unpacked where its name ends in .gz; faults of the disk as `BrokenFileError`."""
    try:
        with _opened(path) as file:
            while block := file.read(BLOCK):
                yield block
    except gzip.BadGzipFile as error:
        raise BrokenFileError(
            path, f"not gzip data ({error}). Pack it anew, or take .gz off its name."
        ) from None
    except (EOFError, zlib.error) as error:
        raise BrokenFileError(path, f"gzip data is damaged ({error}). Copy or pack the file anew.") from None
    except FileNotFoundError:
        raise BrokenFileError(path, "there is no such file. Check the name and the folder.") from None
    except IsADirectoryError:
        raise BrokenFileError(path, "a folder, not a file. Name one file in it.") from None
    except PermissionError:
        raise BrokenFileError(path, "may not be read. Check its permissions.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise BrokenFileError(path, f"cannot be read ({error}). Check the path and the disk.") from None


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    if not is_gzip(path):
        return path.open("rb", buffering=0)
    return gzip.open(path, "rb")


def _encoding(head: bytes) -> tuple[str, int]:
    """The encoding that a file's first bytes show, and the length of their byte order mark."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding, len(mark)
    return _unmarked(head[:512]), 0


def _unmarked(sample: bytes) -> str:
    """UTF-16 without a mark leaves a NUL in each pair of bytes that is an ASCII letter.

    A stray NUL in UTF-8 text is one among many bytes. The first letter, which is ASCII in JSON and
    in most headers, shows the order of the bytes; otherwise the side that has more NULs
    does, though letters such as 一 (U+4E00) leave theirs on the other side.
    """
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if len(sample) < 2 or (even + odd) * 10 < len(sample):
        return "utf-8"
    first, second = sample[:2]
    if (first == 0) != (second == 0):
        return "utf-16-be" if first == 0 else "utf-16-le"
    return "utf-16-be" if even > odd else "utf-16-le"


def _recoded(path: Path, encoding: str, head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of another encoding as UTF-8."""
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
