"""Two runs side by side."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..errors import StoreError
from .context import Context
from .view_runs import line_of


class ComparePage:
    """The endpoint of a comparison."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def page(self, request: Request) -> Response:
        names = list(dict.fromkeys(request.query_params.getlist("with")))
        if len(names) != 2:
            raise StoreError(f"Two runs are compared; {len(names)} were chosen.\nGo back and choose two.")
        with self._context.reading() as store:
            lines = [line_of(run, self._context.totals(store, run)) for run in map(store.run, names)]
        crumbs = [(self._context.store_path.name, "/"), ("Compare", None)]
        return self._context.page(request, "view/compare.html", crumbs=crumbs, lines=lines)
