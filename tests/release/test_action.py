"""The GitHub Action: it judges, gates, keeps a baseline, resumes, and changes its comment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fakeserver import FakeServer, as_json, chat
from running import adjudge

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples" / "ci"

RUN_FILE = """
[runs.answers]
items = "answers.jsonl"
judge = [{ criterion = "Is the answer polite?", name = "polite" }]
models = "replay:replies.jsonl"

[gate]
min = { polite = 2 }
max_drop = { polite = 0.5 }
"""


def write(folder: Path, scores: list[int], version: str) -> None:
    """Forty answers and what a judge replied to them."""
    items = [
        {"id": f"q{k}", "system": "desk", "task": f"Question {k}?", "response": f"Answer {k}, {version}."}
        for k in range(len(scores))
    ]
    replies = [
        {"item": item["id"], "text": f"Reasons.\nScore: {score}"}
        for item, score in zip(items, scores, strict=True)
    ]
    for name, rows in (("answers.jsonl", items), ("replies.jsonl", replies)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "adjudge.toml").write_text(RUN_FILE, encoding="utf-8")


def judge_and_gate(folder: Path, *, is_push: bool = False, **more: str) -> dict[str, str]:
    """The outputs of the step, as later steps read them."""
    outputs = folder / "outputs.txt"
    outputs.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(outputs),
        "RUN": "answers",
        "BASELINE": "main",
        "STORE": "adjudge.db",
        "IS_PUSH": "true" if is_push else "false",
        "ADJUDGE_TRUST_RUN_FILE": "1",
        **more,
    }
    script = ["bash", str(CI / "judge_and_gate.sh")]
    done = subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split("=", 1) for line in outputs.read_text(encoding="utf-8").splitlines())


def runs(folder: Path) -> set[str]:
    script = [sys.executable, "-c", "from adjudge.cli import main; main()", "runs", "list", "--json"]
    done = subprocess.run(script, cwd=folder, capture_output=True, text=True, check=True)
    return {row["run"] for row in json.loads(done.stdout)}


@pytest.mark.slow
def test_the_first_job_makes_the_baseline_and_the_next_are_compared_with_it(tmp_path: Path) -> None:
    write(tmp_path, [4, 5] * 20, "first")
    assert judge_and_gate(tmp_path, is_push=True) == {"exit-code": "0", "outcome": "pass"}
    assert runs(tmp_path) == {"main"}

    write(tmp_path, [3, 2] * 20, "worse")
    assert judge_and_gate(tmp_path)["outcome"] == "fail"
    comment = (tmp_path / "adjudge-comment.md").read_text(encoding="utf-8")
    assert comment.startswith("<!-- adjudge: answers -->\n")
    assert "Change of desk on polite" in comment
    # The job is repeated: the same run, no second one, the same answer.
    assert judge_and_gate(tmp_path)["outcome"] == "fail"
    assert runs(tmp_path) == {"main", "next"}

    write(tmp_path, [5, 5] * 20, "better")
    assert judge_and_gate(tmp_path, is_push=True)["outcome"] == "pass"
    assert runs(tmp_path) == {"main"}


def test_a_run_that_cannot_be_judged_has_no_decision(tmp_path: Path) -> None:
    write(tmp_path, [4] * 4, "first")
    (tmp_path / "replies.jsonl").unlink()
    assert judge_and_gate(tmp_path) == {"exit-code": "2", "outcome": "not judged"}
    assert "not judged (exit 2)" in (tmp_path / "adjudge-comment.md").read_text(encoding="utf-8")


PRICED = {
    **json.loads(chat("Score: 4").body),
    "usage": {"prompt_tokens": 300, "completion_tokens": 10, "total_tokens": 310},
}
"""A reply that costs 0.31 dollars at a thousand dollars for a million tokens."""


@pytest.mark.slow
def test_all_attempts_of_a_job_together_spend_its_budget_once(tmp_path: Path) -> None:
    write(tmp_path, [4] * 40, "first")
    with FakeServer(default=as_json(PRICED)) as server:
        run_file = RUN_FILE.replace('"replay:replies.jsonl"', '"judge"')
        model = f'[models.judge]\nmodel = "{server.url}/v1#m"\nprice = [1000.0, 1000.0]\n'
        (tmp_path / "adjudge.toml").write_text(model + run_file, encoding="utf-8")
        assert judge_and_gate(tmp_path, BUDGET="2")["exit-code"] == "5"
        n_paid = len(server.requests)
        assert 0 < n_paid < 40
        assert judge_and_gate(tmp_path, BUDGET="2", GITHUB_RUN_ATTEMPT="2")["exit-code"] == "5"
        # What was left of the budget pays for less than one call more.
        assert len(server.requests) - n_paid <= 1
        assert judge_and_gate(tmp_path, BUDGET="100", GITHUB_RUN_ATTEMPT="3")["exit-code"] != "5"


@pytest.mark.slow
def test_a_repeated_job_with_other_outputs_has_the_rest_of_its_budget(tmp_path: Path) -> None:
    job = {"BUDGET": "20", "GITHUB_RUN_ID": "17"}
    with FakeServer(default=as_json(PRICED)) as server:
        run_file = RUN_FILE.replace('"replay:replies.jsonl"', '"judge"')
        model = f'[models.judge]\nmodel = "{server.url}/v1#m"\nprice = [1000.0, 1000.0]\n'
        n_paid = []
        for attempt in (1, 2, 3, 4):
            write(tmp_path, [4] * 40, f"outputs of attempt {attempt}")
            (tmp_path / "adjudge.toml").write_text(model + run_file, encoding="utf-8")
            outcome = judge_and_gate(tmp_path, GITHUB_RUN_ATTEMPT=str(attempt), **job)
            assert (outcome["exit-code"] == "5") == (attempt > 1)
            n_paid.append(len(server.requests))
        # 40 calls cost 12.40 dollars; the rest pays for some 24 calls, and a few more are in flight.
        assert n_paid[0] == 40
        assert n_paid[-1] <= 40 + 24 + 8
        # The next job has the whole budget, though replies of this one are in its store.
        assert judge_and_gate(tmp_path, BUDGET="20", GITHUB_RUN_ID="18")["exit-code"] != "5"
        assert len(server.requests) <= n_paid[-1] + 40


GH = """#!/usr/bin/env bash
echo "$*" >> calls.txt
case "$*" in *--paginate*) cat existing.txt ;; esac
"""


@pytest.mark.parametrize(("existing", "method"), [("", "POST"), ("17\n", "PATCH")])
def test_the_comment_of_an_earlier_job_is_changed_and_not_repeated(
    tmp_path: Path, existing: str, method: str
) -> None:
    (tmp_path / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "existing.txt").write_text(existing, encoding="utf-8")
    (tmp_path / "comment.md").write_text("<!-- adjudge: answers -->\npass\n", encoding="utf-8")
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "REPOSITORY": "a/b",
        "NUMBER": "3",
    }
    script = ["bash", str(CI / "comment.sh"), "comment.md"]
    subprocess.run(script, cwd=tmp_path, env=environment, check=True)
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()
    assert len(calls) == 2
    assert f"--method {method}" in calls[1]
    assert ("comments/17" in calls[1]) == bool(existing)


def test_the_action_installs_its_own_checkout_and_pins_what_it_uses() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert '"$GITHUB_ACTION_PATH[data]"' in text
    assert "install adjudge" not in text
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert [name for name in used if not re.search(r"@[0-9a-f]{40}$", name)] == []
    for script in re.findall(r"\$GITHUB_ACTION_PATH/(\S+\.sh)", text):
        assert (ROOT / script).exists()
    # What a pull request controls reaches a script as a variable, never as a part of it.
    assert not re.search(r"run: .*\$\{\{", text)
    assert not re.search(
        r"run: \|\n(?:\s+.*\n)*?\s+.*\$\{\{ (?:inputs|github)", text.split("outputs:")[1].split("- uses")[0]
    )


def test_the_scripts_use_commands_and_flags_that_exist() -> None:
    text = (CI / "judge_and_gate.sh").read_text(encoding="utf-8")
    commands = re.findall(r"^ *adjudge ((?:run|gate|runs \w+)\b.*)$", text, re.M)
    assert {command.split()[0] for command in commands} == {"run", "gate", "runs"}
    for command in commands:
        words = command.split("|")[0].split()
        path = words[:2] if words[0] == "runs" else words[:1]
        shown = adjudge(*path, "--help", COLUMNS="200").out
        flags = [word for word in words if re.fullmatch(r"--?[a-z-]+", word)]
        assert all(re.search(rf"(?<![\w-]){flag}\b", shown) for flag in flags), command


def test_every_action_of_the_workflow_is_pinned_or_the_users_to_choose() -> None:
    lines = (CI / "adjudge.yml").read_text(encoding="utf-8").splitlines()
    used = [line for line in lines if "uses:" in line]
    assert used
    assert all(re.search(r"@[0-9a-f]{40}\b|@COMMIT # CHANGE", line) for line in used)
