"""Help and messages of the command line's parser in plain words: no names of Python types, no words of its libraries.

What a command takes is declared where the command is; here is only how the parser tells it. Every rule is a change of
text that does nothing where another version of the parser says it otherwise.
"""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperCommand

_TYPE_OF_ARGUMENT = re.compile(r"^(  \S+)( <[^<>\n]+>)(?=  |$)", re.MULTILINE)
_REQUIRED = re.compile(r"\{([^{}\s]+)\}(?:\.\.\.)?")
_OPTIONAL = re.compile(r"\[\[([^\[\]\s]+)\]\]")
_BOUND = re.compile(r"Input should be (greater|less) than or equal to (\S+)")


class PlainCommand(TyperCommand):
    """A command that says what it takes by the names that its help gives."""

    def get_help(self, ctx: Any) -> str:
        # The columns stay where they are: what goes is replaced by spaces.
        text = _TYPE_OF_ARGUMENT.sub(lambda found: found[1] + " " * len(found[2]), super().get_help(ctx))
        first, *rest = text.split("\n")
        return "\n".join([_plain_usage(first), *rest])

    def get_usage(self, ctx: Any) -> str:
        return _plain_usage(super().get_usage(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as bad:
            bad.message = _plain_message(bad.message, bad.__cause__)
            raise


def speak_plainly(app: typer.Typer) -> None:
    """Make every command of an app, and of the apps in it, a plain one."""
    for command in app.registered_commands:
        command.cls = PlainCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            speak_plainly(group.typer_instance)


def _plain_usage(text: str) -> str:
    return _OPTIONAL.sub(r"[\1]", _REQUIRED.sub(r"\1", text))


def _plain_message(message: str, cause: BaseException | None) -> str:
    """What is wrong with a value, with the value where the parser tells it."""
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
