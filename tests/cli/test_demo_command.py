"""`adjudge demo`: the whole way, on the recording that ships with the package and on the model itself."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adjudge.cli.demo import FILES, PROTOCOLS, SHOWN_REPLIES, SYSTEMS, data_folder
from adjudge.cli.demo_screens import path_line
from adjudge.errors import AdjudgeError, ModelError
from adjudge.models.local.weights import SMOLLM2, pull
from adjudge.store import open_store
from running import ROOT, Outcome, adjudge, ended, read_rows, started


def demo(folder: Path, *arguments: str, **environment: str) -> Outcome:
    """The command in an empty folder."""
    with contextlib.chdir(folder):
        return adjudge("demo", *arguments, **environment)


def items() -> list[dict[str, Any]]:
    return read_rows(data_folder() / "items.jsonl")


def responses() -> list[dict[str, Any]]:
    """The items that the demo judges."""
    return [row for row in items() if row["system"] in SYSTEMS]


def likelihoods() -> list[dict[str, Any]]:
    with gzip.open(data_folder() / "likelihoods.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def labels() -> list[dict[str, str]]:
    with (data_folder() / "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FAULTS = {
    "altered-fact": "factuality",
    "omission": "accuracy",
    "shuffled": "coherence",
    "broken-grammar": "fluency",
    "off-topic": "relevance",
}
INTACT = "faithful"


# -- what ships


def test_each_text_has_one_response_of_each_system_and_a_label_for_each_criterion() -> None:
    systems = Counter((row["group"], row["system"]) for row in items())
    groups = {group for group, _ in systems}
    assert len(items()) == 60
    assert systems == Counter({(group, system): 1 for group in groups for system in (INTACT, *FAULTS)})
    told = {(row["item"], row["criterion"]): row["value"] for row in labels()}
    assert {row["rater"] for row in labels()} == {"construction"}
    for row in items():
        assert {told[row["id"], criterion] for criterion in FAULTS.values()} <= {"0", "1"}
        if row["system"] == INTACT:
            assert all(told[row["id"], criterion] == "1" for criterion in FAULTS.values())
        else:
            assert told[row["id"], FAULTS[row["system"]]] == "0"


def test_the_recording_has_every_response_and_criterion_once() -> None:
    keys = Counter((row["item"], row["criterion"]) for row in likelihoods())
    names = ("factuality", "relevance")
    assert keys == Counter({(row["id"], name): 1 for row in responses() for name in names})
    targets = {"factuality": "generated_response", "relevance": "source_text"}
    fields = {row["id"]: row for row in responses()}
    for row in likelihoods():
        target = fields[row["item"]][targets[row["criterion"]]]
        assert "".join(token["token"] for token in row["logprobs"]) == target
        assert row["model_name"] == SMOLLM2.title


def test_both_versions_answer_the_same_questions_and_every_answer_of_the_candidate_has_two_ratings() -> None:
    current, candidate = (read_rows(data_folder() / f"{name}.jsonl") for name in ("current", "candidate"))
    questions = {row["id"]: row["instruction"] for row in current}
    assert {row["id"]: row["instruction"] for row in candidate} == questions
    for name in ("current", "candidate"):
        assert [row["item"] for row in read_rows(data_folder() / f"{name}.replies.jsonl")] == list(questions)
    with (data_folder() / "ratings.csv").open(encoding="utf-8", newline="") as file:
        rated = Counter((row["item"], row["rater"]) for row in csv.DictReader(file))
    assert rated == Counter({(item, rater): 1 for item in questions for rater in ("ann", "ben")})


# -- the recording


def test_the_recorded_demo_has_five_screens_of_questions_and_says_that_it_is_recorded(tmp_path: Path) -> None:
    done = demo(tmp_path, "--recorded")
    assert done.code == 0, done.err
    assert re.findall(r"^── (\d) of 5: .*\?", done.out, re.M) == list("12345")
    assert "recorded with the embedded model" in done.out
    assert "docs/local.md" in done.out
    for system in SYSTEMS:
        assert f" {system} " in done.out
    report = tmp_path / "adjudge-demo.html"
    assert str(report) in done.out
    assert report.read_text(encoding="utf-8").lower().startswith("<!doctype html")


@pytest.mark.slow
def test_every_command_of_the_screens_gives_what_the_demo_says(tmp_path: Path) -> None:
    done = demo(tmp_path, "--recorded", "-q")
    result = demo(tmp_path, "--recorded", "-q", "--json").json
    lines = re.findall(r"^\$ adjudge (.* --store adjudge-demo.db)$", done.out, re.M)
    commands = {words[0]: [] for words in map(shlex.split, lines)}
    with contextlib.chdir(tmp_path):
        for line in lines:
            words = shlex.split(line)
            if words[0] != "view":
                form = () if words[0] == "sample" else ("--json",)
                commands[words[0]].append(adjudge(*words, *form))
    assert list(commands) == ["run", "runs", "trust", "compare", "gate", "view", "sample"]
    (candidate, run), (trust,), (compare,) = commands["run"], commands["trust"], commands["compare"]
    assert candidate.code == 0
    assert run.json["systems"] == result["systems"]
    assert trust.json == result["trust"]
    assert compare.json == result["compare"]
    assert [gate.json for gate in commands["gate"]] == result["gates"]
    assert [gate.code for gate in commands["gate"]] == [gate["exit_code"] for gate in result["gates"]]
    for gate in result["gates"]:
        assert f"(exit {gate['exit_code']})" in done.out
    assert all(outcome.code == 0 for outcome in commands["runs"] + commands["sample"])


def test_the_means_are_those_of_a_plain_computation(tmp_path: Path) -> None:
    result = demo(tmp_path, "--recorded", "--json", "--limit", "6", "--quiet").json
    kept = {row["id"]: row for row in responses()[:6]}
    means = {
        (row["item"],
        row["criterion"]): math.fsum(token["logprob"] for token in row["logprobs"]) / len(row["logprobs"])
        for row in likelihoods()
    }  # fmt: skip
    assert (result["n_items"], result["n_scores"], result["n_failed"]) == (6, 12, 0)
    assert (result["n_calls"], result["is_recorded"]) == (12, True)
    for system in SYSTEMS:
        for protocol, criterion in zip(PROTOCOLS, ("factuality", "relevance"), strict=True):
            scores = [means[name, criterion] for name, row in kept.items() if row["system"] == system]
            cell = result["systems"][system][f"{protocol}/{criterion}"]
            assert cell["value"] == pytest.approx(math.fsum(scores) / len(scores), abs=1e-9)
    assert Path(result["report"]).is_file()


def test_a_refusal_a_quoted_score_and_a_conflict_are_read_as_such(tmp_path: Path) -> None:
    result = demo(tmp_path, "--recorded", "--json", "--quiet").json
    readings = {(row["run"], row["item"]): row for row in result["readings"] if not row["tokens"]}
    assert tuple(readings) == SHOWN_REPLIES
    assert [(row["status"], row["value"]) for row in readings.values()] == [
        ("ok", 3.0),
        ("refused", None),
        ("ok", 3.0),
        ("conflicting", None),
    ]
    quoted = readings["candidate", "parking"]
    assert '"[RESULT] 5"' in quoted["reply"]
    assert quoted["reply"][slice(*quoted["span"])] == "3"


def test_the_ratings_turn_the_decision_of_the_judge_alone(tmp_path: Path) -> None:
    result = demo(tmp_path, "--recorded", "--json", "--quiet").json
    alone, corrected = result["gates"]
    assert (alone["outcome"], alone["exit_code"]) == ("good", 0)
    assert (corrected["outcome"], corrected["exit_code"]) == ("open", 3)
    bias = result["trust"]["criteria"]["helpful"]["bias"]
    assert bias["low"] > 0


def test_a_limit_that_leaves_out_the_response_with_its_tokens_keeps_all_replies(tmp_path: Path) -> None:
    result = demo(tmp_path, "--recorded", "--json", "--quiet", "--limit", "1").json
    assert tuple((row["run"], row["item"]) for row in result["readings"]) == SHOWN_REPLIES
    shown = demo(tmp_path, "--recorded", "--quiet", "--limit", "1").out
    assert "Least likely" not in shown
    assert all(re.search(rf"^ {run} +{item} ", shown, re.M) for run, item in SHOWN_REPLIES)


def test_files_of_the_demo_that_were_edited_stay(tmp_path: Path) -> None:
    assert demo(tmp_path, "--recorded", "-q").code == 0
    ratings = tmp_path / "adjudge-demo" / "ratings.csv"
    lines = [line.rsplit(",", 1)[0] + ",1" for line in ratings.read_text(encoding="utf-8").splitlines()[1:]]
    ratings.write_text("\n".join(["item,criterion,rater,value", *lines]), encoding="utf-8")
    result = demo(tmp_path, "--recorded", "-q", "--json").json
    assert result["gates"][1]["outcome"] == "worse"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_terminal_of_80_columns_nothing_is_wider_and_a_screen_has_about_24_lines(tmp_path: Path) -> None:
    import pty

    command = [sys.executable, "-c", "from adjudge.cli import main; main()", "demo", "--recorded", "-q"]
    main_end, side_end = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "dumb"}
    with subprocess.Popen(
        command, stdout=side_end, stderr=side_end, cwd=tmp_path, env=environment
    ) as process:
        os.close(side_end)
        chunks = []
        # Linux reports the end of a terminal as an error.
        with contextlib.suppress(OSError):
            while chunk := os.read(main_end, 65536):
                chunks.append(chunk)
    os.close(main_end)
    assert process.returncode == 0
    text = b"".join(chunks).decode().replace("\r\n", "\n")
    screens = text.split("\n── ")[1:]
    assert len(screens) == 5
    assert all(len(screen.splitlines()) <= 28 for screen in screens)
    named_place = str(tmp_path)
    assert all(
        len(line) <= 80 for line in text.splitlines() if named_place not in line and "PATH" not in line
    )


def test_what_to_do_next_can_be_called_where_the_command_is_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "my tools" / "adjudge"
    own.parent.mkdir()
    own.write_text("", encoding="utf-8")
    own.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(own), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert path_line() == f'$ export PATH="{own.parent}:$PATH"'
    monkeypatch.chdir(tmp_path)
    assert path_line() == '$ export PATH="$PWD/my tools:$PATH"'
    monkeypatch.setenv("PATH", str(own.parent))
    assert path_line() == ""


@pytest.mark.slow
def test_a_second_demo_goes_on_with_the_first(tmp_path: Path) -> None:
    first = demo(tmp_path, "--recorded", "--json", "--limit", "6").json
    second = demo(tmp_path, "--recorded", "--json", "--limit", "6")
    assert "Resuming" in second.err
    assert second.json["run"] == first["run"]
    assert second.json["systems"] == first["systems"]


# -- without the model


def test_without_the_extra_the_recording_is_played_and_the_reason_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    done = demo(tmp_path, "--limit", "6")
    assert done.code == 0, done.err
    assert "pip install 'adjudge[local]'" in done.err
    assert "recorded with this model earlier" in done.err
    assert "recorded with the embedded model" in done.out


@pytest.mark.slow
def test_without_a_network_the_recording_is_played_and_the_reason_told(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    nowhere = {"PIP_NO_INDEX": "1", "ADJUDGE_CACHE": str(tmp_path / "cache")}
    done = demo(tmp_path, "--limit", "6", **nowhere)
    assert done.code == 0, done.err
    assert "93 MB" in done.err
    assert "could not be downloaded" in done.err
    assert "recorded with the embedded model" in done.out
    assert not (tmp_path / "cache" / "models").exists()


def test_a_report_that_cannot_be_written_is_told_with_where(tmp_path: Path) -> None:
    done = adjudge(
        "demo",
        "--recorded",
        "--limit",
        "6",
        "--store",
        tmp_path / "a.db",
        "--report",
        tmp_path / "no" / "r.html",
    )
    assert done.code == 2
    assert "cannot be written" in done.err
    assert "Traceback" not in done.err


# -- as installed


def test_the_wheel_holds_what_the_demo_needs(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"adjudge/demo/{name}" for name in ("items.jsonl", "labels.csv", *FILES)} <= names


def n_judged(store: Path) -> int:
    try:
        with open_store(store, write=False) as opened:
            return opened.totals(opened.run("live-6")).judged
    except AdjudgeError:
        return 0  # not begun yet


@pytest.mark.slow
def test_the_embedded_model_gives_what_was_recorded_also_when_it_was_interrupted(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    try:
        pull(SMOLLM2, lambda _text: None)
    except ModelError as error:
        pytest.skip(f"the weights cannot be had: {error}")
    first = started("demo", "--limit", "6", "--json", cwd=tmp_path)
    deadline = time.monotonic() + 120
    while n_judged(tmp_path / "adjudge-demo.db") < 5 and time.monotonic() < deadline:
        time.sleep(0.2)
    first.send_signal(signal.SIGINT)
    stopped = ended(first)
    assert stopped.code == 130, stopped.err
    assert "run the same command" in stopped.err
    again = demo(tmp_path, "--limit", "6", "--json")
    assert "Resuming" in again.err
    live = again.json
    recorded = demo(tmp_path, "--limit", "6", "--json", "--recorded").json
    assert (live["n_failed"], live["is_recorded"], recorded["is_recorded"]) == (0, False, True)
    for system, cells in live["systems"].items():
        for name, cell in cells.items():
            # Another processor rounds in another way.
            assert cell["value"] == pytest.approx(recorded["systems"][system][name]["value"], abs=0.05)


@pytest.mark.slow
def test_the_install_of_the_readme_gives_a_command_that_shows_the_demo(tmp_path: Path) -> None:
    source = tmp_path / "adjudge"
    for name in ("src", "pyproject.toml", "README.md", "LICENSE"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        source.mkdir(exist_ok=True)
        copy(ROOT / name, source / name)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    bin_folder = tmp_path / "venv" / "bin"
    # Neither the tests' own path nor the folder of the sources may help.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    pip = [str(bin_folder / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "."]
    installed = subprocess.run(
        pip, cwd=source, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    if "No matching distribution" in installed.stderr or "NewConnectionError" in installed.stderr:
        pytest.skip("no package index can be reached")
    assert installed.returncode == 0, installed.stderr
    shown = subprocess.run(
        [str(bin_folder / "adjudge"), "demo", "--recorded", "-q"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert "5 of 5" in shown.stdout
    assert (tmp_path / "adjudge-demo.html").is_file()
