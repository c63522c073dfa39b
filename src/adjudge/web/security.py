"""Checks before and headers after every request to the local server.

Any web page can make a browser send requests to 127.0.0.1, and every program of every user of this machine can connect to
it. So a request must name this server's address as its host (a rebound DNS name does not), must hold the session cookie
that the printed address was exchanged for, and may change something only as JSON sent by one of the server's own pages.
Plain ASGI around the whole application, so that no route is exempt.
"""

from __future__ import annotations

from html import escape
from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest, token_urlsafe
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import Struct, field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 64 << 10
"""A label has a few hundred bytes; anything larger was not sent by these pages."""

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
"""On every response, refusals and errors included. There are no CORS headers."""

HAS_SESSION = "adjudge_has_session"
"""Set in the state of a request that passed all checks."""

_OPEN = "/static/"
"""Style sheets and scripts need no session: they hold no data, and the page of a refusal uses them."""


class Secrets(Struct, frozen=True):
    """New at every start; never stored."""

    token: str = field(default_factory=lambda: token_urlsafe(32))
    """in the address that is printed; the first browser that opens it gets the cookie"""
    browser_token: str = field(default_factory=lambda: token_urlsafe(32))
    """the same for the browser that Adjudge opens, so that the printed address still works in another one"""
    session: str = field(default_factory=lambda: token_urlsafe(32))
    """in the cookie that the token is exchanged for"""
    csrf: str = field(default_factory=lambda: token_urlsafe(32))
    """in the server's pages; a POST must send it back"""


class Refusal(Struct, frozen=True):
    """Why a request is not answered: what happened, and what to do."""

    status: int
    happened: str
    remedy: str = ""


_USED_TOKEN = Refusal(
    401,
    "This address has been used: it opens the pages in one browser, once.",
    "Go on in the browser that opened it first, or start Adjudge again for a new address.",
)
_NO_TOKEN = Refusal(
    401,
    "This page needs the address that was printed when Adjudge was started.",
    "Open the complete address from the terminal, with its token. If you just followed it from another page, "
    "continue with the link below.",
)


class Guard:
    """Wraps an application: refuses requests that fail a check, and adds the headers to every response."""

    def __init__(self, app: ASGIApp, *, port: int, secrets: Secrets) -> None:
        self._app = app
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self._secrets = secrets
        self._unused = {secrets.token, secrets.browser_token}
        # Browsers share cookies between ports: two servers at once need different names.
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
            refusal = self._exchange(scope, headers)
            if refusal is None:
                cookie = f"{self._cookie}={self._secrets.session}"
                # A browser withholds the cookie from a redirect that another page began, such as the file that
                # hands the token over; a page of this server that leads on is not another page.
                is_foreign = (headers.only("sec-fetch-site") or "none") not in ("none", "same-origin")
                await (_lead_on if is_foreign else _redirect)(hardened, location, cookie)
                return
        refusal = refusal or self._no_session(scope, headers) or self._bad_post(scope, headers)
        if refusal is not None:
            await _refuse(hardened, refusal, scope)
            return
        # The server drops connections without a session first.
        scope.setdefault("state", {})[HAS_SESSION] = True
        await self._app(scope, _limited(receive), hardened)

    def _refusal(self, scope: Scope, headers: _Headers) -> Refusal | None:
        """The checks that need no session."""
        if headers.only("host") not in self._hosts:
            # The complete value must match: a prefix, or a comparison with Origin, lets a rebound name through.
            return Refusal(
                403, "This server answers only at its own address.", "Open 127.0.0.1 with its port."
            )
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return Refusal(405, f"{scope['method']} is not supported.")
        return None

    def _after_exchange(self, scope: Scope) -> str | None:
        """Where to redirect a request with the right token, so that the token leaves the address bar."""
        if scope["method"] != "GET" or self._token(scope) is None:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # Two slashes would begin the address of another host.
        path = "/" + quote(scope["path"].lstrip("/"))
        return f"{path}?{rest}" if rest else path

    def _token(self, scope: Scope) -> str | None:
        """The token of this server that the address holds, used or not."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        known = (self._secrets.token, self._secrets.browser_token)
        return next((token for token in known if len(tokens) == 1 and _is_same(tokens[0], token)), None)

    def _exchange(self, scope: Scope, headers: _Headers) -> Refusal | None:
        """Use up a token. The browser that has the cookie already may open the address again."""
        token = self._token(scope)
        if token in self._unused:
            self._unused.discard(token)
            return None
        return None if self._has_cookie(headers) else _USED_TOKEN

    def _has_cookie(self, headers: _Headers) -> bool:
        return any(_is_same(cookie, self._secrets.session) for cookie in headers.cookies(self._cookie))

    def _no_session(self, scope: Scope, headers: _Headers) -> Refusal | None:
        is_open = scope["path"].startswith(_OPEN) and scope["method"] != "POST"
        return None if is_open or self._has_cookie(headers) else _NO_TOKEN

    def _bad_post(self, scope: Scope, headers: _Headers) -> Refusal | None:
        """Another site can post a form or text without a preflight request; JSON with a header it cannot."""
        if scope["method"] != "POST":
            return None
        if (headers.only("content-type") or "").partition(";")[0].strip().lower() != "application/json":
            return Refusal(415, "Only JSON can be posted here.")
        if headers.only("origin") not in {f"http://{host}" for host in self._hosts}:
            return Refusal(403, "This request came from a page of another origin.")
        if not _is_same(headers.only(CSRF_HEADER) or "", self._secrets.csrf):
            return Refusal(
                403, "This request did not come from a page of this server.", "Load the page again."
            )
        length = headers.only("content-length") or "0"
        if not length.isascii() or not length.isdigit() or int(length) > LARGEST_BODY:
            return Refusal(413, f"At most {LARGEST_BODY} bytes can be posted here.")
        return None


class _Headers:
    """The headers of a request. A header that is there twice counts as missing: two readers could disagree on it."""

    def __init__(self, scope: Scope) -> None:
        self._all = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]
        ]

    def only(self, wanted: str) -> str | None:
        values = [value for name, value in self._all if name == wanted]
        return values[0] if len(values) == 1 else None

    def cookies(self, wanted: str) -> list[str]:
        values = []
        for name, value in self._all:
            if name != "cookie":
                continue
            # One cookie at a time: other programs on this host may have set cookies that cannot be parsed.
            for part in value.split(";"):
                try:
                    morsel = SimpleCookie(part.strip()).get(wanted)
                except CookieError:
                    continue
                if morsel is not None:
                    values.append(morsel.value)
        return values


def _is_same(value: str, secret: str) -> bool:
    return compare_digest(value.encode("utf-8", "surrogateescape"), secret.encode())


def _limited(receive: Receive) -> Receive:
    """The body, cut off at the limit even where its header claims a smaller size."""
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


async def _lead_on(send: Send, location: str, cookie: str) -> None:
    """A page that sets the cookie and opens the address by itself."""
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Adjudge</title>'
        f'<meta http-equiv="refresh" content="0;url={escape(location)}"></head>'
        f'<body><p><a href="{escape(location)}">Continue</a></p></body></html>'
    ).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"set-cookie", f"{cookie}; HttpOnly; SameSite=Strict; Path=/".encode("ascii")),
        (b"content-length", str(len(page)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": page})


async def _refuse(send: Send, refusal: Refusal, scope: Scope) -> None:
    """A short page that says why; it repeats nothing of the request."""
    again = '<p><a class="btn" href="">Continue</a></p>' if refusal.status == 401 else ""
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Adjudge</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/adjudge.css"></head>'
        f'<body><main class="empty"><h1>{refusal.status}</h1><p>{escape(refusal.happened)}</p>'
        f"<p>{escape(refusal.remedy)}</p>{again}</main></body></html>"
    ).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(page)).encode()),
        # The rest of a refused body must not be read as the next request.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else page})
