"""The help: commands by what they are for, options by subject, and examples that could be typed."""

from __future__ import annotations

import re
import shlex

import pytest
import typer.main

from adjudge.cli.app import app
from adjudge.cli.help import COMMANDS, EXAMPLES, MOST_IN_ONE_LIST
from adjudge.terminal_text import n_columns
from running import adjudge

APP = typer.main.get_command(app)


def command_of(words: list[str]) -> tuple[object, list[str]]:
    """The command that words name, and what follows it."""
    command, place = APP, 0
    while place < len(words) and words[place] in getattr(command, "commands", {}):
        command, place = command.commands[words[place]], place + 1  # type: ignore[attr-defined]
    return command, words[place:]


def test_every_command_is_listed_once_in_few_words() -> None:
    listed = [name for names in COMMANDS.values() for name in names]
    assert sorted(listed) == sorted(APP.commands)  # type: ignore[attr-defined]
    shown = adjudge("--help").out
    assert "..." not in shown.partition("Start:")[2], "no text is cut"
    assert max(map(n_columns, shown.splitlines())) <= 80


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_is_a_command_with_flags_that_exist(path: str) -> None:
    shown = adjudge(*path.split(), "--help").out
    for example in EXAMPLES[path]:
        assert f"  {example}\n" in shown
        program, *words = shlex.split(example)
        assert program == "adjudge"
        assert words[: len(path.split())] == path.split()
        command, given = command_of(words)
        flags = {flag for parameter in command.params for flag in parameter.opts}  # type: ignore[attr-defined]
        assert {word for word in given if re.match(r"--?[a-z]", word)} <= flags
        command.make_context(path, [*given])  # type: ignore[attr-defined]


def test_every_command_with_arguments_has_an_example() -> None:
    for name, command in APP.commands.items():  # type: ignore[attr-defined]
        if getattr(command, "commands", None) is None and name not in ("plugins", "schema"):
            assert name in EXAMPLES, name


@pytest.mark.parametrize("name", ["run", "audit"])
def test_many_options_are_shown_by_subject(name: str) -> None:
    shown = adjudge(name, "--help").out
    headings = re.findall(r"^(\S[^:]*):$", shown, re.MULTILINE)
    assert "What is judged" in headings
    assert "Options" not in headings
    for part in re.split(r"^\S[^:]*:$", shown, flags=re.MULTILINE)[2:]:
        assert len(re.findall(r"^  -", part, re.MULTILINE)) <= MOST_IN_ONE_LIST
    command, _ = command_of([name])
    flags = {parameter.opts[-1] for parameter in command.params if parameter.opts[0].startswith("-")}  # type: ignore[attr-defined]
    assert not [flag for flag in flags if not re.search(rf"{re.escape(flag)}\b", shown)]
