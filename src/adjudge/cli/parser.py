"""The parser of the command line: plain words in its help and errors, without names of Python types or
libraries.

What a command takes is declared with the command. Every rule here replaces text, and does nothing where
another version of the parser words it differently.
"""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..run_options.check import RAY_ADDRESS
from .help import COMMANDS, by_heading, write_examples

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

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """An example, the arguments, and the options by subject."""
        write_examples(formatter, ctx.command_path)
        shown = [(each, record) for each in self.get_params(ctx) if (record := each.get_help_record(ctx))]
        arguments = [record for each, record in shown if each.param_type_name == "argument"]
        options = [(each.name or "", record) for each, record in shown if each.param_type_name == "option"]
        for heading, records in {"Arguments": arguments, **by_heading(options)}.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def get_usage(self, ctx: Any) -> str:
        return _plain_usage(super().get_usage(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, with_address(args))
        except typer.BadParameter as bad:
            bad.message = _plain_message(bad.message, bad.__cause__)
            raise


class PlainGroup(TyperGroup):
    """A group whose commands are listed by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        if set(self.commands) != {name for names in COMMANDS.values() for name in names}:
            super().format_commands(ctx, formatter)
            return
        for heading, names in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<10}", text) for name, text in names.items()])
        formatter.write_paragraph()
        formatter.write_text("The options of a command, with an example: adjudge COMMAND --help")


def with_address(args: list[str]) -> list[str]:
    """`--ray` without an address means this machine; the parser knows no flags whose value may be left
    out."""
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
