"""The items of a run as a table that can be searched and sorted at once: a copy, made for looking.

Results exist only as judgments to be combined, which takes minutes for a large run, and a
page must answer in a moment. So one thread per run combines them into an SQLite file of this
process, in a folder that only its user can read and that ends with the server; the user's
store is only ever read. A run that grows is followed: items whose judgments changed are
made anew, the others are not touched.
"""

from __future__ import annotations

import contextlib
import math
import queue
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, structs

from ..analysis.label_join import label_of
from ..combine import CallJudgment, Kind
from ..engine import JudgedItem, judged_items, protocols_of
from ..errors import AdjudgeError
from ..records import FieldValue, Item, Label, Message, Order, Result
from ..store import RunRow, Store, open_store
from ..store.browsing import ItemState, item_states, items_between, judged_between, labels_state, reading_of

# What a page of the items table was asked for, and the SQL that answers it.
#
# A filter is read from a query that anybody may have written: what has no meaning is left out,
# every value is a parameter of the statement, and columns are chosen from the tables below, never
# named by the query.


_LONGEST_QUERY = 200

SORTS = {
    "item": "item",
    "system": "system",
    "criterion": "criterion",
    "status": "status",
    "score": "value",
    "people": "label_gap",
    "samples": "samples_gap",
    "judges": "judges_gap",
    "orders": "orders_gap",
}
GAPS = {"samples": "samples_gap", "judges": "judges_gap", "orders": "orders_gap", "people": "label_gap"}
_EQUAL = ("criterion", "protocol", "model", "choice")


class Filter(Struct, frozen=True):
    """Which rows are wanted, and in which order."""

    q: str = ""
    system: str = ""
    status: str = ""
    """a status, or `failed` for all but ok"""
    criterion: str = ""
    protocol: str = ""
    model: str = ""
    choice: str = ""
    flag: str = ""
    low: float | None = None
    high: float | None = None
    apart: str = ""
    """which disagreement: between samples, judges or orders, or with people"""
    least: float | None = None
    """how large it is at least; above 0 where this is not given"""
    sort: str = ""
    page: int = 1

    def query(self, run: str, **changes: Any) -> str:
        """The address of a page for the same rows, but for the changes."""
        told = structs.asdict(structs.replace(self, **changes))
        kept = {
            name: f"{value:g}" if isinstance(value, float) else value
            for name, value in told.items()
            if value not in ("", None) and (name, value) != ("page", 1)
        }
        return urlencode({"run": run, **kept})

    @property
    def is_narrowed(self) -> bool:
        return structs.replace(self, sort="", page=1) != Filter()


class Where(Struct, frozen=True):
    """A condition with its parameters."""

    sql: str
    given: tuple[Any, ...]
    is_narrow: bool = False
    """whether few rows can meet it, and an index finds those"""
    is_frequent: bool = False
    """whether rows are looked at one by one, because many of them may meet it"""


def read_filter(query: Mapping[str, str]) -> Filter:
    """The filter in a query; what cannot be understood is as if it were not there."""
    texts = {name: query.get(name, "")[:1000] for name in ("system", "status", "flag", *_EQUAL)}
    sort = query.get("sort", "")
    apart = query.get("apart", "")
    return Filter(
        q=query.get("q", "").replace("\0", "").strip()[:_LONGEST_QUERY],
        low=_number(query.get("low", "")),
        high=_number(query.get("high", "")),
        apart=apart if apart in GAPS else "",
        least=_number(query.get("least", "")) if apart in GAPS else None,
        sort=sort if sort.removeprefix("-") in SORTS else "",
        page=max(1, min(10_000_000, int(_number(query.get("page", "")) or 1))),
        **texts,
    )


def where(wanted: Filter) -> Where:
    """The condition of a filter, but for the text that is searched."""
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if wanted.system:
        parts.append(("(system = ? OR system_a = ? OR system_b = ?)", (wanted.system,) * 3))
    if wanted.status == "failed":
        parts.append(("status <> 'ok'", ()))
    elif wanted.status:
        parts.append(("status = ?", (wanted.status,)))
    parts += [(f"{name} = ?", (value,)) for name in _EQUAL if (value := getattr(wanted, name))]
    if wanted.flag:
        parts.append(("instr(flags, ?)", (f" {wanted.flag} ",)))
    if wanted.low is not None:
        parts.append(("value >= ?", (wanted.low,)))
    if wanted.high is not None:
        parts.append(("value <= ?", (wanted.high,)))
    if wanted.apart:
        column = GAPS[wanted.apart]
        parts.append((f"{column} > 0", ()) if wanted.least is None else (f"{column} >= ?", (wanted.least,)))
    sql = " AND ".join(part for part, _ in parts) or "1"
    return Where(sql, tuple(value for _, given in parts for value in given))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# From the judgments of one item to the rows of the items table: results, and how far judges, samples and orders part.
#
# Pure: reads no store. A row is a result as `engine.results` gives it (a test holds the two
# together), with what cannot be told from a single result beside it.


LabelKey = tuple[str, str, str | None]
"""item, criterion, subject"""

Said = float | str
"""What people said of a thing: the mean of their numbers, or the choice most of them made."""


class TableRow(Struct, frozen=True):
    """One result with its distances; none where there is nothing to compare."""

    result: Result
    samples_gap: float | None
    """the standard deviation of the samples; of choices, the share that differs from the commonest"""
    judges_gap: float | None
    """between the highest and the lowest judge; of choices, whether they differ"""
    orders_gap: float | None
    """between the means of the two orders of a pair; of choices, whether they differ"""
    explanation: str


def rows_of(judged: JudgedItem) -> list[TableRow]:
    """The rows of one item."""
    by_judge: dict[tuple[str, str, str | None, Kind], list[Result]] = {}
    for result, kind, _ in judged.results:
        by_judge.setdefault((result.protocol, result.criterion, result.subject, kind), []).append(result)
    return [
        TableRow(
            result,
            _samples_gap(result, voices),
            _judges_gap(by_judge[result.protocol, result.criterion, result.subject, kind]),
            _orders_gap(result, voices),
            result.explanation,
        )
        for result, kind, voices in judged.results
    ]


def said_by_people(labels: Iterable[Label]) -> dict[LabelKey, Said]:
    """Several raters as one, the way the judge card does it: means of numbers, majorities of choices."""
    ratings: dict[LabelKey, list[Said]] = {}
    for label in labels:
        ratings.setdefault((label.item, label.criterion, label.subject), []).append(label.value)
    return {key: said for key, values in ratings.items() if (said := label_of(values)) is not None}


def distance(value: float | None, choice: str | None, said: Said | None) -> float | None:
    """How far a judge is from people; of choices, 1 where they differ."""
    if isinstance(said, str):
        return None if choice is None else float(choice != said)
    return None if said is None or value is None else abs(value - said)


def _samples_gap(result: Result, voices: Sequence[CallJudgment]) -> float | None:
    if result.choice is None:
        return result.spread
    by_order: dict[Order, list[str]] = {}
    for voice in voices:
        if voice.judgment.choice is not None:
            by_order.setdefault(voice.order, []).append(voice.judgment.choice)
    several = [choices for choices in by_order.values() if len(choices) > 1]
    if not several:
        return None
    shares = [1 - Counter(choices).most_common(1)[0][1] / len(choices) for choices in several]
    return math.fsum(shares) / len(shares)


def _judges_gap(results: Sequence[Result]) -> float | None:
    choices = [result.choice for result in results if result.choice is not None]
    if len(choices) > 1:
        return float(len(set(choices)) > 1)
    values = [result.value for result in results if result.value is not None]
    return max(values) - min(values) if len(values) > 1 else None


def _orders_gap(result: Result, voices: Sequence[CallJudgment]) -> float | None:
    if result.choice is not None:
        both = {voice.order for voice in voices if voice.judgment.choice is not None}
        return float("order_conflict" in result.flags) if len(both) == 2 else None
    by_order: dict[Order, list[float]] = {}
    for voice in voices:
        for score in voice.judgment.scores:
            is_same = score.criterion == result.criterion and score.subject == result.subject
            if is_same and score.value is not None:
                by_order.setdefault(voice.order, []).append(score.value)
    if len(by_order) < 2:
        return None
    means = [math.fsum(values) / len(values) for values in by_order.values()]
    return abs(means[0] - means[1])


# What can be chosen for a filter of the items table: counted once whenever the index has changed.


# The choice of a pair belongs to both of its systems, and to no third one.
_SYSTEMS = {
    "system": "subject IS NOT NULL OR system_b IS NULL",
    "system_a": "subject IS NULL AND system_a IS NOT NULL",
    "system_b": "subject IS NULL AND system_b IS NOT NULL",
}


def choices_of(connection: sqlite3.Connection) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: connection.execute(
            f"SELECT {name}, count(*) FROM rows WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200"
        ).fetchall()
        for name in ("status", "criterion", "protocol", "model", "choice")
    }
    systems: dict[str, int] = {}
    for column, rule in _SYSTEMS.items():
        for name, n in connection.execute(f"SELECT {column}, count(*) FROM rows WHERE {rule} GROUP BY 1"):
            systems[name] = systems.get(name, 0) + n
    found["system"] = sorted(systems.items())[:500]
    flags: dict[str, int] = {}
    for text, n in connection.execute("SELECT flags, count(*) FROM rows WHERE flags <> '' GROUP BY 1"):
        for flag in text.split():
            flags[flag] = flags.get(flag, 0) + n
    found["flag"] = sorted(flags.items())
    counts = connection.execute(
        f"SELECT {', '.join(f'count({column})' for column in GAPS.values())} FROM rows"
    )
    found["n_apart"] = dict(zip(GAPS, counts.fetchone(), strict=True))
    return found


PAGE = 400
"""Items that are combined and written at a time: some 50 ms, so that a page never waits long for its turn."""

REFRESH_SECONDS = 1.5
CHOICES_SECONDS = 3.0
"""How often the choices of the filters are counted anew while a large run is being read."""

LONGEST_TEXT = 20_000
ALL_TEXT = 150_000_000
"""Characters that are searched, of an item and of a run. The index of a text is three times as large as the text."""

COLUMNS = (
    "id, seq, system, status, value, criterion, system_a, system_b, subject, choice, item, protocol, model, "
    "samples_gap, judges_gap, orders_gap, label_gap, label, n_samples, n_failed, how, flags, said"
)
NUMBERS = ("value", "samples_gap", "judges_gap", "orders_gap", "label_gap")
TEXTS = ("item", "system", "criterion", "status")
# A column is sorted by both ways, and rows that are alike stand in the order of the items either way.
_INDEXES = [
    *(f"CREATE INDEX {way}_{name} ON rows ({name} {way}) WHERE {name} IS NOT NULL" for name in NUMBERS for way in ("ASC", "DESC")),
    *(f"CREATE INDEX {way}_{name} ON rows ({name} COLLATE NOCASE {way})" for name in TEXTS for way in ("ASC", "DESC")),
]  # fmt: skip
_SCHEMA = f"""
CREATE TABLE rows ({COLUMNS.replace("id,", "id INTEGER PRIMARY KEY,", 1)});
CREATE INDEX rows_seq ON rows (seq);
CREATE TABLE texts (seq INTEGER PRIMARY KEY, text TEXT NOT NULL);
"""
_WORDS = """
CREATE VIRTUAL TABLE words USING fts5(text, content='texts', content_rowid='seq', tokenize='trigram');
CREATE VIRTUAL TABLE terms USING fts5vocab('words', 'row');
INSERT INTO words (words, rank) VALUES ('hashsize', 33554432);
"""


class Progress:
    """How far the copy is, for a page to say. Written by one thread, read by many."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self.is_whole = False
        """whether all that the store had at the last look is in the copy"""
        self.is_searchable = False
        """whether the index of the words is whole; before that, texts are looked through one by one"""
        self.longest_text = LONGEST_TEXT
        self.version = 0
        """grows with every change"""
        self.fault: AdjudgeError | None = None


class RunIndex:
    """The copy of one run."""

    def __init__(self, path: Path, store_path: Path, run: str) -> None:
        self._path = path
        self._store_path = store_path
        self._run = run
        self.progress = Progress()
        self.choices: dict[str, Any] = {}
        """what filters can choose from; empty before it was counted for the first time"""
        self._counted = (-1, 0.0)
        self._states: dict[int, ItemState] = {}
        self._reading = -1
        self._labels: dict[LabelKey, Said] = {}
        self._labels_state: tuple[int, int] | None = None
        self._pool: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._writing = threading.Lock()
        self._looked = 0.0
        self._writer = _connect(path)
        self._writer.executescript(_SCHEMA)
        try:
            self._writer.executescript(_WORDS)
            self._has_words = True
        except sqlite3.OperationalError:
            self._has_words = False  # this Python's SQLite was built without FTS5, or before 3.34

    # Looking

    def follow(self, wait_seconds: float = 0.0) -> None:
        """See to it that the copy catches up with the store; wait for that a little while."""
        is_due = time.monotonic() - self._looked > REFRESH_SECONDS
        if is_due and self._writing.acquire(blocking=False):
            threading.Thread(target=self._catch_up, name=f"index of {self._run}", daemon=True).start()
        give_up = time.monotonic() + wait_seconds
        while not self.progress.is_whole and self.progress.fault is None and time.monotonic() < give_up:
            time.sleep(0.01)
        if self.progress.fault is not None:
            raise self.progress.fault

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
        """The rows of one item straight from the store, for a page that cannot wait until they are copied."""
        judged = judged_items(judged_between(store, run, seq, seq), protocols_of(store, run))
        made = [row for item in judged for row in rows_of(item)]
        names = COLUMNS.split(", ")
        return [
            dict(zip(names, self._columns(seq, number, row), strict=True)) for number, row in enumerate(made)
        ]

    def close(self) -> None:
        """Let go of the file; the thread that fills it is waited for."""
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
        """One look at the store, in a thread of its own; `_writing` is held."""
        try:
            with open_store(self._store_path, write=False) as store:
                run = store.run(self._run)
                self._take_labels(store, run)
                self._take_items(store, run)
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
            self._columns(seq, number, row) for seq, own in made.items() for number, row in enumerate(own)
        ]
        writer.executemany(f"INSERT INTO rows VALUES ({','.join('?' * len(COLUMNS.split(',')))})", rows)
        texts = [
            (seq, _text(items[seq], own, self.progress.longest_text))
            for seq, own in made.items()
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
            # The index must be told the old text before the new one.
            writer.executemany(
                "INSERT INTO words (words, rowid, text) SELECT 'delete', seq, text FROM texts WHERE seq = ?",
                [(seq,) for seq, _ in texts],
            )
        writer.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", texts)
        if self.progress.is_searchable:
            writer.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)

    def _take_words(self) -> None:
        """Index the words once all rows are there: it takes as long as everything before it."""
        if self.progress.is_searchable or not self._has_words:
            return
        after = -1
        while self.progress.fault is None:
            found = self._writer.execute(
                f"SELECT seq, text FROM texts WHERE seq > ? ORDER BY seq LIMIT {10 * PAGE}", (after,)
            ).fetchall()
            if not found:
                self.progress.is_searchable = True
                return
            self._writer.execute("BEGIN IMMEDIATE")
            self._writer.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", found)
            self._writer.execute("COMMIT")
            after = found[-1][0]

    def _take_labels(self, store: Store, run: RunRow) -> None:
        """Hold all rows against people again where somebody has labelled since."""
        state = labels_state(store)
        if state == self._labels_state:
            return
        before, self._labels = self._labels, said_by_people(store.labels(run))
        self._labels_state = state
        items = [(item,) for item in {key[0] for key in (*before, *self._labels)}]
        if not items or not self._states:
            return
        writer = self._writer
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("CREATE TEMP TABLE labelled (item PRIMARY KEY)")
        writer.executemany("INSERT INTO labelled VALUES (?)", items)
        found = writer.execute(
            "SELECT id, item, criterion, subject, value, choice FROM rows WHERE item IN (SELECT item FROM labelled)"
        ).fetchall()
        new = [
            (*self._held(item, criterion, subject, value, choice), number)
            for number, item, criterion, subject, value, choice in found
        ]
        writer.executemany("UPDATE rows SET label = ?, label_gap = ? WHERE id = ?", new)
        writer.execute("DROP TABLE labelled")
        writer.execute("COMMIT")
        self.progress.version += 1

    def _held(
        self, item: str, criterion: str, subject: str | None, value: float | None, choice: str | None
    ) -> tuple[Said | None, float | None]:
        said = self._labels.get((item, criterion, subject))
        if isinstance(said, float) and choice is not None:
            said = None
        return said, distance(value, choice, said)

    def _columns(self, seq: int, number: int, row: TableRow) -> tuple[object, ...]:
        result = row.result
        said, gap = self._held(result.item, result.criterion, result.subject, result.value, result.choice)
        return (
            (seq << 16) + number, seq, result.system, result.status, result.value, result.criterion, result.system_a,
            result.system_b, result.subject, result.choice, result.item, result.protocol, result.model,
            row.samples_gap, row.judges_gap, row.orders_gap, gap, said, result.n_samples, result.n_failed, result.how,
            f" {' '.join(result.flags)} " if result.flags else "", row.explanation[:200],
        )  # fmt: skip


class Indexes:
    """The copies of the runs that somebody has looked at since the server was started."""

    def __init__(self, folder: Path, store_path: Path) -> None:
        self._folder = folder
        self._store_path = store_path
        self._of: dict[int, RunIndex] = {}
        self._lock = threading.Lock()

    def of(self, run: RunRow) -> RunIndex:
        """The copy of a run, begun if there is none."""
        with self._lock:
            if run.id not in self._of or self._of[run.id].progress.fault is not None:
                path = self._folder / f"{run.id}-{len(list(self._folder.iterdir()))}.db"
                self._of[run.id] = RunIndex(path, self._store_path, run.name)
            return self._of[run.id]

    def close(self) -> None:
        with self._lock:
            for index in self._of.values():
                index.close()
            self._of.clear()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    connection.execute("PRAGMA journal_mode = WAL")
    # What is lost in a crash is made anew: nothing here has to survive.
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -32000")
    connection.execute("PRAGMA mmap_size = 1000000000")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _pages(seqs: Sequence[int]) -> Iterator[Sequence[int]]:
    """Numbers of items that lie close together, so that each page is one short range of the store."""
    page: list[int] = []
    for seq in seqs:
        if page and seq - page[0] >= PAGE:
            yield page
            page = []
        page.append(seq)
    if page:
        yield page


def _text(item: Item, rows: Sequence[TableRow], most: int) -> str:
    """What is searched of an item: its name, what judges said, and its fields, the short ones first."""
    said = dict.fromkeys(row.explanation for row in rows if row.explanation)
    fields = sorted(map(_field_text, item.fields.values()), key=len)
    # Small letters alone: SQLite knows only those of English to be the same as capitals. The two
    # line ends let the last two characters begin a piece of three, too.
    return "\n".join((item.id, *said, *fields))[:most].lower() + "\n\n"


def _field_text(value: FieldValue) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(part.content if isinstance(part, Message) else part for part in value)
