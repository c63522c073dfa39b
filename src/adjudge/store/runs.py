"""Starts, lists, renames and deletes runs, and keeps the items of each.

A run is found by its name and may go on only as the same run: its `identity` is the
caller's hash of all that decides what is asked. This file knows nothing of what a manifest
means. Totals are never stored; see `reading`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from ..errors import StoreError, listed
from ..records import Item, Judgment
from . import owners, rows
from .calls import as_json, insert_rows
from .schema import now

RunStatus = Literal["running", "done", "interrupted", "stopped"]

_COLUMNS = "id, name, identity, manifest, status, owner, started, ended, seconds, reading"
_INSERT_ITEM = (f"INSERT INTO items (run, {rows.ITEM_COLUMNS})", "")
_NOT_IDENTITY = ("command", "version", "adjustments")
"""Parts of a manifest that may differ between two starts of one run."""


class RunRow(Struct, frozen=True):
    """A run as the store knows it."""

    id: int
    name: str
    identity: str
    manifest: dict[str, Any]
    status: RunStatus
    started: str
    ended: str | None
    seconds: float
    """spent on it by all starts that came to an end, by the monotonic clock"""
    is_resumed: bool = False
    """whether `start_run` found it rather than made it"""


def start(
    connection: sqlite3.Connection, name: str | None, identity: str, manifest: Mapping[str, Any], owner: int
) -> RunRow:
    """Begin a run, or go on with the one of that name; without a name, with the last of that identity."""
    if name is not None:
        _check_name(name)
        found = connection.execute(
            "SELECT id, identity, manifest FROM runs WHERE name = ?", (name,)
        ).fetchone()
    else:
        found = connection.execute(
            "SELECT id, identity, manifest FROM runs WHERE identity = ? ORDER BY turn DESC LIMIT 1",
            (identity,),
        ).fetchone()
    if found is not None and found[1] != identity:
        raise _is_another_run(str(name), rows.unpacked_json(found[2]), manifest)
    turn = 1 + connection.execute("SELECT COALESCE(max(turn), 0) FROM runs").fetchone()[0]
    if found is not None:
        connection.execute(
            "UPDATE runs SET status = 'running', owner = ?, ended = NULL, turn = ? WHERE id = ?",
            (owner, turn, found[0]),
        )
        number = found[0]
    else:
        number = connection.execute(
            "INSERT INTO runs (name, identity, manifest, status, turn, reading, owner, started)"
            " VALUES (?, ?, ?, 'running', ?, 0, ?, ?)",
            (name or _free_name(connection), identity, rows.packed_json(manifest), turn, owner, now()),
        ).lastrowid
    row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (number,)).fetchone()
    return _read(row, {owner}, is_resumed=found is not None)


def finish(connection: sqlite3.Connection, run: int, status: RunStatus, seconds: float) -> None:
    connection.execute(
        "UPDATE runs SET status = ?, ended = ?, seconds = seconds + ?, owner = NULL WHERE id = ?",
        (status, now(), seconds, run),
    )


def note_adjustments(connection: sqlite3.Connection, run: int, told: Sequence[str]) -> None:
    """Add to the manifest what the models of a run refused to take; an earlier start may have told some of it."""
    (packed,) = connection.execute("SELECT manifest FROM runs WHERE id = ?", (run,)).fetchone()
    manifest = rows.unpacked_json(packed)
    manifest["adjustments"] = list(dict.fromkeys([*manifest.get("adjustments", ()), *told]))
    connection.execute("UPDATE runs SET manifest = ? WHERE id = ?", (rows.packed_json(manifest), run))


def all_runs(connection: sqlite3.Connection) -> list[RunRow]:
    """The runs, in the order in which they were last started."""
    live = _live(connection)
    return [
        _read(row, live)
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
        return _read(row, _live(connection))
    names = [known for (known,) in connection.execute("SELECT name FROM runs ORDER BY turn DESC LIMIT 10")]
    if not names:
        raise StoreError(
            "There is no run in the store yet.\nStart one with `adjudge run`, or give another --store."
        )
    raise StoreError(f"There is no run {name!r} in the store.\nThe last ones are: {', '.join(names)}.")


def rename(connection: sqlite3.Connection, old: str, new: str) -> None:
    _check_name(new)
    run = one_run(connection, old)
    if connection.execute("SELECT 1 FROM runs WHERE name = ? AND id <> ?", (new, run.id)).fetchone():
        raise StoreError(f"There is a run {new!r} already.\nChoose another name, or delete that run first.")
    connection.execute("UPDATE runs SET name = ? WHERE id = ?", (new, run.id))


def delete(connection: sqlite3.Connection, name: str) -> None:
    """Delete a run and all that no other run uses. Labels stay: they are people's work."""
    run = one_run(connection, name)
    if run.status == "running":
        raise StoreError(f"The run {run.name!r} is going on.\nStop it first, then delete it.")
    for table in ("judgments", "places", "slots", "items"):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run.id,))
    connection.execute("UPDATE OR REPLACE labels SET run = NULL WHERE run = ?", (run.id,))
    connection.execute("UPDATE replies SET run = NULL WHERE run = ?", (run.id,))
    connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
    # What somebody is asking at this moment has no place yet, and must keep its number.
    connection.execute(
        """DELETE FROM calls WHERE id NOT IN (SELECT call FROM places)
        AND NOT (COALESCE(owner, 0) IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT call FROM replies))""",
        (as_json(_live(connection)),),
    )
    connection.execute("DELETE FROM replies WHERE call NOT IN (SELECT id FROM calls)")


def put_items(connection: sqlite3.Connection, run: int, first: int, items: Sequence[Item]) -> None:
    """Store items from place `first` on; those that are there already must be the same."""
    known = dict(
        connection.execute(
            "SELECT seq, content FROM items WHERE run = ? AND seq BETWEEN ? AND ?",
            (run, first, first + len(items) - 1),
        ).fetchall()
    )
    new = []
    for seq, item in enumerate(items, start=first):
        *start_of_row, fields, content = rows.item_row(seq, item)
        if seq not in known:
            new.append((run, *start_of_row, rows.pack(fields), content))
        elif known[seq] != content:
            raise StoreError(
                f"Item {item.id!r} (number {seq + 1}) is not the one that this run began with.\n"
                "Give the changed items a run of their own with --run NAME: replies to unchanged ones are used again."
            )
    insert_rows(connection, _INSERT_ITEM, new)


def _live(connection: sqlite3.Connection) -> set[int]:
    return {owner.id for owner in owners.owners(connection) if not owners.is_gone(owner)}


def _read(row: tuple[Any, ...], live: set[int], *, is_resumed: bool = False) -> RunRow:
    number, name, identity, manifest, status, owner, started, ended, seconds, _ = row
    if status == "running" and owner not in live:
        status = "interrupted"  # its process was killed and could not say so
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


def _is_another_run(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> StoreError:
    """What differs between the run of that name and the one to be started."""
    before, after = _leaves(old), _leaves(new)
    differing = [
        f"{key}: {_short(before.get(key))} then, {_short(after.get(key))} now"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]
    what = listed(f"run {name!r} exists and was started otherwise", differing)
    return StoreError(f"{what}\nGive the run another name with --run: what is unchanged is not asked again.")


def _leaves(value: object, path: str = "") -> dict[str, object]:
    """The single values of a manifest under their dotted names."""
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


# Replaces the judgments of a run by a new reading of the same replies, all at once.
#
# The new reading is written beside the old one, page by page; one small transaction then
# makes it the valid one. Whoever is killed in between leaves the old reading as it was.


_INSERT = ("INSERT OR REPLACE INTO judgments (run, reading, item, slot, body, checksum)", "")

NewJudgment = tuple[int, int, Judgment]
"""The number of the item, the slot, and what was read."""


def begin(connection: sqlite3.Connection, name: str) -> tuple[int, int]:
    """The run and the number of a new reading; what an earlier attempt left is cleared away."""
    run = one_run(connection, name)
    if run.status == "running":
        raise StoreError(f"The run {run.name!r} is going on.\nWait until it ends, then read it again.")
    (valid,) = connection.execute("SELECT reading FROM runs WHERE id = ?", (run.id,)).fetchone()
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run.id, valid))
    return run.id, valid + 1


def write(connection: sqlite3.Connection, run: int, reading: int, page: Sequence[NewJudgment]) -> None:
    new = [(run, reading, item, slot, *rows.judgment_row(judgment)) for item, slot, judgment in page]
    insert_rows(connection, _INSERT, new)


def make_valid(connection: sqlite3.Connection, run: int, reading: int, n_written: int) -> None:
    """Switch to the new reading. What it does not cover, such as calls that failed, keeps its judgment."""
    (found,) = connection.execute(
        "SELECT count(*) FROM judgments WHERE run = ? AND reading = ?", (run, reading)
    ).fetchone()
    if found != n_written:
        raise StoreError(
            "The run was read by another process at the same time.\nIts judgments were not changed; read it again."
        )
    connection.execute(
        """INSERT OR IGNORE INTO judgments
        SELECT run, ?, item, slot, body, checksum FROM judgments WHERE run = ? AND reading = ?""",
        (reading, run, reading - 1),
    )
    connection.execute("UPDATE runs SET reading = ? WHERE id = ?", (reading, run))
    connection.execute("DELETE FROM judgments WHERE run = ? AND reading <> ?", (run, reading))
