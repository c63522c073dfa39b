"""Reads a store: replies by key, judgments in the order of the items, totals of a run.

Runs are read in pages: each query fetches one page and ends, so that a run of any size takes
little memory and no long read keeps SQLite from truncating its write-ahead log. A reply whose
checksum does not match is reported as damaged and treated as absent. Nothing is written here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..errors import StoreError
from ..records import Call, ErrorKind, Item, Judgment, Reply, ReplyError
from . import rows
from .calls import as_json, read_call_specs

_PAGE = 500
REPLY_SELECT = ", ".join(f"replies.{name}" for name in rows.REPLY_COLUMNS.split(", "))

JUDGED_SELECT = """SELECT places.item, places.slot, calls.key, places.parent, places.error_kind, places.error_message,
    judgments.body, judgments.checksum
FROM places JOIN calls ON calls.id = places.call JOIN runs ON runs.id = places.run
LEFT JOIN judgments ON judgments.run = places.run AND judgments.reading = runs.reading
    AND judgments.item = places.item AND judgments.slot = places.slot"""

DamagedReply = tuple[str, int, str]
"""The call's key, the checksum in the store, and the reason."""


class Judged(Struct, frozen=True):
    """One call of a run, and the judgment parsed from its reply."""

    item: Item | None
    """without its fields; none for a call that belongs to the run as a whole"""
    seq: int
    """the item's number in the run, from 0; -1 where there is no item"""
    call_index: int
    about: rows.CallSpec
    call: str
    parent: str | None
    error: ReplyError | None
    judgment: Judgment | None
    """none where the reply was not parsed yet: run the same command again"""


class Asked(Struct, frozen=True):
    """One call of a run with its item and its reply, for parsing it again."""

    item: Item | None
    seq: int
    call_index: int
    call: Call
    reply: Reply


class ModelSeen(Struct, frozen=True):
    """The model name that a server reported, and in how many replies of a run."""

    model: str
    model_name: str
    fingerprint: str
    n: int


class Totals(Struct, frozen=True):
    """The totals of a run, counted on demand. A reply that several calls share counts once."""

    items: int
    calls: int
    failed: dict[ErrorKind, int]
    judged: int
    replies: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int
    """replies whose cost is unknown; `cost_usd` leaves them out"""
    paid_replies: int
    """replies that this run paid for; the others were cache hits"""
    paid_usd: float
    seconds: float
    """the sum over the replies, many of which were in flight at the same time"""


def replies_by_key(
    connection: sqlite3.Connection, keys: Iterable[str]
) -> tuple[dict[str, Reply], list[DamagedReply]]:
    """The replies to calls, and the replies that are damaged."""
    sound: dict[str, Reply] = {}
    damaged: list[DamagedReply] = []
    for key, *row in connection.execute(
        f"""SELECT calls.key, {REPLY_SELECT} FROM json_each(?) AS wanted
        CROSS JOIN calls ON calls.key = wanted.value CROSS JOIN replies ON replies.call = calls.id""",
        (as_json(keys),),
    ):
        try:
            sound[key] = rows.read_reply(key, tuple(row))
        except rows.DamagedError as fault:
            damaged.append((key, row[-1], str(fault)))
    return sound, damaged


def answered_keys(connection: sqlite3.Connection, keys: Iterable[str]) -> set[str]:
    """Which of the calls have a reply."""
    answered = connection.execute(
        """SELECT calls.key FROM json_each(?) AS wanted
        CROSS JOIN calls ON calls.key = wanted.value CROSS JOIN replies ON replies.call = calls.id""",
        (as_json(keys),),
    )
    return {key for (key,) in answered}


def claimed_keys(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, int]:
    """The calls that have an owner, alive or not, and no reply: key → owner."""
    claimed = connection.execute(
        """SELECT calls.key, calls.owner FROM json_each(?) AS wanted
        CROSS JOIN calls ON calls.key = wanted.value LEFT JOIN replies ON replies.call = calls.id
        WHERE replies.call IS NULL AND calls.owner IS NOT NULL""",
        (as_json(keys),),
    )
    return dict(claimed.fetchall())


def finished_calls(
    connection: sqlite3.Connection, run: int, first: int, last: int
) -> tuple[dict[tuple[int, int], Judgment], list[DamagedReply]]:
    """The calls (item, call index) of a range of items that have a judgment and an undamaged reply."""
    done: dict[tuple[int, int], Judgment] = {}
    damaged: list[DamagedReply] = []
    for item, call_index, body, checksum, key, *row in connection.execute(
        f"""SELECT places.item, places.slot, judgments.body, judgments.checksum, calls.key, {REPLY_SELECT}
        FROM places JOIN runs ON runs.id = places.run
        JOIN judgments ON judgments.run = places.run AND judgments.reading = runs.reading
            AND judgments.item = places.item AND judgments.slot = places.slot
        JOIN calls ON calls.id = places.call JOIN replies ON replies.call = places.call
        WHERE places.run = ? AND places.item BETWEEN ? AND ? AND places.error_kind IS NULL""",
        (run, first, last),
    ):
        if not rows.is_sound_reply(key, tuple(row)):
            damaged.append((key, row[-1], "the checksum differs"))
        elif (judgment := rows.read_judgment(body, checksum)) is not None:
            done[item, call_index] = judgment
    return done, damaged


def judgments(connection: sqlite3.Connection, run: int) -> Iterator[Judged]:
    """All calls of a run in the order of the items and, within an item, of the call index."""
    specs: dict[int, rows.CallSpec] = {}
    for page in _pages(connection, JUDGED_SELECT, run):
        page_items = _items_of_page(connection, run, page, with_fields=False)
        if any(row[1] not in specs for row in page):
            specs = read_call_specs(connection, run)
        for row in page:
            yield judged_call(row, page_items, specs)


def judged_call(row: rows.Columns, items: Mapping[int, Item], specs: Mapping[int, rows.CallSpec]) -> Judged:
    """Decode a row of `JUDGED_SELECT`."""
    seq, call_index, key, parent, kind, message, body, checksum = row
    error = None if kind is None else ReplyError(kind, message)
    judgment = rows.read_judgment(body, checksum)
    return Judged(items.get(seq), seq, call_index, specs[call_index], key, parent, error, judgment)


def asked(connection: sqlite3.Connection, run: int, damaged: list[DamagedReply]) -> Iterator[Asked]:
    """All calls of a run that have a reply, in order; damaged ones are added to the list instead."""
    specs = read_call_specs(connection, run)
    for page in _pages(
        connection,
        f"""SELECT places.item, places.slot, calls.key, places.parent, calls.messages, calls.target, {REPLY_SELECT}
        FROM places JOIN calls ON calls.id = places.call JOIN replies ON replies.call = places.call""",
        run,
    ):
        page_items = _items_of_page(connection, run, page, with_fields=True)
        if any(row[1] not in specs for row in page):
            specs = read_call_specs(connection, run)
        for seq, call_index, key, parent, messages, target, *row in page:
            item = page_items.get(seq)
            try:
                reply = rows.read_reply(key, tuple(row))
                call = rows.read_call(
                    key, item.id if item else "", specs[call_index], parent, messages, target
                )
            except rows.DamagedError as fault:
                damaged.append((key, row[-1], str(fault)))
                continue
            yield Asked(item, seq, call_index, call, reply)


def items(connection: sqlite3.Connection, run: int) -> Iterator[Item]:
    """The items of a run, in their order."""
    after = -1
    while True:
        page = connection.execute(
            f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ? AND seq > ? ORDER BY seq LIMIT {_PAGE}",
            (run, after),
        ).fetchall()
        for row in page:
            yield _item(row, with_fields=True)
        if len(page) < _PAGE:
            return
        after = page[-1][0]


def totals(connection: sqlite3.Connection, run: int) -> Totals:
    """Count the items, calls, replies and costs of a run."""
    (n_items,) = connection.execute("SELECT count(*) FROM items WHERE run = ?", (run,)).fetchone()
    failed = dict(
        connection.execute(
            "SELECT error_kind, count(*) FROM places WHERE run = ? AND error_kind IS NOT NULL GROUP BY 1",
            (run,),
        ).fetchall()
    )
    (n_calls,) = connection.execute("SELECT count(*) FROM places WHERE run = ?", (run,)).fetchone()
    (judged,) = connection.execute(
        "SELECT count(*) FROM judgments JOIN runs ON runs.id = run AND runs.reading = judgments.reading WHERE run = ?",
        (run,),
    ).fetchone()
    sums = connection.execute(
        """SELECT count(*), COALESCE(sum(tokens_in), 0), COALESCE(sum(tokens_out), 0), TOTAL(cost_usd),
            count(*) - count(cost_usd), count(*) FILTER (WHERE run = :run),
            TOTAL(cost_usd) FILTER (WHERE run = :run), TOTAL(seconds)
        FROM replies WHERE call IN (SELECT call FROM places WHERE run = :run AND error_kind IS NULL)""",
        {"run": run},
    ).fetchone()
    return Totals(n_items, n_calls, failed, judged, *sums)


def models_seen(connection: sqlite3.Connection, run: int) -> list[ModelSeen]:
    """The model names that servers reported; several for one model mean that the server changed it."""
    names = connection.execute(
        """SELECT calls.model, model_name, fingerprint, count(*)
        FROM replies JOIN calls ON calls.id = replies.call
        WHERE call IN (SELECT call FROM places WHERE run = ? AND error_kind IS NULL)
        GROUP BY 1, 2, 3 ORDER BY min(call)""",
        (run,),
    )
    return [ModelSeen(*row) for row in names]


def call_by_key(connection: sqlite3.Connection, run: int, key: str) -> Call | None:
    """A call with the first item of the run that uses it."""
    row = connection.execute(
        """SELECT places.item, places.slot, places.parent, calls.messages, calls.target
        FROM calls JOIN places ON places.call = calls.id WHERE calls.key = ? AND places.run = ?
        ORDER BY places.item, places.slot LIMIT 1""",
        (key, run),
    ).fetchone()
    if row is None:
        return None
    seq, call_index, parent, messages, target = row
    item = items_between(connection, run, seq, seq, with_fields=False).get(seq)
    spec = read_call_specs(connection, run)[call_index]
    try:
        return rows.read_call(key, item.id if item else "", spec, parent, messages, target)
    except rows.DamagedError:
        return None


def all_damaged(connection: sqlite3.Connection) -> Iterator[DamagedReply]:
    """Every damaged reply in the store."""
    after = -1
    while True:
        page = connection.execute(
            f"""SELECT calls.id, calls.key, {REPLY_SELECT} FROM replies JOIN calls ON calls.id = replies.call
            WHERE replies.call > ? ORDER BY replies.call LIMIT {_PAGE}""",
            (after,),
        ).fetchall()
        for _, key, *row in page:
            try:
                rows.read_reply(key, tuple(row))
            except rows.DamagedError as fault:
                yield key, row[-1], str(fault)
        if len(page) < _PAGE:
            return
        after = page[-1][0]


def _pages(connection: sqlite3.Connection, select: str, run: int) -> Iterator[list[Any]]:
    """The calls of a run in order, in pages. Each page begins after the last row of the previous one."""
    after = (-2, -1)
    while True:
        page = connection.execute(
            f"""{select} WHERE places.run = ? AND (places.item, places.slot) > (?, ?)
            ORDER BY places.item, places.slot LIMIT {_PAGE}""",
            (run, *after),
        ).fetchall()
        if not page:
            return
        yield page
        after = (page[-1][0], page[-1][1])


def _items_of_page(
    connection: sqlite3.Connection, run: int, page: Sequence[Any], *, with_fields: bool
) -> dict[int, Item]:
    return items_between(connection, run, page[0][0], page[-1][0], with_fields=with_fields)


def items_between(
    connection: sqlite3.Connection, run: int, first: int, last: int, *, with_fields: bool
) -> dict[int, Item]:
    """The items `first` to `last` of a run by number."""
    item_rows = connection.execute(
        f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ? AND seq BETWEEN ? AND ? ORDER BY seq",
        (run, first, last),
    ).fetchall()
    return {row[0]: _item(row, with_fields=with_fields) for row in item_rows}


def _item(row: rows.Columns, *, with_fields: bool) -> Item:
    try:
        return rows.read_item(row, with_fields=with_fields)
    except rows.DamagedError as fault:
        raise StoreError(
            f"Item {row[1]!r} of the run is damaged in the store ({fault}).\n"
            "Start the run under another name: stored replies are reused."
        ) from fault
