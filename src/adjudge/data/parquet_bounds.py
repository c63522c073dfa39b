"""The bounds of a Parquet file, checked before it is decompressed: a page of a few kilobytes may hold
gigabytes.

Reads the list of pages alone: the footer and the header of each page, in Thrift's compact form.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

from .encoding import COLUMN_LIMIT, BrokenFileError

PAGE_LIMIT = 64_000_000
"""Bytes of one page, decompressed, where it is compressed more than `MOST_TIMES`."""

MOST_TIMES = 100
"""Texts and numbers are compressed three to twenty times."""

VALUE_LIMIT = 50_000_000
"""Values of one page: a value that is repeated takes no room in the file."""

_HEADER_AT_MOST = 1 << 20
_DEPTH = 24


def check_parquet(path: Path, source: IO[bytes]) -> None:
    """Raise `BrokenFileError` where reading the file would take far more memory than its size says."""
    try:
        for column in _columns(path, source):
            _check_pages(path, source, column)
    except (LookupError, AttributeError, TypeError, ValueError, OverflowError) as error:
        raise BrokenFileError(path, f"damaged Parquet data ({str(error)[:200]}). Write it again.") from None
    finally:
        source.seek(0)


def _columns(path: Path, source: IO[bytes]) -> list[dict[int, Any]]:
    """What the footer says of each column of each group of rows."""
    size = source.seek(0, os.SEEK_END)
    source.seek(max(0, size - 8))
    length = int.from_bytes(source.read(8)[:4], "little")
    if not 0 < length <= size - 12:
        raise ValueError("the footer is not where it should be")
    source.seek(size - 8 - length)
    footer = _Compact(source.read(length)).struct()
    groups = [group.get(1, []) for group in footer.get(4, [])]
    if any(len(columns) > COLUMN_LIMIT for columns in groups):
        raise BrokenFileError(
            path,
            f"{max(map(len, groups)):,} columns; the limit is {COLUMN_LIMIT:,}. Keep those that are used.",
        )
    return [column[3] for columns in groups for column in columns]


def _check_pages(path: Path, source: IO[bytes], column: dict[int, Any]) -> None:
    at = min(offset for key in (9, 11) if (offset := column.get(key)))
    end = at + column[7]
    while at < end:
        source.seek(at)
        reader = _Compact(source.read(min(end - at, _HEADER_AT_MOST)))
        header = reader.struct()
        size, packed = header[2], header[3]
        n_values = max((header[key].get(1, 0) for key in (5, 7, 8) if key in header), default=0)
        if (size > PAGE_LIMIT and size > MOST_TIMES * packed) or n_values > VALUE_LIMIT:
            raise BrokenFileError(
                path,
                f"a page of {packed:,} bytes that becomes {size:,} bytes and {n_values:,} values. "
                "Write the file again with smaller pages.",
            )
        if packed < 0:
            raise ValueError("a page of a negative size")
        at += reader.at + packed


class _Compact:
    """Thrift's compact form as dictionaries from the number of a field to its value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEPTH:
            raise ValueError("a list of pages that is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._number()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            return self._list(depth)
        if kind == 11:
            return self._map(depth)
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"a field of the unknown type {kind}")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        length = head >> 4 if head >> 4 < 15 else self._varint()
        kind = head & 15
        # Truth values take a byte each in a list, and no byte as a field.
        return [self._byte() if kind in (1, 2) else self._value(kind, depth) for _ in range(length)]

    def _map(self, depth: int) -> dict[Any, Any]:
        length = self._varint()
        kinds = self._byte() if length else 0
        return {str(self._value(kinds >> 4, depth)): self._value(kinds & 15, depth) for _ in range(length)}

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value, shift = 0, 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number that is too long")
        return value | byte << shift

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte

    def _bytes(self, length: int) -> bytes:
        if length > len(self._data) - self.at:
            raise ValueError("a text that is longer than the file")
        self.at += length
        return self._data[self.at - length : self.at]
