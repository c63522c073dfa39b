"""A cascade from two runs, and `adjudge run --cascade` with
it: who decides, what is asked, what goes to people.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

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


def test_runs_give_thresholds_and_a_file(calibrated: Path) -> None:
    shown = calibrate()
    assert shown["holds"] is True
    file = tomllib.loads((calibrated / "cascade.toml").read_text(encoding="utf-8"))
    assert [stage["run"] for stage in file["stages"]] == ["cheap", "dear"]
    assert {stage["confidence"] for stage in file["stages"]} == {"margin"}
    assert file["stages"][1]["threshold"] == 0.0
    assert file["agree"] == 0.9


def test_the_dear_judge_sees_what_the_cheap_one_left_and_people_the_rest(calibrated: Path) -> None:
    calibrate()
    items(calibrated / "new.jsonl", 120, 100)
    command = ("run", "new.jsonl", "--cascade", "cascade.toml", "--run", "night", "--concurrency", "1", "--quiet", "--check", "20%")  # fmt: skip
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


@pytest.mark.usefixtures("calibrated")
def test_a_cascade_names_its_own_judges() -> None:
    calibrate()
    done = adjudge("run", "items.jsonl", *RUBRIC, "--cascade", "cascade.toml")
    assert done.code == 2
    assert "Leave -p and -m out" in done.err
    assert adjudge("run", "items.jsonl", *RUBRIC, "-m", "fake:text=4", "--check", "2%").code == 2


@pytest.mark.usefixtures("calibrated")
def test_a_run_without_confidence_says_what_to_do() -> None:
    adjudge("run", "items.jsonl", *RUBRIC, "-m", "fake:text=So. [RESULT] 4", "--run", "single", "--quiet")
    done = adjudge("cascade", "single", "dear", "--labels", "labels.jsonl", "--within", "0.5")
    assert done.code == 2
    assert "Run single shows no confidence" in done.err
