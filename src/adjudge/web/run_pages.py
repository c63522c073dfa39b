"""The viewer's pages of runs: the list of all, one run with its summary, and two runs compared."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlencode

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..analysis.item_view import has_unread
from ..errors import AdjudgeError, StoreError
from ..store import RunRow, Store, Totals, open_store
from ..store.browsing import calls_per_item, labels_state, reading_of
from .server import Context

if TYPE_CHECKING:
    from .run_parts import RunParts
    from .section_view import SectionView

T = TypeVar("T")

REST = 4
"""While a run grows, the next value is begun after a pause of so many times as long as the last one took."""


class Cached(Generic[T]):
    """A value that takes seconds to make: a thread makes it, and makes it again when its state has changed.

    A page shows the last value there is and says how old it is; no two threads make the same value at once.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._value: T | None = None
        self._state: object = None
        self._error: Exception | None = None
        self._is_making = False
        self._took = 0.0
        self._ended = 0.0
        self.number = 0
        """grows with every new value"""

    def get(self, state: object, wait_seconds: float) -> tuple[T | None, bool]:
        """The last value, and whether it is of this state; waits up to `wait_seconds` for a new one."""
        with self._changed:
            is_rested = self.number == 0 or time.monotonic() - self._ended > min(30.0, REST * self._took)
            if self._state != state and not self._is_making and is_rested:
                self._is_making = True
                threading.Thread(target=self._work, args=(state,), daemon=True).start()
            self._changed.wait_for(lambda: not self._is_making, timeout=wait_seconds)
            if self._error is not None:
                raise self._error
            return self._value, self._state == state

    def _work(self, state: object) -> None:
        began = time.monotonic()
        value: T | None = None
        error: Exception | None = None
        try:
            value = self._make()
        except Exception as raised:  # noqa: BLE001 - `get` raises it again
            error = raised
        with self._changed:
            if error is None:
                self._value, self._state = value, state
            # After an error the state stays as it was, so that a later `get` tries again.
            self._error, self._is_making = error, False
            self._ended = time.monotonic()
            self._took = self._ended - began
            self.number += 1
            self._changed.notify_all()


# The list of runs

State = Hashable
"""Changes whenever the judgments of a run change."""


class UnreadReplies:
    """How many replies of each ended run could not be read completely.

    A call that brought an unreadable reply has not failed, so without this count a run of nothing else would look sound.
    Counting reads every judgment: one thread counts one run after another, and a count is kept until its run changes.
    """

    def __init__(self, store_path: Path) -> None:
        self._store_path = store_path
        self._lock = threading.Lock()
        self._known: dict[str, tuple[State, int | None]] = {}
        self._wanted: dict[str, State] = {}
        self._is_counting = False
        self._in_progress: tuple[str, State] | None = None

    def of(self, runs: Mapping[str, State], wait_seconds: float) -> tuple[dict[str, int | None], bool]:
        """Unread replies by run, none where they cannot be counted; and whether all runs are counted."""
        deadline = time.monotonic() + wait_seconds
        while True:
            with self._lock:
                counted = {
                    name: self._known[name] for name, state in runs.items() if self._is_current(name, state)
                }
                self._wanted |= {
                    name: state
                    for name, state in runs.items()
                    if name not in counted and (name, state) != self._in_progress
                }
                if self._wanted and not self._is_counting:
                    self._is_counting = True
                    threading.Thread(target=self._count, name="unread replies", daemon=True).start()
            is_complete = len(counted) == len(runs)
            if is_complete or time.monotonic() >= deadline:
                return {name: count for name, (_, count) in counted.items()}, is_complete
            time.sleep(0.01)

    def _is_current(self, name: str, state: State) -> bool:
        return name in self._known and self._known[name][0] == state

    def _count(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._is_counting = False
                    return
                self._in_progress = name, state = self._wanted.popitem()
            count = self._of_run(name)
            with self._lock:
                self._known[name] = (state, count)
                self._in_progress = None

    def _of_run(self, name: str) -> int | None:
        try:
            with open_store(self._store_path, write=False) as store:
                places = store.judgments(store.run(name))
                return sum(place.judgment is not None and has_unread(place.judgment) for place in places)
        except (AdjudgeError, sqlite3.Error, OSError):
            return None  # the run was deleted, or its page says what is wrong with the store


LIST_WAIT_SECONDS = 0.5
"""How long the list waits for the counts of unread replies; the page shows later ones as they come."""


class RunLine(Struct, frozen=True):
    """One run as a row of a table."""

    run: str
    status: str
    started: str
    seconds: float
    items: int
    calls: int
    judged: int
    failed: int
    """calls that brought no reply"""
    failures: dict[str, int]
    protocols: list[str]
    models: list[str]
    fakes: list[str]
    cost_usd: float | None
    """none where no price is known"""
    planned: int | None
    unread: int | None = None
    """replies that could not be read in full; none where they were not counted"""


def line_of(run: RunRow, totals: Totals) -> RunLine:
    """A run with its totals."""
    manifest = run.manifest
    return RunLine(
        run=run.name,
        status=run.status,
        started=run.started,
        seconds=run.seconds,
        items=totals.items,
        calls=totals.calls,
        judged=totals.judged,
        failed=sum(totals.failed.values()),
        failures={kind: n for kind, n in totals.failed.items() if n},
        protocols=[f"{protocol['id']}@{protocol['digest']}" for protocol in manifest.get("protocols", [])],
        models=[model["spec"] for model in manifest.get("models", [])],
        fakes=[model["spec"] for model in manifest.get("models", []) if model.get("is_fake")],
        cost_usd=totals.cost_usd if totals.replies > totals.unpriced else None,
        planned=manifest.get("items", {}).get("n"),
    )


class RunsPage:
    """The endpoints of the list."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._unread = UnreadReplies(context.store_path)

    def page(self, request: Request) -> Response:
        lines, is_counted = self._lines()
        return self._context.page(
            request,
            "view/runs.html",
            crumbs=[(self._context.store_path.name, None)],
            lines=lines,
            links={line.run: f"/run?{urlencode({'run': line.run})}" for line in lines},
            is_live=not is_counted or any(line.status == "running" for line in lines),
            live_version=_version(lines),
        )

    def live(self, request: Request) -> Response:
        """The table alone, for a page that updates itself."""
        lines, is_counted = self._lines()
        version = _version(lines)
        is_same = request.query_params.get("version") == version
        links = {line.run: f"/run?{urlencode({'run': line.run})}" for line in lines}
        table: dict[str, Any] = {"lines": lines, "links": links}
        return JSONResponse(
            {
                "version": version,
                "is_live": not is_counted or any(line.status == "running" for line in lines),
                "html": "" if is_same else self._context.fragment(request, "view/runs_table.html", **table),
            }
        )

    def as_json(self, _: Request) -> Response:
        import msgspec

        return Response(msgspec.json.encode(self._lines()[0]), media_type="application/json")

    def _lines(self) -> tuple[list[RunLine], bool]:
        """All runs, the latest first; and whether the unread replies of all ended runs are counted."""
        with self._context.reading() as store:
            runs = list(reversed(store.runs()))
            lines = [line_of(run, self._context.totals(store, run)) for run in runs]
            ended = {
                run.name: (run.id, reading_of(store, run), line.judged)
                for run, line in zip(runs, lines, strict=True)
                if run.status != "running"
            }
        unread, is_counted = self._unread.of(ended, LIST_WAIT_SECONDS)
        return [structs.replace(line, unread=unread.get(line.run)) for line in lines], is_counted


def _version(lines: list[RunLine]) -> str:
    counted = sum(line.judged + line.failed for line in lines)
    return f"{counted}-{'-'.join(f'{line.status}{line.unread}' for line in lines)}"


# One run

WAIT_SECONDS = 4.0
"""How long a page waits for its first summary before it is sent without one."""


def run_named(store: Store, request: Request) -> RunRow:
    """The run named in the query; the last one by default."""
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
        self._cache: dict[int, Cached[RunParts]] = {}

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
            line = line_of(run, self._context.totals(store, run))
            state = (reading_of(store, run), labels_state(store), line)
            per_item = calls_per_item(store, run) if run.status == "running" else 0
        cached = self._cached_for(run)
        parts, is_current = cached.get(state, wait_seconds) if line.calls else (None, True)
        return {
            "line": line,
            "parts": parts,
            "is_current": is_current,
            "is_live": run.status == "running" or not is_current,
            "live_version": f"{cached.number}-{line.judged}-{line.failed}-{line.status}",
            "done": _done(line, per_item),
            "tabs": tabs(run.name),
            "tab": "Summary",
            "query": urlencode({"run": run.name}),
            "item_links": _item_links(run.name),
            "command": f"adjudge report {run.name}",
        }

    def _cached_for(self, run: RunRow) -> Cached[RunParts]:
        with self._lock:
            if run.id not in self._cache:
                self._cache[run.id] = Cached(lambda: self._make(run.name))
            return self._cache[run.id]

    def _make(self, name: str) -> RunParts:
        """Runs in a thread, so it opens the store for itself."""
        from ..analysis.rank import has_logprobs
        from ..analysis.report import summarise
        from ..analysis.run_view import tabulate
        from .run_parts import known_of, run_parts, with_item_links

        with self._context.reading() as store:
            run = store.run(name)
            view = tabulate(store, run, choice_spans=has_logprobs(store, run))
            summary = summarise(view)
            parts = run_parts(summary, **known_of(store, view, summary))
        # The id of an item under a probe ends with the probe's name.
        return with_item_links(parts, lambda probe: f"/items?{urlencode({'run': name, 'q': f'~ {probe}'})}")


def _done(line: RunLine, per_item: int) -> tuple[int, int]:
    """Finished calls, and all calls that the run will make."""
    total = max(line.items, line.planned or 0) * per_item
    return min(line.judged + line.failed, total), total


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


# Two runs compared

_MOST_CACHED = 50


class ComparePage:
    """The endpoints of a comparison."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._cache: dict[tuple[str, str], Cached[tuple[SectionView, ...]]] = {}

    def page(self, request: Request) -> Response:
        values = self._values(request, WAIT_SECONDS)
        crumbs = [(self._context.store_path.name, "/"), ("Compare", None)]
        return self._context.page(request, "view/compare.html", crumbs=crumbs, **values)

    def live(self, request: Request) -> Response:
        """The changing part alone, for a page that updates itself."""
        values = self._values(request, 0.2)
        is_same = request.query_params.get("version") == values["live_version"]
        html = "" if is_same else self._context.fragment(request, "view/compare_live.html", **values)
        return JSONResponse({"version": values["live_version"], "is_live": values["is_live"], "html": html})

    def _values(self, request: Request, wait_seconds: float) -> dict[str, Any]:
        names = list(dict.fromkeys(request.query_params.getlist("with")))
        if len(names) != 2:
            raise StoreError(
                f"A comparison needs two runs; {len(names)} were selected.\nGo back and select two."
            )
        with self._context.reading() as store:
            runs = [store.run(name) for name in names]
            lines = [line_of(run, self._context.totals(store, run)) for run in runs]
            state = (lines, [reading_of(store, run) for run in runs])
        # The older run first: a difference then says what the newer one changed.
        order = sorted((0, 1), key=lambda index: runs[index].id)
        lines = [lines[index] for index in order]
        first, second = (line.run for line in lines)
        cached = self._cached_for(first, second)
        refusal = ""
        parts: tuple[SectionView, ...] | None = None
        is_current = True
        try:
            parts, is_current = cached.get(state, wait_seconds)
        except AdjudgeError as error:
            # Runs without a common item are still shown side by side.
            refusal = str(error)
        return {
            "lines": lines,
            "links": {line.run: f"/run?{urlencode({'run': line.run})}" for line in lines},
            "sections": parts,
            "refusal": refusal,
            "is_live": not is_current or any(line.status == "running" for line in lines),
            "live_version": f"{cached.number}-{'-'.join(str(line.judged) for line in lines)}",
            "query": urlencode([("with", line.run) for line in lines]),
        }

    def _cached_for(self, first: str, second: str) -> Cached[tuple[SectionView, ...]]:
        with self._lock:
            if len(self._cache) > _MOST_CACHED:
                self._cache.clear()
            return self._cache.setdefault((first, second), Cached(lambda: self._make(first, second)))

    def _make(self, first: str, second: str) -> tuple[SectionView, ...]:
        """Runs in a thread, so it opens the store for itself."""
        from ..analysis.compare import compare_views
        from ..analysis.compare_words import compare_sections
        from ..analysis.run_view import tabulate
        from .section_view import views_of

        with self._context.reading() as store:
            before, after = (
                tabulate(store, store.run(name), for_comparison=True) for name in (first, second)
            )
        return views_of(compare_sections(compare_views(before, after)))
