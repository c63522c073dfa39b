"""The items of a run, from a file or from Python values."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ..data import UNKNOWN_SYSTEM, ItemFile, Traces, local_file, plain, read_traces, rows_of_frame
from ..data.table import IN_MEMORY, LinesInMemory, Table
from ..errors import DataError
from ..records import Item

Check = Callable[[Item], Sequence[str]]


class ItemSource:
    """Items that can be read more than once, up to a limit."""

    def __init__(
        self, file: ItemFile, path: Path, name: str, renames: Mapping[str, str], limit: int | None
    ) -> None:
        self._file, self._path, self._name = file, path, name
        self._renames, self._limit = dict(renames), limit
        file.limit = limit
        self.bad_traces: tuple[str, ...] = ()
        """traces that are left out before they become items, each with the reason"""
        self.notes: tuple[str, ...] = ()
        """what the items do not show of a file of traces"""

    def check(self, *, skip_bad: bool) -> int:
        """How many items there are; raises with all problems of the file, or leaves bad lines out."""
        n_items = self._file.check(skip_bad=skip_bad)
        return n_items if self._limit is None else min(n_items, self._limit)

    def left_out(self) -> list[dict[str, Any]]:
        """How many lines are left out, by the systems that they are of."""
        counts = self._file.left_out()
        if self.bad_traces:
            counts[UNKNOWN_SYSTEM] = counts.get(UNKNOWN_SYSTEM, 0) + len(self.bad_traces)
        return [{"systems": list(systems), "n": n} for systems, n in sorted(counts.items())]

    def bad(self) -> tuple[str, ...]:
        """The lines that are left out, each with the reason."""
        return (*self.bad_traces, *self._file.bad())

    @property
    def n_without_id(self) -> int:
        """How many items have no id in the file; known after a check."""
        return self._file.n_without_id

    def name_by_line(self) -> None:
        """Name the items without an id by their lines: a run that was started so keeps its ids."""
        self._file.ids_are_lines = True

    def __iter__(self) -> Iterator[Item]:
        return islice(iter(self._file), self._limit)

    def described(self) -> dict[str, Any]:
        """The items as the manifest describes them; the hash decides whether they are the same."""
        return {"path": self._name, "sha256": _sha256(self._path), "map": self._renames}


def open_items(
    items: str | Path | Sequence[Item | Mapping[str, Any]] | Any,
    renames: Mapping[str, str],
    check: Check,
    limit: int | None,
    traces: str | None = None,
    *,
    outputs: Callable[[Mapping[str, Any]], Collection[str]] = lambda _: (),
    skip_bad: bool = False,
) -> ItemSource:
    """The items of a file, of a list of `Item`s or mappings,
    of a polars or pandas frame, or of a file of traces.
    """
    name = IN_MEMORY
    read: Traces | None = None
    if traces is not None:
        if not isinstance(items, str | Path):
            raise DataError("traces: give the name of a file. Rows in Python are items already.")
        read = read_traces(items, traces, skip_bad=skip_bad)
        name, items = str(items), read.rows
    elif isinstance(items, str | Path):
        file = ItemFile(items, renames, check=check, outputs=outputs)
        return ItemSource(file, local_file(items), str(items), renames, limit)
    items = rows_of_frame(items) or items
    # Written to a temporary file, so that they pass the same checks as a user's file.
    folder = tempfile.mkdtemp(prefix="adjudge-")
    path = Path(folder) / "items.jsonl"
    unit = name if read is not None else ""
    table = Table(path)
    table.name = IN_MEMORY
    file = ItemFile(table, renames, check=check, outputs=outputs, traces=unit)
    source = ItemSource(file, path, name, renames, limit)
    if read is not None:
        source.bad_traces, source.notes = read.bad, read.notes
    weakref.finalize(source, shutil.rmtree, folder, ignore_errors=True)
    with path.open("wb") as written:
        for number, item in enumerate(items, 1):
            written.write(_line(item, number) + b"\n")
    return source


def few_items(
    items: Sequence[Item | Mapping[str, Any]],
    renames: Mapping[str, str],
    check: Check,
    *,
    outputs: Callable[[Mapping[str, Any]], Collection[str]],
    skip_bad: bool,
) -> list[Item]:
    """A few items, with the checks of a file and without one: `open_items` waits for the disk."""
    lines = [_line(item, number) for number, item in enumerate(items, 1)]
    good: list[Item] = []

    def kept(item: Item) -> Sequence[str]:
        problems = check(item)
        if not problems:
            good.append(item)
        return problems

    file = ItemFile(LinesInMemory(lines), renames, check=kept, outputs=outputs)
    file.check(skip_bad=skip_bad)
    return list(file) if file.has_repeated_ids else good


def _line(item: Item | Mapping[str, Any], number: int) -> bytes:
    try:
        row = _row(item) if isinstance(item, Item) else dict(item)
        for name, value in row.items():
            if why := _not_a_text(value):
                raise DataError(f"item {number}: field {name!r} {why}.")
        return msgspec.json.encode(row)
    except (TypeError, UnicodeEncodeError, ValueError) as error:
        raise DataError(
            f"item {number} cannot be written as JSON: {error}. Give texts, numbers and lists."
        ) from error


def _not_a_text(value: object) -> str:
    """Why a value is not judged although JSON could hold it in another form; empty where it is."""
    if isinstance(value, bytes | bytearray | memoryview):
        return "holds bytes, which would be judged as base64. Decode them: value.decode()"
    if isinstance(value, set | frozenset):
        return "holds a set, which has no order. Give a list"
    if isinstance(value, Mapping):
        return next((why for part in value.values() if (why := _not_a_text(part))), "")
    if isinstance(value, list | tuple):
        return next((why for part in value if (why := _not_a_text(part))), "")
    return ""


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {"id": item.id}
    if item.system_a is not None or item.system_b is not None:
        row |= {"system_a": item.system_a, "system_b": item.system_b}
    else:
        row["system"] = item.system
    if item.group is not None:
        row["group"] = item.group
    for name, value in item.fields.items():
        row[name] = plain(value)
    return row


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
