"""What a user gives for each of several models: keys and prices, by the name of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import DataError


def for_models(given: Any, models: Sequence[str], n_models: int, form: str, what: str) -> Any:
    """What is given for these models of `n_models`; a key without a model's name would reach every host."""
    from ..models import named

    if given is None:
        return None
    if not isinstance(given, Mapping):
        if n_models > 1:
            raise DataError(f"{what} asks several models. Name the one that it is for: {form}.")
        return given
    choices = [named(model) for model in models]
    names = {choice if isinstance(choice, str) else choice.alias or choice.model for choice in choices}
    mine = {name: value for name, value in given.items() if name in names}
    return mine or None
