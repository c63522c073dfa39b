"""Parses the model spec after `-m` into a judge.

Knows the forms of a spec and of an alias. The providers, with their addresses and key variables, are data:
`providers.toml`. Sends nothing.
"""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from typing import Any
from urllib.parse import quote

from ..did_you_mean import nearest
from ..errors import ModelError, PluginError
from ..plugins import Plugin, plugin, plugins
from ..records import ModelSettings, NamedModel
from ..version import __version__
from . import anthropic, decision_models, openai, systemone
from .addresses import checked_url, name_and_address, query_of
from .alias import named
from .base import Model
from .fake import FakeModel, read_script
from .headers import set_headers
from .keys import KeySource
from .network import Network
from .prices import Price, list_price
from .providers import provider_called, provider_of, providers
from .remote import RemoteModel
from .replay import ReplayModel
from .replicas import Replicas
from .retirement import published_end

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

_EMBEDDED = Plugin(
    "models", "local", "adjudge", __version__,
    EntryPoint("local", "adjudge.models.local:open_model", "adjudge.models"),
)  # fmt: skip
"""The embedded judge is opened as a plug-in is: loaded where it is named."""

_BUILT_IN = frozenset(("http", "https", "local", "replay", "fake", "decisions", "systemone"))
"""What stands before the colon of the other forms. No plug-in can take one of these names."""


def forms() -> tuple[tuple[str, str], ...]:
    """The forms of a model spec, each with what it needs."""
    added = (
        (f"{name}:NAME", f"plug-in of {', '.join(one.origin for one in same)}")
        for name, same in plugins("models").items()
        if not _is_built_in(name)
    )
    return (*((provider.form, provider.needs) for provider in providers().values()), *_OTHER_FORMS, *added)


def built_in_names() -> frozenset[str]:
    """What stands before the colon of the built-in forms; a plug-in of one of these names is never used."""
    return _BUILT_IN | providers().keys()


def _is_built_in(name: str) -> bool:
    return name in built_in_names()


def plugin_of(spec: str) -> Plugin | None:
    """The plug-in that opens the model of a spec; none where the form is built in or unknown."""
    name = spec.partition(":")[0]
    return None if _is_built_in(name) or not name or addresses_in(spec) else plugin("models", name)


def takes_key(spec: str) -> bool:
    """Whether a key may be sent to the model of a spec."""
    start, sign, rest = _without_wire(spec).partition(":")
    return bool(sign) and (
        (start in ("http", "https") and rest.startswith("//"))
        or spec.partition(":")[0] in providers()
        or plugin_of(spec) is not None
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
    """The judge of a spec, or of settings with a spec. `key_env` is the variable with the key, in place of
    the usual one.

    Models with the same `network` share connections and rate limits; the caller closes it.
    """
    settings: ModelSettings = named(spec) if isinstance(spec, str) else spec
    model = _judge(settings.model, key_env or settings.key_env, price or settings.price, network)
    if isinstance(settings, NamedModel) and settings.alias:
        model.name = settings.alias
    if settings.headers:
        set_headers(model, settings.headers)
    model.settings = settings
    return model


def _judge(spec: str, key_env: str | None, price: Price | None, network: Network | None) -> Model:
    if price is not None and not all(0 <= part < float("inf") for part in price):
        raise ModelError(f"price {price[0]},{price[1]}: both must be at least 0, in USD per million tokens.")
    start, _, rest = spec.partition(":")
    if addresses_in(spec):
        return _server(spec, key_env, price, network)
    if start in providers() and rest:
        return _of_provider(spec, start, rest, key_env, price, network)
    if start == "replay" and rest:
        return ReplayModel(spec, rest)
    if spec.startswith("fake:text="):
        return FakeModel(spec.removeprefix("fake:text="), name=spec, price=price)
    if spec.startswith("fake:script=") and spec != "fake:script=":
        return FakeModel(read_script(spec.removeprefix("fake:script=")), name=spec, price=price)
    added = _EMBEDDED if spec == "local" or (start == "local" and rest) else plugin_of(spec)
    if added is None:
        raise _unknown_spec(spec)
    return _opened(added, spec, rest, key_env, price, network)


def _opened(
    added: Plugin, spec: str, rest: str, key_env: str | None, price: Price | None, network: Network | None
) -> Model:
    """The model that a plug-in opens: `open_model(spec, name, key_env=…, price=…, network=…)`."""
    model: Any = added.load()(spec, rest, key_env=key_env, price=price, network=network)
    if not isinstance(model, Model):
        raise PluginError(
            f"plug-in {added.name} (adjudge.models) of {added.origin} gave {type(model).__name__}, "
            "which is no adjudge.models.Model. Its package must be corrected."
        )
    if added is not _EMBEDDED:
        model.plugin = added.origin
    return model


_ANOTHER_ADDRESS = re.compile(r",(?=https?://)")


_DECISIONS: dict[str, tuple[type[RemoteModel], str]] = {
    "decisions": (decision_models.OpenAIDecisions, decision_models.PATH),
    "systemone": (systemone.SystemOneModel, systemone.PATH),
}
"""The formats of decision models: what stands before the + of a server's address → its class and path."""


def _without_wire(spec: str) -> str:
    """A spec without the format of a decision model before its address."""
    wire, plus, rest = spec.partition("+")
    return rest if plus and wire in _DECISIONS else spec


def addresses_in(spec: str) -> list[str]:
    """The addresses that a spec names itself, one for each replica; none where it names a provider or a
    file."""
    plain = _without_wire(spec)
    if not plain.startswith(("http://", "https://")):
        return []
    return _ANOTHER_ADDRESS.split(plain.partition("#")[0])


def _server(spec: str, key_env: str | None, price: Price | None, network: Network | None) -> Model:
    """An OpenAI-compatible server, or one of a decision model: the address before the #, the name of the
    model after it. Several addresses are replicas of one model."""
    plain = _without_wire(spec)
    wire = spec.removesuffix(plain)
    form, path = _DECISIONS[wire[:-1]] if wire else (openai.OpenAIModel, openai.PATH)
    name = plain.partition("#")[2]
    bases = [checked_url(address, "the address").removesuffix(path) for address in addresses_in(spec)]
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
    name, base = name_and_address(provider, spec, rest)
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
        path = openai.PATH + query_of(provider)
        model = openai.OpenAIModel(spec, name, base, path, key=key, price=price, network=network)
        model.key_header, model.thinking_form = provider.header, provider.thinking
        model.caches_prompts = start in ("openai", "azure")
    model.batch_form = provider.batch
    model.lists_ends, model.ending = provider.lists_ends, published_end(start, name)
    if price is None:
        if provider.is_local:
            model.is_local, model.price = True, (0.0, 0.0)
        elif (listed := list_price(start, name)) is not None:
            model.price, model.price_date = listed
    return model


def _unknown_spec(spec: str) -> ModelError:
    hint = _suggestion(spec)
    known = "\n".join(f"  {form:<29} {needs}" for form, needs in forms())
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
    if re.fullmatch(r"(?:localhost|[\w-]+(?:\.[\w-]+)+)?(?::\d+)?/\S*#\S+", spec):
        return f" Did you mean http://{spec:.100}?"
    if slash and ":" not in start and (called := provider_called(start)) is not None:
        slots = "".join(f"{part.upper()}/" for part in providers()[called].parts[:-1])
        return f" Did you mean {called}:{slots}{rest:.100}?"
    if ":" not in spec and slash:
        return f" Did you mean http://HOST/v1#{spec:.100} or openrouter:{spec:.100}?"
    if ":" not in spec and (known := provider_of(spec)) is not None:
        return f" Did you mean {known}:{spec:.100}?"
    starts = [*(f"{name}:" for name in providers()), *_OTHER_STARTS]
    if near := nearest(spec.partition(":")[0] + ":", starts):
        return f" Did you mean {near}{spec.partition(':')[2].lstrip('/') or 'NAME'}?"
    return f" Did you mean openai:{spec:.100}?" if spec and ":" not in spec else ""
