"""The tokens of the service: without one, a caller gets nothing but a 401."""

from __future__ import annotations

from secrets import compare_digest

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from ..web.invitation import Invitations, WrongLinks
from .error_response import error_response


class Callers:
    """Who may call: the owner's token, and the tokens of invited clients."""

    def __init__(self, token: str, invitations: Invitations | None) -> None:
        self._token, self._invitations = token, invitations
        self._attempts = WrongLinks()

    def refusal(self, request: HttpRequest) -> Response | None:
        """Why a caller gets nothing; none where its token is good."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._knows(token.strip()):
            return None  # also where others behind the same address send wrong ones
        client = request.client.host if request.client else ""
        if not self._attempts.is_allowed(client):
            return error_response(429, "too_many_attempts", "Too many wrong tokens. Wait a minute.")
        if token:
            self._attempts.note_failure(client)
        return error_response(401, "no_token", "Send the token as Authorization: Bearer TOKEN.")

    def _knows(self, token: str) -> bool:
        if compare_digest(token.encode(), self._token.encode()):
            return True
        return self._invitations is not None and self._invitations.session_for(token) is not None

    def open(self) -> None:
        """In the thread in which requests are answered."""
        if self._invitations is not None:
            self._invitations.keep_open()

    def close(self) -> None:
        if self._invitations is not None:
            self._invitations.close()
