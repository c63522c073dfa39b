"""Rules of the project, as tests: who imports whom, what is public, how long functions are."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import adjudge

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "adjudge"

LAYERS = (
    {"did_you_mean", "errors", "exit_codes", "lazy_patterns", "records", "sections", "untrusted", "version"},
    {"confirmed", "plugins", "toml_text"},
    {"data", "render", "parse", "stats", "terminal_text", "words"},
    {"score_map"},
    {"protocols", "models", "store", "terminal"},
    {"probes", "run_options", "steps"},
    {"results"},
    {"engine", "run_file"},
    {"analysis"},
    {"judge", "platforms"},
    {"web", "pytest_plugin"},
    {"adapters", "public", "serve"},
    {"cli", "__init__"},
)
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}

ONLY_IN = {
    "uvloop": ("engine",),
    "scipy": ("stats",),
    "numpy": ("stats", "results"),
    "starlette": ("web", "serve"),
    "uvicorn": ("web", "serve"),
    "jinja2": ("web",),
    "markdown_it": ("web",),
    "pygments": ("web",),
    "difflib": ("did_you_mean",),
    "polars": ("data",),
}


MOST_FUNCTION_LINES = 60

LONG_COMMANDS = {
    "annotate_command",
    "view_command",
    "audit_command",
    "gate_command",
    "rank_command",
    "run_command",
    "serve_command",
    "trust_command",
    "tune_command",
}
"""Functions that are longer because they declare the options of a command, one to a line."""


class Module(NamedTuple):
    """What the rules ask of one module."""

    docstring: str | None
    names: tuple[str, ...]
    """the public functions and classes that it defines"""
    imports: list[ast.Import | ast.ImportFrom]
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef]


@functools.cache
def modules() -> dict[Path, Module]:
    """The modules of the package by their path in it."""
    return {path.relative_to(PACKAGE): module_at(path) for path in sorted(PACKAGE.rglob("*.py"))}


def module_at(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    return Module(
        ast.get_docstring(tree),
        tuple(
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
        ),
        [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)],
        [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)],
    )


def part_of(path: Path) -> str:
    """The unit of the layer table that a file belongs to: a module, or the package it lies in."""
    return path.parts[0].removesuffix(".py")


def imported_parts(path: Path, module: Module) -> set[str]:
    """The units of our own package that a file imports, at its top or inside functions."""
    depth = len(path.parts)
    parts = set()
    for node in module.imports:
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            if node.level == depth:
                parts |= {node.module.split(".")[0]} if node.module else {name.name for name in node.names}
            assert node.level <= depth, f"{path} imports from outside the package"
        elif (node.module or "").split(".")[0] == "adjudge":
            parts.add((node.module or "").split(".")[1] if "." in (node.module or "") else "__init__")
    return parts


def imported_packages(module: Module) -> set[str]:
    """The packages other than ours that a file imports."""
    names = set()
    for node in module.imports:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif not node.level:
            names.add((node.module or "").split(".")[0])
    return names


def test_the_design_lists_the_layers_with_every_folder() -> None:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8").partition("## Layers")[2]
    listed = [set(re.findall(r"\w+", line)[1:]) for line in text.split("```")[1].strip().splitlines()]
    folders = [{name for name in names if (PACKAGE / name).is_dir()} for names in LAYERS]
    assert [shown & names for shown, names in zip(listed, LAYERS, strict=True)] == listed
    assert [names - shown for shown, names in zip(listed, folders, strict=True)] == [set()] * len(LAYERS)


def test_a_module_imports_only_from_layers_above_its_own() -> None:
    upward = [
        f"{path}: {part_of(path)} must not import {name}"
        for path, module in modules().items()
        for name in sorted(imported_parts(path, module) - {part_of(path)})
        if LAYER_OF[name] >= LAYER_OF[part_of(path)]
    ]
    assert not upward


def test_heavy_packages_stay_in_their_place() -> None:
    misplaced = [
        f"{path}: {name} is imported in {ONLY_IN[name][0]} alone"
        for path, module in modules().items()
        for name in sorted(imported_packages(module) & ONLY_IN.keys())
        if part_of(path) not in ONLY_IN[name]
    ]
    assert not misplaced


SQL = re.compile(
    r"\b(SELECT\s[^.]*\sFROM|INSERT\s(OR\s\w+\s)?INTO|DELETE\sFROM|UPDATE\s\w+\sSET|PRAGMA|"
    r"CREATE\s(TEMP\s)?(TABLE|INDEX|VIEW|TRIGGER))\b"
)


def test_sql_stands_in_the_store_alone() -> None:
    """So that another database could take the place of this one."""
    outside = []
    for path in modules():
        if part_of(path) == "store":
            continue
        tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        outside += [f"{path}: {text}" for text in texts if isinstance(text, str) and SQL.search(text)]
        outside += [str(path)] if "sqlite3" in imported_packages(modules()[path]) else []
    assert not outside
    assert SQL.search((PACKAGE / "store" / "results.py").read_text(encoding="utf-8"))


def test_no_function_is_long() -> None:
    long = [
        f"{path}: {node.name} has {length} lines"
        for path, module in modules().items()
        for node in module.functions
        if (length := (node.end_lineno or 0) - node.lineno + 1) > MOST_FUNCTION_LINES
        and node.name not in LONG_COMMANDS
    ]
    assert not long


def test_a_public_name_is_defined_in_one_module() -> None:
    """A search for a name finds one definition; `public.py` gives users some under the same name."""
    homes: dict[str, list[str]] = {}
    for path, module in modules().items():
        for name in module.names if path.name != "public.py" else ():
            homes.setdefault(name, []).append(str(path))
    assert homes["GateReport"] == [str(Path("analysis", "gate", "gate_report.py"))]
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def test_every_module_says_what_it_is_for() -> None:
    assert not [str(path) for path, module in modules().items() if not module.docstring]


def test_the_package_holds_no_pictures() -> None:
    assert not list(PACKAGE.rglob("*.png"))


def test_the_repository_has_no_symbolic_links() -> None:
    """Some systems and archives turn a link into a file that holds a path."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    listed = subprocess.run(["git", "ls-files", "-s"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not [line for line in listed.stdout.splitlines() if line.startswith("120000")]


def test_the_public_names_are_these() -> None:
    assert sorted(adjudge.__all__) == [
        "AdjudgeError", "Call", "Card", "Comparison", "Estimate", "Item", "Judge", "Judgment", "Label",
        "Listing", "Message", "NoScore", "Protocol", "Ranking",
        "Reading", "Reply", "Report", "Result", "Rubric", "Run", "Scale", "Score", "Verdict", "Verdicts",
        "__version__", "compare", "load_protocol",
        "open_run", "rank", "read_choice", "read_json", "read_list", "read_option", "read_score", "run",
        "run_async",
        "trust",
    ]  # fmt: skip
    for name in adjudge.__all__:
        assert getattr(adjudge, name) is not None


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['adjudge', '--help']\nfrom adjudge.cli import main\ntry: main()\nexcept "
        "SystemExit: pass\nprint([m for m in sys.modules if m in ('asyncio', 'ssl', 'scipy', 'numpy', "
        "'polars', 'starlette', 'json_repair')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")


def test_every_dependency_is_justified_by_a_comment() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.S | re.M)
    assert listed
    assert not [line for line in listed[1].splitlines() if "#" not in line]


def test_no_two_test_files_have_one_name() -> None:
    # Test folders are no packages, so pytest would take the second for the first.
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
