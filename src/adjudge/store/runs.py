"""Starts, lists, renames and deletes runs.

A run is found by its name and can be resumed only with the same `identity`, the caller's hash
of all settings that decide which calls are sent. This file does not interpret manifests.
Totals are never stored; see `totals`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from typing import Any, Literal

from msgspec import Struct

from ..errors import StoreError, problem_list
from ..records import protocol_ref
from ..untrusted import has_control
from . import owners, results, rows
from .calls import as_json
from .counts import check_count
from .labels import seal_labels
from .schema import now

RunStatus = Literal["running", "done", "interrupted", "stopped", "submitted"]
"""`submitted`: calls are in batches that are not collected yet."""


_COLUMNS = f"{rows.RUN_SEALED}, owner, checksum"


_LONGEST_NAME = 200


LEFT_OUT = "left_out"
"""The part of a manifest that says of which systems the lines are that `--skip-bad` left out."""


N_WITHOUT_ID = "n_without_id"
"""In a manifest: how many items have no id in their file, so that it is a hash of their content. Runs from
before this was recorded named such items by their lines."""


CASCADE = "cascade"
"""In a manifest: the stages of a cascade, and what each decided."""


PROMPT_CACHE = "prompt_cache"
"""In a manifest: how many tokens providers read from their prompt caches, and what that saved."""


ENDS = "ends"
"""In a manifest: when judges of the run end, as their providers have announced it."""


TUNING = "tuning"
"""In a manifest: the latest tuning that began with this run."""


_NOT_IDENTITY = (
    "command",
    "version",
    "adjustments",
    "price_dates",
    N_WITHOUT_ID,
    LEFT_OUT,
    ENDS,
    PROMPT_CACHE,
    TUNING,
)
"""Parts of a manifest that may differ when a run is resumed."""


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

    @property
    def protocol_refs(self) -> list[str]:
        """Its protocols as calls and results name them, in the order given."""
        return [protocol_ref(entry["id"], entry["digest"]) for entry in self.manifest.get("protocols", [])]


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


def note_prompt_cache(connection: sqlite3.Connection, run: int, tokens: int, saved_usd: float) -> None:
    """Add to the manifest what the prompt caches of providers gave in one start of a run."""
    (packed,) = connection.execute("SELECT manifest FROM runs WHERE id = ?", (run,)).fetchone()
    manifest = rows.unpacked_json(packed)
    before = manifest.get(PROMPT_CACHE) or {"tokens": 0, "saved_usd": 0.0}
    manifest[PROMPT_CACHE] = {
        "tokens": before["tokens"] + tokens,
        "saved_usd": before["saved_usd"] + saved_usd,
    }
    connection.execute("UPDATE runs SET manifest = ? WHERE id = ?", (rows.packed_json(manifest), run))
    seal(connection, run)


def note_tuning(connection: sqlite3.Connection, run: int, tuning: Mapping[str, Any]) -> None:
    """Keep in the manifest what the latest tuning that began with this run found."""
    (packed,) = connection.execute("SELECT manifest FROM runs WHERE id = ?", (run,)).fetchone()
    manifest = {**rows.unpacked_json(packed), TUNING: tuning}
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


def rename_other(connection: sqlite3.Connection, name: str, identity: str) -> str | None:
    """Rename a run of this name with another identity to NAME-2, NAME-3, …; its new name, or none."""
    found = connection.execute("SELECT identity FROM runs WHERE name = ?", (name,)).fetchone()
    if found is None or found[0] == identity:
        return None
    taken = {known for (known,) in connection.execute("SELECT name FROM runs")}
    older = next(new for number in count(2) if (new := f"{name}-{number}") not in taken)
    rename(connection, name, older)
    return older


def exchange_names(connection: sqlite3.Connection, first: str, second: str) -> None:
    """Give two runs the name of each other, in one transaction of the caller."""
    one, other = one_run(connection, first), one_run(connection, second)
    for number, name in ((one.id, f"\0{first}"), (other.id, first), (one.id, second)):
        connection.execute("UPDATE runs SET name = ? WHERE id = ?", (name, number))
    for number in (one.id, other.id):
        seal(connection, number)


def remove_run(connection: sqlite3.Connection, name: str) -> None:
    """Delete a run and all that no other run uses, its reviews and notes included. Human labels are kept."""
    run = one_run(connection, name)
    if run.status == "running":
        raise StoreError(f"The run {run.name!r} is still running.\nStop it first, then delete it.")
    _delete_batches(connection, run)
    results.delete_results(connection, run.id)
    for table in ("judgments", "places", "slots", "items", "reviews", "notes"):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (run.id,))
    freed = [label for (label,) in connection.execute("SELECT id FROM labels WHERE run = ?", (run.id,))]
    connection.execute("UPDATE OR REPLACE labels SET run = NULL WHERE run = ?", (run.id,))
    seal_labels(connection, freed)
    connection.execute("DELETE FROM invitations WHERE run = ?", (run.id,))
    connection.execute("UPDATE replies SET run = NULL WHERE run = ?", (run.id,))
    connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
    # Calls in flight and calls of a batch belong to no run yet; they must keep their row id.
    connection.execute(
        """DELETE FROM calls WHERE id NOT IN (SELECT call FROM places) AND id NOT IN (SELECT call FROM
        batch_calls)
        AND NOT (COALESCE(owner,
        0) IN (SELECT value FROM json_each(?)) AND id NOT IN (SELECT call FROM replies))""",
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
            f"The run {run.name!r} has {n_open} batch{'' if n_open == 1 else 'es'} at the provider, "
            "and what they answer is paid for.\nCollect them with the command of the run, or cancel "
            f"them first: adjudge runs cancel {run.name}, then the command of the run once more."
        )
    connection.execute(
        "DELETE FROM batch_calls WHERE batch IN (SELECT id FROM batches WHERE run = ?)", (run.id,)
    )
    connection.execute("DELETE FROM batches WHERE run = ?", (run.id,))


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
    """The manifest of a run, from `rows.RUN_SEALED` and the
    checksum; `DamagedError` where the row is damaged.
    """
    rows.check_checksum(row[:-1], row[-1])
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
        (
            "items: the items are not the same as before"
            if key == "items.sha256"
            else "{}: {} before, {} now".format(key, *_short(before.get(key), after.get(key)))
        )
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]
    message = problem_list(f"run {name!r} already exists with different settings", differences)
    return StoreError(
        f"{message}\nChoose another name with --run, or replace the run with --replace: unchanged "
        "calls reuse their stored replies."
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


_SHOWN = 60


def _short(*values: object) -> list[str]:
    """Two values as text; long ones from shortly before the first character in which they differ."""
    texts = ["nothing" if value is None else repr(value) for value in values]
    if all(len(text) <= _SHOWN for text in texts):
        return texts
    same = takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
    start = max(0, sum(1 for _ in same) - _SHOWN // 2)
    return [_cut(text, start) for text in texts]


def _cut(text: str, start: int) -> str:
    if start >= len(text):
        start = max(0, len(text) - _SHOWN)
    part = text[start : start + _SHOWN]
    return f"{'…' if start else ''}{part}{'…' if start + _SHOWN < len(text) else ''}"
