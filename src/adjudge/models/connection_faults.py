"""Faults of connections: refused, lost, an unknown host, a proxy that opens no tunnel, a certificate that is
not valid."""

from __future__ import annotations

import errno
import os
import socket

import aiohttp

from .http_errors import Fault, proxy_requires_credentials
from .request_target import RequestTarget


class NoCertificates(Exception):
    """A variable names certificates that do not exist."""


def bad_request(address: str, error: ValueError) -> Fault:
    return Fault("transport", f"{address[:200]}: {error}", is_final=True, is_unreached=True)


def connection_lost(target: RequestTarget, reason: str) -> Fault:
    return Fault("transport", f"{target.name}: connection lost: {reason}", True)


def connection_fault(target: RequestTarget, error: Exception) -> Fault:
    """The fault of a connection that was not made."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        message = _certificate_error(target, error.certificate_error)
        return Fault("transport", message, is_final=True, is_unreached=True)
    is_final = isinstance(error, NoCertificates)
    return Fault(
        "transport", f"{target.name}: {fault_text(error)}", not is_final, is_final=is_final, is_unreached=True
    )


def proxy_fault(target: RequestTarget, status: int) -> Fault:
    """The fault of a proxy that opens no tunnel."""
    proxy = target.proxy
    assert proxy is not None
    if status == 407:
        return proxy_requires_credentials(proxy.shown, proxy.variable)
    message = (
        f"the proxy {proxy.shown} ({proxy.variable}) opens no connection to {target.shown}: it answered"
        f" {status}"
    )
    if 400 <= status < 500:
        advice = f"Ask for access, or add {target.host} to NO_PROXY to connect directly."
        return Fault("transport", f"{message}. {advice}", is_final=True, is_unreached=True, status=0)
    return Fault("server", message, True, is_unreached=True)


_OTHER_HOST = (62, 64)
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH"""


def _certificate_error(target: RequestTarget, error: Exception) -> str:
    """Why a certificate was refused, and how a private authority is trusted."""
    reason = getattr(error, "verify_message", "").rstrip(".") or str(error)[:200]
    message = f"{target.name}: its certificate is not valid ({reason})."
    used = os.environ.get("SSL_CERT_FILE")
    if getattr(error, "verify_code", 0) in _OTHER_HOST:
        return f"{message} Use the host name that is in the certificate"
    if used:
        return (
            f"{message} The authorities that are trusted are those in SSL_CERT_FILE ({used[:200]}): add the"
            " one that signed it"
        )
    return f"{message} If a private authority signed it, set SSL_CERT_FILE to a PEM file with its certificate"


def fault_text(error: BaseException) -> str:
    """The short text of an exception; it contains nothing of the request."""
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, ConnectionRefusedError) or getattr(error, "errno", None) == errno.ECONNREFUSED:
        return "connection refused"
    if isinstance(error, socket.gaierror):
        return f"unknown host name ({error.strerror})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:200]
    if isinstance(error, aiohttp.ClientResponseError):
        return (
            "this is not a valid HTTP response"
            f" ({error.message.splitlines()[0][:60] if error.message else ''})"
        )
    return (str(error) or type(error).__name__)[:200]
