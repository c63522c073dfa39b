"""The labelling pages: the rater's name, one item at a time, and the end.

Each key press is a POST, answered when the label is durable with the address to go to next. Pages hold no
state: all they show is read from the store. `security.Guard` checks host, token and CSRF; what a POST says is
checked here. Somebody with an invitation labels under its name, and sees neither the run's name nor anything
of other raters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ...errors import AdjudgeError, DataError
from ...render.written_answer import number_text
from ..context import Context, posted, refused, visitor_of
from ..labelling.labels_file import export_labels, labels_csv
from ..labelling.questions import best_text, field_columns, range_text, text_parts
from ..labelling.rater_name import rater_name
from ..labelling.session import RaterItem, RaterView, Session, open_session

__all__ = ["Session", "export_labels", "labels_csv", "open_session", "routes", "start_path"]

COOKIE = "adjudge_rater"
_YEAR_SECONDS = 365 * 24 * 3600

Action = Callable[[Session, str, dict[str, Any]], str]
"""Carries out a POST, and returns the address to go to next."""


def start_path(rater: str | None = None) -> str:
    """The first page: for the rater's name, or for the first open item where the name is known."""
    return "/annotate" if rater is None else _address("/annotate/item", rater=rater_name(rater))


def routes(context: Context, session: Session) -> list[Route]:
    """The routes of the labelling pages."""
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
        """Asks for the rater's name; the last one used in this
        browser is filled in. An invitation has a name already.
        """
        if not visitor_of(request).is_owner:
            return RedirectResponse("/annotate/item", status_code=303)
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
        """Checks the rater's name, and stores it in a cookie."""
        _check_owner(request)
        try:
            rater = rater_name((await posted(request)).get("rater"))
        except AdjudgeError as error:
            return refused(error)
        answer = JSONResponse({"go": _address("/annotate/item", rater=rater)})
        answer.set_cookie(
            COOKIE, quote(rater), max_age=_YEAR_SECONDS, path="/annotate", httponly=True, samesite="strict"
        )
        return answer

    def item(self, request: Request) -> Response:
        """One item; without a key the next open one, or the last page where all are done."""
        session = self._session
        rater = _rater(request, request.query_params.get("rater"))
        view = session.seen_by(rater)
        key = request.query_params.get("item") or view.next_key()
        is_owner = visitor_of(request).is_owner
        # The name of a run may say which systems it compares.
        run = session.run.name if is_owner else ""
        common: dict[str, Any] = {
            "run": run,
            "rater": rater,
            "progress": view.progress(),
            "crumbs": [("label", None), *([(run, None)] if run else [])],
            "is_owner": is_owner,
            "export": "/annotate/labels.csv",
            "change_rater": "/annotate" if is_owner else None,
        }
        if key is None:
            command = session.trust_command if is_owner else ""
            return self._context.page(request, "annotate/done.html", command=command, **common)
        turn = view.turn(key)
        current = _current(turn, request.query_params.get("question"))
        before, after = session.neighbours(key)
        asked = turn.asked[current]
        alone, both = field_columns(turn.sheet, turn.left)
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
            scale_text=range_text,
            best_text=best_text,
            guide=session.guides[asked.question.guide],
            alone=[(name, text_parts(fields[name])) for name in alone],
            both=[(name, text_parts(fields[left]), text_parts(fields[right])) for name, left, right in both],
            before=before and _address("/annotate/item", rater=rater, item=before),
            after=after and _address("/annotate/item", rater=rater, item=after),
            questions=[
                _address("/annotate/item", rater=rater, item=key, question=number)
                for number in range(len(turn.asked))
            ],
        )

    def labels(self, request: Request) -> Response:
        """The labels of all raters as a file for `adjudge trust --labels`."""
        _check_owner(request)
        text = labels_csv(self._session.labels())
        return Response(
            text,
            media_type="text/csv; charset=utf-8",
            # A fixed name: a run's name could mean something to a file system.
            headers={"content-disposition": 'attachment; filename="labels.csv"'},
        )

    def acting(self, action: Action) -> Callable[[Request], Any]:
        """An endpoint that carries out an action in a thread, since it waits for the disk."""

        async def act(request: Request) -> Response:
            try:
                body = await posted(request)
                rater = _rater(request, body.get("rater"))
                # Not in the threads that answer pages: while a push is merged, people who read need not wait.
                where = await asyncio.to_thread(action, self._session, rater, body)
            except AdjudgeError as error:
                return refused(error)
            return JSONResponse({"go": where})

        return act


def _check_owner(request: Request) -> None:
    """No page is there for a person with an invitation, as if its address were wrong."""
    if not visitor_of(request).is_owner:
        raise HTTPException(404)


def _rater(request: Request, given: object) -> str:
    """Under which name a request labels: that of the invitation, or the one that it gives."""
    visitor = visitor_of(request)
    if visitor.is_owner:
        return rater_name(given)
    if given not in (None, visitor.name):
        raise HTTPException(403)
    return visitor.name


def _label(session: Session, rater: str, body: dict[str, Any]) -> str:
    key, number = _key(body), body.get("question")
    if isinstance(number, bool) or not isinstance(number, int):
        raise DataError("The request names no question. Reload the page.")
    was_done = session.give(rater, key, number, body.get("value")).is_done
    view = session.seen_by(rater)
    if was_done:
        # After a correction the rater wants to see it, not the next item.
        return _address("/annotate/item", rater=rater, item=key, question=number)
    if not view.turn(key).is_done:
        return _address("/annotate/item", rater=rater, item=key)
    return _next(view, key)


def _skip(session: Session, rater: str, body: dict[str, Any]) -> str:
    key = _key(body)
    session.skip(rater, key)
    return _next(session.seen_by(rater), key)


def _undo(session: Session, rater: str, body: dict[str, Any]) -> str:
    del body
    key = session.undo(rater)
    if key is None:
        raise DataError("You have no label to undo.")
    return _address("/annotate/item", rater=rater, item=key)


def _recall(session: Session, rater: str, body: dict[str, Any]) -> str:
    del body
    session.recall(rater)
    return _address("/annotate/item", rater=rater)


def _next(view: RaterView, after: str) -> str:
    key = view.next_key(after)
    return _address("/annotate/item", rater=view.rater, **({} if key is None else {"item": key}))


def _current(turn: RaterItem, wanted: str | None) -> int:
    """The question that a key press answers: the one in the address, or the first open one."""
    if wanted is not None and wanted.isascii() and wanted.isdigit() and int(wanted) < len(turn.asked):
        return int(wanted)
    return next((number for number, answer in enumerate(turn.answers) if answer is None), 0)


def _key(body: dict[str, Any]) -> str:
    key = body.get("item")
    if not isinstance(key, str):
        raise DataError("The request names no item. Reload the page.")
    return key


def _remembered(request: Request) -> str:
    """The rater's name in the cookie; empty where there is no valid one."""
    try:
        return rater_name(unquote(request.cookies.get(COOKIE, "")))
    except DataError:
        return ""
