"""Parameters of commands that are declared elsewhere: the options of a run, and those of a gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from ..run_file.gate_options import GATE_OPTIONS
from ..run_options.options import Declared, declared_options, flag_of
from .run_options import run_option


def takes_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace `**options` of a command by a parameter for each option of a run that it does not declare
    itself.
    """
    options = declared_options().items()
    return _with_parameters(
        command, {name: (_flag_type(declared), run_option(name)) for name, declared in options}
    )


def takes_gate_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace `**flags` of a command by a parameter for each option of a gate."""
    parameters: dict[str, tuple[Any, Any]] = {}
    for name, option in GATE_OPTIONS.items():
        default: Any = [] if option.is_repeatable else None
        flag = typer.Option(default, flag_of(name), metavar=option.metavar, help=option.help)
        parameters[name] = (list[str] if option.is_repeatable else str, flag)
    return _with_parameters(command, parameters)


def _with_parameters(
    command: Callable[..., None], declared: Mapping[str, tuple[Any, Any]]
) -> Callable[..., None]:
    """The command with each declared parameter, a type and a default, in place of its last one, `**…`.

    They come after the last parameter that may be given by position; those behind it follow in the help.
    """
    hints = get_type_hints(command)
    shown = [p for p in signature(command).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    names = {parameter.name for parameter in shown}
    kind = Parameter.KEYWORD_ONLY
    for name, (hint, default) in declared.items():
        if name not in names:
            hints[name] = hint
            shown.append(Parameter(name, kind, default=default, annotation=hint))
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
