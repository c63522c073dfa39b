"""Where asking a model leads, by its spec: addresses that are called and files that are read.

A provider by name is at its own address and needs no saying; where the spec names the host there, as a
resource of Azure does, it is one of the addresses. Knows nothing of keys.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from ..confirmed import remember
from ..errors import ModelError
from .addresses import name_and_address
from .alias import named
from .providers import providers
from .spec import addresses_in

FILE_FORMS = ("replay:", "fake:script=", "local:")
"""The forms of a model spec that end with the path of a file."""


def called_addresses(spec: str) -> list[str]:
    """The servers that a spec names, each as scheme, host and port."""
    if given := addresses_in(spec):
        return [shown_address(address) for address in given]
    start, _, rest = spec.partition(":")
    provider = providers().get(start)
    if provider is None or not provider.parts or "/" not in rest:
        return []
    try:
        return [shown_address(name_and_address(provider, spec, rest)[1])]
    except ModelError:
        return []  # opening the model says what is missing


def file_of(spec: str) -> str | None:
    """The path of the file that a spec names; none where it names no file."""
    form = next((form for form in FILE_FORMS if spec.startswith(form)), None)
    return None if form is None else os.path.expanduser(spec.removeprefix(form))


def may_be_plugin(spec: str) -> bool:
    """Whether a spec, which names no address and no file, is one that a plug-in opens."""
    return spec.partition(":")[0] not in providers() and spec != "local" and not spec.startswith("fake:text=")


def shown_address(address: str) -> str:
    """Scheme, host and port: a path on the same host is no other name."""
    try:
        parts = urlsplit(address)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    except ValueError:
        return address


def names_outside(specs: Iterable[str], file: Path) -> list[str]:
    """What asking these models wants outside the folder of a file, each as "call ADDRESS" or "read PATH"."""
    return sorted({name for spec in specs for name in _names(named(spec).model, file)})


def _names(spec: str, file: Path) -> Iterator[str]:
    if addresses := called_addresses(spec):
        yield from (f"call {address}" for address in addresses)
    elif (path := file_of(spec)) is not None:
        real = os.path.realpath(path)
        if not real.startswith(os.path.join(os.path.realpath(file.parent), "")):
            yield f"read {real}"
    elif may_be_plugin(spec):
        yield f"call {spec}"


def remember_models(store: Path, specs: Iterable[str]) -> None:
    """Keep that the user has asked these models with a store: its runs may then name them."""
    remember(store, names_outside(specs, store))
