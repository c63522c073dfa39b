"""The addresses of the service, all behind a token.

A stop ends it in order: no new request is taken, those under way are answered, runs and files are closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ..engine import Request
from ..engine.thread import new_loop
from ..errors import AdjudgeError, BudgetReached, DataError
from ..web.connections import LARGEST_HEAD, bounded_protocol
from ..web.invitation import Invitations
from ..web.security import HAS_SESSION
from ..web.server import Announced, listening
from ..web.sharing import LOOPBACK, Sharing, reach_of, tls_context
from .error_response import error_response
from .service import ServedCascade, Service, UnknownJudge
from .tokens import Callers

_LARGEST_BODY = 16 << 20
_LONGEST_STOP = 30
"""Seconds that requests under way have to end when the service is stopped."""

_STOPPING = "Stopping: requests under way are answered. Press Ctrl-C to stop now."

Answer = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


def build_service(service: Service, callers: Callers, names: Mapping[str, str]) -> Starlette:
    """The application; `names` are the hosts under which it answers."""

    def guarded(answer: Callable[[HttpRequest], Awaitable[Response]]) -> Any:
        async def respond(request: HttpRequest) -> Response:
            if request.headers.get("host") not in names:
                return error_response(421, "wrong_host", "This server has another name.")
            if (refusal := callers.refusal(request)) is not None:
                return refusal
            # The server drops connections without a token first.
            request.scope.setdefault("state", {})[HAS_SESSION] = True
            return await answer(request)

        return respond

    def posted(answer: Answer) -> Any:
        async def counted(request: HttpRequest) -> Response:
            service.under_way += 1
            try:
                return await _answered(request, answer)
            finally:
                service.under_way -= 1

        return guarded(counted)

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
        return error_response(413, "too_large", "A request has at most 16 MB.")
    try:
        content = bytearray()
        async for chunk in request.stream():
            content += chunk
            if len(content) > _LARGEST_BODY:
                return error_response(413, "too_large", "A request has at most 16 MB.")
        body = msgspec.json.decode(bytes(content))
        if not isinstance(body, dict):
            return error_response(400, "bad_request", "Send a JSON object.")
        return Response(msgspec.json.encode(await answer(body)), media_type="application/json")
    except ClientDisconnect:
        return error_response(400, "bad_request", "The connection ended before the request did.")
    except RecursionError:
        return error_response(400, "bad_request", "The request is nested too deeply.")
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        return error_response(400, "bad_request", f"This is not JSON: {fault}")
    except BudgetReached as fault:
        return error_response(403, "budget_reached", str(fault))
    except UnknownJudge as fault:
        return error_response(404, "bad_request", str(fault))
    except DataError as fault:
        return error_response(400, "bad_request", str(fault))
    except AdjudgeError as fault:
        return error_response(502, type(fault).__name__, str(fault))


def _metrics(service: Service) -> str:
    """The counters as Prometheus' text."""
    lines = [
        "# HELP adjudge_questions_total Questions and items, answered or failed.",
        "# TYPE adjudge_questions_total counter",
    ]
    for (model, outcome), n in sorted(service.counts.items()):
        lines.append(f'adjudge_questions_total{{model="{_label(model)}",outcome="{outcome}"}} {n}')
    lines.append("# HELP adjudge_spent_usd What a judge has spent since the start, in USD.")
    lines.append("# TYPE adjudge_spent_usd counter")
    lines += [f'adjudge_spent_usd{{model="{_label(m)}"}} {usd:g}' for m, usd in service.spent_usd().items()]
    lines.append("# HELP adjudge_requests_under_way Requests that are not answered yet.")
    lines.append("# TYPE adjudge_requests_under_way gauge")
    lines.append(f"adjudge_requests_under_way {service.under_way}")
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def serve_judges(
    requests: Mapping[str, Request],
    *,
    cascades: Mapping[str, ServedCascade],
    token: str,
    port: int,
    is_logged: bool,
    sharing: Sharing | None,
    invitations: Invitations | None,
    announce: Callable[[Announced], None],
    note: Callable[[str], None],
) -> None:
    """Serve until interrupted. Without a log, everything is in a temporary store that is deleted at the
    end. `note` shows a line about what the service does."""
    with contextlib.ExitStack() as stack:
        if not is_logged:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="adjudge-")))
            requests = {name: _stored_in(folder, one) for name, one in requests.items()}
            cascades = {
                name: cascade._replace(
                    requests=tuple(_stored_in(folder, request) for request in cascade.requests)
                )
                for name, cascade in cascades.items()
            }
        bind = LOOPBACK if sharing is None else sharing.bind
        listener = stack.enter_context(listening(bind, port))
        bound: int = listener.getsockname()[1]
        reach = reach_of(sharing, bound)
        callers = Callers(token, invitations)
        tls = tls_context(sharing.tls) if sharing is not None and sharing.tls is not None else None

        async def run() -> None:
            import uvicorn

            service = Service(requests, is_logged=is_logged, cascades=cascades)
            try:
                await service.open()
                for name, older in service.set_aside.items():
                    note(f"! {name} was judged with other settings: its log is now the run {older}.")
                app = build_service(service, callers, reach.names)
                settings = uvicorn.Config(
                    app, log_level="error", access_log=False, lifespan="off", ws="none",
                    server_header=False, proxy_headers=False, timeout_graceful_shutdown=_LONGEST_STOP,
                    http=bounded_protocol(tls=tls),
                    h11_max_incomplete_event_size=LARGEST_HEAD,
                )  # fmt: skip
                announce(Announced(reach.public, reach, bind, bound))
                callers.open()
                server = uvicorn.Server(settings)
                with _stopped_in_order(server, lambda: note(_STOPPING)):
                    await server.serve(sockets=[listener])
            finally:
                await service.close()
                callers.close()

        # uvloop begins to read where a connection is paused, and the first bytes of TLS would be lost.
        made = new_loop if tls is None else asyncio.new_event_loop
        with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=made) as runner:
            runner.run(run())


@contextlib.contextmanager
def _stopped_in_order(server: Any, stopping: Callable[[], None]) -> Iterator[None]:
    """The first signal lets requests under way end, the second does not.

    uvicorn raises a signal again when it has stopped, and that would end the program before its files are
    closed. Where an event loop takes no signals (Windows), uvicorn's own handling stays.
    """

    def stop() -> None:
        server.force_exit, server.should_exit = server.should_exit, True
        stopping()

    loop = asyncio.get_running_loop()
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        server.capture_signals = contextlib.nullcontext
    except (NotImplementedError, RuntimeError, ValueError):
        pass  # not the main thread of the program, or a loop without signals
    yield


def _stored_in(folder: Path, request: Request) -> Request:
    return structs.replace(request, store=str(folder / "serve.db"))
