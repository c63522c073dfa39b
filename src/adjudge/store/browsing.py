"""Reads parts of a run for those who look at it while it may still grow: what changed, and one item whole.

Nothing is written here. A part is named by the numbers of its items, so that each query reads
a short piece of a table; nothing depends on how large the run is but `item_states`, which
counts rows and reads none of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ..errors import StoreError
from ..records import Call, Item, Judgment, Label, Reply, ReplyError
from . import reading, rows
from .calls import read_slots
from .rows import json_of
from .runs import RunRow
from .store import Store

ItemState = tuple[int, int, int]
"""How many calls of an item have a place, how many of those failed, and how many were judged."""

_REPLIES_OF_ITEM = ", ".join(f"replies.{name}" for name in rows.REPLY_COLUMNS.split(", "))


class Place(Struct, frozen=True):
    """One call of an item with all that came of it."""

    slot: int
    about: rows.Slot
    call: Call | None
    """none where the prompt is damaged"""
    reply: Reply | None
    error: ReplyError | None
    judgment: Judgment | None


class Spent(Struct, frozen=True):
    """What one reply took."""

    seconds: float
    tokens_out: int
    cost_usd: float | None


def reading_of(store: Store, run: RunRow) -> int:
    """Which reading of the replies is valid; another number means that all judgments were replaced."""
    return store._access.read(lambda connection: _reading(connection, run.id))


def calls_per_item(store: Store, run: RunRow) -> int:
    """How many calls each item of a run needs, as far as it has come; questions asked again are not among them."""
    slots = store._access.read(lambda connection: read_slots(connection, run.id))
    return sum(slot.kind not in ("reask", "steps") for slot in slots.values())


def item_states(store: Store, run: RunRow) -> dict[int, ItemState]:
    """By the number of each item how far it is; an item whose state is as before has no new judgment."""
    return store._access.read(lambda connection: _item_states(connection, run.id))


def labels_state(store: Store) -> tuple[int, int]:
    """Changes with every label: a later one of the same rater gets a new number."""
    return store._access.read(_labels_state)


def judged_between(store: Store, run: RunRow, first: int, last: int) -> list[reading.Judged]:
    """The places of the items `first` to `last`, as `Store.judgments` gives them."""
    return store._access.read(lambda connection: _judged_between(connection, run.id, first, last))


def items_between(store: Store, run: RunRow, first: int, last: int) -> dict[int, Item]:
    """The items `first` to `last` with their fields, by number."""
    return store._access.read(lambda connection: _items_between(connection, run.id, first, last))


def item_at(store: Store, run: RunRow, seq: int) -> Item:
    """One item with its fields."""
    found = items_between(store, run, seq, seq).get(seq)
    if found is None:
        raise StoreError(
            f"The run {run.name!r} has no item number {seq + 1}.\nGo back to the list of its items."
        )
    return found


def places_of(store: Store, run: RunRow, seq: int) -> list[Place]:
    """All calls of one item, in the order of their slots."""
    return store._access.read(lambda connection: _places_of(connection, run.id, seq))


def spent(store: Store, run: RunRow, most: int) -> list[Spent]:
    """Time, length and cost of at most so many replies of a run, spread evenly over it."""
    return store._access.read(lambda connection: _spent(connection, run.id, most))


def _reading(connection: sqlite3.Connection, run: int) -> int:
    row = connection.execute("SELECT reading FROM runs WHERE id = ?", (run,)).fetchone()
    return -1 if row is None else int(row[0])


def _labels_state(connection: sqlite3.Connection) -> tuple[int, int]:
    n, last = connection.execute("SELECT count(*), COALESCE(max(id), 0) FROM labels").fetchone()
    return int(n), int(last)


def _item_states(connection: sqlite3.Connection, run: int) -> dict[int, ItemState]:
    judged = dict(
        connection.execute(
            "SELECT item, count(*) FROM judgments WHERE run = ? AND reading = ? AND item >= 0 GROUP BY item",
            (run, _reading(connection, run)),
        ).fetchall()
    )
    return {
        item: (n_places, n_failed, judged.get(item, 0))
        for item, n_places, n_failed in connection.execute(
            "SELECT item, count(*), count(error_kind) FROM places WHERE run = ? AND item >= 0 GROUP BY item",
            (run,),
        )
    }


def _judged_between(connection: sqlite3.Connection, run: int, first: int, last: int) -> list[reading.Judged]:
    found = connection.execute(
        """SELECT places.item, places.slot, calls.key, places.parent, places.error_kind, places.error_message,
            judgments.body, judgments.checksum
        FROM places JOIN calls ON calls.id = places.call JOIN runs ON runs.id = places.run
        LEFT JOIN judgments ON judgments.run = places.run AND judgments.reading = runs.reading
            AND judgments.item = places.item AND judgments.slot = places.slot
        WHERE places.run = ? AND places.item BETWEEN ? AND ? ORDER BY places.item, places.slot""",
        (run, first, last),
    ).fetchall()
    slots = read_slots(connection, run)
    items = _items_between(connection, run, first, last, with_fields=False)
    return [
        reading.Judged(
            items.get(seq),
            seq,
            slot,
            slots[slot],
            key,
            parent,
            None if kind is None else ReplyError(kind, message),
            rows.read_judgment(body, checksum),
        )
        for seq, slot, key, parent, kind, message, body, checksum in found
    ]


def _items_between(
    connection: sqlite3.Connection, run: int, first: int, last: int, *, with_fields: bool = True
) -> dict[int, Item]:
    return {row[0]: _browsed_item(row, with_fields) for row in _item_rows(connection, run, first, last)}


def _item_rows(connection: sqlite3.Connection, run: int, first: int, last: int) -> Sequence[rows.Row]:
    return connection.execute(
        f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ? AND seq BETWEEN ? AND ? ORDER BY seq",
        (run, first, last),
    ).fetchall()


def _browsed_item(row: rows.Row, with_fields: bool) -> Item:
    try:
        return rows.read_item(row, with_fields=with_fields)
    except rows.DamagedError as fault:
        raise StoreError(
            f"Item {row[1]!r} of the run is damaged in the store ({fault}).\n"
            "Start the run anew under another name: stored replies are used again."
        ) from fault


def _places_of(connection: sqlite3.Connection, run: int, seq: int) -> list[Place]:
    item = _items_between(connection, run, seq, seq, with_fields=False).get(seq)
    found = connection.execute(
        f"""SELECT places.slot, calls.key, places.parent, calls.messages, calls.target,
            places.error_kind, places.error_message, judgments.body, judgments.checksum, {_REPLIES_OF_ITEM}
        FROM places JOIN calls ON calls.id = places.call JOIN runs ON runs.id = places.run
        LEFT JOIN replies ON replies.call = places.call
        LEFT JOIN judgments ON judgments.run = places.run AND judgments.reading = runs.reading
            AND judgments.item = places.item AND judgments.slot = places.slot
        WHERE places.run = ? AND places.item = ? ORDER BY places.slot""",
        (run, seq),
    ).fetchall()
    slots = read_slots(connection, run)
    return [_place(row, slots[row[0]], "" if item is None else item.id) for row in found]


def _place(row: rows.Row, about: rows.Slot, item: str) -> Place:
    slot, key, parent, messages, target, kind, message, body, checksum, *reply_row = row
    call: Call | None = None
    reply: Reply | None = None
    error = None if kind is None else ReplyError(kind, message)
    try:
        call = rows.read_call(key, item, about, parent, messages, target)
        if reply_row[0] is not None and error is None:
            reply = rows.read_reply(key, tuple(reply_row))
    except rows.DamagedError as fault:
        error = error or ReplyError("bad_reply", f"This call is damaged in the store: {fault}.")
    return Place(slot, about, call, reply, error, rows.read_judgment(body, checksum))


def _spent(connection: sqlite3.Connection, run: int, most: int) -> list[Spent]:
    (n,) = connection.execute("SELECT count(*) FROM places WHERE run = ?", (run,)).fetchone()
    found = connection.execute(
        """SELECT seconds, tokens_out, cost_usd FROM replies WHERE call IN
            (SELECT call FROM places WHERE run = :run AND error_kind IS NULL AND (item + slot) % :step = 0)
        LIMIT :most""",
        {"run": run, "step": max(1, n // most), "most": most},
    )
    return [Spent(*row) for row in found]


# What one rater has said of a run's items, and taking a label back.
#
# Beside `labels`, which keeps them: here are the two questions that somebody who is labelling asks again and again.
# Nothing here knows what a label means.


_LABELLING_COLUMNS = "item, criterion, rater, value, subject, probability, origin"


def rater_labels(store: Store, run: RunRow, rater: str) -> list[Label]:
    """The labels that a rater gave to items of a run, the last one last."""
    found = store._access.read(
        lambda connection: connection.execute(
            f"SELECT {_LABELLING_COLUMNS} FROM labels WHERE run = ? AND rater = ? ORDER BY id",
            (run.id, rater),
        ).fetchall()
    )
    return [
        Label(item, criterion, name, msgspec.json.decode(value), subject, probability, origin)
        for item, criterion, name, value, subject, probability, origin in found
    ]


def take_back(store: Store, run: RunRow, label: Label) -> bool:
    """Delete a label, durably; false where it is gone already, or has become another."""
    access = store._access
    return access.do(
        lambda: (
            access.connection.execute(
                "DELETE FROM labels WHERE run = ? AND item = ? AND criterion = ? AND rater = ?"
                " AND COALESCE(subject, '') = ? AND value = ?",
                (
                    run.id,
                    label.item,
                    label.criterion,
                    label.rater,
                    label.subject or "",
                    json_of(label.value).decode(),
                ),
            ).rowcount
            == 1
        )
    )
