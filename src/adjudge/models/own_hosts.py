"""The hosts that a provider's key belongs to: OPENAI_API_KEY goes to api.openai.com, or where the user's
OPENAI_BASE_URL points.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from .addresses import provider_address
from .providers import Provider, providers
from .spec import addresses_in, takes_key


def owners_of(variable: str) -> list[str]:
    """The providers whose key the variable holds, by name; empty for a variable that no provider uses."""
    return [
        name
        for name, provider in providers().items()
        if variable and variable in (provider.key_env, *provider.other_keys)
    ]


def is_at_home(variable: str, spec: str) -> bool:
    """Whether a model is at a host of the provider whose key the variable holds."""
    owners = owners_of(variable)
    addresses = addresses_in(spec)
    if not addresses:
        return spec.partition(":")[0] in owners or not takes_key(spec)
    patterns = [pattern for name in owners for pattern in _origins(providers()[name])]
    return all(any(re.fullmatch(pattern, _origin(url)) for pattern in patterns) for url in addresses)


def _origins(provider: Provider) -> list[str]:
    """Patterns of scheme, host and port: the provider's own, and the user's in place of it."""
    parts = re.split(r"\{\w+\}", _origin(provider.address))
    patterns = [r"[a-z0-9-]+".join(map(re.escape, parts))]
    if provider.address_env and (given := os.environ.get(provider.address_env, "").strip()):
        patterns.append(re.escape(_origin(provider_address(provider, given))))
    return patterns


def _origin(address: str) -> str:
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"
