"""An empty response is an output: judged as such or failed, alike in every file format; skipped lines are
failures."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import adjudge as package
from running import DIRECT, Outcome, adjudge, write_rows

ROWS: list[dict[str, Any]] = [
    {"id": "a", "system": "x", "instruction": "Say.", "response": "good"},
    {"id": "b", "system": "x", "instruction": "Say.", "response": None},
    {"id": "c", "system": "y", "instruction": "Say.", "response": "fine"},
    {"id": "d", "system": "y", "instruction": None, "response": "fine"},
]
FAKE = ("-m", "fake:text=[RESULT] 4")


def file_of(folder: Path, form: str) -> Path:
    path = folder / f"items.{form.split()[-1]}"
    if form == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(ROWS[0]))
            writer.writeheader()
            writer.writerows(ROWS)
    elif form == "parquet":
        pytest.importorskip("polars").DataFrame(ROWS).write_parquet(path)
    elif form == "json":
        path.write_text(json.dumps(ROWS))
    else:
        empty = {"blank jsonl": " \n", "unseen jsonl": "\u200b\ufeff\u2060"}.get(form)
        write_rows(path, [dict(row, response=row["response"] or empty) for row in ROWS])
    return path


def run(folder: Path, items: Path, *more: str, name: str = "one") -> Outcome:
    return adjudge("run", items, *DIRECT, *FAKE, "--store", folder / "s.db", "--run", name, "-q", *more)


def exported(folder: Path, name: str = "one") -> dict[str, dict[str, Any]]:
    return {row["item"]: row for row in adjudge("export", name, "--store", folder / "s.db").rows}


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "blank jsonl", "unseen jsonl", "parquet"])
def test_an_empty_response_is_judged_in_every_format(tmp_path: Path, form: str) -> None:
    items = file_of(tmp_path, form)
    refused = run(tmp_path, items)
    assert refused.code == 2
    assert "'instruction' is missing or empty" in refused.err
    assert "'response'" not in refused.err
    assert "--skip-bad" in refused.err
    assert run(tmp_path, items, "--skip-bad").code == 0
    rows = exported(tmp_path)
    assert list(rows) == ["a", "b", "c"]
    assert (rows["b"]["score"], rows["b"]["flags"]) == (4, ["empty_response"])
    shown = adjudge("runs", "show", "one", "--item", "b", "--json", "--store", tmp_path / "s.db")
    assert "(empty)" in shown.out
    assert run(tmp_path, items, "--skip-bad", "--empty", "fail", name="two").code == 0
    failed = exported(tmp_path, "two")["b"]
    assert (failed["status"], failed["score"], failed["flags"]) == ("unparsed", None, ["empty_response"])
    adjudge("reread", "two", "--store", tmp_path / "s.db")
    assert exported(tmp_path, "two")["b"] == failed


@pytest.mark.parametrize("empty", ["judge", "fail"])
def test_both_responses_of_a_pair_may_be_empty(tmp_path: Path, empty: str) -> None:
    row = {
        "id": "p",
        "instruction": "Say.",
        "response_a": "",
        "response_b": "x",
        "system_a": "l",
        "system_b": "r",
    }
    items = write_rows(tmp_path / "pairs.jsonl", [row])
    done = adjudge(
        "run", items, "-p", "prometheus/pairwise", "--rubric", DIRECT[3], "-m", "fake:text=Good. [RESULT] A",
        "--order", "given", "--store", tmp_path / "s.db", "--run", "one", "--empty", empty, "-q",
    )  # fmt: skip
    assert done.code == (0 if empty == "judge" else 4)
    assert exported(tmp_path)["p"]["choice"] == ("a" if empty == "judge" else None)


def test_a_judgment_in_steps_of_an_empty_response_fails_without_a_call(tmp_path: Path) -> None:
    items = write_rows(
        tmp_path / "i.jsonl", [{"id": "e", "response": "", "context": "One. Two.", "task": "Say."}]
    )
    done = adjudge(
        "run", items, "-p", "claims/supported", "-m", "fake:text=never asked", "--empty", "fail",
        "--run", "one",
        "--store", tmp_path / "s.db", "-q",
    )  # fmt: skip
    assert done.code == 4, done.err
    row = exported(tmp_path)["e"]
    assert (row["status"], row["flags"]) == ("unparsed", ["empty_response"])
    assert [run["calls"] for run in adjudge("runs", "--json", "--store", tmp_path / "s.db").json] == [0]


def test_skipped_lines_are_failures_of_their_systems(tmp_path: Path) -> None:
    items = file_of(tmp_path, "jsonl")
    with items.open("a") as file:
        file.write('{"id": "c", "system": "x", "instruction": "Say.", "response": "twice"}\n{"id": "broken\n')
    assert run(tmp_path, items, "--skip-bad").code == 0
    systems = adjudge("report", "one", "--json", "--store", tmp_path / "s.db").json["systems"]
    failures = {name: cells["tact"]["failures"] for name, cells in systems.items()}
    assert failures == {"x": {"skipped": 1}, "y": {"skipped": 1}, "(unknown)": {"skipped": 1}}
    y = systems["y"]["tact"]
    assert (y["n"], y["n_failed"]) == (1, 1)
    assert (y["bounds"]["low"], y["bounds"]["high"]) == (2.5, 4.5)
    gate = adjudge("gate", "one", "--min", "tact=1", "--store", tmp_path / "s.db")
    assert gate.code == 4
    assert run(tmp_path, items, "--skip-bad").code == 0  # the same run, resumed


def test_a_judge_in_python_takes_an_empty_response(tmp_path: Path) -> None:
    row = {"instruction": "Say.", "response": None}
    rubric = DIRECT[3]
    done = package.run(
        [row], "prometheus/direct", "fake:text=[RESULT] 2", rubric=rubric, store=tmp_path / "p.db"
    )
    (result,) = done.results()
    assert (result.value, result.flags) == (2, ("empty_response",))
