"""Options that several commands share, and the options of a run as parameters of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import typer

from ..run_options import Declared, declared_options, flag_of

AS_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")
RUN = typer.Argument(..., metavar="RUN", help="The name of a run, or 'last'.")


def run_option(name: str) -> Any:
    """An option of a run as the default of a command's parameter."""
    default, option = declared_options()[name].default, declared_options()[name].option
    flag = f"{flag_of(name)}/--no-{flag_of(name)[2:]}" if default is True else flag_of(name)
    if not isinstance(default, str | int | float):
        default = [] if isinstance(default, Mapping) else None
    return typer.Option(default, flag, metavar=option.metavar or None, min=option.at_least, help=option.help)


STORE = run_option("store")


def takes_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace `**options` of a command by a parameter for each option of a run that it does not declare itself.

    They come after the last parameter that may be given by position; those behind it follow in the help.
    """
    hints = get_type_hints(command)
    shown = [p for p in signature(command).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    names = {parameter.name for parameter in shown}
    kind = Parameter.KEYWORD_ONLY
    for name, declared in declared_options().items():
        if name not in names:
            hints[name] = _flag_type(declared)
            shown.append(Parameter(name, kind, default=run_option(name), annotation=hints[name]))
    # A stable sort: the command's own keyword-only parameters come last.
    shown.sort(key=lambda parameter: parameter.kind is kind and parameter.name in names)
    command.__signature__ = signature(command).replace(parameters=shown)  # type: ignore[attr-defined]
    command.__annotations__ = hints
    return command


def _flag_type(declared: Declared) -> Any:
    """The type that the parser turns a flag's text into; what it does not know stays text."""
    if declared.type in (int, float, bool):
        return declared.type
    if get_origin(declared.type) is Mapping:
        return list[str]
    return Path if Path in get_args(declared.type) else str
