"""The options of a run as parameters of a command."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from ..run_options.options import Declared, declared_options, default_store, flag_of


def run_option(name: str) -> Any:
    """An option of a run as the default of a command's parameter."""
    default, option = declared_options()[name].default, declared_options()[name].option
    flag = f"{flag_of(name)}/--no-{flag_of(name)[2:]}" if default is True else flag_of(name)
    if option.is_repeatable:
        default = []
    elif not isinstance(default, str | int | float):
        default = None
    metavar = option.metavar or None
    if name == "store":
        # Read when the command is run: the environment may name another store.
        shown = "$ADJUDGE_STORE, or adjudge.db"
        return typer.Option(default_store, flag, metavar=metavar, show_default=shown, help=option.help)
    return typer.Option(default, flag, metavar=metavar, min=option.at_least, help=option.help)


def was_given(ctx: typer.Context, name: str) -> bool:
    """Whether the user gave a parameter, so that the run file does not decide it."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def takes_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace `**options` of a command by a parameter for each option of a run that it does not declare
    itself.

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
    if declared.option.is_repeatable:
        return list[str]
    if declared.type in (int, float, bool):
        return declared.type
    return Path if Path in get_args(declared.type) else str
