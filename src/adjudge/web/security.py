"""Who may speak to the local server, and what a page of it may do: checks before and headers after every request.

A web page from anywhere can make a browser send requests to 127.0.0.1, and every program of
every user of this machine can connect to it. So each request must name our own address as its
host (a name that an attacker has pointed here does not), must prove that it comes from whoever
read the address printed in the terminal, and may change something only as JSON sent by one of
our own pages. This file knows nothing of runs; it is plain ASGI, so nothing behind it is exempt.
"""

from __future__ import annotations

import secrets
from html import escape
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import Struct, field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 << 10
"""A label is some hundred bytes long. Whatever is larger was not sent by our pages."""

CSRF_HEADER = "x-adjudge-csrf"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        # Filters are forms that send a query to this very server, so that they work without a script.
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""On every answer, refusals and errors included. Nothing is ever said about other origins (CORS)."""

_OPEN = "/static/"
"""Style sheets and scripts of the package: the same for everybody, and needed by the page that refuses."""


class Secrets(Struct, frozen=True):
    """Made anew at every start; nothing of it is stored."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """in the address that is printed and opened"""
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """in the cookie that the token is exchanged for"""
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """in our own pages; whoever posts must have read one of them"""


class Refusal(Struct, frozen=True):
    """Why a request is not answered: what happened, and what to do."""

    status: int
    happened: str
    remedy: str = ""


_NO_TOKEN = Refusal(
    401,
    "This page needs the address that was printed when Adjudge was started.",
    "Open the whole address from the terminal, with its token. If you have just followed it from another page, "
    "go on with the link below.",
)


class Guard:
    """Wraps an application: lets through what may come through, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, *, port: int, own: Secrets) -> None:
        self._app = app
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._own = own
        # Cookies do not tell ports apart: two servers at once must not take each other's.
        self._cookie = f"adjudge_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        hardened = _with_headers(send)
        headers = _Headers(scope)
        refusal = self._refusal(scope, headers)
        if refusal is None and (location := self._after_exchange(scope)) is not None:
            await _redirect(hardened, location, f"{self._cookie}={self._own.session}")
            return
        refusal = refusal or self._no_session(scope, headers) or self._bad_post(scope, headers)
        if refusal is not None:
            await _refuse(hardened, refusal, scope)
            return
        await self._app(scope, _limited(receive), hardened)

    def _refusal(self, scope: Scope, headers: _Headers) -> Refusal | None:
        """What can be said without knowing who asks."""
        if headers.only("host") not in self._hosts:
            # Compared as a whole: a prefix or a comparison with Origin lets a rebound name through.
            return Refusal(
                403, "This server answers only under its own address.", "Open 127.0.0.1 with its port."
            )
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return Refusal(405, f"{scope['method']} is not known here.")
        return None

    def _after_exchange(self, scope: Scope) -> str | None:
        """Where to go on, without the token in the address, once a cookie holds what it was good for."""
        if scope["method"] == "POST":
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if len(given) != 1 or not _is_same(given[0], self._own.token):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # Two slashes would begin another host's address.
        path = "/" + quote(scope["path"].lstrip("/"))
        return f"{path}?{rest}" if rest else path

    def _no_session(self, scope: Scope, headers: _Headers) -> Refusal | None:
        is_open = scope["path"].startswith(_OPEN) and scope["method"] != "POST"
        if is_open or any(_is_same(found, self._own.session) for found in headers.cookies(self._cookie)):
            return None
        return _NO_TOKEN

    def _bad_post(self, scope: Scope, headers: _Headers) -> Refusal | None:
        """A form or a text from another page can be sent without asking us first; JSON with a header cannot."""
        if scope["method"] != "POST":
            return None
        if (headers.only("content-type") or "").partition(";")[0].strip().lower() != "application/json":
            return Refusal(415, "Only JSON can be posted here.")
        if headers.only("origin") not in {f"http://{host}" for host in self._hosts}:
            return Refusal(403, "This was sent by a page of another origin.")
        if not _is_same(headers.only(CSRF_HEADER) or "", self._own.csrf):
            return Refusal(403, "This was not sent by a page of this server.", "Load the page again.")
        length = headers.only("content-length") or "0"
        if not length.isascii() or not length.isdigit() or int(length) > LARGEST_BODY:
            return Refusal(413, f"More than {LARGEST_BODY} bytes cannot be posted here.")
        return None


class _Headers:
    """The headers of a request. One that is there twice is none: two readers could read two values."""

    def __init__(self, scope: Scope) -> None:
        self._all = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]
        ]

    def only(self, wanted: str) -> str | None:
        found = [value for name, value in self._all if name == wanted]
        return found[0] if len(found) == 1 else None

    def cookies(self, wanted: str) -> list[str]:
        found = []
        for name, value in self._all:
            if name != "cookie":
                continue
            # One cookie at a time: other programs on this host may have set some that cannot be read.
            for part in value.split(";"):
                try:
                    morsel = SimpleCookie(part.strip()).get(wanted)
                except CookieError:
                    continue
                if morsel is not None:
                    found.append(morsel.value)
        return found


def _is_same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


def _limited(receive: Receive) -> Receive:
    """The body as it comes, cut off where it is longer than it may be, whatever its header said."""
    n_bytes = 0

    async def take() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > LARGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return take


def _with_headers(send: Send) -> Send:
    added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [
                (name, value)
                for name, value in message.get("headers", [])
                if name.lower().decode() not in HEADERS
            ]
            message = {**message, "headers": [*kept, *added]}
        await send(message)

    return sending


async def _redirect(send: Send, location: str, cookie: str) -> None:
    headers = [
        (b"location", location.encode("ascii")),
        (b"set-cookie", f"{cookie}; HttpOnly; SameSite=Strict; Path=/".encode("ascii")),
        (b"content-length", b"0"),
    ]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, refusal: Refusal, scope: Scope) -> None:
    """A page for a person who came here by mistake; it holds nothing of what was asked for."""
    again = '<p><a class="btn" href="">Go on</a></p>' if refusal.status == 401 else ""
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Adjudge</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/adjudge.css"></head>'
        f'<body><main class="empty"><h1>{refusal.status}</h1><p>{escape(refusal.happened)}</p>'
        f"<p>{escape(refusal.remedy)}</p>{again}</main></body></html>"
    ).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(page)).encode()),
        # What is left of a body that was refused must not be read as the next request.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else page})
