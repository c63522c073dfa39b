"""The list of runs: what was judged, by whom, at what cost, and how it ended. Also as JSON."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..store import RunRow, Totals
from ..store.browsing import reading_of
from .context import Context
from .unread import UnreadReplies

PATIENCE_SECONDS = 0.5
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
        unread, is_counted = self._unread.of(ended, PATIENCE_SECONDS)
        return [structs.replace(line, unread=unread.get(line.run)) for line in lines], is_counted


def _version(lines: list[RunLine]) -> str:
    counted = sum(line.judged + line.failed for line in lines)
    return f"{counted}-{'-'.join(f'{line.status}{line.unread}' for line in lines)}"
