"""The items table's copy of a run: an SQLite file that answers searches and sorting at once.

Combining the judgments of a large run takes minutes, and a page must answer in a moment. So one thread per
run combines them into a file of this process, in a private folder that is deleted with the server; the store
itself is only read. While a run grows, only items whose judgments changed are combined again.
"""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...analysis.labels.join import label_of
from ...analysis.labels.judged_texts import labels_of_run
from ...data.labels import LabelFile
from ...errors import AdjudgeError
from ...records import FieldValue, Item, Label, Message, Result
from ...results.disagreement import gaps_of
from ...results.manifest import protocols_of
from ...results.stored_results import JudgedItem, judged_items
from ...store import RunRow, Store, open_store
from ...store.browsing import (
    ItemState,
    item_states,
    items_between,
    judged_between,
    labels_state,
    notes_state,
    reading_of,
)
from ...store.results import Gaps

GAPS = {"samples": "samples_gap", "judges": "judges_gap", "orders": "orders_gap", "people": "label_gap"}
"""Kinds of disagreement, and their columns."""


LabelKey = tuple[str, str, str | None]
"""item, criterion, subject"""

LabelValue = float | str
"""Several raters as one: the mean of their scores, or the majority of their choices."""


class TableRow(NamedTuple):
    """One result with its disagreements."""

    result: Result
    gaps: Gaps


def rows_of(judged: JudgedItem) -> list[TableRow]:
    """The rows of one item."""
    return [
        TableRow(result, gaps)
        for (result, _, _), gaps in zip(judged.results, gaps_of(judged.results), strict=True)
    ]


def combined_labels(labels: Iterable[Label]) -> dict[LabelKey, LabelValue]:
    """One value for several raters, as the judge card has it: means of scores, majorities of choices."""
    ratings: dict[LabelKey, list[LabelValue]] = {}
    for label in labels:
        ratings.setdefault((label.item, label.criterion, label.subject), []).append(label.value)
    return {key: value for key, values in ratings.items() if (value := label_of(values)) is not None}


def distance(value: float | None, choice: str | None, label: LabelValue | None) -> float | None:
    """How far a judge is from people; of choices, 1 where they differ."""
    if isinstance(label, str):
        return None if choice is None else float(choice != label)
    return None if label is None or value is None else abs(value - label)


# The choice of a pair belongs to both of its systems.
_SYSTEMS = {
    "system": "subject IS NOT NULL OR system_b IS NULL",
    "system_a": "subject IS NULL AND system_a IS NOT NULL",
    "system_b": "subject IS NULL AND system_b IS NOT NULL",
}


def choices_of(connection: sqlite3.Connection) -> dict[str, Any]:
    """What each filter can be set to, with the number of rows of each value."""
    choices: dict[str, Any] = {
        name: connection.execute(
            f"SELECT {name}, count(*) FROM rows WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, "
            "1 LIMIT 200"
        ).fetchall()
        for name in ("status", "criterion", "protocol", "model", "choice")
    }
    systems: dict[str, int] = {}
    for column, rule in _SYSTEMS.items():
        for name, n in connection.execute(f"SELECT {column}, count(*) FROM rows WHERE {rule} GROUP BY 1"):
            systems[name] = systems.get(name, 0) + n
    choices["system"] = sorted(systems.items())[:500]
    flags: dict[str, int] = {}
    for text, n in connection.execute("SELECT flags, count(*) FROM rows WHERE flags <> '' GROUP BY 1"):
        for flag in text.split():
            flags[flag] = flags.get(flag, 0) + n
    choices["flag"] = sorted(flags.items())
    choices["tag"] = connection.execute("SELECT tag, count(*) FROM tags GROUP BY 1 ORDER BY 1").fetchall()
    counts = connection.execute(
        f"SELECT {', '.join(f'count({column})' for column in GAPS.values())} FROM rows"
    )
    choices["n_apart"] = dict(zip(GAPS, counts.fetchone(), strict=True))
    return choices


PAGE = 400
"""Items combined and written at a time: about 50 ms, so that no page waits long for the lock."""

REFRESH_SECONDS = 1.5
CHOICES_SECONDS = 3.0
"""How often the filters' choices are counted again while a large run is being read."""

LONGEST_TEXT = 20_000
ALL_TEXT = 150_000_000
"""Characters that can be searched, per item and per run. An index is three times as large as its text."""

COLUMNS = (
    "id, seq, system, status, value, criterion, system_a, system_b, subject, choice, item, protocol, model, "
    "samples_gap, judges_gap, orders_gap, label_gap, label, n_samples, n_failed, how, flags, "
    "explanation, input, confidence"
)
NUMBERS = ("value", "samples_gap", "judges_gap", "orders_gap", "label_gap", "confidence")
TEXTS = ("item", "system", "criterion", "status")
# Columns can be sorted both ways; equal rows keep the order of the items in either.
_INDEXES = [
    *(
        f"CREATE INDEX {way}_{name} ON rows ({name} {way}) WHERE {name} IS NOT NULL"
        for name in NUMBERS
        for way in ("ASC", "DESC")
    ),
    *(
        f"CREATE INDEX {way}_{name} ON rows ({name} COLLATE NOCASE {way})"
        for name in TEXTS
        for way in ("ASC", "DESC")
    ),
]
_SCHEMA = f"""
CREATE TABLE rows ({COLUMNS.replace("id,", "id INTEGER PRIMARY KEY,", 1)});
CREATE INDEX rows_seq ON rows (seq);
CREATE INDEX rows_input ON rows (input);
CREATE TABLE tags (seq INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (tag, seq)) WITHOUT ROWID;
CREATE TABLE texts (seq INTEGER PRIMARY KEY, text TEXT NOT NULL);
"""
_WORDS = """
CREATE VIRTUAL TABLE words USING fts5(text, content='texts', content_rowid='seq', tokenize='trigram');
CREATE VIRTUAL TABLE terms USING fts5vocab('words', 'row');
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432);
"""


class Progress:
    """How complete the copy is. Written by one thread, read by many."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self.is_whole = False
        """whether the copy holds all that the store held when it was last read"""
        self.is_searchable = False
        """whether the full-text index is complete; until then texts are searched one by one"""
        self.longest_text = LONGEST_TEXT
        self.version = 0
        """grows with every change"""
        self.fault: AdjudgeError | None = None


class RunIndex:
    """The copy of one run."""

    def __init__(self, path: Path, store_path: Path, run: str, given: LabelFile | None = None) -> None:
        self._path = path
        self._given = given
        self._store_path = store_path
        self._run = run
        self.progress = Progress()
        self.choices: dict[str, Any] = {}
        """what filters offer; empty until it is counted for the first time"""
        self._counted = (-1, 0.0)
        self._states: dict[int, ItemState] = {}
        self._reading = -1
        self._labels: dict[LabelKey, LabelValue] = {}
        self._labels_state: tuple[int, int] | None = None
        self._notes_state: tuple[int, int] = (0, 0)
        self._pool: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._writing = threading.Lock()
        self._looked = 0.0
        self._writer = _connect(path)
        self._writer.executescript(_SCHEMA)
        try:
            self._writer.executescript(_WORDS)
            self._has_words = True
        except sqlite3.OperationalError:
            self._has_words = False  # SQLite without FTS5, or older than 3.34

    # Reading

    def follow(self, wait_seconds: float = 0.0) -> None:
        """Let a thread bring the copy up to date; wait up to `wait_seconds` for the first complete copy."""
        is_due = time.monotonic() - self._looked > REFRESH_SECONDS
        if is_due and self._writing.acquire(blocking=False):
            threading.Thread(target=self._catch_up, name=f"index of {self._run}", daemon=True).start()
        deadline = time.monotonic() + wait_seconds
        while not self.progress.is_whole and self.progress.fault is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if self.progress.fault is not None:
            raise self.progress.fault

    def look_again(self) -> None:
        """Bring the copy up to date at the next request, without the usual pause."""
        self._looked = 0.0

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to the copy."""
        try:
            connection = self._pool.get_nowait()
        except queue.Empty:
            connection = _connect(self._path)
            connection.execute("PRAGMA query_only = ON")
        try:
            yield connection
        finally:
            self._pool.put(connection)

    def made_at_once(self, store: Store, run: RunRow, seq: int) -> list[dict[str, Any]]:
        """The rows of one item straight from the store, for a page that does not wait for the copy."""
        if self._labels_state is None:
            self._labels = combined_labels(labels_of_run(store, run, self._given).labels)
        judged = judged_items(judged_between(store, run, seq, seq), protocols_of(store, run))
        made = [row for item in judged for row in rows_of(item)]
        names = COLUMNS.split(", ")
        return [
            dict(zip(names, self._columns(seq, number, row), strict=True)) for number, row in enumerate(made)
        ]

    def close(self) -> None:
        """Close the file, after the thread that fills it has stopped."""
        self.progress.fault = AdjudgeError("The server is ending.")
        with self._writing:
            self._writer.close()
        while True:
            try:
                self._pool.get_nowait().close()
            except queue.Empty:
                return

    # Filling

    def _catch_up(self) -> None:
        """Copy what is new in the store; runs in a thread that holds `_writing`."""
        try:
            with open_store(self._store_path, write=False) as store:
                run = store.run(self._run)
                self._take_labels(store, run)
                self._take_items(store, run)
                self._take_tags(store, run)
        except AdjudgeError as fault:
            self.progress.fault = self.progress.fault or fault
        except (sqlite3.Error, OSError) as fault:
            self.progress.fault = self.progress.fault or AdjudgeError(
                f"The table of items cannot be kept in {self._path.parent}: {fault}.\n"
                "Free some space there, or name another folder in TMPDIR and start again."
            )
        finally:
            self._looked = time.monotonic()
            self._writing.release()

    def _take_items(self, store: Store, run: RunRow) -> None:
        reading = reading_of(store, run)
        states = item_states(store, run)
        if reading != self._reading:
            self._states, self._reading = {}, reading
        changed = sorted(seq for seq, state in states.items() if self._states.get(seq) != state)
        progress = self.progress
        progress.total = len(states)
        if not progress.is_whole:
            progress.longest_text = min(LONGEST_TEXT, max(200, ALL_TEXT // max(1, len(states))))
        if changed:
            protocols = protocols_of(store, run)
            for page in _pages(changed):
                if progress.fault is not None:
                    return
                wanted = set(page)
                judged = (
                    place for place in judged_between(store, run, page[0], page[-1]) if place.seq in wanted
                )
                made = {item.seq: rows_of(item) for item in judged_items(judged, protocols)}
                self._write(made, items_between(store, run, page[0], page[-1]))
                self._states |= {seq: states[seq] for seq in page}
                progress.done = len(self._states)
                if time.monotonic() - self._counted[1] > CHOICES_SECONDS:
                    self._count_choices()
        progress.done = len(states)
        if not progress.is_whole:
            for statement in _INDEXES:
                self._writer.execute(statement)
            progress.version += 1
        self._count_choices()
        progress.is_whole = True
        self._take_words()

    def _write(self, made: dict[int, list[TableRow]], items: dict[int, Item]) -> None:
        writer = self._writer
        writer.execute("BEGIN IMMEDIATE")
        seqs = [(seq,) for seq in made]
        writer.executemany("DELETE FROM rows WHERE seq = ?", seqs)
        rows = [
            self._columns(seq, number, row)
            for seq, item_rows in made.items()
            for number, row in enumerate(item_rows)
        ]
        writer.executemany(f"INSERT INTO rows VALUES ({','.join('?' * len(COLUMNS.split(',')))})", rows)
        texts = [
            (seq, _text(items[seq], item_rows, self.progress.longest_text))
            for seq, item_rows in made.items()
            if seq in items
        ]
        self._write_texts(texts)
        writer.execute("COMMIT")
        self.progress.version += 1

    def _count_choices(self) -> None:
        if self._counted[0] != self.progress.version:
            self.choices = choices_of(self._writer)
            self._counted = (self.progress.version, time.monotonic())

    def _write_texts(self, texts: Sequence[tuple[int, str]]) -> None:
        writer = self._writer
        if self.progress.is_searchable:
            # The full-text index needs the old text in order to remove it.
            writer.executemany(
                "INSERT INTO words (words, rowid, text) SELECT 'delete', seq, text FROM texts WHERE seq = ?",
                [(seq,) for seq, _ in texts],
            )
        writer.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", texts)
        if self.progress.is_searchable:
            writer.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)

    def _take_words(self) -> None:
        """Fill the full-text index once all rows are copied: it takes as long as all of that."""
        if self.progress.is_searchable or not self._has_words:
            return
        after = -1
        while self.progress.fault is None:
            texts = self._writer.execute(
                f"SELECT seq, text FROM texts WHERE seq > ? ORDER BY seq LIMIT {10 * PAGE}", (after,)
            ).fetchall()
            if not texts:
                self.progress.is_searchable = True
                return
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)
            self._writer.execute("COMMIT")
            after = texts[-1][0]

    def _take_labels(self, store: Store, run: RunRow) -> None:
        """Compare the rows with people again where there are new labels."""
        state = labels_state(store) if self._given is None else (len(self._given.labels), 0)
        if state == self._labels_state:
            return
        labels = labels_of_run(store, run, self._given).labels
        before, self._labels = self._labels, combined_labels(labels)
        self._labels_state = state
        items = [(item,) for item in {key[0] for key in (*before, *self._labels)}]
        if not items or not self._states:
            return
        writer = self._writer
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("CREATE TEMP TABLE labelled (item PRIMARY KEY)")
        writer.executemany("INSERT INTO labelled VALUES (?)", items)
        rows = writer.execute(
            "SELECT id, item, criterion, subject, value, choice FROM rows WHERE item IN (SELECT item "
            "FROM labelled)"
        ).fetchall()
        new = [
            (*self._label_and_gap(item, criterion, subject, value, choice), number)
            for number, item, criterion, subject, value, choice in rows
        ]
        writer.executemany("UPDATE rows SET label = ?, label_gap = ? WHERE id = ?", new)
        writer.execute("DROP TABLE labelled")
        writer.execute("COMMIT")
        self.progress.version += 1

    def _take_tags(self, store: Store, run: RunRow) -> None:
        """Copy the tags again where people wrote new notes."""
        state = notes_state(store)
        if state == self._notes_state:
            return
        tagged = {(note.item, tag) for note in store.notes(run) for tag in note.tags}
        writer = self._writer
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM tags")
        writer.execute("CREATE TEMP TABLE tagged (item, tag)")
        writer.executemany("INSERT INTO tagged VALUES (?, ?)", tagged)
        writer.execute(
            "INSERT OR IGNORE INTO tags SELECT rows.seq, tagged.tag FROM rows JOIN tagged USING (item)"
        )
        writer.execute("DROP TABLE tagged")
        writer.execute("COMMIT")
        self._notes_state = state
        self.progress.version += 1
        self._count_choices()

    def _label_and_gap(
        self, item: str, criterion: str, subject: str | None, value: float | None, choice: str | None
    ) -> tuple[LabelValue | None, float | None]:
        label = self._labels.get((item, criterion, subject))
        if isinstance(label, float) and choice is not None:
            label = None
        return label, distance(value, choice, label)

    def _columns(self, seq: int, number: int, row: TableRow) -> tuple[object, ...]:
        result = row.result
        # A class is shown by its name, as a choice is; its number means nothing.
        value = None if result.label is not None else result.value
        choice = result.label or result.choice
        label, gap = self._label_and_gap(result.item, result.criterion, result.subject, value, choice)
        return (
            (seq << 16) + number,
            seq,
            result.system,
            result.status,
            value,
            result.criterion,
            result.system_a,
            result.system_b,
            result.subject,
            choice,
            result.item,
            result.protocol,
            result.model,
            *row.gaps,
            gap,
            label,
            result.n_samples,
            result.n_failed,
            result.how,
            f" {' '.join(result.flags)} " if result.flags else "",
            result.explanation[:200],
            result.item if result.group is None else result.group,
            result.confidence,
        )


class Indexes:
    """The copies of all runs that were opened since the server was started."""

    def __init__(self, folder: Path, store_path: Path, given: LabelFile | None = None) -> None:
        self._folder = folder
        self._given = given
        self._store_path = store_path
        self._of: dict[int, RunIndex] = {}
        self._lock = threading.Lock()

    def of(self, run: RunRow) -> RunIndex:
        """The copy of a run, new if there is none."""
        with self._lock:
            if run.id not in self._of or self._of[run.id].progress.fault is not None:
                path = self._folder / f"{run.id}-{len(list(self._folder.iterdir()))}.db"
                self._of[run.id] = RunIndex(path, self._store_path, run.name, self._given)
            return self._of[run.id]

    def close(self) -> None:
        with self._lock:
            for index in self._of.values():
                index.close()
            self._of.clear()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    connection.execute("PRAGMA journal_mode = WAL")
    # Nothing here has to survive a crash.
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -32000")
    connection.execute("PRAGMA mmap_size = 1000000000")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _pages(seqs: Sequence[int]) -> Iterator[Sequence[int]]:
    """Numbers of items in groups that span at most `PAGE`,
    so that each group is one short range of the store.
    """
    page: list[int] = []
    for seq in seqs:
        if page and seq - page[0] >= PAGE:
            yield page
            page = []
        page.append(seq)
    if page:
        yield page


def _text(item: Item, rows: Sequence[TableRow], most: int) -> str:
    """The searchable text of an item: its id, explanations of judges, and its fields, the short ones first."""
    explanations = dict.fromkeys(row.result.explanation for row in rows if row.result.explanation)
    fields = sorted(map(field_text, item.fields.values()), key=len)
    # Lower case, since SQLite ignores case in ASCII only. The two line ends let the last two characters
    # begin a trigram as well.
    return "\n".join((item.id, *explanations, *fields))[:most].lower() + "\n\n"


def field_text(value: FieldValue) -> str:
    """A field as one text."""
    if isinstance(value, str):
        return value
    return "\n".join(part.shown if isinstance(part, Message) else part for part in value)
