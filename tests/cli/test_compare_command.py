"""`adjudge compare` from the command line: what it says
first, what it says of the texts, and what it refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adjudge as package
from adjudge.terminal.sections import MOST_LINES
from judged import cycle, judged_run
from running import EXAMPLES, Outcome, adjudge, write_rows

Compared = Callable[..., Outcome]


@pytest.fixture
def compare(tmp_path: Path) -> Compared:
    def run(*arguments: str, **environment: str) -> Outcome:
        return adjudge("compare", *arguments, "--store", tmp_path / "adjudge.db", **environment)

    return run


def test_what_is_printed_names_both_runs_first(tmp_path: Path, compare: Compared) -> None:
    judged_run(tmp_path, "before", {"x": cycle([2, 3, 3, 4], 40)})
    judged_run(tmp_path, "after", {"x": cycle([3, 4, 4, 4], 40)})
    done = compare("before", "after")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert all(name in lines[0] for name in ("before", "after"))
    assert "+0.75 [+0.61, +0.89]" in lines[1]


def test_json_has_the_estimates_under_criterion_and_system(tmp_path: Path, compare: Compared) -> None:
    judged_run(tmp_path, "before", {"x": [2, 3, 3, 4, None], "y": [4, 4, 5, 5, 5]})
    judged_run(tmp_path, "after", {"x": [3, 3, 4, None, None], "y": [4, 4, 4, 5, 5]})
    comparison = compare("before", "last", "--json").json
    assert comparison["summary"]
    row = comparison["criteria"]["tact"]["systems"]["x"]
    assert {"value", "low", "high", "n", "n_failed", "method", "unit"} <= set(row["difference"])
    assert (row["difference"]["n"], row["n_failed_first"], row["n_failed_second"], row["n_failed_both"]) == (
        3,
        0,
        1,
        1,
    )
    assert comparison["criteria"]["tact"]["order"]["first"] == ["y", "x"]
    assert "NaN" not in json.dumps(comparison)


def test_runs_with_the_same_calls_and_replies_cannot_differ(tmp_path: Path, compare: Compared) -> None:
    scores = {"x": cycle([3, 4, None, 5], 8), "y": cycle([1, 2], 8)}
    judged_run(tmp_path, "one", scores)
    judged_run(tmp_path, "two", scores, model=f"replay:{tmp_path / 'one.replies.jsonl'}")
    for second in ("one", "two"):
        comparison = compare("one", second, "--json").json
        for criterion in comparison["criteria"]["tact"]["systems"].values():
            assert (
                criterion["n_same"],
                criterion["difference"]["value"],
                criterion["p"],
                criterion["bounds"],
            ) == (8, 0, None, None)
            assert (criterion["difference"]["low"], criterion["difference"]["high"]) == (None, None)
    judged_run(tmp_path, "three", scores, text="other")
    comparison = compare("one", "three", "--json").json
    assert {criterion["n_same"] for criterion in comparison["criteria"]["tact"]["systems"].values()} == {0}
    assert comparison["criteria"]["tact"]["systems"]["y"]["difference"]["low"] < 0


def test_changed_texts_are_counted_by_field(tmp_path: Path, compare: Compared) -> None:
    judged_run(tmp_path, "v1", {"v1": cycle([2, 3, 3, 4], 40)})
    judged_run(tmp_path, "v2", {"v2": cycle([3, 4, 4, 4], 40)}, text="a better answer")
    comparison = compare("v1", "v2", "--json").json
    assert (comparison["n_content_differs"], comparison["fields_that_differ"]) == (40, {"response": 40})
    assert any("v2.replies.jsonl" in text for text in comparison["changed"])
    judged_run(
        tmp_path, "v3", {"v3": cycle([3, 4, 4, 4], 40)}, text="a better answer", model="fake:text=[RESULT] 3"
    )
    other = compare("v1", "v3", "--json").json
    assert (other["n_content_differs"], other["fields_that_differ"]) == (40, {"response": 40})
    assert any("fake:text=[RESULT] 3" in text for text in other["changed"])


def test_what_differs_between_prompts_is_named(tmp_path: Path, compare: Compared) -> None:
    other = tmp_path / "other.toml"
    other.write_text((EXAMPLES / "tact.toml").read_text().replace("Blames or belittles", "Insults"))
    judged_run(tmp_path, "one", {"x": [2, 3, 4]})
    judged_run(tmp_path, "two", {"x": [2, 3, 4]}, rubric=other)
    comparison = compare("one", "two", "--json").json
    assert comparison["n_content_differs"] == 0
    assert any("prometheus/direct@" in text for text in comparison["changed"])


def test_a_fake_judge_is_said_in_every_form(tmp_path: Path, compare: Compared) -> None:
    judged_run(tmp_path, "real", {"x": [2, 3, 4]})
    judged_run(tmp_path, "fake", {"x": [2, 3, 4]}, model="fake:text=ok [RESULT] 3")
    for form in ((), ("--markdown",), ("--json",)):
        assert "fake:text=ok" in compare("real", "fake", *form).out
    assert compare("real", "fake", "--json").json["is_fake"]


def test_pairs_are_compared_by_their_choices(tmp_path: Path, compare: Compared) -> None:
    replies = [json.loads(line) for line in (EXAMPLES / "advice.replies.jsonl").read_text().splitlines()]
    swapped = write_rows(tmp_path / "swapped.jsonl", [{**reply, "text": "no idea"} for reply in replies])
    for name, file in (("one", "advice.replies.jsonl"), ("two", "advice.replies.jsonl"), ("bad", swapped)):
        package.run(
            EXAMPLES / "advice.jsonl",
            "geval/compare",
            f"replay:{EXAMPLES / file}",
            run=name,
            store=tmp_path / "adjudge.db",
        )
    comparison = compare("one", "two", "--json").json
    choice = comparison["criteria"]["overall (choice)"]
    assert choice["agreement"]["exact"]["value"] == 1
    failed = compare("one", "bad", "--json")
    assert failed.code == 0
    assert failed.json["criteria"]["overall (choice)"]["agreement"]["exact"]["value"] is None


def test_names_and_texts_cannot_act(tmp_path: Path, compare: Compared) -> None:
    hostile = "::error::x<script>|`@all`\x1b[2J"
    judged_run(tmp_path, "one", {hostile: [2, 3, 4], "y": [4, 4, 5]})
    judged_run(tmp_path, "two", {hostile: [2, 3, 4], "y": [4, 4, 5]})
    printed = compare("one", "two", GITHUB_ACTIONS="true").out
    assert "\x1b" not in printed
    assert not any(line.strip().startswith("::error") for line in printed.splitlines())
    marked = compare("one", "two", "--markdown").out
    assert "<script>" not in marked
    assert "@all" not in marked
    table: list[str] = []
    for line in [*marked.splitlines(), ""]:
        if line.startswith("| "):
            table.append(line)
        elif table:
            assert len({row.count("|") for row in table}) == 1
            table = []


@pytest.mark.parametrize(("other", "named"), [("nowhere", "nowhere"), ("strangers", "'z-0'")])
def test_mistakes_exit_2_and_name_the_run(tmp_path: Path, compare: Compared, other: str, named: str) -> None:
    judged_run(tmp_path, "one", {"x": [2, 3, 4]})
    judged_run(tmp_path, "strangers", {"z": [2], "w": [3]})
    done = compare("one", other)
    assert done.code == 2
    assert named in done.err
    assert "Traceback" not in done.err


def test_python_takes_runs_and_results_alike(tmp_path: Path) -> None:
    items: list[dict[str, Any]] = [
        {"id": f"{k}", "task": "Say hello.", "response": f"Hello {k}."} for k in range(6)
    ]
    runs = [
        package.run(
            items,
            model=f"fake:text=Score: {score}",
            criterion="Is it polite?",
            store=tmp_path / "p.db",
            run=f"r{score}",
        )
        for score in (3, 4)
    ]
    comparison = package.compare(runs[0], runs[1])
    assert (comparison.first, comparison.second, comparison.is_fake) == ("r3", "r4", True)
    difference = next(iter(comparison.criteria.values())).systems["all"].difference
    assert (difference.value, difference.n) == (1, 6)
    same = package.compare(runs[0].results(), runs[1].results())
    assert next(iter(same.criteria.values())).systems["all"].difference.value == 1


def test_a_comparison_is_one_screen_unless_all_of_it_is_asked_for(tmp_path: Path, compare: Compared) -> None:
    systems = {f"system-with-a-long-name-{k:02}": cycle([1 + k % 4, 2 + k % 3, 3], 6) for k in range(20)}
    raised = {name: [min(5, score + 1) for score in of] for name, of in systems.items()}
    judged_run(tmp_path, "before", systems)
    judged_run(tmp_path, "after", raised)
    short, full = compare("before", "after").out, compare("before", "after", "--full").out
    assert len(short.splitlines()) <= MOST_LINES < len(full.splitlines())
    # The answer is that of the whole comparison, word for word, and the largest change stands in its table.
    assert short.splitlines()[:2] == full.splitlines()[:2]
    rows = compare("before", "after", "--json").json["criteria"]["tact"]["systems"]
    largest = max(rows.values(), key=lambda row: abs(row["difference"]["value"]))
    assert f"+{largest['difference']['value']:.2f}" in short.partition("─\n")[2].splitlines()[0]
    assert "and " in short
    assert "--full" in short.splitlines()[-1]
    for flag in ("--json", "--markdown"):
        assert compare("before", "after", flag).out == compare("before", "after", flag, "--full").out
