"""A run option is declared once, in `run_options/options.py`; flags,
keywords, the manifest and the pytest fixture follow from it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from typer.main import get_command

import adjudge
from adjudge import public
from adjudge.cli.app import app
from adjudge.errors import DataError
from adjudge.judge.judge import OPTIONS
from adjudge.run_options.keywords import JudgeKeywords, RunKeywords
from adjudge.run_options.options import OF_A_MODEL, RunOptions, declared_options, flag_of
from adjudge.run_options.recorded import options_from, recorded_settings

PACKAGE = Path(adjudge.__file__).parent


@pytest.mark.parametrize("name", declared_options())
def test_an_option_is_a_flag_a_keyword_and_known_to_the_fixture(name: str) -> None:
    option = declared_options()[name].option
    command = get_command(app).commands["run"]  # type: ignore[attr-defined]
    (flag,) = (parameter for parameter in command.params if flag_of(name) in parameter.opts)
    assert flag.help == option.help
    assert flag.metavar == (option.metavar or None)
    assert (name in OPTIONS) == option.is_for_tests


@pytest.mark.slow
def test_no_other_file_lists_the_options() -> None:
    names = {*declared_options(), *map(flag_of, declared_options())}
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name != "run_options":
            for line, listed in lists_of_names(ast.parse(path.read_text(encoding="utf-8"))):
                # A few of them together are a use; a third of them is a second declaration.
                assert len(names.intersection(listed)) < 9, f"{path}:{line} lists the options of a run again"


def test_the_keywords_that_editors_see_are_the_declared_options() -> None:
    keywords, declared = get_type_hints(RunKeywords), get_type_hints(RunOptions)
    # Without a store, the environment names it when the run is made.
    declared["store"] |= None
    assert keywords == {name: declared[name] for name in declared_options()}
    assert set(get_type_hints(JudgeKeywords)) == set(OPTIONS)


@pytest.mark.parametrize("function", [adjudge.run, adjudge.run_async])
def test_the_public_functions_take_the_options_as_keywords(function: Callable[..., object]) -> None:
    hints = get_type_hints(function, vars(public), {"PolarsFrame": object})
    assert get_args(hints["options"]) == (RunKeywords,)


def test_a_misspelt_keyword_is_reported_with_the_name_that_may_be_meant() -> None:
    with pytest.raises(DataError, match=r"run has no option 'sampels'\. Did you mean 'samples'\?"):
        adjudge.run([{"response": "x"}], "geval/score", "fake:text=5", sampels=2)  # type: ignore[call-arg]


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


NUMBERS = [name for name, declared in declared_options().items() if declared.type in (int, float)]


@pytest.mark.parametrize("name", declared_options())
def test_a_value_of_another_type_is_refused_before_anything_is_asked(name: str) -> None:
    if name == "store":  # `run` has it as a parameter, too
        return
    with pytest.raises(DataError, match=rf"^{flag_of(name)} .*: (must be|choose) "):
        adjudge.run([{"response": "x"}], "geval/score", "fake:text=5", **{name: object()})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1"])
def test_a_number_that_bounds_nothing_is_refused(name: str, value: float | str) -> None:
    """No comparison with nan is true: a budget of nan would never be spent."""
    with pytest.raises(DataError, match=rf"^{flag_of(name)} .*: must be a "):
        adjudge.run([{"response": "x"}], "geval/score", "fake:text=5", **{name: value})


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in ("seed", "step")])
def test_every_number_has_a_lowest_value(name: str) -> None:
    with pytest.raises(DataError, match=rf"^{flag_of(name)} -1: must be (at least|above) "):
        adjudge.run([{"response": "x"}], "geval/score", "fake:text=5", **{name: -1})


@pytest.mark.parametrize("name", OF_A_MODEL)
def test_the_settings_of_one_model_are_checked_like_those_of_a_run(name: str) -> None:
    settings = {"model": "fake:text=5", name: float("nan") if name == "temperature" else 0}
    with pytest.raises(DataError, match=f"model {'house' if name != 'reasoning_effort' else ''}"):
        adjudge.run([{"response": "x"}], "geval/score", {"house": settings})
