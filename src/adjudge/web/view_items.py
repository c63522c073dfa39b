"""The items table: every result of a run, filtered, sorted and searched by the index beside the store."""

from __future__ import annotations

import sqlite3
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ..store import RunRow
from .context import Context
from .filters import ROWS_ON_A_PAGE, Filter, Where, count, facets, page_of, read_filter, where
from .index import RunIndex
from .view_run import run_named, tabs
from .view_runs import line_of

FIRST_LOOK_SECONDS = 1.5
"""How long a page waits for the rows of a run that nobody has looked at yet; a small run is whole by then."""

GAPS = (("samples", "Samples"), ("judges", "Judges"), ("orders", "Orders"), ("people", "People"))
STATUSES = ("ok", "failed", "unparsed", "out_of_range", "conflicting", "refused", "truncated", "no_reply")
_KEPT_COUNTS = 500


class ItemsPage:
    """The endpoints of the table."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._counts: dict[tuple[int, int, Where], int] = {}
        self._facets: dict[int, tuple[int, dict[str, Any]]] = {}

    def page(self, request: Request) -> Response:
        with self._context.reading() as store:
            run = run_named(store, request)
            line = line_of(run, self._context.totals(store, run))
        values = self._values(request, run)
        if "part" in request.query_params:
            return HTMLResponse(self._context.fragment(request, "view/items_rows.html", **values))
        crumbs = [(self._context.store_path.name, "/"), (run.name, values["tabs"][0][1]), ("Items", None)]
        return self._context.page(request, "view/items.html", crumbs=crumbs, line=line, **values)

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
        index = self._context.indexes.of(run)
        index.follow(FIRST_LOOK_SECONDS)
        progress = index.progress
        version = progress.version
        rule = where(wanted, is_searchable=progress.is_searchable)
        with index.reading() as connection:
            total = self._count(connection, run.id, version, rule)
            rows = page_of(connection, wanted, rule)
            choices = self._choices(connection, run.id, version)
        first = (wanted.page - 1) * ROWS_ON_A_PAGE + 1
        return {
            "run": run.name,
            "filter": wanted,
            "rows": rows,
            "total": total,
            "first": first,
            "last": first + len(rows) - 1,
            "back": f"/items?{wanted.query(run.name, page=wanted.page - 1)}" if wanted.page > 1 else None,
            "next": f"/items?{wanted.query(run.name, page=wanted.page + 1)}"
            if first + len(rows) - 1 < total
            else None,
            "query": wanted.query(run.name),
            "sorted_by": lambda name: _sorted_by(wanted, run.name, name),
            "choices": choices,
            "gaps": [gap for gap in GAPS if choices["n_apart"][gap[0]]],
            "statuses": STATUSES,
            "progress": progress,
            "is_live": run.status == "running" or not progress.is_whole,
            "live_version": f"{version}-{progress.is_whole}-{progress.done * 20 // max(1, progress.total)}",
            "tabs": tabs(run.name),
            "tab": "Items",
        }

    def _count(self, connection: sqlite3.Connection, run: int, version: int, rule: Where) -> int:
        key = (run, version, rule)
        if key not in self._counts:
            if len(self._counts) > _KEPT_COUNTS:
                self._counts = {}
            self._counts[key] = count(connection, rule)
        return self._counts[key]

    def _choices(self, connection: sqlite3.Connection, run: int, version: int) -> dict[str, Any]:
        known = self._facets.get(run)
        if known is None or known[0] != version:
            known = (version, facets(connection))
            self._facets[run] = known
        return known[1]


def rule_for(index: RunIndex, wanted: Filter) -> Where:
    """The condition of a filter on a run's index."""
    return where(wanted, is_searchable=index.progress.is_searchable)


def _sorted_by(wanted: Filter, run: str, name: str) -> tuple[str, str]:
    """The address that sorts by a column, or turns it round; and how it is sorted now."""
    is_up, is_down = wanted.sort == name, wanted.sort == f"-{name}"
    # Numbers are wanted with the most telling first: the largest distance, but the lowest score.
    starts_down = name in ("samples", "judges", "orders", "people")
    new = f"-{name}" if is_up or (starts_down and not is_down) else name
    shown = "ascending" if is_up else "descending" if is_down else ""
    return f"/items?{wanted.query(run, sort=new, page=1)}", shown
