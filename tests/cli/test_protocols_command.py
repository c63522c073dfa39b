"""The command line of protocols, run as a user runs it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import running


def adjudge(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    with contextlib.chdir(cwd or Path.cwd()):
        done = running.adjudge(*arguments, **environment)
    return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    rows = [
        {"id": "a", "source_text": "The cat sat.", "generated_response": "고양이가 앉았다."},
        {"id": "b", "source_text": "::error file=a::x", "generated_response": "\x1b[31mred {{source_text}}"},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_list_prints_a_row_for_each_protocol_and_the_same_as_json() -> None:
    table = adjudge("protocols", "list")
    rows = json.loads(adjudge("protocols", "list", "--json").stdout)
    assert table.returncode == 0
    assert len(rows) >= 27
    for row in rows:
        assert row["id"] in table.stdout
        assert row["source"]
        assert row["language"]


def test_show_prints_exactly_what_would_be_sent(items: Path) -> None:
    shown = adjudge("protocols", "show", "gptscore-ko/factuality", "--item", f"{items}:1")
    messages = json.loads(
        adjudge("protocols", "show", "gptscore-ko/factuality", "--item", f"{items}:1", "--json").stdout
    )["messages"]
    assert shown.returncode == 0
    assert messages[-1]["content"] in shown.stdout
    assert "고양이가 앉았다." in shown.stdout
    assert "{{" not in shown.stdout


def test_show_keeps_judged_text_from_acting_on_a_ci_log(items: Path) -> None:
    shown = adjudge(
        "protocols", "show", "gptscore-ko/factuality", "--item", f"{items}:2", GITHUB_ACTIONS="true"
    )
    assert shown.stdout.startswith("::stop-commands::")
    assert "{{source_text}}" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["show", "gptscore-ko/factualty"], "gptscore-ko/factuality"),
        (["show", "gptscore-ko/factuality", "--item", "ITEMS:9"], "9"),
        (["show", "gptscore-ko/factuality", "--item", "nothing.jsonl:1"], "nothing.jsonl"),
        (["show", "gptscore-ko/factuality", "--item", "ITEMS"], "FILE:N"),
        (["show", "opinion-summary/fluency", "--item", "ITEMS:1"], "product_title"),
        (["show", "prometheus/direct", "--item", "ITEMS:1", "--map", "x"], "INPUT=FIELD"),
        (["show", "geval/compare", "--rubric", "nothing.toml"], "--rubric"),
        (["new", "."], "."),
        (["show"], "protocols show"),
        (["frobnicate"], "frobnicate"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_message_with_exit_2_and_no_traceback(
    items: Path, arguments: list[str], part: str
) -> None:
    done = adjudge(
        "protocols", *[argument.replace("ITEMS", str(items)) for argument in arguments], cwd=items.parent
    )
    assert done.returncode == 2
    assert part in done.stderr
    assert "Traceback" not in done.stderr


def test_a_rubric_and_a_map_reach_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "tone.toml").write_text('criterion = "Is it kind?"\n[levels]\n1 = "no"\n2 = "yes"\n')
    (tmp_path / "items.jsonl").write_text('{"question": "Why?", "output": "Because."}\n')
    done = adjudge(
        "protocols", "show", "prometheus/direct", "--item", "items.jsonl:1", "--rubric", "tone.toml",
        "--map", "instruction=question", "--map", "response=output", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for part in ("Is it kind?", "Score 2: yes", "Why?", "Because."):
        assert part in done.stdout


def test_new_writes_a_folder_that_check_finds_clean(tmp_path: Path) -> None:
    assert adjudge("protocols", "new", "mine", cwd=tmp_path).returncode == 0
    done = adjudge("protocols", "check", "mine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_check_prints_a_line_for_each_finding_and_exits_1(tmp_path: Path) -> None:
    adjudge("protocols", "new", "mine", cwd=tmp_path)
    path = tmp_path / "mine" / "user.md"
    path.write_text(path.read_text().replace("{{question}}", "{{questoin}}"))
    plain = adjudge("protocols", "check", "mine", cwd=tmp_path)
    assert plain.returncode == 1
    assert f"{Path('mine') / 'user.md'}:6: " in plain.stdout
    assert "[unknown-placeholder]" in plain.stdout
    github = adjudge("protocols", "check", "mine", "--github", cwd=tmp_path)
    assert github.stdout.startswith("::error file=mine/user.md,line=6,title=unknown-placeholder::")
    findings = json.loads(adjudge("protocols", "check", "mine", "--json", cwd=tmp_path).stdout)
    assert {"file", "line", "name", "message", "todo", "kind"} == set(findings[0])


def test_a_closed_pipe_is_no_error() -> None:
    code = (
        "adjudge() { "
        + sys.executable
        + (
            " -c 'from adjudge.cli import main; main()' \"$@\"; }; adjudge protocols list | head -1; "
            "echo ${PIPESTATUS[0]}"
        )
    )
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_show_with_a_decision_model_prints_the_request_that_would_be_sent() -> None:
    ref = ("prometheus/direct", "--rubric", running.EXAMPLES / "tact.toml")
    template = running.adjudge("protocols", "show", *ref, "-m", "systemone:jev")
    assert template.code == 0, template.err
    assert "--- tact: score ---" in template.out
    item = ("--item", f"{running.EXAMPLES / 'answers.jsonl'}:1")
    request = running.adjudge("protocols", "show", *ref, "-m", "systemone:jev", *item).json
    assert set(request) == {"model", "state", "questions"}
    assert set(request["state"]) == {"instruction", "response"}
    assert request["questions"]["tact"]["type"] == "score"
    chat = running.adjudge("protocols", "show", *ref, "-m", "openai:gpt-6-luna", *item)
    assert chat.out == running.adjudge("protocols", "show", *ref, *item).out
