"""Reads a store: replies by key, judgments in the order of the items, totals of a run.

Runs are read in pages: each query fetches one page and ends, so that a run of any size takes
little memory and no long read keeps SQLite from truncating its write-ahead log. A reply whose
checksum does not match is reported as damaged and treated as absent. Nothing is written here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from ..records import Call, Item, Judgment, Reply, ReplyError
from . import rows
from .calls import as_json, read_call_specs
from .counts import check_count, kept

_PAGE = 500


REPLY_SELECT = ", ".join(f"replies.{name}" for name in rows.REPLY_COLUMNS.split(", "))


JUDGED_SELECT = """SELECT places.item, places.slot, calls.key, places.parent, places.error_kind,
places.error_message,
    judgments.body, judgments.checksum, places.run, places.call, places.checksum
FROM places LEFT JOIN calls ON calls.id = places.call JOIN runs ON runs.id = places.run
LEFT JOIN judgments ON judgments.run = places.run AND judgments.reading = runs.reading
    AND judgments.item = places.item AND judgments.slot = places.slot"""


DamagedReply = tuple[str, int, str]
"""The call's key, the checksum in the store, and the reason."""


MISSING = -1
"""In place of the checksum of a reply that is not there: set aside before, or lost."""


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


class AskedCall(Struct, frozen=True):
    """One call of a run with its item and its reply, for parsing it again."""

    item: Item | None
    seq: int
    call_index: int
    call: Call
    reply: Reply


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


def check_set_aside(connection: sqlite3.Connection, damaged: Sequence[DamagedReply]) -> None:
    """`DamagedError` for the first damaged reply, unless it is missing because it was set aside."""
    aside = {key for (key,) in connection.execute("SELECT key FROM quarantine")} if damaged else set()
    for key, checksum, reason in damaged:
        if checksum != MISSING or key not in aside:
            raise rows.DamagedError(f"the reply to call {key}: {reason}")


def whole_replies(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Reply]:
    """The replies to calls that were answered; `DamagedError`
    where one is damaged, or missing and not in quarantine.
    """
    sound, damaged = replies_by_key(connection, keys)
    known = sound.keys() | {key for key, _, _ in damaged}
    missing = [(key, MISSING, "the reply is missing") for key in keys if key not in known]
    check_set_aside(connection, [*damaged, *missing])
    return sound


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
) -> tuple[dict[tuple[int, int], Judgment | None], list[DamagedReply]]:
    """The calls (item, call index) of a range of items that have a judgment and an undamaged reply.

    A judgment in an old format is none; the call is finished all the same.
    """
    done: dict[tuple[int, int], Judgment | None] = {}
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
        elif rows.is_sound_judgment(body, checksum):
            # A judgment of another call is damaged, too: its reply is parsed again.
            with suppress(rows.DamagedError):
                done[item, call_index] = rows.read_judgment(key, body, checksum)
    return done, damaged


def judgments(connection: sqlite3.Connection, run: int) -> Iterator[Judged]:
    """All calls of a run in the order of the items and, within an item, of the call index."""
    specs: dict[int, rows.CallSpec] = {}
    before, n_places, n_judgments = kept(connection, run), 0, 0
    for page in _pages(connection, JUDGED_SELECT, run):
        page_items = _items_of_page(connection, run, page, with_fields=False)
        if any(row[1] not in specs for row in page):
            specs = read_call_specs(connection, run)
        for row in page:
            n_judgments += row[6] is not None
            yield judged_call(row, page_items, specs, has_items=bool(before.items))
        n_places += len(page)
    after = kept(connection, run)
    check_count("calls", before.places, n_places, after.places)
    check_count("judgments", before.judgments, n_judgments, after.judgments)


def judged_call(
    row: rows.Columns, items: Mapping[int, Item], specs: Mapping[int, rows.CallSpec], *, has_items: bool
) -> Judged:
    """Decode a row of `JUDGED_SELECT`; with `has_items`, a call whose item is missing is damage."""
    seq, call_index, key, parent, kind, message, body, checksum, run, call, stored = row
    error = None if kind is None else ReplyError(kind, message)
    if error is not None or parent is not None:
        rows.check_checksum((run, seq, call_index, call, parent, kind, message), stored)
    item = items.get(seq)
    if key is None or (item is None and has_items and seq >= 0):
        raise rows.DamagedError(
            f"{'a call' if key is None else 'the item'} of item number {seq + 1} is missing"
        )
    judgment = rows.read_judgment(key, body, checksum)
    return Judged(item, seq, call_index, specs[call_index], key, parent, error, judgment)


def asked(connection: sqlite3.Connection, run: int, damaged: list[DamagedReply]) -> Iterator[AskedCall]:
    """All calls of a run that have a reply, in order; damaged ones are added to the list instead."""
    specs = read_call_specs(connection, run)
    before, n_places = kept(connection, run), 0
    for page in _pages(
        connection,
        f"""SELECT places.item, places.slot, calls.key, places.parent, calls.messages, calls.target,
        calls.checksum,
            places.error_kind, {REPLY_SELECT}
        FROM places LEFT JOIN calls ON calls.id = places.call LEFT JOIN replies ON replies.call =
        places.call""",
        run,
    ):
        page_items = _items_of_page(connection, run, page, with_fields=True)
        if any(row[1] not in specs for row in page):
            specs = read_call_specs(connection, run)
        n_places += len(page)
        for seq, call_index, key, parent, messages, target, check, error, *row in page:
            item = page_items.get(seq)
            if key is None or (item is None and before.items and seq >= 0):
                raise rows.DamagedError(f"item number {seq + 1} or a call of it is missing")
            if row[-1] is None and row[0] is None:
                if error is None:
                    damaged.append((key, MISSING, "the reply is missing"))
                continue
            try:
                reply = rows.read_reply(key, tuple(row))
                call = rows.read_call(
                    key, item.id if item else "", specs[call_index], parent, messages, target, check
                )
            except rows.DamagedError as fault:
                damaged.append((key, row[-1], str(fault)))
                continue
            yield AskedCall(item, seq, call_index, call, reply)
    check_count("calls", before.places, n_places, kept(connection, run).places)


def items(connection: sqlite3.Connection, run: int) -> Iterator[Item]:
    """The items of a run, in their order."""
    after = -1
    before, n_items = kept(connection, run).items, 0
    while page := connection.execute(
        f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ? AND seq > ? ORDER BY seq LIMIT {_PAGE}",
        (run, after),
    ).fetchall():
        for row in page:
            yield _item(row, with_fields=True)
        after = page[-1][0]
        n_items += len(page)
    check_count("items", before, n_items, kept(connection, run).items)


def call_by_key(connection: sqlite3.Connection, run: int, key: str) -> Call | None:
    """A call with the first item of the run that uses it."""
    row = connection.execute(
        """SELECT places.item, places.slot, places.parent, calls.messages, calls.target, calls.checksum
        FROM calls JOIN places ON places.call = calls.id WHERE calls.key = ? AND places.run = ?
        ORDER BY places.item, places.slot LIMIT 1""",
        (key, run),
    ).fetchone()
    if row is None:
        return None
    seq, call_index, parent, messages, target, check = row
    item = items_with_numbers(connection, run, seq, seq, with_fields=False).get(seq)
    spec = read_call_specs(connection, run)[call_index]
    return rows.read_call(key, item.id if item else "", spec, parent, messages, target, check)


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
    return items_with_numbers(connection, run, page[0][0], page[-1][0], with_fields=with_fields)


def items_with_numbers(
    connection: sqlite3.Connection, run: int, first: int, last: int, *, with_fields: bool
) -> dict[int, Item]:
    """The items `first` to `last` of a run by number."""
    item_rows = connection.execute(
        f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ? AND seq BETWEEN ? AND ? ORDER BY seq",
        (run, first, last),
    ).fetchall()
    return {row[0]: _item(row, with_fields=with_fields) for row in item_rows}


def items_of(connection: sqlite3.Connection, run: int, seqs: Sequence[int]) -> list[Item]:
    """The items of these numbers with their fields."""
    marks = ", ".join("?" * len(seqs))
    item_rows = connection.execute(
        f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ? AND seq IN ({marks}) ORDER BY seq", (run, *seqs)
    )
    return [_item(row, with_fields=True) for row in item_rows.fetchall()]


def _item(row: rows.Columns, *, with_fields: bool) -> Item:
    try:
        return rows.read_item(row, with_fields=with_fields)
    except rows.DamagedError as fault:
        raise rows.DamagedError(f"item {row[1]!r}: {fault}") from fault
