"""The table `results`: what combining the judgments of a run gave, kept so that no analysis combines them
again.

A cache: every row can be made again from judgments, and the tables may be dropped. `result_sets` says of what
the rows of a run were made: its reading of the replies, the version of `combine`, its manifest, and how many
calls and judgments there were. A judgment that is added changes those numbers; one that is changed or deleted
is listed in `changed_items` by triggers. This file does not combine: the caller does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
import uuid
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from ..records import Evidence, Result
from . import database_file, rows, schema
from .counts import check_count, kept
from .store_errors import damage_error, primary_code

_PAGE = 500
_LARGE_PAGE = 4000
"""items of a page of which no records are made"""
_BUSY_SECONDS = 2.0
"""How long to wait for another process that writes; after that the results are combined in memory."""

_FREE_BYTES = 64 << 20
"""With less free disk space than this, results are not stored: the rest is for replies."""

_RESULT = (
    'item, protocol, criterion, model, status, system, "group", subject, value, normalized, spread, how,'
    " estimator, n_samples, n_failed, choice, confidence, system_a, system_b, flags, label, probabilities,"
    " reply"
)
_SEALED = f"run, seq, number, reading, version, {_RESULT}, kind, samples_gap, judges_gap, orders_gap, digest"
_N_SEALED = _SEALED.count(",") + 1
_ITEM = "run, seq, calls, failed, judged, n, texts"
_UNKNOWN = -1
"""the number of results of an item where it cannot be trusted"""
_FIRST = 5
"""the number of the column `item`"""

COLUMNS = (*(name.strip('"') for name in _SEALED.split(", ")), "checksum")
"""the columns of a result"""

_once: Any = sys.intern
"""SQLite makes a new text for each row, though a run has few models and systems"""

_NONE: dict[str, Any] = {}
"""one for all results without probabilities or notes"""

_flags = msgspec.json.Decoder(tuple[str, ...]).decode
_probabilities = msgspec.json.Decoder(dict[str, float]).decode


class Gaps(NamedTuple):
    """How far the answers behind one result differ; none where there is nothing to compare."""

    samples: float | None
    """the standard deviation of the samples; of choices, the share that differs from the most frequent"""
    judges: float | None
    """the highest judge minus the lowest; of choices, 1 where they differ"""
    orders: float | None
    """between the means of the two orders of a pair; of choices, 1 where they differ"""


class StoredResult(NamedTuple):
    """One result with what is known of the calls behind it."""

    result: Result
    kind: Literal["scores", "choices"]
    gaps: Gaps
    digest: int | None
    """a hash of the calls of its item, protocol and model, and of what was read from each reply; none where
    one has no reply yet
    """


class StoredItem(NamedTuple):
    """The results of one item, in their order; none where they are damaged in the store."""

    seq: int
    results: Sequence[StoredResult] | None


class _Texts(Struct, frozen=True, array_like=True):
    """The part of a result that only an export and the viewer show."""

    explanation: str = ""
    evidence: tuple[Evidence, ...] = ()
    notes: dict[str, str] = {}


_texts = msgspec.json.Decoder(tuple[_Texts, ...]).decode


class ItemState(NamedTuple):
    """How many calls of an item are stored, how many of those failed, and how many have a judgment."""

    calls: int
    failed: int
    judged: int


_NO_CALLS = ItemState(0, 0, 0)
"""of an item whose calls were deleted"""


class _Source(NamedTuple):
    """What the results of a run are made from."""

    reading: int
    version: int
    manifest: int
    places: int
    judgments: int


def _source(connection: sqlite3.Connection, run: int, version: int) -> _Source | None:
    """What the results of a run would be made from now; none where the file does not count its rows."""
    row = connection.execute("SELECT reading, manifest FROM runs WHERE id = ?", (run,)).fetchone()
    written = kept(connection, run)
    if row is None or written.places is None or written.judgments is None:
        return None
    return _Source(row[0], version, zlib.crc32(row[1]), written.places, written.judgments)


def has_tables(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there: they may be dropped."""
    names = ", ".join(f"'{name}'" for name in schema.RESULT_TABLES)
    found = connection.execute(
        f"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ({names})"
    )
    return bool(found.fetchone()[0] == len(schema.RESULT_TABLES))


def are_current(connection: sqlite3.Connection, run: int, version: int) -> bool:
    """Whether the stored results of a run are those of its judgments."""
    if not has_tables(connection):
        return False
    row = connection.execute(
        """SELECT reading, version, manifest, places, judgments, items,
            EXISTS (SELECT 1 FROM changed_items WHERE run = :run),
            (SELECT count(*) FROM result_items WHERE run = :run)
        FROM result_sets WHERE run = :run""",
        {"run": run},
    ).fetchone()
    return row is not None and row[:5] == _source(connection, run, version) and row[5:] == (row[7], 0, row[7])


def read(connection: sqlite3.Connection, run: int, *, with_texts: bool) -> Iterator[StoredItem]:
    """The stored results of a run in the order of its items; explanations, evidence and notes with
    `with_texts`."""
    after = -1
    while page := connection.execute(
        f"SELECT {_ITEM}, checksum FROM result_items WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?",
        (run, after, _PAGE),
    ).fetchall():
        known = [(row[1], row[5] if _is_whole(row) else _UNKNOWN, row[6]) for row in page]
        ends = (known[0][0], known[-1][0])
        yield from _items(connection, run, known, "BETWEEN ? AND ?", ends, with_texts=with_texts)
        after = known[-1][0]


def _items(
    connection: sqlite3.Connection,
    run: int,
    known: Sequence[tuple[int, int, int | None]],
    which: str,
    values: Sequence[int],
    *,
    with_texts: bool,
) -> Iterator[StoredItem]:
    """The results of items that a condition on their number selects; `known` says how many each has, and the
    checksum of their texts.
    """
    by_item: dict[int, list[rows.Columns]] = {seq: [] for seq, _, _ in known}
    for row in connection.execute(
        f"SELECT {_SEALED}, checksum FROM results WHERE run = ? AND seq {which} ORDER BY seq, number",
        (run, *values),
    ):
        if row[1] in by_item:
            by_item[row[1]].append(row)
    bodies: dict[int, bytes] = {}
    if with_texts:
        select = f"SELECT seq, body FROM result_texts WHERE run = ? AND seq {which}"
        bodies = dict(connection.execute(select, (run, *values)).fetchall())
    for seq, n, checksum in known:
        try:
            if len(by_item[seq]) != n:
                raise rows.DamagedError("a result is missing")
            has_texts = with_texts and checksum is not None
            texts = _read_texts(bodies[seq], checksum) if has_texts else (None,) * n
            yield StoredItem(seq, list(map(_read_row, by_item[seq], texts)))
        except rows.DECODE_FAULTS:
            yield StoredItem(seq, None)


def result_columns(stored: StoredItem) -> list[rows.Columns]:
    """The rows of `pages` for the results of one item that was combined in memory."""
    nowhere = _Source(0, 0, 0, 0, 0)
    return [
        _columns(0, stored.seq, number, nowhere, result) for number, result in enumerate(stored.results or ())
    ]


class ResultPage(NamedTuple):
    """The stored results of neighbouring items as rows of `COLUMNS`."""

    rows: list[rows.Columns]
    texts: dict[int, int | None]
    """the items of this page, also those without a result, with the checksum of their texts"""
    damaged: list[int]
    """the items of which a result is damaged or missing"""


def pages(connection: sqlite3.Connection, run: int) -> Iterator[ResultPage]:
    """The stored results of a run, page by page in the order of its items, without texts.

    Much faster than `read`: no record is made of a row.
    """
    after = -1
    while page := connection.execute(
        f"SELECT {_ITEM}, checksum FROM result_items WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?",
        (run, after, _LARGE_PAGE),
    ).fetchall():
        known = [(row[1], row[5] if _is_whole(row) else _UNKNOWN, row[6]) for row in page]
        found = connection.execute(
            f"SELECT {_SEALED}, checksum FROM results WHERE run = ? AND seq BETWEEN ? AND ? "
            "ORDER BY seq, number",
            (run, known[0][0], known[-1][0]),
        ).fetchall()
        n_missing = Counter({seq: n for seq, n, _ in known})
        n_missing.subtract(row[1] for row in found)
        damaged = {seq for seq, n in n_missing.items() if n}
        damaged |= {row[1] for row in found if rows.checksum(row[:_N_SEALED]) != row[_N_SEALED]}
        sound = [row for row in found if row[1] not in damaged] if damaged else found
        texts = {seq: checksum for seq, _, checksum in known}
        yield ResultPage(sound, texts, sorted(damaged.intersection(texts)))
        after = known[-1][0]


def of_items(
    connection: sqlite3.Connection, run: int, version: int, seqs: Sequence[int]
) -> dict[int, StoredItem]:
    """The results of single items with their texts, by number; without those that are missing or outdated."""
    source = _source(connection, run, version)
    if source is None or not has_tables(connection) or _made_from(connection, run) != source[:3]:
        return {}
    stored: dict[int, StoredItem] = {}
    for start in range(0, len(seqs), _PAGE):
        some = seqs[start : start + _PAGE]
        marks = ", ".join("?" * len(some))
        changes = connection.execute(
            f"SELECT item FROM changed_items WHERE run = ? AND item IN (-1, {marks})", (run, *some)
        )
        changed = {item for (item,) in changes}
        states = _states(connection, run, source.reading, f"IN ({marks})", some)
        known = _known(connection, run, f"IN ({marks})", some)
        current = [
            (seq, n, texts)
            for seq, (state, n, texts) in known.items()
            if state == states.get(seq, _NO_CALLS) and not changed & {seq, -1}
        ]
        items = _items(connection, run, current, f"IN ({marks})", some, with_texts=True)
        stored |= {item.seq: item for item in items}
    return stored


def _made_from(connection: sqlite3.Connection, run: int) -> rows.Columns | None:
    """The reading, version and manifest of the stored results of a run."""
    row: rows.Columns | None = connection.execute(
        "SELECT reading, version, manifest FROM result_sets WHERE run = ?", (run,)
    ).fetchone()
    return row


def _states(
    connection: sqlite3.Connection, run: int, reading: int, which: str, values: Sequence[int]
) -> dict[int, ItemState]:
    """How many calls and judgments the items have that a condition on their number selects."""
    judged = dict(
        connection.execute(
            f"SELECT item, count(*) FROM judgments WHERE run = ? AND reading = ? AND item {which} "
            "GROUP BY item",
            (run, reading, *values),
        ).fetchall()
    )
    calls = connection.execute(
        f"SELECT item, count(*), count(error_kind) FROM places WHERE run = ? AND item {which} GROUP BY item",
        (run, *values),
    )
    return {item: ItemState(n, n_failed, judged.get(item, 0)) for item, n, n_failed in calls}


def _known(
    connection: sqlite3.Connection, run: int, which: str, values: Sequence[int]
) -> dict[int, tuple[ItemState, int, int | None]]:
    """From which state the results of each item were made, their number, and the checksum of their texts."""
    found = connection.execute(
        f"SELECT {_ITEM}, checksum FROM result_items WHERE run = ? AND seq {which}", (run, *values)
    ).fetchall()
    return {row[1]: (ItemState(*row[2:5]), row[5], row[6]) for row in found if _is_whole(row)}


def _is_whole(row: rows.Columns) -> bool:
    """Whether a row of `result_items` is what was written."""
    return bool(rows.checksum(row[:-1]) == row[-1])


class ResultState(NamedTuple):
    """Two states that are equal mean that the same results are stored, or would be combined."""

    reading: int
    places: int
    judgments: int
    last_change: int
    items: int
    """how many items have stored results"""


def state_of(connection: sqlite3.Connection, run: int) -> ResultState:
    """What the results of a run depend on, as numbers that change with it."""
    if not has_tables(connection):
        n_items = 0
    else:
        (n_items,) = connection.execute("SELECT count(*) FROM result_items WHERE run = ?", (run,)).fetchone()
    reading, last_change = connection.execute(
        "SELECT reading, (SELECT COALESCE(max(id), 0) FROM changed_items WHERE run = runs.id) FROM runs "
        "WHERE id = ?",
        (run,),
    ).fetchone() or (-1, 0)
    written = kept(connection, run)
    return ResultState(reading, written.places or 0, written.judgments or 0, last_change, n_items)


def _read_row(row: rows.Columns, texts: _Texts | None) -> StoredResult:
    rows.check_checksum(row[:_N_SEALED], row[_N_SEALED])
    (
        item, protocol, criterion, model, status, system, group, subject, value, normalized, spread, how,
        estimator,
        n_samples, n_failed, choice, confidence, system_a, system_b, flags, label, probabilities, reply,
        kind, samples_gap, judges_gap, orders_gap, digest,
    ) = row[_FIRST:_N_SEALED]  # fmt: skip
    result = Result(
        item, _once(protocol), _once(criterion), _once(model), _once(status), _once(system),
        group and _once(group), subject, value, normalized, spread, how and _once(how), _once(estimator),
        n_samples, n_failed, choice, confidence, "" if texts is None else texts.explanation, system_a,
        system_b,
        _flags(flags) if flags else (), label, _probabilities(probabilities) if probabilities else _NONE,
        () if texts is None else texts.evidence, _NONE if texts is None else texts.notes, reply,
    )  # fmt: skip
    return StoredResult(result, _once(kind), Gaps(samples_gap, judges_gap, orders_gap), digest)


def _read_texts(body: bytes, check: int | None) -> tuple[_Texts, ...]:
    if zlib.crc32(body) != check:
        raise rows.DamagedError("the checksum differs")
    return _texts(rows.unpack(body))


def _columns(run: int, seq: int, number: int, source: _Source, stored: StoredResult) -> rows.Columns:
    result = stored.result
    row = (
        run, seq, number, source.reading, source.version,
        result.item, result.protocol, result.criterion, result.model, result.status, result.system,
        result.group,
        result.subject, result.value, result.normalized, result.spread, result.how, result.estimator,
        result.n_samples, result.n_failed, result.choice, result.confidence, result.system_a, result.system_b,
        _json(result.flags), result.label, _json(result.probabilities), result.reply,
        stored.kind, *stored.gaps, stored.digest,
    )  # fmt: skip
    return (*row, rows.checksum(row))


def _json(value: Sequence[str] | Mapping[str, float]) -> str | None:
    return rows.json_of(value).decode() if value else None


def _packed_texts(stored: Sequence[StoredResult]) -> bytes | None:
    texts = tuple(_Texts(one.result.explanation, one.result.evidence, one.result.notes) for one in stored)
    if all(text == _Texts() for text in texts):
        return None
    return rows.pack(rows.json_of(texts))


class ResultWriter:
    """Brings the stored results of one run up to date, page by page. Of two at a time, the later one goes
    on."""

    def __init__(self, connection: sqlite3.Connection, run: int, version: int) -> None:
        self._connection = connection
        self._run = run
        self._writer = uuid.uuid4().hex
        self._last_change = 0
        self._changed: set[int] = set()
        self._n_calls = self._n_judged = 0
        with self._transaction():
            source = _source(connection, run, version)
            if source is None:
                raise CannotStoreError
            self._source = source
            self._begin()

    def _begin(self) -> None:
        run = self._run
        if not has_tables(self._connection):
            for statement in schema.RESULT_TABLES.values():
                self._connection.execute(statement)
            self._connection.execute("DELETE FROM result_sets")
        changes = self._connection.execute("SELECT id, item FROM changed_items WHERE run = ?", (run,))
        for number, item in changes:
            self._last_change = max(self._last_change, number)
            self._changed.add(item)
        # A change of a call of the run as a whole, such as written steps, may concern every item.
        if _made_from(self._connection, run) != self._source[:3] or -1 in self._changed:
            for table in schema.RESULT_TABLES:
                self._connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
        self._connection.execute(
            "INSERT OR REPLACE INTO result_sets VALUES (?, ?, ?, ?, -1, -1, 0, ?)",
            (run, *self._source[:3], self._writer),
        )

    def pages(self) -> Iterator[tuple[int, int, dict[int, ItemState]]]:
        """The items whose results are missing or outdated: the first and last number of each page, and their
        states.

        A page is written by `put` before the next one is asked for.
        """
        (last,) = self._connection.execute(
            """SELECT max(COALESCE((SELECT max(item) FROM places WHERE run = :run), -1),
                COALESCE((SELECT max(seq) FROM result_items WHERE run = :run), -1))""",
            {"run": self._run},
        ).fetchone()
        for first in range(-1, last + 1, _PAGE):
            ends = (first, first + _PAGE - 1)
            states = _states(self._connection, self._run, self._source.reading, "BETWEEN ? AND ?", ends)
            known = _known(self._connection, self._run, "BETWEEN ? AND ?", ends)
            self._n_calls += sum(state.calls for state in states.values())
            self._n_judged += sum(state.judged for state in states.values())
            states.pop(-1, None)
            states |= {seq: _NO_CALLS for seq in known if seq not in states}
            stale = {
                seq: state
                for seq, state in states.items()
                if seq not in known or known[seq][0] != state or seq in self._changed
            }
            if stale:
                yield min(stale), max(stale), stale
        self._check()

    def _check(self) -> None:
        """`DamagedError` where calls or judgments have vanished."""
        now = kept(self._connection, self._run)
        check_count("calls", self._source.places, self._n_calls, now.places)
        check_count("judgments", self._source.judgments, self._n_judged, now.judgments)

    def put(self, states: Mapping[int, ItemState], items: Sequence[StoredItem]) -> None:
        """Store the results of the items of a page; an item without any is known to have none."""
        run = self._run
        by_item = {item.seq: item.results or () for item in items}
        bodies = {seq: body for seq, found in by_item.items() if (body := _packed_texts(found)) is not None}
        counted = [
            (run, seq, *state, len(by_item.get(seq, ())), zlib.crc32(bodies[seq]) if seq in bodies else None)
            for seq, state in states.items()
        ]
        with self._transaction():
            self._check_writer()
            for table in schema.RESULT_TABLES:
                self._connection.executemany(
                    f"DELETE FROM {table} WHERE run = ? AND seq = ?", [(run, seq) for seq in states]
                )
            self._insert(
                "results",
                [
                    _columns(run, seq, number, self._source, stored)
                    for seq, found in by_item.items()
                    for number, stored in enumerate(found)
                ],
            )
            self._insert("result_texts", [(run, seq, body) for seq, body in bodies.items()])
            self._insert("result_items", [(*row, rows.checksum(row)) for row in counted])

    def _insert(self, table: str, new: Sequence[rows.Columns]) -> None:
        if new:
            marks = ", ".join("?" * len(new[0]))
            names = {"results": f" ({_SEALED}, checksum)"}.get(table, "")
            self._connection.executemany(f"INSERT INTO {table}{names} VALUES ({marks})", new)

    def finish(self) -> None:
        """Record that all results are stored."""
        with self._transaction():
            self._check_writer()
            self._connection.execute(
                "DELETE FROM changed_items WHERE run = ? AND id <= ?", (self._run, self._last_change)
            )
            self._connection.execute(
                """UPDATE result_sets SET places = :places, judgments = :judgments,
                    items = (SELECT count(*) FROM result_items WHERE run = :run) WHERE run = :run""",
                {"run": self._run, "places": self._source.places, "judgments": self._source.judgments},
            )

    def _check_writer(self) -> None:
        row = self._connection.execute(
            "SELECT writer FROM result_sets WHERE run = ?", (self._run,)
        ).fetchone()
        if row is None or row[0] != self._writer:
            raise BusyError

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def connect_for_results(path: Path) -> sqlite3.Connection:
    """A connection that stores results; `CannotStoreError` where the store cannot be written."""
    try:
        if shutil.disk_usage(path.absolute().parent).free < _FREE_BYTES or not os.access(path, os.W_OK):
            raise CannotStoreError
        connection = database_file.connect(path, write=True, busy_seconds=_BUSY_SECONDS)
        # Nothing here must survive a power failure; SQLite keeps the file whole all the same.
        connection.execute("PRAGMA synchronous = NORMAL")
    except (sqlite3.Error, OSError) as fault:
        raise CannotStoreError from fault
    return connection


@contextlib.contextmanager
def result_writer(
    connection: sqlite3.Connection, path: Path, run: int, version: int
) -> Iterator[ResultWriter]:
    """A writer of the results of one run; `CannotStoreError` where the store cannot be written."""
    try:
        yield ResultWriter(connection, run, version)
    except rows.DamagedError as fault:
        raise damage_error(path, fault) from fault
    except sqlite3.Error as fault:
        is_busy = primary_code(fault) == sqlite3.SQLITE_BUSY
        raise (BusyError if is_busy else CannotStoreError) from fault


class CannotStoreError(Exception):
    """The store cannot be written: its results are combined in memory."""


class BusyError(CannotStoreError):
    """Another process writes to the store, or stores the same results."""


def forget_items(connection: sqlite3.Connection, run: int, seqs: Sequence[int]) -> None:
    """Have the results of some items stored again by the next reader, because they are damaged."""
    with contextlib.suppress(sqlite3.Error):
        connection.executemany(
            "INSERT INTO changed_items (run, item) VALUES (?, ?)", [(run, seq) for seq in seqs]
        )


def delete_results(connection: sqlite3.Connection, run: int) -> None:
    """Delete the stored results of a run that is deleted."""
    connection.execute("DELETE FROM result_sets WHERE run = ?", (run,))
    if has_tables(connection):
        for table in schema.RESULT_TABLES:
            connection.execute(f"DELETE FROM {table} WHERE run = ?", (run,))
    connection.execute("DELETE FROM changed_items WHERE run = ?", (run,))
