"""Every command and every Python example of the documentation is run.

A `console` block is a session: a line that begins with `$ ` is run, the lines below it must come out in
this order (a line `…` stands for any number of lines; a line may end in `…`). A `python` block is a doctest.
All blocks of one page share one folder, which begins with copies of `examples/` and of the demo's data. A
command that needs a model with a key is in a block of another kind (`sh`), and only checked for its flags.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.version import __version__
from running import Outcome, adjudge

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "compared").glob("*.md")),
]
"""All pages whose commands are run or checked."""
SKILL = ROOT / "skills" / "adjudge" / "SKILL.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)


def project(folder: Path) -> Path:
    """A folder with what the pages take from a clone."""
    for name in ("examples", "src/adjudge/demo"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def blocks(page: Path, kind: str) -> list[str]:
    return [body for name, body in BLOCK.findall(page.read_text(encoding="utf-8")) if name == kind]


def sessions(body: str) -> list[tuple[str, list[str]]]:
    """The steps of a block, each with the lines that must come out."""
    steps: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and steps[-1][0].endswith("\\"):
            steps[-1] = (steps[-1][0][:-1] + line.strip(), [])
        elif steps:
            steps[-1][1].append(line)
    return steps


def assert_comes_out(expected: list[str], printed: str) -> None:
    actual = iter(printed.splitlines())
    for line in expected:
        if line.strip() in ("", "…"):
            continue
        wanted = " ".join(line.rstrip("…").split())
        assert any(" ".join(other.split()).startswith(wanted) for other in actual), (
            f"missing: {line!r} in\n{printed}"
        )


COMMAND = re.compile(
    r"""(?P<words>adjudge(?:"[^"$`]*"|'[^']*'|[^"'|&;<>$*?#`])*?)\s*(?:(?P<then>>|\||&&|\|\|)\s*(?P<rest>[^|&;<>].*))?"""
)
"""A call of `adjudge`, and perhaps one thing that a shell does with its output or its exit code."""


def in_shell(command: str, folder: Path, stdin: str = "") -> tuple[int, str]:
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    shell = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return shell.returncode, shell.stdout + shell.stderr


def outcome(command: str, folder: Path) -> tuple[int, str]:
    """What a command leaves behind. `adjudge` itself runs in this process: starting takes longest."""
    parts = COMMAND.fullmatch(command)
    if parts is None:
        return in_shell(command, folder)
    with contextlib.chdir(folder):
        done = adjudge(*shlex.split(parts["words"])[1:], COLUMNS="120")
    match parts["then"]:
        case ">":
            (folder / parts["rest"]).write_text(done.out, encoding="utf-8")
            return done.code, done.err
        case "|":
            code, printed = in_shell(parts["rest"], folder, done.out)
            return code, printed + done.err
        case "&&" | "||" if (done.code == 0) == (parts["then"] == "&&"):
            code, printed = in_shell(parts["rest"].replace("$?", str(done.code)), folder)
            return code, done.out + done.err + printed
    return done.code, done.out + done.err


@pytest.mark.parametrize(
    "page",
    # Each command of this page starts a pytest of its own.
    [pytest.param(page, marks=[pytest.mark.slow] * (page.name == "testing.md")) for page in PAGES],
    ids=lambda page: page.name,
)
def test_the_commands_of_a_page_print_what_it_says(page: Path, tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    for body in blocks(page, "console"):
        for command, expected in sessions(body):
            if command.startswith("make "):
                assert re.search(rf"^{command.split()[1]}:", (ROOT / "Makefile").read_text(), re.M), command
                continue
            code, printed = outcome(command, folder)
            assert "Traceback" not in printed, command
            assert_comes_out(expected, printed)
            assert expected or code == 0, f"{command}\n{printed}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_the_python_of_a_page_gives_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project(tmp_path / "project"))
    names: dict[str, object] = {}
    for number, body in enumerate(blocks(page, "python")):
        test = doctest.DocTestParser().get_doctest(body, names, f"{page.name}[{number}]", str(page), 0)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        runner = doctest.DocTestRunner(optionflags=flags)
        runner.run(test, clear_globs=False)
        names = test.globs
        assert runner.summarize(verbose=False).failed == 0
        assert test.examples, f"{page.name}: a Python block without >>> is never run"


def commands() -> list[tuple[str, str]]:
    """All `adjudge` commands in blocks that are not run, and those within sentences."""
    lines = []
    for page in (*PAGES, SKILL):
        prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
        spans = re.findall(r"(?<!`)`(adjudge [^`]+)`(?!`)", prose)
        lines += [(page.name, " ".join(span.split()).replace("'", "")) for span in spans]
        for body in blocks(page, "sh"):
            joined = body.replace("\\\n", " ")
            lines += [(page.name, line) for line in joined.splitlines() if line.startswith("adjudge ")]
    return lines


@functools.cache
def help_of(*command: str) -> Outcome:
    return adjudge(*command, "--help", COLUMNS="400")


def test_commands_that_are_not_run_have_flags_that_exist() -> None:
    unknown = []
    for page, command in commands():
        words = shlex.split(command, comments=True)[1:]
        path = list(itertools.takewhile(re.compile(r"[a-z]+").fullmatch, words))
        # A command's last words may be its arguments: the longest beginning that has a help text is the
        # command.
        shown = next(
            shown for depth in range(len(path), -1, -1) if (shown := help_of(*path[:depth])).code == 0
        )
        flags = (word.split("=")[0] for word in words if re.match(r"-[^\d\s]", word))
        unknown += [
            f"{page}: {command}: no flag {flag}"
            for flag in flags
            if not re.search(rf"(?<![\w-]){re.escape(flag)}\b", shown.out)
        ]
    assert not unknown


def test_the_readme_is_short_and_the_changelog_has_released_sections() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(readme) <= 180
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert not [line for line in changes if len(line) > 120]
    versions = [line.removeprefix("## ") for line in changes if line.startswith("## ")]
    assert versions[0] == __version__
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
    entries = [line for line in changes if line.startswith("- ")]
    assert len(entries) == len(set(entries))


LINKED = [
    *PAGES,
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
    ROOT / "bench" / "README.md",
    ROOT / "CONTRIBUTING.md",
]


def anchors(page: Path) -> set[str]:
    """What a link into a page may name: its headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


SOURCE_PATH = re.compile(r"`([a-z_]+/[\w./-]*(?:\.py|\.toml|/))`")
"""A path of the source in a page: below the repository or below `src/adjudge`."""


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_source_files_that_a_page_names_exist(page: Path) -> None:
    named = SOURCE_PATH.findall(page.read_text(encoding="utf-8"))
    rooms = {path.name for path in (ROOT / "src" / "adjudge").iterdir()} | {"src", "tests", "bench", "docs"}
    missing = [
        path
        for path in named
        if path.split("/")[0] in rooms
        and not any((folder / path).exists() for folder in (ROOT, ROOT / "src" / "adjudge", page.parent))
    ]
    assert missing == []


def test_every_decision_is_in_the_table_of_decisions() -> None:
    folder = ROOT / "docs" / "decisions"
    records = {path.name for path in folder.glob("[0-9]*.md")}
    assert (
        set(re.findall(r"\]\((\d{3}-[^)]+)\)", (folder / "README.md").read_text(encoding="utf-8"))) == records
    )


def test_every_bench_is_listed_with_a_command_that_it_takes() -> None:
    folder = ROOT / "bench"
    rows = re.findall(
        r"^\| `(\w+\.py)` \|.*?`python bench/(\w+\.py)([^`]*)`",
        (folder / "README.md").read_text(encoding="utf-8"),
        re.M,
    )
    assert sorted(name for name, _, _ in rows) == sorted(path.name for path in folder.glob("*.py"))
    unknown = [
        f"{script} has no {flag}"
        for _, script, arguments in rows
        for flag in re.findall(r"(?<!\S)--?[a-z][\w-]*", arguments)
        if f'"{flag}"' not in (folder / script).read_text(encoding="utf-8")
    ]
    assert not unknown
