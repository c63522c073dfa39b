"""The address of a model's server: from its provider, an environment variable, or the spec."""

from __future__ import annotations

import os
from urllib.parse import quote, urlencode, urlsplit

from ..errors import ModelError
from .providers import Provider


def name_and_address(provider: Provider, spec: str, rest: str) -> tuple[str, str]:
    """The name of the model and the base URL."""
    given = os.environ.get(provider.address_env, "").strip() if provider.address_env else ""
    parts = rest.split("/") if provider.parts else []
    if given and len(parts) == 1:
        parts = ["-", *parts]  # the variable names the resource
    if len(parts) != len(provider.parts) or not all(parts):
        raise ModelError(f"'{spec:.200}' is not complete. Write it as {provider.form}.")
    name = parts[-1] if parts else rest
    if provider.publisher and "/" not in name:
        name = f"{provider.publisher}/{name}"
    values = dict(zip(provider.parts, parts, strict=True))
    for slot, variable in provider.fill.items():
        if f"{{{slot}}}" in provider.path or not given:
            values[slot] = _variable(variable, spec)
    filled = {slot: quote(value, safe="") for slot, value in values.items()}
    path = provider.path.format(**filled)
    if not given:
        # Vertex has its worldwide endpoint on a host without a prefix.
        return name, provider.address.format(**filled).replace("//global-", "//") + path
    return name, checked_url(provider_address(provider, given), provider.address_env) + path


def provider_address(provider: Provider, given: str) -> str:
    """The address that the variable of a provider holds, as that provider reads it."""
    return _ollama_url(given) if provider.address_env == "OLLAMA_HOST" else given


def _variable(variable: str, spec: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value and variable == "AWS_REGION":
        value = os.environ.get("AWS_DEFAULT_REGION", "").strip()
    if not value:
        raise ModelError(f"{spec:.200} needs the environment variable {variable}, which is not set. Set it.")
    return value


def query_of(provider: Provider) -> str:
    """The query of every request, such as the version of Azure's API."""
    values = {
        name: os.environ.get(provider.query_env.get(name, ""), "").strip() or value
        for name, value in provider.query.items()
    }
    return f"?{urlencode(values)}" if values else ""


def _ollama_url(address: str) -> str:
    """OLLAMA_HOST as Ollama itself reads it: without a scheme, or the address that it listens on."""
    url = address if "://" in address else f"http://{address}"
    url = url.replace("://0.0.0.0", "://127.0.0.1").rstrip("/")
    try:
        parts = urlsplit(url)
        if parts.port is None and parts.scheme == "http":
            url = f"{url}:11434"
    except ValueError:
        return url
    return url if parts.path else f"{url}/v1"


def checked_url(address: str, where: str) -> str:
    """A usable address. An error message never repeats the address: it may contain a password."""
    try:
        parts = urlsplit(address)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise ModelError(f"{where} is not a server address. Write it as http://HOST:PORT/v1.") from None
    if parts.scheme not in ("http", "https") or not host or any(c.isspace() for c in address):
        raise ModelError(f"{where} is not a server address. Write it as http://HOST:PORT/v1.")
    if parts.username is not None or parts.query:
        raise ModelError(
            f"{where} of {host} contains a user name or a query, which would be stored in every record. "
            "Put the key into an environment variable, and name the variable with --key-env."
        )
    return address.rstrip("/")
