"""The items table: every result of a run, filtered, sorted and searched by the index beside the store."""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ..store import RunRow
from .items_index import COLUMNS, NUMBERS, SORTS, Filter, RunIndex, Where, choices_of, read_filter, where
from .run_pages import run_named, tabs
from .server import Context

# Answers a filter from the index of a run: one page of rows, their number, and what lies before and after a row.
#
# Text is found in one of two ways. A rare one comes from the index of words as a list of items, which is then
# filtered. A frequent one is looked for in the rows as they come in the order that is wanted, since a page is full
# after a few: a list of nearly all items would take longer to make than the page.


ROWS_ON_A_PAGE = 50
FREQUENT = 4000
"""A text that more items hold than this is frequent; how many rows hold it is then not counted."""

_SHORTEST_INDEXED = 3
_MOST_TERMS = 300
_KEPT_COUNTS = 500

Row = dict[str, Any]


class Listing:
    """The table of one run. What was counted is kept until the index changes."""

    def __init__(self, index: RunIndex) -> None:
        self.index = index
        self._lock = threading.Lock()
        self._version = -1
        self._counts: dict[Where, int] = {}

    def page(self, wanted: Filter) -> tuple[list[Row], int | None]:
        """One page of rows, and how many there are on all pages; none where a frequent text was not counted."""
        offset = (wanted.page - 1) * ROWS_ON_A_PAGE
        with self.index.reading() as connection:
            rule = self._rule(connection, wanted)
            ids = _ids(connection, wanted, rule, ROWS_ON_A_PAGE, offset)
            if not rule.is_frequent:
                total: int | None = self._count(connection, rule)
            else:
                total = offset + len(ids) if 0 < len(ids) < ROWS_ON_A_PAGE else None
            return _rows(connection, ids), total

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
            rule = self._rule(connection, wanted)
            found = [_neighbour(connection, wanted, rule, here[0], is_after=way) for way in (False, True)]
            return found[0], found[1]

    def choices(self) -> dict[str, Any]:
        """What can be chosen for a filter, with the number of rows of each; at most a few seconds old."""
        known = self.index.choices
        if not known:
            with self.index.reading() as connection:
                known = choices_of(connection)
        return known

    def _rule(self, connection: sqlite3.Connection, wanted: Filter) -> Where:
        """The condition of a filter, with the text that is searched."""
        rest = where(wanted)
        if not wanted.q:
            return rest
        query = self._query(connection, wanted.q)
        found = None if query is None else _items_with(connection, query)
        if found is not None and len(found) <= FREQUENT:
            few = Where(
                "seq IN (SELECT value FROM json_each(?))", (str([seq for (seq,) in found]),), is_narrow=True
            )
            return _both(few, rest)
        pattern = wanted.q.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        text = "(SELECT text FROM texts WHERE texts.seq = rows.seq) LIKE ? ESCAPE '\\'"
        return _both(rest, Where(text, (f"%{pattern}%",), is_frequent=True))

    def _query(self, connection: sqlite3.Connection, text: str) -> str | None:
        """The question to the index of words; empty where nothing can hold the text, none where it cannot tell."""
        if not self.index.progress.is_searchable or len(text) < _SHORTEST_INDEXED - 1:
            return None
        if len(text) >= _SHORTEST_INDEXED:
            return _quoted(text)
        # The index holds pieces of three characters: all of those that begin with these two.
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


def _both(one: Where, other: Where) -> Where:
    sql = " AND ".join(part.sql for part in (one, other) if part.sql != "1") or "1"
    return Where(
        sql,
        (*one.given, *other.given),
        one.is_narrow or other.is_narrow,
        one.is_frequent or other.is_frequent,
    )


def _n_rows(connection: sqlite3.Connection, rule: Where) -> int:
    # To go through all rows once is quicker than to look most of them up one by one in the order of a column.
    table = "rows" if rule.is_narrow or rule.sql == "1" else "rows NOT INDEXED"
    found: int = connection.execute(f"SELECT count(*) FROM {table} WHERE {rule.sql}", rule.given).fetchone()[
        0
    ]
    return found


def _items_with(connection: sqlite3.Connection, query: str) -> list[tuple[int]]:
    """The items that hold a text, or more than `FREQUENT` of them."""
    if not query:
        return []
    select = f"SELECT rowid FROM words WHERE words MATCH ? LIMIT {FREQUENT + 1}"
    return connection.execute(select, (query,)).fetchall()


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
    if rule.is_narrow:
        # The few rows are found and then sorted, not looked for in all rows in their order.
        order = ", ".join(f"+{part}" for part in order.split(", "))
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


FIRST_LOOK_SECONDS = 1.5
"""How long a page waits for the rows of a run that nobody has looked at yet; a small run is whole by then."""

GAP_TITLES = (("people", "Apart"), ("samples", "Samples"), ("judges", "Judges"), ("orders", "Orders"))
STATUSES = ("ok", "failed", "unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply")


class ItemsPage:
    """The endpoints of the table."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._listings: dict[int, Listing] = {}

    def listing(self, run: RunRow, wait_seconds: float = 0.0) -> Listing:
        """The table of a run, catching up with the store."""
        index = self._context.indexes.of(run)
        index.follow(wait_seconds)
        with self._lock:
            known = self._listings.get(run.id)
            if known is None or known.index is not index:
                known = self._listings[run.id] = Listing(index)
            return known

    def page(self, request: Request) -> Response:
        with self._context.reading() as store:
            run = run_named(store, request)
        values = self._values(request, run)
        if "part" in request.query_params:
            return HTMLResponse(self._context.fragment(request, "view/items_rows.html", **values))
        crumbs = [(self._context.store_path.name, "/"), (run.name, values["tabs"][0][1]), ("Items", None)]
        return self._context.page(request, "view/items.html", crumbs=crumbs, **values)

    def live(self, request: Request) -> Response:
        """The rows of a page that follows a run, or waits for them."""
        with self._context.reading() as store:
            run = run_named(store, request)
        values = self._values(request, run)
        is_same = request.query_params.get("version") == values["live_version"]
        return JSONResponse(
            {
                "version": values["live_version"],
                "is_live": values["is_live"],
                "html": "" if is_same else self._context.fragment(request, "view/items_rows.html", **values),
            }
        )

    def _values(self, request: Request, run: RunRow) -> dict[str, Any]:
        wanted = read_filter(request.query_params)
        listing = self.listing(run, FIRST_LOOK_SECONDS)
        progress = listing.index.progress
        version = progress.version
        rows, total = listing.page(wanted)
        choices = listing.choices()
        first = (wanted.page - 1) * ROWS_ON_A_PAGE + 1
        last = first + len(rows) - 1
        has_more = len(rows) == ROWS_ON_A_PAGE if total is None else last < total
        return {
            "run": run.name,
            "line": {"run": run.name},
            "filter": wanted,
            "rows": rows,
            "total": total,
            "first": first,
            "last": last,
            "back": f"/items?{wanted.query(run.name, page=wanted.page - 1)}" if wanted.page > 1 else None,
            "next": f"/items?{wanted.query(run.name, page=wanted.page + 1)}" if has_more else None,
            "query": wanted.query(run.name),
            "sorted_by": lambda name: _sorted_by(wanted, run.name, name),
            "choices": choices,
            "gaps": [gap for gap in GAP_TITLES if choices["n_apart"][gap[0]]],
            "statuses": STATUSES,
            "progress": progress,
            "is_live": run.status == "running" or not progress.is_whole,
            "live_version": f"{version}-{progress.is_whole}-{progress.done * 20 // max(1, progress.total)}",
            "tabs": tabs(run.name),
            "tab": "Items",
        }


def _sorted_by(wanted: Filter, run: str, name: str) -> tuple[str, str]:
    """The address that sorts by a column, or turns it round; and how it is sorted now."""
    is_up, is_down = wanted.sort == name, wanted.sort == f"-{name}"
    # Numbers are wanted with the most telling first: the largest distance, but the lowest score.
    starts_down = name in ("samples", "judges", "orders", "people")
    new = f"-{name}" if is_up or (starts_down and not is_down) else name
    shown = "ascending" if is_up else "descending" if is_down else ""
    return f"/items?{wanted.query(run, sort=new, page=1)}", shown
