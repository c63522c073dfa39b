"""The rows of a filter in their order: a page of them, all of them, and the neighbours of one.

A rare text is looked up in the full-text index. A frequent one is searched in the rows as they come in order,
since a page is full after a few: a list of nearly all items would take longer than the page.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .filter import SORTS, Filter, Where, where
from .index import COLUMNS, NUMBERS, RunIndex, choices_of

if TYPE_CHECKING:
    from ..static_copy.limits import Limits


ROWS_ON_A_PAGE = 50


FREQUENT = 4000
"""A text in more items than this is frequent; its rows are then not counted."""


FIRST_COPY_SECONDS = 1.5
"""How long a page waits for the first copy of a run; a small run is complete by then."""


_SHORTEST_INDEXED = 3


_MOST_TERMS = 300


_KEPT_COUNTS = 500


_KEPT_QUERIES = 40


_ROWS_AT_ONCE = 500
"""SQLite allows 999 parameters at least."""


IndexedRow = dict[str, Any]


class Listing:
    """The table of one run. Counts are cached until the copy changes."""

    def __init__(self, index: RunIndex) -> None:
        self.index = index
        self._lock = threading.Lock()
        self._version = -1
        self._counts: dict[Where, int] = {}
        self._kept_version = -1
        self._kept: dict[tuple[str, tuple[Any, ...]], list[Any]] = {}

    def page(self, wanted: Filter) -> tuple[list[IndexedRow], int | None]:
        """One page of rows, and the number of rows on all pages; none for a frequent text."""
        offset = (wanted.page - 1) * ROWS_ON_A_PAGE
        with self.index.reading() as connection:
            rule = self._rule(connection, wanted)
            ids = _ids(connection, wanted, rule, ROWS_ON_A_PAGE, offset)
            if not rule.is_frequent:
                total: int | None = self._count(connection, rule)
            else:
                total = offset + len(ids) if 0 < len(ids) < ROWS_ON_A_PAGE else None
            return _rows(connection, ids), total

    def of_item(self, seq: int) -> list[IndexedRow]:
        """The rows of one item."""
        with self.index.reading() as connection:
            ids = connection.execute("SELECT id FROM rows WHERE seq = ? ORDER BY id", (seq,)).fetchall()
            return _rows(connection, [number for (number,) in ids])

    def first_items(self, limits: Limits) -> list[IndexedRow]:
        """The rows of the first items, for a static copy."""
        with self.index.reading() as connection:
            n_items, n_rows = connection.execute("SELECT count(DISTINCT seq), count(*) FROM rows").fetchone()
            ids = connection.execute(
                "SELECT id FROM rows WHERE seq IN (SELECT DISTINCT seq FROM rows ORDER BY seq LIMIT "
                "?) ORDER BY id",
                (limits.kept(n_items, n_rows),),
            ).fetchall()
            numbers = [number for (number,) in ids]
            tags: dict[int, list[str]] = {}
            for seq, tag in connection.execute("SELECT seq, tag FROM tags ORDER BY tag"):
                tags.setdefault(seq, []).append(tag)
            starts = range(0, len(numbers), _ROWS_AT_ONCE)
            return [
                row | {"tags": tags.get(row["seq"], [])}
                for start in starts
                for row in _rows(connection, numbers[start : start + _ROWS_AT_ONCE])
            ]

    def of_input(self, name: str, but: int, most: int) -> list[int]:
        """The numbers of the items of one group, apart from one of them."""
        with self.index.reading() as connection:
            seqs = connection.execute(
                "SELECT DISTINCT seq FROM rows WHERE input = ? AND seq <> ? ORDER BY system, seq LIMIT ?",
                (name, but, most),
            )
            return [seq for (seq,) in seqs]

    def place(self, wanted: Filter, row: int) -> tuple[int, int] | None:
        """The place of a row in the list, from 1, and the length
        of the list; none where a frequent text is searched.
        """
        with self.index.reading() as connection:
            here = _rows(connection, [row])
            rule = self._rule(connection, wanted)
            if not here or rule.is_frequent:
                return None
            before = [_both(step, rule) for step in _steps_before(wanted, here[0])]
            n_before = sum(_n_rows(connection, step) for step in before)
            return n_before + 1, self._count(connection, rule)

    def all_rows(self, wanted: Filter) -> Iterator[IndexedRow]:
        """All rows of a filter in its order."""
        with self.index.reading() as connection:
            rule = self._rule(connection, wanted)
            ids = _ids(connection, wanted, rule, 1 << 40, 0)
            for start in range(0, len(ids), _ROWS_AT_ONCE):
                yield from _rows(connection, ids[start : start + _ROWS_AT_ONCE])

    def remembered(
        self, connection: sqlite3.Connection, select: str, parameters: tuple[Any, ...] = ()
    ) -> list[Any]:
        """All rows of a query that reads the whole table, kept until the copy changes."""
        version = self.index.progress.version
        with self._lock:
            if self._kept_version != version or len(self._kept) > _KEPT_QUERIES:
                self._kept_version, self._kept = version, {}
            known = self._kept.get((select, parameters))
        if known is None:
            known = connection.execute(select, parameters).fetchall()
            with self._lock:
                self._kept[select, parameters] = known
        return known

    @contextlib.contextmanager
    def matching(self, wanted: Filter) -> Iterator[tuple[sqlite3.Connection, Where]]:
        """A connection, and the condition of a filter."""
        with self.index.reading() as connection:
            yield connection, self._rule(connection, wanted)

    def around(self, wanted: Filter, row: int) -> tuple[IndexedRow | None, IndexedRow | None]:
        """The rows of the items before and after a row in the order of the table; none at its ends."""
        with self.index.reading() as connection:
            here = _rows(connection, [row])
            if not here:
                return None, None
            rule = self._rule(connection, wanted)
            before, after = (
                _neighbour(connection, wanted, rule, here[0], is_after=is_after) for is_after in (False, True)
            )
            return before, after

    def choices(self) -> dict[str, Any]:
        """What the filters offer, with the number of rows of each value; a few seconds old at most."""
        choices = self.index.choices
        if not choices:
            with self.index.reading() as connection:
                choices = choices_of(connection)
        return choices

    def _rule(self, connection: sqlite3.Connection, wanted: Filter) -> Where:
        """The condition of a filter, including the text to search."""
        rest = where(wanted)
        if not wanted.q:
            return rest
        query = self._query(connection, wanted.q)
        items = None if query is None else _items_with(connection, query)
        if items is not None and len(items) <= FREQUENT:
            few = Where(
                "seq IN (SELECT value FROM json_each(?))", (str([seq for (seq,) in items]),), is_narrow=True
            )
            return _both(few, rest)
        pattern = wanted.q.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        text = "(SELECT text FROM texts WHERE texts.seq = rows.seq) LIKE ? ESCAPE '\\'"
        return _both(rest, Where(text, (f"%{pattern}%",), is_frequent=True))

    def _query(self, connection: sqlite3.Connection, text: str) -> str | None:
        """The full-text query; empty where no item can contain the text, none where the index cannot be used."""
        if not self.index.progress.is_searchable or len(text) < _SHORTEST_INDEXED - 1:
            return None
        if len(text) >= _SHORTEST_INDEXED:
            return _quoted(text)
        # The index holds trigrams: take all that begin with these two characters.
        low = text.lower()
        terms = connection.execute(
            "SELECT term FROM terms WHERE term >= ? AND term < ? LIMIT ?",
            (low, low + "\U0010ffff", _MOST_TERMS),
        ).fetchall()
        if len(terms) == _MOST_TERMS:
            return None
        return " OR ".join(_quoted(term) for (term,) in terms)

    def _count(self, connection: sqlite3.Connection, rule: Where) -> int:
        version = self.index.progress.version
        with self._lock:
            if self._version != version or len(self._counts) > _KEPT_COUNTS:
                self._version, self._counts = version, {}
            known = self._counts.get(rule)
        if known is None:
            known = _n_rows(connection, rule)
            with self._lock:
                self._counts[rule] = known
        return known


def _both(left: Where, right: Where) -> Where:
    sql = " AND ".join(part.sql for part in (left, right) if part.sql != "1") or "1"
    return Where(
        sql,
        (*left.parameters, *right.parameters),
        left.is_narrow or right.is_narrow,
        left.is_frequent or right.is_frequent,
    )


def _n_rows(connection: sqlite3.Connection, rule: Where) -> int:
    # One scan of all rows is faster than looking most of them up through an index.
    table = "rows" if rule.is_narrow or rule.sql == "1" else "rows NOT INDEXED"
    select = f"SELECT count(*) FROM {table} WHERE {rule.sql}"
    return int(connection.execute(select, rule.parameters).fetchone()[0])


def _items_with(connection: sqlite3.Connection, query: str) -> list[tuple[int]]:
    """The items that contain a text, at most `FREQUENT` + 1."""
    if not query:
        return []
    select = f"SELECT rowid FROM words WHERE words MATCH ? LIMIT {FREQUENT + 1}"
    return connection.execute(select, (query,)).fetchall()


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""'))


def _ids(connection: sqlite3.Connection, wanted: Filter, rule: Where, limit: int, offset: int) -> list[int]:
    """The ids of the rows of a page. Rows without a number come last in either direction."""
    column, way = _order(wanted)
    if column not in NUMBERS:
        order = "id" if column == "id" else f"{column} COLLATE NOCASE {way}, id"
        return _ids_by(connection, rule, order, limit, offset)
    with_number = _both(Where(f"{column} IS NOT NULL", ()), rule)
    ids = _ids_by(connection, with_number, f"{column} {way}, id", limit, offset)
    if len(ids) == limit:
        return ids
    n = connection.execute(
        f"SELECT count(*) FROM rows WHERE {with_number.sql}", with_number.parameters
    ).fetchone()[0]
    without = _both(Where(f"{column} IS NULL", ()), rule)
    return ids + _ids_by(connection, without, "id", limit - len(ids), max(0, offset - n))


def _ids_by(connection: sqlite3.Connection, rule: Where, order: str, limit: int, offset: int) -> list[int]:
    if rule.is_narrow:
        # The unary plus keeps SQLite from walking a sorted index: it finds the few rows and sorts those.
        order = ", ".join(f"+{part}" for part in order.split(", "))
    # Only ids: complete rows would be copied through the sorter.
    ids = connection.execute(
        f"SELECT id FROM rows WHERE {rule.sql} ORDER BY {order} LIMIT ? OFFSET ?",
        (*rule.parameters, limit, offset),
    )
    return [number for (number,) in ids]


def _neighbour(
    connection: sqlite3.Connection, wanted: Filter, rule: Where, here: IndexedRow, *, is_after: bool
) -> IndexedRow | None:
    """The first row of another item after (or before) this one."""
    column, way = _order(wanted)
    on = (">", "ASC") if is_after else ("<", "DESC")
    other = Where("seq <> ?", (here["seq"],))
    same = Where(f"id {on[0]} ?", (here["id"],))
    if column == "id":
        return _first(connection, [_both(_both(same, other), rule)], f"id {on[1]}")
    collated = column if column in NUMBERS else f"{column} COLLATE NOCASE"
    forward = is_after == (way == "ASC")
    beyond, beyond_order = (">", "ASC") if forward else ("<", "DESC")
    value = here[column]
    nothing = Where(f"{column} IS NULL", ())
    something = Where(f"{column} IS NOT NULL", ())
    order = f"{collated} {beyond_order}, id {on[1]}"
    if value is None:
        steps = [_both(nothing, same), *([] if is_after else [something])]
    else:
        near = Where(f"{collated} = ? AND id {on[0]} ?", (value, here["id"]))
        steps = [near, Where(f"{collated} {beyond} ?", (value,)), *([nothing] if is_after else [])]
    return _first(connection, [_both(_both(step, other), rule) for step in steps], order)


def _steps_before(wanted: Filter, here: IndexedRow) -> list[Where]:
    """The conditions of all rows before this one in the order of the table."""
    column, way = _order(wanted)
    if column == "id":
        return [Where("id < ?", (here["id"],))]
    collated = column if column in NUMBERS else f"{column} COLLATE NOCASE"
    value = here[column]
    if value is None:
        return [Where(f"{column} IS NOT NULL", ()), Where(f"{column} IS NULL AND id < ?", (here["id"],))]
    beyond = "<" if way == "ASC" else ">"
    return [
        Where(f"{collated} {beyond} ?", (value,)),
        Where(f"{collated} = ? AND id < ?", (value, here["id"])),
    ]


def _first(connection: sqlite3.Connection, rules: list[Where], order: str) -> IndexedRow | None:
    for rule in rules:
        ids = _ids_by(connection, rule, order, 1, 0)
        if ids:
            return _rows(connection, ids)[0]
    return None


def _order(wanted: Filter) -> tuple[str, str]:
    name = wanted.sort.removeprefix("-")
    return (SORTS[name] if name else "id"), ("DESC" if wanted.sort.startswith("-") else "ASC")


def _rows(connection: sqlite3.Connection, ids: list[int]) -> list[IndexedRow]:
    marks = ",".join("?" * len(ids))
    rows = connection.execute(f"SELECT {COLUMNS} FROM rows WHERE id IN ({marks})", ids)
    by_id = {row[0]: dict(zip(COLUMNS.split(", "), row, strict=True)) for row in rows}
    return [by_id[number] for number in ids if number in by_id]
