"""A browser for tests: speaks ASGI to the application itself,
with a cookie jar and nothing else. No socket, no dependency.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from adjudge.web.routes import build_app
from adjudge.web.security import Secrets

PORT = 8123


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    app: Any,
    method: str,
    url: str,
    headers: Mapping[str, str] | list[tuple[str, str]],
    body: bytes | list[bytes] = b"",
    *,
    is_cut: bool = False,
) -> Answer:
    """One request with exactly these headers; `body` may come in pieces, and the last one may be missing."""
    parts = urlsplit(url)
    pairs = headers if isinstance(headers, list) else list(headers.items())
    pieces = [body] if isinstance(body, bytes) else list(body)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(parts.path),
        "raw_path": parts.path.encode(),
        "root_path": "",
        "query_string": parts.query.encode(),
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", PORT),
    }
    sent: list[dict[str, Any]] = []
    waiting = [
        {"type": "http.request", "body": piece, "more_body": is_cut or index < len(pieces) - 1}
        for index, piece in enumerate(pieces)
    ]

    async def receive() -> dict[str, Any]:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    start = next(message for message in sent if message["type"] == "http.response.start")
    received = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    content = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
    return Answer(start["status"], received, content)


class Browser:
    """Somebody who has opened the printed address."""

    def __init__(self, store: Path, *, session: Any = None, given: Any = None) -> None:
        self.secrets = Secrets()
        self.app = build_app(store, port=PORT, secrets=self.secrets, session=session, given=given)
        self.host = f"127.0.0.1:{PORT}"
        opened = ask(self.app, "GET", f"/?token={self.secrets.token}", {"host": self.host})
        assert opened.status == 303, opened
        self.cookie = opened.headers["set-cookie"].partition(";")[0]

    def get(self, url: str, **headers: str) -> Answer:
        return ask(self.app, "GET", url, {"host": self.host, "cookie": self.cookie, **headers})

    def post(self, url: str, value: Any, **headers: str) -> Answer:
        """JSON, or a raw body, as one of our own pages sends it; headers given here take the place of
        those."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        sent = {
            "content-length": str(len(body)),
            "host": self.host,
            "cookie": self.cookie,
            "origin": f"http://{self.host}",
            "content-type": "application/json",
            "x-adjudge-csrf": self.secrets.csrf,
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        return ask(self.app, "POST", url, sent, body)
