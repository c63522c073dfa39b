"""`adjudge cascade --scores` as a user calls it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from running import adjudge


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = random.Random(1)
    rows: list[dict[str, object]] = []
    confidences = [rng.random() for _ in range(400)]
    errors = [rng.random() for _ in range(400)]
    for judge, price, skill in (("cheap", 0.001, 0.3), ("dear", 0.01, 0.25)):
        for k, confidence in enumerate(confidences):
            # Where the dear judge errs, the cheap one errs as well.
            is_right = errors[k] < 1 - skill * (1 - confidence)
            rows.append(
                {"item": f"i{k}", "judge": judge, "choice": "a" if is_right else "b",
                "confidence": confidence, "price": price}
            )  # fmt: skip
    rows[0]["choice"], rows[1]["choice"] = "tie", None
    return write(tmp_path / "scores.jsonl", rows)


def labels(tmp_path: Path, n: int, **more: object) -> Path:
    rows = [{"item": f"i{k}", "criterion": "choice", "rater": "r", "value": "a", **more} for k in range(n)]
    return write(tmp_path / "labels.jsonl", rows)


def test_the_json_has_the_documented_keys_and_the_thresholds_decide_what_they_say(
    scores: Path, tmp_path: Path
) -> None:
    done = adjudge(
        "cascade", "--scores", scores, "--labels", labels(tmp_path, 300), "--judges", "cheap,dear",
        "--agree", "0.85", "--risk", "0.1", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    shown = done.json
    assert shown["holds"] is True
    assert shown["labels_needed"] is None
    assert shown["agreement"]["low"] >= 0.85
    assert [stage["judge"] for stage in shown["stages"]] == ["cheap", "dear"]
    rows = [json.loads(line) for line in scores.read_text(encoding="utf-8").splitlines()]
    by_judge = {
        name: {row["item"]: row for row in rows if row["judge"] == name} for name in ("cheap", "dear")
    }
    left, decided = set(by_judge["cheap"]), 0
    for stage in shown["stages"]:
        mine = {
            item
            for item in left
            if (row := by_judge[stage["judge"]][item])["choice"] in ("a", "b")
            and stage["threshold"] is not None
            and row["confidence"] >= stage["threshold"]
        }
        assert stage["decided"]["value"] == pytest.approx(len(mine) / 400)
        price = 1000 * (0.001 if stage["judge"] == "cheap" else 0.01) * len(left) / 400
        assert stage["price_per_1000"] == pytest.approx(price)
        left, decided = left - mine, decided + len(mine)
    assert shown["decided"]["value"] == pytest.approx(decided / 400)


def test_too_few_labels_print_json_and_end_with_3(scores: Path, tmp_path: Path) -> None:
    done = adjudge(
        "cascade", "--scores", scores, "--labels", labels(tmp_path, 15), "--agree", "0.95", "--json"
    )
    assert done.code == 3
    assert done.json["holds"] is False
    assert [stage["threshold"] for stage in done.json["stages"]] == [None, None]
    words = adjudge("cascade", "--scores", scores, "--labels", tmp_path / "labels.jsonl", "--agree", "0.95")
    assert words.code == 3
    assert "No threshold can be shown to reach 95 % agreement with these 15 labels" in words.out


def test_labels_drawn_with_unequal_probabilities_are_refused(scores: Path, tmp_path: Path) -> None:
    rows = [{"item": f"i{k}", "rater": "r", "value": "a", "probability": 0.1 + k / 1000} for k in range(50)]
    path = write(tmp_path / "unequal.jsonl", rows)
    done = adjudge("cascade", "--scores", scores, "--labels", path, "--json")
    assert done.code == 2
    assert "unequal probabilities" in done.err


def test_a_human_tie_and_raters_without_a_majority_are_disagreements(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "judge": "j", "choice": "a", "confidence": k} for k in range(100)
    ]
    people: list[dict[str, object]] = [{"item": f"i{k}", "rater": "r", "value": "a"} for k in range(100)]
    people[98]["value"] = "tie"
    people += [{"item": "i99", "rater": "s", "value": "b"}]
    done = adjudge(
        "cascade", "--scores", write(tmp_path / "s.jsonl", rows), "--labels", write(tmp_path / "l.jsonl",
        people),
        "--agree", "0.8", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["agreement"]["value"] == pytest.approx(0.98)


def test_scores_agree_within_so_many_points_of_the_mean_label(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "judge": "j", "value": 3.4, "confidence": k} for k in range(60)
    ]
    people: list[dict[str, object]] = [
        {"item": f"i{k}", "criterion": "tact", "rater": r, "value": v}
        for k in range(60)
        for r, v in (("r", 3), ("s", 4))
    ]
    files = ["--scores", write(tmp_path / "s.jsonl", rows), "--labels", write(tmp_path / "l.jsonl", people)]
    close = adjudge("cascade", *files, "--agree", "0.9", "--within", "0.1", "--json")
    assert close.code == 0, close.err
    assert close.json["agreement"]["value"] == 1.0
    assert adjudge("cascade", *files, "--agree", "0.9", "--within", "0.05", "--json").code == 3
    without = adjudge("cascade", *files, "--agree", "0.9", "--json")
    assert without.code == 2
    assert "--within" in without.err


def test_classes_are_compared_by_name(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"item": f"i{k}", "judge": "j", "choice": "pass", "confidence": k} for k in range(60)
    ]
    people: list[dict[str, object]] = [
        {"item": f"i{k}", "rater": "r", "value": "fail" if k == 7 else "pass"} for k in range(60)
    ]
    done = adjudge(
        "cascade", "--scores", write(tmp_path / "s.jsonl", rows), "--labels", write(tmp_path / "l.jsonl",
        people),
        "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["agreement"]["value"] == pytest.approx(59 / 60)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--agree", "1.2"), "--agree 1.2"),
        (("--risk", "0"), "--risk 0"),
        (("--judges", "cheap,nobody"), "no row has judge nobody"),
        (("--within", "-1"), "--within -1"),
        (("--within", "0.5"), "Leave it out"),
    ],
)
def test_a_mistake_is_named(scores: Path, tmp_path: Path, flags: tuple[str, str], message: str) -> None:
    done = adjudge("cascade", "--scores", scores, "--labels", labels(tmp_path, 50), *flags)
    assert done.code == 2
    assert message in done.err


def test_bad_cells_are_listed_together(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"item": "1", "judge": "j", "choice": "a", "confidence": "high"},
        {"item": "2", "judge": "j", "choice": "a", "confidence": 1, "price": -1},
        {"item": "3", "judge": "j", "choice": "a", "confidence": 1},
        {"item": "3", "judge": "j", "choice": "b", "confidence": 1},
    ]
    done = adjudge("cascade", "--scores", write(tmp_path / "s.jsonl", rows), "--labels", labels(tmp_path, 5))
    assert done.code == 2
    for part in ("confidence 'high'", "price '-1'", "already answered"):
        assert part in done.err


def test_a_confidence_beyond_all_numbers_is_named_with_its_line(tmp_path: Path) -> None:
    row = {"item": "i0", "judge": "cheap", "choice": "a", "confidence": 10**400}
    scores = write(tmp_path / "huge.jsonl", [row])
    done = adjudge("cascade", "--scores", scores, "--labels", labels(tmp_path, 1))
    assert done.code == 2
    assert "line 1: confidence '1000" in done.err


def classes(tmp_path: Path, names: list[object], label_names: list[object]) -> tuple[Path, Path]:
    """Answers of one judge that are right on 180 of 200 items, and the labels."""
    rng = random.Random(3)
    rows: list[dict[str, object]] = []
    people: list[dict[str, object]] = []
    for k in range(200):
        right = rng.randrange(len(names))
        said = right if k % 10 else (right + 1) % len(names)
        rows.append({"item": k, "judge": "j", "choice": names[said], "confidence": 1 if k % 10 else 0})
        people.append({"item": k, "criterion": "choice", "rater": "r", "value": label_names[right]})
    return write(tmp_path / "classes.jsonl", rows), write(tmp_path / "people.jsonl", people)


@pytest.mark.parametrize(
    ("names", "label_names"),
    [
        (["yes", "no", "unclear"], ["yes", "no", "unclear"]),
        (["A", "B", "C", "D"], ["A", "B", "C", "D"]),
        (["a", "b"], ["A", "B"]),
        ([1, 2, 3], ["1", "2", "3"]),
        (["1", "2", "3"], [1, 2, 3]),
        ([True, False], [True, False]),
        ([True, False], ["True", "False"]),
        (["TRUE", "FALSE"], [True, False]),
    ],
    ids=str,
)
def test_a_class_is_the_same_however_it_is_written(
    tmp_path: Path, names: list[object], label_names: list[object]
) -> None:
    answers, people = classes(tmp_path, names, label_names)
    done = adjudge("cascade", "--scores", answers, "--labels", people, "--agree", "0.8", "--json")
    assert done.code == 0, done.err
    (stage,) = done.json["stages"]
    assert (stage["agreement"]["value"], stage["agreement"]["n"]) == (0.9, 200)


def test_judges_without_an_answer_or_a_confidence_are_counted(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"item": k, "judge": judge, "choice": None if k < failed else "a",
        "confidence": None if failed <= k < failed + unsure else 0.9}
        for judge, failed, unsure in (("cheap", 30, 0), ("dear", 0, 20))
        for k in range(100)
    ]  # fmt: skip
    rows.append({"item": "more", "judge": "dear", "choice": "a", "confidence": 0.9})
    answers = write(tmp_path / "scores.jsonl", rows)
    people = write(
        tmp_path / "people.jsonl", [{"item": k, "criterion": "choice", "value": "a"} for k in range(100)]
    )
    command = ("cascade", "--scores", answers, "--labels", people, "--agree", "0.8")
    shown = adjudge(*command, "--json").json
    assert [stage["decided"]["n_failed"] for stage in shown["stages"]] == [31, 0]
    assert shown["notes"] == [
        "No answer, of 101 items: cheap 31. A judge does not decide these items.",
        "No confidence, of 101 items: dear 20. A judge does not decide these items.",
    ]
    assert shown["notes"][0] in adjudge(*command).out


def test_the_criterion_of_the_scores_chooses_the_labels(tmp_path: Path) -> None:
    people: list[dict[str, object]] = [
        {"item": k, "criterion": name, "rater": "r", "value": value}
        for k in range(100)
        for name, value in (("tone", 1), ("helpful", 4))
    ]
    both: list[dict[str, object]] = [
        {"item": k, "judge": "j", "criterion": name, "value": 4, "confidence": 0.9}
        for k in range(100)
        for name in ("helpful", "tone")
    ]
    label_file = write(tmp_path / "people.jsonl", people)
    command = ("cascade", "--labels", label_file, "--agree", "0.8", "--within", "0", "--json", "--scores")
    one = write(tmp_path / "one.jsonl", [row for row in both if row["criterion"] == "helpful"])
    assert adjudge(*command, one).json["agreement"]["value"] == 1.0
    several = write(tmp_path / "both.jsonl", both)
    assert "several criteria (helpful, tone)" in adjudge(*command, several).err
    assert adjudge(*command, several, "--criterion", "helpful").json["agreement"]["value"] == 1.0
    assert adjudge(*command, several, "--criterion", "tone").json["holds"] is False


def test_a_cascade_to_run_needs_runs(scores: Path, tmp_path: Path) -> None:
    done = adjudge("cascade", "--scores", scores, "--labels", labels(tmp_path, 50), "-o", tmp_path / "c.toml")
    assert done.code == 2
    assert "needs runs" in done.err
    assert not (tmp_path / "c.toml").exists()
