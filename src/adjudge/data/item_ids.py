"""The ids of items that have none in their file: a hash of the content, so that a label stays with its text.

The id does not depend on where the row stands, on the order of its columns, or on `--map`; an empty
value counts as none, because a CSV cell cannot say which it is. Identical rows get `-2`, `-3` … in the
order of the file.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from functools import partial

import msgspec
from msgspec import structs

from ..records import FieldValue, Item
from .json_rows import Row
from .messages import nested_json, scalar_text

_NOT_CONTENT = frozenset(("id", "group"))


def content_id(row: Row) -> str:
    """A hash of all fields and the system of a row, as it is in the file."""
    parts = [
        (name, value if type(value) is str else _text(name, value))
        for name, value in sorted(row.items())
        if name not in _NOT_CONTENT and value is not None and value != ""
    ]
    return _hash(msgspec.json.encode(parts))


def input_id(fields: Mapping[str, FieldValue], responses: Collection[str]) -> str:
    """A hash of all fields but the responses: the same for two outputs for the same input."""
    parts = [(name, value) for name, value in sorted(fields.items()) if name not in responses and value != ""]
    return _hash(msgspec.json.encode(parts))


_CONTENT_ID = re.compile(r"[a-f][0-9a-f]{15}(-[0-9]+)?")


def is_content_id(item_id: str) -> bool:
    """Whether an id has the form of a hash of the content. An id in a file may have it by chance."""
    return _CONTENT_ID.fullmatch(item_id) is not None


def _hash(content: bytes) -> str:
    digits = hashlib.blake2b(content, digest_size=8).hexdigest()
    # A letter first: a spreadsheet takes 12345678 and 12e34567 for numbers and changes them.
    return "abcdef"[int(digits[0], 16) % 6] + digits[1:]


def _text(name: str, value: object) -> str:
    return nested_json(name, value) if isinstance(value, list | dict) else scalar_text(value)


class SeenIds:
    """Finds repeated ids with eight bytes of memory per id.

    It keeps 64-bit hashes, in buckets so small that a set of one bucket takes little memory.
    """

    def __init__(self) -> None:
        self._buckets: defaultdict[int, array[int]] = defaultdict(partial(array, "q"))

    def add(self, item_id: str) -> None:
        value = hash(item_id)
        self._buckets[value & 63].append(value)

    def repeated(self) -> set[int]:
        """The hashes that occur more than once. Two different ids may share one, very rarely."""
        repeated: set[int] = set()
        for bucket in self._buckets.values():
            if len(set(bucket)) < len(bucket):
                repeated.update(value for value, n in Counter(bucket).items() if n > 1)
        return repeated


class RepeatedIds:
    """Numbers identical rows without an id, and finds ids that are used twice; one for each reading of a
    file.

    `repeated` are the hashes of the ids that occur more than once.
    """

    def __init__(self, repeated: Collection[int]) -> None:
        self._repeated = repeated
        self._n: dict[str, int] = {}
        self._first: dict[str, int] = {}

    def numbered(self, item: Item) -> Item:
        """The item; the second of identical ones gets `-2`, the third `-3`."""
        if item.has_id or not self._repeated or hash(item.id) not in self._repeated:
            return item
        n = self._n[item.id] = self._n.get(item.id, 0) + 1
        return item if n == 1 else structs.replace(item, id=f"{item.id}-{n}")

    def earlier_row(self, item: Item, row_number: int) -> int | None:
        """The row that has the same id already; none where there is none."""
        # The hash only picks candidates; the ids themselves decide. An id may look like a numbered one.
        if hash(item.id) not in self._repeated and hash(item.id.rpartition("-")[0]) not in self._repeated:
            return None
        first = self._first.setdefault(item.id, row_number)
        return None if first == row_number else first
