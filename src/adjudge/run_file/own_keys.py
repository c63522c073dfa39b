"""A provider's key goes to that provider's host only, where a run file says where it goes.

The user says otherwise outside the file: with `--key-env`, or with the provider's own variable for the
address, such as OPENAI_BASE_URL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..errors import DataError
from ..models import named
from ..models.headers import header_variable
from ..models.own_hosts import is_at_home, owners_of
from ..records import NamedModel

KeyEnv = str | Mapping[str, str] | None


def check_own_keys(file: Path, models: Sequence[str | NamedModel], of_run: KeyEnv, of_flags: KeyEnv) -> None:
    """Raise where a model of the file, or of the run, gets the key of a provider at another host."""
    for model in models:
        settings = named(model) if isinstance(model, str) else model
        for variable in sent_variables(settings, of_run, of_flags):
            if owners_of(variable) and not is_at_home(variable, settings.model):
                raise DataError(_message(file, settings, variable))


def sent_variables(model: NamedModel, of_run: KeyEnv, of_flags: KeyEnv = None) -> Iterator[str]:
    """The variables that the file has sent to a model; not the one that a flag names."""
    name = model.alias or model.model
    if _names(of_flags, name) is None and (key := _names(of_run, name) or model.key_env):
        yield key
    for value in model.headers.values():
        if variable := header_variable(value):
            yield variable


def _names(key_env: KeyEnv, model: str) -> str | None:
    return key_env.get(model) if isinstance(key_env, Mapping) else key_env


def _message(file: Path, model: NamedModel, variable: str) -> str:
    name = model.alias or model.model
    owner = " and ".join(owners_of(variable))
    return (
        f"{file} sends {variable} to {name}, but it is the key of {owner} and goes to its hosts only.\nPut"
        f" the key of {name} into another variable. Or, if the host may have this one, say so with a flag:"
        f" --key-env {name}={variable}"
    )
