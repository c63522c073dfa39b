"""Which proxy a request goes through, by the environment variables that curl and most HTTP clients use.

    https address     HTTPS_PROXY, then ALL_PROXY     a CONNECT tunnel; the proxy sees the host alone
    http address      HTTP_PROXY, then ALL_PROXY      the whole request, with the full address in its first
                      line
    NO_PROXY          hosts to which connections are direct

Names in lower case come first. A loopback address goes through the proxy like any other unless NO_PROXY names
it. The user name and password in a proxy's address are sent to that proxy alone; no message shows them. Opens
no connection.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from .keys import Secret


class Proxy(Struct, frozen=True):
    """A proxy by its address. `shown` is host and port, for messages."""

    host: str
    port: int
    is_secure: bool
    shown: str
    variable: str
    """the environment variable that names it"""
    password: Secret | None = None
    credentials: Secret | None = None
    """user name and password as the header sends them"""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that only the proxy gets."""
        if self.credentials is None:
            return {}
        return {"Proxy-Authorization": f"Basic {self.credentials.reveal()}"}

    @property
    def address(self) -> str:
        """The address without user name and password."""
        return f"{'https' if self.is_secure else 'http'}://{self.shown}"

    def redacted(self, text: str) -> str:
        """The text without this proxy's credentials."""
        for secret in (self.credentials, self.password):
            text = text if secret is None else secret.redact(text)
        return text

    def redacted_body(self, body: bytes) -> bytes:
        """The body of a response without this proxy's credentials."""
        for secret in (self.credentials, self.password):
            body = body if secret is None else secret.redact_bytes(body)
        return body


def proxy_for(
    host: str, port: int, is_secure: bool, environment: Mapping[str, str] | None = None
) -> Proxy | None:
    """The proxy for a host; none where the connection is direct. `ValueError` where the variable names no
    usable proxy."""
    environment = os.environ if environment is None else environment
    variable = _variable("https_proxy" if is_secure else "http_proxy", environment)
    variable = variable or _variable("all_proxy", environment)
    if not variable:
        return None
    listed = environment.get(_variable("no_proxy", environment), "")
    return None if is_excluded(host, port, listed) else _proxy(variable, environment[variable].strip())


def _variable(name: str, environment: Mapping[str, str]) -> str:
    """The name of the variable that is set, in lower or upper case; empty where neither has a value."""
    if name in environment:
        return name if environment[name].strip() else ""
    upper = name.upper()
    if name == "http_proxy" and "REQUEST_METHOD" in environment:
        return ""  # in a CGI program HTTP_PROXY is a header that the client sent
    return upper if environment.get(upper, "").strip() else ""


def is_excluded(host: str, port: int, listed: str) -> bool:
    """Whether NO_PROXY names a host: `*`, a name with all its subdomains, an address, a network, each with a
    port or without."""
    host = host.lower().rstrip(".")
    return any(_names(entry, host, port) for entry in listed.replace(",", " ").lower().split())


def _names(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    name, wanted_port = _split_port(entry)
    if wanted_port not in ("", str(port)):
        return False
    try:
        return ip_address(host) in ip_network(name, strict=False)
    except ValueError:
        pass  # one of them is a name
    name = name.removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith("." + name))


def _split_port(entry: str) -> tuple[str, str]:
    """`host:port`, `[::1]:port`, or a host alone; an IPv6 address without brackets has no port."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.partition(":")
    return (name, port) if colon and ":" not in port else (entry, "")


def _proxy(variable: str, address: str) -> Proxy:
    """Parse the address of a proxy. An error never repeats it: it may contain a password."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
        parts = urlsplit("")
    if parts.scheme.startswith("socks"):
        raise ValueError(
            f"{variable} names a SOCKS proxy, which is not supported. Name an HTTP proxy, or unset {variable}"
        )
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError(f"{variable} is not the address of a proxy. Write it as http://HOST:PORT")
    port = port or (443 if parts.scheme == "https" else 80)
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    password = credentials = None
    if parts.username is not None:
        user, word = unquote(parts.username), unquote(parts.password or "")
        token = base64.b64encode(f"{user}:{word}".encode()).decode()
        password = Secret(word) if word else None
        credentials = Secret(token)
    return Proxy(host, port, parts.scheme == "https", shown, variable, password, credentials)
