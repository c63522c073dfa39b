"""Every command says today what it said when its golden files were made; see README.md beside this file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from json_text import json_text
from make import HERE, SCENARIOS, differences, made
from page_faults import page_faults
from page_text import page_text
from stage import changes

from stored import assert_stored_as_combined


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_outputs_are_those_of_the_golden_files(scenario: str, tmp_path: Path) -> None:
    differing = differences(scenario, made(scenario, tmp_path))
    assert not differing, f"\n{differing}\n\nIf this is meant: python tests/golden/make.py {scenario}"
    for store in (tmp_path / "work").rglob("*.db"):
        assert_stored_as_combined(store)


def test_there_is_a_folder_for_each_scenario_and_no_other() -> None:
    assert {path.name for path in HERE.iterdir() if (path / "exits.txt").exists()} == set(SCENARIOS)


MOST_LINES = 25_000
"""More than this nobody reads: show a scenario by what differs (`like`), or leave out what another one
shows."""


def test_there_are_no_more_lines_than_a_person_reviews() -> None:
    files = (path for name in SCENARIOS for path in (HERE / name).iterdir())
    assert sum(path.read_bytes().count(b"\n") for path in files) <= MOST_LINES


def test_a_page_is_written_as_its_reader_sees_it() -> None:
    html = """<title>Run</title><h1>Run</h1><script>no()</script><p hidden>no</p><dl><dt>Cost</dt><dd>free</dd></dl>
        <table><caption>Scores</caption><tr><th>system</th><th>mean</th></tr><tr><td><p>a</p></td><td>5
        <svg><title>a: 5</title><path/></svg></td></tr></table><ul><li>read: <mark>4 &lt; 5</mark></li></ul>
        <details><summary>All</summary><p>first</p></details><details><summary>All</summary><p>second</p></details>"""  # noqa: E501
    assert page_text(html).splitlines() == [
        "title: Run", "# Run", "Cost: free", "caption: Scores", "system | mean", "a | 5 (picture: a: 5)",
        "- read: ⟦4 < 5⟧", "> All", "first", "> All",
    ]  # fmt: skip


SOUND = (
    '<h1>A</h1><a href="#b">b</a><table><tr><th '
    'scope="col">c</th></tr></table><svg><title>d</title></svg><p id="b">e</p>'
)


@pytest.mark.parametrize(
    ("part", "instead"),
    [("</p>", ""), ("</h1>", "</h2>"), ("<h1>", "<h1></h1><h1>"), ('href="#b"', 'href="#c"'),
    (' scope="col"', ""),
     ("<title>d</title>", ""), ("<table>", '<table id="b">')],
)  # fmt: skip
def test_a_fault_of_a_page_is_found(part: str, instead: str) -> None:
    assert page_faults(SOUND) == []
    assert page_faults(SOUND.replace(part, instead))


def test_of_entries_that_are_built_alike_the_first_is_shown() -> None:
    estimate = {"value": 0.1 + 0.2, "method": "mean" * 30}
    part = {"n": 1, "mean": estimate, "notes": []}
    text = json_text(json.dumps({"a": part, "b": part, "c": {"n": 2}, "d": [part, part, estimate, estimate]}))
    assert text.count("mean" * 30) == 3
    assert text.count("0.3,") == 3
    assert '"b": "… like a"' in text
    assert '"… 2 more like these"' in text
    assert '"c": {"n": 2}' in text


def test_what_is_like_another_file_shows_only_its_differences() -> None:
    assert changes("a.txt", "1\n2\n", "1\n2\n") == "the same as a.txt\n"
    assert changes("a.txt", "1\n2\n3\n", "1\n4\n3\n") == "like a.txt, but:\n@@\n-2\n+4\n"


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_outputs_do_not_depend_on_the_seed_of_hashes(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "make.py"), "--check"],
        env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
