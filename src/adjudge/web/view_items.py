"""The items table: every result of a run, filtered, sorted and searched by the index beside the store."""

from __future__ import annotations

import threading
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ..store import RunRow
from .context import Context
from .filters import Filter, read_filter
from .listing import ROWS_ON_A_PAGE, Listing
from .view_run import run_named, tabs

FIRST_LOOK_SECONDS = 1.5
"""How long a page waits for the rows of a run that nobody has looked at yet; a small run is whole by then."""

GAPS = (("people", "Apart"), ("samples", "Samples"), ("judges", "Judges"), ("orders", "Orders"))
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
            "gaps": [gap for gap in GAPS if choices["n_apart"][gap[0]]],
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
