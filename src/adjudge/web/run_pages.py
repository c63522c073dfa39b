"""Two runs side by side: what each was, and what `adjudge compare` says of the same items judged twice."""

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

from ..errors import AdjudgeError, StoreError
from ..records import Judgment
from ..store import RunRow, Store, Totals, open_store
from ..store.browsing import calls_per_item, labels_state, reading_of
from .server import Context

if TYPE_CHECKING:
    from ..sections import Section
    from .run_parts import RunParts


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


# How many replies of a run could not be read in full: counted beside the list of runs, since it takes a look at each.
#
# A call that brought a reply has not failed, and a list that counted failed calls alone would
# show a run of nothing but unreadable replies as sound. One thread counts one run after another;
# what it found holds until the run's judgments change. A run that goes on is not counted.


State = Hashable
"""Whatever changes with the judgments of a run."""


class UnreadReplies:
    """The counts of all runs of a store that have come to an end."""

    def __init__(self, store_path: Path) -> None:
        self._store_path = store_path
        self._lock = threading.Lock()
        self._known: dict[str, tuple[State, int | None]] = {}
        self._wanted: dict[str, State] = {}
        self._is_counting = False

    def of(self, runs: Mapping[str, State], wait_seconds: float) -> tuple[dict[str, int | None], bool]:
        """By name how many replies could not be read, none where that is not known; and whether all were counted."""
        give_up = time.monotonic() + wait_seconds
        while True:
            with self._lock:
                found = {
                    name: self._known[name] for name, state in runs.items() if self._is_current(name, state)
                }
                self._wanted |= {name: state for name, state in runs.items() if name not in found}
                if self._wanted and not self._is_counting:
                    self._is_counting = True
                    threading.Thread(target=self._count, name="unread replies", daemon=True).start()
            is_whole = len(found) == len(runs)
            if is_whole or time.monotonic() >= give_up:
                return {name: count for name, (_, count) in found.items()}, is_whole
            time.sleep(0.01)

    def _is_current(self, name: str, state: State) -> bool:
        return name in self._known and self._known[name][0] == state

    def _count(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self._is_counting = False
                    return
                name, state = self._wanted.popitem()
            count = self._of_run(name)
            with self._lock:
                self._known[name] = (state, count)

    def _of_run(self, name: str) -> int | None:
        try:
            with open_store(self._store_path, write=False) as store:
                places = store.judgments(store.run(name))
                return sum(place.judgment is not None and _is_lacking(place.judgment) for place in places)
        except (AdjudgeError, sqlite3.Error, OSError):
            return None  # the run was deleted, or its page says what is wrong with the store


def _is_lacking(judgment: Judgment) -> bool:
    """Whether anything that was asked for could not be read."""
    return judgment.choice_status not in (None, "ok") or any(
        score.status != "ok" for score in judgment.scores
    )


# The list of runs: what was judged, by whom, at what cost, and how it ended. Also as JSON.


LIST_PATIENCE_SECONDS = 0.5
"""How long the list waits for what could not be read; what is not counted by then is shown later."""


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
    told = run.manifest
    return RunLine(
        run=run.name,
        status=run.status,
        started=run.started,
        seconds=run.seconds,
        items=totals.items,
        calls=totals.places,
        judged=totals.judged,
        failed=sum(totals.failed.values()),
        failures={kind: n for kind, n in totals.failed.items() if n},
        protocols=[f"{protocol['id']}@{protocol['digest']}" for protocol in told.get("protocols", [])],
        models=[model["spec"] for model in told.get("models", [])],
        fakes=[model["spec"] for model in told.get("models", []) if model.get("is_fake")],
        cost_usd=totals.cost_usd if totals.replies > totals.unpriced else None,
        planned=told.get("items", {}).get("n"),
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
        """The same table for a page that follows a run."""
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
        """All runs, the latest first; and whether what could not be read is counted for all that have ended."""
        with self._context.reading() as store:
            runs = list(reversed(store.runs()))
            lines = [line_of(run, self._context.totals(store, run)) for run in runs]
            ended = {
                run.name: (run.id, reading_of(store, run), line.judged)
                for run, line in zip(runs, lines, strict=True)
                if run.status != "running"
            }
        unread, is_counted = self._unread.of(ended, LIST_PATIENCE_SECONDS)
        return [structs.replace(line, unread=unread.get(line.run)) for line in lines], is_counted


def _version(lines: list[RunLine]) -> str:
    counted = sum(line.judged + line.failed for line in lines)
    return f"{counted}-{'-'.join(f'{line.status}{line.unread}' for line in lines)}"


# The page of one run: its summary with all charts, and while it goes on, how far it is.


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
        self._kept: dict[int, Cached[RunParts]] = {}

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

    def _kept_of(self, run: RunRow) -> Cached[RunParts]:
        with self._lock:
            if run.id not in self._kept:
                self._kept[run.id] = Cached(lambda: self._make(run.name))
            return self._kept[run.id]

    def _make(self, name: str) -> RunParts:
        """Runs in a thread of its own, with a store of its own."""
        from ..analysis.rank import has_logprobs
        from ..analysis.report import summarise
        from ..analysis.run_view import tabulate
        from .run_parts import known_of, run_parts

        with self._context.reading() as store:
            run = store.run(name)
            view = tabulate(store, run, choice_spans=has_logprobs(store, run))
            summary = summarise(view)
            return run_parts(summary, **known_of(store, view, summary))


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


_KEPT_PAIRS = 50


class ComparePage:
    """The endpoints of a comparison."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Cached[list[Section]]] = {}

    def page(self, request: Request) -> Response:
        values = self._values(request, PATIENCE_SECONDS)
        crumbs = [(self._context.store_path.name, "/"), ("Compare", None)]
        return self._context.page(request, "view/compare.html", crumbs=crumbs, **values)

    def live(self, request: Request) -> Response:
        """The same content for a page that waits for it, or follows a run."""
        values = self._values(request, 0.2)
        is_same = request.query_params.get("version") == values["live_version"]
        html = "" if is_same else self._context.fragment(request, "view/compare_live.html", **values)
        return JSONResponse({"version": values["live_version"], "is_live": values["is_live"], "html": html})

    def _values(self, request: Request, wait_seconds: float) -> dict[str, Any]:
        names = list(dict.fromkeys(request.query_params.getlist("with")))
        if len(names) != 2:
            raise StoreError(f"Two runs are compared; {len(names)} were chosen.\nGo back and choose two.")
        with self._context.reading() as store:
            runs = [store.run(name) for name in names]
            lines = [line_of(run, self._context.totals(store, run)) for run in runs]
            state = (lines, [reading_of(store, run) for run in runs])
        # The older run first: a difference is then what the newer one changed.
        order = sorted((0, 1), key=lambda index: runs[index].id)
        lines = [lines[index] for index in order]
        first, second = (line.run for line in lines)
        kept = self._kept_of(first, second)
        refusal = ""
        parts: list[Section] | None = None
        is_current = True
        try:
            parts, is_current = kept.get(state, wait_seconds)
        except AdjudgeError as fault:
            # Runs that share no item can still be looked at beside each other.
            refusal = str(fault)
        return {
            "lines": lines,
            "links": {line.run: f"/run?{urlencode({'run': line.run})}" for line in lines},
            "sections": parts,
            "refusal": refusal,
            "is_number": _is_number,
            "is_live": not is_current or any(line.status == "running" for line in lines),
            "live_version": f"{kept.number}-{'-'.join(str(line.judged) for line in lines)}",
            "query": urlencode([("with", line.run) for line in lines]),
        }

    def _kept_of(self, first: str, second: str) -> Cached[list[Section]]:
        with self._lock:
            if len(self._kept) > _KEPT_PAIRS:
                self._kept.clear()
            return self._kept.setdefault((first, second), Cached(lambda: self._make(first, second)))

    def _make(self, first: str, second: str) -> list[Section]:
        """Runs in a thread of its own, with a store of its own."""
        from ..analysis.compare import compare_views
        from ..analysis.compare_words import compare_sections
        from ..analysis.run_view import tabulate

        with self._context.reading() as store:
            before, after = (
                tabulate(store, store.run(name), for_comparison=True) for name in (first, second)
            )
        return list(compare_sections(compare_views(before, after)))


def _is_number(cell: str) -> bool:
    """Whether a column is set to the right, by its first cell."""
    return cell[:1] in tuple("0123456789+-–−") and cell != ""
