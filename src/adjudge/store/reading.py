"""Reads a store: replies in bulk by key, judgments in the order of the items, totals of a run.

Nothing is read as a whole: each query fetches a page and ends, so a run of any size takes
little memory and never keeps the writer from tidying its log. A reply whose checksum
differs is reported as damaged and otherwise treated as absent. Nothing is written here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from ..errors import StoreError
from ..records import Call, ErrorKind, Item, Judgment, Reply, ReplyError
from . import rows
from .calls import as_json, read_slots

_PAGE = 500
_REPLIES = ", ".join(f"replies.{name}" for name in rows.REPLY_COLUMNS.split(", "))

DamagedReply = tuple[str, int, str]
"""The key, the checksum that was found, and the reason."""


class Judged(Struct, frozen=True):
    """One call at its place in a run, and what was read from its reply."""

    item: Item | None
    """without its fields; none for a call that belongs to the run as a whole"""
    seq: int
    slot: int
    about: rows.Slot
    call: str
    parent: str | None
    error: ReplyError | None
    judgment: Judgment | None
    """none where nothing was read yet: run the same command again"""


class Asked(Struct, frozen=True):
    """One call of a run with its item and its reply, for reading it anew."""

    item: Item | None
    seq: int
    slot: int
    call: Call
    reply: Reply


class ModelSeen(Struct, frozen=True):
    """A name that a model gave itself, and in how many replies of a run."""

    model: str
    model_name: str
    fingerprint: str
    n: int


class Totals(Struct, frozen=True):
    """What a run comes to, counted when asked. A reply used at two places counts once."""

    items: int
    places: int
    failed: dict[ErrorKind, int]
    judged: int
    replies: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int
    """replies whose cost is unknown, and not in `cost_usd`"""
    paid_replies: int
    """replies that this run asked for itself; the others were there before"""
    paid_usd: float
    seconds: float
    """the sum over the replies, many of which came at the same time"""


def replies_by_key(
    connection: sqlite3.Connection, keys: Iterable[str]
) -> tuple[dict[str, Reply], list[DamagedReply]]:
    """The replies to calls, and those that are damaged."""
    sound: dict[str, Reply] = {}
    damaged: list[DamagedReply] = []
    for key, *row in connection.execute(
        f"""SELECT calls.key, {_REPLIES} FROM json_each(?) AS wanted
        CROSS JOIN calls ON calls.key = wanted.value CROSS JOIN replies ON replies.call = calls.id""",
        (as_json(keys),),
    ):
        try:
            sound[key] = rows.read_reply(key, tuple(row))
        except rows.DamagedError as fault:
            damaged.append((key, row[-1], str(fault)))
    return sound, damaged


def answered(connection: sqlite3.Connection, keys: Iterable[str]) -> set[str]:
    """Which of the calls have a reply."""
    found = connection.execute(
        """SELECT calls.key FROM json_each(?) AS wanted
        CROSS JOIN calls ON calls.key = wanted.value CROSS JOIN replies ON replies.call = calls.id""",
        (as_json(keys),),
    )
    return {key for (key,) in found}


def held(connection: sqlite3.Connection, keys: Iterable[str]) -> dict[str, int]:
    """Which of the calls have no reply but an owner, signed in or not: key → owner."""
    found = connection.execute(
        """SELECT calls.key, calls.owner FROM json_each(?) AS wanted
        CROSS JOIN calls ON calls.key = wanted.value LEFT JOIN replies ON replies.call = calls.id
        WHERE replies.call IS NULL AND calls.owner IS NOT NULL""",
        (as_json(keys),),
    )
    return dict(found.fetchall())


def finished(
    connection: sqlite3.Connection, run: int, first: int, last: int
) -> tuple[set[tuple[int, int]], list[DamagedReply]]:
    """The places (item, slot) of a range of items that need no work: judged, from a sound reply."""
    done: set[tuple[int, int]] = set()
    damaged: list[DamagedReply] = []
    for item, slot, body, checksum, key, *row in connection.execute(
        f"""SELECT places.item, places.slot, judgments.body, judgments.checksum, calls.key, {_REPLIES}
        FROM places JOIN runs ON runs.id = places.run
        JOIN judgments ON judgments.run = places.run AND judgments.reading = runs.reading
            AND judgments.item = places.item AND judgments.slot = places.slot
        JOIN calls ON calls.id = places.call JOIN replies ON replies.call = places.call
        WHERE places.run = ? AND places.item BETWEEN ? AND ? AND places.error_kind IS NULL""",
        (run, first, last),
    ):
        if not rows.is_sound_reply(key, tuple(row)):
            damaged.append((key, row[-1], "the checksum differs"))
        elif rows.is_sound_judgment(body, checksum):
            done.add((item, slot))
    return done, damaged


def judgments(connection: sqlite3.Connection, run: int) -> Iterator[Judged]:
    """All places of a run in the order of the items and, within an item, of the slots."""
    slots: dict[int, rows.Slot] = {}
    for page in _pages(
        connection,
        """SELECT places.item, places.slot, calls.key, places.parent, places.error_kind, places.error_message,
            judgments.body, judgments.checksum
        FROM places JOIN calls ON calls.id = places.call JOIN runs ON runs.id = places.run
        LEFT JOIN judgments ON judgments.run = places.run AND judgments.reading = runs.reading
            AND judgments.item = places.item AND judgments.slot = places.slot""",
        run,
    ):
        items = _items_of(connection, run, page, with_fields=False)
        if any(row[1] not in slots for row in page):
            slots = read_slots(connection, run)
        for seq, slot, key, parent, kind, message, body, checksum in page:
            error = None if kind is None else ReplyError(kind, message)
            judgment = rows.read_judgment(body, checksum)
            yield Judged(items.get(seq), seq, slot, slots[slot], key, parent, error, judgment)


def asked(connection: sqlite3.Connection, run: int, damaged: list[DamagedReply]) -> Iterator[Asked]:
    """All places of a run that have a reply, in order; damaged ones are added to the list instead."""
    slots = read_slots(connection, run)
    for page in _pages(
        connection,
        f"""SELECT places.item, places.slot, calls.key, places.parent, calls.messages, calls.target, {_REPLIES}
        FROM places JOIN calls ON calls.id = places.call JOIN replies ON replies.call = places.call""",
        run,
    ):
        items = _items_of(connection, run, page, with_fields=True)
        if any(row[1] not in slots for row in page):
            slots = read_slots(connection, run)
        for seq, slot, key, parent, messages, target, *row in page:
            item = items.get(seq)
            try:
                reply = rows.read_reply(key, tuple(row))
                call = rows.read_call(key, item.id if item else "", slots[slot], parent, messages, target)
            except rows.DamagedError as fault:
                damaged.append((key, row[-1], str(fault)))
                continue
            yield Asked(item, seq, slot, call, reply)


def items(connection: sqlite3.Connection, run: int) -> Iterator[Item]:
    """The items of a run, in their order."""
    after = -1
    while True:
        found = connection.execute(
            f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ? AND seq > ? ORDER BY seq LIMIT {_PAGE}",
            (run, after),
        ).fetchall()
        for row in found:
            yield _item(row, with_fields=True)
        if len(found) < _PAGE:
            return
        after = found[-1][0]


def totals(connection: sqlite3.Connection, run: int) -> Totals:
    """Count what a run comes to."""
    (n_items,) = connection.execute("SELECT count(*) FROM items WHERE run = ?", (run,)).fetchone()
    failed = dict(
        connection.execute(
            "SELECT error_kind, count(*) FROM places WHERE run = ? AND error_kind IS NOT NULL GROUP BY 1",
            (run,),
        ).fetchall()
    )
    (places,) = connection.execute("SELECT count(*) FROM places WHERE run = ?", (run,)).fetchone()
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
    return Totals(n_items, places, failed, judged, *sums)


def models_seen(connection: sqlite3.Connection, run: int) -> list[ModelSeen]:
    """What the models of a run called themselves: more than one name per model is a change."""
    found = connection.execute(
        """SELECT calls.model, model_name, fingerprint, count(*)
        FROM replies JOIN calls ON calls.id = replies.call
        WHERE call IN (SELECT call FROM places WHERE run = ? AND error_kind IS NULL)
        GROUP BY 1, 2, 3 ORDER BY min(call)""",
        (run,),
    )
    return [ModelSeen(*row) for row in found]


def call_by_key(connection: sqlite3.Connection, run: int, key: str) -> Call | None:
    """A call as it stands at its first place in a run."""
    row = connection.execute(
        """SELECT places.item, places.slot, places.parent, calls.messages, calls.target
        FROM calls JOIN places ON places.call = calls.id WHERE calls.key = ? AND places.run = ?
        ORDER BY places.item, places.slot LIMIT 1""",
        (key, run),
    ).fetchone()
    if row is None:
        return None
    seq, slot, parent, messages, target = row
    item = _items_of(connection, run, [row], with_fields=False).get(seq)
    try:
        return rows.read_call(
            key, item.id if item else "", read_slots(connection, run)[slot], parent, messages, target
        )
    except rows.DamagedError:
        return None


def all_damaged(connection: sqlite3.Connection) -> Iterator[DamagedReply]:
    """Every reply in the store that does not hold what was written into it."""
    after = -1
    while True:
        page = connection.execute(
            f"""SELECT calls.id, calls.key, {_REPLIES} FROM replies JOIN calls ON calls.id = replies.call
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
    """Pages of places of a run, in order. Each begins after the last row of the one before."""
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


def _items_of(
    connection: sqlite3.Connection, run: int, page: Sequence[Any], *, with_fields: bool
) -> dict[int, Item]:
    found = connection.execute(
        f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ? AND seq BETWEEN ? AND ?",
        (run, page[0][0], page[-1][0]),
    )
    return {row[0]: _item(row, with_fields=with_fields) for row in found}


def _item(row: rows.Row, *, with_fields: bool) -> Item:
    try:
        return rows.read_item(row, with_fields=with_fields)
    except rows.DamagedError as fault:
        raise StoreError(
            f"Item {row[1]!r} of the run is damaged in the store ({fault}).\n"
            "Start the run anew under another name: stored replies are used again."
        ) from fault
