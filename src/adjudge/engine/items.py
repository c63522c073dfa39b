"""The items of a run, from a file or from Python values, with a fingerprint of what they say."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ..data import ItemFile
from ..errors import DataError
from ..records import Item, Message

Check = Callable[[Item], Sequence[str]]


class ItemSource:
    """Items that can be gone through more than once, up to a limit."""

    def __init__(
        self, file: ItemFile, path: Path, told: str, renames: Mapping[str, str], limit: int | None
    ) -> None:
        self._file, self._path, self._told = file, path, told
        self._renames, self._limit = dict(renames), limit

    def check(self, *, skip_bad: bool) -> int:
        """How many items there are; raises with all problems of the file, or leaves bad lines out."""
        n_items = self._file.check(skip_bad=skip_bad)
        return n_items if self._limit is None else min(n_items, self._limit)

    def bad(self) -> tuple[str, ...]:
        """The lines that are left out, each with the reason."""
        return self._file.bad()

    def __iter__(self) -> Iterator[Item]:
        return islice(iter(self._file), self._limit)

    def described(self) -> dict[str, Any]:
        """What a manifest says of the items; the hash decides whether they are the same."""
        return {"path": self._told, "sha256": _sha256(self._path), "map": self._renames}


def open_items(
    items: str | Path | Sequence[Item | Mapping[str, Any]],
    renames: Mapping[str, str],
    check: Check,
    limit: int | None,
) -> ItemSource:
    """The items of a file, or of a list of `Item`s or mappings."""
    if isinstance(items, str | Path):
        return ItemSource(ItemFile(items, renames, check=check), Path(items), str(items), renames, limit)
    # Written to a file without a name of its own, so that they pass the same checks as a user's file.
    folder = tempfile.mkdtemp(prefix="adjudge-")
    path = Path(folder) / "items.jsonl"
    source = ItemSource(ItemFile(path, renames, check=check), path, "(given in Python)", renames, limit)
    weakref.finalize(source, shutil.rmtree, folder, ignore_errors=True)
    with path.open("wb") as file:
        for number, item in enumerate(items, 1):
            file.write(_line(item, number) + b"\n")
    return source


def _line(item: Item | Mapping[str, Any], number: int) -> bytes:
    try:
        return msgspec.json.encode(_row(item) if isinstance(item, Item) else dict(item))
    except (TypeError, UnicodeEncodeError, ValueError) as error:
        raise DataError(
            f"item {number} cannot be written as JSON: {error}. Give texts, numbers and lists."
        ) from error


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {"id": item.id}
    if item.system_a is not None or item.system_b is not None:
        row |= {"system_a": item.system_a, "system_b": item.system_b}
    else:
        row["system"] = item.system
    if item.group is not None:
        row["group"] = item.group
    for name, value in item.fields.items():
        row[name] = value if isinstance(value, str) else [_entry(entry) for entry in value]
    return row


def _entry(entry: str | Message) -> Any:
    return entry if isinstance(entry, str) else {"role": entry.role, "content": entry.content}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
