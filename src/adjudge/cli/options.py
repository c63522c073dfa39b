"""Options that several commands share, and the options of a run as parameters of a command."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from ..errors import AdjudgeError, DataError
from ..run_options import RAY_ADDRESS, Declared, declared_options, default_store, flag_of

# Plain words in the help and error messages of the command line's parser: no names of Python types or libraries.
#
# What a command takes is declared with the command. Every rule here replaces text, and does nothing where another version of
# the parser words it differently.


_TYPE_OF_ARGUMENT = re.compile(r"^(  \S+)( <[^<>\n]+>)(?=  |$)", re.MULTILINE)
_REQUIRED = re.compile(r"\{([^{}\s]+)\}(?:\.\.\.)?")
_OPTIONAL = re.compile(r"\[\[([^\[\]\s]+)\]\]")
_BOUND = re.compile(r"Input should be (greater|less) than or equal to (\S+)")


class PlainCommand(TyperCommand):
    """A command whose usage, help and errors use the names in its help."""

    def get_help(self, ctx: Any) -> str:
        # Removed text is replaced by spaces, so that the columns stay aligned.
        text = _TYPE_OF_ARGUMENT.sub(lambda match: match[1] + " " * len(match[2]), super().get_help(ctx))
        first, *rest = text.split("\n")
        return "\n".join([_plain_usage(first), *rest])

    def get_usage(self, ctx: Any) -> str:
        return _plain_usage(super().get_usage(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, with_address(args))
        except typer.BadParameter as bad:
            bad.message = _plain_message(bad.message, bad.__cause__)
            raise


def with_address(args: list[str]) -> list[str]:
    """`--ray` without an address means this machine; the parser knows no flags whose value may be left out."""
    return [
        f"{arg}=local" if arg == "--ray" and not RAY_ADDRESS.fullmatch("".join(args[at : at + 1])) else arg
        for at, arg in enumerate(args, 1)
    ]


def use_plain_words(app: typer.Typer) -> None:
    """Use `PlainCommand` for every command of an app and of the apps in it."""
    for command in app.registered_commands:
        command.cls = PlainCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_plain_words(group.typer_instance)


def _plain_usage(text: str) -> str:
    return _OPTIONAL.sub(r"[\1]", _REQUIRED.sub(r"\1", text))


def _plain_message(message: str, cause: BaseException | None) -> str:
    """What is wrong with a value, and the value where the parser names it."""
    value = _value(cause)
    if bound := _BOUND.search(message):
        side = "more" if bound[1] == "greater" else "less"
        return f"{value} is not {bound[2]} or {side}."
    if "valid integer" in message:
        return f"{value} is not a whole number."
    if "valid number" in message or "finite number" in message:
        return f"{value} is not a number."
    return message.replace("Input should be", "it should be")


def _value(cause: BaseException | None) -> str:
    try:
        return f"'{cause.errors()[0]['input']}'"  # type: ignore[union-attr]
    except (AttributeError, IndexError, KeyError, TypeError):
        return "the value"


ABOUT = typer.Option(
    "new-inputs",
    "--about",
    metavar="new-inputs|these-items",
    help="What the numbers are about: inputs like these, or these items alone.",
)
AS_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")


def _run_names(incomplete: str) -> list[str]:
    """The runs of the default store, for shell completion."""
    from ..store import open_store

    try:
        with open_store(default_store(), write=False) as opened:
            return [run.name for run in opened.runs() if run.name.startswith(incomplete)]
    except AdjudgeError:
        return []


def protocol_ids(incomplete: str) -> list[str]:
    """The built-in protocols, for shell completion."""
    from ..protocols import builtin_ids

    return [name for name in builtin_ids() if name.startswith(incomplete)]


RUN = typer.Argument(
    "last",
    metavar="[RUN]",
    help="The name of a run; default: the last one.",
    show_default=False,
    autocompletion=_run_names,
)
NAMED_RUN = typer.Argument(
    ..., metavar="RUN", help="The name of a run, or 'last'.", autocompletion=_run_names
)
"""Where a command changes or deletes a run."""


def parse_renames(renames: list[str]) -> dict[str, str]:
    """`--map INPUT=FIELD` as a mapping from input to field."""
    mapping: dict[str, str] = {}
    for rename in renames:
        name, sign, field = rename.partition("=")
        if not sign or not name or not field:
            raise DataError(f"--map {rename}: write it as INPUT=FIELD, for example --map response=output.")
        if name in mapping:
            raise DataError(f"--map {rename}: input '{name}' is mapped twice. Keep one.")
        mapping[name] = field
    return mapping


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


STORE = run_option("store")


def was_given(ctx: typer.Context, name: str) -> bool:
    """Whether the user gave a parameter, so that the run file does not decide it."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


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
    if declared.option.is_repeatable:
        return list[str]
    if declared.type in (int, float, bool):
        return declared.type
    return Path if Path in get_args(declared.type) else str
