"""The viewer's items table: every result of a run, filtered, sorted and searched in the copy that `items_index` keeps.

A rare text is looked up in the full-text index. A frequent one is searched in the rows as they come in order, since a page
is full after a few: a list of nearly all items would take longer than the page.

The viewer's page of one item: its fields, its results and labels, and every call with its reply.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct, field, structs
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from ..analysis.item_view import item_view, off_scale_text, shorten
from ..data.formulas import guarded
from ..engine import protocols_of
from ..errors import StoreError
from ..records import Item, Protocol
from ..store import RunRow, Store
from ..store.browsing import calls_of_item, item_at, items_between
from ..untrusted import ACTING
from ..words import status_text
from .items_index import COLUMNS, GAPS, NUMBERS, RunIndex, choices_of, field_text
from .rich_text import snippet
from .run_pages import run_named, tabs
from .server import Context

if TYPE_CHECKING:
    from .static_copy import Limits

# The filter

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
_EQUAL = ("criterion", "protocol", "model", "choice", "how")
_TEXTS = ("system", "other", "winner", "status", "flag", "tag", "people")
COLUMNS_SHOWN = {
    "system": "System",
    "criterion": "Criterion",
    "protocol": "Protocol",
    "model": "Judge",
    "score": "Score",
    "people": "People",
    "samples": "Samples",
    "judges": "Judges",
    "orders": "Orders",
    "status": "Status",
    "explanation": "Explanation",
}
"""The columns of the table that can be hidden."""


_ROUNDING = 1e-9
"""A number in an address has 15 digits; the mean of three has more."""


class Filter(Struct, frozen=True):
    """Which rows to show, and in which order."""

    q: str = ""
    system: str = ""
    status: str = ""
    """a status, or `failed` for all but ok"""
    criterion: str = ""
    protocol: str = ""
    model: str = ""
    choice: str = ""
    flag: str = ""
    tag: str = ""
    people: str = ""
    """people's choice"""
    other: str = ""
    """of a pair: the other system"""
    winner: str = ""
    """of a pair: the system that won, or `tie`"""
    how: str = ""
    """how a score was read"""
    low: float | None = None
    high: float | None = None
    people_low: float | None = None
    people_high: float | None = None
    apart: str = ""
    """a kind of disagreement, of `GAPS`"""
    least: float | None = None
    """its smallest size; above 0 where this is none"""
    sort: str = ""
    page: int = 1
    col: tuple[str, ...] = ()
    """the columns to show; the usual ones where there are none"""

    def query(self, run: str, **changes: Any) -> str:
        """The query string of the same filter with some changes."""
        values = structs.asdict(structs.replace(self, **changes))
        kept = {
            name: f"{value:.15g}" if isinstance(value, float) else value
            for name, value in values.items()
            if value not in ("", None, ()) and (name, value) != ("page", 1)
        }
        return urlencode({"run": run, **kept}, doseq=True)

    @property
    def is_narrowed(self) -> bool:
        return structs.replace(self, sort="", page=1, col=()) != Filter()

    @property
    def is_by_disagreement(self) -> bool:
        """Whether these are the largest disagreements of a kind."""
        return bool(self.apart) and self.sort == f"-{self.apart}"


class Where(Struct, frozen=True):
    """An SQL condition with its parameters."""

    sql: str
    parameters: tuple[Any, ...]
    is_narrow: bool = False
    """whether it matches few rows, which an index finds"""
    is_frequent: bool = False
    """whether rows are scanned one by one, because many may match"""


def read_filter(query: QueryParams) -> Filter:
    """The filter in a query string, which anybody may have written: what makes no sense is ignored."""
    texts = {name: query.get(name, "")[:1000] for name in (*_TEXTS, *_EQUAL)}
    sort = query.get("sort", "")
    apart = query.get("apart", "")
    return Filter(
        q=query.get("q", "").replace("\0", "").strip()[:_LONGEST_QUERY],
        low=_number(query.get("low", "")),
        high=_number(query.get("high", "")),
        people_low=_number(query.get("people_low", "")),
        people_high=_number(query.get("people_high", "")),
        apart=apart if apart in GAPS else "",
        least=_number(query.get("least", "")) if apart in GAPS else None,
        sort=sort if sort.removeprefix("-") in SORTS else "",
        page=max(1, min(10_000_000, int(_number(query.get("page", "")) or 1))),
        col=tuple(name for name in COLUMNS_SHOWN if name in query.getlist("col")),
        **texts,
    )


def where(wanted: Filter) -> Where:
    """The condition of a filter, apart from the text to search.

    Values are parameters and columns come from the tables above, so that no part of a query becomes SQL.
    """
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if wanted.system:
        parts.append(("(system = ? OR system_a = ? OR system_b = ?)", (wanted.system,) * 3))
    if wanted.other:
        parts.append(("(system_a = ? OR system_b = ?)", (wanted.other,) * 2))
    if wanted.winner == "tie":
        parts.append(("choice = 'tie'", ()))
    elif wanted.winner:
        won = "(choice = 'a' AND system_a = ? OR choice = 'b' AND system_b = ?)"
        parts.append((won, (wanted.winner,) * 2))
    if wanted.status == "failed":
        parts.append(("status <> 'ok'", ()))
    elif wanted.status:
        parts.append(("status = ?", (wanted.status,)))
    parts += [(f"{name} = ?", (value,)) for name in _EQUAL if (value := getattr(wanted, name))]
    if wanted.flag:
        parts.append(("instr(flags, ?)", (f" {wanted.flag} ",)))
    if wanted.tag:
        parts.append(("seq IN (SELECT seq FROM tags WHERE tag = ?)", (wanted.tag,)))
    if wanted.low is not None:
        parts.append(("value >= ?", (wanted.low - _ROUNDING,)))
    if wanted.high is not None:
        parts.append(("value <= ?", (wanted.high + _ROUNDING,)))
    if wanted.people:
        parts.append(("label = ?", (wanted.people,)))
    # Choices are texts, and in SQLite every text is above every number.
    if wanted.people_low is not None:
        parts.append(("label >= ? AND typeof(label) <> 'text'", (wanted.people_low - _ROUNDING,)))
    if wanted.people_high is not None:
        parts.append(("label <= ?", (wanted.people_high + _ROUNDING,)))
    if wanted.apart:
        column = GAPS[wanted.apart]
        parts.append((f"{column} > 0", ()) if wanted.least is None else (f"{column} >= ?", (wanted.least,)))
    sql = " AND ".join(part for part, _ in parts) or "1"
    return Where(sql, tuple(value for _, values in parts for value in values))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


# The rows of a filter

ROWS_ON_A_PAGE = 50
FREQUENT = 4000
"""A text in more items than this is frequent; its rows are then not counted."""

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
                "SELECT id FROM rows WHERE seq IN (SELECT DISTINCT seq FROM rows ORDER BY seq LIMIT ?) ORDER BY id",
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
        """The place of a row in the list, from 1, and the length of the list; none where a frequent text is searched."""
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


# The page

FIRST_COPY_SECONDS = 1.5
"""How long a page waits for the first copy of a run; a small run is complete by then."""

GAP_TITLES = (
    ("people", "Judge − people"),
    ("samples", "Samples"),
    ("judges", "Judges"),
    ("orders", "Orders"),
)
STATUSES = ("ok", "failed", "unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply")


class ItemsPage:
    """The endpoints of the table."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._listings: dict[int, Listing] = {}

    def listing(self, run: RunRow, wait_seconds: float = 0.0) -> Listing:
        """The table of a run, brought up to date with the store."""
        index = self._context.indexes.of(run)
        index.follow(wait_seconds)
        with self._lock:
            listing = self._listings.get(run.id)
            if listing is None or listing.index is not index:
                listing = self._listings[run.id] = Listing(index)
            return listing

    def page(self, request: Request) -> Response:
        with self._context.reading() as store:
            run = run_named(store, request)
        if "worst" in request.query_params:
            return RedirectResponse(f"/items?{self._worst(run).query(run.name)}", status_code=303)
        values = self._values(request, run)
        if "part" in request.query_params:
            return HTMLResponse(self._context.fragment(request, "view/items_rows.html", **values))
        crumbs = [(self._context.store_path.name, "/"), (run.name, values["tabs"][0][1]), ("Items", None)]
        return self._context.page(request, "view/items.html", crumbs=crumbs, **values)

    def _worst(self, run: RunRow) -> Filter:
        """The largest disagreements first: with people, else between judges, orders or samples; or else the failures."""
        n_apart = self.listing(run, FIRST_COPY_SECONDS).choices()["n_apart"]
        kind = next((name for name in ("people", "judges", "orders", "samples") if n_apart[name]), "")
        return Filter(apart=kind, sort=f"-{kind}") if kind else Filter(status="failed")

    def export(self, request: Request) -> Response:
        """The rows of a filter as a file, all pages of them: CSV, or JSON lines."""
        with self._context.reading() as store:
            run = run_named(store, request)
        listing, limits = self.listing(run, FIRST_COPY_SECONDS), self._context.limits
        rows = (
            listing.all_rows(read_filter(request.query_params))
            if limits is None
            else iter(listing.first_items(limits))
        )
        is_csv = request.query_params.get("format") != "jsonl"
        name = "items.csv" if is_csv else "items.jsonl"
        return Response(
            "".join(_as_csv(rows)) if is_csv else b"".join(_as_json_lines(rows)),
            media_type="text/csv; charset=utf-8" if is_csv else "application/x-ndjson",
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    def live(self, request: Request) -> Response:
        """The rows alone, for a page that updates itself."""
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
        listing = self.listing(run, FIRST_COPY_SECONDS)
        progress = listing.index.progress
        version = progress.version
        limits = self._context.limits
        rows, total = listing.page(wanted) if limits is None else (listing.first_items(limits), None)
        total = len(rows) if limits is not None else total
        with self._context.reading() as store:
            rows = explained(store, run, rows, wanted.q)
        choices = listing.choices()
        columns = _columns(choices)
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
            "tab": "Largest disagreements" if wanted.is_by_disagreement else "Items",
            "columns": columns,
            "has": (wanted.col or _first_columns(columns, choices)).__contains__,
            "said": _said(wanted, run.name),
            "export": f"/items/export?{wanted.query(run.name, page=1)}",
            "row_facts": _row_facts,
            "said_words": _said_words(),
        }


def _row_facts(row: IndexedRow) -> str:
    """What the script of a static copy filters and sorts a row by: the same names as a filter and `SORTS` have."""
    facts = {
        **{name: row[name] for name in ("system", "system_a", "system_b", "status", "flags", *_EQUAL)},
        **{name: row[column] for name, column in GAPS.items()},
        "item": row["item"],
        "score": row["value"],
        "label": row["label"],
        "tags": row["tags"],
    }
    # Characters that hide or reverse text are written out wherever a page shows them; JSON has a way of its own for that.
    return ACTING.sub(lambda match: json.dumps(match[0])[1:-1], msgspec.json.encode(facts).decode())


def explained(store: Store, run: RunRow, rows: list[IndexedRow], searched: str) -> list[IndexedRow]:
    """The rows of a page with what the copy does not keep: why a score is off its scale, and where a text was found."""
    protocols = protocols_of(store, run) if any(row["status"] == "out_of_range" for row in rows) else {}
    more = []
    for row in rows:
        words, place, found = status_text(row["status"]), "", ""
        if row["status"] == "out_of_range":
            words = _off_scale(store, run, row, protocols)
        if searched and not any(hits_in(row[name], searched) for name in ("item", "explanation")):
            item = items_between(store, run, row["seq"], row["seq"]).get(row["seq"])
            texts = item.fields.items() if item is not None else ()
            place, found = next(
                ((name, part) for name, value in texts if (part := snippet(field_text(value), searched))),
                ("", ""),
            )
        more.append({**row, "status_text": words, "snippet_of": place, "snippet": found})
    return more


def hits_in(text: str, searched: str) -> bool:
    """Whether a text contains what is searched for, in any case."""
    return searched.lower() in text.lower()


def _off_scale(store: Store, run: RunRow, row: IndexedRow, protocols: Mapping[str, Protocol]) -> str:
    """Whether the scores of a row are between two levels or out of range; both may be true of several samples."""
    protocol = protocols.get(row["protocol"])
    scale = protocol.criteria.get(row["criterion"]) if protocol is not None else None
    reasons = {
        off_scale_text(score, place.reply, scale)
        for place in calls_of_item(store, run, row["seq"])
        if place.judgment is not None and (place.about.protocol, place.about.model) == (row["protocol"], row["model"])
        for score in place.judgment.scores
        if (score.criterion, score.subject, score.status) == (row["criterion"], row["subject"], row["status"])
    }  # fmt: skip
    return reasons.pop() if len(reasons) == 1 else status_text(row["status"])


def _columns(choices: dict[str, Any]) -> dict[str, str]:
    """The columns that this run has, with their names."""
    several = {name for name in ("protocol", "model") if len(choices[name]) > 1}
    apart = {name for name, n in choices["n_apart"].items() if n}
    always = {"system", "criterion", "score", "status", "explanation"}
    return {name: text for name, text in COLUMNS_SHOWN.items() if name in always | several | apart}


def _first_columns(columns: dict[str, str], choices: dict[str, Any]) -> tuple[str, ...]:
    """The columns that are shown unless others are chosen: not the protocol where each criterion has its own."""
    is_clear = len(choices["protocol"]) == len(choices["criterion"])
    return tuple(name for name in columns if name != "protocol" or not is_clear)


EXPORTED = (
    "item", "input", "system", "system_a", "system_b", "subject", "protocol", "criterion", "model", "status", "value",
    "choice", "label", "samples_gap", "judges_gap", "orders_gap", "label_gap", "n_samples", "n_failed", "how", "flags",
    "explanation",
)  # fmt: skip
"""The explanation is as the table has it: its first 200 characters."""


def _as_csv(rows: Iterator[IndexedRow]) -> Iterator[str]:
    line = io.StringIO()
    writer = csv.writer(line)
    writer.writerow(EXPORTED)
    for row in rows:
        cells = (row[name] for name in EXPORTED)
        writer.writerow([guarded(cell.strip()) if isinstance(cell, str) else cell for cell in cells])
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def _as_json_lines(rows: Iterator[IndexedRow]) -> Iterator[bytes]:
    for row in rows:
        yield msgspec.json.encode({name: row[name] for name in EXPORTED}) + b"\n"


_SAID = {
    "q": "contains “{}”",
    "system": "system {}",
    "other": "against {}",
    "winner": "winner {}",
    "how": "read by rule {}",
    "status": "status {}",
    "criterion": "criterion {}",
    "protocol": "protocol {}",
    "model": "judge {}",
    "choice": "choice {}",
    "flag": "flag {}",
    "tag": "tag {}",
    "people": "people chose {}",
    "low": "score at least {}",
    "high": "score at most {}",
    "people_low": "people at least {}",
    "people_high": "people at most {}",
    "least": "difference at least {}",
}
_SAID_APART = {
    "people": "judge and people differ",
    "samples": "samples differ",
    "judges": "judges differ",
    "orders": "the two orders differ",
}


def _said_words() -> str:
    """The words of all conditions, for the script of a static copy."""
    apart = {f"apart={kind}": words for kind, words in _SAID_APART.items()}
    return msgspec.json.encode({**_SAID, **apart}).decode()


def _said(wanted: Filter, run: str) -> list[tuple[str, str]]:
    """Each condition of a filter in words, with the address without it."""
    said = []
    for name, value in structs.asdict(wanted).items():
        if value in ("", None) or name in ("sort", "page", "col"):
            continue
        shown = f"{value:.4g}" if isinstance(value, float) else status_text(str(value))
        words = _SAID_APART[value] if name == "apart" else _SAID[name].format(shown)
        empty = Filter.__struct_defaults__[Filter.__struct_fields__.index(name)]
        said.append((words, f"/items?{wanted.query(run, **{name: empty, 'page': 1})}"))
    return said


def _sorted_by(wanted: Filter, run: str, name: str) -> tuple[str, str]:
    """The address that sorts by a column or reverses it, and how it is sorted now."""
    is_up, is_down = wanted.sort == name, wanted.sort == f"-{name}"
    # The most interesting rows come first: the largest disagreement, but the lowest score.
    starts_down = name in ("samples", "judges", "orders", "people")
    new = f"-{name}" if is_up or (starts_down and not is_down) else name
    shown = "ascending" if is_up else "descending" if is_down else ""
    return f"/items?{wanted.query(run, sort=new, page=1)}", shown


LONGEST_TEXT = 60_000
"""Characters of one text on the page; `adjudge runs show` has all of it."""


class ItemPage:
    """The endpoint of one item."""

    def __init__(self, context: Context, items: ItemsPage) -> None:
        self._context = context
        self._items = items

    def page(self, request: Request) -> Response:
        wanted = read_filter(request.query_params)
        seq = query_number(request.query_params.get("n"))
        if seq is None:
            raise StoreError("The address has no item number.\nGo back to the list of runs.")
        with self._context.reading() as store:
            run = run_named(store, request)
            values = self.values(store, run, seq, wanted, query_number(request.query_params.get("row")))
            values |= self._written(request, store, run, values["item"], seq)
        crumbs = [
            (self._context.store_path.name, "/"),
            (run.name, f"/run?{urlencode({'run': run.name})}"),
            ("Items", values["list"]),
            (values["item"].id, None),
        ]
        return self._context.page(request, "view/item.html", crumbs=crumbs, **values)

    def _written(self, request: Request, store: Store, run: RunRow, item: Item, seq: int) -> dict[str, Any]:
        """What people wrote about an item, who writes here, and the same item in other runs."""
        from .compare_page import same_item
        from .review_page import remembered

        limits = self._context.limits
        runs = [one for one in reversed(store.runs()) if limits is None or one.name in limits.runs]
        return {
            "same": same_item(store, run, item, seq, runs),
            "notes": [note for note in store.notes(run) if note.item == item.id],
            "reviewer": remembered(request),
            "read_only": self._context.why_read_only(request),
        }

    def values(self, store: Store, run: RunRow, seq: int, wanted: Filter, row: int | None) -> dict[str, Any]:
        """What a page shows of an item, in the order of a list."""
        item = item_at(store, run, seq)
        places = calls_of_item(store, run, seq)
        labels = [label for label in self._context.labels(store, run) if label.item == item.id]
        has_order = wanted.is_narrowed or bool(wanted.sort)
        # Only a filtered or sorted list needs the copy; otherwise the item numbers give the neighbours.
        listing = self._items.listing(run, FIRST_COPY_SECONDS if has_order else 0.0)
        is_last = not items_between(store, run, seq + 1, seq + 1)
        view = item_view(item, places, protocols_of(store, run), longest=LONGEST_TEXT)
        rows = listing.of_item(seq) or listing.index.made_at_once(store, run, seq)
        place: tuple[int, int] | None = None
        if has_order:
            row = row if row is not None or not rows else rows[0]["id"]
            back, after = _around(listing, run, wanted, row)
            place = listing.place(wanted, row) if row is not None else None
        else:
            back = f"/item?{wanted.query(run.name)}&n={seq - 1}" if seq else None
            after = None if is_last else f"/item?{wanted.query(run.name)}&n={seq + 1}"
        results, flags = _results(rows)
        # The page of the list on which this item is, and its row there.
        page = (place[0] - 1) // ROWS_ON_A_PAGE + 1 if place is not None else wanted.page
        anchor = f"#n{seq}"
        return {
            "run": run.name,
            "item": item,
            "number": seq + 1,
            "place": place,
            "view": view,
            "results": results,
            "flags": flags,
            "labels": labels,
            "others": _others(store, run, item, seq, listing),
            "back": back,
            "next": after,
            "list": f"/items?{wanted.query(run.name, page=page)}{anchor}",
            "is_narrowed": wanted.is_narrowed,
            "searched": wanted.q,
            "permalink": f"/item?{urlencode({'run': run.name, 'n': seq})}",
        }


_MOST_OTHERS = 12
_LONGEST_OTHER = 1500


class OtherOutput(Struct, frozen=True):
    """What another system gave for the same input: the fields that differ, and its results."""

    item: str
    system: str
    url: str
    results: tuple[IndexedRow, ...]
    texts: tuple[tuple[str, str], ...]


def _others(store: Store, run: RunRow, item: Item, seq: int, listing: Listing) -> list[OtherOutput]:
    """The other items of the same group."""
    if item.group is None:
        return []
    others = []
    for number in listing.of_input(item.group, seq, _MOST_OTHERS):
        other = items_between(store, run, number, number).get(number)
        if other is not None:
            texts = [
                (name, shorten(field_text(value), _LONGEST_OTHER).text)
                for name, value in other.fields.items()
                if value != item.fields.get(name)
            ]
            url = f"/item?{urlencode({'run': run.name, 'n': number})}"
            system = other.system if other.system_b is None else f"{other.system_a} – {other.system_b}"
            others.append(OtherOutput(other.id, system, url, tuple(listing.of_item(number)), tuple(texts)))
    return others


def _around(listing: Listing, run: RunRow, wanted: Filter, row: int | None) -> tuple[str | None, str | None]:
    """The addresses of the items before and after this one in the order of the list."""
    if row is None:
        return None, None
    query = wanted.query(run.name)
    back, after = (
        None if neighbour is None else f"/item?{query}&n={neighbour['seq']}&row={neighbour['id']}"
        for neighbour in listing.around(wanted, row)
    )
    return back, after


class ResultLine(Struct):
    """One judge on one criterion: the score, or for a pair the scores of both sides and the choice."""

    criterion: str
    model: str
    a: IndexedRow | None = None
    b: IndexedRow | None = None
    item: IndexedRow | None = None
    """the score of a single response, or the choice of a pair"""
    n_samples: int = 0
    n_failed: int = 0
    statuses: list[str] = field(default_factory=list)
    labels: list[float | str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    """flags that not all results of the item have"""


def _results(rows: list[IndexedRow]) -> tuple[list[ResultLine], list[str]]:
    """The results of an item by judge and criterion, and the flags that all of them have."""
    row_flags = [row["flags"].split() for row in rows]
    common = [
        flag for flag in (row_flags[0] if row_flags else ()) if all(flag in flags for flags in row_flags)
    ]
    lines: dict[tuple[str, str, str], ResultLine] = {}
    for row, flags in zip(rows, row_flags, strict=True):
        key = (row["protocol"], row["criterion"], row["model"])
        line = lines.setdefault(key, ResultLine(row["criterion"], row["model"]))
        setattr(line, row["subject"] or "item", row)
        line.n_samples = max(line.n_samples, row["n_samples"])
        line.n_failed = max(line.n_failed, row["n_failed"])
        line.statuses = list(dict.fromkeys((*line.statuses, row["status"])))
        line.flags = list(dict.fromkeys((*line.flags, *(flag for flag in flags if flag not in common))))
        if row["label"] is not None:
            line.labels.append(row["label"])
    return list(lines.values()), common


def query_number(text: str | None) -> int | None:
    """The number of an item or a row in a query; none where it is not a plain number."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 15:
        return None
    return int(text)
