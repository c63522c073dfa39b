"""Calls that were handed to a provider's batch API: what was submitted, under which name, and how each line
ended.

A batch goes through these states, each durable before the next step:

    filling    calls are being collected; nothing was sent
    planned    its calls are complete; nothing was sent
    uploaded   the provider has its file; no batch exists
    creating   the request that creates it is sent: it may or may not exist
    open       the provider has it, under the id `remote`
    ended      the provider is done with it; its results are not read yet
    collected  each line has an outcome
    closed     the run is complete: a failed line may be asked again by the next start
    refused    the provider refused it as a whole; it has no calls any more
    dropped    nothing was sent, and its calls are free again

A call without a reply in a batch before `collected` belongs to that batch, also after the process that
submitted it has ended: no process may send it. A batch is advanced by one process at a time, its owner.
Functions that write run inside the writer's transactions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..errors import StoreError
from ..records import Call, ErrorKind, Message, Reply, ReplyError
from . import owners, rows
from .calls import HOLDS_CALLS, as_json, insert_rows
from .schema import now

BatchState = Literal[
    "filling", "planned", "uploaded", "creating", "open", "ended", "collected", "closed", "refused", "dropped"
]

Outcome = Literal["answered", "failed", "lost", "cut"]
"""How a line ended: with a reply; with an error that asking again does not mend; without an answer, to be
asked again; or with a reply that was cut off before its answer, to be asked again with a larger limit.
"""

_COLUMNS = rows.BATCH_SEALED
_SELECT = f"SELECT {_COLUMNS}, owner, checksum FROM batches"
_INSERT_LINE = (f"INSERT INTO batch_calls ({rows.BATCH_CALL_SEALED}, checksum)", "")
_REPLACE_LINE = (f"INSERT OR REPLACE INTO batch_calls ({rows.BATCH_CALL_SEALED}, checksum)", "")
_INSERT_REPLY = (f"INSERT OR IGNORE INTO replies (call, run, {rows.REPLY_COLUMNS})", "")

_pack_reply = msgspec.msgpack.Encoder().encode
_read_reply = msgspec.msgpack.Decoder(Reply).decode


class BatchRow(Struct, frozen=True):
    """A batch in the store."""

    id: int
    name: str
    """our own id, which the provider keeps with the batch or with each of its lines"""
    run: int
    model: str
    identity: str
    """the model and its address; with another address it is another model"""
    state: BatchState
    provider_state: str
    file: str
    """the provider's id of the uploaded file"""
    mark: str
    """what the provider had before the batch was created: batches that are older are not this one"""
    remote: str
    """the provider's id of the batch"""
    outputs: tuple[str, ...]
    """where the provider has the results"""
    n_calls: int
    n_done: int
    n_failed: int
    estimate_usd: float | None
    """the cost that was reserved when it was submitted"""
    note: str
    created: str
    changed: str
    owner: int | None = None

    @property
    def holds_calls(self) -> bool:
        return self.state in HOLDS_CALLS


class BatchLine(Struct, frozen=True):
    """What the batches of a run say of one call."""

    outcome: Outcome | None = None
    """of the latest batch; none while it is open"""
    error: ReplyError | None = None
    flags: tuple[str, ...] = ()
    paid: Reply | None = None
    """a reply that was paid for and cut off"""
    n_lost: int = 0
    """in how many batches it was not answered"""


class Settled(Struct, frozen=True):
    """The outcome of one line."""

    key: str
    outcome: Outcome
    reply: Reply | None = None
    error: ReplyError | None = None


def begin(
    connection: sqlite3.Connection, name: str, run: int, model: str, identity: str, owner: int
) -> BatchRow:
    """A new batch without calls."""
    moment = now()
    number = connection.execute(
        "INSERT INTO batches (name, run, model, identity, state, created, changed, owner) VALUES (?, "
        "?, ?, ?, 'filling', ?, ?, ?)",
        (name, run, model, identity, moment, moment, owner),
    ).lastrowid
    assert number is not None
    _seal(connection, number)
    return one(connection, number)


def fill(connection: sqlite3.Connection, batch: int, lines: Sequence[tuple[str, int]], owner: int) -> None:
    """Move calls (key, call index) that this process has claimed into a batch."""
    numbers = _numbers(connection, [key for key, _ in lines])
    new = [(batch, numbers[key], index, None, None, None, None, None) for key, index in lines]
    insert_rows(connection, _INSERT_LINE, [(*row, rows.batch_call_checksum(row)) for row in new])
    connection.execute(
        "UPDATE calls SET owner = NULL WHERE owner = ? AND id IN (SELECT value FROM json_each(?))",
        (owner, as_json(numbers.values())),
    )
    connection.execute("UPDATE batches SET n_calls = n_calls + ? WHERE id = ?", (len(new), batch))
    _seal(connection, batch)


_CHANGEABLE = frozenset(
    (
        "state",
        "provider_state",
        "file",
        "mark",
        "remote",
        "outputs",
        "n_done",
        "n_failed",
        "estimate_usd",
        "note",
    )
)


def change(connection: sqlite3.Connection, batch: int, owner: int, values: dict[str, Any]) -> BatchRow:
    """Change columns of a batch that this process advances; `StoreError` where another one has taken it
    over."""
    assert values.keys() <= _CHANGEABLE
    if "outputs" in values:
        values = {**values, "outputs": as_json(values["outputs"])}
    assignments = ", ".join(f"{name} = ?" for name in values)
    changed = connection.execute(
        f"UPDATE batches SET {assignments}, changed = ? WHERE id = ? AND owner = ?",
        (*values.values(), now(), batch, owner),
    )
    if changed.rowcount != 1:
        raise StoreError(
            "Another process has taken over a batch of this run.\nRun the same command again when it "
            "has ended."
        )
    _seal(connection, batch)
    return one(connection, batch)


def take(connection: sqlite3.Connection, batch: int, owner: int, watch: owners.Watch) -> BatchRow | None:
    """Become the owner of a batch; none where a live process has it."""
    row = one(connection, batch)
    if row.owner is not None and row.owner != owner:
        others = [known for known in owners.owners(connection) if known.id == row.owner]
        if others and not watch.is_lost(others[0]):
            return None
    connection.execute("UPDATE batches SET owner = ? WHERE id = ?", (owner, batch))
    return one(connection, batch)


def drop(connection: sqlite3.Connection, batch: int, state: Literal["dropped", "refused"], note: str) -> None:
    """Free the calls of a batch that does not exist at the provider."""
    connection.execute("DELETE FROM batch_calls WHERE batch = ?", (batch,))
    connection.execute(
        "UPDATE batches SET state = ?, n_calls = 0, note = ?, owner = NULL, changed = ? WHERE id = ?",
        (state, note, now(), batch),
    )
    _seal(connection, batch)


def settle_lines(connection: sqlite3.Connection, batch: BatchRow, settled: Sequence[Settled]) -> None:
    """Write the outcomes of lines, with their replies; the first outcome of a line counts."""
    known = _lines_of(connection, batch.id, [line.key for line in settled])
    replies, lines = [], []
    for line in settled:
        if line.key not in known:
            continue
        call, index, outcome = known[line.key]
        if outcome is not None:
            continue
        known[line.key] = (call, index, line.outcome)
        kind, message, flags, paid = None, None, None, None
        if line.error is not None:
            kind, message = line.error.kind, line.error.message
        if line.reply is not None:
            flags = as_json(line.reply.flags) if line.reply.flags else None
            if line.outcome == "answered":
                replies.append((call, batch.run, *rows.reply_columns(line.key, line.reply)))
            else:
                paid = rows.pack(_pack_reply(line.reply))
        row = (batch.id, call, index, line.outcome, kind, message, flags, paid)
        lines.append((*row, rows.batch_call_checksum(row)))
    insert_rows(connection, _INSERT_REPLY, replies)
    insert_rows(connection, _REPLACE_LINE, lines)


def close_batches(connection: sqlite3.Connection, run: int) -> None:
    """Mark the batches of a run that is complete."""
    numbers = [
        number
        for (number,) in connection.execute(
            "SELECT id FROM batches WHERE run = ? AND state = 'collected'", (run,)
        )
    ]
    for number in numbers:
        connection.execute("UPDATE batches SET state = 'closed', owner = NULL WHERE id = ?", (number,))
        _seal(connection, number)


def _seal(connection: sqlite3.Connection, batch: int) -> None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM batches WHERE id = ?", (batch,)).fetchone()
    connection.execute("UPDATE batches SET checksum = ? WHERE id = ?", (rows.checksum(row), batch))


def one(connection: sqlite3.Connection, batch: int) -> BatchRow:
    return _read(connection.execute(f"{_SELECT} WHERE id = ?", (batch,)).fetchone())


def of_run(connection: sqlite3.Connection, run: int | None) -> list[BatchRow]:
    """The batches of a run, or of all runs, oldest first; those that came to nothing are left out."""
    found = connection.execute(
        f"{_SELECT} WHERE (? IS NULL OR run = ?) AND state <> 'dropped' ORDER BY id", (run, run)
    )
    return [_read(row) for row in found]


def _read(row: tuple[Any, ...]) -> BatchRow:
    *sealed, owner, stored = row
    rows.check_checksum(tuple(sealed), stored)
    values = dict(zip(_COLUMNS.split(", "), sealed, strict=True))
    return msgspec.convert(
        {**values, "outputs": msgspec.json.decode(values["outputs"]), "owner": owner}, BatchRow
    )


def lines(connection: sqlite3.Connection, run: int, keys: Collection[str]) -> dict[str, BatchLine]:
    """What the batches of a run that is not complete say of calls."""
    found: dict[str, BatchLine] = {}
    for key, outcome, kind, message, flags, paid in connection.execute(
        """SELECT calls.key, line.outcome, line.error_kind, line.error_message, line.flags, line.reply
        FROM json_each(?) AS wanted CROSS JOIN calls ON calls.key = wanted.value
        CROSS JOIN batch_calls AS line ON line.call = calls.id CROSS JOIN batches ON batches.id = line.batch
        WHERE batches.run = ? AND (batches.state <> 'closed' OR line.outcome = 'answered') ORDER BY
        line.batch""",
        (as_json(keys), run),
    ):
        n_lost = found[key].n_lost if key in found else 0
        found[key] = BatchLine(
            outcome,
            None if kind is None else ReplyError(kind, message),
            tuple(msgspec.json.decode(flags)) if flags else (),
            None if paid is None else _read_reply(rows.unpack(paid)),
            n_lost + (outcome == "lost"),
        )
    return found


def open_lines(connection: sqlite3.Connection, batch: int) -> Iterator[list[str]]:
    """The keys of the lines without an outcome, in pages."""
    last = 0
    while page := connection.execute(
        """SELECT calls.id, calls.key FROM batch_calls JOIN calls ON calls.id = batch_calls.call
        WHERE batch = ? AND outcome IS NULL AND call > ? ORDER BY call LIMIT 500""",
        (batch, last),
    ).fetchall():
        last = page[-1][0]
        yield [key for _, key in page]


def calls_of(
    connection: sqlite3.Connection, batch: int, keys: Collection[str]
) -> dict[str, tuple[Call, int]]:
    """Calls of a batch with their messages and call index,
    by key; those that are not in the batch are left out.
    """
    found = {}
    for key, model, messages, target, stored, index in connection.execute(
        """SELECT calls.key, calls.model, calls.messages, calls.target, calls.checksum, line.slot
        FROM json_each(?) AS wanted CROSS JOIN calls ON calls.key = wanted.value
        CROSS JOIN batch_calls AS line ON line.call = calls.id WHERE line.batch = ?""",
        (as_json(keys), batch),
    ):
        if stored is not None and rows.call_checksum(key, messages, target) != stored:
            raise rows.DamagedError("the checksum of the prompt differs")
        turns = msgspec.json.decode(rows.unpack(messages), type=tuple[Message, ...])
        found[key] = (Call(key, "", "", (), model, turns), index)
    return found


def remote_ids(connection: sqlite3.Connection) -> set[str]:
    """The providers' ids of all batches in the store."""
    return {remote for (remote,) in connection.execute("SELECT remote FROM batches WHERE remote <> ''")}


def _lines_of(
    connection: sqlite3.Connection, batch: int, keys: Collection[str]
) -> dict[str, tuple[int, int, str | None]]:
    found = connection.execute(
        """SELECT calls.key, calls.id, line.slot, line.outcome FROM json_each(?) AS wanted
        CROSS JOIN calls ON calls.key = wanted.value CROSS JOIN batch_calls AS line ON line.call = calls.id
        WHERE line.batch = ?""",
        (as_json(keys), batch),
    )
    return {key: (call, index, outcome) for key, call, index, outcome in found}


def _numbers(connection: sqlite3.Connection, keys: Collection[str]) -> dict[str, int]:
    found = connection.execute(
        "SELECT calls.key, calls.id FROM json_each(?) AS wanted CROSS JOIN calls ON calls.key = wanted.value",
        (as_json(keys),),
    )
    return dict(found.fetchall())


def counted(connection: sqlite3.Connection, batch: int) -> dict[str, int]:
    """How many lines of a batch have each outcome."""
    found = connection.execute(
        "SELECT COALESCE(outcome, ''), count(*) FROM batch_calls WHERE batch = ? GROUP BY 1", (batch,)
    )
    return dict(found.fetchall())


def failure(kind: ErrorKind, message: str) -> ReplyError:
    """Why a line has no reply, in the words of the provider."""
    return ReplyError(kind, message[:500])
