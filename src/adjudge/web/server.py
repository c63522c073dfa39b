"""The server behind `adjudge view` and `adjudge annotate`: its pages, what they share, and how it is started.

It listens on the loopback address unless it is shared, and its address holds a new token at every start. Each module of pages offers
endpoints or `routes`; `build_app` puts all of them behind the same checks (`security.Guard`), so that no page checks host,
token or CSRF itself. An `AdjudgeError` becomes a page (404) with its message, or JSON after a POST. Static files are read
once by name at the start: no request names a path.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import sys
import tempfile
import threading
import weakref
import webbrowser
from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ..data.labels import LabelFile
from ..errors import AdjudgeError, DataError, StoreError
from ..records import Label
from ..store import RunRow, Store, Totals, open_store
from .items_index import Indexes
from .security import HAS_SESSION, VISITOR, Guard, Secrets
from .sharing import LOOPBACK, Invitations, Reach, Sharing, Visitor, reach_of, tls_context

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from .static_copy import Limits


class Context:
    """What all pages of one server share: the store, the items tables, and the frame around a page.

    A page opens the store only while it reads, so that the store may be written, moved or replaced while the server runs.
    """

    def __init__(self, store_path: Path, given: LabelFile | None = None) -> None:
        self.store_path = store_path
        self.given = given
        """labels of a file, which replace those in the store"""
        self.limits: Limits | None = None
        """for a static copy: its runs, and how many items of each"""
        self._lock = threading.Lock()
        self._indexes: Indexes | None = None
        self._totals: dict[int, tuple[RunRow, Totals]] = {}

    def reading(self) -> Store:
        """The store, opened for reading; close it by `with`."""
        return open_store(self.store_path, write=False)

    def writing(self) -> Store:
        """The store, opened for writing; close it by `with`. A store that is gone is not made anew."""
        if self.limits is not None or not self.store_path.exists():
            raise StoreError(
                f"{self.store_path}: there is no store that can be written.\nStart `adjudge view` again."
            )
        return open_store(self.store_path)

    def why_read_only(self, request: Request) -> str:
        """Why nothing can be saved; empty where it can."""
        path = self.store_path
        if not visitor_of(request).is_owner:
            return "You are invited to read: nothing can be saved here."
        if self.limits is not None:
            return "This is a copy of the pages: nothing can be saved here."
        if not os.access(path, os.W_OK):
            return f"{path.name} is read-only for you, so nothing can be saved. Copy it, or ask its owner."
        if not os.access(path.absolute().parent, os.W_OK):
            return f"The folder of {path.name} is read-only for you, so nothing can be saved. Copy the store to another folder."
        return ""

    @property
    def indexes(self) -> Indexes:
        """The items tables, in a temporary folder that is deleted when the server ends."""
        with self._lock:
            if self._indexes is None:
                folder = tempfile.mkdtemp(prefix="adjudge-")  # readable by this user alone
                self._indexes = Indexes(Path(folder), self.store_path, self.given)
                weakref.finalize(self, _tidy, self._indexes, folder)
            return self._indexes

    def shown_store(self, request: Request) -> str:
        """The store in a command to copy; its folder is nothing to people who were invited."""
        return str(self.store_path) if visitor_of(request).is_owner else self.store_path.name

    def labels(self, store: Store, run: RunRow) -> list[Label]:
        """The labels of a run: those of the file that was given, or those in the store."""
        return list(self.given.labels) if self.given is not None else list(store.labels(run))

    def totals(self, store: Store, run: RunRow) -> Totals:
        """The totals of a run; those of a run that has ended are counted once."""
        known = self._totals.get(run.id)
        if known is not None and known[0] == run and run.status != "running":
            return known[1]
        totals = store.totals(run)
        self._totals[run.id] = (run, totals)
        return totals

    def page(self, request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A template as a response, with what the frame of all pages needs."""
        return HTMLResponse(self.fragment(request, template, **values), status_code=status)

    def fragment(self, request: Request, template: str, **values: Any) -> str:
        """A template as text."""
        from .templating import render

        common = {
            "csrf": visitor_of(request).csrf,
            "store_name": self.store_path.name,
            "path": request.url.path,
            "is_copy": self.limits is not None,
        }
        return render(template, **common, **values)


def visitor_of(request: Request) -> Visitor:
    """Who sends a request that passed the checks."""
    visitor: Visitor = getattr(request.state, VISITOR, None) or Visitor()
    return visitor


async def posted(request: Request) -> dict[str, Any]:
    """The JSON object that a page has sent."""
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise DataError("The request is not a JSON object. Reload the page.")
    return body


def refused(error: AdjudgeError) -> Response:
    """The answer to a page whose request cannot be carried out."""
    return JSONResponse({"error": str(error)}, status_code=400)


def _tidy(indexes: Indexes, folder: str) -> None:
    indexes.close()
    shutil.rmtree(folder, ignore_errors=True)


_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def build_app(
    store_path: Path,
    *,
    port: int,
    secrets: Secrets | None = None,
    session: Any = None,
    given: LabelFile | None = None,
    reach: Reach | None = None,
    invitations: Invitations | None = None,
    is_behind_proxy: bool = False,
) -> ASGIApp:
    """The application for a server on `port`: the viewer, or with a `session` the pages to label on.

    `given` are the labels of a file, shown by the viewer instead of those in the store. A shared server has other names
    than the loopback address (`reach`), and invitations.
    """
    inner = build_pages(Context(store_path, given), session)
    return Guard(
        inner,
        port=port,
        secrets=secrets or Secrets(),
        names=None if reach is None else reach.names,
        invitations=invitations,
        is_behind_proxy=is_behind_proxy,
    )


def build_pages(context: Context, session: Any = None) -> Starlette:
    """The pages without the checks around them: what the server wraps, and what a static copy is made of."""
    routes = [Route("/static/{name}", _static(), methods=["GET"])]
    if session is None:
        routes += _view_routes(context)
    else:
        from . import annotate

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
    from .compare_page import ComparePage
    from .items_table import ItemPage, ItemsPage
    from .matrix_page import MatrixPage
    from .review_page import ReviewPage
    from .run_pages import RunPage, RunsPage

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


HOST = LOOPBACK

Build = Callable[[Reach, int, Secrets], "ASGIApp"]
"""Makes the application for the names and the port of a server, and the secrets of this start."""


class Announced(NamedTuple):
    """What is printed when a server is ready: the user's own address, and the names of the server."""

    url: str
    reach: Reach
    bind: str
    port: int


def serve(
    build: Build,
    *,
    path: str = "/",
    port: int = 0,
    sharing: Sharing | None = None,
    is_opened: bool = True,
    announce: Callable[[Announced], None],
) -> None:
    """Serve until interrupted. `path` may have a query; port 0 takes any free one."""
    import uvicorn

    bind = HOST if sharing is None else sharing.bind
    tls = tls_context(sharing.tls) if sharing is not None and sharing.tls is not None else None
    with _listening(bind, port) as listener:
        bound_port: int = listener.getsockname()[1]
        secrets, reach = Secrets(), reach_of(sharing, bound_port)
        settings = uvicorn.Config(
            build(reach, bound_port, secrets),
            log_level="warning",
            access_log=False,  # its lines would hold the token
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            http=bounded_protocol(tls=tls),
            # uvloop begins to read even where `connection_made` has paused it, and the first bytes of TLS would be lost.
            loop="auto" if tls is None else "asyncio",
            timeout_graceful_shutdown=1,
        )
        announce(Announced(_with_token(reach.owner, path, secrets.token), reach, bind, bound_port))
        folder = tempfile.mkdtemp(prefix="adjudge-") if is_opened else None
        if folder is not None:
            handover = _handover_file(Path(folder), _with_token(reach.owner, path, secrets.browser_token))
            # Some browsers run in the terminal, and opening one ends only with it.
            threading.Thread(target=webbrowser.open, args=(handover,), daemon=True).start()
        # uvicorn raises the signal that ended it again; temporary folders must be removed all the same.
        previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(settings).run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, previous)
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _handover_file(folder: Path, url: str) -> str:
    """The address of a file, readable by this user alone, that leads to `url`.

    Every user of the machine can read a browser's command line, so the token must not be in it.
    """
    file = folder / "open.html"
    shown = escape(url)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Adjudge</title>'
        f'<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url={shown}"></head>'
        f'<body><p><a href="{shown}">Open Adjudge</a></p></body></html>'
    )
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as out:
        out.write(page)
    return file.as_uri()


_MOST_CONNECTIONS = 64
_IDLE_SECONDS = 20.0
"""How long a connection that has shown no session may stay idle."""


class _Bounded:
    """What `bounded_protocol` adds to uvicorn's protocol."""

    most: int
    idle_seconds: float
    tls: ssl.SSLContext | None
    all_open: dict[Any, None]
    """in the order in which they were opened"""
    loop: Any
    cycle: Any

    def connection_made(self, transport: Any) -> None:
        self.held = transport
        self.is_warned = False
        self.early: list[bytes] | None = None if self.tls is None else []
        self.all_open[self] = None
        if self.tls is None:
            super().connection_made(transport)  # type: ignore[misc]
        else:
            transport.pause_reading()
            self.handshake = self.loop.create_task(self._begin_tls(transport))
        self.loop.call_later(self.idle_seconds, self._close_stranger)
        if len(self.all_open) > self.most:
            self._make_room()

    async def _begin_tls(self, transport: Any) -> None:
        try:
            secured = await self.loop.start_tls(
                transport, self, self.tls, server_side=True, ssl_handshake_timeout=self.idle_seconds / 2
            )
        except (OSError, EOFError):
            secured = None
        if secured is None or self not in self.all_open:
            self.all_open.pop(self, None)
            (secured or transport).abort()
            return
        self.held = secured
        super().connection_made(secured)  # type: ignore[misc]
        early, self.early = b"".join(self.early or []), None
        if early:
            super().data_received(early)  # type: ignore[misc]

    def data_received(self, data: bytes) -> None:
        # The request may arrive together with the end of the handshake, before `_begin_tls` goes on.
        if self.early is not None:
            self.early.append(data)
        else:
            super().data_received(data)  # type: ignore[misc]

    def connection_lost(self, exc: Exception | None) -> None:
        self.all_open.pop(self, None)
        if self.early is None:  # else uvicorn never knew of it
            super().connection_lost(exc)  # type: ignore[misc]

    def _make_room(self) -> None:
        others = [one for one in self.all_open if one is not self and (one.is_idle or not one.has_session)]
        ranked = sorted(others, key=lambda one: (one.has_session, not one.is_idle))
        dropped = ranked[0] if ranked else self
        self.all_open.pop(dropped)
        if dropped.has_session:
            dropped.held.close()  # the rest of its last answer is still sent
        else:
            dropped.held.abort()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered; half a request counts as none, and so does half a handshake."""
        return not self.held.is_closing() and (self.cycle is None or self.cycle.response_complete)

    @property
    def has_session(self) -> bool:
        """Whether its latest request came from somebody with a session."""
        return HAS_SESSION in ((getattr(self, "scope", None) or {}).get("state") or {})

    def _close_stranger(self) -> None:
        if self not in self.all_open:
            return
        # A stranger gets short answers only: a client that takes long over one is not reading it.
        if not self.has_session and (self.is_idle or self.is_warned):
            self.all_open.pop(self)
            self.held.abort()
            return
        self.is_warned = not self.has_session
        self.loop.call_later(self.idle_seconds, self._close_stranger)


def bounded_protocol(
    most: int = _MOST_CONNECTIONS, idle_seconds: float = _IDLE_SECONDS, tls: ssl.SSLContext | None = None
) -> Any:
    """uvicorn's protocol, which accepts every connection and drops others for it, the oldest first: idle ones without a
    session, then busy ones without a session, then idle ones.

    Otherwise anyone who reaches the server could keep it busy by opening connections. TLS begins here, and not in uvicorn,
    so that connections that never finish its handshake are counted and dropped as well.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    limits: dict[str, Any] = {"most": most, "idle_seconds": idle_seconds, "tls": tls, "all_open": {}}
    return type("BoundedProtocol", (_Bounded, AutoHTTPProtocol), limits)


def address(port: int, path: str, token: str) -> str:
    """The address to open; only this one holds the token."""
    return _with_token(f"http://{HOST}:{port}", path, token)


def _with_token(base: str, path: str, token: str) -> str:
    return f"{base}{path}{'&' if '?' in path else '?'}token={quote(token)}"


def _listening(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # From here on a browser that connects before the server is ready waits instead of being refused.
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise AdjudgeError(
            f"Port {port} of {host} cannot be used: {reason.lower()}.\n"
            "Choose another with --port, or leave it out to use a free port."
        ) from error
    return listener
