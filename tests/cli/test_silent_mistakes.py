"""Mistakes that a user would not notice: each is an error, or is said."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.data import LABEL_COLUMNS
from adjudge.protocols.check import check_protocols
from adjudge.protocols.importing import import_document
from adjudge.store import open_store
from fakeserver import FakeServer, chat
from running import DIRECT, Outcome, adjudge, answers, compare_folder, model_at, write_rows

JSON_REPLY = '{"score": 4, "reason": "It is right."}'


def run(folder: Path, items: Path, *arguments: str | Path) -> Outcome:
    return adjudge("run", items, *arguments, "--store", folder / "s.db", "-q")


def exported(folder: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    done = adjudge("export", *arguments, "--store", folder / "s.db")
    assert done.code == 0, done.err
    return done.rows


def support(folder: Path) -> Path:
    rows = [
        {"id": k, "question": f"Question {k}?", "answer": f"Answer {k}.", "bot": "alpha" if k % 2 else "beta"}
        for k in range(6)
    ]
    return write_rows(folder / "support.jsonl", rows)


MAPPED = ("--map", "task=question", "--map", "response=answer", "--map", "system=bot")


def test_a_rater_does_not_see_the_field_that_names_the_system(tmp_path: Path) -> None:
    assert run(tmp_path, support(tmp_path), *MAPPED, *DIRECT, "-m", "fake:text=[RESULT] 4").code == 0
    drawn = adjudge("sample", "-n", "4", "--store", tmp_path / "s.db")
    rows = list(csv.DictReader(io.StringIO(drawn.out)))
    assert len(rows) == 4
    assert set(rows[0]) == {*LABEL_COLUMNS, "task", "response"} - {"subject"}
    assert {row["system"] for row in exported(tmp_path)} == {"alpha", "beta"}


def test_an_optional_field_that_no_item_has_is_not_flagged(tmp_path: Path) -> None:
    rows = [{"id": k, "task": f"Task {k}", "response": "Yes."} for k in range(3)]
    criterion = ("--criterion", "Is it right?", "-m", f"fake:text={JSON_REPLY}")
    run(tmp_path, write_rows(tmp_path / "a.jsonl", rows), *criterion, "--run", "none")
    assert [row["flags"] for row in exported(tmp_path, "none")] == [[], [], []]
    rows[1]["reference"] = "No."
    run(tmp_path, write_rows(tmp_path / "b.jsonl", rows), *criterion, "--run", "some")
    flags = [["input_missing"], [], ["input_missing"]]
    assert [row["flags"] for row in exported(tmp_path, "some")] == flags
    assert adjudge("reread", "some", "--store", tmp_path / "s.db").code == 0
    assert adjudge("reread", "none", "--store", tmp_path / "s.db").code == 0
    assert [row["flags"] for row in exported(tmp_path, "some")] == flags
    assert [row["flags"] for row in exported(tmp_path, "none")] == [[], [], []]


def test_an_export_has_the_format_of_its_suffix(tmp_path: Path) -> None:
    run(tmp_path, answers(tmp_path / "items.jsonl", 2), *DIRECT, "-m", "fake:text=[RESULT] 4")
    for name, start in (("e.csv", b"item,system"), ("e.jsonl", b'{"item"'), ("e.parquet", b"PAR1")):
        assert adjudge("export", "-o", tmp_path / name, "--store", tmp_path / "s.db").code == 0
        assert (tmp_path / name).read_bytes().startswith(start)
    forced = adjudge("export", "--format", "jsonl", "-o", tmp_path / "f.csv", "--store", tmp_path / "s.db")
    assert forced.code == 0
    assert (tmp_path / "f.csv").read_bytes().startswith(b'{"item"')
    for name, start in (("e.csv.gz", b"item,system"), ("e.jsonl.gz", b'{"item"'), ("e.gz", b'{"item"')):
        assert adjudge("export", "-o", tmp_path / name, "--store", tmp_path / "s.db").code == 0
        assert gzip.decompress((tmp_path / name).read_bytes()).startswith(start)
    for name in ("e.json", "e.xlsx", "e.json.gz", "e.parquet.gz", "e.md.gz"):
        done = adjudge("export", "-o", tmp_path / name, "--store", tmp_path / "s.db")
        assert done.code == 2
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("reply", "explanation"),
    [
        (JSON_REPLY, "It is right."),
        (f"```json\n{JSON_REPLY}\n```", "It is right."),
        ('{"score": 4, "notes": ["a"]}', '{"score": 4, "notes": ["a"]}'),
        ("It is right. [RESULT] 4", "It is right."),
    ],
)
def test_the_explanation_is_no_piece_of_json(tmp_path: Path, reply: str, explanation: str) -> None:
    items = write_rows(tmp_path / "i.jsonl", [{"id": 1, "task": "Do.", "response": "Done."}])
    criterion = ("--criterion", "Is it right?") if "RESULT" not in reply else DIRECT
    replies = write_rows(tmp_path / "r.jsonl", [{"item": 1, "text": reply}])
    assert run(tmp_path, items, *criterion, "-m", f"replay:{replies}").code == 0
    [row] = exported(tmp_path)
    assert (row["score"], row["explanation"]) == (4.0, explanation)


def test_a_refused_connection_leaves_no_run(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 2)
    assert run(tmp_path, items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--run", "good").code == 0
    with FakeServer(lambda _: chat("[RESULT] 4")) as server:
        refused = model_at(server)
    assert run(tmp_path, items, *DIRECT, "-m", refused, "--run", "bad").code != 0
    with open_store(tmp_path / "s.db", write=False) as store:
        assert [row.name for row in store.runs()] == ["good"]
        assert store.run("last").name == "good"


def test_failed_judgments_are_counted_when_a_run_is_resumed(tmp_path: Path) -> None:
    rows = [{"item": f"i{k}", "text": "Nothing to say." if k < 3 else "[RESULT] 4"} for k in range(1, 7)]
    replies = write_rows(tmp_path / "r.jsonl", rows)
    items = answers(tmp_path / "items.jsonl", 6)
    command = ("run", items, *DIRECT, "-m", f"replay:{replies}", "--store", tmp_path / "s.db")
    first, second = adjudge(*command), adjudge(*command)
    assert "2 failed" in first.err
    assert "2 failed" in second.err


def test_identical_responses_are_a_tie_without_a_position(tmp_path: Path) -> None:
    pair = {"instruction": "Say a number.", "system_a": "x", "system_b": "y"}
    rows = [
        {"id": "same", **pair, "response_a": "one", "response_b": "one"},
        {"id": "differ", **pair, "response_a": "one", "response_b": "two"},
    ]
    items = write_rows(tmp_path / "pairs.jsonl", rows)
    protocol = compare_folder(tmp_path)
    assert run(tmp_path, items, "-p", protocol, "-m", "fake:text=Output (a)").code == 0
    same, differ = exported(tmp_path)
    assert (same["choice"], same["flags"]) == ("tie", ["identical_responses"])
    assert (differ["choice"], differ["flags"]) == ("tie", ["order_conflict"])
    report = adjudge("report", "--json", "--store", tmp_path / "s.db").json
    assert report["order"]["preference"]["n_pairs"] == 1
    assert "identical_responses" in [warning["kind"] for warning in report["warnings"]]


def test_a_draft_without_a_good_end_does_not_pass_the_check(tmp_path: Path) -> None:
    document = tmp_path / "prompts.md"
    document.write_text("## Zeal\n\n```\nGive {{response}} a number from 1 to 5 for zeal.\n\nScore:\n```\n")
    [folder] = import_document(document, tmp_path / "to").folders
    assert 'best = "unknown"' in Path(folder, "protocol.toml").read_text()
    assert ("scale-without-best", "problem") in [(f.name, f.kind) for f in check_protocols([folder])]
    assert adjudge("protocols", "check", folder).code == 1


def label_files(folder: Path) -> tuple[Path, Path]:
    """Scores from 0 to 1, and labels from 1 to 5 that follow them."""
    scores = [{"item": k, "criterion": "tact", "value": (k % 5) / 4} for k in range(40)]
    labels = [{"item": k, "value": 1 + k % 5} for k in range(40)]
    return write_rows(folder / "scores.jsonl", scores), write_rows(folder / "labels.jsonl", labels)


def card_of(*arguments: str | Path) -> dict[str, Any]:
    done = adjudge("trust", *arguments, "--json")
    assert done.code == 0, done.err
    card: dict[str, Any] = done.json["criteria"]["tact"]
    return card


def test_scores_on_another_scale_than_the_labels_are_not_compared_raw(tmp_path: Path) -> None:
    scores, labels = label_files(tmp_path)
    files = ("--scores", scores, "--labels", labels)
    card = card_of(*files)
    assert card["bias"]["value"] is None
    assert card["item"]["spearman"]["value"] == pytest.approx(1.0)
    assert any("--scale" in note for note in card["notes"])
    rescaled = card_of(*files, "--scale", "0,1", "--label-scale", "1,5")
    assert rescaled["bias"]["value"] == pytest.approx(0.0)
    assert (rescaled["scale"]["low"], rescaled["scale"]["high"]) == (1.0, 5.0)


def test_scores_on_the_scale_of_the_labels_are_compared_as_before(tmp_path: Path) -> None:
    rows = [{"item": k, "criterion": "tact", "value": 1 + k % 4} for k in range(40)]
    labels = [{"item": k, "criterion": "tact", "rater": "ann", "value": 1 + k % 5} for k in range(40)]
    files = (
        "--scores",
        write_rows(tmp_path / "s.jsonl", rows),
        "--labels",
        write_rows(tmp_path / "l.jsonl", labels),
    )
    assert card_of(*files)["bias"]["value"] == pytest.approx(-0.5)


def test_labels_without_a_criterion_are_an_error_where_there_are_two(tmp_path: Path) -> None:
    scores = [{"item": k, "criterion": name, "value": 3} for k in range(4) for name in ("tact", "wit")]
    labels = write_rows(tmp_path / "l.jsonl", [{"item": 1, "value": 4}])
    done = adjudge("trust", "--scores", write_rows(tmp_path / "s.jsonl", scores), "--labels", labels)
    assert done.code == 2
    assert "tact, wit" in done.err


def test_labels_of_a_run_need_neither_criterion_nor_rater(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 6)
    run(tmp_path, items, *DIRECT, "-m", "fake:text=[RESULT] 4")
    labels = tmp_path / "labels.csv"
    labels.write_text("answer_id;rating\n" + "".join(f"i{k};{3 + k % 3}\n" for k in range(1, 7)))
    done = adjudge(
        "trust", "--labels", labels, "--map", "item=answer_id", "--map", "value=rating", "--json",
        "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["criteria"]["tact"]["n_labelled"] == 6
    assert json.loads(done.out)["notes"][1:] == []
