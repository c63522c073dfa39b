"""The results of a run as the viewer filters and sorts them: columns, with labels and tags.

Columns are read from the table `results` of the store, and again when it has changed. Results that are not
stored yet are combined a second at a time by the requests that ask for them, so that no page waits long.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct, structs

from ...analysis.labels.join import label_of
from ...analysis.labels.judged_texts import labels_of_run
from ...data.labels import LabelFile
from ...errors import StoreError
from ...records import Label, Result
from ...results.columns import Columns, ColumnsBuilder
from ...results.stored_results import (
    bring_closer_to_date,
    combined_between,
    combined_items,
    results_of_items,
)
from ...results.text_search import TextSearch
from ...store import RunRow, Store
from ...store.browsing import items_between, labels_state, last_item, n_items, notes_state
from ...store.results import BusyError, CannotStoreError, ResultState, result_columns
from .field_text import searched_text
from .filter import GAPS

LabelKey = tuple[str, str, str | None]
"""item, criterion, subject"""

LabelValue = float | str
"""Several raters as one: the mean of their scores, or the majority of their choices."""

REFRESH_SECONDS = 1.5

LONGEST_TEXT = 20_000
ALL_TEXT = 150_000_000
"""Characters that can be searched, per item and per run."""

_PAGE = 500
"""items that are combined or read for a search at a time"""

_MOST_TABLES = 8

_place = itemgetter(1, 2)
"""the item's number and the result's, of a row of `store.results.COLUMNS`"""


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


class TableProgress(Struct, frozen=True):
    """How much of a run its table holds."""

    done: int = 0
    """items whose results were read; at the first search, items that can be searched"""
    total: int = 0
    is_whole: bool = False
    longest_text: int = LONGEST_TEXT
    version: int = 0
    """grows with every change"""


class TableRows(Struct, frozen=True):
    """The table of a run at one moment."""

    columns: Columns
    labels: Mapping[LabelKey, LabelValue]
    tags: Mapping[int, Sequence[str]]
    """item number → tags of people"""
    choices: dict[str, Any] = {}
    """what each filter can be set to, with the number of rows of each value"""
    states: tuple[Any, ...] = ()
    """what it was made from"""
    queues: dict[tuple[str, str], Any] = {}
    """the review queues of these rows, filled by the first page that shows one"""

    def label(self, result: Result) -> LabelValue | None:
        """What people said of a result."""
        label = self.labels.get((result.item, result.criterion, result.subject))
        return _label_of(label, result.label or result.choice)


class RunTable:
    """The table of one run, kept up to date with the store by the requests that read it."""

    def __init__(self, run: str, given: LabelFile | None = None) -> None:
        self.run = run
        self.progress = TableProgress()
        columns = _labelled(ColumnsBuilder().columns(), {})
        self.rows = TableRows(columns, {}, {}, choices_of(columns, {}))
        self._given = given
        self._looking = threading.Lock()
        self._looked = 0.0
        self._pause = 0.0
        self._in_memory: _InMemory | None = None
        self._texts = TextSearch()
        self._reading_texts = threading.Lock()
        self._text_versions: Mapping[int, int | None] = {}
        """item → a value that changes with its explanations"""
        self._read_versions: Mapping[int, int | None] = {}
        self._unread: list[int] = []

    # Results

    def follow(self, store: Store, wait_seconds: float) -> None:
        """Bring the table up to date; at most about `wait_seconds` go into results not stored yet."""
        is_whole = self.progress.is_whole
        if is_whole and time.monotonic() - self._looked < self._pause:
            return
        # While one request reads, others show what was there before; the first ones have nothing to show.
        if self._looking.acquire(blocking=not is_whole):
            try:
                began = time.monotonic()
                self._look(store, wait_seconds)
                self._looked = time.monotonic()
                # A large run that grows is not read all the time.
                self._pause = max(REFRESH_SECONDS, 4 * (self._looked - began))
            finally:
                self._looking.release()

    def look_again(self) -> None:
        """Bring the table up to date at the next request, without the usual pause."""
        self._pause = 0.0

    def _look(self, store: Store, wait_seconds: float) -> None:
        run = store.run(self.run)
        is_whole, source = self._source(store, run, wait_seconds)
        of_labels = labels_state(store) if self._given is None else (0, 0)
        states = (source, of_labels, notes_state(store))
        before, rows = self.rows.states, self.rows
        if before[:1] != states[:1]:
            rows = TableRows(self._columns(store, run), {}, {})
        if before[:2] != states[:2]:
            labels = combined_labels(labels_of_run(store, run, self._given).labels)
            rows = structs.replace(rows, columns=_labelled(rows.columns, labels), labels=labels)
        if before != states:
            tags = _tags(store, run, rows.columns)
            choices = choices_of(rows.columns, tags)
            rows = structs.replace(rows, tags=tags, choices=choices, states=states, queues={})
        total = n_items(store, run)
        self.rows = rows
        self.progress = TableProgress(
            total if is_whole else source[-1],
            total,
            is_whole,
            min(LONGEST_TEXT, max(200, ALL_TEXT // max(1, total))),
            self.progress.version + (before != states or is_whole != self.progress.is_whole),
        )

    def _source(self, store: Store, run: RunRow, wait_seconds: float) -> tuple[bool, tuple[Any, ...]]:
        """Whether all results can be read, and what they depend on; its last number says how many items have
        results.
        """
        try:
            is_whole = bring_closer_to_date(store, run, wait_seconds)
            self._in_memory = None
            return is_whole, ("stored", *store.result_state(run))
        except BusyError:
            self._in_memory = None
            return False, ("stored", *store.result_state(run))
        except CannotStoreError:
            state = store.result_state(run)
            if self._in_memory is None or self._in_memory.state != state:
                self._in_memory = _InMemory(state, last_item(store, run))
            self._in_memory.combine(store, run, wait_seconds)
            return self._in_memory.is_whole, ("combined", *state, self._in_memory.n_done)

    def _columns(self, store: Store, run: RunRow) -> Columns:
        if self._in_memory is not None:
            self._text_versions = dict.fromkeys(range(self._in_memory.n_done))
            return self._in_memory.builder.columns()
        builder = ColumnsBuilder()
        versions: dict[int, int | None] = {}
        try:
            for page in store.result_pages(run):
                rows = page.rows
                if page.damaged:
                    made = [
                        row
                        for item in results_of_items(store, run, page.damaged)
                        for row in result_columns(item)
                    ]
                    rows = sorted((*rows, *made), key=_place)
                    store.forget_results(run, page.damaged)
                builder.add(rows)
                versions |= page.texts
        except StoreError:  # a damaged page of the table
            builder = ColumnsBuilder()
            for item in combined_items(store, run):
                builder.add(result_columns(item))
                versions[item.seq] = None
        self._text_versions = versions
        return builder.columns()

    # Texts

    def texts(self, store: Store, wait_seconds: float) -> TextSearch:
        """The texts of the items, as many as can be read in about `wait_seconds` more."""
        deadline = time.monotonic() + wait_seconds
        versions = self._text_versions
        with self._reading_texts:
            if self._read_versions is not versions:
                # An item is read again where its explanations differ.
                old = self._read_versions
                self._unread = [
                    seq for seq in versions if seq not in self._texts or old.get(seq) != versions[seq]
                ]
                self._unread.reverse()
                self._read_versions = versions
            run = store.run(self.run)
            while self._unread:
                page = self._unread[: -_PAGE - 1 : -1]
                self._texts.add(_texts_of(store, run, page, self.progress.longest_text))
                del self._unread[-_PAGE:]
                if time.monotonic() > deadline:
                    break
        return self._texts

    @property
    def n_unread_texts(self) -> int:
        """How many items cannot be searched yet, after the first search."""
        return len(self._unread)


class _InMemory:
    """The results of a run that cannot be stored, combined a part at a time."""

    def __init__(self, state: ResultState, last_item: int) -> None:
        self.state = state
        self.builder = ColumnsBuilder()
        self.n_done = 0
        self._n = last_item + 1

    @property
    def is_whole(self) -> bool:
        return self.n_done >= self._n

    def combine(self, store: Store, run: RunRow, seconds: float) -> None:
        """Spend at most about so long on combining what is missing."""
        deadline = time.monotonic() + seconds
        while not self.is_whole:
            end = min(self.n_done + _PAGE, self._n)
            items = combined_between(store, run, self.n_done, end - 1)
            self.builder.add([row for item in items for row in result_columns(item)])
            self.n_done = end
            if time.monotonic() > deadline:
                return


class RunTables:
    """The tables of all runs that were opened since the server was started."""

    def __init__(self, given: LabelFile | None = None) -> None:
        self._given = given
        self._of: dict[int, RunTable] = {}
        self._lock = threading.Lock()

    def of(self, run: RunRow) -> RunTable:
        """The table of a run, empty if it is new. Only a few are kept: each holds its run in memory."""
        with self._lock:
            table = self._of.pop(run.id, None)
            if table is None or table.run != run.name:
                table = RunTable(run.name, self._given)
            self._of[run.id] = table
            while len(self._of) > _MOST_TABLES:
                del self._of[next(iter(self._of))]
            return table


def choices_of(columns: Columns, tags: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    """What each filter can be set to, with the number of rows of each value."""
    choices: dict[str, Any] = {
        name: sorted(columns.names[name].counts(), key=lambda count: (-count[1], count[0]))[:200]
        for name in ("status", "criterion", "protocol", "model", "choice")
    }
    systems: Counter[str] = Counter()
    # The choice of a pair belongs to both of its systems.
    is_choice = ~columns.has("subject") & columns.has("system_b")
    for name, mask in (("system", ~is_choice), ("system_a", is_choice), ("system_b", is_choice)):
        systems.update(dict(columns.names[name].counts(mask)))
    choices["system"] = sorted(systems.items())[:500]
    flags: Counter[str] = Counter()
    for text, n in columns.names["flags"].counts():
        flags.update(dict.fromkeys(text.split(), n))
    choices["flag"] = sorted(flags.items())
    choices["tag"] = sorted(Counter(tag for some in tags.values() for tag in some).items())
    choices["n_apart"] = {kind: int(columns.has(column).sum()) for kind, column in GAPS.items()}
    return choices


def _labelled(columns: Columns, labels: Mapping[LabelKey, LabelValue]) -> Columns:
    """The columns with what people said of each result, and how far the judge is from it."""
    scores: dict[int, float] = {}
    names: dict[int, str] = {}
    gaps: dict[int, float] = {}
    values = columns.numbers["value"]
    for item in {key[0] for key in labels}:
        for row in columns.of_item_named(item):
            choice = columns.names["choice"][row]
            key = (item, columns.names["criterion"][row] or "", columns.names["subject"][row])
            label = _label_of(labels.get(key), choice)
            value = float(values[row])
            gap = distance(None if math.isnan(value) else value, choice, label)
            if isinstance(label, str):
                names[row] = label
            elif label is not None:
                scores[row] = label
            if gap is not None:
                gaps[row] = gap
    return columns.with_columns({"label": scores, "label_gap": gaps}, {"label_name": names})


def _label_of(label: LabelValue | None, choice: str | None) -> LabelValue | None:
    """The label of a result; none where people scored what the judge chose."""
    return None if isinstance(label, float) and choice is not None else label


def _tags(store: Store, run: RunRow, columns: Columns) -> dict[int, list[str]]:
    """The tags that people gave to items, by the item's number."""
    tags: dict[int, list[str]] = {}
    for item, tag in sorted({(note.item, tag) for note in store.notes(run) for tag in note.tags}):
        for row in columns.of_item_named(item)[:1]:
            tags.setdefault(int(columns.seq[row]), []).append(tag)
    return tags


def _texts_of(store: Store, run: RunRow, seqs: Sequence[int], longest: int) -> Iterator[tuple[int, str]]:
    """The searchable text of items: the id, explanations of judges, and the fields, the short ones first."""
    items = items_between(store, run, min(seqs), max(seqs))
    for stored in results_of_items(store, run, seqs):
        item = items.get(stored.seq)
        if item is None:
            continue
        explanations = dict.fromkeys(
            result.result.explanation for result in stored.results or () if result.result.explanation
        )
        fields = sorted(map(searched_text, item.fields.values()), key=len)
        yield stored.seq, "\n".join((item.id, *explanations, *fields))[:longest]
