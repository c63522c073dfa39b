"""Sharing the pages with people on other machines: where the server listens, its names, and its
certificate."""

from __future__ import annotations

import socket
import ssl
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from ..errors import DataError

PORT = 8347
"""Used with --share where no port is given: a link must be the same after a restart."""


LOOPBACK = "127.0.0.1"


_EVERYWHERE = "0.0.0.0"


class Sharing(Struct, frozen=True):
    """How a server is shared."""

    host: str = ""
    public_url: str = ""
    tls: tuple[Path, Path] | None = None

    @property
    def bind(self) -> str:
        """The address to listen on. A reverse proxy is expected
        on this machine; without one, every interface is used.
        """
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
    """The address of this machine in its network. Nothing is
    sent: connecting a datagram socket only chooses a route.
    """
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
