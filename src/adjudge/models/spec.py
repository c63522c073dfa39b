"""Parses the model spec after `-m` into a judge.

Knows the forms of a spec, and the environment variables with each provider's key and address. Sends nothing.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import ModelError
from . import anthropic, openai
from .base import KeySource, Model, Price
from .fake import FakeModel, read_script
from .local import LocalModel
from .rate_limits import Network
from .replay import ReplayModel

FORMS = (
    ("openai:NAME", "OPENAI_API_KEY, OPENAI_BASE_URL"),
    ("http://HOST/v1#NAME", "any OpenAI-compatible server; no key unless --key-env names one"),
    ("anthropic:NAME", "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL"),
    ("local", "adjudge[local]; the embedded judge, for the protocols gptscore/…: 93 MB are downloaded once"),
    ("local:FILE.gguf", "adjudge[local]; your model in GGUF format"),
    ("replay:FILE", "recorded replies"),
    ("fake:text=TEXT", "the same reply to every call; for tests"),
    ("fake:script=FILE.jsonl", "replies from a script; for tests"),
)
"""The forms of a model spec, each with what it needs."""

OPENAI_BASE = "https://api.openai.com/v1"
ANTHROPIC_BASE = "https://api.anthropic.com"

_STARTS = ("openai:", "anthropic:", "http://", "https://", "replay:", "fake:text=", "fake:script=", "local")


def parse_model(
    spec: str, *, key_env: str | None = None, price: Price | None = None, network: Network | None = None
) -> Model:
    """The judge that a spec names. `key_env` is the variable with the key, in place of the usual one.

    Models with the same `network` share connections and rate limits; the caller closes it.
    """
    if price is not None and not all(0 <= part < float("inf") for part in price):
        raise ModelError(f"price {price[0]},{price[1]}: both must be at least 0, in USD per million tokens.")
    start, _, rest = spec.partition(":")
    if start in ("http", "https") and rest.startswith("//"):
        return _server(spec, key_env, price, network)
    if start == "openai" and rest:
        base = _base_url("OPENAI_BASE_URL", OPENAI_BASE)
        key = KeySource(key_env or "OPENAI_API_KEY")
        return openai.OpenAIModel(spec, rest, base, openai.PATH, key=key, price=price, network=network)
    if start == "anthropic" and rest:
        base = _base_url("ANTHROPIC_BASE_URL", ANTHROPIC_BASE).removesuffix("/v1")
        key = KeySource(key_env or "ANTHROPIC_API_KEY")
        return anthropic.AnthropicModel(
            spec, rest, base, anthropic.PATH, key=key, price=price, network=network
        )
    if start == "replay" and rest:
        return ReplayModel(spec, rest)
    if spec.startswith("fake:text="):
        return FakeModel(spec.removeprefix("fake:text="), name=spec, price=price)
    if spec.startswith("fake:script=") and spec != "fake:script=":
        return FakeModel(read_script(spec.removeprefix("fake:script=")), name=spec, price=price)
    if spec == "local":
        return LocalModel(spec, price=price)
    if start == "local" and rest:
        return LocalModel(spec, Path(rest).expanduser(), price=price)
    raise _unknown(spec)


def _server(spec: str, key_env: str | None, price: Price | None, network: Network | None) -> Model:
    """An OpenAI-compatible server: the address before the #, the name of the model after it."""
    address, _, name = spec.partition("#")
    base = _checked_url(address, "the address").removesuffix(openai.PATH)
    if not name:
        raise ModelError(f"{base}: the name of the model is missing. Write it after a #: {base}#NAME.")
    key = KeySource(key_env) if key_env else None
    return openai.OpenAIModel(
        f"{base}#{name}", name, base, openai.PATH, key=key, price=price, network=network
    )


def _base_url(variable: str, default: str) -> str:
    value = os.environ.get(variable, "").strip()
    return _checked_url(value, variable) if value else default


def _checked_url(address: str, where: str) -> str:
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


def _unknown(spec: str) -> ModelError:
    near = difflib.get_close_matches(spec.partition(":")[0] + ":", _STARTS, 1, 0.6)
    if near:
        rest = spec.partition(":")[2].lstrip("/") or "NAME"
        hint = f" Did you mean {near[0]}{rest}?"
    elif spec and ":" not in spec:
        provider = "anthropic" if "claude" in spec.lower() else "openai"
        hint = f" Did you mean {provider}:{spec}?"
    else:
        hint = ""
    forms = "\n".join(f"  {form:<24}{needs}" for form, needs in FORMS)
    return ModelError(f"'{spec:.200}' is not a model.{hint} These forms are accepted:\n{forms}")
