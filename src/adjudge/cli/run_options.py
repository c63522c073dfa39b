"""The options of a run as parameters of a command."""

from __future__ import annotations

from typing import Any

import typer

from ..run_options.options import declared_options, default_store, flag_of


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
    return typer.Option(default, flag, metavar=metavar, help=option.help)


def was_given(ctx: typer.Context, name: str) -> bool:
    """Whether the user gave a parameter, so that the run file does not decide it."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")
