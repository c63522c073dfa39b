"""The viewer's page of one run: its summary, and its progress while it runs."""

from __future__ import annotations

import shlex
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ...analysis.item_view.shown_text import shorten
from ...store import TUNING, RunRow, Store
from ...store.browsing import (
    calls_of_item,
    calls_per_item,
    items_between,
    labels_state,
    reading_of,
    reviews_state,
)
from ..cached import WAIT_SECONDS, Cached
from ..context import Context
from ..kept_estimates import Kept
from ..page_addresses import run_named, tabs
from ..parts.live_progress import Pace, live_progress
from ..parts.run_line import run_line

if TYPE_CHECKING:
    from ..parts.run import FailedReply, RunParts


class RunPage:
    """The endpoints of one run's page."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._cache: dict[int, Cached[RunParts]] = {}
        self._kept = Kept(context)
        self._paces: defaultdict[int, Pace] = defaultdict(Pace)
        self._n_read: dict[str, int] = {}
        """run → judgments that were read for the summary that is being made"""

    def page(self, request: Request) -> Response:
        values = self._values(request, WAIT_SECONDS)
        name = values["line"].run
        crumbs = [(self._context.store_path.name, "/"), (name, None)]
        return self._context.page(request, "view/run.html", crumbs=crumbs, **values)

    def live(self, request: Request) -> Response:
        """The changing part alone, for a page that updates itself."""
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
            line = run_line(run, self._context.totals(store, run))
            state = (
                reading_of(store, run),
                labels_state(store),
                reviews_state(store),
                line,
                run.manifest.get(TUNING),
            )
            per_item = calls_per_item(store, run) if run.status == "running" else 0
        from ..parts.method import command_of

        cached = self._cached_for(run)
        parts, is_current = cached.get(state, wait_seconds) if line.calls else (None, True)
        n_read = 0 if parts is not None else self._n_read.get(run.name, 0)
        return {
            "line": line,
            "parts": parts,
            "is_current": is_current,
            "is_live": run.status == "running" or not is_current,
            "live_version": f"{cached.number}-{line.judged}-{line.failed}-{line.status}-{n_read}",
            "live": live_progress(line, per_item, self._paces[run.id]) if run.status == "running" else None,
            "n_read": n_read,
            "tabs": tabs(run.name),
            "tab": "Summary",
            "query": urlencode({"run": run.name}),
            "item_links": _item_links(run.name),
            "run_command": command_of(run.manifest),
            "at": f" {shlex.join(('--store', self._context.shown_store(request)))}",
        }

    def _cached_for(self, run: RunRow) -> Cached[RunParts]:
        with self._lock:
            if run.id not in self._cache:
                self._cache[run.id] = Cached(lambda: self._make(run.name))
            return self._cache[run.id]

    def _make(self, name: str) -> RunParts:
        """Runs in a thread, so it opens the store for itself."""
        from ...analysis.rank.rank import has_logprobs
        from ...analysis.report.report import summarise
        from ...analysis.run_view.tabulate import tabulate
        from ..parts.doors import Doors
        from ..parts.known_of_run import known_of
        from ..parts.run import run_parts, with_item_links

        with self._context.reading() as store:
            run = store.run(name)
            view = tabulate(
                store,
                run,
                choice_spans=has_logprobs(store, run),
                on_read=lambda n: self._n_read.update({name: n}),
            )
            summary = summarise(view)
            estimates = None if view.is_audit else self._kept.estimates(store, view, summary)
            known = known_of(store, view, summary, self._context.given, estimates)
            is_hopeless = bool(summary.n_scores) and summary.n_failed == summary.n_scores
            replies = tuple(_first_replies(store, run)) if is_hopeless else ()
            parts = run_parts(summary, **known, first_replies=replies, doors=Doors.of(summary))
        # The id of an item under a probe ends with the probe's name.
        return with_item_links(parts, lambda probe: f"/items?{urlencode({'run': name, 'q': f'~ {probe}'})}")


_FIRST_REPLIES = 3
_LONGEST_REPLY = 2000


def _first_replies(store: Store, run: RunRow) -> Iterator[FailedReply]:
    """What the judge says to the first items, of a run in which nothing could be read."""
    from ..parts.run import FailedReply

    n = 0
    for seq, item in items_between(store, run, 0, 50).items():
        for place in calls_of_item(store, run, seq):
            scores = place.judgment.scores if place.judgment is not None else ()
            status = next((score.status for score in scores), None)
            status = status or (place.judgment.choice_status if place.judgment is not None else None)
            text = place.reply.text if place.reply is not None else place.error.message if place.error else ""
            if text and place.about.kind != "combine":
                url = f"/item?{urlencode({'run': run.name, 'n': seq})}"
                yield FailedReply(item.id, url, status or "no_reply", shorten(text, _LONGEST_REPLY).text)
                n += 1
                break
        if n == _FIRST_REPLIES:
            return


def _item_links(run: str) -> list[tuple[str, str]]:
    """Links to the item lists that people want most."""
    return [
        (text, f"/items?{urlencode({'run': run, **query})}")
        for text, query in {
            "all items": {},
            "failures": {"status": "failed"},
            "lowest scores": {"sort": "score"},
            "highest scores": {"sort": "-score"},
        }.items()
    ]
