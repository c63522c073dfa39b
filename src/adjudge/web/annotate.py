"""The pages to label on: who labels, one item at a time, and what is done at the end.

Every press of a key is a post; its answer comes when the label is durable, and says where to go on. The pages keep
nothing: whatever is shown is read from the store. Host, token and CSRF are checked around these routes; what
a post says is checked here, because a script of anybody's could have sent it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..errors import AdjudgeError, DataError
from ..render.prompt import number_text
from .annotate_session import (
    Session,
    Turn,
    best_text,
    columns_of,
    export_labels,
    labels_csv,
    open_session,
    rater_name,
    scale_text,
    text_parts,
)
from .server import Context

__all__ = ["Session", "export_labels", "labels_csv", "open_session", "routes", "start_path"]

COOKIE = "adjudge_rater"
_YEAR_SECONDS = 365 * 24 * 3600

Action = Callable[[Session, str, dict[str, Any]], str]
"""Does what a post asks for, and says where to go on."""


def start_path(rater: str | None = None) -> str:
    """Where a browser begins: at the rater's name, or where it is known at the first open item."""
    return "/annotate" if rater is None else _address("/annotate/item", rater=rater_name(rater))


def routes(context: Context, session: Session) -> list[Route]:
    """All addresses of the labelling pages."""
    pages = _Pages(context, session)
    actions: dict[str, Action] = {"label": _label, "skip": _skip, "undo": _undo, "recall": _recall}
    return [
        Route("/annotate", pages.start, methods=["GET"]),
        Route("/annotate/item", pages.item, methods=["GET"]),
        Route("/annotate/labels.csv", pages.labels, methods=["GET"]),
        Route("/annotate/rater", pages.enter, methods=["POST"]),
        *(
            Route(f"/annotate/{name}", pages.acting(action), methods=["POST"])
            for name, action in actions.items()
        ),
    ]


def _address(path: str, **query: str | int) -> str:
    return f"{path}?{urlencode(query)}" if query else path


class _Pages:
    """The endpoints of one session."""

    def __init__(self, context: Context, session: Session) -> None:
        self._context, self._session = context, session

    def start(self, request: Request) -> Response:
        """Asks for the rater's name, with the one that was used last filled in."""
        session = self._session
        return self._context.page(
            request,
            "annotate/start.html",
            run=session.run.name,
            rater=_remembered(request),
            n_items=len(session.sheets),
            n_all=session.n_all,
            criteria=list(dict.fromkeys(question.criterion for question in session.questions)),
            crumbs=[("label", None), (session.run.name, None)],
        )

    async def enter(self, request: Request) -> Response:
        """Takes the rater's name, and remembers it in the browser."""
        try:
            rater = rater_name((await _body(request)).get("rater"))
        except AdjudgeError as error:
            return _refused(error)
        answer = JSONResponse({"go": _address("/annotate/item", rater=rater)})
        answer.set_cookie(
            COOKIE, quote(rater), max_age=_YEAR_SECONDS, path="/annotate", httponly=True, samesite="strict"
        )
        return answer

    def item(self, request: Request) -> Response:
        """One item; without a key the next one that is open, or the end where there is none."""
        session = self._session
        rater = rater_name(request.query_params.get("rater"))
        key = request.query_params.get("item") or session.next_key(rater)
        common: dict[str, Any] = {
            "run": session.run.name,
            "rater": rater,
            "progress": session.progress(rater),
            "crumbs": [("label", None), (session.run.name, None)],
            "export": "/annotate/labels.csv",
            "change_rater": "/annotate",
        }
        if key is None:
            return self._context.page(request, "annotate/done.html", command=session.trust_command, **common)
        turn = session.turn(rater, key)
        current = _current(turn, request.query_params.get("question"))
        before, after = session.neighbours(key)
        asked = turn.asked[current]
        alone, both = columns_of(turn.sheet, turn.left)
        fields = turn.sheet.item.fields
        return self._context.page(
            request,
            "annotate/item.html",
            **common,
            turn=turn,
            here=_address("/annotate/item", rater=rater, item=key, question=current),
            current=current,
            asked=asked,
            scale=asked.question.scale,
            number_text=number_text,
            scale_text=scale_text,
            best_text=best_text,
            guide=session.guides[asked.question.guide],
            alone=[(name, text_parts(fields[name])) for name in alone],
            both=[(name, text_parts(fields[left]), text_parts(fields[right])) for name, left, right in both],
            before=before and _address("/annotate/item", rater=rater, item=before),
            after=after and _address("/annotate/item", rater=rater, item=after),
            questions=[
                _address("/annotate/item", rater=rater, item=key, question=place)
                for place in range(len(turn.asked))
            ],
        )

    def labels(self, request: Request) -> Response:
        """All labels of the run, of every rater, as a file that `adjudge trust --labels` reads."""
        del request
        text = labels_csv(self._session.labels())
        return Response(
            text,
            media_type="text/csv; charset=utf-8",
            # A fixed name: a run's name could say something else to a file system.
            headers={"content-disposition": 'attachment; filename="labels.csv"'},
        )

    def acting(self, action: Action) -> Callable[[Request], Any]:
        """An endpoint that does something for a rater, in a thread, since it waits for the disk."""

        async def act(request: Request) -> Response:
            try:
                body = await _body(request)
                rater = rater_name(body.get("rater"))
                where = await run_in_threadpool(action, self._session, rater, body)
            except AdjudgeError as error:
                return _refused(error)
            return JSONResponse({"go": where})

        return act


def _label(session: Session, rater: str, body: dict[str, Any]) -> str:
    key, number = _key(body), body.get("question")
    if isinstance(number, bool) or not isinstance(number, int):
        raise DataError("The post names no question. Load the page again.")
    was_done = session.turn(rater, key).is_done
    session.give(rater, key, number, body.get("value"))
    turn = session.turn(rater, key)
    if was_done:
        # Somebody who corrects a label wants to see the correction, not the next item.
        return _address("/annotate/item", rater=rater, item=key, question=number)
    if not turn.is_done:
        return _address("/annotate/item", rater=rater, item=key)
    return _next(session, rater, key)


def _skip(session: Session, rater: str, body: dict[str, Any]) -> str:
    key = _key(body)
    session.skip(rater, key)
    return _next(session, rater, key)


def _undo(session: Session, rater: str, body: dict[str, Any]) -> str:
    del body
    key = session.undo(rater)
    if key is None:
        raise DataError("There is no label of yours left to take back.")
    return _address("/annotate/item", rater=rater, item=key)


def _recall(session: Session, rater: str, body: dict[str, Any]) -> str:
    del body
    session.recall(rater)
    return _address("/annotate/item", rater=rater)


def _next(session: Session, rater: str, after: str) -> str:
    key = session.next_key(rater, after)
    return _address("/annotate/item", rater=rater, **({} if key is None else {"item": key}))


def _current(turn: Turn, wanted: str | None) -> int:
    """The question that a key answers: the one asked for, or the first that is open."""
    if wanted is not None and wanted.isascii() and wanted.isdigit() and int(wanted) < len(turn.asked):
        return int(wanted)
    return next((place for place, given in enumerate(turn.given) if given is None), 0)


def _key(body: dict[str, Any]) -> str:
    key = body.get("item")
    if not isinstance(key, str):
        raise DataError("The post names no item. Load the page again.")
    return key


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise DataError("The post is not a JSON object. Load the page again.")
    return body


def _refused(error: AdjudgeError) -> Response:
    return JSONResponse({"error": str(error)}, status_code=400)


def _remembered(request: Request) -> str:
    """The name that this browser labelled under last; nothing where it is no name."""
    try:
        return rater_name(unquote(request.cookies.get(COOKIE, "")))
    except DataError:
        return ""
