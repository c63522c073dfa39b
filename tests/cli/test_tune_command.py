"""`adjudge tune --scores` as a user calls it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from adjudge.analysis.tune.split import split_of
from adjudge.analysis.tune.winner import level_of
from running import adjudge


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = random.Random(1)
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "candidate": name, "choice": "a" if rng.random() < skill else "b", "price": price}
        for name, skill, price in (("plain", 0.6, 0.001), ("better", 0.95, 0.002), ("worse", 0.5, 0.01))
        for k in range(200)
    ]
    return write(tmp_path / "scores.jsonl", rows)


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "criterion": "choice", "rater": "r", "value": "a"} for k in range(200)
    ]
    return write(tmp_path / "labels.jsonl", rows)


def test_a_large_gain_is_claimed_with_the_documented_keys(scores: Path, labels: Path, tmp_path: Path) -> None:
    done = adjudge("tune", "--scores", scores, "--labels", labels, "--store", tmp_path / "s.db", "--json")
    assert done.code == 0, done.err
    shown = done.json
    assert (shown["start"], shown["winner"], shown["claim"], shown["needed"]) == (
        "plain",
        "better",
        True,
        None,
    )
    assert set(shown["search"]) == {"plain", "better", "worse"}
    assert (shown["locked"]["n"], shown["locked"]["looks"]) == (100, 1)
    assert 0 < shown["locked"]["gain"]["low"] <= shown["locked"]["gain"]["value"]
    assert shown["frontier"] == ["plain", "better"]


def test_every_further_look_at_the_same_labels_is_counted_and_corrected(
    scores: Path, labels: Path, tmp_path: Path
) -> None:
    command = ("tune", "--scores", scores, "--labels", labels, "--store", tmp_path / "s.db", "--json")
    first, second = adjudge(*command).json["locked"], adjudge(*command).json["locked"]
    assert (first["looks"], second["looks"]) == (1, 2)
    assert second["gain"]["low"] < first["gain"]["low"]
    rows = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()][:150]
    other = write(tmp_path / "other.jsonl", rows)
    again = adjudge("tune", "--scores", scores, "--labels", other, "--store", tmp_path / "s.db", "--json")
    assert again.json["locked"]["looks"] == 1


def test_the_best_start_stays_and_opens_nothing(scores: Path, labels: Path, tmp_path: Path) -> None:
    command = (
        "tune",
        "--scores",
        scores,
        "--labels",
        labels,
        "--store",
        tmp_path / "s.db",
        "--start",
        "better",
    )
    done = adjudge(*command, "--json")
    assert done.code == 3
    assert done.json["winner"] == "better"
    assert done.json["locked"]["looks"] == 0
    assert done.json["claim"] is False
    assert "the locked part was not opened" in adjudge(*command).out


def test_too_few_labels_say_what_could_be_shown(scores: Path, labels: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()][:12]
    few = write(tmp_path / "few.jsonl", rows)
    done = adjudge("tune", "--scores", scores, "--labels", few, "--store", tmp_path / "s.db")
    assert done.code == 3
    assert "with 12 labels only a gain above" in done.out


def test_scores_agree_the_more_the_closer_they_are(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "candidate": name, "value": 1 + k % 5 + error * (1 if k % 2 else -1)}
        for name, error in (("far", 1.5), ("near", 0.2))
        for k in range(60)
    ]
    people: list[dict[str, object]] = [{"item": f"i{k}", "rater": "r", "value": 1 + k % 5} for k in range(60)]
    done = adjudge(
        "tune", "--scores", write(tmp_path / "s.jsonl", rows), "--labels", write(tmp_path / "l.jsonl",
        people),
        "--store", tmp_path / "s.db", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["winner"] == "near"
    assert done.json["search"]["near"]["value"] > done.json["search"]["far"]["value"]


def test_a_tie_against_a_or_b_and_a_failure_are_disagreements(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "candidate": "x", "choice": ("a", "tie", None)[k % 3]} for k in range(30)
    ]
    people: list[dict[str, object]] = [{"item": f"i{k}", "rater": "r", "value": "a"} for k in range(30)]
    done = adjudge(
        "tune", "--scores", write(tmp_path / "s.jsonl", rows), "--labels", write(tmp_path / "l.jsonl",
        people),
        "--store", tmp_path / "s.db", "--json",
    )  # fmt: skip
    split = split_of({f"i{k}": "a" for k in range(30)}, {})
    right = sum(int(item[1:]) % 3 == 0 for item in split.search)
    assert done.json["search"]["x"]["value"] == pytest.approx(right / len(split.search))


def test_groups_stay_in_one_part_and_the_same_labels_are_split_alike() -> None:
    people: dict[str, float | str] = {f"i{k}": "a" for k in range(100)}
    groups = {f"i{k}": f"g{k // 4}" for k in range(100)}
    split = split_of(people, groups)
    assert split == split_of(dict(reversed(people.items())), groups)
    assert not {groups[item] for item in split.search} & {groups[item] for item in split.locked}
    assert abs(len(split.locked) - 50) <= 4
    assert split_of(people | {"i0": "b"}, groups).digest != split.digest


def test_a_start_that_is_no_candidate_is_named(scores: Path, labels: Path, tmp_path: Path) -> None:
    done = adjudge(
        "tune", "--scores", scores, "--labels", labels, "--start", "x", "--store", tmp_path / "s.db"
    )
    assert done.code == 2
    assert "--start x" in done.err


def test_the_levels_of_all_looks_together_are_at_most_the_promised_share_of_false_claims() -> None:
    levels = [level_of(look) for look in range(1, 1000)]
    assert levels == sorted(levels, reverse=True)
    assert 0.0249 < sum(levels) <= 0.025


def test_a_gain_on_too_few_groups_needs_more_labels_than_there_are(
    scores: Path, labels: Path, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in scores.read_text(encoding="utf-8").splitlines()]
    grouped = write(tmp_path / "g.jsonl", [{**row, "group": int(row["item"][1:]) // 50} for row in rows])
    done = adjudge("tune", "--scores", grouped, "--labels", labels, "--store", tmp_path / "s.db", "--json")
    assert done.code == 3
    assert done.json["locked"]["gain"]["value"] > 0.1
    assert done.json["needed"] > 200
    assert done.json["detectable"] is None


def test_one_candidate_alone_is_compared_with_nothing(scores: Path, labels: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in scores.read_text(encoding="utf-8").splitlines()]
    alone = write(tmp_path / "a.jsonl", [row for row in rows if row["candidate"] == "plain"])
    done = adjudge("tune", "--scores", alone, "--labels", labels, "--store", tmp_path / "s.db", "--json")
    assert done.code == 3
    assert (done.json["winner"], done.json["detectable"]) == ("plain", None)


def test_of_candidates_at_one_price_only_the_better_is_on_the_frontier(
    scores: Path, labels: Path, tmp_path: Path
) -> None:
    rows: list[dict[str, object]] = [
        json.loads(line) for line in scores.read_text(encoding="utf-8").splitlines()
    ]
    for row in rows:
        row["price"] = 0.3 if row["candidate"] == "plain" else 3 * 0.1
    alike = write(tmp_path / "alike.jsonl", rows)
    done = adjudge("tune", "--scores", alike, "--labels", labels, "--store", tmp_path / "s.db", "--json")
    assert done.json["prices"]["plain"] < done.json["prices"]["better"]
    assert done.json["frontier"] == ["better"]


def test_classes_that_are_numbers_are_equal_or_not(tmp_path: Path) -> None:
    rows = [{"item": k, "candidate": "c", "choice": 1 + (k % 3)} for k in range(60)]
    people = [
        {"item": k, "criterion": "choice", "rater": "r", "value": str(1 + (k + 1) % 3)} for k in range(60)
    ]
    done = adjudge(
        "tune",
        "--scores",
        write(tmp_path / "s.jsonl", rows),
        "--labels",
        write(tmp_path / "l.jsonl", people),
        "--store",
        tmp_path / "s.db",
        "--json",
    )
    assert done.json["search"]["c"]["value"] == 0.0


def test_candidates_without_an_answer_are_counted(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"item": k, "candidate": name, "value": None if name == "old" and k % 4 == 0 else 3}
        for name in ("old", "new")
        for k in range(80)
    ]
    people: list[dict[str, object]] = [{"item": k, "criterion": "c", "value": 3} for k in range(80)]
    done = adjudge(
        "tune", "--scores", write(tmp_path / "s.jsonl", rows), "--labels",
        write(tmp_path / "l.jsonl", people),
        "--store", tmp_path / "s.db", "--json",
    )  # fmt: skip
    shown = done.json
    n = shown["search"]["old"]["n_failed"]
    assert n > 0
    assert shown["search"]["old"]["value"] == 1 - n / 40
    assert shown["search"]["new"]["n_failed"] == 0
    assert shown["notes"] == [
        f"No answer, of 40 labelled items of the search part: old {n}. Each counts as a disagreement."
    ]
