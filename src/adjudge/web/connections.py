"""Bounds on the connections of a server, so that strangers cannot keep others out; and its TLS."""

from __future__ import annotations

import ssl
from typing import Any

from .security import HAS_SESSION

_MOST_CONNECTIONS = 512
"""A browser opens several, a trainer hundreds at once; on most systems a process has at most 1,024 files."""

LARGEST_HEAD = 64 << 10
"""Bytes that may come before a request is complete up to its body; browsers send less than a tenth."""

_IDLE_SECONDS = 20.0
"""How long a connection that has shown no session may stay idle."""


class _Bounded:
    """What `bounded_protocol` adds to uvicorn's protocol."""

    most: int
    idle_seconds: float
    tls: ssl.SSLContext | None
    all_open: dict[Any, None]
    """in the order in which they were opened"""
    loop: Any
    cycle: Any

    def connection_made(self, transport: Any) -> None:
        self.held = transport
        self.is_warned = False
        self.early: list[bytes] | None = None if self.tls is None else []
        self.all_open[self] = None
        if self.tls is None:
            super().connection_made(transport)  # type: ignore[misc]
        else:
            transport.pause_reading()
            self.handshake = self.loop.create_task(self._begin_tls(transport))
        self.loop.call_later(self.idle_seconds, self._close_stranger)
        if len(self.all_open) > self.most:
            self._make_room()

    async def _begin_tls(self, transport: Any) -> None:
        try:
            secured = await self.loop.start_tls(
                transport, self, self.tls, server_side=True, ssl_handshake_timeout=self.idle_seconds / 2
            )
        except (OSError, EOFError):
            secured = None
        if secured is None or self not in self.all_open:
            self.all_open.pop(self, None)
            (secured or transport).abort()
            return
        self.held = secured
        super().connection_made(secured)  # type: ignore[misc]
        early, self.early = b"".join(self.early or []), None
        if early:
            super().data_received(early)  # type: ignore[misc]

    def data_received(self, data: bytes) -> None:
        # The request may arrive together with the end of the handshake, before `_begin_tls` goes on.
        if self.early is not None:
            self.early.append(data)
        else:
            super().data_received(data)  # type: ignore[misc]

    def connection_lost(self, exc: Exception | None) -> None:
        self.all_open.pop(self, None)
        if self.early is None:  # else uvicorn never knew of it
            super().connection_lost(exc)  # type: ignore[misc]

    def _make_room(self) -> None:
        others = [one for one in self.all_open if one is not self and (one.is_idle or not one.has_session)]
        ranked = sorted(others, key=lambda one: (one.has_session, not one.is_idle))
        dropped = ranked[0] if ranked else self
        self.all_open.pop(dropped)
        if dropped.has_session:
            dropped.held.close()  # the rest of its last answer is still sent
        else:
            dropped.held.abort()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered; half a request counts as none, and so does half a
        handshake."""
        return not self.held.is_closing() and (self.cycle is None or self.cycle.response_complete)

    @property
    def has_session(self) -> bool:
        """Whether its latest request came from a person with a session."""
        return HAS_SESSION in ((getattr(self, "scope", None) or {}).get("state") or {})

    def _close_stranger(self) -> None:
        if self not in self.all_open:
            return
        # A stranger gets short answers only: a client that takes long over one is not reading it.
        if not self.has_session and (self.is_idle or self.is_warned):
            self.all_open.pop(self)
            self.held.abort()
            return
        self.is_warned = not self.has_session
        self.loop.call_later(self.idle_seconds, self._close_stranger)


def bounded_protocol(
    most: int = _MOST_CONNECTIONS, idle_seconds: float = _IDLE_SECONDS, tls: ssl.SSLContext | None = None
) -> Any:
    """uvicorn's h11 protocol; accepts every connection and drops others for it, the oldest first: idle ones
    without a session, then busy ones without a session, then idle ones.

    Otherwise anyone who reaches the server could keep it busy by opening connections: uvicorn's own limit
    answers newcomers with 503, and lets those stay that came first. TLS begins here, and not in uvicorn, so
    that connections that never finish its handshake are counted and dropped as well.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    limits: dict[str, Any] = {"most": most, "idle_seconds": idle_seconds, "tls": tls, "all_open": {}}
    return type("BoundedProtocol", (_Bounded, H11Protocol), limits)
