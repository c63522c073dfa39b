"""Merges other stores into one: their runs, calls, replies, judgments, labels, reviews and notes.

The other stores are only read, and all are checked for damage before anything is written. Each run is merged
in one transaction, so that a process that is killed leaves it merged or not begun; merging a file again
changes nothing. Where both stores have a reply to a call, the reply of the store that is merged into is kept.
This file does not parse replies: the caller passes in what does. Invitations are not merged: who may open the
pages of a store is its owner's choice.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from ..errors import StoreError
from ..records import Item
from . import database_file, items, reading, replace_judgments, rows, runs, schema
from .calls import insert_rows
from .reading import AskedCall
from .repair import examine
from .replace_judgments import NewJudgment
from .runs import RunRow
from .store_errors import damage_error, store_error

ParseAgain = Callable[[RunRow, Iterator[Item], Callable[[], Iterator[AskedCall]]], Iterator[NewJudgment]]
"""Parses all replies of a run, which the last argument reads."""
CallsNeeded = Callable[[RunRow], int | None]
"""How many calls a complete run has, follow-up questions not included; none where its manifest does not say.
"""

T = TypeVar("T")

_BUSY_SECONDS = 30.0
_PAGE = 500


class MergedRun(Struct, frozen=True):
    """What merging one run has added, and where the two stores differ."""

    run: str
    """its name in the file"""
    into: str
    """its name in the store"""
    status: str
    is_new: bool
    items: int
    calls: int
    judgments: int
    labels: int
    differing_replies: int
    """calls with different replies in the two stores: the store's own were kept"""
    parsed_again: int
    """judgments that were parsed again, from a reply that was kept"""
    differing_labels: int
    """labels of the same rater with another value: the store's own were kept"""
    reviews: int = 0
    differing_reviews: int = 0
    """reviews of the same reviewer with another verdict: the store's own were kept"""
    notes: int = 0
    differing_notes: int = 0
    """notes of the same author with another content: the store's own were kept"""


class MergedFile(Struct, frozen=True):
    """What merging one file has added; `labels` are those that belong to no run."""

    file: str
    runs: tuple[MergedRun, ...]
    labels: int
    differing_labels: int


def merge(
    into: Path,
    files: Sequence[Path],
    *,
    parse_again: ParseAgain,
    calls_needed: CallsNeeded,
    only: str | None = None,
) -> list[MergedFile]:
    """Merge stores into one, which is created where it does not exist.

    With `only` the run of this name alone, from a store that is known to be whole.
    """
    for path in files if only is None else ():
        _check(path, into)
    database_file.create_file(into)
    try:
        return [_merge_file(into, path, parse_again, calls_needed, only) for path in files]
    except (sqlite3.Error, OSError, *rows.DECODE_FAULTS) as fault:
        if isinstance(fault, sqlite3.Error | OSError | rows.DamagedError):
            raise store_error(into, fault) from fault
        _check_whole(into)  # the others were checked before
        raise


def _check(path: Path, into: Path) -> None:
    """`StoreError` where a file is missing, damaged, no store, or the store itself."""
    if not path.is_file():
        raise StoreError(f"{path}: there is no store of this name.\nGive the files of the stores to merge.")
    if into.exists() and path.samefile(into):
        raise StoreError(f"{path}: a store cannot be merged into itself.\nName another file with --store.")
    if _version(path) == 0:
        raise StoreError(f"{path}: the file is empty, not a store.\nLeave it out.")
    _check_whole(path)


def _check_whole(path: Path) -> None:
    """`StoreError` with the first damage of a store."""
    if damage := examine(path):
        first = damage[0]
        where = f" of run {first.run}" if first.run is not None else ""
        raise damage_error(path, f"{first.n or ''} {first.what}{where} {first.detail}".strip())


def _version(path: Path) -> int:
    try:
        with closing(database_file.connect(path, write=False, busy_seconds=_BUSY_SECONDS)) as connection:
            return schema.version_of(connection, path)
    except (sqlite3.Error, rows.DamagedError) as fault:
        raise store_error(path, fault) from fault


def _merge_file(
    into: Path, path: Path, parse_again: ParseAgain, calls_needed: CallsNeeded, only: str | None
) -> MergedFile:
    with (
        _current(path) as source,
        # Closed last, it removes the log of the source.
        closing(database_file.connect(source, write=False, busy_seconds=_BUSY_SECONDS)),
        closing(database_file.connect(into, write=True, busy_seconds=_BUSY_SECONDS)) as connection,
    ):
        schema.migrate(connection, into, busy_seconds=_BUSY_SECONDS)
        connection.create_function("sealed", -1, lambda *row: rows.checksum(row), deterministic=True)
        connection.create_function(
            "sealed_line", -1, lambda *row: rows.batch_call_checksum(row), deterministic=True
        )
        connection.execute("ATTACH ? AS other", (database_file.address_to_attach(source),))
        for statement in _TEMPORARY:
            connection.execute(statement)
        merge = _Merge(connection, path, parse_again, calls_needed, only)
        merged = tuple(_transaction(connection, step) for step in merge.steps())
        labels = (0, 0) if only is not None else _transaction(connection, merge.labels_without_run)
        return MergedFile(str(path), merged, *labels)


@contextmanager
def _current(path: Path) -> Iterator[Path]:
    """A file with the tables of this version: the file, or an upgraded copy of an older one."""
    if _version(path) == len(schema.MIGRATIONS):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="adjudge-") as folder:
        copy = Path(folder) / "upgraded.db"
        database_file.create_file(copy)
        with (
            closing(database_file.connect(path, write=False, busy_seconds=_BUSY_SECONDS)) as old,
            closing(database_file.connect(copy, write=True, busy_seconds=_BUSY_SECONDS)) as new,
        ):
            old.backup(new)
            schema.migrate(new, copy, busy_seconds=_BUSY_SECONDS)
        yield copy


def _transaction(connection: sqlite3.Connection, work: Callable[[], T]) -> T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work()
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


# `theirs` and `call` are numbers of calls in the other store, `ours` in this one.
_TEMPORARY = (
    "CREATE TEMP TABLE pairs (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL)",
    # Judgments that depend on a reply that was not kept, and follow-up questions to such a reply.
    "CREATE TEMP TABLE outdated (call INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE dropped (call INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE in_batches (call INTEGER PRIMARY KEY)",
)
_PAIR = """INSERT INTO pairs SELECT theirs.id,
ours.id FROM other.calls AS theirs JOIN main.calls AS ours USING (key)
    WHERE theirs.id IN (SELECT call FROM other.places WHERE run = :theirs) OR theirs.id IN (SELECT call FROM
    in_batches)"""
_COPY_CALLS = """INSERT OR IGNORE INTO main.calls (key, model, kind, messages, target, checksum)
    SELECT key, model, kind, messages, target, checksum FROM other.calls
    WHERE id IN (SELECT call FROM other.places WHERE run = :theirs) OR id IN (SELECT call FROM in_batches)
    ORDER BY id"""
_IN_BATCHES = """INSERT OR IGNORE INTO in_batches SELECT line.call FROM other.batch_calls AS line
    JOIN other.batches AS b ON b.id = line.batch WHERE b.run = :theirs AND b.state NOT IN ('filling',
    'planned')"""
# What was not sent yet is not copied. A batch that was open when it was copied may be collected by now.
_BATCH = (
    "name, model, identity, state, provider_state, file, mark, remote, outputs, n_calls, n_done, n_failed, "
    "estimate_usd, note, created, changed"
)
_COPY_BATCHES = f"""INSERT INTO main.batches (run, {_BATCH}) SELECT :ours, {_BATCH} FROM other.batches
    WHERE run = :theirs AND state NOT IN ('filling', 'planned', 'dropped')
    ON CONFLICT (name) DO UPDATE SET state = excluded.state, provider_state = excluded.provider_state,
        outputs = excluded.outputs, n_done = excluded.n_done, n_failed = excluded.n_failed,
        changed = excluded.changed
    WHERE excluded.state IN ('collected', 'closed') AND batches.state NOT IN ('collected', 'closed')"""
_LINE = "o.id, pairs.ours, l.slot, l.outcome, l.error_kind, l.error_message, l.flags, l.reply"
_COPY_LINES = f"""INSERT INTO main.batch_calls ({rows.BATCH_CALL_SEALED}, checksum)
    SELECT {_LINE}, sealed_line({_LINE}) FROM other.batch_calls AS l JOIN other.batches AS t ON t.id = l.batch
    JOIN main.batches AS o ON o.name = t.name JOIN pairs ON pairs.theirs = l.call WHERE t.run = :theirs
    ON CONFLICT DO UPDATE SET outcome = excluded.outcome, error_kind = excluded.error_kind,
        error_message = excluded.error_message, flags = excluded.flags, reply = excluded.reply,
        checksum = excluded.checksum
    WHERE batch_calls.outcome IS NULL AND excluded.outcome IS NOT NULL"""
_SEAL_BATCHES = f"UPDATE main.batches SET checksum = sealed({rows.BATCH_SEALED}) WHERE run = :ours"
_DIFFERING = """SELECT pairs.theirs, t.text, t.reasoning, t.logprobs, t.finish, o.text, o.reasoning,
o.logprobs, o.finish
    FROM pairs JOIN other.replies AS t ON t.call = pairs.theirs JOIN main.replies AS o ON o.call = pairs.ours
    WHERE t.checksum <> o.checksum"""
_COPY_REPLIES = f"""INSERT OR IGNORE INTO main.replies (call, run, {rows.REPLY_COLUMNS})
    SELECT pairs.ours, NULL, {rows.REPLY_COLUMNS} FROM pairs JOIN other.replies ON call = pairs.theirs"""
_NOTE_PAYER = """UPDATE main.replies SET run = :ours WHERE call IN (
    SELECT pairs.ours FROM pairs JOIN other.replies AS t ON t.call = pairs.theirs
    JOIN main.replies AS o ON o.call = pairs.ours
    WHERE t.run = :theirs AND o.run IS NULL AND o.checksum = t.checksum)"""
_COPY_ITEMS = f"""INSERT OR IGNORE INTO main.items (run, {rows.ITEM_COLUMNS})
    SELECT :ours, {rows.ITEM_COLUMNS} FROM other.items WHERE run = :theirs"""
_SLOT = 'slot, protocol, criteria, model, "order", sample, kind'
_COPY_SLOTS = f"""INSERT OR IGNORE INTO main.slots ({rows.SLOT_SEALED}, checksum)
    SELECT :ours, {_SLOT}, sealed(:ours, {_SLOT}) FROM other.slots WHERE run = :theirs"""
_PLACE = ":ours, p.item, p.slot, pairs.ours, p.parent, p.error_kind, p.error_message"
# A call that failed in one store and was answered in the other is answered.
_COPY_PLACES = f"""INSERT INTO main.places ({rows.PLACE_SEALED}, checksum)
    SELECT {_PLACE}, CASE WHEN p.error_kind IS NULL AND p.parent IS NULL THEN NULL ELSE sealed({_PLACE}) END
    FROM other.places AS p JOIN pairs ON pairs.theirs = p.call
    WHERE p.run = :theirs AND p.call NOT IN (SELECT call FROM dropped)
        AND (p.error_kind IS NOT NULL OR pairs.ours IN (SELECT call FROM main.replies))
    ON CONFLICT DO UPDATE SET call = excluded.call, parent = excluded.parent, error_kind = NULL,
    error_message = NULL,
        checksum = excluded.checksum
    WHERE places.error_kind IS NOT NULL AND excluded.error_kind IS NULL"""
_SAME_PLACE = """FROM other.places AS p JOIN pairs ON pairs.theirs = p.call
    JOIN main.places AS o ON o.run = :ours AND o.item = p.item AND o.slot = p.slot AND o.call = pairs.ours"""
_COPY_JUDGMENTS = f"""INSERT OR IGNORE INTO main.judgments (run, reading, item, slot, body, checksum)
    SELECT :ours, (SELECT reading FROM main.runs WHERE id = :ours), j.item, j.slot, j.body, j.checksum
    {_SAME_PLACE} JOIN other.judgments AS j ON j.run = p.run AND j.item = p.item AND j.slot = p.slot
        AND j.reading = (SELECT reading FROM other.runs WHERE id = :theirs)
    WHERE p.run = :theirs AND o.error_kind IS NULL AND p.error_kind IS NULL
        AND p.call IN (SELECT call FROM other.replies) AND p.call NOT IN (SELECT call FROM outdated)"""
_NOT_JUDGED = f"""SELECT o.item,
o.slot {_SAME_PLACE} JOIN main.slots AS s ON s.run = o.run AND s.slot = o.slot
    LEFT JOIN main.judgments AS j ON j.run = o.run AND j.item = o.item AND j.slot = o.slot
        AND j.reading = (SELECT reading FROM main.runs WHERE id = :ours)
    WHERE p.run = :theirs AND p.call IN (SELECT call FROM outdated) AND j.run IS NULL AND o.error_kind IS NULL
        AND o.item >= 0 AND s.kind <> 'reask'"""
_CONTRADICTIONS = """SELECT EXISTS (SELECT 1 FROM other.items AS t JOIN main.items AS o ON o.run = :ours AND
o.seq = t.seq
    WHERE t.run = :theirs AND t.content <> o.content) OR EXISTS (
    SELECT 1 FROM other.slots AS t JOIN main.slots AS o ON o.run = :ours AND o.slot = t.slot
    WHERE t.run = :theirs AND (t.protocol, t.criteria, t.model, t."order", t.sample, t.kind)
        <> (o.protocol, o.criteria, o.model, o."order", o.sample, o.kind))"""


_WRITTEN = {
    "reviews": (
        rows.REVIEW_SEALED,
        ("run", "item", "criterion", "subject", "reviewer"),
        ("verdict", "model", "note"),
    ),
    "notes": (rows.NOTE_SEALED, ("run", "item", "author"), ("text", "tags")),
}
"""table → its columns, what one row is of, and what it says"""


class _Theirs(Struct, frozen=True):
    """A run of the other store."""

    id: int
    name: str
    identity: str
    manifest: bytes
    status: str
    started: str
    ended: str | None
    seconds: float


class _Merge:
    """Merges the runs of the attached file `other`, one after the other."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        parse_again: ParseAgain,
        calls_needed: CallsNeeded,
        only: str | None,
    ) -> None:
        self._connection = connection
        self._path = path
        self._parse_again = parse_again
        self._calls_needed = calls_needed
        found = connection.execute(
            f"SELECT {', '.join(_Theirs.__struct_fields__)} FROM other.runs ORDER BY turn"
        ).fetchall()
        self._runs = [theirs for theirs in (_Theirs(*row) for row in found) if only in (None, theirs.name)]
        self._matched: set[int] = set()
        """runs of this store that a run of the file was merged into"""

    def steps(self) -> Iterator[Callable[[], MergedRun]]:
        """The merge of each run, to be carried out in a transaction each."""
        for theirs in self._runs:
            yield lambda theirs=theirs: self._merge_run(theirs)  # type: ignore[misc]

    def _merge_run(self, theirs: _Theirs) -> MergedRun:
        ours = self._counterpart(theirs)
        is_new = ours is None
        if ours is None:
            ours = self._new_run(theirs)
        self._matched.add(ours)
        numbers = {"ours": ours, "theirs": theirs.id}
        differing = self._pair_calls(theirs, numbers)
        self._do(_COPY_REPLIES)
        self._do(_NOTE_PAYER, numbers)
        n_items = self._do(_COPY_ITEMS, numbers)
        self._do(_COPY_SLOTS, numbers)
        n_calls = self._do(_COPY_PLACES, numbers)
        n_judgments = self._do(_COPY_JUDGMENTS, numbers)
        for statement in (_COPY_BATCHES, _COPY_LINES, _SEAL_BATCHES):
            self._do(statement, numbers)
        n_parsed = self._parse_missing(ours, numbers) if differing else 0
        labels, differing_labels = self._merge_labels("run = :theirs", numbers)
        of_people = [self._merge_written(table, numbers) for table in _WRITTEN]
        self._settle(theirs, ours, is_new=is_new, has_grown=bool(n_calls))
        name, status = self._connection.execute(
            "SELECT name, status FROM main.runs WHERE id = ?", (ours,)
        ).fetchone()
        return MergedRun(
            theirs.name, name, status, is_new, n_items, n_calls, n_judgments + n_parsed, labels,
            len(differing), n_parsed, differing_labels, *of_people[0], *of_people[1],
        )  # fmt: skip

    def _do(self, statement: str, numbers: dict[str, int] | None = None) -> int:
        return self._connection.execute(statement, numbers or {}).rowcount

    # Which run is which

    def _counterpart(self, theirs: _Theirs) -> int | None:
        """The same run in this store: of the same identity and name, or of the same identity and with no
        other counterpart in the file.
        """
        candidates = self._connection.execute(
            "SELECT id, name FROM main.runs WHERE identity = ? ORDER BY turn DESC", (theirs.identity,)
        ).fetchall()
        named = {run.name for run in self._runs if run.identity == theirs.identity}
        same_name = [number for number, name in candidates if name == theirs.name]
        others = [number for number, name in candidates if name not in named]
        for number in (*same_name, *others):
            is_contradicted = self._connection.execute(
                _CONTRADICTIONS, {"ours": number, "theirs": theirs.id}
            ).fetchone()[0]
            if number not in self._matched and not is_contradicted:
                return int(number)
        return None

    def _new_run(self, theirs: _Theirs) -> int:
        (turn,) = self._connection.execute("SELECT COALESCE(max(turn), 0) + 1 FROM main.runs").fetchone()
        status = "interrupted" if theirs.status == "running" else theirs.status
        columns = (
            theirs.identity,
            theirs.manifest,
            status,
            turn,
            theirs.started,
            theirs.ended,
            theirs.seconds,
        )
        number = self._connection.execute(
            "INSERT INTO main.runs (name, identity, manifest, status, turn, reading, started, ended, seconds)"
            " VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?)",
            (self._free_name(theirs.name), *columns),
        ).lastrowid
        assert number is not None
        runs.seal(self._connection, number)
        return number

    def _free_name(self, name: str) -> str:
        """The name, or NAME-2, NAME-3, … where another run of this store or of the file has it."""
        taken = {known for (known,) in self._connection.execute("SELECT name FROM main.runs")}
        if name not in taken:
            return name
        taken |= {run.name for run in self._runs}
        return next(new for number in count(2) if (new := f"{name}-{number}") not in taken)

    # Calls and replies

    def _pair_calls(self, theirs: _Theirs, numbers: dict[str, int]) -> set[int]:
        """Copy the calls that are missing; the calls whose
        replies differ, by their numbers in the other store.
        """
        for table in ("pairs", "outdated", "dropped", "in_batches"):
            self._do(f"DELETE FROM temp.{table}")
        self._do(_IN_BATCHES, numbers)
        self._do(_COPY_CALLS, numbers)
        self._do(_PAIR, numbers)
        differing = {
            call
            for call, *replies in self._connection.execute(_DIFFERING)
            if _content(replies[:4]) != _content(replies[4:])
        }
        if differing:
            self._check_steps(theirs, differing)
            self._note_outdated(theirs.id, differing)
        return differing

    def _check_steps(self, theirs: _Theirs, differing: set[int]) -> None:
        steps = self._connection.execute(
            "SELECT call FROM other.places WHERE run = ? AND item < 0", (theirs.id,)
        ).fetchall()
        if any(call in differing for (call,) in steps):
            raise StoreError(
                f"{self._path}: the judge wrote other evaluation steps for run {theirs.name!r} than "
                "are in the store that it is merged into, so that their prompts differ.\nThis run "
                "was not merged. Merge the file into another store, and compare the two runs there."
            )

    def _note_outdated(self, run: int, differing: set[int]) -> None:
        """A judgment depends on a reply and on those to its
        follow-up questions, which in turn depend on the reply.
        """
        parent_of: dict[int, set[int]] = {}
        children_of: dict[int, set[int]] = {}
        for child, parent in self._connection.execute(
            "SELECT p.call, c.id FROM other.places AS p JOIN other.calls AS c ON c.key = p.parent "
            "WHERE p.run = ?",
            (run,),
        ):
            parent_of.setdefault(child, set()).add(parent)
            children_of.setdefault(parent, set()).add(child)
        for table, calls in (
            ("outdated", _reached(differing, parent_of) | differing),
            ("dropped", _reached(differing, children_of)),
        ):
            self._connection.executemany(
                f"INSERT INTO temp.{table} VALUES (?)", [(call,) for call in sorted(calls)]
            )

    def _parse_missing(self, ours: int, numbers: dict[str, int]) -> int:
        """Parse the replies that were kept where the run has no judgment from them yet."""
        wanted = set(self._connection.execute(_NOT_JUDGED, numbers))
        if not wanted:
            return 0
        name, valid = self._connection.execute(
            "SELECT name, reading FROM main.runs WHERE id = ?", (ours,)
        ).fetchone()
        parsed = (
            new
            for new in self._parse_again(
                runs.one_run(self._connection, name),
                reading.items(self._connection, ours),
                lambda: reading.asked(self._connection, ours, []),
            )
            if new[:2] in wanted
        )
        n_parsed = 0
        while page := list(islice(parsed, _PAGE)):
            replace_judgments.write_reading(self._connection, ours, valid, page)
            n_parsed += len(page)
        return n_parsed

    # Labels and status

    def labels_without_run(self) -> tuple[int, int]:
        """Merge the labels that belong to no run."""
        return self._merge_labels(
            "(run IS NULL OR run NOT IN (SELECT id FROM other.runs))", {"ours": None, "theirs": None}
        )

    def _merge_labels(self, condition: str, numbers: dict[str, Any]) -> tuple[int, int]:
        """How many labels were added, and how many have another value here."""
        found = self._connection.execute(
            f"SELECT {rows.LABEL_SEALED} FROM other.labels WHERE {condition} ORDER BY id", numbers
        ).fetchall()
        new, n_differing = [], 0
        for _, item, criterion, rater, value, subject, *rest in found:
            known = self._connection.execute(
                """SELECT value FROM main.labels WHERE COALESCE(run, 0) = ? AND item = ? AND criterion = ?
                AND COALESCE(subject, '') = ? AND rater = ?""",
                (numbers["ours"] or 0, item, criterion, subject or "", rater),
            ).fetchone()
            if known is None:
                row = (numbers["ours"], item, criterion, rater, value, subject, *rest)
                new.append((*row, rows.label_checksum(row)))
            elif known[0] != value:
                n_differing += 1
        head = f"INSERT INTO main.labels ({rows.LABEL_SEALED}, checksum)"
        return insert_rows(self._connection, (head, ""), new), n_differing

    def _merge_written(self, table: str, numbers: dict[str, int]) -> tuple[int, int]:
        """How many reviews or notes of a run were added, and how many say something else here."""
        columns, key, said = _WRITTEN[table]
        names = columns.split(", ")
        found = self._connection.execute(
            f"SELECT {columns} FROM other.{table} WHERE run = :theirs ORDER BY id", numbers
        ).fetchall()
        same = " AND ".join(f"COALESCE({name}, '') = ?" for name in key)
        new, n_differing = [], 0
        for row in found:
            values = dict(zip(names, row, strict=True)) | {"run": numbers["ours"]}
            known = self._connection.execute(
                f"SELECT {', '.join(said)} FROM main.{table} WHERE {same}",
                [values[name] or "" for name in key],
            ).fetchone()
            if known is None:
                ours = tuple(values.values())
                new.append((*ours, rows.checksum(ours)))
            elif known != tuple(values[name] for name in said):
                n_differing += 1
        head = f"INSERT INTO main.{table} ({columns}, checksum)"
        return insert_rows(self._connection, (head, ""), new), n_differing

    def _settle(self, theirs: _Theirs, ours: int, *, is_new: bool, has_grown: bool) -> None:
        """The status, time and adjustments of a run after the merge."""
        (name,) = self._connection.execute("SELECT name FROM main.runs WHERE id = ?", (ours,)).fetchone()
        run = runs.one_run(self._connection, name)
        refused = rows.unpacked_json(theirs.manifest).get("adjustments", [])
        if set(refused) - set(run.manifest.get("adjustments", [])):
            runs.note_adjustments(self._connection, ours, refused)
        if has_grown and not is_new:
            self._connection.execute(
                "UPDATE main.runs SET seconds = seconds + ? WHERE id = ?", (theirs.seconds, ours)
            )
        n_calls = self._calls_needed(run)
        is_whole = n_calls is not None and items.is_whole(self._connection, ours, n_calls)
        if is_whole and run.status in ("interrupted", "stopped", "submitted"):
            self._connection.execute(
                "UPDATE main.runs SET status = 'done', ended = COALESCE(?, ended), owner = NULL WHERE id = ?",
                (theirs.ended, ours),
            )
        elif is_new and n_calls is not None and not is_whole and run.status == "done":
            self._connection.execute("UPDATE main.runs SET status = 'interrupted' WHERE id = ?", (ours,))
        runs.seal(self._connection, ours)


def _content(reply: Sequence[Any]) -> tuple[Any, ...]:
    """What a judge answered, without what it took."""
    text, thinking, logprobs, finish = reply
    return (*(None if part is None else rows.unpack(part) for part in (text, thinking, logprobs)), finish)


def _reached(start: set[int], links: dict[int, set[int]]) -> set[int]:
    """All calls that a chain of links leads to."""
    reached: set[int] = set()
    ahead = list(start)
    while ahead:
        for call in links.get(ahead.pop(), set()) - reached:
            reached.add(call)
            ahead.append(call)
    return reached
