"""The target of a request: a parsed address, and the proxy on the way to it."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from msgspec import Struct
from yarl import URL

from .proxies import Proxy, proxy_for


class RequestTarget(Struct, frozen=True):
    """A parsed address, and the proxy on the way to it."""

    host: str
    is_secure: bool
    shown: str
    """host and port as in the address, for messages"""
    url: URL
    proxy: Proxy | None = None

    @property
    def name(self) -> str:
        """The host for messages, with the proxy that a fault may come from."""
        return f"{self.shown} through the proxy {self.proxy.shown}" if self.proxy else self.shown

    @property
    def needs_tls(self) -> bool:
        return self.is_secure or (self.proxy is not None and self.proxy.is_secure)


def target_of(address: str) -> RequestTarget:
    """Parse an address; `ValueError` where it is not valid."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        raise ValueError("it must begin with http:// or https://")
    if not parts.hostname:
        raise ValueError("it names no host")
    is_secure = parts.scheme == "https"
    host = parts.hostname.encode("idna").decode() if not parts.hostname.isascii() else parts.hostname
    shown = f"[{host}]" if ":" in host else host
    if parts.port is not None:
        shown = f"{shown}:{parts.port}"
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    if parts.query:
        path = f"{path}?{quote(parts.query, safe='/%:@!$&()*+,;=~?')}"
    port = parts.port or (443 if is_secure else 80)
    url = URL(f"{parts.scheme}://{shown}{path}", encoded=True)
    return RequestTarget(host, is_secure, shown, url, proxy_for(host, port, is_secure))
