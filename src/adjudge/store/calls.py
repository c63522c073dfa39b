"""Writes calls, claims on calls, replies, and the judgments parsed from them.

A call is identified by the hash of its content and has at most one reply, which all runs share.
An error is not a reply: it is recorded with the call in its run, and the call can be retried.
Everything here runs inside the writer's transactions; the caches kept between transactions
can be dropped at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ..errors import StoreError
from ..records import Call
from . import owners, rows
from .schema import now
from .writer import Put

_INSERT_CALL = ("INSERT INTO calls (id, key, model, kind, messages, target, owner, checksum)", "")
_INSERT_REPLY = (f"INSERT OR IGNORE INTO replies (call, run, {rows.REPLY_COLUMNS})", "")
_INSERT_PLACE = (
    f"INSERT INTO places ({rows.PLACE_SEALED}, checksum)",
    "ON CONFLICT DO UPDATE SET call = excluded.call, parent = excluded.parent,"
    " error_kind = excluded.error_kind, error_message = excluded.error_message, checksum = excluded.checksum",
)
_INSERT_JUDGMENT = (
    "INSERT INTO judgments (run, reading, item, slot, body, checksum)",
    "ON CONFLICT DO UPDATE SET body = excluded.body, checksum = excluded.checksum",
)


HOLDS_CALLS = ("filling", "planned", "uploaded", "creating", "open", "ended")
"""The states in which a batch's calls must not be sent by other means; see `batches`."""

_IS_BATCHED = f"""EXISTS (SELECT 1 FROM batch_calls AS line JOIN batches ON batches.id = line.batch
    WHERE line.call = calls.id AND batches.state IN {HOLDS_CALLS})"""


class Claim(Struct, frozen=True):
    """Which of the wanted calls this process sends, and which not."""

    mine: frozenset[str] = frozenset()
    """to be sent by this process; each ends with `put` or `release`"""
    answered: frozenset[str] = frozenset()
    """cache hits: `reply_for` returns their replies"""
    elsewhere: frozenset[str] = frozenset()
    """in flight already, in another process or in this one: `wait`, then claim them again"""
    batched: frozenset[str] = frozenset()
    """in a batch that is not collected, of this run or another one: no one sends them until it is"""


def insert_rows(
    connection: sqlite3.Connection, statement: tuple[str, str], new: Sequence[Sequence[Any]]
) -> int:
    """Insert many rows with few statements; returns how many were inserted.

    Each statement releases the GIL. Getting it back from a busy event loop takes longer than
    the write itself, so inserting row by row would be slow.
    """
    if not new:
        return 0
    head, tail = statement
    one_row = f"({','.join('?' * len(new[0]))})"
    inserted = start = 0
    while start < len(new):
        # Four sizes only, so that the prepared statements are reused.
        size = next(size for size in (64, 16, 4, 1) if size <= len(new) - start)
        values = [value for row in new[start : start + size] for value in row]
        text = f"{head} VALUES {','.join([one_row] * size)} {tail}"
        inserted += connection.execute(text, values).rowcount
        start += size
    return inserted


def as_json(values: Iterable[object]) -> str:
    """A list as one SQL parameter, for json_each."""
    return msgspec.json.encode(list(values)).decode()


class CallWriter:
    """Claims and writes the calls of one open store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids: dict[str, int] = {}
        self._specs: dict[int, dict[int, rows.CallSpec]] = {}
        self.owner = 0
        self.watch = owners.Watch()

    def forget(self) -> None:
        """Drop what was cached in a transaction that was rolled back."""
        self._ids.clear()
        self._specs.clear()

    def beat(self) -> None:
        """Record a heartbeat. An owner that others have declared lost registers again: its replies
        still count unless another process stored one first."""
        if self.owner and not owners.beat(self._connection, self.owner):
            self.owner = owners.enter(self._connection)

    # Claims

    def claim(self, calls: Sequence[Call]) -> Claim:
        """Claim the calls that have no reply and are not in flight."""
        wanted = {call.key: call for call in calls}
        stored = self._find(wanted)
        answered = frozenset(key for key, (_, _, is_answered) in stored.items() if is_answered)
        held_by = {owner for _, owner, is_answered in stored.values() if owner and not is_answered}
        live = self._live(held_by)
        elsewhere = frozenset(
            key for key, (_, owner, is_answered) in stored.items() if owner in live and not is_answered
        )
        batched = self._batched(stored.keys() - answered - elsewhere)
        mine = frozenset(wanted.keys() - answered - elsewhere - batched)
        self._insert([wanted[key] for key in wanted if key not in stored], self.owner)
        ids = {key: stored[key][0] for key in mine if key in stored}
        self._set_owner(list(ids.values()), self.owner)
        self._ids.update(ids)
        return Claim(mine, answered, elsewhere, batched)

    def release(self, keys: Sequence[str]) -> None:
        """Give up claims on calls that will not be sent."""
        stored = self._find(keys)
        self._set_owner([number for number, owner, _ in stored.values() if owner == self.owner], None)
        self.forget_ids(keys)

    def forget_ids(self, keys: Iterable[str]) -> None:
        """Drop the cached row ids of calls that this process will not put."""
        for key in keys:
            self._ids.pop(key, None)

    def _find(self, keys: Iterable[str]) -> dict[str, tuple[int, int | None, bool]]:
        """By key, for each call in the store: its row id, its owner, and whether it has a reply."""
        stored = self._connection.execute(
            """SELECT calls.key, calls.id, calls.owner, replies.call IS NOT NULL
            FROM json_each(?) AS wanted CROSS JOIN calls ON calls.key = wanted.value
            LEFT JOIN replies ON replies.call = calls.id""",
            (as_json(keys),),
        )
        return {key: (number, owner, bool(is_answered)) for key, number, owner, is_answered in stored}

    def _batched(self, keys: Collection[str]) -> frozenset[str]:
        """The calls in a batch that is not collected."""
        if not keys:
            return frozenset()
        found = self._connection.execute(
            "SELECT calls.key FROM json_each(?) AS wanted CROSS JOIN calls ON calls.key = "
            f"wanted.value WHERE {_IS_BATCHED}",
            (as_json(keys),),
        )
        return frozenset(key for (key,) in found)

    def _live(self, held_by: set[int]) -> set[int]:
        """The owners that are still alive; the others are removed."""
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
            # Samples and judges of one item share their messages.
            if call.messages is not shared:
                shared, packed = call.messages, rows.packed_messages(call)
            target = None if call.target is None else rows.pack(call.target.encode())
            check = rows.call_checksum(call.key, packed, target)
            new.append((number, call.key, call.model, call.kind, packed, target, owner, check))
            self._ids[call.key] = number
        insert_rows(self._connection, _INSERT_CALL, new)

    # Replies and judgments

    def put_all(self, puts: Sequence[Put]) -> list[bool]:
        """Write puts; false for each call that already has another reply, which is kept."""
        readings = self._readings({put.run for put in puts})
        self._learn_ids([put.call for put in puts if put.call.key not in self._ids])
        numbers = [self._ids[put.call.key] for put in puts]
        for put in puts:
            self._ids.pop(put.call.key, None)
        stands = self._write_replies(puts, numbers)
        self._note_specs(puts)
        insert_rows(self._connection, _INSERT_PLACE, _place_rows(puts, numbers))
        judged = [
            (put.run, readings[put.run], put.item, put.call_index, *rows.judgment_columns(put.judgment))
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
                "The run was deleted while it was running.\nStart it again: nothing of it was kept."
            )
        return readings

    def _learn_ids(self, calls: Sequence[Call]) -> None:
        """Look up the row ids of calls that were not claimed here; insert those that are new."""
        if not calls:
            return
        wanted = {call.key: call for call in calls}
        stored = self._find(wanted)
        self._ids.update((key, number) for key, (number, _, _) in stored.items())
        self._insert([call for key, call in wanted.items() if key not in stored], None)

    def _write_replies(self, puts: Sequence[Put], numbers: Sequence[int]) -> list[bool]:
        replies = [
            (number, put.run, *rows.reply_columns(put.call.key, put.reply))
            if put.reply and not put.reply.error
            else None
            for put, number in zip(puts, numbers, strict=True)
        ]
        new = [row for row in replies if row is not None]
        if insert_rows(self._connection, _INSERT_REPLY, new) == len(new):
            return [True] * len(puts)
        # Rare: this process was declared lost, and another one stored a reply first.
        standing = dict(
            self._connection.execute(
                "SELECT call, checksum FROM replies WHERE call IN (SELECT value FROM json_each(?))",
                (as_json(numbers),),
            ).fetchall()
        )
        return [row is None or row[-1] == standing[row[0]] for row in replies]

    def _note_specs(self, puts: Sequence[Put]) -> None:
        for put in puts:
            known = self._specs.get(put.run, {})
            if put.call_index not in known:
                # Another process on the same run may have written it meanwhile.
                known = self._specs[put.run] = read_call_specs(self._connection, put.run)
            spec = rows.spec_of(put.call)
            if put.call_index not in known:
                known[put.call_index] = spec
                columns = (put.run, put.call_index, *rows.spec_columns(spec))
                self._connection.execute(
                    "INSERT INTO slots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*columns, rows.checksum(columns))
                )
            elif known[put.call_index] != spec:
                raise ValueError(
                    f"slot {put.call_index} of the run holds {known[put.call_index]}, not {spec}"
                )

    def quarantine(self, damaged: Sequence[tuple[str, int, str]]) -> None:
        """Move damaged replies to the quarantine table, so that their calls are sent again."""
        for key, checksum, reason in damaged:
            copied = self._connection.execute(
                f"""INSERT INTO quarantine (key, reason, found, {rows.REPLY_COLUMNS})
                SELECT key, ?, ?, {", ".join("replies." + name for name in rows.REPLY_COLUMNS.split(", "))}
                FROM calls JOIN replies ON replies.call = calls.id WHERE key = ? AND replies.checksum IS ?""",
                (reason, now(), key, checksum),
            )
            if copied.rowcount:
                self._connection.execute(
                    "DELETE FROM replies WHERE call = (SELECT id FROM calls WHERE key = ?)", (key,)
                )
                self._connection.execute("UPDATE calls SET owner = NULL WHERE key = ?", (key,))


def read_call_specs(connection: sqlite3.Connection, run: int) -> dict[int, rows.CallSpec]:
    """The specs of a run's calls, by call index."""
    specs = {}
    for *row, stored in connection.execute(
        f"SELECT {rows.SLOT_SEALED}, checksum FROM slots WHERE run = ?", (run,)
    ):
        rows.check_checksum(tuple(row), stored)
        specs[row[1]] = rows.read_spec(tuple(row[2:]))
    return specs


def _place_rows(puts: Sequence[Put], numbers: Sequence[int]) -> list[tuple[Any, ...]]:
    placed = []
    for put, number in zip(puts, numbers, strict=True):
        error = None if put.reply is None else put.reply.error
        kind, message = (None, None) if error is None else (error.kind, error.message)
        place = (put.run, put.item, put.call_index, number, put.call.parent, kind, message)
        is_plain = kind is None and put.call.parent is None
        placed.append((*place, None if is_plain else rows.checksum(place)))
    return placed
