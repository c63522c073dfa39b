"""The addresses of a hub beside the pages: `POST /hub/runs` takes a store, `GET /hub/runs/NAME` gives a run.

A caller has a token and no session, so these requests do not pass the checks of pages: they name an address
of the server as their host, and send the token in a header, which no other page can make a browser do. What
is sent is written to a file of bounded size, checked as a store of strangers, and merged; the answer is sent
when it is durable. Merging takes turns; reading does not wait for it. With `?replace=1` the run has the name
that it was pushed with, and a run that had it before gets another.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ..invitation import Invitations, Visitor, WrongLinks
from ..security import HAS_SESSION

LARGEST_PUSH = 4 << 30
"""Bytes of a store that is pushed."""

_AT_ONCE, _MOST_WAITING = 2, 64
"""How many requests of one token are carried out at once, and how many may wait for their turn, unread."""

_STALL_SECONDS = 60.0
_PIECE = 1 << 20
RUNS = "/hub/runs"


class Hub:
    """Wraps the application of the pages, and answers the addresses below /hub itself."""

    def __init__(
        self, app: ASGIApp, store: Path, members: Invitations, names: Mapping[str, str], *,
        largest: int = LARGEST_PUSH,
    ) -> None:  # fmt: skip
        self._app, self._store, self._members, self._names = app, store, members, names
        self._largest = largest
        self._attempts = WrongLinks()
        self._merging = asyncio.Lock()
        self._under_way: Counter[str] = Counter()
        self._turns: dict[str, asyncio.Semaphore] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/hub/"):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        member = await self._member(request)
        if isinstance(member, Response):
            return member
        request.scope.setdefault("state", {})[HAS_SESSION] = True
        if self._under_way[member.name] >= _MOST_WAITING:
            return _refusal(429, "Too many requests of this token are under way. Wait for them.")
        self._under_way[member.name] += 1
        try:
            async with self._turns.setdefault(member.name, asyncio.Semaphore(_AT_ONCE)):
                return await self._carried_out(request)
        finally:
            self._under_way[member.name] -= 1

    async def _carried_out(self, request: Request) -> Response:
        path: str = request.scope["path"]
        if request.method == "POST" and path == RUNS:
            return await self._pushed(request)
        if request.method == "GET" and path.startswith(f"{RUNS}/"):
            return await self._pulled(path.removeprefix(f"{RUNS}/"))
        return _refusal(404, "A hub has POST /hub/runs and GET /hub/runs/NAME.")

    async def _member(self, request: Request) -> Visitor | Response:
        """Who sends a request, by its token; without a good one nothing else is looked at."""
        client = request.client.host if request.client else ""
        if request.headers.get("host") not in self._names:
            return _refusal(403, "This server answers only at its own address.")
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            session = await run_in_threadpool(self._members.session_for, token.strip())
            visitor = None if session is None else await run_in_threadpool(self._members.visitor, session)
            if visitor is not None:
                return visitor
        if not self._attempts.is_allowed(client):
            return _refusal(429, "Too many wrong tokens. Wait a minute.")
        if token:
            self._attempts.note_failure(client)
        return _refusal(401, "This token is not valid, or was revoked. Ask the owner of the hub for one.")

    async def _pushed(self, request: Request) -> Response:
        with tempfile.TemporaryDirectory(prefix=".adjudge-", dir=self._store.parent) as folder:
            path = Path(folder) / "pushed.db"
            if (refusal := await self._received(request, path)) is not None:
                return refusal
            async with self._merging:
                way = "replace" if request.query_params.get("replace") == "1" else "in"
                code, out, err = await _carried_out(way, self._store, path)
        if code != 0:
            return _refusal(422, _without(err, path))
        return Response(out, media_type="application/json")

    async def _received(self, request: Request, path: Path) -> Response | None:
        """Write the body to a file; the refusal where it is too large or stops."""
        too_large = _refusal(413, f"A push has at most {self._largest / 1e6:,.0f} MB.")
        if int(request.headers.get("content-length") or 0) > self._largest:
            return too_large
        size = 0
        with path.open("wb") as file:
            stream = request.stream()
            while True:
                try:
                    piece = await asyncio.wait_for(anext(stream, b""), _STALL_SECONDS)
                except TimeoutError:
                    return _refusal(408, "The push stopped arriving. Give the command again.")
                except ClientDisconnect:
                    return _refusal(400, "The connection ended before the push did.")
                if not piece:
                    return None
                size += len(piece)
                if size > self._largest:
                    return too_large
                await run_in_threadpool(file.write, piece)

    async def _pulled(self, name: str) -> Response:
        folder = tempfile.TemporaryDirectory(prefix=".adjudge-", dir=self._store.parent)
        path = Path(folder.name) / "pulled.db"
        code, _, err = await _carried_out("out", self._store, path, name)
        if code != 0:
            folder.cleanup()
            return _refusal(404, _without(err, path))

        async def pieces() -> AsyncIterator[bytes]:
            with folder, path.open("rb") as file:
                while piece := await run_in_threadpool(file.read, _PIECE):
                    yield piece

        length = {"content-length": str(path.stat().st_size)}
        return StreamingResponse(pieces(), media_type="application/vnd.sqlite3", headers=length)


async def _carried_out(way: str, *arguments: str | Path) -> tuple[int, bytes, str]:
    """Run a job of `merging` to its end, even where the caller has gone."""
    words = [sys.executable, "-m", f"{__package__}.merging", way, *map(str, arguments)]
    job = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.shield(asyncio.ensure_future(job.communicate()))
    return job.returncode or 0, out, err.decode("utf-8", "replace").strip()


def _without(text: str, path: Path) -> str:
    """A message without the folder of a temporary file, which means nothing on another machine."""
    folder = str(path.parent)
    return text.replace(f"{folder}/", "").replace(folder, "")[:2000]


def _refusal(status: int, message: str) -> Response:
    return Response(msgspec.json.encode({"error": message}), status, media_type="application/json")
