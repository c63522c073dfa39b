"""The pages of the documentation site: all there, in the menu, with links that lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

from adjudge.cli.app import app

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"


@pytest.fixture(scope="module")
def build() -> Iterator[ModuleType]:
    sys.path.insert(0, str(SITE))
    try:
        import build  # type: ignore[import-not-found]

        yield build
    finally:
        sys.path.remove(str(SITE))


@pytest.fixture(scope="module")
def pages(build: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    build.write_pages(folder)
    return folder


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, each in getattr(command, "commands", {}).items():
        if getattr(each, "commands", None) is None:
            yield " ".join((*words, name)), each
        else:
            yield from commands(each, (*words, name))


def test_every_command_has_a_page_with_all_its_options(pages: Path) -> None:
    for name, command in commands(typer.main.get_command(app)):
        text = (pages / "reference" / "commands" / f"{name.replace(' ', '-')}.md").read_text(encoding="utf-8")
        missing = [
            flag
            for parameter in command.params
            if not parameter.hidden and parameter.param_type_name == "option"
            for flag in parameter.opts
            if flag.startswith("--") and flag not in text
        ]
        assert not missing, name


ANSWERS = set("report trust gate compare rank audit calibrate cascade tune plan drift".split())


def test_every_command_that_answers_a_question_has_its_json_described(build: ModuleType, pages: Path) -> None:
    assert {name.removeprefix("adjudge ") for name in build.json_outputs.OUTPUTS} == ANSWERS
    text = (pages / "reference" / "json.md").read_text(encoding="utf-8")
    for record in ("Estimate", "Card", "CriterionSummary", "Stage"):
        assert f"\n## {record}\n" in text
    assert "| `low` | number or null |" in text


def test_the_python_page_has_every_public_name(pages: Path) -> None:
    import adjudge

    text = (pages / "reference" / "python.md").read_text(encoding="utf-8")
    assert [name for name in adjudge.__all__ if name[0] != "_" and f"\n### {name}\n" not in text] == []


def test_the_run_file_page_has_every_key(pages: Path) -> None:
    text = (pages / "reference" / "run-file.md").read_text(encoding="utf-8")
    for key in ("key_env", "judge", "samples", "max_drop", "map_scores", "budget"):
        assert f"| `{key}` |" in text, key


def test_links_of_the_site_lead_to_a_page_of_the_site(pages: Path) -> None:
    broken = []
    for page in pages.rglob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
        links = re.findall(r"(?<!`)\]\((?!https?:|mailto:|#)([^)\s]+)\)", text)
        broken += [(page.name, link) for link in links if not (page.parent / link.split("#")[0]).exists()]
    assert not broken


def test_the_menu_has_every_page_once(pages: Path) -> None:
    settings = tomllib.loads((SITE / "zensical.toml").read_text(encoding="utf-8"))
    listed = list(_leaves(settings["project"]["nav"]))
    assert len(listed) == len(set(listed))
    expected = {
        page.relative_to(pages).as_posix()
        for page in pages.rglob("*.md")
        # Made into menu entries of their folder by build.py.
        if page.parent.name not in ("commands", "decisions")
    }
    assert expected | {"reference/commands/index.md", "decisions/README.md"} == set(listed)


def _leaves(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for each in entry.values() if isinstance(entry, dict) else entry:
            yield from _leaves(each)


def test_assistants_get_a_list_of_pages_and_the_skill(build: ModuleType, pages: Path, tmp_path: Path) -> None:
    build.write_for_assistants(tmp_path, pages)
    listed = (tmp_path / "llms.txt").read_text(encoding="utf-8")
    assert "- [Gate](gate.md)" in listed or "](gate.md)" in listed
    assert [link for link in re.findall(r"\]\(([^)]+)\)", listed) if not (tmp_path / link).exists()] == []
    assert (tmp_path / "SKILL.md").read_text(encoding="utf-8").startswith("---\nname: adjudge\n")


@pytest.mark.slow
def test_the_site_is_built_and_asks_no_other_host() -> None:
    pytest.importorskip("zensical", reason="zensical is not installed: `make docs` installs it")
    done = subprocess.run(
        [sys.executable, str(SITE / "build.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first = next((ROOT / "build" / "docs").glob("[0-9]*"))
    html = (first / "start.html").read_text(encoding="utf-8")
    assert re.findall(r"""<(?:script|link|img)[^>]+(?:src|href)=["']?https?://""", html) == []
    assert (first / "search.json").exists() or list(first.rglob("search*.json"))
