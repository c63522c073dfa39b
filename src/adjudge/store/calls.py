"""Writes calls, who is asking them, their replies, and the judgments read from those.

A call is found by the hash of its content and has at most one reply, which all runs share.
An error is no reply: it is noted at the call's place in its run, and the call is free to be
asked again. Everything here runs inside the writer's transactions; what is remembered
between them are only short cuts, and may be forgotten at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ..errors import StoreError
from ..records import Call
from . import owners, rows
from .schema import now
from .writer import Put

_INSERT_CALL = ("INSERT INTO calls (id, key, model, kind, messages, target, owner)", "")
_INSERT_REPLY = (f"INSERT OR IGNORE INTO replies (call, run, {rows.REPLY_COLUMNS})", "")
_INSERT_PLACE = (
    "INSERT INTO places (run, item, slot, call, parent, error_kind, error_message)",
    "ON CONFLICT DO UPDATE SET call = excluded.call, parent = excluded.parent,"
    " error_kind = excluded.error_kind, error_message = excluded.error_message",
)
_INSERT_JUDGMENT = (
    "INSERT INTO judgments (run, reading, item, slot, body, checksum)",
    "ON CONFLICT DO UPDATE SET body = excluded.body, checksum = excluded.checksum",
)


class Claim(Struct, frozen=True):
    """How the calls that were to be asked are shared out."""

    mine: frozenset[str] = frozenset()
    """ours to ask; each ends with `put` or `release`"""
    answered: frozenset[str] = frozenset()
    """in the store by now: `reply_for` has them"""
    elsewhere: frozenset[str] = frozenset()
    """being asked already, by another process or by this one: `wait`, then claim them again"""


def insert_rows(
    connection: sqlite3.Connection, statement: tuple[str, str], new: Sequence[Sequence[Any]]
) -> int:
    """Insert rows, many to a statement; returns how many went in.

    Python gives up its lock for each statement and has to win it back afterwards. Beside a
    busy event loop this takes longer than the writing, so row by row would be slow.
    """
    if not new:
        return 0
    head, tail = statement
    one_row = f"({','.join('?' * len(new[0]))})"
    inserted = start = 0
    while start < len(new):
        # Four lengths only, so that each statement is prepared once and then found again.
        size = next(size for size in (64, 16, 4, 1) if size <= len(new) - start)
        values = [value for row in new[start : start + size] for value in row]
        text = f"{head} VALUES {','.join([one_row] * size)} {tail}"
        inserted += connection.execute(text, values).rowcount
        start += size
    return inserted


def as_json(values: Iterable[object]) -> str:
    """A list as one parameter, for json_each."""
    return msgspec.json.encode(list(values)).decode()


class CallWriter:
    """What one opened store knows of the calls that it is asking."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids: dict[str, int] = {}
        self._slots: dict[int, dict[int, rows.Slot]] = {}
        self.owner = 0
        self.watch = owners.Watch()

    def forget(self) -> None:
        """Drop what was learnt in a transaction that has been undone."""
        self._ids.clear()
        self._slots.clear()

    def beat(self) -> None:
        """Give a sign of life. Whoever was given up by others signs in anew: what it still
        brings is taken where nobody was quicker."""
        if self.owner and not owners.beat(self._connection, self.owner):
            self.owner = owners.enter(self._connection)

    # Claims

    def claim(self, calls: Sequence[Call]) -> Claim:
        """Take the calls that nobody has asked and nobody is asking."""
        wanted = {call.key: call for call in calls}
        found = self._find(wanted)
        answered = frozenset(key for key, (_, _, is_answered) in found.items() if is_answered)
        held_by = {owner for _, owner, is_answered in found.values() if owner and not is_answered}
        live = self._live(held_by)
        elsewhere = frozenset(
            key for key, (_, owner, is_answered) in found.items() if owner in live and not is_answered
        )
        mine = frozenset(wanted.keys() - answered - elsewhere)
        self._insert([wanted[key] for key in wanted if key not in found], self.owner)
        again = [found[key][0] for key in mine if key in found]
        self._set_owner(again, self.owner)
        self._ids.update((key, found[key][0]) for key in mine if key in found)
        return Claim(mine, answered, elsewhere)

    def release(self, keys: Sequence[str]) -> None:
        """Give back calls that will not be asked after all."""
        found = self._find(keys)
        self._set_owner([number for number, owner, _ in found.values() if owner == self.owner], None)
        for key in keys:
            self._ids.pop(key, None)

    def _find(self, keys: Iterable[str]) -> dict[str, tuple[int, int | None, bool]]:
        found = self._connection.execute(
            """SELECT calls.key, calls.id, calls.owner, replies.call IS NOT NULL
            FROM json_each(?) AS wanted CROSS JOIN calls ON calls.key = wanted.value
            LEFT JOIN replies ON replies.call = calls.id""",
            (as_json(keys),),
        )
        return {key: (number, owner, bool(is_answered)) for key, number, owner, is_answered in found}

    def _live(self, held_by: set[int]) -> set[int]:
        """Those owners that are still there; the others are signed out."""
        live = held_by & {self.owner}
        if live == held_by:
            return live
        for owner in owners.owners(self._connection):
            if owner.id not in held_by or owner.id == self.owner:
                continue
            if self.watch.is_lost(owner):
                owners.leave(self._connection, owner.id)
            else:
                live.add(owner.id)
        return live

    def _set_owner(self, numbers: Sequence[int], owner: int | None) -> None:
        if numbers:
            self._connection.execute(
                "UPDATE calls SET owner = ? WHERE id IN (SELECT value FROM json_each(?))",
                (owner, as_json(numbers)),
            )

    def _insert(self, calls: Sequence[Call], owner: int | None) -> None:
        if not calls:
            return
        number: int = self._connection.execute("SELECT COALESCE(max(id), 0) FROM calls").fetchone()[0]
        new = []
        shared, packed = None, b""
        for call in calls:
            number += 1
            # Samples and judges of one item are sent the same messages.
            if call.messages is not shared:
                shared, packed = call.messages, rows.packed_messages(call)
            target = None if call.target is None else rows.pack(call.target.encode())
            new.append((number, call.key, call.model, call.kind, packed, target, owner))
            self._ids[call.key] = number
        insert_rows(self._connection, _INSERT_CALL, new)

    # Replies and judgments

    def put_all(self, puts: Sequence[Put]) -> list[bool]:
        """Write puts; false for each whose call has another reply already, which stands."""
        readings = self._readings({put.run for put in puts})
        self._enrol([put.call for put in puts if put.call.key not in self._ids])
        numbers = [self._ids[put.call.key] for put in puts]
        for put in puts:
            self._ids.pop(put.call.key, None)
        stands = self._write_replies(puts, numbers)
        self._note_slots(puts)
        insert_rows(self._connection, _INSERT_PLACE, _place_rows(puts, numbers))
        judged = [
            (put.run, readings[put.run], put.item, put.slot, *rows.judgment_row(put.judgment))
            for put, is_standing in zip(puts, stands, strict=True)
            if put.judgment is not None and is_standing
        ]
        insert_rows(self._connection, _INSERT_JUDGMENT, judged)
        failed = [number for put, number in zip(puts, numbers, strict=True) if put.reply and put.reply.error]
        self._set_owner(failed, None)
        return stands

    def _readings(self, runs: set[int]) -> dict[int, int]:
        readings = dict(
            self._connection.execute(
                "SELECT id, reading FROM runs WHERE id IN (SELECT value FROM json_each(?))", (as_json(runs),)
            ).fetchall()
        )
        if len(readings) < len(runs):
            raise StoreError(
                "The run was deleted while it was going on.\nStart it again: nothing of it was kept."
            )
        return readings

    def _enrol(self, calls: Sequence[Call]) -> None:
        """Learn the numbers of calls that were not claimed here; new ones get a number."""
        if not calls:
            return
        wanted = {call.key: call for call in calls}
        found = self._find(wanted)
        self._ids.update((key, number) for key, (number, _, _) in found.items())
        self._insert([call for key, call in wanted.items() if key not in found], None)

    def _write_replies(self, puts: Sequence[Put], numbers: Sequence[int]) -> list[bool]:
        given = [
            (number, put.run, *rows.reply_row(put.call.key, put.reply))
            if put.reply and not put.reply.error
            else None
            for put, number in zip(puts, numbers, strict=True)
        ]
        new = [row for row in given if row is not None]
        if insert_rows(self._connection, _INSERT_REPLY, new) == len(new):
            return [True] * len(puts)
        # Rare: another process was quicker, after this one had been given up.
        standing = dict(
            self._connection.execute(
                "SELECT call, checksum FROM replies WHERE call IN (SELECT value FROM json_each(?))",
                (as_json(numbers),),
            ).fetchall()
        )
        return [row is None or row[-1] == standing[row[0]] for row in given]

    def _note_slots(self, puts: Sequence[Put]) -> None:
        for put in puts:
            known = self._slots.get(put.run, {})
            if put.slot not in known:
                # Another process on the same run may have noted it meanwhile.
                known = self._slots[put.run] = read_slots(self._connection, put.run)
            slot = rows.slot_of(put.call)
            if put.slot not in known:
                known[put.slot] = slot
                self._connection.execute(
                    "INSERT INTO slots VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (put.run, put.slot, *rows.slot_row(slot)),
                )
            elif known[put.slot] != slot:
                raise ValueError(f"slot {put.slot} of the run holds {known[put.slot]}, not {slot}")

    def set_aside(self, damaged: Sequence[tuple[str, int, str]]) -> None:
        """Move replies, given by key, checksum found and reason, out of the way of being read."""
        for key, checksum, reason in damaged:
            copied = self._connection.execute(
                f"""INSERT INTO quarantine (key, reason, found, {rows.REPLY_COLUMNS})
                SELECT key, ?, ?, {", ".join("replies." + name for name in rows.REPLY_COLUMNS.split(", "))}
                FROM calls JOIN replies ON replies.call = calls.id WHERE key = ? AND checksum IS ?""",
                (reason, now(), key, checksum),
            )
            if copied.rowcount:
                self._connection.execute(
                    "DELETE FROM replies WHERE call = (SELECT id FROM calls WHERE key = ?)", (key,)
                )
                self._connection.execute("UPDATE calls SET owner = NULL WHERE key = ?", (key,))


def read_slots(connection: sqlite3.Connection, run: int) -> dict[int, rows.Slot]:
    """All slots of a run by number."""
    found = connection.execute(
        'SELECT slot, protocol, criteria, model, "order", sample, kind FROM slots WHERE run = ?', (run,)
    )
    return {row[0]: rows.read_slot(row[1:]) for row in found}


def _place_rows(puts: Sequence[Put], numbers: Sequence[int]) -> list[tuple[Any, ...]]:
    placed = []
    for put, number in zip(puts, numbers, strict=True):
        error = None if put.reply is None else put.reply.error
        kind, message = (None, None) if error is None else (error.kind, error.message)
        placed.append((put.run, put.item, put.slot, number, put.call.parent, kind, message))
    return placed
