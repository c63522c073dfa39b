"""What a gate writes for machines: JUnit XML by its schema, a step summary, and nothing that acts."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from adjudge.analysis.gate.check import Check
from adjudge.analysis.gate.gate_report import GateReport
from adjudge.analysis.gate.junit import junit
from adjudge.analysis.gate.rules import make_rules
from adjudge.records import Estimate
from adjudge.run_file.read import read_run_file
from judged import cycle, judged_run
from running import Outcome

Gated = Callable[..., Outcome]

SCHEMA: dict[str, tuple[dict[str, str], dict[str, tuple[int, int | None]]]] = {
    "testsuites": (
        {"name": r".+", "tests": r"\d+", "failures": r"\d+", "errors": r"\d+", "skipped": r"\d+",
        "time": r"[\d.]+"},
        {"testsuite": (0, None)},
    ),
    "testsuite": (
        {"name": r"(?s).+", "tests": r"\d+", "failures": r"\d+", "errors": r"\d+", "skipped": r"\d+",
        "time": r"[\d.]+",
         "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "hostname": r".+"},
        {"properties": (0, 1), "testcase": (0, None), "system-out": (0, 1), "system-err": (0, 1)},
    ),
    "properties": ({}, {"property": (1, None)}),
    "property": ({"name": r".+", "value": r"(?s).*"}, {}),
    "testcase": (
        {"name": r"(?s).+", "classname": r"(?s).+", "time": r"[\d.]+"},
        {"skipped": (0, 1), "error": (0, 1), "failure": (0, 1), "system-out": (0, 1), "system-err": (0, 1)},
    ),
    "failure": ({"message": r"(?s).*", "type": r"\w+"}, {}),
    "error": ({"message": r"(?s).*", "type": r"\w+"}, {}),
    "system-out": ({}, {}),
}  # fmt: skip
"""The elements of the common JUnit format (as Jenkins' xunit plugin publishes it): their attributes, and how
often each child may stand in them, in this order.
"""


def assert_fits_the_schema(text: str) -> ET.Element:
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = SCHEMA[element.tag]
        assert set(element.attrib) == set(attributes), element.tag
        for name, pattern in attributes.items():
            assert re.fullmatch(pattern, element.attrib[name]), (element.tag, name, element.attrib[name])
        tags = [child.tag for child in element]
        assert set(tags) <= set(children), element.tag
        assert tags == sorted(tags, key=list(children).index), f"{element.tag}: {tags}"
        for name, (least, most) in children.items():
            assert least <= tags.count(name) <= (most if most is not None else len(tags)), (element.tag, name)
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == sum(case.find("failure") is not None for case in cases)
        assert int(suite.attrib["errors"]) == sum(case.find("error") is not None for case in cases)
    return root


def test_junit_fits_the_schema_and_counts_every_check(tmp_path: Path, gate: Gated) -> None:
    judged_run(
        tmp_path,
        "run",
        {
            "good": cycle([4, 5], 30),
            "bad": cycle([1, 2], 30),
            "open": cycle([1, 5], 30),
            "mute": [None, 4] * 15,
        },
    )
    file = tmp_path / "gate.xml"
    done = gate("run", "--min", "tact=3.2", "--junit", file, "--json")
    root = assert_fits_the_schema(file.read_text(encoding="utf-8"))
    checks = done.json["checks"]
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == (
        str(len(checks)),
        "2",
        "1",
    )
    kinds = {node.attrib["type"] for tag in ("failure", "error") for node in root.iter(tag)}
    assert kinds == {"worse", "not_enough_evidence", "judge_failed"}
    properties = {node.attrib["name"]: node.attrib["value"] for node in root.iter("property")}
    assert (properties["run"], properties["exit_code"], properties["fake"]) == ("run", "4", "false")


def test_junit_survives_hostile_names() -> None:
    hostile = "\x00\x1b[2J\ud800]]><x a='b' & \"c\">\n\u202e\uffff::error::"
    check = Check("min", hostile, hostile, 4.0, Estimate(3.0, 2.0, 5.0, 9), "open", hostile, (hostile,))
    report = GateReport("open", 3, hostile, hostile, (check,), (hostile,), True, False)
    text = junit(report, "2026-01-02T03:04:05")
    root = assert_fits_the_schema(text)
    assert text.encode("utf-8")
    failure = next(root.iter("failure"))
    assert "]]><x a='b' & \"c\">" in (failure.text or "")
    assert "\x1b" not in text


def test_a_threshold_that_is_a_share_is_written_in_per_cent(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5], 30)})
    file = tmp_path / "gate.xml"
    for asked, name in (
        ("20%", "max-failed tact 20 % [x]"),
        ("100%", "max-failed tact 100 % [x]"),
        ("3", "max-failed tact 3 [x]"),
    ):
        assert gate("run", "--max-failed", asked, "--min", "tact=4", "--junit", file).code == 0
        names = {node.attrib["name"] for node in ET.parse(file).getroot().iter("testcase")}
        assert names == {"min tact 4 [x]", name}


def test_a_step_summary_is_appended_where_github_asks_for_one(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5], 30)})
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    assert gate("run", "--min", "tact=4", GITHUB_STEP_SUMMARY=str(summary)).code == 0
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n# ")
    assert text.removeprefix("before\n").strip() == gate("run", "--min", "tact=4", "--markdown").out.strip()
    gate("run", "--min", "tact=4", "--no-summary", GITHUB_STEP_SUMMARY=str(summary))
    assert summary.read_text(encoding="utf-8") == text


def test_a_summary_that_cannot_be_written_changes_no_decision(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5], 30)})
    done = gate("run", "--min", "tact=4", GITHUB_STEP_SUMMARY=str(tmp_path / "no" / "place.md"))
    assert done.code == 0
    assert "place.md" in done.err


def test_names_can_act_neither_in_markdown_nor_in_a_github_log(tmp_path: Path, gate: Gated) -> None:
    hostile = "::error::boo <img src=x> [a](http://x) @team |x| \x1b[31m"
    judged_run(tmp_path, "run", {hostile: cycle([4, 5], 30)})
    summary = tmp_path / "summary.md"
    printed = gate("run", "--min", "tact=4.4", GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    lines = [line.strip() for line in printed.out.splitlines()]
    guarded = False
    for line in lines:
        if line.startswith("::stop-commands::"):
            guarded = True
        elif re.fullmatch(r"::[0-9a-f]{32}::", line):
            guarded = False
        else:
            assert guarded or not line.startswith(("::", "##["))
    assert "\x1b" not in printed.out
    for text in (summary.read_text(encoding="utf-8"), gate("run", "--min", "tact=4.4", "--markdown").out):
        assert "<img" not in text
        assert "](http" not in text
        assert "@team" not in text
        # A table has as many cells in each row as in its head.
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert len({line.count("|") for line in rows}) == 1


def test_a_fake_judge_is_said_in_every_output(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": [4, 5, 4]}, model="fake:text=[RESULT] 5")
    file, summary = tmp_path / "gate.xml", tmp_path / "summary.md"
    rule = ("run", "--min", "tact=1", "--junit", file)
    outputs = [
        gate(*rule, *form, GITHUB_STEP_SUMMARY=str(summary)).out
        for form in ((), ("--markdown",), ("--json",))
    ]
    outputs += [file.read_text(encoding="utf-8"), summary.read_text(encoding="utf-8")]
    assert all("fake" in text.replace("fake:text", "") for text in outputs)
    assert gate(*rule, "--json").json["is_fake"] is True


def test_json_holds_what_the_table_holds(tmp_path: Path, gate: Gated) -> None:
    judged_run(tmp_path, "run", {"x": cycle([4, 5], 30)})
    decided = gate("run", "--min", "tact=4", "--json").json
    assert set(decided) == {
        "outcome", "exit_code", "run", "baseline", "checks", "notes", "is_fake", "is_corrected", "n_decisions"
    }  # fmt: skip
    keys = {"low", "high", "p_good", "p_worse", "method", "p_worse_adjusted"}
    assert keys == set(decided["checks"][0]["decision"])
    assert {
        "value",
        "low",
        "high",
        "n",
        "n_failed",
        "n_undefined",
        "method",
        "unit",
        "seed",
        "signature",
        "reason",
        "caution",
    } == set(decided["checks"][0]["estimate"])


CI = Path(__file__).parents[3] / "examples" / "ci"


def test_the_thresholds_that_we_show_are_understood() -> None:
    rules = make_rules(read_run_file(CI / "adjudge.toml", for_gate=True), baseline="main")
    assert (rules.min, rules.max_drop) == ({"polite": 3.5}, {"polite": 0.3})


@pytest.mark.slow
def test_the_exit_code_is_the_outcome_for_every_output_format(tmp_path: Path) -> None:
    rows = "".join(f'{{"id": "{n}", "task": "t", "response": "r{n}"}}\n' for n in range(30))
    (tmp_path / "items.jsonl").write_text(rows, encoding="utf-8")
    adjudge = f"{sys.executable} -c 'from adjudge.cli import main; main()'"
    script = (
        f"{adjudge} run items.jsonl --criterion c -m 'fake:text=hello' -q >/dev/null 2>&1\n"
        f"{adjudge} gate last --min score=4 | true; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "4", done.stderr
