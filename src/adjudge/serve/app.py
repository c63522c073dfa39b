"""The addresses of the service, behind a token: without one, a caller gets nothing but a 401."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from secrets import compare_digest
from typing import Any

import msgspec
from msgspec import structs
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ..engine import Request
from ..engine.thread import new_loop
from ..errors import AdjudgeError, BudgetReached, DataError
from ..web.invitation import Attempts, Invitations
from ..web.server import Announced, listening
from ..web.sharing import LOOPBACK, Sharing, reach_of
from .service import Service

_LARGEST_BODY = 16 << 20

Answer = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


class Callers:
    """Who may call: the owner's token, and the tokens of invited clients."""

    def __init__(self, token: str, invitations: Invitations | None) -> None:
        self._token, self._invitations = token, invitations
        self._attempts = Attempts()

    def refusal(self, request: HttpRequest) -> Response | None:
        """Why a caller gets nothing; none where its token is good."""
        client = request.client.host if request.client else ""
        if not self._attempts.is_allowed(client):
            return _error(429, "too_many_attempts", "Too many wrong tokens. Wait a minute.")
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._knows(token.strip()):
            return None
        if token:
            self._attempts.note_failure(client)
        return _error(401, "no_token", "Send the token as Authorization: Bearer TOKEN.")

    def _knows(self, token: str) -> bool:
        if compare_digest(token.encode(), self._token.encode()):
            return True
        return self._invitations is not None and self._invitations.session_for(token) is not None


def build_app(service: Service, callers: Callers, names: Mapping[str, str]) -> Starlette:
    """The application; `names` are the hosts under which it answers."""

    def guarded(answer: Callable[[HttpRequest], Awaitable[Response]]) -> Any:
        async def respond(request: HttpRequest) -> Response:
            if request.headers.get("host") not in names:
                return _error(421, "wrong_host", "This server has another name.")
            return callers.refusal(request) or await answer(request)

        return respond

    def posted(answer: Answer) -> Any:
        return guarded(lambda request: _answered(request, answer))

    async def metrics(_: HttpRequest) -> Response:
        return PlainTextResponse(_metrics(service), media_type="text/plain; version=0.0.4")

    async def systemone(body: Mapping[str, Any]) -> dict[str, Any]:
        return await service.decide("systemone", body)

    async def decisions(body: Mapping[str, Any]) -> dict[str, Any]:
        return await service.decide("decisions", body)

    return Starlette(
        routes=[
            Route("/v1/systemone", posted(systemone), methods=["POST"]),
            Route("/v1/decisions", posted(decisions), methods=["POST"]),
            Route("/score", posted(service.score), methods=["POST"]),
            Route("/metrics", guarded(metrics), methods=["GET"]),
        ]
    )


async def _answered(request: HttpRequest, answer: Answer) -> Response:
    if int(request.headers.get("content-length") or 0) > _LARGEST_BODY:
        return _error(413, "too_large", "A request has at most 16 MB.")
    try:
        content = bytearray()
        async for chunk in request.stream():
            content += chunk
            if len(content) > _LARGEST_BODY:
                return _error(413, "too_large", "A request has at most 16 MB.")
        body = msgspec.json.decode(bytes(content))
        if not isinstance(body, dict):
            return _error(400, "bad_request", "Send a JSON object.")
        return Response(msgspec.json.encode(await answer(body)), media_type="application/json")
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        return _error(400, "bad_request", f"This is not JSON: {fault}")
    except BudgetReached as fault:
        return _error(403, "budget_reached", str(fault))
    except DataError as fault:
        return _error(404 if str(fault).startswith("model ") else 400, "bad_request", str(fault))
    except AdjudgeError as fault:
        return _error(502, type(fault).__name__, str(fault))


def _error(status: int, code: str, message: str) -> Response:
    body = {"error": {"message": message, "type": code, "code": code}}
    return Response(msgspec.json.encode(body), status_code=status, media_type="application/json")


def _metrics(service: Service) -> str:
    """The counters as Prometheus' text."""
    lines = ["# TYPE adjudge_questions_total counter"]
    for (model, outcome), n in sorted(service.counts.items()):
        lines.append(f'adjudge_questions_total{{model="{_label(model)}",outcome="{outcome}"}} {n}')
    lines.append("# TYPE adjudge_spent_usd counter")
    lines += [f'adjudge_spent_usd{{model="{_label(m)}"}} {usd:g}' for m, usd in service.spent_usd().items()]
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def serve_judges(
    requests: Mapping[str, Request],
    *,
    token: str,
    port: int,
    is_logged: bool,
    sharing: Sharing | None,
    invitations: Invitations | None,
    announce: Callable[[Announced], None],
) -> None:
    """Serve until interrupted. Without a log, everything is in a temporary store that is deleted at the end."""
    with contextlib.ExitStack() as stack:
        if not is_logged:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="adjudge-")))
            requests = {
                name: structs.replace(one, store=str(folder / "serve.db")) for name, one in requests.items()
            }
        bind = LOOPBACK if sharing is None else sharing.bind
        listener = stack.enter_context(listening(bind, port))
        bound: int = listener.getsockname()[1]
        reach = reach_of(sharing, bound)
        callers = Callers(token, invitations)

        async def run() -> None:
            import uvicorn

            service = Service(requests, is_logged=is_logged)
            try:
                await service.open()
                app = build_app(service, callers, reach.names)
                tls = {} if sharing is None or sharing.tls is None else _tls(sharing.tls)
                settings = uvicorn.Config(
                    app, log_level="warning", access_log=False, lifespan="off", ws="none",
                    server_header=False, proxy_headers=False, timeout_graceful_shutdown=1, **tls,
                )  # fmt: skip
                announce(Announced(reach.public, reach, bind, bound))
                await uvicorn.Server(settings).serve(sockets=[listener])
            finally:
                await service.close()

        with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(run())


def _tls(files: tuple[Path, Path]) -> dict[str, Any]:
    return {"ssl_certfile": str(files[0]), "ssl_keyfile": str(files[1])}
