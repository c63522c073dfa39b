"""`adjudge plan` and `adjudge drift`, as users call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.cli import main


def adjudge(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["adjudge", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_plan_names_items_groups_and_labels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "plan",
        "--width",
        "0.2",
        "--sd",
        "1",
        "--icc",
        "0.3",
        "--group-size",
        "5",
        "--correlation",
        "0.7",
        "--json",
    )
    assert adjudge(monkeypatch, *words) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["items"] == 5 * plan["groups"]
    assert plan["labels"] < plan["items"]
    assert plan["design_effect"] == pytest.approx(2.2)


def test_a_plan_without_a_goal_or_a_spread_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adjudge(monkeypatch, "plan", "--sd", "1") == 2
    assert "one goal" in capsys.readouterr().err
    assert adjudge(monkeypatch, "plan", "--width", "0.2") == 2
    assert "--sd" in capsys.readouterr().err


@pytest.fixture
def items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "items.jsonl"
    rows = [{"id": f"q{n}", "instruction": "Say something.", "response": f"Text {n}."} for n in range(40)]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def judged(path: Path, scores: list[int]) -> None:
    replies = [
        {
            "item": f"q{n}",
            "text": f"Fine.\nScore: {scores[n % len(scores)]}\n<score>{scores[n % len(scores)]}</score>",
        }
        for n in range(40)
    ]
    path.write_text("\n".join(json.dumps(row) for row in replies))


def test_drift_says_whether_the_judge_changed_and_keeps_the_stored_replies(
    items: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = items.with_name("replies.jsonl")
    judged(replies, [3, 4])
    assert (
        adjudge(
            monkeypatch,
            "run",
            "items.jsonl",
            "-p",
            "direct/helpful",
            "-m",
            "replay:replies.jsonl",
            "--run",
            "anchor",
            "-q",
        )
        == 0
    )
    assert adjudge(monkeypatch, "drift", "anchor", "--json") == 3
    capsys.readouterr()
    judged(replies, [1, 2])
    assert adjudge(monkeypatch, "drift", "anchor", "--refresh", "--json") == 1
    drift = json.loads(capsys.readouterr().out)
    assert drift["verdict"] == "changed"
    (criterion,) = drift["criteria"].values()
    assert criterion["looks"][0]["latest"]["value"] == pytest.approx(-2.0)
    assert adjudge(monkeypatch, "export", "anchor", "--format", "jsonl") == 0
    scores = {json.loads(line)["score"] for line in capsys.readouterr().out.splitlines()}
    assert scores == {3.0, 4.0}


def test_two_judges_that_change_in_opposite_directions_are_told_apart(
    items: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("kind", "strict")
    for name in names:
        judged(items.with_name(f"{name}.jsonl"), [3, 4, 3])
    models = [word for name in names for word in ("-m", f"replay:{name}.jsonl")]
    words = ("run", "items.jsonl", "-p", "direct/helpful", *models, "--run", "two", "-q")
    assert adjudge(monkeypatch, *words) == 0
    judged(items.with_name("kind.jsonl"), [4, 5, 3])
    judged(items.with_name("strict.jsonl"), [2, 3, 3])
    capsys.readouterr()
    assert adjudge(monkeypatch, "drift", "two", "--refresh", "--json") == 1
    drift = json.loads(capsys.readouterr().out)
    values = {name.rpartition(":")[2]: part["looks"][0]["latest"]["value"]
              for name, part in drift["criteria"].items()}  # fmt: skip
    assert values == {"kind.jsonl": pytest.approx(0.675), "strict.jsonl": pytest.approx(-0.675)}
    assert "] at look 1" in drift["summary"]


def test_what_a_number_is_about_is_checked(
    items: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(items.with_name("replies.jsonl"), [3, 4])
    command = (
        "run",
        "items.jsonl",
        "-p",
        "direct/helpful",
        "-m",
        "replay:replies.jsonl",
        "--run",
        "anchor",
        "-q",
    )
    assert adjudge(monkeypatch, *command) == 0
    items.with_name("labels.csv").write_text(
        "item,criterion,rater,value\n" + "".join(f"q{n},helpful,ann,{3 + n % 2}\n" for n in range(20))
    )
    capsys.readouterr()
    assert adjudge(monkeypatch, "report", "anchor", "--about", "these-items", "--json") == 0
    (cells,) = json.loads(capsys.readouterr().out)["systems"].values()
    (cell,) = cells.values()
    assert cell["low"] == cell["value"] == cell["high"]
    criterion = next(iter(cells))
    assert adjudge(monkeypatch, "gate", "anchor", "--min", f"{criterion}=3.5", "--about", "these-items") == 0
    assert adjudge(monkeypatch, "gate", "anchor", "--min", f"{criterion}=3.6", "--about", "these-items") == 1
    assert adjudge(monkeypatch, "report", "anchor", "--about", "everything") == 2
    capsys.readouterr()
    assert adjudge(monkeypatch, "labels", "add", "anchor", "labels.csv") == 0
    capsys.readouterr()
    assert adjudge(monkeypatch, "report", "anchor", "--about", "these-items") == 0
    text = capsys.readouterr().out
    # Every item has its label, so the corrected mean is known, as it is on the judge card.
    assert "3.50 [3.50, 3.50]" in text
    assert "about these items" in text
    page = items.with_name("report.html")
    assert adjudge(monkeypatch, "report", "anchor", "--about", "these-items", "--html", str(page)) == 0
    assert "about these items" in page.read_text(encoding="utf-8")
    capsys.readouterr()
    words = ("trust", "anchor", "--labels", "labels.csv", "--about", "these-items")
    assert adjudge(monkeypatch, *words, "--resample", "both") == 2
    assert "--resample both" in capsys.readouterr().err
