"""The page of one run: its summary with all charts, and while it goes on, how far it is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..store import RunRow, Store
from ..store.browsing import calls_per_item, labels_state, reading_of
from .context import Context
from .live import Kept
from .view_runs import RunLine, line_of

if TYPE_CHECKING:
    from .parts import RunParts

PATIENCE_SECONDS = 4.0
"""How long a page waits for the first summary before it says that it is being made."""


def run_named(store: Store, request: Request) -> RunRow:
    """The run that a query asks for; `last` where it names none."""
    return store.run(request.query_params.get("run") or "last")


def tabs(run: str) -> list[tuple[str, str]]:
    """The pages of a run."""
    query = urlencode({"run": run})
    return [("Summary", f"/run?{query}"), ("Items", f"/items?{query}")]


class RunPage:
    """The endpoints of one run's page."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._kept: dict[int, Kept[RunParts]] = {}

    def page(self, request: Request) -> Response:
        values = self._values(request, PATIENCE_SECONDS)
        name = values["line"].run
        crumbs = [(self._context.store_path.name, "/"), (name, None)]
        return self._context.page(request, "view/run.html", crumbs=crumbs, **values)

    def live(self, request: Request) -> Response:
        """The same content for a page that follows the run, or waits for its summary."""
        values = self._values(request, 0.2)
        is_same = request.query_params.get("version") == values["live_version"]
        return JSONResponse(
            {
                "version": values["live_version"],
                "is_live": values["is_live"],
                "html": "" if is_same else self._context.fragment(request, "view/run_live.html", **values),
            }
        )

    def _values(self, request: Request, wait_seconds: float) -> dict[str, Any]:
        with self._context.reading() as store:
            run = run_named(store, request)
            line = line_of(run, self._context.totals(store, run))
            state = (reading_of(store, run), labels_state(store), line)
            per_item = calls_per_item(store, run) if run.status == "running" else 0
        kept = self._kept_of(run)
        parts, is_current = kept.get(state, wait_seconds) if line.calls else (None, True)
        return {
            "line": line,
            "parts": parts,
            "is_current": is_current,
            "is_live": run.status == "running" or not is_current,
            "live_version": f"{kept.number}-{line.judged}-{line.failed}-{line.status}",
            "done": _done(line, per_item),
            "tabs": tabs(run.name),
            "tab": "Summary",
            "query": urlencode({"run": run.name}),
            "doors": _doors(run.name),
            "command": f"adjudge report {run.name}",
        }

    def _kept_of(self, run: RunRow) -> Kept[RunParts]:
        with self._lock:
            if run.id not in self._kept:
                self._kept[run.id] = Kept(lambda: self._make(run.name))
            return self._kept[run.id]

    def _make(self, name: str) -> RunParts:
        """Runs in a thread of its own, with a store of its own."""
        from ..report import summary_of
        from .parts import known_of, run_parts

        with self._context.reading() as store:
            run = store.run(name)
            summary = summary_of(store, run)
            return run_parts(summary, **known_of(store, run, summary))


def _done(line: RunLine, per_item: int) -> tuple[int, int]:
    """Calls that have come to an end, of those that the run will take."""
    total = max(line.items, line.planned or 0) * per_item
    return min(line.judged + line.failed, total), total


def _doors(run: str) -> list[tuple[str, str]]:
    """Ways into the items that are asked for most."""
    return [
        (text, f"/items?{urlencode({'run': run, **query})}")
        for text, query in {
            "all items": {},
            "what failed": {"status": "failed"},
            "lowest scores": {"sort": "score"},
            "highest scores": {"sort": "-score"},
        }.items()
    ]
