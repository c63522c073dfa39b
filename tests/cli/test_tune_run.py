"""`adjudge tune RUN --candidates DIR`: candidate prompts
judged, chosen and tested; copies of labelled texts refused.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adjudge.analysis.tune.split import split_of
from running import adjudge

SETTINGS = """title = "Tact"
task = "score"
language = { prompt = "en", reply = "en" }
source = "a test"
inputs = ["response"]

[[criteria]]
name = "tact"
scale = { low = 1, high = 5, step = 1, best = 5 }

[answer]
reader = "tag"
tag = "score"
"""
N = 80


def protocol(folder: Path, words: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "protocol.toml").write_text(SETTINGS, encoding="utf-8")
    (folder / "user.md").write_text(
        f"{words}: {{{{response}}}}. Answer <score>n</score>, 1 to 5.\n", encoding="utf-8"
    )
    return folder


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose prompt always gives 3; a candidate that is right, and one that is as poor as the start."""
    monkeypatch.chdir(tmp_path)
    texts = [f"the quick reply of guest number {k} came late on day {k} ends" for k in range(N)]
    write(tmp_path / "items.jsonl", [{"id": f"i{k}", "response": text} for k, text in enumerate(texts)])
    script: list[dict[str, object]] = [
        {"match": f"Careful: {text}", "text": f"<score>{1 + k % 5}</score>"} for k, text in enumerate(texts)
    ]
    script += [{"match": words, "text": "<score>3</score>"} for words in ("Plain", "Other")]
    write(tmp_path / "script.jsonl", script)
    write(tmp_path / "labels.jsonl", [{"item": f"i{k}", "rater": "r", "value": 1 + k % 5} for k in range(N)])
    protocol(tmp_path / "start", "Plain")
    protocol(tmp_path / "candidates" / "careful", "Careful")
    protocol(tmp_path / "candidates" / "other", "Other")
    done = adjudge(
        "run", "items.jsonl", "-p", "start", "-m", "fake:script=script.jsonl", "--run", "base", "--quiet"
    )
    assert done.code == 0, done.err
    return tmp_path


TUNE = ("tune", "base", "--candidates", "candidates", "--labels", "labels.jsonl")


def test_the_better_prompt_wins_and_is_written_with_its_provenance(judged: Path) -> None:
    done = adjudge(*TUNE, "-o", "winner", "--json")
    assert done.code == 0, done.err
    assert (done.json["start"], done.json["winner"]) == ("base", "base.tune.careful")
    assert done.json["claim"] is True
    assert done.json["search"]["base.tune.careful"]["value"] == 1.0
    assert (judged / "winner" / "user.md").read_text(encoding="utf-8").startswith("Careful")
    provenance = json.loads((judged / "winner" / "tuned.json").read_text(encoding="utf-8"))
    assert provenance["result"]["locked"]["n"] == N // 2
    assert (judged / "start" / "user.md").read_text(encoding="utf-8").startswith("Plain")
    again = adjudge(*TUNE, "-o", "winner")
    assert again.code == 2
    assert "already exists" in again.err


def test_a_prompt_that_copies_a_labelled_text_is_refused_before_anything_is_asked(judged: Path) -> None:
    protocol(
        judged / "candidates" / "copy", "Give 4 to The quick reply of guest number 3, came late on day 3"
    )
    done = adjudge(*TUNE)
    assert done.code == 2
    assert "copy: its prompt contains text of a labelled item" in done.err
    assert "base.tune" not in adjudge("runs").out


def test_candidates_without_a_folder_are_a_mistake(judged: Path) -> None:
    (judged / "empty").mkdir()
    done = adjudge("tune", "base", "--candidates", "empty", "--labels", "labels.jsonl")
    assert done.code == 2
    assert "no protocol folders" in done.err
    assert adjudge("tune", "base", "--labels", "labels.jsonl").code == 2


def test_the_run_of_the_start_keeps_the_tuning_and_its_report_draws_it(judged: Path) -> None:
    assert adjudge(*TUNE).code == 0
    assert adjudge("report", "base", "--html", "base.html").code == 0
    page = (judged / "base.html").read_text(encoding="utf-8")
    assert 'id="tuning"' in page
    assert "Prompts of start and winner" in page
    again = adjudge("run", "items.jsonl", "-p", "start", "-m", "fake:script=script.jsonl", "--run", "base")
    assert again.code == 0, again.err
    assert adjudge("doctor").code == 0


def test_an_edited_candidate_is_judged_again(judged: Path) -> None:
    assert adjudge(*TUNE).code == 0
    (judged / "candidates" / "careful" / "user.md").write_text("Plain: {{response}}.\n", encoding="utf-8")
    done = adjudge(*TUNE, "--json")
    assert done.code == 3
    assert done.json["search"]["base.tune.careful"] == done.json["search"]["base"]


@pytest.fixture
def noisy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A judge whose samples are each far from people, their mean is one point too high; examples help it."""
    monkeypatch.chdir(tmp_path)
    texts = [f"the quick reply of guest number {k} came late on day {k} ends" for k in range(N)]
    write(tmp_path / "items.jsonl", [{"id": f"i{k}", "response": text} for k, text in enumerate(texts)])
    script: list[dict[str, object]] = []
    for k, text in enumerate(texts):
        people = 1 + k % 3
        replies = (people - 1 + 2 * (k % 2), people + 1, people + 3 - 2 * (k % 2))
        script += [
            {"match": f"Plain: {text}", "text": f"<score>{max(1, min(5, score))}</score>"}
            for score in replies
        ]
    write(tmp_path / "script.jsonl", script)
    write(tmp_path / "labels.jsonl", [{"item": f"i{k}", "rater": "r", "value": 1 + k % 3} for k in range(N)])
    protocol(tmp_path / "start", "Plain")
    done = adjudge(
        "run", "items.jsonl", "-p", "start", "-m", "fake:script=script.jsonl", "--run", "base", "--quiet",
        "--concurrency", "1",
    )  # fmt: skip
    assert done.code == 0, done.err
    return tmp_path


def test_samples_and_a_calibration_map_are_candidates_like_wording(noisy: Path) -> None:
    done = adjudge(
        "tune",
        "base",
        "--labels",
        "labels.jsonl",
        "--samples",
        "1,3",
        "--calibrate",
        "-o",
        "winner",
        "--json",
    )
    assert done.code == 0, done.err
    assert done.json["winner"] == "base.tune.start, 3 samples, calibrated"
    assert set(done.json["search"]) == {
        f"{name}{mapped}"
        for name in ("base", "base.tune.start, 1 sample", "base.tune.start, 3 samples")
        for mapped in ("", ", calibrated")
    }
    provenance = json.loads((noisy / "winner" / "tuned.json").read_text(encoding="utf-8"))
    assert (provenance["samples"], provenance["models"]) == (3, ["fake:script=script.jsonl"])
    mapped = adjudge(
        "run", "items.jsonl", "-p", "winner", "-m", "fake:script=script.jsonl", "--samples", "3",
        "--map-scores", "winner/map.toml", "--run", "again", "--quiet",
    )  # fmt: skip
    assert mapped.code == 0, mapped.err


def test_few_shot_examples_are_of_the_search_part_and_count_nowhere(noisy: Path) -> None:
    tune = ("tune", "base", "--labels", "labels.jsonl", "--shots", "4", "--json")
    done = adjudge(*tune)
    assert done.code == 3, done.err
    shots = noisy / "base.candidates" / "shots-4"
    shown = json.loads((shots / "shown.json").read_text(encoding="utf-8"))
    prompt = (shots / "user.md").read_text(encoding="utf-8")
    split = split_of({f"i{k}": 1.0 + k % 3 for k in range(N)}, {})
    assert set(shown) <= set(split.search)
    assert {f"Answer: <score>{1 + int(item[1:]) % 3}</score>" in prompt for item in shown} == {True}
    assert done.json["search"]["base"]["n"] == len(split.search) - 4
    assert done.json["locked"]["n"] == len(split.locked)
    rows = [{"item": f"i{k}", "rater": "r", "value": 1 + k % 3} for k in range(N - 1)]
    write(noisy / "labels.jsonl", rows)
    other = adjudge(*tune)
    assert other.code == 2
    assert "not of the search part of these labels" in other.err


def test_a_budget_is_of_all_candidates_together_and_the_same_command_resumes(judged: Path) -> None:
    priced = (*TUNE, "--price", "1000,1000")
    shutil.copy(judged / "adjudge.db", judged / "other.db")
    prices = adjudge(*priced, "--store", "other.db", "--json").json["prices"]
    costs = [prices[f"base.tune.{name}"] * N / 1000 for name in ("careful", "other")]
    budget = ("--budget", str(costs[0] + costs[1] / 2))
    assert adjudge(*priced, *budget).code == 5
    done = adjudge(*priced, *budget, "--json")
    assert done.code == 0, done.err
    assert done.json["winner"] == "base.tune.careful"


@pytest.mark.usefixtures("judged")
def test_settings_that_cannot_be_tried_are_named() -> None:
    for flags, words in ((("--samples", "0"), "--samples 0"), (("--estimator", "x"), "--estimator x")):
        done = adjudge("tune", "base", "--labels", "labels.jsonl", *flags)
        assert done.code == 2
        assert words in done.err


@pytest.mark.usefixtures("judged")
def test_a_run_of_two_judges_is_neither_tuned_nor_a_stage_of_a_cascade() -> None:
    models = ("-m", "fake:script=script.jsonl", "-m", "other=fake:script=script.jsonl")
    assert adjudge("run", "items.jsonl", "-p", "start", *models, "--run", "pair", "--quiet").code == 0
    tuned = adjudge("tune", "pair", "--candidates", "candidates", "--labels", "labels.jsonl")
    cascade = adjudge("cascade", "pair", "base", "--labels", "labels.jsonl", "--within", "0.5")
    for done in (tuned, cascade):
        assert done.code == 2
        assert "Run pair has 2 judges" in done.err


@pytest.mark.parametrize(("worst", "best"), [(1, 9), (9, 1)])
@pytest.mark.usefixtures("judged")
def test_a_candidate_with_another_scale_is_compared_on_that_of_the_start(worst: int, best: int) -> None:
    """It is right on its own scale of 1 to 9, also where 1 is its best score."""
    folder = protocol(Path("scales") / "nine", "Nine")
    settings = folder / "protocol.toml"
    own = f"scale = {{ low = 1, high = 9, step = 1, best = {best} }}"
    settings.write_text(
        settings.read_text(encoding="utf-8").replace(
            "scale = { low = 1, high = 5, step = 1, best = 5 }", own
        ),
        encoding="utf-8",
    )
    texts = [f"the quick reply of guest number {k} came late on day {k} ends" for k in range(N)]
    step = (best - worst) // 4
    rows: list[dict[str, object]] = [
        {"match": f"Nine: {text}", "text": f"<score>{worst + step * (k % 5)}</score>"}
        for k, text in enumerate(texts)
    ]
    script = Path("script.jsonl")
    script.write_text(
        script.read_text(encoding="utf-8") + "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    start = adjudge(
        "run", "items.jsonl", "-p", "start", "-m", "fake:script=script.jsonl", "--run", "first", "--quiet"
    )
    assert start.code == 0, start.err
    done = adjudge(
        "tune", "first", "--candidates", "scales", "--calibrate", "--labels", "labels.jsonl", "--json"
    )
    assert done.code == 0, done.err
    search = done.json["search"]
    assert done.json["winner"] == "first.tune.nine"
    assert search["first.tune.nine"]["value"] == 1.0
    # The scale of a candidate does not change how the start agrees: 3 against 1 to 5.
    assert search["first"]["value"] == pytest.approx(0.7, abs=0.05)
    assert ("first.tune.nine, calibrated" in search) == (best > worst)
    cascade = adjudge("cascade", "first", "first.tune.nine", "--labels", "labels.jsonl", "--within", "0.5")
    assert cascade.code == 2
    assert "on different scales (first: 1 to 5, first.tune.nine: 1 to 9)" in cascade.err
