"""The bounds of an Excel file, checked before it is opened: its reader allocates a cell for every place
between the first cell and the last, and a copy of a shared text for every cell that shows it.

Nothing here is taken on trust from the file: sizes are counted while its parts are decompressed.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from .encoding import BLOCK, BrokenFileError

SIZE_LIMIT = 200_000_000
"""Bytes of all parts, decompressed, and bytes of text in all cells."""

CELL_LIMIT = 10_000_000
"""Cells of the smallest rectangle that holds those of a sheet."""

_CELL = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_ROW = re.compile(r"[0-9]{1,7}")
_LAST_ROW, _LAST_COLUMN = 1_048_576, 16_384
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_SHEET_MARKS = (b"sheetData", b"<sst", b":sst")
_STORED, _DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def check_excel(path: Path, data: bytes) -> None:
    """Raise `BrokenFileError` where opening the file would take more memory than a table may."""
    size, lengths, shown = 0, list[int](), Counter[int]()
    try:
        for info in zipfile.ZipFile(io.BytesIO(data)).infolist():
            _check_name(info.filename)
            part = _Part()
            for block in _decompressed(data, info):
                size += len(block)
                if size > SIZE_LIMIT:
                    raise _too_large(path, f"more than {SIZE_LIMIT // 1_000_000} MB of data")
                part.read(block, info.filename)
                if part.n_places > CELL_LIMIT:
                    raise _too_large(path, f"a sheet of {part.n_places:,} cells, counted with the empty ones")
            lengths = [max(pair) for pair in _pairs(lengths, part.lengths)]
            shown += part.shown
    except (zipfile.BadZipFile, zlib.error, struct.error, _NotAllowedError, NotImplementedError) as error:
        raise BrokenFileError(
            path, f"not an Excel file that can be read ({error}). Save it again as .xlsx, or as .csv."
        ) from None
    n_text = sum(count * lengths[index] for index, count in shown.items() if index < len(lengths))
    if n_text > SIZE_LIMIT:
        raise _too_large(path, f"{n_text // 1_000_000:,} MB of text in its cells")


def _check_name(name: str) -> None:
    """The reader of Excel files also opens other formats, whose cells are not counted here."""
    if name.lower() == "content.xml" or name.lower().endswith("workbook.bin"):
        raise _NotAllowedError("it holds another format than .xlsx")


def _too_large(path: Path, what: str) -> BrokenFileError:
    return BrokenFileError(
        path, f"the workbook has {what}. Save the table as .csv or .parquet, which are read in parts."
    )


def _pairs(first: list[int], second: list[int]) -> Iterator[tuple[int, int]]:
    for index in range(max(len(first), len(second))):
        yield (
            first[index] if index < len(first) else 0,
            second[index] if index < len(second) else 0,
        )


def _decompressed(data: bytes, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """The blocks of a part. Its declared size may be wrong, so that what comes out is what counts."""
    mark, n_name, n_extra = _LOCAL_HEADER.unpack_from(data, info.header_offset)
    if mark != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"part {info.filename[:80]!r} is not where the list of parts has it")
    start = info.header_offset + _LOCAL_HEADER.size + n_name + n_extra
    packed = data[start : start + info.compress_size]
    if info.compress_type == _STORED:
        yield from (packed[at : at + BLOCK] for at in range(0, len(packed), BLOCK))
    elif info.compress_type == _DEFLATED:
        inflate = zlib.decompressobj(wbits=-15)
        while packed and not inflate.eof:
            yield inflate.decompress(packed, BLOCK)
            packed = inflate.unconsumed_tail
    else:
        raise zipfile.BadZipFile(
            f"part {info.filename[:80]!r} is compressed in a way that Excel does not use"
        )


class _NotAllowedError(Exception):
    """A part declares entities or a document type, which no workbook needs."""


class _Part:
    """One part of a workbook, read as XML while it is XML: the places of its cells, the lengths of the shared
    texts, and how often each is shown.
    """

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.shown: Counter[int] = Counter()
        self._rows: list[int] = []
        """the first and the last row of the cells so far; columns likewise"""
        self._columns: list[int] = []
        self._row, self._column = 0, 0
        self._is_shared = self._is_value = False
        self._is_xml, self._is_sheet, self._tail = True, False, b""
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._refuse

    def read(self, block: bytes, name: str) -> None:
        if self._is_xml:
            try:
                self._parser.Parse(block, False)
            except (expat.ExpatError, ValueError, LookupError):
                self._is_xml = False  # an image, a font, an encoding that Python does not know
        # The reader of Excel files takes XML that is not well-formed, whose cells are not counted here.
        self._tail = self._tail[-16:] + block
        self._is_sheet = self._is_sheet or any(mark in self._tail for mark in _SHEET_MARKS)
        if self._is_sheet and not self._is_xml:
            raise _NotAllowedError(f"part {name[:80]!r} is not well-formed XML")

    @property
    def n_places(self) -> int:
        """The cells of the smallest rectangle that holds all cells so far."""
        if not self._rows:
            return 0
        return (self._rows[1] - self._rows[0] + 1) * (self._columns[1] - self._columns[0] + 1)

    def _refuse(self, *_: Any) -> None:
        raise _NotAllowedError("a part declares a document type")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        if name == "c":
            place = _CELL.fullmatch(_place(attributes, _CELL).replace("$", ""))
            self._column = _column(place[1]) if place else self._column + 1
            row = _row(place[2]) if place else self._row
            self._rows = _widened(self._rows, row)
            self._columns = _widened(self._columns, self._column)
            self._is_shared = attributes.get("t") == "s"
        elif name == "row":
            number = _place(attributes, _ROW)
            self._row = _row(number) if number else self._row + 1
            self._column = 0
        elif name == "si":
            self.lengths.append(0)
        elif name == "v":
            self._is_value = True

    def _end(self, name: str) -> None:
        if name.rpartition(" ")[2] == "v":
            self._is_value = False

    def _text(self, text: str) -> None:
        if self.lengths:
            self.lengths[-1] += len(text)
        number = text.strip()
        if self._is_shared and self._is_value and number.isdecimal() and len(number) < 10:
            self.shown[int(number)] += 1


def _widened(ends: list[int], value: int) -> list[int]:
    return [min(ends[0], value), max(ends[1], value)] if ends else [value, value]


def _place(attributes: dict[str, str], form: re.Pattern[str]) -> str:
    """Where a cell or a row says that it is; empty where it says nothing. The reader of Excel files panics at
    places that it cannot count to.
    """
    place = attributes.get("r", "").strip()
    if place and not form.fullmatch(place.replace("$", "")):
        raise _NotAllowedError(f"no sheet has a place {place[:20]!r}")
    return place


def _row(digits: str) -> int:
    if not 0 < (number := int(digits)) <= _LAST_ROW:
        raise _NotAllowedError(f"no sheet has a row {digits}")
    return number


def _column(letters: str) -> int:
    """A is 1, XFD is 16,384."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    if number > _LAST_COLUMN:
        raise _NotAllowedError(f"no sheet has a column {letters}")
    return number
