"""Starts, lists, renames and deletes runs; stores their items; replaces their judgments.

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
from ..records import Item, Judgment, Label
from . import owners, rows
from .calls import as_json, insert_rows
from .rows import json_of
from .schema import now

# Stores human labels. A rater's second label for the same thing replaces the first.
#
# This file knows nothing of judges; a label only names the run whose items the rater was shown.


_LABEL_COLUMNS = "item, criterion, rater, value, subject, probability, origin"
_INSERT = (f"INSERT OR REPLACE INTO labels (run, {_LABEL_COLUMNS})", "")


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
            label.probability,
            label.origin,
        )
        for label in labels
    ]
    insert_rows(connection, _INSERT, new)


def read_labels(connection: sqlite3.Connection, run: int | None, rater: str | None = None) -> list[Label]:
    """The labels of a run, or of all runs, and of one rater where one is named; oldest first."""
    label_rows = connection.execute(
        f"""SELECT {_LABEL_COLUMNS} FROM labels
        WHERE (:run IS NULL OR run = :run) AND (:rater IS NULL OR rater = :rater) ORDER BY id""",
        {"run": run, "rater": rater},
    )
    return [
        Label(item, criterion, name, msgspec.json.decode(value), subject, probability, origin)
        for item, criterion, name, value, subject, probability, origin in label_rows
    ]


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


RunStatus = Literal["running", "done", "interrupted", "stopped"]

_COLUMNS = "id, name, identity, manifest, status, owner, started, ended, seconds, reading"
_INSERT_ITEM = (f"INSERT INTO items (run, {rows.ITEM_COLUMNS})", "")
_INSERT_JUDGMENT = ("INSERT OR REPLACE INTO judgments (run, reading, item, slot, body, checksum)", "")
_NOT_IDENTITY = ("command", "version", "adjustments")
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
    row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (number,)).fetchone()
    return _read_run(row, {owner}, is_resumed=existing is not None)


def finish(connection: sqlite3.Connection, run: int, status: RunStatus, seconds: float) -> None:
    connection.execute(
        "UPDATE runs SET status = ?, ended = ?, seconds = seconds + ?, owner = NULL WHERE id = ?",
        (status, now(), seconds, run),
    )


def note_adjustments(connection: sqlite3.Connection, run: int, adjustments: Sequence[str]) -> None:
    """Add to the manifest the parameters that the models of a run refused, without repeating any."""
    (packed,) = connection.execute("SELECT manifest FROM runs WHERE id = ?", (run,)).fetchone()
    manifest = rows.unpacked_json(packed)
    manifest["adjustments"] = list(dict.fromkeys([*manifest.get("adjustments", ()), *adjustments]))
    connection.execute("UPDATE runs SET manifest = ? WHERE id = ?", (rows.packed_json(manifest), run))


def all_runs(connection: sqlite3.Connection) -> list[RunRow]:
    """The runs, in the order in which they were last started."""
    live = _live_owners(connection)
    return [
        _read_run(row, live)
        for row in connection.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY turn").fetchall()
    ]


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


def delete(connection: sqlite3.Connection, name: str) -> None:
    """Delete a run and all that no other run uses. Human labels are kept."""
    run = one_run(connection, name)
    if run.status == "running":
        raise StoreError(f"The run {run.name!r} is still running.\nStop it first, then delete it.")
    for table in ("judgments", "places", "slots", "items"):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run.id,))
    connection.execute("UPDATE OR REPLACE labels SET run = NULL WHERE run = ?", (run.id,))
    connection.execute("UPDATE replies SET run = NULL WHERE run = ?", (run.id,))
    connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
    # Calls in flight belong to no run yet; they must keep their row id.
    connection.execute(
        """DELETE FROM calls WHERE id NOT IN (SELECT call FROM places)
        AND NOT (COALESCE(owner, 0) IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT call FROM replies))""",
        (as_json(_live_owners(connection)),),
    )
    connection.execute("DELETE FROM replies WHERE call NOT IN (SELECT id FROM calls)")


def put_items(connection: sqlite3.Connection, run: int, first: int, items: Sequence[Item]) -> None:
    """Store items from number `first` on; items that are stored already must be unchanged."""
    known = dict(
        connection.execute(
            "SELECT seq, content FROM items WHERE run = ? AND seq BETWEEN ? AND ?",
            (run, first, first + len(items) - 1),
        ).fetchall()
    )
    new = []
    for seq, item in enumerate(items, start=first):
        *columns, fields, content = rows.item_columns(seq, item)
        if seq not in known:
            new.append((run, *columns, rows.pack(fields), content))
        elif known[seq] != content:
            raise StoreError(
                f"Item {item.id!r} (number {seq + 1}) has changed since this run was started.\n"
                "Start a new run for the changed items with --run NAME: replies to unchanged items are reused."
            )
    insert_rows(connection, _INSERT_ITEM, new)


def _live_owners(connection: sqlite3.Connection) -> set[int]:
    return {owner.id for owner in owners.owners(connection) if not owners.is_gone(owner)}


def _read_run(row: tuple[Any, ...], live: set[int], *, is_resumed: bool = False) -> RunRow:
    number, name, identity, manifest, status, owner, started, ended, seconds, _ = row
    if status == "running" and owner not in live:
        status = "interrupted"  # its process was killed
    return RunRow(
        number, name, identity, rows.unpacked_json(manifest), status, started, ended, seconds, is_resumed
    )


def _check_name(name: str) -> None:
    if not name.strip() or name == "last":
        raise StoreError(
            f"A run cannot be named {name!r}.\nChoose another name; `last` means the latest run."
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
        f"{key}: {_short(before.get(key))} before, {_short(after.get(key))} now"
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
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run, reading))
