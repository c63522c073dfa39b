"""The viewer's list of all runs: searched, sorted, and each run in short."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ...analysis.trust.card import Use
from ...errors import AdjudgeError
from ...store import RunRow, Store
from ...store.browsing import labels_state, reading_of, reviews_state
from ...words import decimals, number, share
from ..context import Context
from ..kept_estimates import Kept
from ..parts.charts.agreement_strip import agreement_strip
from ..parts.run_line import RunLine, run_line

if TYPE_CHECKING:
    from ...analysis.report.first_screen import CriterionAnswer, FirstScreen


State = Hashable
"""Changes whenever the judgments of a run change."""


class CriterionLine(Struct, frozen=True):
    """One criterion of a run in the list: its best system, and the agreement with people in miniature."""

    name: str
    """empty for the only one"""
    best: str = ""
    is_lead: bool = False
    """whether the best system has a significant lead"""
    mean: str = ""
    """of the only system"""
    agreement: str = ""
    people: str = ""
    """agreement of people with each other"""
    picture: Markup | None = None


class AboutRun(Struct, frozen=True):
    """What takes a while to find out about a run."""

    unread: int | None = None
    """replies that could not be read in full"""
    verdict: str = ""
    use: Use = "unknown"
    criteria: tuple[CriterionLine, ...] = ()
    n_more: int = 0
    """criteria beyond those"""
    trust: float | None = None
    """the agreement on the criterion for which the judge is least usable"""
    is_all_failed: bool = False


class AboutRuns:
    """What the list says of each ended run beyond its totals: the unread replies, and the run in short.

    A call that brought an unreadable reply has not failed, so without that count a run of nothing else would
    look sound. Both read every judgment: one thread takes one run after another, and what it found is kept
    until the run changes.
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
                # The first of the list is the first that is looked at.
                name = next(iter(self._wanted))
                state = self._wanted.pop(name)
                self._in_progress = (name, state)
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
                unread = sum(place.judgment is not None and place.judgment.is_unread for place in places)
                screen = self._screen(store, run)
        except (AdjudgeError, OSError):
            return AboutRun(unread)  # the run was deleted, or its page says what is wrong with the store
        lines = tuple(_line(about, is_only=len(screen.criteria) == 1) for about in screen.criteria)
        worst = screen.criteria[screen.opened].agreement if screen.criteria else None
        return AboutRun(
            unread,
            screen.verdict,
            screen.use,
            lines[:_MOST_LINES],
            max(0, len(lines) - _MOST_LINES),
            worst.value if worst is not None else None,
            screen.state == "all failed",
        )

    def _screen(self, store: Store, run: RunRow) -> FirstScreen:
        from ...analysis.brief.brief import brief_of_run
        from ...analysis.rank.rank import has_logprobs
        from ...analysis.report.first_screen import first_screen
        from ...analysis.report.report import summarise
        from ...analysis.run_view.tabulate import tabulate

        view = tabulate(store, run, choice_spans=has_logprobs(store, run))
        summary = summarise(view)
        estimates = self._kept.estimates(store, view, summary)
        brief = brief_of_run(store, view, summary, estimates)
        return first_screen(summary, brief, estimates.of_run, estimates.ranking)


_MOST_LINES = 4


def _line(about: CriterionAnswer, *, is_only: bool) -> CriterionLine:
    """A criterion in short: the best system, of a single one its mean, and the agreement with people."""
    write = share if about.kind == "choices" else number
    judge = about.agreement.value if about.agreement is not None else None
    people = about.people.value if about.people is not None else None
    mean = about.systems[0].best_known if len(about.systems) == 1 and not about.best else None
    return CriterionLine(
        "" if is_only else about.name,
        about.best,
        about.is_lead,
        "" if mean is None or mean.value is None else f"mean {number(mean.value, decimals(about.scale))}",
        "" if judge is None else write(judge),
        "" if judge is None or people is None else write(people),
        None if judge is None else agreement_strip(judge, people),
    )


LIST_WAIT_SECONDS = 0.5
"""How long the list waits for what takes a while to find out; the page shows later findings as they come."""


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
        shown = [run for run in runs if _mentions(run.line, wanted)]
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
            "is_live": not is_known or any(run.line.status == "running" for run in runs),
            "live_version": _version([run.line for run in runs]),
        }

    def _runs(self) -> tuple[list[ListedRun], bool]:
        """All runs, the latest first; and whether everything about the ended ones is known."""
        limits = self._context.limits
        with self._context.reading() as store:
            runs = [run for run in reversed(store.runs()) if limits is None or run.name in limits.runs]
            lines = [run_line(run, self._context.totals(store, run)) for run in runs]
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
