"""Checks before and headers after every request to the server.

Any web page can make a browser send requests to 127.0.0.1, and every program of every user of this machine
can connect to it; a shared server is reached by a whole network. So a request must name an address of this
server as its host (a rebound DNS name does not), must hold the session cookie that the printed address or an
invitation was exchanged for, and may change something only as JSON sent by one of the server's own pages.
Plain ASGI around the whole application, so that no route is exempt.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from html import escape
from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest, token_urlsafe
from urllib.parse import parse_qsl, quote, urlencode

from msgspec import Struct, field
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import AdjudgeError
from .invitation import Invitations, Visitor, WrongLinks
from .sharing import reach_of

LARGEST_BODY = 64 << 10
"""A label has a few hundred bytes; anything larger was not sent by these pages."""

BODY_SECONDS = 10.0
"""How long a body may take to arrive."""

MOST_BODIES = 4
"""How many bodies of one person may be on their way at once: a page posts one label after the other."""

MOST_HEADERS = 100
LARGEST_HEADERS = 32 << 10

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
"""Set in the state of a request that has a session and passed all checks."""

VISITOR = "adjudge_visitor"
"""In the state of a request: who sent it."""

INVITED = "/invited"
"""Where an invitation is exchanged for a session. The only page, apart from static files, that needs none."""

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
_EARLIER_START = Refusal(
    401,
    "Adjudge was started again since you opened this page, and the address has changed.",
    "Open the new address: it is in the terminal in which Adjudge runs now. If you cannot see that "
    "terminal, stop Adjudge there and give the command again. Runs and labels are in the store: "
    "nothing is lost.",
)
_NOT_INVITED = Refusal(
    401,
    "This page is for invited people, and this browser has no valid invitation.",
    "Open your invitation link again. If it does not work, it was revoked or is incomplete: ask the "
    "person who sent it for a new one. If you started Adjudge yourself, open the address in its "
    "terminal.",
)
_WRONG_LINK = Refusal(
    403,
    "This invitation link is not valid.",
    "It was revoked, or a part of it is missing. Copy the whole link, or ask the person who sent it "
    "for a new one.",
)
_TOO_MANY = Refusal(
    429, "Too many wrong links were tried from here.", "Wait a minute, then open your link again."
)


_NO_BODY = Refusal(400, "The request did not arrive completely.", "Try again.")
_TOO_MANY_BODIES = Refusal(
    429, "Too many requests of yours are on their way.", "Wait a moment, then try again."
)


class Guard:
    """Wraps an application: refuses requests that fail a check, and adds the headers to every response."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int,
        secrets: Secrets,
        names: Mapping[str, str] | None = None,
        invitations: Invitations | None = None,
        is_behind_proxy: bool = False,
    ) -> None:
        self._app = app
        self._names = dict(names or reach_of(None, port).names)
        self._secrets = secrets
        self._unused = {secrets.token, secrets.browser_token}
        # Browsers share cookies between ports: two servers at once need different names.
        self._cookie = f"adjudge_{port}"
        self._invitations = invitations
        self._is_behind_proxy = is_behind_proxy
        self._attempts = WrongLinks()
        self._bodies: Counter[str] = Counter()
        """bodies that are on their way, by person"""

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
        if refusal is None and self._invitations is not None and scope["path"] == INVITED:
            await self._invite(scope, headers, _limited(receive), hardened)
            return
        visitor = await self._visitor(headers) if refusal is None else None
        if refusal is None and (location := self._after_exchange(scope)) is not None:
            refusal = self._exchange(scope, visitor)
            if refusal is None:
                cookie = self._set_cookie(headers, self._secrets.session)
                # A browser withholds the cookie from a redirect that another page began, such as the file
                # that hands the token over; a page of this server that leads on is not another page.
                is_foreign = (headers.only("sec-fetch-site") or "none") not in ("none", "same-origin")
                await (_lead_on if is_foreign else _redirect)(hardened, location, cookie)
                return
        refusal = (
            refusal or self._no_session(scope, headers, visitor) or self._bad_post(scope, headers, visitor)
        )
        if refusal is not None:
            await _refuse(hardened, refusal, scope)
            return
        state = scope.setdefault("state", {})
        state[VISITOR] = visitor or Visitor()
        if visitor is not None:
            # The server drops connections without a session first.
            state[HAS_SESSION] = True
        if scope["method"] == "POST":
            body = await self._posted(visitor or Visitor(), _limited(receive))
            if isinstance(body, Refusal):
                await _refuse(hardened, body, scope)
            else:
                await self._app(scope, _replayed(body, receive), hardened)
            return
        await self._app(scope, _limited(receive), hardened)

    async def _posted(self, visitor: Visitor, receive: Receive) -> bytes | Refusal:
        """The whole body of a request, or why it is not there."""
        person = f"{visitor.kind} {visitor.name}"
        if self._bodies[person] >= MOST_BODIES:
            return _TOO_MANY_BODIES
        self._bodies[person] += 1
        try:
            body = await _body(receive, LARGEST_BODY)
            return _NO_BODY if body is None else body
        finally:
            self._bodies[person] -= 1
            if not self._bodies[person]:
                del self._bodies[person]

    # Cookies

    def _is_secure(self, headers: _Headers) -> bool:
        """Whether the browser speaks TLS to the address that it used."""
        return self._names.get(headers.only("host") or "", "").startswith("https:")

    def _cookie_name(self, headers: _Headers) -> str:
        # Only a page that was sent by TLS can set a cookie of this prefix, and for its own host alone.
        return f"__Host-{self._cookie}" if self._is_secure(headers) else self._cookie

    def _set_cookie(self, headers: _Headers, value: str) -> str:
        flags = "; HttpOnly; SameSite=Strict; Path=/" + ("; Secure" if self._is_secure(headers) else "")
        return f"{self._cookie_name(headers)}={value}{flags}"

    async def _visitor(self, headers: _Headers) -> Visitor | None:
        """Who sends a request; none for a stranger."""
        for cookie in headers.cookies(self._cookie_name(headers)):
            if _is_same(cookie, self._secrets.session):
                return Visitor(csrf=self._secrets.csrf)
            if self._invitations is not None:
                try:
                    visitor = await run_in_threadpool(self._invitations.visitor, cookie)
                except AdjudgeError:
                    visitor = None  # the store cannot be read: no one is let in by it
                if visitor is not None:
                    return visitor
        return None

    # Invitations

    async def _invite(self, scope: Scope, headers: _Headers, receive: Receive, send: Send) -> None:
        """The page of an invitation link, and the exchange of its secret for a session."""
        assert self._invitations is not None
        if scope["method"] != "POST":
            await _send_page(send, 200, _INVITED_PAGE, is_head=scope["method"] == "HEAD")
            return
        client = self._client(scope, headers)
        refusal = self._bad_origin(headers)
        if refusal is None:
            # The right link opens the pages at any time: others who come from the same address, as all do on
            # loopback and behind a proxy, cannot keep a person out by trying wrong ones.
            body = await _body(receive, _LARGEST_LINK)
            session = await run_in_threadpool(self._session_for, body)
            if session is not None:
                await _send_json(send, 200, {"go": "/"}, self._set_cookie(headers, session))
                return
            refusal = _WRONG_LINK if self._attempts.is_allowed(client) else _TOO_MANY
            if body is not None:  # else nothing was tried
                self._attempts.note_failure(client)
        await _refuse(send, refusal, scope)

    def _session_for(self, body: bytes | None) -> str | None:
        assert self._invitations is not None
        try:
            given = json.loads(body or b"")
            return self._invitations.session_for(given.get("token") if isinstance(given, dict) else None)
        except (ValueError, RecursionError, AdjudgeError):
            return None

    def _client(self, scope: Scope, headers: _Headers) -> str:
        """The address that wrong links are counted by; of a
        proxy's header only what the proxy itself has added.
        """
        forwarded = (headers.only("x-forwarded-for") or "").rpartition(",")[2].strip()
        if self._is_behind_proxy and forwarded:
            return forwarded[:100]
        return str((scope.get("client") or ("",))[0])

    # Checks

    def _refusal(self, scope: Scope, headers: _Headers) -> Refusal | None:
        """The checks that need no session."""
        if headers.only("host") not in self._names:
            # The complete value must match: a prefix, or a comparison with Origin, lets a rebound name
            # through.
            return Refusal(
                403,
                "This server answers only at its own address.",
                "Open the address that it was started with.",
            )
        if headers.are_too_many:
            return Refusal(431, "The headers of this request are too large.")
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

    def _exchange(self, scope: Scope, visitor: Visitor | None) -> Refusal | None:
        """Use up a token. The browser that has the cookie already may open the address again."""
        token = self._token(scope)
        if token in self._unused:
            self._unused.discard(token)
            return None
        return None if visitor is not None and visitor.is_owner else _USED_TOKEN

    def _no_session(self, scope: Scope, headers: _Headers, visitor: Visitor | None) -> Refusal | None:
        is_open = scope["path"].startswith(_OPEN) and scope["method"] != "POST"
        if is_open or visitor is not None:
            return None
        has_token = any(name == "token" for name, _ in parse_qsl(scope["query_string"].decode("latin-1")))
        if has_token:
            client = self._client(scope, headers)
            if not self._attempts.is_allowed(client):
                return _TOO_MANY
            self._attempts.note_failure(client)
        if self._invitations is not None:
            return _NOT_INVITED
        # A cookie or a token of ours that is not valid comes from an earlier start on this port.
        return _EARLIER_START if has_token or headers.cookies(self._cookie) else _NO_TOKEN

    def _bad_origin(self, headers: _Headers) -> Refusal | None:
        """Another site can post a form or text without a preflight request; JSON it cannot."""
        if (headers.only("content-type") or "").partition(";")[0].strip().lower() != "application/json":
            return Refusal(415, "Only JSON can be posted here.")
        if headers.only("origin") not in self._names.values():
            return Refusal(403, "This request came from a page of another origin.")
        return None

    def _bad_post(self, scope: Scope, headers: _Headers, visitor: Visitor | None) -> Refusal | None:
        if scope["method"] != "POST":
            return None
        if visitor is None or visitor.kind == "guest":
            return Refusal(403, "This invitation is for reading: nothing can be changed with it.")
        if (refusal := self._bad_origin(headers)) is not None:
            return refusal
        if not _is_same(headers.only(CSRF_HEADER) or "", visitor.csrf):
            return Refusal(
                403, "This request did not come from a page of this server.", "Load the page again."
            )
        length = headers.only("content-length") or "0"
        if not length.isascii() or not length.isdigit() or int(length) > LARGEST_BODY:
            return Refusal(413, f"At most {LARGEST_BODY} bytes can be posted here.")
        return None


class _Headers:
    """The headers of a request. A header that is there twice
    counts as missing: two readers could disagree on it.
    """

    def __init__(self, scope: Scope) -> None:
        self._all = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]
        ]

    @property
    def are_too_many(self) -> bool:
        size = sum(len(name) + len(value) for name, value in self._all)
        return len(self._all) > MOST_HEADERS or size > LARGEST_HEADERS

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
                if wanted not in part:
                    continue
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
    """The body, cut off at the limit even where its header
    claims a smaller size, and where it takes too long.
    """
    n_bytes = 0
    deadline = 0.0
    is_complete = False

    async def take() -> Message:
        nonlocal n_bytes, deadline, is_complete
        if is_complete:
            return await receive()  # waits for the client to go away
        loop = asyncio.get_running_loop()
        deadline = deadline or loop.time() + BODY_SECONDS
        try:
            message = await asyncio.wait_for(receive(), max(0.0, deadline - loop.time()))
        except TimeoutError:
            return {"type": "http.disconnect"}
        n_bytes += len(message.get("body", b""))
        if n_bytes > LARGEST_BODY:
            return {"type": "http.disconnect"}
        is_complete = not message.get("more_body")
        return message

    return take


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that is complete, then what the server says next."""
    is_taken = False

    async def take() -> Message:
        nonlocal is_taken
        if is_taken:
            return await receive()
        is_taken = True
        return {"type": "http.request", "body": body, "more_body": False}

    return take


_LARGEST_LINK = 1 << 10


async def _body(receive: Receive, most: int) -> bytes | None:
    """A short body; none where it is longer than `most` or never ends."""
    parts = b""
    while True:
        message = await receive()
        parts += bytes(message.get("body", b""))
        if message["type"] != "http.request" or len(parts) > most:
            return None
        if not message.get("more_body"):
            return parts


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
        (b"set-cookie", cookie.encode("ascii")),
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
    )
    await _send_page(send, 200, page, [(b"set-cookie", cookie.encode("ascii"))])


_HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Adjudge</title>'
    '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/static/adjudge.css">'
    '<link rel="icon" href="data:,">'
)
_INVITED_PAGE = (
    f'{_HEAD}<meta name="robots" content="noindex"><script src="/static/adjudge.js"></script></head>'
    '<body><main><section class="empty" data-invited><h1>Invitation</h1><p role="status">Opening '
    "your invitation.</p>"
    "<noscript><p>This page needs JavaScript to open your "
    "invitation.</p></noscript></section></main></body></html>"
)
"""The script of the page takes the secret out of the address and posts it; see adjudge.js."""


async def _refuse(send: Send, refusal: Refusal, scope: Scope) -> None:
    """Why a request is not answered: as a short page, or as
    JSON after a POST; it repeats nothing of the request.
    """
    # The rest of a refused body must not be read as the next request.
    closing = [(b"connection", b"close")]
    if scope["method"] == "POST":
        text = f"{refusal.happened} {refusal.remedy}".strip()
        await _send_json(send, refusal.status, {"error": text}, more=closing)
        return
    again = '<p><a class="btn" href="">Continue</a></p>' if refusal is _NO_TOKEN else ""
    page = (
        f"{_HEAD}</head><body><main><section "
        f'class="empty"><h1>{refusal.status}</h1><p>{escape(refusal.happened)}</p>'
        f"<p>{escape(refusal.remedy)}</p>{again}</section></main></body></html>"
    )
    await _send_page(send, refusal.status, page, closing, is_head=scope["method"] == "HEAD")


_HeaderList = list[tuple[bytes, bytes]]


async def _send_page(
    send: Send, status: int, page: str, more: _HeaderList | None = None, *, is_head: bool = False
) -> None:
    await _send(send, status, b"text/html; charset=utf-8", page.encode(), more or [], is_head=is_head)


async def _send_json(
    send: Send, status: int, value: Mapping[str, str], cookie: str = "", more: _HeaderList | None = None
) -> None:
    headers = [*(more or []), *([(b"set-cookie", cookie.encode("ascii"))] if cookie else [])]
    await _send(send, status, b"application/json", json.dumps(value).encode(), headers)


async def _send(
    send: Send, status: int, kind: bytes, body: bytes, more: _HeaderList, *, is_head: bool = False
) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else body})
