"""A run option is declared once, in `run_options/options.py`; flags,
keywords, the manifest and the pytest fixture follow from it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from typer.main import get_command

import adjudge
from adjudge.cli.app import app
from adjudge.judge.judge import OPTIONS
from adjudge.run_options.options import RunOptions, declared_options, flag_of
from adjudge.run_options.recorded import options_from, recorded_settings
from signature import declared_parameters, public_parameters

PACKAGE = Path(adjudge.__file__).parent


@pytest.mark.parametrize("name", declared_options())
def test_an_option_is_a_flag_a_keyword_and_known_to_the_fixture(name: str) -> None:
    default, option = declared_options()[name].default, declared_options()[name].option
    command = get_command(app).commands["run"]  # type: ignore[attr-defined]
    (flag,) = (parameter for parameter in command.params if flag_of(name) in parameter.opts)
    assert flag.help == option.help
    assert flag.metavar == (option.metavar or None)
    keyword = inspect.signature(adjudge.run).parameters[name]
    assert keyword.kind is keyword.KEYWORD_ONLY
    # The default store is read from the environment at each call.
    assert keyword.default == default or name in ("map", "store")
    assert (name in OPTIONS) == option.is_for_tests


def test_no_other_file_lists_the_options() -> None:
    names = {*declared_options(), *map(flag_of, declared_options())}
    for path in PACKAGE.rglob("*.py"):
        # The parameters of the public functions are listed for editors; the test below compares them.
        if path.parent.name != "run_options" and path.name != "public.py":
            for line, listed in lists_of_names(ast.parse(path.read_text(encoding="utf-8"))):
                # A few of them together are a use; a third of them is a second declaration.
                assert len(names.intersection(listed)) < 9, f"{path}:{line} lists the options of a run again"


@pytest.mark.parametrize("function", ["run", "run_async"])
def test_the_public_functions_have_the_declared_options_as_parameters(function: str) -> None:
    """After an option was added, `python tests/signature.py` writes it into both."""
    assert public_parameters(function) == declared_parameters()


def lists_of_names(tree: ast.AST) -> Iterator[tuple[int, Iterable[str]]]:
    """The parameters of functions and calls, the fields of classes, and the texts in literals."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
        elif isinstance(node, ast.Call):
            yield node.lineno, [keyword.arg or "" for keyword in node.keywords]
        elif isinstance(node, ast.ClassDef):
            fields = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
            yield node.lineno, [field.id for field in fields if isinstance(field, ast.Name)]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            parts = node.keys if isinstance(node, ast.Dict) else node.elts
            yield node.lineno, [str(part.value) for part in parts if isinstance(part, ast.Constant)]


def test_the_settings_of_a_manifest_are_those_of_earlier_versions() -> None:
    """Otherwise a run that an earlier version began could not be resumed."""
    assert list(recorded_settings(RunOptions(store="x.db", budget=3.0)).items()) == [
        ("samples", 1),
        ("estimator", None),
        ("order", "both"),
        ("temperature", None),
        ("max_tokens", None),
        ("seed", None),
        ("reask", True),
        ("steps", "given"),
        ("limit", None),
    ]


def test_options_are_read_back_from_a_manifest() -> None:
    options = RunOptions(samples=3, order="random", steps="generate", limit=5, reask=False)
    assert options_from(recorded_settings(options)) == options
    assert options_from({**recorded_settings(RunOptions()), "of_a_later_version": 1}) == RunOptions()
