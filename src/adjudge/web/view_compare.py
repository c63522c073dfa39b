"""Two runs side by side: what each was, and what `adjudge compare` says of the same items judged twice."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import AdjudgeError, StoreError
from ..store.browsing import reading_of
from .context import Context
from .live import Kept
from .view_run import PATIENCE_SECONDS
from .view_runs import line_of

if TYPE_CHECKING:
    from ..sections import Section

_KEPT_PAIRS = 50


class ComparePage:
    """The endpoints of a comparison."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Kept[list[Section]]] = {}

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

    def _kept_of(self, first: str, second: str) -> Kept[list[Section]]:
        with self._lock:
            if len(self._kept) > _KEPT_PAIRS:
                self._kept.clear()
            return self._kept.setdefault((first, second), Kept(lambda: self._make(first, second)))

    def _make(self, first: str, second: str) -> list[Section]:
        """Runs in a thread of its own, with a store of its own."""
        from ..contrast import contrast, side_of_run
        from ..contrast.tables import sections

        with self._context.reading() as store:
            before, after = (side_of_run(store, store.run(name)) for name in (first, second))
            return list(sections(contrast(before, after)))


def _is_number(cell: str) -> bool:
    """Whether a column is set to the right, by its first cell."""
    return cell[:1] in tuple("0123456789+-–−") and cell != ""
