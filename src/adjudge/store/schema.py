"""The tables of a store, and the migrations that bring an older file up to date.

This file knows the layout on disk and how to open a file; it knows nothing of judging. A released
migration is never changed: a new one is added below it. Each is applied once, inside one
transaction, and recorded in the table `migrations`.

In Python, the columns `slot` are called call index, and a row of `places` is a call of a run.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from ..errors import StoreError
from . import rows
from .own_tables import check_tables, tables_in
from .store_errors import primary_code

APPLICATION_ID = 0x41444A47
"""Written to the file's header, so that another program's database is never mistaken for a store."""


def m001_initial(connection: sqlite3.Connection) -> None:
    """Runs, items, calls, replies, judgments, labels."""
    for statement in _INITIAL:
        connection.execute(statement)


# Calls have a row id, to which all other tables refer: keys are in one index only, the only one
# whose pages are written in random order.
_INITIAL = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        identity TEXT NOT NULL,
        manifest BLOB NOT NULL,
        status TEXT NOT NULL,
        turn INTEGER NOT NULL,     -- grows with each start: orders runs whatever the clock says
        reading INTEGER NOT NULL,  -- which reading of the replies is valid
        owner INTEGER,
        started TEXT NOT NULL,
        ended TEXT,
        seconds REAL NOT NULL DEFAULT 0
    )""",
    """CREATE TABLE items (
        run INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        id TEXT NOT NULL,
        line INTEGER,
        system TEXT NOT NULL,
        system_a TEXT,
        system_b TEXT,
        "group" TEXT,
        fields BLOB NOT NULL,
        content BLOB NOT NULL,     -- hash of all but the line
        PRIMARY KEY (run, seq)
    ) WITHOUT ROWID""",
    """CREATE TABLE slots (
        run INTEGER NOT NULL,
        slot INTEGER NOT NULL,     -- which of an item's calls it is: store/call_index.py
        protocol TEXT NOT NULL,
        criteria TEXT NOT NULL,
        model TEXT NOT NULL,
        "order" TEXT NOT NULL,
        sample INTEGER NOT NULL,
        kind TEXT NOT NULL,
        PRIMARY KEY (run, slot)
    ) WITHOUT ROWID""",
    """CREATE TABLE calls (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        model TEXT NOT NULL,
        kind TEXT NOT NULL,
        messages BLOB NOT NULL,
        target BLOB,
        owner INTEGER              -- who is asking; means nothing once there is a reply
    )""",
    """CREATE TABLE replies (
        call INTEGER PRIMARY KEY,
        run INTEGER,               -- which run paid for it
        text BLOB NOT NULL,
        reasoning BLOB,
        logprobs BLOB,
        tokens_in INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL,
        cost_usd REAL,
        seconds REAL NOT NULL,
        model_name TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        finish TEXT,
        checksum INTEGER NOT NULL
    )""",
    """CREATE TABLE places (
        run INTEGER NOT NULL,
        item INTEGER NOT NULL,     -- items.seq; -1: the call belongs to the run as a whole
        slot INTEGER NOT NULL,
        call INTEGER NOT NULL,
        parent TEXT,
        error_kind TEXT,
        error_message TEXT,
        PRIMARY KEY (run, item, slot)
    ) WITHOUT ROWID""",
    """CREATE TABLE judgments (
        run INTEGER NOT NULL,
        reading INTEGER NOT NULL,
        item INTEGER NOT NULL,
        slot INTEGER NOT NULL,
        body BLOB NOT NULL,
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, reading, item, slot)
    ) WITHOUT ROWID""",
    """CREATE TABLE owners (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        machine TEXT NOT NULL,
        pid INTEGER NOT NULL,
        started TEXT NOT NULL,
        beats INTEGER NOT NULL DEFAULT 0
    )""",
    """CREATE TABLE labels (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER,
        item TEXT NOT NULL,
        criterion TEXT NOT NULL,
        subject TEXT,
        rater TEXT NOT NULL,
        value TEXT NOT NULL,       -- JSON: a number or a choice
        probability REAL,
        origin TEXT NOT NULL
    )""",
    """CREATE UNIQUE INDEX one_label_per_rater
        ON labels (COALESCE(run, 0), item, criterion, COALESCE(subject, ''), rater)""",
    """CREATE TABLE quarantine (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL,
        reason TEXT NOT NULL,
        found TEXT NOT NULL,
        text, reasoning, logprobs, tokens_in, tokens_out, cost_usd, seconds,
        model_name, fingerprint, finish, checksum
    )""",
)


def m002_counts(connection: sqlite3.Connection) -> None:
    """Checksums of the rows that had none, and how many rows
    each run has: damage can remove rows without a trace.
    """
    for table in _CHECKED:
        connection.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER")
    for statement in _COUNTS:
        connection.execute(statement)
    # Calls of older stores stay without a checksum: computing it means reading every prompt.
    for table, columns, condition in (
        ("runs", rows.RUN_SEALED, "1"),
        ("items", rows.ITEM_SEALED, "1"),
        ("slots", rows.SLOT_SEALED, "1"),
        ("labels", _LABEL_SEALED_THEN, "1"),
        ("places", rows.PLACE_SEALED, "error_kind IS NOT NULL OR parent IS NOT NULL"),
    ):
        keys = _KEYS[table]
        n_keys = keys.count(",") + 1
        where = " AND ".join(f"{key} = ?" for key in keys.split(", "))
        connection.execute(
            f"CREATE TEMP TABLE sealed AS SELECT {columns}, {keys} FROM {table} WHERE {condition}"
        )
        connection.executemany(
            f"UPDATE {table} SET checksum = ? WHERE {where}",
            (
                (rows.checksum(row[:-n_keys]), *row[-n_keys:])
                for row in connection.execute("SELECT * FROM sealed")
            ),
        )
        connection.execute("DROP TABLE temp.sealed")


_LABEL_SEALED_THEN = "run, item, criterion, rater, value, subject, probability, origin"


_CHECKED = ("runs", "items", "slots", "calls", "places", "labels")


_KEYS = {"runs": "id", "items": "run, seq", "slots": "run, slot", "labels": "id", "places": "run, item, slot"}


# Triggers, so that no statement can forget to count. `counts` has a row for each run, and one with the number
# 0 for what belongs to the whole store. Only the judgments of the valid reading are counted.
_COUNTS = (
    """CREATE TABLE counts (
        run INTEGER PRIMARY KEY,
        items INTEGER NOT NULL DEFAULT 0,
        places INTEGER NOT NULL DEFAULT 0,
        judgments INTEGER NOT NULL DEFAULT 0,
        labels INTEGER NOT NULL DEFAULT 0
    )""",
    "INSERT INTO counts (run, labels) SELECT 0, count(*) FROM labels",
    """INSERT INTO counts (run, items, places, judgments) SELECT id,
        (SELECT count(*) FROM items WHERE run = runs.id), (SELECT count(*) FROM places WHERE run = runs.id),
        (SELECT count(*) FROM judgments WHERE run = runs.id AND reading = runs.reading) FROM runs""",
    "CREATE TRIGGER run_in AFTER INSERT ON runs BEGIN INSERT INTO counts (run) VALUES (NEW.id); END",
    "CREATE TRIGGER run_out AFTER DELETE ON runs BEGIN DELETE FROM counts WHERE run = OLD.id; END",
    *(
        f"""CREATE TRIGGER {table}_{event} AFTER {verb} ON {table} {condition.replace("ROW", row)}
        BEGIN UPDATE counts SET {table} = {table} {sign} 1 WHERE run = {whose.replace("ROW", row)}; END"""
        for table, whose, condition in (
            ("items", "ROW.run", ""),
            ("places", "ROW.run", ""),
            ("judgments", "ROW.run", "WHEN ROW.reading = (SELECT reading FROM runs WHERE id = ROW.run)"),
            ("labels", "0", ""),
        )
        for event, verb, row, sign in (("in", "INSERT", "NEW", "+"), ("out", "DELETE", "OLD", "-"))
    ),
)


def m003_batches(connection: sqlite3.Connection) -> None:
    """Calls that were handed to a provider's batch API."""
    for statement in _BATCHES:
        connection.execute(statement)


# A call may be in several batches, one after the other, where the earlier ones did not answer it.
_BATCHES = (
    """CREATE TABLE batches (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        run INTEGER NOT NULL,
        model TEXT NOT NULL,
        identity TEXT NOT NULL,
        state TEXT NOT NULL,
        provider_state TEXT NOT NULL DEFAULT '',
        file TEXT NOT NULL DEFAULT '',
        mark TEXT NOT NULL DEFAULT '',
        remote TEXT NOT NULL DEFAULT '',
        outputs TEXT NOT NULL DEFAULT '[]',
        n_calls INTEGER NOT NULL DEFAULT 0,
        n_done INTEGER NOT NULL DEFAULT 0,
        n_failed INTEGER NOT NULL DEFAULT 0,
        estimate_usd REAL,
        note TEXT NOT NULL DEFAULT '',
        created TEXT NOT NULL,
        changed TEXT NOT NULL,
        owner INTEGER,
        checksum INTEGER
    )""",
    """CREATE TABLE batch_calls (
        batch INTEGER NOT NULL,
        call INTEGER NOT NULL,
        slot INTEGER NOT NULL,
        outcome TEXT,
        error_kind TEXT,
        error_message TEXT,
        flags TEXT,
        reply BLOB,                -- one that was cut off before its answer
        checksum INTEGER,
        PRIMARY KEY (batch, call)
    ) WITHOUT ROWID""",
    "CREATE INDEX batches_of_call ON batch_calls (call)",
)


def m004_reviews(connection: sqlite3.Connection) -> None:
    """Reviews of disagreements, and notes and tags on items."""
    for statement in _REVIEWS:
        connection.execute(statement)


_REVIEWS = (
    """CREATE TABLE reviews (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER NOT NULL,
        item TEXT NOT NULL,
        protocol TEXT NOT NULL,
        criterion TEXT NOT NULL,
        subject TEXT,
        model TEXT NOT NULL,
        reviewer TEXT NOT NULL,
        verdict TEXT NOT NULL,
        answer TEXT NOT NULL,      -- JSON: a number, a choice or null
        label TEXT NOT NULL,       -- JSON, too
        reason TEXT NOT NULL,
        note TEXT NOT NULL,
        made TEXT NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    """CREATE UNIQUE INDEX one_review_per_reviewer
        ON reviews (run, item, criterion, COALESCE(subject, ''), reviewer)""",
    """CREATE TABLE notes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER NOT NULL,
        item TEXT NOT NULL,
        author TEXT NOT NULL,
        text TEXT NOT NULL,
        tags TEXT NOT NULL,        -- JSON: a list of texts
        made TEXT NOT NULL,
        checksum INTEGER NOT NULL
    )""",
    "CREATE UNIQUE INDEX one_note_per_author ON notes (run, item, author)",
    *(
        statement
        for table in ("reviews", "notes")
        for statement in (
            f"ALTER TABLE counts ADD COLUMN {table} INTEGER NOT NULL DEFAULT 0",
            f"""CREATE TRIGGER {table}_in AFTER INSERT ON {table}
            BEGIN UPDATE counts SET {table} = {table} + 1 WHERE run = 0; END""",
            f"""CREATE TRIGGER {table}_out AFTER DELETE ON {table}
            BEGIN UPDATE counts SET {table} = {table} - 1 WHERE run = 0; END""",
        )
    ),
)


def m005_invitations(connection: sqlite3.Connection) -> None:
    """Who may open the pages from other machines. A link's secret is stored as a hash alone."""
    connection.execute(
        """CREATE TABLE invitations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER,               -- none where it is for all runs
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        secret TEXT NOT NULL,
        made TEXT NOT NULL,
        revoked TEXT,
        checksum INTEGER
    )"""
    )
    connection.execute(
        "CREATE UNIQUE INDEX one_open_invitation ON invitations (kind, COALESCE(run, 0), name) WHERE "
        "revoked IS NULL"
    )


def m006_locked_looks(connection: sqlite3.Connection) -> None:
    """How often locked labels were looked at, by their hash."""
    connection.execute(
        "CREATE TABLE locked_looks (id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL, made "
        "TEXT NOT NULL)"
    )
    connection.execute("CREATE INDEX looks_of_labels ON locked_looks (digest)")


def m007_results(connection: sqlite3.Connection) -> None:
    """The results of runs, combined from their judgments; see `store.results`."""
    for statement in (*RESULT_TABLES.values(), *_CHANGES):
        connection.execute(statement)


RESULT_TABLES = {
    "results": """CREATE TABLE IF NOT EXISTS results (
        run INTEGER NOT NULL,
        seq INTEGER NOT NULL,      -- items.seq
        number INTEGER NOT NULL,   -- which result of the item, from 0
        reading INTEGER NOT NULL,  -- which reading of the replies, and which version of `combine`
        version INTEGER NOT NULL,
        item TEXT NOT NULL,
        protocol TEXT NOT NULL,
        criterion TEXT NOT NULL,
        model TEXT NOT NULL,
        status TEXT NOT NULL,
        system TEXT NOT NULL,
        "group" TEXT,
        subject TEXT,
        value REAL,
        normalized REAL,
        spread REAL,
        how TEXT,
        estimator TEXT NOT NULL,
        n_samples INTEGER NOT NULL,
        n_failed INTEGER NOT NULL,
        choice TEXT,
        confidence REAL,
        system_a TEXT,
        system_b TEXT,
        flags TEXT,                -- JSON: a list of texts; none where it is empty
        label TEXT,
        probabilities TEXT,        -- JSON: answer → probability
        reply INTEGER NOT NULL,
        kind TEXT NOT NULL,
        samples_gap REAL,
        judges_gap REAL,
        orders_gap REAL,
        digest INTEGER,
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, seq, number)
    ) WITHOUT ROWID""",
    "result_items": """CREATE TABLE IF NOT EXISTS result_items (
        run INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        calls INTEGER NOT NULL,    -- how many calls, failed calls and judgments the results are made from
        failed INTEGER NOT NULL,
        judged INTEGER NOT NULL,
        n INTEGER NOT NULL,        -- how many results there are
        texts INTEGER,             -- the checksum of their texts, where they have any
        checksum INTEGER NOT NULL,
        PRIMARY KEY (run, seq)
    ) WITHOUT ROWID""",
    "result_texts": """CREATE TABLE IF NOT EXISTS result_texts (
        run INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        body BLOB NOT NULL,        -- explanation, evidence and notes of each result
        PRIMARY KEY (run, seq)
    ) WITHOUT ROWID""",
}
"""The tables that may be dropped at any time: they are made again from the judgments."""


# A row that is added changes the counts. One that is changed or deleted may not, so its item is listed, where
# the run has stored results.
_CHANGES = (
    """CREATE TABLE result_sets (
        run INTEGER PRIMARY KEY,
        reading INTEGER NOT NULL,
        version INTEGER NOT NULL,
        manifest INTEGER NOT NULL, -- its checksum
        places INTEGER NOT NULL,
        judgments INTEGER NOT NULL,
        items INTEGER NOT NULL,    -- how many items are in `result_items`
        writer TEXT NOT NULL       -- who writes the results, or did so last
    )""",
    "CREATE TABLE changed_items (id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, "
    "item INTEGER NOT NULL)",
    "CREATE INDEX changes_of_run ON changed_items (run)",
    *(
        f"""CREATE TRIGGER {table}_{event} AFTER {verb} ON {table}
        WHEN EXISTS (SELECT 1 FROM result_sets WHERE run = OLD.run)
        BEGIN INSERT INTO changed_items (run, item) VALUES (OLD.run, OLD.{item}); END"""
        for table, item in (("places", "item"), ("judgments", "item"), ("items", "seq"))
        for event, verb in (("changed", "UPDATE"), ("gone", "DELETE"))
    ),
)


_LIST_OF_MIGRATIONS = (
    "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL)"
)


def m008_text_hash(connection: sqlite3.Connection) -> None:
    """The hash of the text that a label is of; labels from before have none, and keep their checksums."""
    connection.execute("ALTER TABLE labels ADD COLUMN text_hash TEXT")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    m001_initial,
    m002_counts,
    m003_batches,
    m004_reviews,
    m005_invitations,
    m006_locked_looks,
    m007_results,
    m008_text_hash,
)


_TEXT_HASH_SINCE = 1 + MIGRATIONS.index(m008_text_hash)
"""the migration that added the column `text_hash` of labels"""


_COUNTED_SINCE = {"items": 2, "places": 2, "judgments": 2, "labels": 2, "reviews": 4, "notes": 4}
"""column of `counts` → the migration that added it"""


_EMPTY_BEFORE = {
    "batches": (3, f"{rows.BATCH_SEALED}, owner, checksum"),
    "batch_calls": (3, f"{rows.BATCH_CALL_SEALED}, checksum"),
    "reviews": (4, f"id, {rows.REVIEW_SEALED}, checksum"),
    "notes": (4, f"id, {rows.NOTE_SEALED}, checksum"),
    "invitations": (5, f"id, {rows.INVITATION_SEALED}, checksum"),
    "locked_looks": (6, "id, digest, made"),
    "result_sets": (7, "run"),
    "changed_items": (7, "id, run, item"),
}
"""table → the migration that added it, and its columns"""


def stand_in(connection: sqlite3.Connection, path: Path) -> None:
    """Make an older layout readable as the present one, by
    temporary views, where the file cannot be upgraded.
    """
    version = version_of(connection, path)
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA query_only = OFF")
    for table in _CHECKED:
        added = {}
        if version < 2:
            added["checksum"] = "NULL" if table == "calls" else str(rows.UNCHECKED)
        if table == "labels" and version < _TEXT_HASH_SINCE:
            added["text_hash"] = "NULL"
        if added:
            columns = ", ".join(f"{value} AS {name}" for name, value in added.items())
            connection.execute(f"CREATE TEMP VIEW {table} AS SELECT *, {columns} FROM main.{table}")
    for table, (since, columns) in _EMPTY_BEFORE.items():
        if version < since:
            nothing = ", ".join(f"NULL AS {column}" for column in columns.split(", "))
            connection.execute(f"CREATE TEMP VIEW {table} AS SELECT {nothing} WHERE 0")
    counted = ", ".join(
        name if version >= since else f"NULL AS {name}" for name, since in _COUNTED_SINCE.items()
    )
    known = "main.counts" if version >= 2 else "(SELECT 0 AS run UNION ALL SELECT id FROM main.runs)"
    connection.execute(f"CREATE TEMP VIEW counts AS SELECT run, {counted} FROM {known}")
    connection.execute("PRAGMA query_only = ON")


def now() -> str:
    """The current time, for display only: nothing is ordered or measured by it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The number of the last migration applied; 0 for an empty file. Refuses other programs' and newer
    files."""
    found = tables_in(connection)
    if not found:
        return 0
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(
            f"{path}: this is another program's database.\nCheck the name, or choose another file "
            "with --store."
        )
    own = ("table", "migrations")
    check_tables({own: found[own]} if own in found else found, _written(0), path)
    version: int = connection.execute("SELECT max(number) FROM migrations").fetchone()[0]
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{path}: the store was written by a newer Adjudge (its schema is {version}, this version knows "
            f"{len(MIGRATIONS)}).\nUpgrade Adjudge, or choose another file with --store. The store "
            "was not changed."
        )
    check_tables(found, _written(version), path)
    return version


@cache
def _written(version: int) -> dict[tuple[str, str], str]:
    """What a store of a version declares."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(_LIST_OF_MIGRATIONS)
        for migration in MIGRATIONS[:version]:
            migration(connection)
        return tables_in(connection)


def migrate(connection: sqlite3.Connection, path: Path, *, busy_seconds: float) -> None:
    """Apply the migrations that the file lacks; of two processes that try at once, one does it."""
    if version_of(connection, path) == len(MIGRATIONS):
        return
    _enable_write_ahead_log(connection, path, busy_seconds)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection, path)
        if version == 0:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(_LIST_OF_MIGRATIONS)
        for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
            migration(connection)
            connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, migration.__name__, now()))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _enable_write_ahead_log(connection: sqlite3.Connection, path: Path, busy_seconds: float) -> None:
    """Switch the file to a write-ahead log: readers and the writer do not block each other."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as fault:
            # SQLite does not wait for this one lock by itself.
            if primary_code(fault) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise StoreError(
            f"{path}: no write-ahead log can be kept there (a network drive?).\n"
            "Choose a file on a local disk with --store."
        )
