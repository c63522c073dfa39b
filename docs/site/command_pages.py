"""Reference pages of the commands, from the parser: what `--help` says, as tables that can be searched."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import typer.main

from adjudge.cli.app import app
from adjudge.cli.help import examples_of
from adjudge.exit_codes import MEANINGS


def command_pages() -> dict[str, str]:
    """The text of each page by its name: one page a command, and an index."""
    pages = {}
    rows = []
    for words, command in _commands(typer.main.get_command(app), ()):
        name = " ".join(words)
        pages["-".join(words)] = _page(name, command)
        rows.append(f"| [`adjudge {name}`]({'-'.join(words)}.md) | {_first_sentence(command)} |")
    pages["index"] = "\n".join(
        ["# Commands", "", "| command | what it does |", "|---|---|", *rows, "", _EXIT_CODES]
    )
    return pages


_EXIT_CODES = "\n".join(
    [
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| {code} | {text} |" for code, text in MEANINGS.items()),
    ]
)


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", None)
    if below is None or (words and command.invoke_without_command):
        yield words, command
    for name, other in (below or {}).items():
        if not other.hidden:
            yield from _commands(other, (*words, name))


def _page(name: str, command: Any) -> str:
    context = command.make_context(f"adjudge {name}", [], resilient_parsing=True)
    usage = command.get_usage(context).replace("Usage: ", "", 1).strip()
    lines = [f"# adjudge {name}", "", (command.help or "").strip(), "", "```text", usage, "```"]
    if examples := examples_of(f"adjudge {name}"):
        lines += ["", "```sh", *examples, "```"]
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    records = [each.get_help_record(context) for each in shown]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        rows = [
            f"| <code>{_name(record[0])}</code> | {_cell(record[1])} |"
            for each, record in zip(shown, records, strict=True)
            if record is not None and each.param_type_name == kind
        ]
        if rows:
            lines += ["", f"## {title}", "", "| name | meaning |", "|---|---|", *rows]
    return "\n".join(lines) + "\n"


def _first_sentence(command: Any) -> str:
    text = " ".join((command.help or "").split("\n\n")[0].split())
    return _cell(text.split(". ")[0].rstrip("."))


def _name(text: str) -> str:
    """The flags and the value of an option, without the name of a Python type."""
    return html.escape(re.sub(r" <[^<>]+>$", "", " ".join(text.split()))).replace("|", "&#124;")


def _cell(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return re.sub(r"\S*https?://[^\s,;)]+", r"`\g<0>`", plain)  # an example, not a link
