"""The server behind `adjudge view` and `adjudge annotate`: how it is started, and the address that it prints.

It listens on the loopback address unless it is shared, and its address holds a new token at every start.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from ..errors import AdjudgeError
from .connections import LARGEST_HEAD, bounded_protocol
from .routes import Build
from .security import Secrets
from .sharing import LOOPBACK, Reach, Sharing, reach_of, tls_context

HOST = LOOPBACK


class Announced(NamedTuple):
    """What is printed when a server is ready: the user's own address, and the names of the server."""

    url: str
    reach: Reach
    bind: str
    port: int


def serve(
    build: Build,
    *,
    path: str = "/",
    port: int = 0,
    sharing: Sharing | None = None,
    is_opened: bool = True,
    announce: Callable[[Announced], None],
) -> None:
    """Serve until interrupted. `path` may have a query; port 0 takes any free one."""
    import uvicorn

    bind = HOST if sharing is None else sharing.bind
    tls = tls_context(sharing.tls) if sharing is not None and sharing.tls is not None else None
    with listening(bind, port) as listener:
        bound_port: int = listener.getsockname()[1]
        secrets, reach = Secrets(), reach_of(sharing, bound_port)
        settings = uvicorn.Config(
            build(reach, bound_port, secrets),
            log_level="error",  # a stranger's bad request is no news, and thousands would hide what is
            access_log=False,  # its lines would hold the token
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            http=bounded_protocol(tls=tls),
            h11_max_incomplete_event_size=LARGEST_HEAD,
            # uvloop begins to read even where `connection_made` has paused it, and the first bytes of TLS
            # would be lost.
            loop="auto" if tls is None else "asyncio",
            timeout_graceful_shutdown=1,
        )
        announce(Announced(_with_token(reach.owner, path, secrets.token), reach, bind, bound_port))
        folder = tempfile.mkdtemp(prefix="adjudge-") if is_opened else None
        if folder is not None:
            handover = _handover_file(Path(folder), _with_token(reach.owner, path, secrets.browser_token))
            # Some browsers run in the terminal, and opening one ends only with it.
            threading.Thread(target=webbrowser.open, args=(handover,), daemon=True).start()
        # uvicorn raises the signal that ended it again; temporary folders must be removed all the same.
        previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            with contextlib.suppress(KeyboardInterrupt):
                uvicorn.Server(settings).run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, previous)
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _handover_file(folder: Path, url: str) -> str:
    """The address of a file, readable by this user alone, that leads to `url`.

    Every user of the machine can read a browser's command line, so the token must not be in it.
    """
    file = folder / "open.html"
    shown = escape(url)
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Adjudge</title>'
        '<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" '
        f'content="0;url={shown}"></head>'
        f'<body><p><a href="{shown}">Open Adjudge</a></p></body></html>'
    )
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as out:
        out.write(page)
    return file.as_uri()


def address(port: int, path: str, token: str) -> str:
    """The address to open; only this one holds the token."""
    return _with_token(f"http://{HOST}:{port}", path, token)


def _with_token(base: str, path: str, token: str) -> str:
    return f"{base}{path}{'&' if '?' in path else '?'}token={quote(token)}"


def listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections at once; port 0 takes any free one."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        # From here on a browser that connects before the server is ready waits instead of being refused.
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise AdjudgeError(
            f"Port {port} of {host} cannot be used: {reason.lower()}.\n"
            "Choose another with --port, or leave it out to use a free port."
        ) from error
    return listener
