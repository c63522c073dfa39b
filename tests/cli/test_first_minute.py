"""What a new user meets first: columns of other names, a second system, a table for a paper."""

from __future__ import annotations

import json
import os
import pty
import sys
from pathlib import Path

import pytest

from fakeserver import FakeServer, error
from running import adjudge, read_rows, write_rows

ANSWERS = "question,answer\nHow far is it?,Two miles.\nWho are you?,A clerk.\n"
JUDGE = ("--criterion", "Is the answer polite?", "-m", "fake:text=Score: 4", "-q")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.csv"
    path.write_text(ANSWERS, encoding="utf-8")
    return path


def test_columns_of_other_names_are_proposed_and_used_with_consent(data: Path) -> None:
    refused = adjudge("run", data, *JUDGE)
    assert refused.code == 2
    assert "task from column 'question', response from column 'answer'" in refused.err
    assert "--map task=question --map response=answer" in refused.err
    assert not Path("adjudge.db").exists()
    accepted = adjudge("run", data, *JUDGE, "--yes")
    assert accepted.code == 0, accepted.err
    assert "Taking task from column 'question'" in accepted.err


def test_columns_are_not_proposed_where_none_is_missing_or_the_guess_is_not_enough(data: Path) -> None:
    mapped = ("--map", "task=question", "--map", "response=answer")
    assert "Taking" not in adjudge("run", data, *JUDGE, *mapped, "--yes").err
    data.write_text("city,mayor\nUlm,Ann\n", encoding="utf-8")
    refused = adjudge("run", data, *JUDGE, "--yes")
    assert refused.code == 2
    assert "field 'task' is missing" in refused.err


def test_a_second_init_and_a_missing_key_say_how_to_go_on(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    first = adjudge("init", data, "--yes")
    assert first.code == 0
    assert len(first.out.splitlines()) <= 30
    assert all(text in first.out for text in ("How far is it?", "Two miles.", "adjudge run data --dry-run"))
    assert "! OPENAI_API_KEY is not set: set it, or name another model in the file" in first.err
    again = adjudge("init", data, "--yes", "-m", "fake:text=Score: 4")
    assert again.code == 2
    assert "adjudge run NAME -m fake:text=Score: 4" in again.err
    assert "or judge with another model" in adjudge("run", "data").err
    assert adjudge("run", "data", "-m", "fake:text=Score: 4", "-q").code == 0
    # There are two items, so no fifty can be labelled.
    assert "Next: Label 2 items: adjudge annotate data" in adjudge("report", "data").out
    assert "adjudge annotate data -n 30" in adjudge("trust", "data").err
    assert (
        "adjudge annotate data -n 30"
        in adjudge("gate", "data", "--min", "helpfulness=3", "--labels", "store").err
    )


def test_a_judge_is_proposed_where_none_is_named_and_used_with_consent(data: Path) -> None:
    refused = adjudge("run", data, "-m", "fake:text=Score: 4", "-q")
    assert refused.code == 2
    assert (
        "task from column 'question', response from column 'answer'; judged with --criterion" in refused.err
    )
    assert not Path("adjudge.db").exists()
    accepted = adjudge("run", data, "-m", "fake:text=Score: 4", "-q", "--yes")
    assert accepted.code == 0, accepted.err
    assert "helpfulness" in accepted.out
    nothing = adjudge("run", data).err
    assert "judged with --criterion" in nothing
    assert "a run needs a protocol" in nothing
    assert "a run needs a judge model" in nothing
    pairs = "question,answer_a,answer_b\nHow far is it?,Two miles.,Far.\n"
    data.write_text(pairs, encoding="utf-8")
    shown = adjudge("run", data, "-m", "fake:text=A", "--yes", "--dry-run")
    assert "Judging with -p geval/compare" in shown.err
    data.write_text("city,mayor\nUlm,Ann\n", encoding="utf-8")
    assert "judged with" not in adjudge("run", data, "-m", "fake:text=4").err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 2)])
def test_on_a_terminal_the_user_is_asked(data: Path, answer: bytes, code: int) -> None:
    command = [sys.executable, "-c", "from adjudge.cli import main; main()", "run", str(data), *JUDGE]
    child, terminal = pty.fork()
    if child == 0:
        os.execv(command[0], command)
    shown = b""
    while b"[Y/n]" not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, answer)
    try:
        while chunk := os.read(terminal, 4096):
            shown += chunk
    except OSError:  # the end of a terminal
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code


@pytest.mark.parametrize("criterion", ["", "  ", "polite= "])
def test_an_empty_criterion_is_named(data: Path, criterion: str) -> None:
    refused = adjudge("run", data, "--criterion", criterion, "-m", "fake:text=4")
    assert (refused.code, "--criterion is empty" in refused.err) == (2, True)


def test_a_dry_run_names_identical_prompts(data: Path) -> None:
    data.write_text(ANSWERS + "Who are you?,A clerk.\n", encoding="utf-8")
    shown = adjudge("run", data, *JUDGE, "--yes", "--dry-run")
    assert "3 items, 2 calls: 0 are in the store, 2 would be sent." in shown.out
    assert "1 more has the same prompt as another call" in shown.out
    assert "identical items (line 4)?" in shown.out


def test_one_file_with_the_outputs_of_two_systems_under_the_same_ids_is_paired(data: Path) -> None:
    outputs = [
        {"id": f"q{k}", "system": system, "task": f"Question {k}?", "response": f"{system} says {k}."}
        for k in range(3)
        for system in ("terse", "clear")
    ]
    write_rows(data.with_name("outputs.jsonl"), outputs)
    done = adjudge("pair", "outputs.jsonl", "-o", "pairs.jsonl")
    assert done.code == 0, done.err
    rows = read_rows(data.with_name("pairs.jsonl"))
    assert len(rows) == 3
    assert all({row["system_a"], row["system_b"]} == {"terse", "clear"} for row in rows)
    table = "id,question,model,answer\nq1,Hi?,terse,Hi.\nq1,Hi?,clear,Hello there.\n"
    data.with_name("outputs.csv").write_text(table, encoding="utf-8")
    done = adjudge("pair", "outputs.csv", "-o", "pairs.jsonl")
    assert "Taking response from column 'answer', system from column 'model'." in done.err
    assert done.err.endswith("1 pair of 2 systems on 1 input in pairs.jsonl\n")
    assert "model" not in read_rows(data.with_name("pairs.jsonl"))[0]
    write_rows(data.with_name("outputs.jsonl"), [*outputs, outputs[0]])
    refused = adjudge("pair", "outputs.jsonl", "-o", "pairs.jsonl")
    assert refused.code == 2
    assert "id 'q0' of system 'terse' already exists" in refused.err


def test_means_are_exported_as_tables_for_a_paper(data: Path) -> None:
    data.write_text(
        "system,question,answer\n" + "".join(f"a_1,Q{k},A{k}\n" for k in range(4)), encoding="utf-8"
    )
    assert adjudge("run", data, *JUDGE, "--yes").code == 0
    markdown = adjudge("export", "--format", "markdown").out
    assert markdown.startswith("| system | score | n | failed |\n|---|---|---:|---:|\n| a\\_1 | 4.00 [")
    assert "&#" not in markdown
    rows = [json.loads(line) for line in adjudge("export").out.splitlines()]
    labels = "item,criterion,rater,value\n" + "".join(f"{row['item']},score,ann,3\n" for row in rows)
    Path("labels.csv").write_text(labels, encoding="utf-8")
    assert adjudge("labels", "add", "run-0001", "labels.csv").code == 0
    done = adjudge("export", "-o", "table.tex")
    assert done.code == 0
    assert done.err.startswith("4 labels of this run not used")
    latex = Path("table.tex").read_text(encoding="utf-8")
    assert "\\begin{tabular}{lcrr}" in latex
    assert "a\\_1 & 4.00 [" in latex
    assert "95 \\% confidence intervals" in latex


def test_a_number_of_failures_is_called_items(data: Path) -> None:
    assert adjudge("run", data, *JUDGE, "--yes").code == 0
    shown = adjudge("gate", "--max-failed", "20")
    assert "20 items" in shown.out


def test_a_report_quotes_the_host_that_refuses_and_says_where_failures_are(data: Path) -> None:
    with FakeServer(default=error(400, "There is no parameter 'top_p'.")) as server:
        done = adjudge("run", data, "--criterion", "Is it polite?", "-m", f"{server.url}/v1#m", "--yes", "-q")
    assert done.code == 4
    assert "2 calls got no reply (bad reply 2), such as: " in done.out
    assert "answered 400: There is no parameter 'top_p'. Next:" in done.out
    assert "Failures: adjudge runs show run-0001 --failed." in done.out
