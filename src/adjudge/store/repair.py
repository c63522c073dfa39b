"""Examines a damaged store row by row, and saves what is whole into a new one.

SQLite gives up a statement at the first damaged page. So rows are asked for in ranges of their numbers; a
range that fails is halved until only the rows on the damaged page are missing. A row is whole where its
checksum agrees and what it refers to is whole. The damaged file is only read.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..errors import StoreError
from . import database_file, owners, rows, schema
from .calls import insert_rows
from .runs import seal, whole_manifest
from .store_errors import damage_error, is_explained, store_error

_RANGE = 500
"""How many numbers are asked for at once."""

_SHOWN_PAGES = 20

_TABLES = {
    "runs": (f"{rows.RUN_SEALED}, checksum", 11),
    "items": (f"run, {rows.ITEM_COLUMNS}", 11),
    "slots": (f"{rows.SLOT_SEALED}, checksum", 9),
    "calls": ("id, key, model, kind, messages, target, checksum", 7),
    "replies": (f"call, run, {rows.REPLY_COLUMNS}", 13),
    "places": (f"{rows.PLACE_SEALED}, checksum", 8),
    "judgments": ("run, reading, item, slot, body, checksum", 6),
    "labels": (f"{rows.LABEL_SEALED}, checksum", 10),
    "invitations": (f"{rows.INVITATION_SEALED}, checksum", 7),
    "batches": (f"{rows.BATCH_SEALED}, checksum", 19),
    "batch_calls": (f"{rows.BATCH_CALL_SEALED}, checksum", 9),
    "reviews": (f"{rows.REVIEW_SEALED}, checksum", 14),
    "notes": (f"{rows.NOTE_SEALED}, checksum", 7),
    "quarantine": ("key, reason, found", 3),
    "locked_looks": ("digest, made", 2),
}
"""The columns of each table that are copied, and how many they are."""


class Damage(Struct, frozen=True):
    """Rows of one kind that are missing or damaged."""

    what: str
    """pages, processes, runs, counts, items, slots, calls, judgments,
    labels, reviews, notes, replies, invitations, batches or batch calls
    """
    run: str | None
    """none for what belongs to the whole store"""
    n: int
    """how many; 0 where this is not known"""
    detail: str = ""


class Saved(Struct, frozen=True):
    """How many rows of one run a repaired store has, and how many were written."""

    run: str
    items: int
    items_written: int
    calls: int
    calls_written: int
    judgments: int
    judgments_written: int

    @property
    def is_whole(self) -> bool:
        return (self.items, self.calls, self.judgments) == (
            self.items_written,
            self.calls_written,
            self.judgments_written,
        )


Keep = Callable[[str, Sequence[tuple[Any, ...]]], None]
"""Takes the whole rows of a table, in the order in which they can be inserted."""


def examine(path: Path) -> list[Damage]:
    """Everything that is damaged in a store; empty where it is whole."""
    return _read_all(path, lambda *_: None)[0]


def repair(path: Path, out: Path) -> tuple[list[Saved], list[Damage]]:
    """Write what is whole of a store into the new file `out`; `out` appears whole or not at all."""
    if out.exists():
        raise StoreError(f"{out}: there is a file of this name.\nName a file that does not exist yet.")
    database_file.create_file(out)
    try:
        with closing(database_file.connect(out, write=True, busy_seconds=30.0)) as target:
            schema.migrate(target, out, busy_seconds=30.0)
            target.execute("BEGIN IMMEDIATE")

            def keep(table: str, whole: Sequence[tuple[Any, ...]]) -> None:
                insert_rows(target, (f"INSERT OR IGNORE INTO {table} ({_TABLES[table][0]})", ""), whole)

            damage, saved = _read_all(path, keep)
            for run in saved:
                if not run.is_whole:
                    _interrupt(target, run.run)
            target.execute("COMMIT")
    except BaseException as fault:
        for name in (out.name, f"{out.name}-wal", f"{out.name}-shm"):
            with contextlib.suppress(OSError):
                out.with_name(name).unlink()
        if isinstance(fault, sqlite3.Error):
            raise store_error(out, fault) from fault
        raise
    return saved, damage


def _interrupt(target: sqlite3.Connection, name: str) -> None:
    """Mark a run as incomplete: the same command resumes it and sends what is missing."""
    (number,) = target.execute("SELECT id FROM runs WHERE name = ?", (name,)).fetchone()
    target.execute("UPDATE runs SET status = 'interrupted' WHERE id = ?", (number,))
    seal(target, number)


def _read_all(path: Path, keep: Keep) -> tuple[list[Damage], list[Saved]]:
    try:
        with closing(database_file.connect(path, write=False, busy_seconds=30.0)) as connection:
            if 0 < schema.version_of(connection, path) < len(schema.MIGRATIONS):
                schema.stand_in(connection, path)
            return _Rows(connection, keep).read()
    except (sqlite3.Error, *rows.DECODE_FAULTS) as fault:
        if isinstance(fault, sqlite3.Error) and is_explained(fault):
            raise store_error(path, fault) from fault
        # The list of tables itself is gone: nothing can be asked for.
        raise damage_error(path, fault) from fault


class _Rows:
    """Reads all rows of one store, hands the whole ones to `keep`, and notes the others."""

    def __init__(self, connection: sqlite3.Connection, keep: Keep) -> None:
        self._connection = connection
        self._keep = keep
        self._damage: list[Damage] = []
        self._calls: dict[int, str] = {}
        """number → key of the whole calls"""
        self._answered: set[str] = set()
        """keys of the calls with a whole reply"""
        self._set_aside: set[str] = set()
        """keys of the calls whose reply is damaged or was set aside"""

    def read(self) -> tuple[list[Damage], list[Saved]]:
        self._check_pages()
        self._check_owners()
        runs = self._read_runs()
        self._read_calls()
        self._read_replies()
        saved = [self._read_run(run) for run in runs]
        for table in ("labels", "reviews", "notes"):
            self._read_people(table)
        self._read_invitations({None, *(number for number, _, _ in runs)})
        self._read_batches({number: name for number, name, _ in runs})
        self._read_looks()
        return self._damage, saved

    def _note(self, what: str, run: str | None, n: int, detail: str = "") -> None:
        if n or detail:
            self._damage.append(Damage(what, run, n, detail))

    def _check_pages(self) -> None:
        try:
            found = self._connection.execute(f"PRAGMA integrity_check({_SHOWN_PAGES})").fetchall()
        except sqlite3.Error as fault:
            found = [(str(fault),)]
        for (problem,) in found:
            if problem != "ok":
                self._note("pages", None, 0, str(problem))

    def _check_owners(self) -> None:
        try:
            owners.owners(self._connection)
        except (sqlite3.Error, rows.DamagedError) as fault:
            self._note("processes", None, 0, str(fault))

    # Ranges

    def _number(self, statement: str, *values: object) -> int:
        """The one number that a statement gives; 0 where it is not known."""
        try:
            row = self._connection.execute(statement, values).fetchone()
        except sqlite3.Error:
            return 0
        return row[0] if row and isinstance(row[0], int) else 0

    def _ranged(
        self, select: str, first: int, last: int, values: tuple[object, ...] = ()
    ) -> Iterator[list[Any]]:
        """The readable rows with numbers from `first` to `last`, in lists."""
        for low in range(first, last + 1, _RANGE):
            yield self._halved(select, low, min(low + _RANGE - 1, last), values)

    def _halved(self, select: str, low: int, high: int, values: tuple[object, ...]) -> list[Any]:
        try:
            return self._connection.execute(select, (*values, low, high)).fetchall()
        except sqlite3.Error:
            if low >= high:
                return []
        middle = (low + high) // 2
        return [*self._halved(select, low, middle, values), *self._halved(select, middle + 1, high, values)]

    def _checked(
        self, table: str, found: Sequence[tuple[Any, ...]], check: Callable[[tuple[Any, ...]], object]
    ) -> list[tuple[Any, ...]]:
        """The rows that pass a check, which raises otherwise."""
        whole = []
        for row in found:
            with contextlib.suppress(*rows.DECODE_FAULTS):
                check(row)
                whole.append(row[: _TABLES[table][1]])
        return whole

    # Tables

    def _read_runs(self) -> list[tuple[int, str, int]]:
        """The number, name and reading of each whole run."""
        columns = _TABLES["runs"][0]
        last = max(
            self._number("SELECT max(id) FROM runs"),
            self._number("SELECT seq FROM sqlite_sequence WHERE name = 'runs'"),
            self._number("SELECT max(run) FROM counts"),
        )
        select = f"SELECT {columns} FROM runs WHERE id BETWEEN ? AND ? ORDER BY id"
        found = [row for page in self._ranged(select, 1, last) for row in page]
        whole = self._checked("runs", found, whole_manifest)
        self._keep("runs", whole)
        written = self._number("SELECT count(*) FROM counts WHERE run <> 0")
        self._note("runs", None, max(written, len(found)) - len(whole))
        return [(row[0], row[1], row[6]) for row in whole]

    def _read_calls(self) -> None:
        last = max(self._number("SELECT max(id) FROM calls"), self._number("SELECT max(call) FROM places"), 0)
        select = f"SELECT {_TABLES['calls'][0]} FROM calls WHERE id BETWEEN ? AND ? ORDER BY id"

        def check(row: tuple[Any, ...]) -> None:
            number, key, _, _, messages, target, stored = row
            if stored is not None and rows.call_checksum(key, messages, target) != stored:
                raise rows.DamagedError("the checksum differs")
            self._calls[number] = key

        for page in self._ranged(select, 1, last):
            self._keep("calls", self._checked("calls", page, check))

    def _read_replies(self) -> None:
        select = f"SELECT {_TABLES['replies'][0]} FROM replies WHERE call BETWEEN ? AND ? ORDER BY call"
        n_damaged = 0

        def check(row: tuple[Any, ...]) -> None:
            rows.read_reply(self._calls[row[0]], row[2:])

        for page in self._ranged(select, 1, max(self._calls, default=0)):
            whole = self._checked("replies", page, check)
            self._keep("replies", whole)
            n_damaged += len(page) - len(whole)
            self._answered.update(self._calls[row[0]] for row in whole)
            self._set_aside.update(self._calls[row[0]] for row in page if row[0] in self._calls)
        self._note("replies", None, n_damaged)
        with contextlib.suppress(sqlite3.Error):
            self._set_aside.update(key for (key,) in self._connection.execute("SELECT key FROM quarantine"))

    def _read_run(self, run: tuple[int, str, int]) -> Saved:
        number, name, reading = run
        items = self._read_items(number)
        slots = self._read_slots(number, name)
        last = max(self._number("SELECT max(item) FROM places WHERE run = ?", number), max(items, default=-1))
        places = self._read_places(run, last, items, slots)
        n_judgments, n_misread = self._read_judgments(number, reading, last, places)
        kept = (len(items), len(places), n_judgments)
        written = self._written(number, name, ("items", "places", "judgments"), kept)
        saved = Saved(name, *(n for pair in zip(kept, map(max, kept, written), strict=True) for n in pair))
        self._note("items", name, saved.items_written - saved.items)
        self._note("calls", name, saved.calls_written - saved.calls)
        self._note("judgments", name, max(saved.judgments_written - saved.judgments, n_misread))
        return saved

    def _read_items(self, run: int) -> set[int]:
        last = max(
            self._number("SELECT max(seq) FROM items WHERE run = ?", run),
            self._number("SELECT items FROM counts WHERE run = ?", run) - 1,
        )
        select = f"SELECT {_TABLES['items'][0]} FROM items WHERE run = ? AND seq BETWEEN ? AND ? ORDER BY seq"
        numbers: set[int] = set()
        for page in self._ranged(select, 0, last, (run,)):
            whole = self._checked("items", page, lambda row: _check_item(row[1:]))
            self._keep("items", whole)
            numbers.update(row[1] for row in whole)
        return numbers

    def _read_slots(self, run: int, name: str) -> set[int]:
        try:
            found = self._connection.execute(
                f"SELECT {_TABLES['slots'][0]} FROM slots WHERE run = ?", (run,)
            ).fetchall()
        except sqlite3.Error as fault:
            self._note("slots", name, 0, str(fault))
            return set()

        def check(row: tuple[Any, ...]) -> None:
            rows.check_checksum(row[:-1], row[-1])
            rows.read_spec(row[2:-1])

        whole = self._checked("slots", found, check)
        self._keep("slots", whole)
        self._note("slots", name, len(found) - len(whole))
        return {row[1] for row in whole}

    def _read_places(
        self, run: tuple[int, str, int], last: int, items: set[int], slots: set[int]
    ) -> dict[tuple[int, int], str]:
        """The keys of the whole calls of a run, by item and slot."""
        select = f"SELECT {_TABLES['places'][0]} FROM places WHERE run = ? AND item BETWEEN ? AND ?"
        keys: dict[tuple[int, int], str] = {}
        answered: set[str] = set()

        def check(row: tuple[Any, ...]) -> None:
            _, item, slot, call, parent, kind, _, stored = row
            if kind is not None or parent is not None:
                rows.check_checksum(row[:-1], stored)
            if slot not in slots or (item >= 0 and items and item not in items):
                raise rows.DamagedError("its item or slot is missing")
            keys[item, slot] = self._calls[call]
            if kind is None:
                answered.add(self._calls[call])

        for page in self._ranged(select, -1, last, run[:1]):
            self._keep("places", self._checked("places", page, check))
        self._note_lost(run[1], answered)
        return keys

    def _note_lost(self, name: str, answered: set[str]) -> None:
        """Note the replies of a run that are gone without a
        trace, and have a repaired store request them again.
        """
        without = answered - self._answered
        self._note("replies", name, len(without - self._set_aside))
        self._keep(
            "quarantine",
            [(key, "lost before the store was repaired", schema.now()) for key in sorted(without)],
        )

    def _read_judgments(
        self, run: int, reading: int, last: int, places: dict[tuple[int, int], str]
    ) -> tuple[int, int]:
        """How many judgments of a run are whole, and how many are not."""
        select = (
            f"SELECT {_TABLES['judgments'][0]} FROM judgments WHERE run = ? AND reading = ? AND item "
            "BETWEEN ? AND ?"
        )
        n_whole = n_damaged = 0

        def check(row: tuple[Any, ...]) -> None:
            _, _, item, slot, body, stored = row
            rows.read_judgment(places[item, slot], body, stored)

        for page in self._ranged(select, -1, last, (run, reading)):
            whole = self._checked("judgments", page, check)
            self._keep("judgments", whole)
            n_whole += len(whole)
            n_damaged += len(page) - len(whole)
        return n_whole, n_damaged

    def _read_people(self, table: str) -> None:
        """What people wrote: labels, reviews or notes."""
        last = max(
            self._number(f"SELECT max(id) FROM {table}"),
            self._number("SELECT seq FROM sqlite_sequence WHERE name = ?", table),
        )
        select = f"SELECT {_TABLES[table][0]} FROM {table} WHERE id BETWEEN ? AND ? ORDER BY id"
        n_found = n_whole = 0
        for page in self._ranged(select, 1, last):
            check = rows.check_label if table == "labels" else rows.check_checksum
            whole = self._checked(table, page, lambda row, check=check: check(row[:-1], row[-1]))  # type: ignore[misc]
            self._keep(table, whole)
            n_found += len(page)
            n_whole += len(whole)
        (written,) = self._written(0, None, (table,), (n_found,))
        self._note(table, None, max(written, n_found) - n_whole)

    def _read_invitations(self, runs: set[int | None]) -> None:
        """The invitations to whole runs. A damaged one is left out: its link ends, and no one gets in by
        it."""
        last = self._number("SELECT max(id) FROM invitations")
        select = f"SELECT {_TABLES['invitations'][0]} FROM invitations WHERE id BETWEEN ? AND ? ORDER BY id"
        for page in self._ranged(select, 1, last):
            whole = self._checked("invitations", page, lambda row: rows.check_checksum(row[:-1], row[-1]))
            self._keep("invitations", [row for row in whole if row[0] in runs])
            self._note("invitations", None, len(page) - len(whole))

    def _read_looks(self) -> None:
        """The looks at locked labels: with fewer of them, a later claim would be tested too mildly."""
        last = self._number("SELECT max(id) FROM locked_looks")
        select = f"SELECT {_TABLES['locked_looks'][0]} FROM locked_looks WHERE id BETWEEN ? AND ? ORDER BY id"
        for page in self._ranged(select, 1, last):
            self._keep("locked_looks", page)

    def _read_batches(self, runs: dict[int, str]) -> None:
        """The batches of whole runs, each with its lines; a batch says how many it has."""
        last = max(
            self._number("SELECT max(id) FROM batches"),
            self._number("SELECT seq FROM sqlite_sequence WHERE name = 'batches'"),
        )
        select = f"SELECT {_TABLES['batches'][0]} FROM batches WHERE id BETWEEN ? AND ? ORDER BY id"
        for page in self._ranged(select, 1, last):
            whole = self._checked("batches", page, lambda row: rows.check_checksum(row[:-1], row[-1]))
            self._note("batches", None, len(page) - len(whole))
            for row in whole:
                if row[2] not in runs:
                    continue
                self._keep("batches", [row])
                n_lines = self._read_batch_calls(row[0])
                self._note("batch calls", runs[row[2]], max(0, row[11] - n_lines))

    def _read_batch_calls(self, batch: int) -> int:
        """How many lines of a batch are whole."""
        last = max(self._calls, default=0)
        select = (
            f"SELECT {_TABLES['batch_calls'][0]} FROM batch_calls WHERE batch = ? AND call BETWEEN ? AND ?"
        )
        n_whole = 0

        def check(row: tuple[Any, ...]) -> None:
            if rows.batch_call_checksum(row[:-1]) != row[-1] or row[1] not in self._calls:
                raise rows.DamagedError("the checksum differs")

        for page in self._ranged(select, 1, last, (batch,)):
            whole = self._checked("batch_calls", page, check)
            self._keep("batch_calls", whole)
            n_whole += len(whole)
        return n_whole

    def _written(
        self, run: int, name: str | None, columns: tuple[str, ...], found: tuple[int, ...]
    ) -> tuple[int, ...]:
        """How many rows were written, by the counts; where these are damaged, how many were found."""
        try:
            row = self._connection.execute(
                f"SELECT {', '.join(columns)} FROM counts WHERE run = ?", (run,)
            ).fetchone()
        except sqlite3.Error as fault:
            self._note("counts", name, 0, str(fault))
            return found
        if row is None or not all(isinstance(n, int | None) for n in row):
            self._note("counts", name, 0, "missing")
            return found
        if any(n is not None and n < n_found for n, n_found in zip(row, found, strict=True)):
            self._note("counts", name, 0, "lower than the number of rows")
        return tuple(n_found if n is None else n for n, n_found in zip(row, found, strict=True))


def _check_item(columns: tuple[Any, ...]) -> None:
    rows.read_item(columns, with_fields=True)
