"""The reviewer's name, kept in a cookie."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from ..errors import DataError
from .labelling.rater_name import rater_name

COOKIE = "adjudge_reviewer"


_YEAR_SECONDS = 365 * 24 * 3600


def with_reviewer(response: Response, name: str) -> Response:
    """The response, with a cookie that keeps the reviewer's name."""
    response.set_cookie(COOKIE, quote(name), max_age=_YEAR_SECONDS, httponly=True, samesite="strict")
    return response


def reviewer_of(request: Request) -> str:
    """The reviewer's name in the cookie; empty where there is no valid one."""
    try:
        return rater_name(unquote(request.cookies.get(COOKIE, "")))
    except DataError:
        return ""
