"""Sharing the pages with people on other machines: where the server listens, its names, and its invitations.

An invitation is a link for one person. Its secret is in the fragment of the link, which a browser sends to nobody: it is in
no log of a proxy and in no Referer. The link's page exchanges it for a cookie, on as many devices as the person has, until
the invitation is revoked. The store holds a hash of what the cookie holds: neither link nor cookie can be read from it, and
both outlive the server. Whether an invitation is open is looked up at every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import socket
import ssl
import time
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from urllib.parse import urlsplit

from msgspec import Struct

from ..errors import DataError
from ..store import Invitation, InvitationKind, RunRow, open_store

PORT = 8347
"""Used with --share where no port is given: a link must be the same after a restart."""

LOOPBACK = "127.0.0.1"
_EVERYWHERE = "0.0.0.0"
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_FAILURES, _FAILURE_SECONDS = 10, 60.0
_MOST_CLIENTS = 10_000


class Visitor(Struct, frozen=True):
    """Who sends a request: the user who started the server, or somebody with an invitation."""

    kind: InvitationKind | None = None
    """none for the user who started the server"""
    name: str = ""
    csrf: str = ""

    @property
    def is_owner(self) -> bool:
        return self.kind is None


# Where the server listens, and its names


class Sharing(Struct, frozen=True):
    """How a server is shared."""

    host: str = ""
    public_url: str = ""
    tls: tuple[Path, Path] | None = None

    @property
    def bind(self) -> str:
        """The address to listen on. A reverse proxy is expected on this machine; without one, every interface is used."""
        if self.host:
            return self.host
        return LOOPBACK if self.is_behind_proxy else _EVERYWHERE

    @property
    def is_behind_proxy(self) -> bool:
        return bool(self.public_url) and self.tls is None

    def check(self) -> None:
        """`DataError` where the public address is none of a server."""
        parts = urlsplit(self.public_url)
        is_plain = parts.path in ("", "/") and not (parts.query or parts.fragment or "@" in parts.netloc)
        if self.public_url and (parts.scheme not in ("http", "https") or not parts.hostname or not is_plain):
            raise DataError(
                f"--public-url {self.public_url}: give the address of the whole server, for example "
                "https://labels.example.org. The pages cannot be served below a path."
            )
        if self.tls is not None and parts.scheme == "http":
            raise DataError(f"--public-url {self.public_url}: with --tls it begins with https://.")

    def warning(self) -> str:
        """What others can read; empty where the traffic is encrypted or stays on this machine."""
        if self.tls is not None or urlsplit(self.public_url).scheme == "https" or _is_loopback(self.bind):
            return ""
        return (
            "No TLS: anyone on the network can read the traffic and the links. "
            "Use --tls CERT KEY, or a reverse proxy with --public-url."
        )


class Reach(Struct, frozen=True):
    """Under which names a server answers, each with its origin, and the addresses that are printed."""

    names: dict[str, str]
    owner: str
    public: str


def reach_of(sharing: Sharing | None, port: int) -> Reach:
    """The names of a server: its loopback address and, where it is shared, the one address of its links."""
    scheme = "https" if sharing is not None and sharing.tls is not None else "http"
    names = {f"{host}:{port}": f"{scheme}://{host}:{port}" for host in (LOOPBACK, "localhost")}
    owner = f"{scheme}://{LOOPBACK}:{port}"
    if sharing is None:
        return Reach(names, owner, owner)
    if sharing.public_url:
        parts = urlsplit(sharing.public_url)
        # A browser leaves the default port out of Host and Origin, and writes names in small letters.
        default = 443 if parts.scheme == "https" else 80
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        name = host if parts.port in (None, default) else f"{host}:{parts.port}"
        public = f"{parts.scheme}://{name}"
    else:
        host = own_address() if _is_everywhere(sharing.bind) else sharing.bind
        default = 443 if scheme == "https" else 80
        name = (f"[{host}]" if ":" in host else host) + ("" if port == default else f":{port}")
        public = f"{scheme}://{name}"
    # A certificate is for the public name.
    return Reach({**names, name: public}, public if sharing.tls is not None else owner, public)


def own_address() -> str:
    """The address of this machine in its network. Nothing is sent: connecting a datagram socket only chooses a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_everywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def tls_context(files: tuple[Path, Path]) -> ssl.SSLContext:
    """The certificate and key of --tls, ready for a server."""
    certificate, key = files
    for path in files:
        if not path.is_file():
            raise DataError(
                f"--tls: there is no file {path}. Give the certificate, then its key, both in PEM."
            )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # A key with a password would be asked for on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, OSError, ValueError) as fault:
        reason = getattr(fault, "reason", None) or getattr(fault, "strerror", None) or "it cannot be read"
        raise DataError(
            f"--tls {certificate} {key}: {str(reason).replace('_', ' ').lower()}.\n"
            "Give a certificate and its key without a password, both in PEM."
        ) from fault
    return context


# Invitations


def session_of(token: str) -> str:
    """What the cookie holds for the secret of a link: from neither can the other be found by reading the store."""
    return hashlib.sha256(b"adjudge session " + token.encode()).hexdigest()


def _hash_of(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()


class Invitations:
    """The invitations to one server: to label a run, or to read all pages."""

    def __init__(self, store_path: Path, kind: InvitationKind, run: RunRow | None = None) -> None:
        self._store_path, self._kind, self._run = store_path, kind, run

    def all(self) -> list[Invitation]:
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
        known = [one for one in open_ones if compare_digest(one.secret.encode(), wanted.encode())]
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


class Attempts:
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
