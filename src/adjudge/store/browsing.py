"""Reads parts of a run that may still be growing: what has changed, and single items with all their calls.

Nothing is written here. Parts are selected by item number, so that each query reads a short
range of a table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct

from ..errors import StoreError
from ..records import PART_KINDS, Call, Item, Judgment, Reply, ReplyError
from . import reading, rows
from .calls import read_call_specs
from .counts import kept
from .runs import RunRow
from .store import Store

_AT_ONCE = 500
"""SQLite allows 999 parameters at least."""


class CallOutcome(Struct, frozen=True):
    """One call of an item with its reply or error and its judgment."""

    call_index: int
    about: rows.CallSpec
    call: Call | None
    """none where the prompt is damaged"""
    reply: Reply | None
    error: ReplyError | None
    judgment: Judgment | None


class Spent(Struct, frozen=True):
    """Time, length and cost of one reply."""

    seconds: float
    tokens_out: int
    cost_usd: float | None


def reading_of(store: Store, run: RunRow) -> int:
    """The number of the current parse of the replies; it changes when all judgments were replaced."""
    return store._access.read(lambda connection: _reading(connection, run.id))


def calls_per_item(store: Store, run: RunRow) -> int:
    """How many calls each item of a run needs, as far as is known yet; reask calls do not count."""
    specs = store._access.read(lambda connection: read_call_specs(connection, run.id))
    return sum(spec.kind not in PART_KINDS for spec in specs.values())


def last_item(store: Store, run: RunRow) -> int:
    """The highest number of an item of a run; -1 where there is none."""
    return store._access.read(lambda connection: _last_item(connection, run.id))


def n_items(store: Store, run: RunRow) -> int:
    """How many items of a run are stored."""
    return store._access.read(lambda connection: _n_items(connection, run.id))


def labels_state(store: Store) -> tuple[int, int]:
    """A value that changes with every label: a label that replaces another gets a new number."""
    return store._access.read(lambda connection: _table_state(connection, "labels"))


def reviews_state(store: Store) -> tuple[int, int]:
    """A value that changes with every review."""
    return store._access.read(lambda connection: _table_state(connection, "reviews"))


def notes_state(store: Store) -> tuple[int, int]:
    """A value that changes with every note."""
    return store._access.read(lambda connection: _table_state(connection, "notes"))


def judged_between(store: Store, run: RunRow, first: int, last: int) -> list[reading.Judged]:
    """The calls of the items `first` to `last`, as `Store.judgments` gives them."""
    return store._access.read(lambda connection: _judged_between(connection, run.id, first, last))


def items_between(store: Store, run: RunRow, first: int, last: int) -> dict[int, Item]:
    """The items `first` to `last` with their fields, by number."""
    return store._access.read(
        lambda connection: reading.items_with_numbers(connection, run.id, first, last, with_fields=True)
    )


def items_at(store: Store, run: RunRow, seqs: Sequence[int]) -> Iterator[Item]:
    """The items of these numbers with their fields."""
    for start in range(0, len(seqs), _AT_ONCE):
        some = seqs[start : start + _AT_ONCE]
        yield from store._access.read(partial(reading.items_of, run=run.id, seqs=some))


def item_at(store: Store, run: RunRow, seq: int) -> Item:
    """One item with its fields."""
    item = items_between(store, run, seq, seq).get(seq)
    if item is None:
        raise StoreError(
            f"The run {run.name!r} has no item number {seq + 1}.\nGo back to the list of its items."
        )
    return item


def items_named(store: Store, run: RunRow, names: Sequence[str]) -> dict[str, int]:
    """The numbers of items by their ids. Reads the whole
    table of items: not for every request of a large run.
    """
    return store._access.read(
        lambda connection: dict(
            connection.execute(
                "SELECT id, seq FROM items WHERE run = ? AND id IN (SELECT value FROM json_each(?))",
                (run.id, rows.json_of(list(names)).decode()),
            ).fetchall()
        )
    )


def calls_of_item(store: Store, run: RunRow, seq: int) -> list[CallOutcome]:
    """All calls of one item, by call index."""
    return store._access.read(lambda connection: _calls_of_item(connection, run.id, seq))


def costs_of_items(store: Store, run: RunRow, seqs: Sequence[int]) -> dict[int, float | None]:
    """What the replies to the calls of items cost, in USD, by item number; none where a price is not
    known."""
    return store._access.read(
        lambda connection: {
            seq: None if n_priced < n_replies else cost
            for seq, cost, n_priced, n_replies in connection.execute(
                """SELECT places.item, COALESCE(sum(replies.cost_usd), 0.0), count(replies.cost_usd),
                count(replies.call)
                FROM places JOIN replies ON replies.call = places.call
                WHERE places.run = ? AND places.item IN (SELECT value FROM json_each(?)) GROUP BY
                places.item""",
                (run.id, rows.json_of(list(seqs)).decode()),
            )
        }
    )


def spent(store: Store, run: RunRow, most: int) -> list[Spent]:
    """Time, length and cost of at most `most` replies of a run, spread evenly over it."""
    return store._access.read(lambda connection: _spent(connection, run.id, most))


def _reading(connection: sqlite3.Connection, run: int) -> int:
    row = connection.execute("SELECT reading FROM runs WHERE id = ?", (run,)).fetchone()
    return -1 if row is None else int(row[0])


def _last_item(connection: sqlite3.Connection, run: int) -> int:
    (last,) = connection.execute("SELECT max(item) FROM places WHERE run = ?", (run,)).fetchone()
    return -1 if last is None else int(last)


def _n_items(connection: sqlite3.Connection, run: int) -> int:
    counted = kept(connection, run).items
    if counted is not None:
        return counted
    return int(connection.execute("SELECT count(*) FROM items WHERE run = ?", (run,)).fetchone()[0])


def _table_state(connection: sqlite3.Connection, table: str) -> tuple[int, int]:
    n, last = connection.execute(f"SELECT count(*), COALESCE(max(id), 0) FROM {table}").fetchone()
    return int(n), int(last)


def _judged_between(connection: sqlite3.Connection, run: int, first: int, last: int) -> list[reading.Judged]:
    call_rows = connection.execute(
        f"""{reading.JUDGED_SELECT}
        WHERE places.run = ? AND places.item BETWEEN ? AND ? ORDER BY places.item, places.slot""",
        (run, first, last),
    ).fetchall()
    specs = read_call_specs(connection, run)
    items = reading.items_with_numbers(connection, run, first, last, with_fields=False)
    has_items = bool(kept(connection, run).items)
    return [reading.judged_call(row, items, specs, has_items=has_items) for row in call_rows]


def _calls_of_item(connection: sqlite3.Connection, run: int, seq: int) -> list[CallOutcome]:
    item = reading.items_with_numbers(connection, run, seq, seq, with_fields=False).get(seq)
    call_rows = connection.execute(
        f"""SELECT places.slot, calls.key, places.parent, calls.messages, calls.target,
            places.error_kind, places.error_message, judgments.body, judgments.checksum, calls.checksum,
            {reading.REPLY_SELECT}
        FROM places LEFT JOIN calls ON calls.id = places.call JOIN runs ON runs.id = places.run
        LEFT JOIN replies ON replies.call = places.call
        LEFT JOIN judgments ON judgments.run = places.run AND judgments.reading = runs.reading
            AND judgments.item = places.item AND judgments.slot = places.slot
        WHERE places.run = ? AND places.item = ? ORDER BY places.slot""",
        (run, seq),
    ).fetchall()
    specs = read_call_specs(connection, run)
    return [_call_outcome(row, specs[row[0]], "" if item is None else item.id) for row in call_rows]


def _call_outcome(row: rows.Columns, about: rows.CallSpec, item: str) -> CallOutcome:
    call_index, key, parent, messages, target, kind, message, body, checksum, check, *reply_columns = row
    call: Call | None = None
    reply: Reply | None = None
    error = None if kind is None else ReplyError(kind, message)
    try:
        call = rows.read_call(key, item, about, parent, messages, target, check)
        if reply_columns[0] is not None and error is None:
            reply = rows.read_reply(key, tuple(reply_columns))
    except rows.DamagedError as fault:
        error = error or ReplyError("bad_reply", f"This call is damaged in the store: {fault}.")
    return CallOutcome(call_index, about, call, reply, error, rows.read_judgment(key, body, checksum))


def _spent(connection: sqlite3.Connection, run: int, most: int) -> list[Spent]:
    (n,) = connection.execute("SELECT count(*) FROM places WHERE run = ?", (run,)).fetchone()
    reply_rows = connection.execute(
        """SELECT seconds, tokens_out, cost_usd FROM replies WHERE call IN
            (SELECT call FROM places WHERE run = :run AND error_kind IS NULL AND (item + slot) % :step = 0)
        LIMIT :most""",
        {"run": run, "step": max(1, n // most), "most": most},
    )
    return [Spent(*row) for row in reply_rows]
