"""A cascade from two runs, and `adjudge run --cascade` with
it: who decides, what is asked, what goes to people.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from adjudge.records import Label
from adjudge.store import open_store
from running import EXAMPLES, adjudge

RUBRIC = ("-p", "prometheus/direct", "--rubric", EXAMPLES / "tact.toml")


def kind_of(k: int) -> str:
    """Most items are easy; some only the dear judge is sure of, some nobody."""
    return "doubtful" if k % 10 == 0 else "hard" if k % 3 == 0 else "easy"


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def items(path: Path, first: int, n: int) -> Path:
    texts = {k: f"{kind_of(k)} answer number {k} ends" for k in range(first, first + n)}
    return write(
        path, [{"id": f"i{k}", "instruction": "Greet.", "response": text} for k, text in texts.items()]
    )


def script(path: Path, sure: tuple[str, ...], n: int) -> Path:
    """A judge whose three samples agree on the kinds that it is sure of."""
    rows: list[dict[str, object]] = []
    for k in range(n):
        scores = (4, 4, 4) if kind_of(k) in sure else (1, 3, 5)
        rows += [{"match": f"number {k} ends", "text": f"So. [RESULT] {score}"} for score in scores]
    return write(path, rows)


@pytest.fixture
def calibrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    items(tmp_path / "items.jsonl", 0, 120)
    for name, sure in (("cheap", ("easy",)), ("dear", ("easy", "hard"))):
        script(tmp_path / f"{name}.jsonl", sure, 240)
        done = adjudge(
            "run", "items.jsonl", *RUBRIC, "-m", f"fake:script={name}.jsonl", "--samples", "3", "--run", name,
            "--concurrency", "1", "--quiet",
        )  # fmt: skip
        assert done.code == 0, done.err
    labels: list[dict[str, object]] = [
        {"item": f"i{k}", "rater": "r", "value": 4 if kind_of(k) != "doubtful" else 1} for k in range(120)
    ]
    write(tmp_path / "labels.jsonl", labels)
    return tmp_path


def calibrate() -> dict[str, object]:
    done = adjudge(
        "cascade", "cheap", "dear", "--labels", "labels.jsonl", "--agree", "0.9", "--within", "0.5",
        "-o", "cascade.toml", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    return dict(done.json)


@pytest.mark.slow
def test_runs_give_thresholds_and_a_file(calibrated: Path) -> None:
    shown = calibrate()
    assert shown["holds"] is True
    file = tomllib.loads((calibrated / "cascade.toml").read_text(encoding="utf-8"))
    assert [stage["run"] for stage in file["stages"]] == ["cheap", "dear"]
    assert {stage["confidence"] for stage in file["stages"]} == {"margin"}
    assert file["stages"][1]["threshold"] == 0.0
    assert file["agree"] == 0.9


@pytest.mark.slow
def test_the_dear_judge_sees_what_the_cheap_one_left_and_people_the_rest(calibrated: Path) -> None:
    calibrate()
    items(calibrated / "new.jsonl", 120, 100)
    command = (
        "run",
        "new.jsonl",
        "--cascade",
        "cascade.toml",
        "--run",
        "night",
        "--concurrency",
        "1",
        "--quiet",
        "--check",
        "20%",
    )
    done = adjudge(*command, "--json")
    assert done.code == 0, done.err
    result = done.json
    kinds = {
        kind: {f"i{k}" for k in range(120, 220) if kind_of(k) == kind}
        for kind in ("easy", "hard", "doubtful")
    }
    assert set(result["to_people"]) == kinds["doubtful"]
    decided = {d["item"]: d["judge"] for d in result["decisions"]}
    assert {item for item, judge in decided.items() if judge == "dear"} >= kinds["hard"]
    assert result["stages"][1]["reached"] == 100 - result["stages"][0]["decided"]
    assert result["check"]
    assert not set(result["check"]) & set(result["to_people"])
    again = adjudge(*command, "--json")
    assert again.json["decisions"] == result["decisions"]
    people = adjudge("export", "night.people", "--format", "jsonl")
    assert {row["item"] for row in people.rows} == kinds["doubtful"]
    assert "adjudge annotate night.people" in adjudge(*command).out
    check_the_run_of_its_name(result, kinds["doubtful"])


def check_the_run_of_its_name(result: dict[str, Any], doubtful: set[str]) -> None:
    """`night` has each item once, with the stage that decided it; report, gate and doctor read it."""
    rows = adjudge("export", "night", "--format", "jsonl").rows
    assert [row["item"] for row in rows] == [f"i{k}" for k in range(120, 220)]
    assert {row["model"] for row in rows} == {"cheap → dear"}
    flags = {row["item"]: row["flags"] for row in rows}
    judges = {"cheap": "decided_by_1", "dear": "decided_by_2", None: "to_people"}
    assert all(judges[d["judge"]] in flags[d["item"]] for d in result["decisions"])
    assert {item for item, found in flags.items() if "to_people" in found} == doubtful
    n = [stage["decided"] for stage in result["stages"]]
    sentence = f"Cascade: of 100 items, cheap {n[0]}, dear {n[1]} decided; {len(doubtful)} go to people"
    report = adjudge("report", "night", "--json").json
    assert [stage["decided"] for stage in report["cascade"]["stages"]] == n
    assert report["n_items"] == report["n_scores"] == 100
    assert sentence in " ".join(adjudge("report", "night", "--full").out.split())
    assert sentence in " ".join(adjudge("gate", "night", "--min", "tact=1", "--json").json["notes"])
    assert sentence in " ".join(adjudge("report", "night").out.split())
    assert adjudge("report", "night", "--html", "night.html").code == 0
    assert 'id="cascade"' in Path("night.html").read_text(encoding="utf-8")
    assert adjudge("doctor").code == 0


def test_labels_of_checked_items_and_of_people_correct_the_mean(calibrated: Path) -> None:
    calibrate()
    items(calibrated / "new.jsonl", 120, 100)
    command = (
        "run", "new.jsonl", "--cascade", "cascade.toml", "--run", "night", "--concurrency", "1", "--quiet",
        "--check", "30%", "--json",
    )  # fmt: skip
    result = adjudge(*command).json
    with open_store("adjudge.db") as store:
        for name, labelled in (("night.check", result["check"]), ("night.people", result["to_people"])):
            labels = [Label(item, "tact", "r", 3.0) for item in labelled]
            store.put_labels(labels, store.run(name))
    promise = adjudge(*command).json["promise"]
    assert promise["agreement"]["value"] == 0.0
    assert promise["holds"] is False
    broken = "90 % was promised: the promise no longer holds"
    assert broken in adjudge("report", "night").out
    assert broken in " ".join(adjudge("gate", "night", "--min", "tact=1", "--json").json["notes"])
    with open_store("adjudge.db", write=False) as store:
        kept = {label.item: label.probability for label in store.labels(store.run("night"))}
    assert kept == {**dict.fromkeys(result["check"], 0.3), **dict.fromkeys(result["to_people"], 1.0)}
    corrected = adjudge("trust", "night", "--json").json["criteria"]["tact"]["corrected"]["all"]
    assert corrected["low"] <= 3.0 <= corrected["high"]


@pytest.mark.slow
@pytest.mark.usefixtures("calibrated")
def test_a_cascade_names_its_own_judges() -> None:
    calibrate()
    done = adjudge("run", "items.jsonl", *RUBRIC, "--cascade", "cascade.toml")
    assert done.code == 2
    assert "Leave -p and -m out" in done.err
    assert adjudge("run", "items.jsonl", *RUBRIC, "-m", "fake:text=4", "--check", "2%").code == 2


@pytest.mark.slow
@pytest.mark.usefixtures("calibrated")
def test_a_run_without_confidence_says_what_to_do() -> None:
    adjudge("run", "items.jsonl", *RUBRIC, "-m", "fake:text=So. [RESULT] 4", "--run", "single", "--quiet")
    done = adjudge("cascade", "single", "dear", "--labels", "labels.jsonl", "--within", "0.5")
    assert done.code == 2
    assert "Run single shows no confidence" in done.err


@pytest.mark.usefixtures("calibrated")
def test_a_judge_that_is_always_as_sure_decides_all_that_reaches_it(calibrated: Path) -> None:
    script(calibrated / "sure.jsonl", ("easy", "hard", "doubtful"), 120)
    sure = adjudge(
        "run", "items.jsonl", *RUBRIC, "-m", "fake:script=sure.jsonl", "--samples", "3", "--run", "sure",
        "--concurrency", "1", "--quiet",
    )  # fmt: skip
    assert sure.code == 0, sure.err
    Path("all_4.jsonl").write_text(
        "".join(json.dumps({"item": f"i{k}", "rater": "r", "value": 4}) + "\n" for k in range(120)),
        encoding="utf-8",
    )
    done = adjudge(
        "cascade", "cheap", "sure", "--labels", "all_4.jsonl", "--agree", "0.9", "--within", "0.5", "--json"
    )
    assert done.code == 0, done.err
    assert done.json["decided"]["value"] == 1.0
    assert done.json["stages"][1]["threshold"] == 0.0


@pytest.mark.slow
def test_replies_that_cannot_be_read_are_counted_and_nothing_else_ends_with_4(calibrated: Path) -> None:
    calibrate()
    items(calibrated / "new.jsonl", 120, 20)
    command = (
        "run", "new.jsonl", "--cascade", "cascade.toml", "--concurrency", "1", "--reask", "0", "--quiet",
    )  # fmt: skip
    rows = [json.loads(line) for line in (calibrated / "cheap.jsonl").read_text().splitlines()]
    for name in ("cheap", "dear"):
        write(calibrated / f"{name}.jsonl", [{**row, "text": "I cannot tell."} for row in rows])
    failed = adjudge(*command, "--run", "failed", "--json")
    assert failed.code == 4, failed.err
    assert [(stage["reached"], stage["failed"]) for stage in failed.json["stages"]] == [(20, 20), (20, 20)]
    assert len(failed.json["to_people"]) == 20
    script(calibrated / "dear.jsonl", ("easy", "hard"), 240)
    rescued = adjudge(*command, "--run", "rescued", "--json")
    assert rescued.code == 0, rescued.err
    assert [stage["failed"] for stage in rescued.json["stages"]] == [20, 0]


@pytest.mark.slow
def test_a_run_of_the_run_file_may_be_a_cascade(calibrated: Path) -> None:
    calibrate()
    items(calibrated / "new.jsonl", 120, 20)
    (calibrated / "adjudge.toml").write_text(
        '[runs.night]\nitems = "new.jsonl"\ncascade = "cascade.toml"\ncheck = "20%"\nquiet = true\n'
        "concurrency = 1\n",
        encoding="utf-8",
    )
    named = adjudge("run", "night", "--json")
    assert named.code == 0, named.err
    assert named.json["check"]
    command = ("--cascade", "cascade.toml", "--check", "20%", "--concurrency", "1", "--quiet", "--json")
    flags = adjudge("run", "new.jsonl", *command, "--run", "flags")
    assert flags.code == 0, flags.err
    first, second = ({row["item"]: row["judge"] for row in done.json["decisions"]} for done in (named, flags))
    assert len(first) == 20
    assert first == second
