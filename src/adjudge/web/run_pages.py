"""The viewer's pages of runs: the list of all, and one run with its summary."""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import tempfile
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlencode

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ..analysis.item_view import has_unread
from ..errors import AdjudgeError
from ..store import RunRow, Store, Totals
from ..store.browsing import calls_per_item, labels_state, reading_of, reviews_state
from .server import Context

if TYPE_CHECKING:
    from ..analysis.brief import Brief, BriefPart, Estimates
    from ..analysis.result_types import Summary
    from ..analysis.run_view import RunView
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


# Estimates that are kept between two starts of the server

_MOST_KEPT = 200


class Kept:
    """Judge cards and rankings on disk, so that a page does not wait for them again after a restart.

    A file is named by a hash of everything that the estimates depend on: the store, the run and its judgments, the labels
    and the code. It lies in the user's cache folder, readable by this user alone; what cannot be read is estimated again.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._folder = _cache_folder()

    def estimates(self, store: Store, view: RunView, summary: Summary) -> Estimates:
        """The estimates of a run as it is now, kept or new."""
        import msgspec

        from ..analysis.brief import Estimates, estimates_of

        assert view.run is not None
        path = self._folder / f"{self._name(store, view.run)}.msgpack"
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.msgpack.decode(path.read_bytes(), type=Estimates)
        estimates = estimates_of(store, view, summary, self._context.given)
        if view.run.status != "running" and (estimates.card is not None or estimates.ranking is not None):
            with contextlib.suppress(OSError):
                self._keep(path, msgspec.msgpack.encode(estimates))
        return estimates

    def _name(self, store: Store, run: RunRow) -> str:
        import msgspec

        given = b"" if self._context.given is None else msgspec.json.encode(self._context.given)
        facts = (
            str(self._context.store_path.resolve()),
            structs.asdict(run),
            reading_of(store, run),
            labels_state(store),
            reviews_state(store),
            structs.asdict(self._context.totals(store, run)),
            blake2b(given).hexdigest(),
            _code_state(),
        )
        return blake2b(repr(facts).encode("utf-8", "backslashreplace"), digest_size=20).hexdigest()

    def _keep(self, path: Path, data: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self._folder)  # readable by this user alone
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
        kept = sorted(self._folder.glob("*.msgpack"), key=lambda one: one.stat().st_mtime)
        for oldest in kept[:-_MOST_KEPT]:
            oldest.unlink(missing_ok=True)


def _cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(home) if home else Path.home() / ".cache") / "adjudge" / "estimates"


@cache
def _code_state() -> int:
    """Changes with the code: an update must not show estimates of an older version."""
    package = Path(__file__).parents[1]
    return max(path.stat().st_mtime_ns for path in package.rglob("*.py"))


# The list of runs

State = Hashable
"""Changes whenever the judgments of a run change."""


class AboutRun(Struct, frozen=True):
    """What takes a while to find out about a run."""

    unread: int | None = None
    """replies that could not be read in full"""
    strip: tuple[BriefPart, ...] = ()
    """the run in short, by its first criterion"""
    n_criteria: int = 0
    trust: float | None = None
    is_all_failed: bool = False


class AboutRuns:
    """What the list says of each ended run beyond its totals: the unread replies, and the run in short.

    A call that brought an unreadable reply has not failed, so without that count a run of nothing else would look sound.
    Both read every judgment: one thread takes one run after another, and what it found is kept until the run changes.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept = Kept(context)
        self._lock = threading.Lock()
        self._known: dict[str, tuple[State, AboutRun]] = {}
        self._wanted: dict[str, State] = {}
        self._is_counting = False
        self._in_progress: tuple[str, State] | None = None

    def of(self, runs: Mapping[str, State], wait_seconds: float) -> tuple[dict[str, AboutRun], bool]:
        """What is known by run; and whether all runs are known."""
        deadline = time.monotonic() + wait_seconds
        while True:
            with self._lock:
                counted = {
                    name: self._known[name] for name, state in runs.items() if self._is_current(name, state)
                }
                self._wanted |= {
                    name: state
                    for name, state in runs.items()
                    if name not in counted and self._in_progress != (name, state)
                }
                if self._wanted and not self._is_counting:
                    self._is_counting = True
                    threading.Thread(target=self._count, name="about runs", daemon=True).start()
            is_complete = len(counted) == len(runs)
            if is_complete or time.monotonic() >= deadline:
                return {name: about for name, (_, about) in counted.items()}, is_complete
            time.sleep(0.01)

    def _is_current(self, name: str, state: State) -> bool:
        return name in self._known and self._known[name][0] == state

    def _count(self) -> None:
        while True:
            with self._lock:
                self._in_progress = None
                if not self._wanted:
                    self._is_counting = False
                    return
                name, state = self._in_progress = self._wanted.popitem()
            about = self._of_run(name)
            with self._lock:
                self._known[name] = (state, about)
                self._in_progress = None

    def _of_run(self, name: str) -> AboutRun:
        unread = None
        try:
            with self._context.reading() as store:
                run = store.run(name)
                places = store.judgments(run)
                unread = sum(place.judgment is not None and has_unread(place.judgment) for place in places)
                brief = self._brief(store, run)
        except (AdjudgeError, sqlite3.Error, OSError):
            return AboutRun(unread)  # the run was deleted, or its page says what is wrong with the store
        from ..analysis.brief import brief_parts

        first = brief.criteria[0].agreement if brief.criteria else None
        return AboutRun(
            unread,
            brief_parts(brief),
            len(brief.criteria),
            first.value if first is not None else None,
            brief.is_all_failed,
        )

    def _brief(self, store: Store, run: RunRow) -> Brief:
        from ..analysis.brief import brief_of_run
        from ..analysis.rank import has_logprobs
        from ..analysis.report import summarise
        from ..analysis.run_view import tabulate

        view = tabulate(store, run, choice_spans=has_logprobs(store, run))
        summary = summarise(view)
        return brief_of_run(store, view, summary, self._kept.estimates(store, view, summary))


LIST_WAIT_SECONDS = 0.5
"""How long the list waits for what takes a while to find out; the page shows later findings as they come."""


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


class ListedRun(Struct, frozen=True):
    """One run of the list: its line, the run in short, and its address."""

    line: RunLine
    about: AboutRun
    url: str

    @property
    def is_all_failed(self) -> bool:
        return self.about.is_all_failed or 0 < self.line.calls == self.line.failed

    @property
    def is_pending(self) -> bool:
        """Whether the judgments of an ended run are still being read."""
        return self.line.unread is None and self.line.status != "running"

    def part(self, name: str) -> BriefPart | None:
        """A part of the run in short."""
        return next((part for part in self.about.strip if part.name == name), None)


RUN_SORTS: dict[str, Callable[[ListedRun], Any]] = {
    "run": lambda one: one.line.run.casefold(),
    "started": lambda one: one.line.started,
    "items": lambda one: one.line.items,
    "calls": lambda one: one.line.calls,
    "failed": lambda one: one.line.failed / max(1, one.line.calls),
    "unread": lambda one: one.line.unread or 0,
    "trust": lambda one: -2.0 if one.about.trust is None else one.about.trust,
    "cost": lambda one: one.line.cost_usd or 0.0,
    "time": lambda one: one.line.seconds,
}


RUN_ORDERS = (
    ("", "latest first"),
    ("started", "oldest first"),
    ("run", "name"),
    ("-trust", "trust, highest first"),
    ("trust", "trust, lowest first"),
    ("-failed", "most failed calls"),
    ("-unread", "most unread replies"),
    ("-cost", "cost, highest first"),
    ("-items", "most items"),
)


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
        self._about = AboutRuns(context)

    def page(self, request: Request) -> Response:
        values = self._values(request)
        if "part" in request.query_params:
            return HTMLResponse(self._context.fragment(request, "view/runs_table.html", **values))
        crumbs = [(self._context.store_path.name, None)]
        return self._context.page(request, "view/runs.html", crumbs=crumbs, **values)

    def live(self, request: Request) -> Response:
        """The table alone, for a page that updates itself."""
        values = self._values(request)
        is_same = request.query_params.get("version") == values["live_version"]
        return JSONResponse(
            {
                "version": values["live_version"],
                "is_live": values["is_live"],
                "html": "" if is_same else self._context.fragment(request, "view/runs_table.html", **values),
            }
        )

    def as_json(self, _: Request) -> Response:
        import msgspec

        return Response(
            msgspec.json.encode([one.line for one in self._runs()[0]]), media_type="application/json"
        )

    def _values(self, request: Request) -> dict[str, Any]:
        runs, is_known = self._runs()
        wanted = request.query_params.get("q", "").strip()[:200]
        sort = request.query_params.get("sort", "")
        sort = sort if sort.removeprefix("-") in RUN_SORTS else ""
        shown = [one for one in runs if _mentions(one.line, wanted)]
        if sort:
            shown.sort(key=RUN_SORTS[sort.removeprefix("-")], reverse=sort.startswith("-"))
        return {
            "runs": shown,
            "n_runs": len(runs),
            "q": wanted,
            "sort": sort,
            "sorts": RUN_ORDERS,
            "sorted_by": lambda name: _runs_sorted_by(name, sort, wanted),
            "query": urlencode({"q": wanted, "sort": sort}),
            "is_live": not is_known or any(one.line.status == "running" for one in runs),
            "live_version": _version([one.line for one in runs]),
        }

    def _runs(self) -> tuple[list[ListedRun], bool]:
        """All runs, the latest first; and whether everything about the ended ones is known."""
        limits = self._context.limits
        with self._context.reading() as store:
            runs = [run for run in reversed(store.runs()) if limits is None or run.name in limits.runs]
            lines = [line_of(run, self._context.totals(store, run)) for run in runs]
            labels = (labels_state(store), reviews_state(store))
            ended = {
                run.name: (run.id, reading_of(store, run), line.judged, labels)
                for run, line in zip(runs, lines, strict=True)
                if run.status != "running"
            }
        known, is_known = self._about.of(ended, LIST_WAIT_SECONDS)
        return [
            ListedRun(
                structs.replace(line, unread=known.get(line.run, AboutRun()).unread),
                known.get(line.run, AboutRun()),
                f"/run?{urlencode({'run': line.run})}",
            )
            for line in lines
        ], is_known


def _mentions(line: RunLine, wanted: str) -> bool:
    """Whether a run, its judges or its protocols have all words of a search."""
    text = " ".join((line.run, line.status, *line.models, *line.protocols)).casefold()
    return all(word in text for word in wanted.casefold().split())


def _runs_sorted_by(name: str, sort: str, wanted: str) -> tuple[str, str]:
    """The address that sorts the list by a column or reverses it, and how it is sorted now."""
    is_up, is_down = sort == name, sort == f"-{name}"
    # Names from A, everything else from the largest.
    new = f"-{name}" if is_up or (name != "run" and not is_down) else name
    query = {key: value for key, value in (("q", wanted), ("sort", new)) if value}
    return f"/?{urlencode(query)}", "ascending" if is_up else "descending" if is_down else ""


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
    return [
        ("Summary", f"/run?{query}"),
        ("Items", f"/items?{query}"),
        ("Matrix", f"/matrix?{query}"),
        ("Largest disagreements", f"/items?{query}&worst=1"),
        ("Review", f"/review?{query}"),
    ]


_PACE_SECONDS = 60.0
"""How far back the rate of a running run looks."""


class Pace:
    """How fast a running run is: calls per second, from what the page saw of it in the last minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: deque[tuple[float, int]] = deque()

    def rate(self, done: int, started: str, now: float | None = None) -> float | None:
        """Calls per second. At first sight of a run it is the rate since its start; none where nothing is done yet."""
        now = time.monotonic() if now is None else now
        with self._lock:
            self._seen.append((now, done))
            while self._seen[0][0] < now - _PACE_SECONDS:
                self._seen.popleft()
            first, before = self._seen[0]
        if now - first < 2.0:
            first, before = now - _seconds_since(started), 0
        return (done - before) / (now - first) if now > first and done > before else None


def _seconds_since(stamp: str) -> float:
    with contextlib.suppress(ValueError):
        began = datetime.fromisoformat(stamp)
        return (datetime.now(UTC) - began.replace(tzinfo=began.tzinfo or UTC)).total_seconds()
    return 0.0


class LiveProgress(Struct, frozen=True):
    """How far a running run is: calls, their rate, the time left and the cost."""

    done: int
    total: int
    rate: float | None
    seconds_left: float | None
    spent_usd: float | None
    expected_usd: float | None
    """of the complete run, if the other calls cost as much"""


def live_progress(line: RunLine, per_item: int, pace: Pace) -> LiveProgress:
    """The progress of a running run as it is now."""
    total = max(line.items, line.planned or 0) * per_item
    done = min(line.judged + line.failed, total)
    # The start of a run that was resumed says nothing of its rate.
    rate = pace.rate(done, "" if line.seconds else line.started)
    spent = line.cost_usd
    return LiveProgress(
        done,
        total,
        rate,
        (total - done) / rate if rate else None,
        spent,
        spent / done * total if spent and done else None,
    )


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
            line = line_of(run, self._context.totals(store, run))
            state = (reading_of(store, run), labels_state(store), reviews_state(store), line)
            per_item = calls_per_item(store, run) if run.status == "running" else 0
        from .run_parts import command_of

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
            "label_command": shlex.join(
                ["adjudge", "annotate", run.name, "-n", "50", "--store", self._context.shown_store(request)]
            ),
            "run_command": command_of(run.manifest),
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
        from .section_view import Doors

        with self._context.reading() as store:
            run = store.run(name)
            view = tabulate(
                store,
                run,
                choice_spans=has_logprobs(store, run),
                on_read=lambda n: self._n_read.update({name: n}),
            )
            summary = summarise(view)
            estimates = self._kept.estimates(store, view, summary)
            known = known_of(store, view, summary, self._context.given, estimates)
            parts = run_parts(summary, **known, doors=Doors.of(summary))
        # The id of an item under a probe ends with the probe's name.
        return with_item_links(parts, lambda probe: f"/items?{urlencode({'run': name, 'q': f'~ {probe}'})}")


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
