"""Which page answers which address: the application of the viewer, or of the pages to label on.

Each module of `pages` offers endpoints or `routes`; `build_app` puts all of them behind the same checks
(`security.Guard`), so that no page checks host, token or CSRF itself. An `AdjudgeError` becomes a page (404)
with its message, or JSON after a POST. Static files are read once by name at the start: no request
names a path.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ..data.labels import LabelFile
from ..errors import AdjudgeError, StoreError
from .context import Context, visitor_of
from .invitation import Invitations
from .security import Guard, Secrets
from .sharing import Reach

if TYPE_CHECKING:
    from starlette.types import ASGIApp


_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


Build = Callable[[Reach, int, Secrets], "ASGIApp"]
"""Makes the application for the names and the port of a server, and the secrets of this start."""


def build_app(
    store_path: Path,
    *,
    port: int,
    secrets: Secrets | None = None,
    session: Any = None,
    given: LabelFile | None = None,
    reach: Reach | None = None,
    invitations: Invitations | None = None,
    members: Invitations | None = None,
    is_behind_proxy: bool = False,
) -> ASGIApp:
    """The application for a server on `port`: the viewer, or with a `session` the pages to label on.

    `given` are the labels of a file, shown by the viewer instead of those in the store. A shared server has
    other names than the loopback address (`reach`), and invitations; with `members` it is a hub, too.
    """
    inner = build_pages(Context(store_path, given), session)
    pages = Guard(
        inner,
        port=port,
        secrets=secrets or Secrets(),
        names=None if reach is None else reach.names,
        invitations=invitations,
        is_behind_proxy=is_behind_proxy,
    )
    if members is None or reach is None:
        return pages
    from .hub.hub import Hub

    return Hub(pages, store_path, members, reach.names)


def build_pages(context: Context, session: Any = None) -> Starlette:
    """The pages without the checks around them: what the server wraps, and what a static copy is made of."""
    routes = [Route("/static/{name}", _static(), methods=["GET"])]
    if session is None:
        routes += _view_routes(context)
    else:
        from .pages import annotate

        # A rater must not see the judge's scores, so the viewer is not served at all.
        routes += [*annotate.routes(context, session), Route("/", _to_labels, methods=["GET"])]
    inner = Starlette(
        routes=routes,
        exception_handlers={
            AdjudgeError: _failure(context, 404),
            HTTPException: _failure(context, 404),
            Exception: _failure(context, 500),
        },
    )
    inner.router.redirect_slashes = False
    inner.state.context = context
    return inner


def _to_labels(_: Request) -> Response:
    return RedirectResponse("/annotate", status_code=303)


def _view_routes(context: Context) -> list[Route]:
    from .pages.compare import ComparePage
    from .pages.item import ItemPage
    from .pages.items import ItemsPage
    from .pages.matrix import MatrixPage
    from .pages.review import ReviewPage
    from .pages.run import RunPage
    from .pages.runs import RunsPage

    runs, run, items = RunsPage(context), RunPage(context), ItemsPage(context)
    item, compare = ItemPage(context, items), ComparePage(context)
    matrix = MatrixPage(context, items, item)
    pages = {
        "/": runs.page,
        "/run": run.page,
        "/items": items.page,
        "/items/export": items.export,
        "/item": item.page,
        "/matrix": matrix.page,
        "/matrix/export": matrix.export,
        "/compare": compare.page,
        "/compare/item": compare.item,
        "/live/runs": runs.live,
        "/live/run": run.live,
        "/live/items": items.live,
        "/live/compare": compare.live,
        "/api/runs": runs.as_json,
    }
    routes = [Route(path, endpoint, methods=["GET"]) for path, endpoint in pages.items()]
    return [*routes, *ReviewPage(context, items, item).routes()]


def _static() -> Callable[[Request], Response]:
    """The style sheets and scripts of the package, read once."""
    folder = files("adjudge.web") / "static"
    responses = {
        entry.name: Response(entry.read_bytes(), media_type=_KINDS[Path(entry.name).suffix])
        for entry in folder.iterdir()
        if Path(entry.name).suffix in _KINDS
    }

    def static(request: Request) -> Response:
        response = responses.get(request.path_params["name"])
        if response is None:
            raise HTTPException(404)
        return response

    return static


def _failure(context: Context, status: int) -> Callable[[Request, Exception], Response]:
    """A page that says what happened; the traceback of a bug is printed in the terminal, never sent."""

    def respond(request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else status
        if isinstance(error, StoreError) and not visitor_of(request).is_owner:
            # The message may name files of the machine.
            text = "There is no such page now.\nIf this happens again, tell the person who invited you."
        elif isinstance(error, AdjudgeError):
            text = str(error)
        elif code < 500:
            text = "There is no page at this address."
        else:
            text = (
                "This page failed because of a bug in adjudge. The terminal shows details; please report it."
            )
        if request.method == "POST":
            return JSONResponse({"error": text}, status_code=400 if code == 404 else code)
        return context.page(request, "view/failure.html", status=code, code=code, text=text)

    return respond
