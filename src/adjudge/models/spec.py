"""Parses the model spec after `-m` into a judge.

Knows the forms of a spec and of an alias. The providers, with their addresses and key variables, are data:
`providers.toml`. Sends nothing.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from ..errors import ModelError
from ..records import ModelSettings, NamedModel
from . import anthropic, decisions, openai, systemone
from .base import KeySource, Model, Price
from .fake import FakeModel, read_script
from .local import LocalModel
from .rate_limits import Network
from .remote import BatchForm, RemoteModel
from .replay import ReplayModel
from .replicas import Replicas


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
    header: Literal["bearer", "api-key", "x-api-key"] = "bearer"
    thinking: Literal["", "google", "openrouter"] = ""
    publisher: str = ""
    batch: BatchForm | Literal[""] = ""
    is_local: bool = False
    names: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@cache
def providers() -> dict[str, Provider]:
    """The providers by the name before the colon of a spec."""
    text = resources.files(__package__).joinpath("providers.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Provider])


_OTHER_FORMS = (
    ("http://HOST/v1#NAME", "any OpenAI-compatible server; no key unless --key-env names one"),
    ("http://A/v1,http://B/v1#NAME", "replicas of one model: several such servers as one judge"),
    ("decisions+http://HOST/v1#NAME", "a decision model behind any server of OpenAI's decisions format"),
    ("systemone+http://HOST/v1#NAME", "a decision model behind any server of the System One format"),
    ("local", "adjudge[local]; the embedded judge, for the protocols gptscore/…: 93 MB are downloaded once"),
    ("local:FILE.gguf", "adjudge[local]; your model in GGUF format"),
    ("replay:FILE", "recorded replies"),
    ("fake:text=TEXT", "the same reply to every call; for tests"),
    ("fake:script=FILE.jsonl", "replies from a script; for tests"),
)


def forms() -> tuple[tuple[str, str], ...]:
    """The forms of a model spec, each with what it needs."""
    return (*((provider.form, provider.needs) for provider in providers().values()), *_OTHER_FORMS)


_ALIAS = re.compile(r"[A-Za-z][\w.-]{0,39}")
_RESERVED = ("local", "last")


def check_alias(alias: str) -> str:
    """The alias; `ModelError` where it cannot be one."""
    if not _ALIAS.fullmatch(alias) or alias in _RESERVED:
        raise ModelError(
            f"'{alias:.80}' cannot name a model. Use a letter, then up to 39 letters, digits, '.', '_' or '-'."
        )
    return alias


def named(spec: str) -> NamedModel:
    """The model that ALIAS=SPEC or SPEC names. An alias has no colon, so that fake:text=TEXT has none."""
    alias, sign, rest = spec.partition("=")
    if sign and _ALIAS.fullmatch(alias):
        return NamedModel(model=rest, alias=check_alias(alias))
    return NamedModel(model=spec)


def takes_key(spec: str) -> bool:
    """Whether a key may be sent to the model of a spec."""
    start, sign, rest = _without_wire(spec).partition(":")
    return bool(sign) and (
        (start in ("http", "https") and rest.startswith("//")) or spec.partition(":")[0] in providers()
    )


def takes_price(spec: str) -> bool:
    """Whether calls to the model of a spec may cost something."""
    return not spec.startswith("replay:")


def parse_model(
    spec: str | ModelSettings,
    *,
    key_env: str | None = None,
    price: Price | None = None,
    network: Network | None = None,
) -> Model:
    """The judge of a spec, or of settings with a spec. `key_env` is the variable with the key, in place of the usual one.

    Models with the same `network` share connections and rate limits; the caller closes it.
    """
    settings: ModelSettings = named(spec) if isinstance(spec, str) else spec
    model = _judge(settings.model, key_env or settings.key_env, price or settings.price, network)
    if isinstance(settings, NamedModel) and settings.alias:
        model.name = settings.alias
    if settings.headers:
        _set_headers(model, settings.headers)
    model.settings = settings
    return model


def _judge(spec: str, key_env: str | None, price: Price | None, network: Network | None) -> Model:
    if price is not None and not all(0 <= part < float("inf") for part in price):
        raise ModelError(f"price {price[0]},{price[1]}: both must be at least 0, in USD per million tokens.")
    start, _, rest = spec.partition(":")
    if _without_wire(spec).startswith(("http://", "https://")):
        return _server(spec, key_env, price, network)
    if start in providers() and rest:
        return _of_provider(spec, start, rest, key_env, price, network)
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


_ANOTHER_ADDRESS = re.compile(r",(?=https?://)")


_DECISIONS: dict[str, tuple[type[RemoteModel], str]] = {
    "decisions": (decisions.OpenAIDecisions, decisions.PATH),
    "systemone": (systemone.SystemOneModel, systemone.PATH),
}
"""The formats of decision models: what stands before the + of a server's address → its class and path."""


def _without_wire(spec: str) -> str:
    """A spec without the format of a decision model before its address."""
    wire, plus, rest = spec.partition("+")
    return rest if plus and wire in _DECISIONS else spec


def _server(spec: str, key_env: str | None, price: Price | None, network: Network | None) -> Model:
    """An OpenAI-compatible server, or one of a decision model: the address before the #, the name of the model after it.
    Several addresses are replicas of one model."""
    plain = _without_wire(spec)
    wire = spec.removesuffix(plain)
    form, path = _DECISIONS[wire[:-1]] if wire else (openai.OpenAIModel, openai.PATH)
    addresses, _, name = plain.partition("#")
    bases = [
        _checked_url(address, "the address").removesuffix(path)
        for address in _ANOTHER_ADDRESS.split(addresses)
    ]
    base = bases[0]
    if not name:
        raise ModelError(
            f"{wire}{base}: the name of the model is missing. Write it after a #: {wire}{base}#NAME."
        )
    key = KeySource(key_env) if key_env else None
    if len(bases) == 1:
        return form(f"{wire}{base}#{name}", name, base, path, key=key, price=price, network=network)
    if len(set(bases)) < len(bases):
        raise ModelError(f"a replica of {name} is given twice. Give each address once.")
    shared = network or Network()
    models = [
        form(f"{wire}{base}#{name}", name, base, path, key=key, price=price, network=shared) for base in bases
    ]
    whole = Replicas(f"{wire}replicas#{name}", models, shared, owns_network=network is None)
    whole.asks_questions, whole.most_questions = models[0].asks_questions, models[0].most_questions
    return whole


def _of_provider(
    spec: str, start: str, rest: str, key_env: str | None, price: Price | None, network: Network | None
) -> Model:
    provider = providers()[start]
    name, base = _address(provider, spec, rest)
    variable = key_env or provider.key_env
    key = KeySource(variable) if variable else None
    model: RemoteModel
    if provider.wire == "messages":
        base = base.removesuffix("/v1")
        model = anthropic.AnthropicModel(
            spec, name, base, anthropic.PATH, key=key, price=price, network=network
        )
    elif provider.wire == "converse":
        from .bedrock import BedrockModel

        path = f"/model/{quote(name, safe='')}/converse"
        model = BedrockModel(spec, name, base, path, key=key, price=price, network=network)
    elif provider.wire in _DECISIONS:
        form, path = _DECISIONS[provider.wire]
        model = form(spec, name, base, provider.endpoint or path, key=key, price=price, network=network)
    else:
        path = openai.PATH + _query(provider)
        model = openai.OpenAIModel(spec, name, base, path, key=key, price=price, network=network)
        model.key_header, model.thinking_form = provider.header, provider.thinking
    model.batch_form = provider.batch
    if price is None:
        if provider.is_local:
            model.is_local, model.price = True, (0.0, 0.0)
        elif (listed := list_price(start, name)) is not None:
            model.price, model.price_date = listed
    return model


def _address(provider: Provider, spec: str, rest: str) -> tuple[str, str]:
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
    given = _ollama_url(given) if provider.address_env == "OLLAMA_HOST" else given
    return name, _checked_url(given, provider.address_env) + path


def _variable(variable: str, spec: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value and variable == "AWS_REGION":
        value = os.environ.get("AWS_DEFAULT_REGION", "").strip()
    if not value:
        raise ModelError(f"{spec:.200} needs the environment variable {variable}, which is not set. Set it.")
    return value


def _query(provider: Provider) -> str:
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


_NOT_HEADERS = frozenset(
    ("host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding", "te", "upgrade")
)  # fmt: skip
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_FROM_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


def _set_headers(model: Model, headers: dict[str, str]) -> None:
    """Headers that are sent with every call of this model, in addition to its own."""
    if not isinstance(model, RemoteModel | Replicas):
        raise ModelError(f"{model.name} sends nothing: it takes no headers. Leave them out.")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _NOT_HEADERS:
            raise ModelError(f"{model.name}: header '{name:.80}' cannot be set. Leave it out.")
        if not (value.isascii() and value.isprintable()):
            raise ModelError(f"{model.name}: header {name} holds line breaks or characters beyond ASCII.")
        variable = _FROM_VARIABLE.fullmatch(value)
        model.headers[name] = KeySource(variable[1] or variable[2]) if variable else value


# -- list prices


class _PriceList(Struct, frozen=True, forbid_unknown_fields=True):
    date: str
    usd_per_million: dict[str, Price]


@cache
def _price_lists() -> dict[str, _PriceList]:
    text = resources.files(__package__).joinpath("prices.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, _PriceList])


_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$|-latest$")


def list_price(provider: str, name: str) -> tuple[Price, str] | None:
    """The provider's published price of a model and the date on which it was read; a dated version has its price."""
    prices = _price_lists().get(provider)
    if prices is None:
        return None
    price = prices.usd_per_million.get(name) or prices.usd_per_million.get(_DATED.sub("", name))
    return None if price is None else (price, prices.date)


# -- addresses, and what was meant


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
    hint = _suggestion(spec)
    known = "\n".join(f"  {form:<30}{needs}" for form, needs in forms())
    return ModelError(f"'{spec:.200}' is not a model.{hint} These forms are accepted:\n{known}")


_OTHER_STARTS = (
    "decisions+http://",
    "systemone+http://",
    "http://",
    "https://",
    "replay:",
    "fake:text=",
    "fake:script=",
    "local",
)


def _suggestion(spec: str) -> str:
    start, slash, rest = spec.partition("/")
    if slash and ":" not in start and (called := _provider_called(start)) is not None:
        slots = "".join(f"{part.upper()}/" for part in providers()[called].parts[:-1])
        return f" Did you mean {called}:{slots}{rest:.100}?"
    if ":" not in spec and slash:
        return f" Did you mean http://HOST/v1#{spec:.100} or openrouter:{spec:.100}?"
    if ":" not in spec and (known := _provider_of(spec)) is not None:
        return f" Did you mean {known}:{spec:.100}?"
    starts = [*(f"{name}:" for name in providers()), *_OTHER_STARTS]
    near = difflib.get_close_matches(spec.partition(":")[0] + ":", starts, 1, 0.6)
    if near:
        return f" Did you mean {near[0]}{spec.partition(':')[2].lstrip('/') or 'NAME'}?"
    return f" Did you mean openai:{spec:.100}?" if spec and ":" not in spec else ""


def _provider_called(name: str) -> str | None:
    """The provider that other tools call by a name."""
    name = name.lower()
    return next((key for key, provider in providers().items() if name in (key, *provider.names)), None)


def _provider_of(name: str) -> str | None:
    """The provider whose models have names like this one."""
    return next(
        (key for key, provider in providers().items() if name.lower().startswith(provider.models)), None
    )
