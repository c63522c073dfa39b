"""Rules of the project, as tests: who imports whom, what is public, how long files are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adjudge

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "adjudge"

LAYERS = (
    {"errors", "records", "sections", "untrusted", "version"},
    {"data", "render", "parse", "stats", "words"},
    {"protocols", "models", "store"},
    {"combine", "run_options"},
    {"engine"},
    {"analysis"},
    {"web", "pytest_plugin"},
    {"cli", "__init__"},
)
LAYER_OF = {name: number for number, names in enumerate(LAYERS) for name in names}

ONLY_IN = {
    "uvloop": "engine",
    "scipy": "stats",
    "numpy": "stats",
    "starlette": "web",
    "uvicorn": "web",
    "jinja2": "web",
    "polars": "data",
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The unit of the layer table that a file belongs to: a module, or the package it lies in."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    """The units of our own package that a file imports, at its top or inside functions."""
    depth = len(path.relative_to(PACKAGE).parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            if node.level == depth:
                found |= {node.module.split(".")[0]} if node.module else {name.name for name in node.names}
            assert node.level <= depth, f"{path} imports from outside the package"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "adjudge":
            found.add((node.module or "").split(".")[1] if "." in (node.module or "") else "__init__")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_from_layers_above_its_own(path: Path) -> None:
    own = part_of(path)
    upward = {name for name in imported_parts(path) if name != own and LAYER_OF[name] >= LAYER_OF[own]}
    assert not upward, f"{own} must not import {upward}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_heavy_packages_stay_in_their_place(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
    }
    misplaced = {name for name in names if name in ONLY_IN and ONLY_IN[name] != part_of(path)}
    assert not misplaced


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_file_has_at_most_1000_lines_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 1000
    assert ast.get_docstring(ast.parse(text)), f"{path} has no docstring"


def test_the_public_names_are_these() -> None:
    assert sorted(adjudge.__all__) == [
        "AdjudgeError", "Call", "Estimate", "Item", "Judgment", "Label", "Message", "Protocol", "Reading", "Reply",
        "Result", "Rubric", "Run", "Scale", "Score", "__version__", "compare", "load_protocol", "rank", "read_choice", "read_json",
        "read_score", "run", "run_async",
        "trust",
    ]  # fmt: skip
    for name in adjudge.__all__:
        assert getattr(adjudge, name) is not None


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; sys.argv = ['adjudge', '--help']\nfrom adjudge.cli import main\ntry: main()\nexcept SystemExit: pass\nprint([m for m in sys.modules if m in ('asyncio', 'ssl', 'scipy', 'numpy', 'polars', 'starlette', 'json_repair')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")


def test_every_dependency_is_justified_by_a_comment() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.S | re.M)
    assert listed
    for line in listed[1].splitlines():
        assert "#" in line, line
