"""The models of a request, each with its alias, its key variable and its price."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from ..did_you_mean import did_you_mean
from ..errors import DataError, ModelError
from ..models import Model, check_alias, named, parse_model, takes_key, takes_price
from ..records import ModelSettings, NamedModel
from ..run_options.options import OF_A_MODEL
from ..run_options.values import problem_of
from .request import Request, as_tuple


def model_choices(request: Request) -> list[Model | NamedModel]:
    """The models of a request, each with its own key variable and price."""
    if isinstance(request.model, Mapping):
        choices: list[Model | NamedModel] = [
            _with_alias(settings, alias) for alias, settings in request.model.items()
        ]
    else:
        choices = [
            choice if isinstance(choice, Model) else _with_alias(choice)
            for choice in as_tuple(request.model) or default_models()
        ]
    settings = [choice for choice in choices if isinstance(choice, NamedModel)]
    keys = _by_model("--key-env", request.key_env, "VAR", settings, takes_key)
    prices = _by_model("--price", request.price, "IN,OUT", settings, takes_price)
    return [
        choice
        if isinstance(choice, Model)
        else structs.replace(
            choice,
            key_env=keys.get(_name(choice), choice.key_env),
            price=prices.get(_name(choice), choice.price),
        )
        for choice in choices
    ]


def answers_questions(choice: Model | NamedModel) -> bool:
    """Whether a model of a request answers typed questions, and writes no text."""
    return (choice if isinstance(choice, Model) else parse_model(choice)).asks_questions


def _with_alias(choice: str | ModelSettings | Mapping[str, Any], alias: str = "") -> NamedModel:
    if isinstance(choice, Mapping):
        try:
            choice = msgspec.convert(choice, ModelSettings)
        except msgspec.ValidationError as error:
            known = ", ".join(ModelSettings.__struct_fields__)
            raise DataError(f"model {alias}: {error}. The keys are: {known}.") from None
    settings: ModelSettings = named(choice) if isinstance(choice, str) else choice
    for name in OF_A_MODEL:
        if problem := problem_of(name, getattr(settings, name)):
            raise DataError(f"model {alias or settings.model}: {name} {problem}.")
    if isinstance(settings, NamedModel):
        return structs.replace(settings, alias=check_alias(alias)) if alias else settings
    return NamedModel(**structs.asdict(settings), alias=check_alias(alias) if alias else "")


def _name(choice: NamedModel) -> str:
    return choice.alias or choice.model


def _by_model(
    flag: str,
    given: Any,
    form: str,
    choices: Sequence[NamedModel],
    can_take: Callable[[str], bool],
) -> dict[str, Any]:
    """model → what is given for it. A value without a model belongs to the only model that can take it.

    A key must not reach a host that it was not given for, so that nothing is guessed among several.
    """
    if given is None:
        return {}
    names = [_name(choice) for choice in choices]
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                hint = did_you_mean(name, names, f"The models are: {', '.join(names)}.")
                raise ModelError(f"{flag} {name}={form}: no model of this run is called '{name}'. {hint}")
        return dict(given)
    takers = [_name(choice) for choice in choices if can_take(choice.model)]
    # A price is for calls that cost something: those over the network, where there are any.
    remote = [_name(choice) for choice in choices if takes_key(choice.model)]
    takers = remote or takers
    if len(takers) > 1:
        forms = "  ".join(f"{flag} {name}={form}" for name in takers[:2])
        raise ModelError(
            f"{flag} does not say which of {len(takers)} models it is for: {', '.join(takers)}.\n"
            f"Name the model: {forms}\n"
            "A short name for a model: -m house=http://HOST/v1#NAME, or [models.house] in the run file."
        )
    return dict.fromkeys(takers, given)


def default_models() -> tuple[str, ...]:
    """The judge where none is named: the one in the variable ADJUDGE_MODEL."""
    model = os.environ.get("ADJUDGE_MODEL")
    return (model,) if model else ()
