"""Starts, lists, renames and deletes runs; stores their items, labels, reviews and notes; replaces their judgments.

A run is found by its name and can be resumed only with the same `identity`, the caller's hash
of all settings that decide which calls are sent. This file does not interpret manifests.
Totals are never stored; see `reading`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..errors import StoreError, listed
from ..records import Item, Judgment, Label, Note, Review
from ..untrusted import has_control
from . import owners, rows
from .calls import as_json, insert_rows
from .rows import json_of
from .schema import now

# Stores human labels. A rater's second label for the same thing replaces the first.
#
# This file knows nothing of judges; a label only names the run whose items the rater was shown.


_INSERT = (f"INSERT OR REPLACE INTO labels ({rows.LABEL_SEALED}, checksum)", "")


def put_labels(connection: sqlite3.Connection, labels: Sequence[Label], run: int | None) -> None:
    """Store labels, for a run's items or for no run in particular."""
    new = [
        (
            run,
            label.item,
            label.criterion,
            label.rater,
            json_of(label.value).decode(),
            label.subject,
            None if label.probability is None else float(label.probability),
            label.origin,
        )
        for label in labels
    ]
    insert_rows(connection, _INSERT, [(*row, rows.checksum(row)) for row in new])


def read_labels(connection: sqlite3.Connection, run: int | None, rater: str | None = None) -> list[Label]:
    """The labels of a run, or of all runs, and of one rater where one is named; oldest first."""
    # All of them, which tells whether one is missing. A store has thousands of labels, not millions.
    before = kept(connection, 0)
    label_rows = connection.execute(
        f"SELECT {rows.LABEL_SEALED}, checksum FROM labels ORDER BY id"
    ).fetchall()
    check_count("labels", before.labels, len(label_rows), kept(connection, 0).labels)
    labels = []
    for *row, stored in label_rows:
        rows.check(tuple(row), stored)
        whose, item, criterion, name, value, subject, probability, origin = row
        if run in (None, whose) and rater in (None, name):
            labels.append(
                Label(item, criterion, name, msgspec.json.decode(value), subject, probability, origin)
            )
    return labels


def delete_label(connection: sqlite3.Connection, run: int, label: Label) -> bool:
    """Delete a label; false where it is gone already or has another value now."""
    deleted = connection.execute(
        "DELETE FROM labels WHERE run = ? AND item = ? AND criterion = ? AND rater = ?"
        " AND COALESCE(subject, '') = ? AND value = ?",
        (
            run,
            label.item,
            label.criterion,
            label.rater,
            label.subject or "",
            json_of(label.value).decode(),
        ),
    )
    return deleted.rowcount == 1


# Reviews and notes: one for each reviewer and cell, or author and item; a later one replaces the earlier. Like labels they
# are few, so that all of them are read, which tells whether one is missing.


def put_review(connection: sqlite3.Connection, review: Review, run: int) -> None:
    """Store a review of a run."""
    answer, label = (json_of(value).decode() for value in (review.answer, review.label))
    row = (
        run, review.item, review.protocol, review.criterion, review.subject, review.model, review.reviewer,
        review.verdict, answer, label, review.reason, review.note, review.made or now(),
    )  # fmt: skip
    head = f"INSERT OR REPLACE INTO reviews ({rows.REVIEW_SEALED}, checksum)"
    insert_rows(connection, (head, ""), [(*row, rows.checksum(row))])


def read_reviews(connection: sqlite3.Connection, run: int) -> list[Review]:
    """The reviews of a run, oldest first."""
    return [
        Review(
            item, protocol, criterion, model, reviewer, verdict, subject,
            msgspec.json.decode(answer), msgspec.json.decode(label), reason, note, made,
        )
        for item, protocol, criterion, subject, model, reviewer, verdict, answer, label, reason, note, made
        in _of_run(connection, "reviews", rows.REVIEW_SEALED, run)
    ]  # fmt: skip


def delete_review(connection: sqlite3.Connection, run: int, review: Review) -> bool:
    """Delete a review; false where it is gone already or was changed."""
    deleted = connection.execute(
        "DELETE FROM reviews WHERE run = ? AND item = ? AND criterion = ? AND COALESCE(subject, '') = ? AND reviewer = ?"
        " AND verdict = ?",
        (run, review.item, review.criterion, review.subject or "", review.reviewer, review.verdict),
    )
    return deleted.rowcount == 1


def put_note(connection: sqlite3.Connection, note: Note, run: int) -> None:
    """Store what one person wrote about an item; nothing at all deletes it."""
    if not note.text and not note.tags:
        connection.execute(
            "DELETE FROM notes WHERE run = ? AND item = ? AND author = ?", (run, note.item, note.author)
        )
        return
    row = (run, note.item, note.author, note.text, json_of(note.tags).decode(), note.made or now())
    head = f"INSERT OR REPLACE INTO notes ({rows.NOTE_SEALED}, checksum)"
    insert_rows(connection, (head, ""), [(*row, rows.checksum(row))])


def read_notes(connection: sqlite3.Connection, run: int) -> list[Note]:
    """The notes of a run, oldest first."""
    return [
        Note(item, author, text, tuple(msgspec.json.decode(tags)), made)
        for item, author, text, tags, made in _of_run(connection, "notes", rows.NOTE_SEALED, run)
    ]


def _of_run(connection: sqlite3.Connection, table: str, columns: str, run: int) -> list[rows.Columns]:
    """The rows of a run without its number, after a check of all rows of the table."""
    before = getattr(kept(connection, 0), table)
    found = connection.execute(f"SELECT {columns}, checksum FROM {table} ORDER BY id").fetchall()
    check_count(table, before, len(found), getattr(kept(connection, 0), table))
    for *row, stored in found:
        rows.check(tuple(row), stored)
    return [row[1:-1] for row in found if row[0] == run]


# Invitations: who may open the pages from another machine. Only the hash of a link's secret is stored.

InvitationKind = Literal["rater", "guest"]


class Invitation(Struct, frozen=True):
    """Somebody who may label the items of a run, or read the pages of all runs."""

    kind: InvitationKind
    name: str
    secret: str
    """the hash of what the link is exchanged for"""
    made: str
    revoked: str | None = None


def put_invitation(
    connection: sqlite3.Connection, run: int | None, kind: InvitationKind, name: str, secret: str
) -> None:
    """Store an invitation; the name must have no other one that is open."""
    row = (run, kind, name, secret, now(), None)
    insert_rows(
        connection,
        (f"INSERT INTO invitations ({rows.INVITATION_SEALED}, checksum)", ""),
        [(*row, rows.checksum(row))],
    )


def read_invitations(
    connection: sqlite3.Connection, run: int | None, kind: InvitationKind
) -> list[Invitation]:
    """The invitations of a run, or for all runs, revoked ones too; oldest first."""
    found = connection.execute(
        f"SELECT {rows.INVITATION_SEALED}, checksum FROM invitations WHERE COALESCE(run, 0) = ? AND kind = ? ORDER BY id",
        (run or 0, kind),
    ).fetchall()
    for *row, stored in found:
        rows.check(tuple(row), stored)
    return [Invitation(*row[1:-1]) for row in found]


def revoke_invitation(
    connection: sqlite3.Connection, run: int | None, kind: InvitationKind, name: str
) -> bool:
    """Revoke the open invitation of a name; false where there is none."""
    found = connection.execute(
        f"""SELECT id, {rows.INVITATION_SEALED} FROM invitations
        WHERE COALESCE(run, 0) = ? AND kind = ? AND name = ? AND revoked IS NULL""",
        (run or 0, kind, name),
    ).fetchone()
    if found is None:
        return False
    number, *row = found
    row[-1] = now()
    connection.execute(
        "UPDATE invitations SET revoked = ?, checksum = ? WHERE id = ?",
        (row[-1], rows.checksum(tuple(row)), number),
    )
    return True


class Counts(Struct, frozen=True):
    """How many rows of a run were written; none where the file was made before they were counted."""

    items: int | None = None
    places: int | None = None
    judgments: int | None = None
    labels: int | None = None
    reviews: int | None = None
    notes: int | None = None


def kept(connection: sqlite3.Connection, run: int) -> Counts:
    """The counts of a run, or with the number 0 those of the whole store."""
    row = connection.execute(
        "SELECT items, places, judgments, labels, reviews, notes FROM counts WHERE run = ?", (run,)
    ).fetchone()
    if row is None:
        if run and connection.execute("SELECT 1 FROM runs WHERE id = ?", (run,)).fetchone() is None:
            raise StoreError("The run was deleted while it was being read.\nList the runs: adjudge runs.")
        raise rows.DamagedError(f"the counts of run number {run} are missing")
    return Counts(*row)


def check_count(what: str, before: int | None, n: int, after: int | None) -> None:
    """`DamagedError` where rows are missing. A run may grow while it is read: `before` and `after` are its counts then."""
    if before is not None and after is not None and not before <= n <= after:
        raise rows.DamagedError(f"{n} {what} found, {after} were written")


RunStatus = Literal["running", "done", "interrupted", "stopped", "submitted"]
"""`submitted`: calls are in batches that are not collected yet."""

_COLUMNS = f"{rows.RUN_SEALED}, owner, checksum"
_INSERT_ITEM = (f"INSERT INTO items (run, {rows.ITEM_COLUMNS})", "")
_INSERT_JUDGMENT = ("INSERT OR REPLACE INTO judgments (run, reading, item, slot, body, checksum)", "")
_LONGEST_NAME = 200
_NOT_IDENTITY = ("command", "version", "adjustments", "price_dates")
"""Parts of a manifest that may differ when a run is resumed."""

NewJudgment = tuple[int, int, Judgment]
"""The number of the item, the index of the call, and the new judgment."""


class RunRow(Struct, frozen=True):
    """A run in the store."""

    id: int
    name: str
    identity: str
    manifest: dict[str, Any]
    status: RunStatus
    started: str
    ended: str | None
    seconds: float
    """the sum over all starts that ended, by the monotonic clock"""
    is_resumed: bool = False
    """whether `start_run` resumed it"""


def start(
    connection: sqlite3.Connection, name: str | None, identity: str, manifest: Mapping[str, Any], owner: int
) -> RunRow:
    """Start a run, or resume the one of that name; without a name, the latest one of that identity."""
    if name is not None:
        _check_name(name)
        existing = connection.execute(
            "SELECT id, identity, manifest FROM runs WHERE name = ?", (name,)
        ).fetchone()
    else:
        existing = connection.execute(
            "SELECT id, identity, manifest FROM runs WHERE identity = ? ORDER BY turn DESC LIMIT 1",
            (identity,),
        ).fetchone()
    if existing is not None and existing[1] != identity:
        raise _different_settings(str(name), rows.unpacked_json(existing[2]), manifest)
    turn = 1 + connection.execute("SELECT COALESCE(max(turn), 0) FROM runs").fetchone()[0]
    if existing is not None:
        connection.execute(
            "UPDATE runs SET status = 'running', owner = ?, ended = NULL, turn = ? WHERE id = ?",
            (owner, turn, existing[0]),
        )
        number = existing[0]
    else:
        number = connection.execute(
            "INSERT INTO runs (name, identity, manifest, status, turn, reading, owner, started)"
            " VALUES (?, ?, ?, 'running', ?, 0, ?, ?)",
            (name or _free_name(connection), identity, rows.packed_json(manifest), turn, owner, now()),
        ).lastrowid
    assert number is not None
    seal(connection, number)
    row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (number,)).fetchone()
    return _read_run(row, {owner}, is_resumed=existing is not None)


def seal(connection: sqlite3.Connection, run: int) -> None:
    """Compute the checksum of a run's row, after each change of it."""
    row = connection.execute(f"SELECT {rows.RUN_SEALED} FROM runs WHERE id = ?", (run,)).fetchone()
    if row is not None:
        connection.execute("UPDATE runs SET checksum = ? WHERE id = ?", (rows.checksum(row), run))


def finish(connection: sqlite3.Connection, run: int, status: RunStatus, seconds: float) -> None:
    connection.execute(
        "UPDATE runs SET status = ?, ended = ?, seconds = seconds + ?, owner = NULL WHERE id = ?",
        (status, now(), float(seconds), run),
    )
    seal(connection, run)


def note_adjustments(connection: sqlite3.Connection, run: int, adjustments: Sequence[str]) -> None:
    """Add to the manifest the parameters that the models of a run refused, without repeating any."""
    (packed,) = connection.execute("SELECT manifest FROM runs WHERE id = ?", (run,)).fetchone()
    manifest = rows.unpacked_json(packed)
    manifest["adjustments"] = list(dict.fromkeys([*manifest.get("adjustments", ()), *adjustments]))
    connection.execute("UPDATE runs SET manifest = ? WHERE id = ?", (rows.packed_json(manifest), run))
    seal(connection, run)


def all_runs(connection: sqlite3.Connection) -> list[RunRow]:
    """The runs, in the order in which they were last started."""
    live = _live_owners(connection)
    # One statement, so that both numbers are of the same moment.
    found = connection.execute(
        f"SELECT {_COLUMNS}, (SELECT count(*) FROM counts WHERE run <> 0) FROM runs ORDER BY turn"
    ).fetchall()
    if found and found[0][-1] != len(found):
        raise rows.DamagedError(f"{len(found)} runs found, {found[0][-1]} were written")
    if not found:
        _check_runs(connection)
    return [_read_run(row[:-1], live) for row in found]


def _check_runs(connection: sqlite3.Connection) -> None:
    """`DamagedError` where runs have vanished."""
    n_runs, n_written = connection.execute(
        "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM counts WHERE run <> 0)"
    ).fetchone()
    check_count("runs", n_written, n_runs, n_written)


def one_run(connection: sqlite3.Connection, name: str) -> RunRow:
    """The run of that name, or the one last started where the name is `last`.

    Tests leave many small runs behind (`pytest/…`); `last` means one of them only where there is no other.
    """
    if name == "last":
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM runs ORDER BY name LIKE 'pytest/%', turn DESC LIMIT 1"
        ).fetchone()
    else:
        row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE name = ?", (name,)).fetchone()
    if row is not None:
        return _read_run(row, _live_owners(connection))
    _check_runs(connection)
    names = [known for (known,) in connection.execute("SELECT name FROM runs ORDER BY turn DESC LIMIT 10")]
    if not names:
        raise StoreError("The store has no runs yet.\nStart one with `adjudge run`, or give another --store.")
    raise StoreError(f"There is no run {name!r} in the store.\nThe latest runs are: {', '.join(names)}.")


def rename(connection: sqlite3.Connection, old: str, new: str) -> None:
    _check_name(new)
    run = one_run(connection, old)
    if connection.execute("SELECT 1 FROM runs WHERE name = ? AND id <> ?", (new, run.id)).fetchone():
        raise StoreError(f"A run {new!r} already exists.\nChoose another name, or delete that run first.")
    connection.execute("UPDATE runs SET name = ? WHERE id = ?", (new, run.id))
    seal(connection, run.id)


def delete(connection: sqlite3.Connection, name: str) -> None:
    """Delete a run and all that no other run uses, its reviews and notes included. Human labels are kept."""
    run = one_run(connection, name)
    if run.status == "running":
        raise StoreError(f"The run {run.name!r} is still running.\nStop it first, then delete it.")
    _delete_batches(connection, run)
    for table in ("judgments", "places", "slots", "items", "reviews", "notes"):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run.id,))
    freed = [label for (label,) in connection.execute("SELECT id FROM labels WHERE run = ?", (run.id,))]
    connection.execute("UPDATE OR REPLACE labels SET run = NULL WHERE run = ?", (run.id,))
    _seal_labels(connection, freed)
    connection.execute("DELETE FROM invitations WHERE run = ?", (run.id,))
    connection.execute("UPDATE replies SET run = NULL WHERE run = ?", (run.id,))
    connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
    # Calls in flight and calls of a batch belong to no run yet; they must keep their row id.
    connection.execute(
        """DELETE FROM calls WHERE id NOT IN (SELECT call FROM places) AND id NOT IN (SELECT call FROM batch_calls)
        AND NOT (COALESCE(owner, 0) IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT call FROM replies))""",
        (as_json(_live_owners(connection)),),
    )
    connection.execute("DELETE FROM replies WHERE call NOT IN (SELECT id FROM calls)")


def _delete_batches(connection: sqlite3.Connection, run: RunRow) -> None:
    """Delete the batches of a run; `StoreError` where the provider may still have one."""
    (n_open,) = connection.execute(
        "SELECT count(*) FROM batches WHERE run = ? AND state IN ('creating', 'open', 'ended')", (run.id,)
    ).fetchone()
    if n_open:
        raise StoreError(
            f"The run {run.name!r} has {n_open} batch{'' if n_open == 1 else 'es'} at the provider, and what they answer is paid for.\n"
            f"Collect them with the command of the run, or cancel them first: adjudge runs cancel {run.name}, "
            "then the command of the run once more."
        )
    connection.execute(
        "DELETE FROM batch_calls WHERE batch IN (SELECT id FROM batches WHERE run = ?)", (run.id,)
    )
    connection.execute("DELETE FROM batches WHERE run = ?", (run.id,))


def _seal_labels(connection: sqlite3.Connection, labels: Sequence[int]) -> None:
    found = connection.execute(
        f"SELECT {rows.LABEL_SEALED}, id FROM labels WHERE id IN (SELECT value FROM json_each(?))",
        (as_json(labels),),
    ).fetchall()
    connection.executemany(
        "UPDATE labels SET checksum = ? WHERE id = ?", [(rows.checksum(row[:-1]), row[-1]) for row in found]
    )


def put_items(
    connection: sqlite3.Connection, run: int, first: int, items: Sequence[Item], step: int = 1
) -> None:
    """Store items with the numbers `first`, `first + step`, …; items that are stored already must be unchanged."""
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
                "Start a new run for the changed items with --run NAME: replies to unchanged items are reused."
            )
    insert_rows(connection, _INSERT_ITEM, new)


def is_whole(connection: sqlite3.Connection, run: int, n_calls: int) -> bool:
    """Whether a run has all its calls, each judged or failed; follow-up questions do not count."""
    (n_settled,) = connection.execute(
        """SELECT count(*) FROM main.places AS p JOIN main.slots AS s ON s.run = p.run AND s.slot = p.slot
        JOIN main.runs AS r ON r.id = p.run LEFT JOIN main.judgments AS j
            ON j.run = p.run AND j.reading = r.reading AND j.item = p.item AND j.slot = p.slot
        WHERE p.run = ? AND s.kind NOT IN ('reask', 'steps', 'extract', 'check') AND (p.error_kind IS NOT NULL OR j.run IS NOT NULL)""",
        (run,),
    ).fetchone()
    return bool(n_settled >= n_calls)


def items_by_shard(connection: sqlite3.Connection, run: int, n_shards: int) -> list[int]:
    """How many items of each of so many shards are stored; shard K has every so many-th item, beginning with item K."""
    counts = dict(
        connection.execute(
            "SELECT seq % :n, count(*) FROM items WHERE run = :run GROUP BY 1", {"n": n_shards, "run": run}
        ).fetchall()
    )
    return [counts.get(number, 0) for number in range(n_shards)]


def _live_owners(connection: sqlite3.Connection) -> set[int]:
    return {owner.id for owner in owners.owners(connection) if not owners.is_gone(owner)}


def _read_run(row: tuple[Any, ...], live: set[int], *, is_resumed: bool = False) -> RunRow:
    number, name, identity, _, status, _, _, started, ended, seconds, owner, stored = row
    try:
        settings = whole_manifest((*row[:-2], stored))
    except rows.DECODE_FAULTS as fault:
        raise rows.DamagedError(f"run {name!r}: {fault}") from fault
    if status == "running" and owner not in live:
        status = "interrupted"  # its process was killed
    return RunRow(number, name, identity, settings, status, started, ended, seconds, is_resumed)


def whole_manifest(row: tuple[Any, ...]) -> dict[str, Any]:
    """The manifest of a run, from `rows.RUN_SEALED` and the checksum; `DamagedError` where the row is damaged."""
    rows.check(row[:-1], row[-1])
    settings = rows.unpacked_json(row[3])
    if not isinstance(settings, dict):
        raise rows.DamagedError("the manifest is not an object")
    return settings


def _check_name(name: str) -> None:
    if not name.strip() or name == "last":
        raise StoreError(
            f"A run cannot be named {name!r}.\nChoose another name; `last` means the latest run."
        )
    if len(name) > _LONGEST_NAME:
        raise StoreError(
            f"The name of a run has {len(name)} characters ({name[:40]!r}…); {_LONGEST_NAME} are allowed.\n"
            "Choose a shorter name."
        )
    if has_control(name):
        raise StoreError(
            f"The name of a run has a control character ({name!r}).\nChoose a name of printable characters."
        )


def _free_name(connection: sqlite3.Connection) -> str:
    number = 1 + connection.execute("SELECT COALESCE(max(id), 0) FROM runs").fetchone()[0]
    while connection.execute("SELECT 1 FROM runs WHERE name = ?", (f"run-{number:04}",)).fetchone():
        number += 1
    return f"run-{number:04}"


def _different_settings(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> StoreError:
    """The error for a name that belongs to a run with other settings; it lists the differences."""
    before, after = _leaves(old), _leaves(new)
    differences = [
        "items: the items are not the same as before"
        if key == "items.sha256"
        else f"{key}: {_short(before.get(key))} before, {_short(after.get(key))} now"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]
    message = listed(f"run {name!r} already exists with different settings", differences)
    return StoreError(
        f"{message}\nChoose another name with --run, or replace the run with --replace: unchanged calls reuse their stored replies."
    )


def _leaves(value: object, path: str = "") -> dict[str, object]:
    """The values of a manifest by dotted name."""
    if isinstance(value, Mapping):
        pairs = [(f"{path}.{key}" if path else str(key), part) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        pairs = [(f"{path}[{index}]", part) for index, part in enumerate(value)]
    else:
        return {path: value}
    return {
        key: leaf
        for name, part in pairs
        if path or name not in _NOT_IDENTITY
        for key, leaf in _leaves(part, name).items()
    }


def _short(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


# Replacing all judgments of a run. The new judgments are written beside the old ones, page by page,
# under the next reading number; one small transaction then switches to that number. A process that
# is killed in between leaves the old judgments in place.


def begin_reading(connection: sqlite3.Connection, name: str) -> tuple[int, int]:
    """The run's id and the number of a new reading; what an interrupted attempt left is deleted."""
    run = one_run(connection, name)
    if run.status == "running":
        raise StoreError(
            f"The run {run.name!r} is still running.\nWait until it ends, then run reread again."
        )
    (current,) = connection.execute("SELECT reading FROM runs WHERE id = ?", (run.id,)).fetchone()
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run.id, current))
    return run.id, current + 1


def write_reading(
    connection: sqlite3.Connection, run: int, reading: int, page: Sequence[NewJudgment]
) -> None:
    new = [(run, reading, item, index, *rows.judgment_columns(judgment)) for item, index, judgment in page]
    insert_rows(connection, _INSERT_JUDGMENT, new)


def finish_reading(connection: sqlite3.Connection, run: int, reading: int, n_written: int) -> None:
    """Switch to the new judgments. Calls without a new one, such as failed calls, keep the old one."""
    (n_stored,) = connection.execute(
        "SELECT count(*) FROM judgments WHERE run = ? AND reading = ?", (run, reading)
    ).fetchone()
    if n_stored != n_written:
        raise StoreError(
            "Another process parsed the replies of this run at the same time.\nIts judgments were not changed; run reread again."
        )
    connection.execute(
        """INSERT OR IGNORE INTO judgments
        SELECT run, ?, item, slot, body, checksum FROM judgments WHERE run = ? AND reading = ?""",
        (reading, run, reading - 1),
    )
    connection.execute("UPDATE runs SET reading = ? WHERE id = ?", (reading, run))
    seal(connection, run)
    # The triggers count the valid reading only: the new one was not valid when it was written.
    connection.execute(
        """UPDATE counts SET judgments = (SELECT count(*) FROM judgments WHERE run = :run AND reading = :reading)
        WHERE run = :run""",
        {"run": run, "reading": reading},
    )
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run, reading))
