"""Checks each option of a run alone: its value has the declared type, is finite, and is within its bounds.

A number that is not finite is refused, because every comparison with it is false: a budget of nan would never
be spent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from ..errors import DataError
from .options import Declared, RunOptions, declared_options, flag_of

_KINDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
}


def check_values(options: RunOptions) -> None:
    """`DataError` for the first option whose value its declaration does not allow."""
    for name in declared_options():
        if problem := problem_of(name, getattr(options, name)):
            raise DataError(f"{flag_of(name)} {problem}.")


def problem_of(name: str, value: object) -> str:
    """A value and why the option of this name cannot have it; empty where it can."""
    declared = declared_options()[name]
    why = "" if value is declared.default else _why_not(value, declared)
    shown = repr(value) if isinstance(value, str) and not declared.choices else value
    return f"{shown}: {why}" if why else ""


def _why_not(value: object, declared: Declared) -> str:
    """Why an option cannot have a value; empty where it can."""
    if declared.choices:
        return "" if value in declared.choices else f"choose {', '.join(declared.choices)}"
    if not _is_of(value, declared.type):
        return f"must be {_KINDS.get(declared.type, declared.option.metavar)}"
    if not isinstance(value, Real):
        return ""
    number = float(value)
    if not math.isfinite(number):
        return "must be a finite number"
    least, above = declared.option.at_least, declared.option.more_than
    if least is not None and number < least:
        return f"must be at least {least:g}"
    return f"must be above {above:g}" if above is not None and number <= above else ""


def _is_of(value: object, annotation: Any) -> bool:
    """Whether a value is of a type as options declare them."""
    origin, of = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return any(_is_of(value, member) for member in of)
    if origin is Literal:
        return value in of
    if origin is tuple:
        is_list = isinstance(value, tuple | list) and len(value) == len(of)
        return is_list and all(map(_is_of, value, of))  # type: ignore[call-overload]
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(_is_of(entry, of[1]) for entry in value.values())
    if origin is not None and issubclass(origin, Sequence):
        return isinstance(value, Sequence) and all(_is_of(entry, of[0]) for entry in value)
    return isinstance(value, {int: Integral, float: Real}.get(annotation, annotation))
