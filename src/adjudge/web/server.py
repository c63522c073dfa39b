"""Starts the local server: one socket on the loopback address, an address with a fresh token, a browser.

It cannot be told to listen anywhere else. What is served is none of its business.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..errors import AdjudgeError
from .security import Secrets

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HOST = "127.0.0.1"

Build = Callable[[int, Secrets], "ASGIApp"]
"""Makes the application for the port that was found and the secrets of this start."""


def serve(
    build: Build, *, path: str = "/", port: int = 0, is_opened: bool = True, announce: Callable[[str], None]
) -> None:
    """Serve until interrupted. `path` may have a query; port 0 is any that is free."""
    import uvicorn

    with _listening(port) as listener:
        found: int = listener.getsockname()[1]
        own = Secrets()
        url = address(found, path, own.token)
        settings = uvicorn.Config(
            build(found, own),
            log_level="warning",
            access_log=False,  # its lines would hold the token
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=1,
        )
        announce(url)
        if is_opened:
            # Some browsers run in the terminal, and opening one ends only with it.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        # The server passes on the signal that ended it; folders of ours must be tidied away all the same.
        before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(settings).run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)


def address(port: int, path: str, token: str) -> str:
    """What to open: the only place where the token stands."""
    return f"http://{HOST}:{port}{path}{'&' if '?' in path else '?'}token={quote(token)}"


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        # From here on a browser that is too quick waits instead of being refused.
        listener.listen(128)
    except (OSError, OverflowError) as fault:
        listener.close()
        reason = getattr(fault, "strerror", None) or str(fault)
        raise AdjudgeError(
            f"Port {port} of {HOST} cannot be used: {reason.lower()}.\n"
            "Choose another with --port, or leave it out: then a free one is found."
        ) from fault
    return listener
