"""Stores the items of a run, and says which of its shards and calls are there."""

from __future__ import annotations

import sqlite3
from collections import ChainMap
from collections.abc import MutableMapping, Sequence

from msgspec import structs

from ..errors import StoreError
from ..records import Item
from . import rows
from .calls import insert_rows

_INSERT_ITEM = (f"INSERT INTO items (run, {rows.ITEM_COLUMNS})", "")


def put_items(
    connection: sqlite3.Connection, run: int, first: int, items: Sequence[Item], step: int = 1
) -> None:
    """Store items with the numbers `first`, `first + step`,
    …; items that are stored already must be unchanged.
    """
    numbers = range(first, first + step * len(items), step)
    known = dict(
        connection.execute(
            "SELECT seq, content FROM items WHERE run = ? AND seq BETWEEN ? AND ?",
            (run, first, first + step * len(items) - 1),
        ).fetchall()
    )
    new = []
    for seq, item in zip(numbers, items, strict=True):
        *columns, fields, content, check = rows.item_columns(seq, item)
        if seq not in known:
            new.append((run, *columns, rows.pack(fields), content, check))
        elif known[seq] != content:
            raise StoreError(
                f"Item {item.id!r} (number {seq + 1}) has changed since this run was started.\n"
                "Start a new run for the changed items with --run NAME: replies to unchanged items "
                "are reused."
            )
    insert_rows(connection, _INSERT_ITEM, new)


def is_whole(connection: sqlite3.Connection, run: int, n_calls: int) -> bool:
    """Whether a run has all its calls, each judged or failed; follow-up questions do not count."""
    (n_settled,) = connection.execute(
        """SELECT count(*) FROM main.places AS p JOIN main.slots AS s ON s.run = p.run AND s.slot = p.slot
        JOIN main.runs AS r ON r.id = p.run LEFT JOIN main.judgments AS j
            ON j.run = p.run AND j.reading = r.reading AND j.item = p.item AND j.slot = p.slot
        WHERE p.run = ? AND s.kind NOT IN ('reask', 'steps', 'extract',
        'check') AND (p.error_kind IS NOT NULL OR j.run IS NOT NULL)""",
        (run,),
    ).fetchone()
    return bool(n_settled >= n_calls)


def items_by_shard(connection: sqlite3.Connection, run: int, n_shards: int) -> list[int]:
    """How many items of each of so many shards are stored;
    shard K has every so many-th item, beginning with item K.
    """
    counts = dict(
        connection.execute(
            "SELECT seq % :n, count(*) FROM items WHERE run = :run GROUP BY 1", {"n": n_shards, "run": run}
        ).fetchall()
    )
    return [counts.get(number, 0) for number in range(n_shards)]


class AddedItems:
    """Adds items at the end of a run that several processes may extend at once.

    An item that the run has already keeps its number. One with a known id and other content gets another id.
    Runs in the writer's transactions. What it knows comes from rows that it has read; a transaction that is
    rolled back afterwards shows in the highest number, and everything is read again.
    """

    def __init__(self, run: int) -> None:
        self._run = run
        self._known: dict[str, tuple[int, bytes]] = {}
        self._last = -1

    def add(self, connection: sqlite3.Connection, items: Sequence[Item]) -> list[tuple[int, Item]]:
        """The items with their numbers, in the given order."""
        self._read_new(connection)
        known, first = ChainMap[str, tuple[int, bytes]]({}, self._known), self._last + 1
        numbered: list[tuple[int, Item]] = []
        new: list[Item] = []
        for item in items:
            seq, item = _placed(item, known, first + len(new))
            if seq == first + len(new):
                new.append(item)
            numbered.append((seq, item))
        put_items(connection, self._run, first, new)
        return numbered

    def _read_new(self, connection: sqlite3.Connection) -> None:
        (last,) = connection.execute(
            "SELECT COALESCE(max(seq), -1) FROM items WHERE run = ?", (self._run,)
        ).fetchone()
        if last < self._last:
            self._known, self._last = {}, -1
        for seq, item_id, content in connection.execute(
            "SELECT seq, id, content FROM items WHERE run = ? AND seq > ? ORDER BY seq",
            (self._run, self._last),
        ):
            self._known[item_id] = (seq, content)
        self._last = last


def _placed(item: Item, known: MutableMapping[str, tuple[int, bytes]], free: int) -> tuple[int, Item]:
    """The number of an item: that of the same item, or the free one; it is known from then on."""
    name, copies = item.id, 1
    while True:
        content = rows.item_columns(free, item)[-2]
        seq, same = known.setdefault(item.id, (free, content))
        if same == content:
            return seq, item
        copies += 1
        item = structs.replace(item, id=f"{name}-{copies}")
