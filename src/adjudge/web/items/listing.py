"""The rows of a filter in their order: a page of them, all of them, and the neighbours of one.

A row's id is the item's number and the result's in one integer. A rare text is searched in all items that may
contain it. A frequent one is searched in the rows as they come in order, since a page is full after a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from ...records import Result
from ...results.columns import Columns, Mask, Rows
from ...results.stored_results import results_of_items
from ...store import Store
from ...store.results import Gaps
from .filter import SORTS, Filter, rows_of
from .run_table import RunTable, TableProgress, TableRows, distance

if TYPE_CHECKING:
    from ..static_copy.limits import Limits


ROWS_ON_A_PAGE = 50

FREQUENT = 20_000
"""A text that more items than this may contain is frequent; its rows are then not counted."""

FIRST_READ_SECONDS = 1.5
"""How long a page waits for results that are not stored yet, and for texts: enough for a small run."""

_ROWS_AT_ONCE = 500

IndexedRow = dict[str, Any]


class _Found(NamedTuple):
    """Rows in their order; with `is_match`, those of them for which it is true."""

    rows: Rows
    is_match: Callable[[int], bool] | None

    def between(self, first: int, end: int) -> list[int]:
        if self.is_match is None:
            return [int(row) for row in self.rows[first:end]]
        return list(islice(filter(self.is_match, self.rows.tolist()), first, end))


class ItemsTable:
    """The table of one run as one request sees it."""

    def __init__(self, table: RunTable, reading: Callable[[], Store]) -> None:
        self._table = table
        self._reading = reading
        self.rows: TableRows = table.rows
        self._progress: TableProgress = table.progress

    @property
    def columns(self) -> Columns:
        return self.rows.columns

    @property
    def progress(self) -> TableProgress:
        """How much of the run the table holds, and after a search, how much of it could be searched."""
        n_unread = self._table.n_unread_texts
        if not self._progress.is_whole or not n_unread:
            return self._progress
        return structs.replace(self._progress, done=self._progress.total - n_unread, is_whole=False)

    def page(self, wanted: Filter) -> tuple[list[IndexedRow], int | None]:
        """One page of rows, and the number of rows on all pages; none for a frequent text."""
        offset = (wanted.page - 1) * ROWS_ON_A_PAGE
        with self._reading() as store:
            found = self._found(store, wanted)
            numbers = found.between(offset, offset + ROWS_ON_A_PAGE)
            total: int | None = len(found.rows)
            if found.is_match is not None:
                total = offset + len(numbers) if 0 < len(numbers) < ROWS_ON_A_PAGE else None
            return self._shown(store, numbers), total

    def page_of_items(self, wanted: Filter) -> tuple[list[tuple[int, list[IndexedRow]]], int | None]:
        """One page of items, each with the id of the first row found and all its rows, and the number of
        items on all pages; none for a frequent text.
        """
        offset = (wanted.page - 1) * ROWS_ON_A_PAGE
        with self._reading() as store:
            found = self._found(store, wanted)
            rows, seq = found.rows.tolist(), self.columns.seq
            first: dict[int, int] = {}
            total: int | None = None
            if found.is_match is None:
                numbers = seq[found.rows].tolist()
                first = dict(zip(reversed(numbers), reversed(rows), strict=True))
                ordered = list(dict.fromkeys(numbers))
                total = len(ordered)
            else:
                for row in rows:
                    if int(seq[row]) not in first and found.is_match(row):
                        first[int(seq[row])] = row
                        if len(first) == offset + ROWS_ON_A_PAGE:
                            break
                ordered = list(first)
            shown = ordered[offset : offset + ROWS_ON_A_PAGE]
            if found.is_match is not None and 0 < len(shown) < ROWS_ON_A_PAGE:
                total = offset + len(shown)
            of_items: dict[int, list[IndexedRow]] = {}
            for one in self._of_items(store, shown):
                of_items.setdefault(one["seq"], []).append(one)
        return [(self.row_id(first[one]), of_items[one]) for one in shown if one in of_items], total

    def of_item(self, seq: int) -> list[IndexedRow]:
        """The rows of one item, as they are in the store now."""
        with self._reading() as store:
            return self._of_items(store, [seq])

    def of_items(self, seqs: Sequence[int]) -> dict[int, list[IndexedRow]]:
        """The rows of some items, as they are in the store now."""
        rows: dict[int, list[IndexedRow]] = {seq: [] for seq in seqs}
        with self._reading() as store:
            for row in self._of_items(store, seqs):
                rows[row["seq"]].append(row)
        return rows

    def first_items(self, limits: Limits) -> list[IndexedRow]:
        """The rows of the first items, for a static copy."""
        seqs = list(dict.fromkeys(self.columns.seq.tolist()))
        kept = seqs[: limits.kept(len(seqs), len(self.columns))]
        with self._reading() as store:
            return [
                row | {"tags": list(self.rows.tags.get(row["seq"], ()))}
                for start in range(0, len(kept), _ROWS_AT_ONCE)
                for row in self._of_items(store, kept[start : start + _ROWS_AT_ONCE])
            ]

    def labelled(self, protocol: str, criterion: str, model: str) -> list[tuple[str, str, float, float]]:
        """Item, input, score and label of each row of a judge that has a score and a label."""
        columns = self.columns
        about = {"protocol": protocol, "criterion": criterion, "model": model}
        mask = columns.has("value") & columns.has("label")
        for column, name in about.items():
            mask &= columns.equals(column, name)
        items, inputs = columns.names["item"], columns.names["input"]
        values, labels = columns.numbers["value"], columns.numbers["label"]
        return [
            (items[row] or "", inputs[row] or "", float(values[row]), float(labels[row]))
            for row in columns.selected(mask).tolist()
        ]

    def of_input(self, name: str, but: int, most: int) -> list[int]:
        """The numbers of the items of one group, apart from one of them."""
        rows = self.columns.selected(self.columns.equals("input", name), "system")
        return [seq for seq in dict.fromkeys(self.columns.seq[rows].tolist()) if seq != but][:most]

    def place(self, wanted: Filter, row: int) -> tuple[int, int] | None:
        """The place of a row in the list, from 1, and the length of the list; none where a frequent text is
        searched.
        """
        with self._reading() as store:
            found = self._found(store, wanted)
            here = self._number(row)
            if here is None or found.is_match is not None:
                return None
            with_row = self._found(store, wanted, also=here).rows
        return int((with_row == here).argmax()) + 1, len(found.rows)

    def all_rows(self, wanted: Filter) -> Iterator[IndexedRow]:
        """All rows of a filter in its order."""
        with self._reading() as store:
            numbers = self._found(store, wanted).between(0, len(self.columns))
            for start in range(0, len(numbers), _ROWS_AT_ONCE):
                yield from self._shown(store, numbers[start : start + _ROWS_AT_ONCE])

    def matching(self, wanted: Filter) -> Mask:
        """The rows of a filter."""
        mask = rows_of(self.columns, self.rows.tags, wanted)
        if wanted.q:
            with self._reading() as store:
                texts = self._table.texts(store, FIRST_READ_SECONDS)
            mask &= self.columns.of_items(texts.matches(wanted.q, texts.candidates(wanted.q)))
        return mask

    def around(self, wanted: Filter, row: int) -> tuple[IndexedRow | None, IndexedRow | None]:
        """The rows of the items before and after a row in the order of the table; none at its ends."""
        here = self._number(row)
        if here is None:
            return None, None
        with self._reading() as store:
            found = self._found(store, wanted, also=here)
            place, rows = int((found.rows == here).argmax()), found.rows
            ways = (reversed(rows[:place].tolist()), iter(rows[place + 1 :].tolist()))
            before, after = (self._neighbour(store, found, here, way) for way in ways)
        return before, after

    def _neighbour(self, store: Store, found: _Found, here: int, way: Iterator[int]) -> IndexedRow | None:
        seq = self.columns.seq
        for row in way:
            if seq[row] != seq[here] and (found.is_match is None or found.is_match(row)):
                return next(iter(self._shown(store, [row])), None)
        return None

    def choices(self) -> dict[str, Any]:
        """What the filters offer, with the number of rows of each value."""
        return self.rows.choices

    def row_id(self, row: int) -> int:
        """The id of the row at a place of the columns."""
        return (int(self.columns.seq[row]) << 16) + int(self.columns.number[row])

    def _number(self, row_id: int) -> int | None:
        """The place of a row in the columns."""
        for row in self.columns.of_item(row_id >> 16):
            if self.row_id(row) == row_id:
                return row
        return None

    def _found(self, store: Store, wanted: Filter, *, also: int | None = None) -> _Found:
        """The rows of a filter in its order, and one more."""
        columns = self.columns
        mask = rows_of(columns, self.rows.tags, wanted)
        is_match = None
        if wanted.q:
            texts = self._table.texts(store, FIRST_READ_SECONDS)
            candidates = texts.candidates(wanted.q)
            if len(candidates) <= FREQUENT:
                mask &= columns.of_items(texts.matches(wanted.q, candidates))
            else:
                is_match = _matcher(columns, texts.containing(wanted.q))
        if also is not None:
            mask[also] = True
        name = wanted.sort.removeprefix("-")
        column = SORTS[name] if name else ""
        return _Found(columns.selected(mask, column, is_down=wanted.sort.startswith("-")), is_match)

    def _shown(self, store: Store, numbers: Sequence[int]) -> list[IndexedRow]:
        ids = [self.row_id(number) for number in numbers]
        by_id = {
            row["id"]: row for row in self._of_items(store, list(dict.fromkeys(one >> 16 for one in ids)))
        }
        return [by_id[one] for one in ids if one in by_id]

    def _of_items(self, store: Store, seqs: Sequence[int]) -> list[IndexedRow]:
        run = store.run(self._table.run)
        return [
            _row(item.seq, number, stored.result, stored.gaps, self.rows)
            for item in results_of_items(store, run, seqs)
            for number, stored in enumerate(item.results or ())
        ]


def _matcher(columns: Columns, contains: Callable[[int], bool]) -> Callable[[int], bool]:
    """Whether the item of a row contains a text; asked once for each item."""
    seq_of = columns.seq
    known: dict[int, bool] = {}

    def is_match(row: int) -> bool:
        seq = int(seq_of[row])
        if seq not in known:
            known[seq] = contains(seq)
        return known[seq]

    return is_match


def _row(seq: int, number: int, result: Result, gaps: Gaps, rows: TableRows) -> IndexedRow:
    # A class is shown by its name, as a choice is; its number means nothing.
    value = None if result.label is not None else result.value
    choice = result.label or result.choice
    label = rows.label(result)
    return {
        "id": (seq << 16) + number,
        "seq": seq,
        "system": result.system,
        "status": result.status,
        "value": value,
        "criterion": result.criterion,
        "system_a": result.system_a,
        "system_b": result.system_b,
        "subject": result.subject,
        "choice": choice,
        "item": result.item,
        "protocol": result.protocol,
        "model": result.model,
        "samples_gap": gaps.samples,
        "judges_gap": gaps.judges,
        "orders_gap": gaps.orders,
        "label_gap": distance(value, choice, label),
        "label": label,
        "n_samples": result.n_samples,
        "n_failed": result.n_failed,
        "how": result.how,
        "flags": f" {' '.join(result.flags)} " if result.flags else "",
        "explanation": result.explanation[:200],
        "input": result.item if result.group is None else result.group,
        "confidence": result.confidence,
    }
