"""Starts the local server: one socket on the loopback address, an address with a fresh token, a browser.

It cannot be told to listen anywhere else. What is served is none of its business.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ..errors import AdjudgeError
from .page_context import Context
from .security import Guard, Secrets

if TYPE_CHECKING:
    from starlette.types import ASGIApp


# The application behind `adjudge view` and `adjudge annotate`: which address shows what.
#
# How other pages are mounted. A module offers `routes(context) -> list[Route]`; `build_app` puts
# them behind the same checks (`security.Guard`), so a route never checks host, token or CSRF itself:
#
#     def routes(context: Context) -> list[Route]:
#         return [Route("/annotate", page), Route("/annotate/label", put, methods=["POST"])]
#
# - `annotate.routes(context, session)` is mounted, in place of the viewer, when `build_app(..., session=...)`
#   is given one; every address of it begins with /annotate.
# - Endpoints are plain functions `def page(request: Request) -> Response` (Starlette runs them in
#   a thread); one that takes a body is `async def` and uses `await request.json()`.
# - `context.page(request, "annotate/label.html", **values)` renders a template, which extends
#   view/frame.html: base.html with `<meta name="csrf" content="…">`, the theme button and
#   /static/adjudge.js (keys t and ?). A script posts with
#   `fetch(url, {method: "POST", headers: {"Content-Type": "application/json", "X-Adjudge-CSRF": …}})`.
# - `context.reading()` is the store for reading; whoever writes opens `context.store_path` itself.
# - An `AdjudgeError` that leaves an endpoint becomes a page (404) with its message; JSON for a POST.
# - Files in `static/` are under /static/NAME, all of them known at the start: no file is ever
#   opened by a name that a request gives. Ids of items and runs are query parameters only.


_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def build_app(store_path: Path, *, port: int, own: Secrets | None = None, session: Any = None) -> ASGIApp:
    """The whole application with its checks around it, for a server that listens on `port`."""
    own = own or Secrets()
    context = Context(store_path, own.csrf)
    routes = [Route("/static/{name}", _static(), methods=["GET"])]
    if session is None:
        routes += _view_routes(context)
    else:
        from . import annotate

        # Whoever labels must not come upon the judge's scores: the viewer is not there at all.
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
    return Guard(inner, port=port, own=own)


def _to_labels(_: Request) -> Response:
    return RedirectResponse("/annotate", status_code=303)


def _view_routes(context: Context) -> list[Route]:
    from .item_page import ItemPage
    from .items_table import ItemsPage
    from .run_pages import ComparePage, RunPage, RunsPage

    runs, run, items = RunsPage(context), RunPage(context), ItemsPage(context)
    item, compare = ItemPage(context, items), ComparePage(context)
    pages = {
        "/": runs.page,
        "/run": run.page,
        "/items": items.page,
        "/item": item.page,
        "/compare": compare.page,
        "/live/runs": runs.live,
        "/live/run": run.live,
        "/live/items": items.live,
        "/live/compare": compare.live,
        "/api/runs": runs.as_json,
    }
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in pages.items()]


def _static() -> Callable[[Request], Response]:
    """The package's own style sheets and scripts, read once."""
    folder = files("adjudge.web") / "static"
    known = {
        entry.name: Response(entry.read_bytes(), media_type=_KINDS[Path(entry.name).suffix])
        for entry in folder.iterdir()
        if Path(entry.name).suffix in _KINDS
    }

    def static(request: Request) -> Response:
        found = known.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return found

    return static


def _failure(context: Context, status: int) -> Callable[[Request, Exception], Response]:
    """A page that says what happened; the trace of a fault of ours is printed by the server, never sent."""

    def answer(request: Request, fault: Exception) -> Response:
        code = fault.status_code if isinstance(fault, HTTPException) else status
        if isinstance(fault, AdjudgeError):
            text = str(fault)
        elif code < 500:
            text = "There is nothing under this address."
        else:
            text = (
                "This page could not be made: a fault of Adjudge's. The terminal says more; please report it."
            )
        if request.method == "POST":
            return JSONResponse({"error": text}, status_code=400 if code == 404 else code)
        return context.page(request, "view/failure.html", status=code, code=code, text=text)

    return answer


HOST = "127.0.0.1"

Build = Callable[[int, Secrets], "ASGIApp"]
"""Makes the application for the port that was found and the secrets of this start."""


def serve(
    build: Build, *, path: str = "/", port: int = 0, is_opened: bool = True, announce: Callable[[str], None]
) -> None:
    """Serve until interrupted. `path` may have a query; port 0 is any that is free."""
    import uvicorn

    with _listening(port) as listener:
        found: int = listener.getsockname()[1]
        own = Secrets()
        url = address(found, path, own.token)
        settings = uvicorn.Config(
            build(found, own),
            log_level="warning",
            access_log=False,  # its lines would hold the token
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=1,
        )
        announce(url)
        if is_opened:
            # Some browsers run in the terminal, and opening one ends only with it.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        # The server passes on the signal that ended it; folders of ours must be tidied away all the same.
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(settings).run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)


def address(port: int, path: str, token: str) -> str:
    """What to open: the only place where the token stands."""
    return f"http://{HOST}:{port}{path}{'&' if '?' in path else '?'}token={quote(token)}"


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        # From here on a browser that is too quick waits instead of being refused.
        listener.listen(128)
    except (OSError, OverflowError) as fault:
        listener.close()
        reason = getattr(fault, "strerror", None) or str(fault)
        raise AdjudgeError(
            f"Port {port} of {HOST} cannot be used: {reason.lower()}.\n"
            "Choose another with --port, or leave it out: then a free one is found."
        ) from fault
    return listener
