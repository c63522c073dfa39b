"""The alias of a model: a short name in place of its address."""

from __future__ import annotations

import re

from ..errors import ModelError
from ..records import NamedModel

_ALIAS = re.compile(r"[A-Za-z][\w.-]{0,39}")


_RESERVED = ("local", "last")


def check_alias(alias: str) -> str:
    """The alias; `ModelError` where it cannot be one."""
    if not _ALIAS.fullmatch(alias) or alias in _RESERVED:
        raise ModelError(
            f"'{alias:.80}' cannot name a model. Use a letter, then up to 39 letters, digits, '.', '_' or"
            " '-'."
        )
    return alias


def named(spec: str) -> NamedModel:
    """The model that ALIAS=SPEC or SPEC names. An alias has no colon, so that fake:text=TEXT has none."""
    alias, sign, rest = spec.partition("=")
    if sign and _ALIAS.fullmatch(alias):
        return NamedModel(model=rest, alias=check_alias(alias))
    return NamedModel(model=spec)
