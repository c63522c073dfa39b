"""Answers a filter from the index of a run: one page of rows, their number, and what lies before and after a row.

Text is found in one of two ways. A rare one comes from the index of words as a list of items, which is then
filtered. A frequent one is looked for in the rows as they come in the order that is wanted, since a page is full
after a few: a list of nearly all items would take longer to make than the page.
"""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

from .filters import GAPS, SORTS, Filter, Where, where
from .index import COLUMNS, NUMBERS, RunIndex

ROWS_ON_A_PAGE = 50
FREQUENT = 4000
"""A text that more items hold than this is frequent."""

_SHORTEST_INDEXED = 3
_MOST_TERMS = 300
_KEPT_COUNTS = 500
# The choice of a pair belongs to both of its systems, and to no third one.
_SYSTEMS = {
    "system": "subject IS NOT NULL OR system_b IS NULL",
    "system_a": "subject IS NULL AND system_a IS NOT NULL",
    "system_b": "subject IS NULL AND system_b IS NOT NULL",
}

Row = dict[str, Any]


class Listing:
    """The table of one run. What was counted is kept until the index changes."""

    def __init__(self, index: RunIndex) -> None:
        self.index = index
        self._lock = threading.Lock()
        self._version = -1
        self._counts: dict[Where, int] = {}
        self._choices: dict[str, Any] = {}
        self._choices_version = -1

    def page(self, wanted: Filter) -> tuple[list[Row], int]:
        """One page of rows, and how many there are on all pages."""
        with self.index.reading() as connection:
            listed, counted = self._rules(connection, wanted)
            ids = _ids(connection, wanted, listed, ROWS_ON_A_PAGE, (wanted.page - 1) * ROWS_ON_A_PAGE)
            return _rows(connection, ids), self._count(connection, counted)

    def of_item(self, seq: int) -> list[Row]:
        """The rows of one item."""
        with self.index.reading() as connection:
            found = connection.execute("SELECT id FROM rows WHERE seq = ? ORDER BY id", (seq,)).fetchall()
            return _rows(connection, [number for (number,) in found])

    def around(self, wanted: Filter, row: int) -> tuple[Row | None, Row | None]:
        """The rows of the items before and after a row in the order of the table; none at its ends."""
        with self.index.reading() as connection:
            here = _rows(connection, [row])
            if not here:
                return None, None
            rule, _ = self._rules(connection, wanted)
            found = [_neighbour(connection, wanted, rule, here[0], is_after=way) for way in (False, True)]
            return found[0], found[1]

    def choices(self) -> dict[str, Any]:
        """What can be chosen for a filter, with the number of rows of each; at most a few seconds old."""
        version = self.index.progress.version
        if self._choices_version != version and (self.index.progress.is_whole or not self._choices):
            with self.index.reading() as connection:
                self._choices = _choices(connection)
            self._choices_version = version
        return self._choices

    def _rules(self, connection: sqlite3.Connection, wanted: Filter) -> tuple[Where, Where]:
        """The condition for a page that ends early, and the one for all rows."""
        rest = where(wanted)
        if not wanted.q:
            return rest, rest
        found, is_frequent = self._matching(connection, wanted.q)
        pattern = wanted.q.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        one_by_one = Where(
            "(SELECT text FROM texts WHERE texts.seq = rows.seq) LIKE ? ESCAPE '\\'", (f"%{pattern}%",)
        )
        if found is None:
            everywhere = Where(
                "seq IN (SELECT seq FROM texts WHERE text LIKE ? ESCAPE '\\')", one_by_one.given
            )
            return _both(one_by_one, rest), _both(everywhere, rest)
        at_once = Where("seq IN (SELECT rowid FROM words WHERE words MATCH ?)", (found,))
        return _both(one_by_one if is_frequent else at_once, rest), _both(at_once, rest)

    def _matching(self, connection: sqlite3.Connection, text: str) -> tuple[str | None, bool]:
        """The query to the index of words, none where it cannot answer; and whether many items hold the text."""
        if not self.index.progress.is_searchable or len(text) < _SHORTEST_INDEXED - 1:
            return None, True
        query = _quoted(text)
        if len(text) < _SHORTEST_INDEXED:
            # The index holds pieces of three characters: all of those that begin with these two.
            low = text.lower()
            terms = connection.execute(
                "SELECT term FROM terms WHERE term >= ? AND term < ? LIMIT ?",
                (low, low[:-1] + chr(ord(low[-1]) + 1), _MOST_TERMS),
            ).fetchall()
            if not terms or len(terms) == _MOST_TERMS:
                return None, True
            query = " OR ".join(_quoted(term) for (term,) in terms)
        first = connection.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT {FREQUENT + 1})", (query,)
        ).fetchone()[0]
        return query, first > FREQUENT

    def _count(self, connection: sqlite3.Connection, rule: Where) -> int:
        version = self.index.progress.version
        with self._lock:
            if self._version != version or len(self._counts) > _KEPT_COUNTS:
                self._version, self._counts = version, {}
            known = self._counts.get(rule)
        if known is None:
            known = connection.execute(f"SELECT count(*) FROM rows WHERE {rule.sql}", rule.given).fetchone()[
                0
            ]
            with self._lock:
                self._counts[rule] = known
        return known


def _both(one: Where, other: Where) -> Where:
    return Where(f"{one.sql} AND {other.sql}", (*one.given, *other.given))


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""'))


def _ids(connection: sqlite3.Connection, wanted: Filter, rule: Where, limit: int, offset: int) -> list[int]:
    """The numbers of the rows of a page. What has no number comes last, whichever way the others are sorted."""
    column, way = _order(wanted)
    if column not in NUMBERS:
        order = "id" if column == "id" else f"{column} COLLATE NOCASE {way}, id"
        return _ids_by(connection, rule, order, limit, offset)
    with_number = _both(Where(f"{column} IS NOT NULL", ()), rule)
    ids = _ids_by(connection, with_number, f"{column} {way}, id", limit, offset)
    if len(ids) == limit:
        return ids
    n = connection.execute(
        f"SELECT count(*) FROM rows WHERE {with_number.sql}", with_number.given
    ).fetchone()[0]
    without = _both(Where(f"{column} IS NULL", ()), rule)
    return ids + _ids_by(connection, without, "id", limit - len(ids), max(0, offset - n))


def _ids_by(connection: sqlite3.Connection, rule: Where, order: str, limit: int, offset: int) -> list[int]:
    # Only the numbers: whole rows would be copied through the sorter.
    found = connection.execute(
        f"SELECT id FROM rows WHERE {rule.sql} ORDER BY {order} LIMIT ? OFFSET ?",
        (*rule.given, limit, offset),
    )
    return [number for (number,) in found]


def _neighbour(
    connection: sqlite3.Connection, wanted: Filter, rule: Where, here: Row, *, is_after: bool
) -> Row | None:
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


def _first(connection: sqlite3.Connection, rules: list[Where], order: str) -> Row | None:
    for rule in rules:
        ids = _ids_by(connection, rule, order, 1, 0)
        if ids:
            return _rows(connection, ids)[0]
    return None


def _order(wanted: Filter) -> tuple[str, str]:
    name = wanted.sort.removeprefix("-")
    return (SORTS[name] if name else "id"), ("DESC" if wanted.sort.startswith("-") else "ASC")


def _rows(connection: sqlite3.Connection, ids: list[int]) -> list[Row]:
    places = ",".join("?" * len(ids))
    found = connection.execute(f"SELECT {COLUMNS} FROM rows WHERE id IN ({places})", ids)
    by_id = {row[0]: dict(zip(COLUMNS.split(", "), row, strict=True)) for row in found}
    return [by_id[number] for number in ids if number in by_id]


def _choices(connection: sqlite3.Connection) -> dict[str, Any]:
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
