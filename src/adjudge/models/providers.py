"""The providers: a company or server that offers models, with its address and key variable, from
`providers.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Literal

import msgspec
from msgspec import Struct

BatchForm = Literal["openai", "azure", "gemini", "anthropic"]


class Provider(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of `providers.toml`, where the fields are explained."""

    form: str
    needs: str
    wire: Literal["chat", "messages", "converse", "decisions", "systemone"]
    address: str
    path: str = ""
    endpoint: str = ""
    address_env: str = ""
    fill: dict[str, str] = {}
    parts: tuple[str, ...] = ()
    query: dict[str, str] = {}
    query_env: dict[str, str] = {}
    key_env: str = ""
    other_keys: tuple[str, ...] = ()
    header: Literal["bearer", "api-key", "x-api-key"] = "bearer"
    thinking: Literal["", "google", "openrouter"] = ""
    publisher: str = ""
    batch: BatchForm | Literal[""] = ""
    is_local: bool = False
    lists_ends: bool = False
    names: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@cache
def providers() -> dict[str, Provider]:
    """The providers by the name before the colon of a spec."""
    text = resources.files(__package__).joinpath("providers.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Provider])


def provider_called(name: str) -> str | None:
    """The provider that other tools call by a name."""
    name = name.lower()
    return next((key for key, provider in providers().items() if name in (key, *provider.names)), None)


def provider_of(name: str) -> str | None:
    """The provider whose models have names like this one."""
    return next(
        (key for key, provider in providers().items() if name.lower().startswith(provider.models)), None
    )
