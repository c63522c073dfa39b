"""Invitations: the secret of a person's link, the session it is exchanged for, and who a visitor is.

An invitation is a link for one person. Its secret is in the fragment of the link, which a browser sends to
no one: it is in no log of a proxy and in no Referer. The link's page exchanges it for a cookie, on as many
devices as the person has, until the invitation is revoked. The store holds a hash of what the cookie holds:
neither link nor cookie can be read from it, and both outlive the server. Whether an invitation is open is
looked up at every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Sequence
from pathlib import Path
from secrets import compare_digest, token_urlsafe

from msgspec import Struct

from ..store import Invitation, InvitationKind, RunRow, Store, open_store
from .sharing import Reach

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")


_FAILURES, _FAILURE_SECONDS = 10, 60.0


_MOST_CLIENTS = 10_000


class Visitor(Struct, frozen=True):
    """Who sends a request: the user who started the server, or a person with an invitation."""

    kind: InvitationKind | None = None
    """none for the user who started the server"""
    name: str = ""
    csrf: str = ""

    @property
    def is_owner(self) -> bool:
        return self.kind is None


def session_of(token: str) -> str:
    """What the cookie holds for the secret of a link: from
    neither can the other be found by reading the store.
    """
    return hashlib.sha256(b"adjudge session " + token.encode()).hexdigest()


def _hash_of(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()


class Invitations:
    """The invitations to one server: to label a run, or to read all pages."""

    def __init__(self, store_path: Path, kind: InvitationKind, run: RunRow | None = None) -> None:
        self._store_path, self._kind, self._run = store_path, kind, run
        self._kept: Store | None = None

    def keep_open(self) -> None:
        """Look invitations up in a store that stays open, which takes a hundredth of the time; in one thread
        only, until `close`."""
        self._kept = open_store(self._store_path, write=False)

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()

    def all(self) -> list[Invitation]:
        if self._kept is not None:
            return self._kept.invitations(self._kind, self._run)
        with open_store(self._store_path, write=False) as store:
            return store.invitations(self._kind, self._run)

    def invite(self, names: Sequence[str]) -> dict[str, str]:
        """The secrets of new invitations by name; a name that has an open one keeps it and is left out."""
        known = {one.name for one in self.all() if one.revoked is None}
        tokens = {name: token_urlsafe(32) for name in dict.fromkeys(names) if name not in known}
        if tokens:
            with open_store(self._store_path) as store:
                for name, token in tokens.items():
                    store.invite(self._kind, name, _hash_of(session_of(token)), self._run)
        return tokens

    def revoke(self, name: str) -> bool:
        with open_store(self._store_path) as store:
            return store.revoke(self._kind, name, self._run)

    def visitor(self, session: str) -> Visitor | None:
        """Who has a session; none where its invitation was revoked or never made."""
        if not re.fullmatch("[0-9a-f]{64}", session):
            return None
        wanted = _hash_of(session)
        open_ones = [one for one in self.all() if one.revoked is None]
        known = [
            open_one for open_one in open_ones if compare_digest(open_one.secret.encode(), wanted.encode())
        ]
        if not known:
            return None
        # Bound to the session, so that a page that was loaded before a restart still works.
        csrf = hmac.new(session.encode(), b"adjudge csrf", hashlib.sha256).hexdigest()
        return Visitor(self._kind, known[0].name, csrf)

    def session_for(self, token: object) -> str | None:
        """What the secret of a link is exchanged for; none where no open invitation has it."""
        if not isinstance(token, str) or not _SECRET.fullmatch(token):
            return None
        session = session_of(token)
        return session if self.visitor(session) is not None else None


class WrongLinks:
    """Wrong links by client: after ten within a minute, a client waits."""

    def __init__(self) -> None:
        self._failures: dict[str, list[float]] = {}

    def is_allowed(self, client: str) -> bool:
        return len(self._recent(client)) < _FAILURES

    def note_failure(self, client: str) -> None:
        if len(self._failures) >= _MOST_CLIENTS:
            self._failures.pop(next(iter(self._failures)))
        self._failures[client] = [*self._recent(client), time.monotonic()]

    def _recent(self, client: str) -> list[float]:
        since = time.monotonic() - _FAILURE_SECONDS
        return [moment for moment in self._failures.get(client, []) if moment > since]


def link_of(reach: Reach, token: str) -> str:
    """The link of an invitation."""
    return f"{reach.public}/invited#{token}"
