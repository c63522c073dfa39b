"""Labels stay with their texts: ids of items without one, the hash of the judged text, and who is paired with whom."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import pytest

from adjudge.store import N_WITHOUT_ID, rows
from running import Outcome, adjudge

N = 12


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def items(name: str, *, word: str = "old", step: int = 1, **more: str) -> None:
    lines = [{"task": f"Question {n}", "response": f"The {word} answer {n}.", **more} for n in range(N)]
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines[::step]))


def judged(file: str, run: str, *more: str) -> Outcome:
    script = "".join(
        json.dumps({"match": f"answer {n}.", "text": f"Fine. Score: {1 + n % 5}"}) + "\n" for n in range(N)
    )
    Path("script.jsonl").write_text(script)
    arguments = ("-p", "geval/score", "--criterion", "Helpful?", "-m", "fake:script=script.jsonl")
    done = adjudge("run", file, *arguments, "--run", run, *more)
    assert done.code == 0, done.err
    return done


def sampled(run: str, name: str) -> list[dict[str, str]]:
    assert adjudge("sample", run, "-n", str(N), "-o", name).code == 0
    with open(name, newline="") as file:
        return list(csv.DictReader(file))


def write_labels(name: str, labels: list[dict[str, str]], columns: tuple[str, ...]) -> None:
    with open(name, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(dict(row, value=str(1 + n % 5)) for n, row in enumerate(labels))


NAMED = ("item", "criterion", "rater", "value", "text_hash")


def test_labels_follow_their_items_through_a_sorted_file() -> None:
    items("items.jsonl")
    judged("items.jsonl", "first")
    write_labels("labels.csv", sampled("first", "draw.csv"), NAMED)
    items("items.jsonl", step=-1)
    judged("items.jsonl", "second")
    before, after = (adjudge("trust", run, "--labels", "labels.csv", "--json") for run in ("first", "second"))
    assert before.code == after.code == 0
    values = [done.json["criteria"]["score"]["item"]["pearson"]["value"] for done in (before, after)]
    assert values[0] == pytest.approx(values[1])
    assert adjudge("compare", "first", "second", "--json").json["n_content_differs"] == 0


@pytest.mark.parametrize("columns", [NAMED, ("item", "criterion", "rater", "value", "response")])
def test_labels_of_another_text_are_counted_and_not_used(columns: tuple[str, ...]) -> None:
    items("items.jsonl", id="only one")
    rows = [json.loads(line) for line in Path("items.jsonl").read_text().splitlines()]
    named = [dict(row, id=f"q{n}") for n, row in enumerate(rows)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in named))
    judged("items.jsonl", "first")
    write_labels("labels.csv", sampled("first", "draw.csv"), columns)
    changed = [dict(row, response=f"Now {row['response']}") if n < 5 else row for n, row in enumerate(named)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    judged("items.jsonl", "second")
    card = adjudge("trust", "second", "--labels", "labels.csv", "--json").json
    assert any("5 of 12 labels are of another text" in note for note in card["notes"])
    gate = adjudge("gate", "second", "--min", "score=1", "--labels", "labels.csv", "--json")
    assert any("5 of 12 labels are of another text" in note for note in gate.json["notes"])
    Path("items.jsonl").write_text(
        "".join(json.dumps(dict(row, response="Now answer 3.")) + "\n" for row in named)
    )
    judged("items.jsonl", "third")
    refused = adjudge("trust", "third", "--labels", "labels.csv")
    assert refused.code == 2
    assert "12 of 12 labels are of another text" in refused.err


def test_compare_says_first_that_texts_differ_and_pairs_inputs_only_when_told() -> None:
    items("old.jsonl")
    items("new.jsonl", word="new", step=-1)
    judged("old.jsonl", "old")
    judged("new.jsonl", "new")
    refused = adjudge("compare", "old", "new")
    assert refused.code == 2
    assert "--different-texts" in refused.err
    paired = adjudge("compare", "old", "new", "--different-texts", "--json").json
    assert (paired["n_items"], paired["n_content_differs"]) == (N, N)
    assert "judged different texts" in paired["summary"][0]
    (card,) = paired["criteria"].values()
    (system,) = card["systems"].values()
    assert system["difference"]["value"] == 0


def test_a_gate_matches_a_baseline_without_ids_by_input() -> None:
    items("old.jsonl")
    items("new.jsonl", word="new", step=-1)
    judged("old.jsonl", "old")
    judged("new.jsonl", "new")
    name = adjudge("report", "new", "--json").json["systems"]["all"].keys()
    (criterion,) = name
    done = adjudge("gate", "new", "--max-drop", f"{criterion}=0.5", "--baseline", "old", "--json")
    assert done.json["checks"][0]["estimate"]["n"] == N


def as_an_older_version_left_it(store: str, run: str) -> None:
    """A run whose items without an id are named by their lines."""
    connection = sqlite3.connect(store)
    number, packed = connection.execute("SELECT id, manifest FROM runs WHERE name = ?", (run,)).fetchone()
    manifest = rows.unpacked_json(packed)
    del manifest[N_WITHOUT_ID]
    connection.execute("UPDATE runs SET manifest = ? WHERE id = ?", (rows.packed_json(manifest), number))
    for row in connection.execute(
        f"SELECT {rows.ITEM_COLUMNS} FROM items WHERE run = ?", (number,)
    ).fetchall():
        item = rows.read_item(row, with_fields=True)
        columns = rows.item_columns(
            row[0], type(item)(str(item.line), item.fields, item.system, line=item.line)
        )
        *_, content, check = columns
        connection.execute(
            "UPDATE items SET id = ?, content = ?, checksum = ? WHERE run = ? AND seq = ?",
            (str(item.line), content, check, number, row[0]),
        )
    sealed = connection.execute(f"SELECT {rows.RUN_SEALED} FROM runs WHERE id = ?", (number,)).fetchone()
    connection.execute("UPDATE runs SET checksum = ? WHERE id = ?", (rows.checksum(sealed), number))
    connection.commit()
    connection.close()


def test_a_run_whose_items_are_named_by_lines_resumes_and_is_not_compared_with_other_texts() -> None:
    items("items.jsonl")
    judged("items.jsonl", "first")
    as_an_older_version_left_it("adjudge.db", "first")
    judged("items.jsonl", "first")
    exported = adjudge("export", "first").rows
    assert [row["item"] for row in exported] == [str(n + 1) for n in range(N)]
    items("items.jsonl", step=-1)
    judged("items.jsonl", "second")
    as_an_older_version_left_it("adjudge.db", "second")
    refused = adjudge("compare", "first", "second")
    assert refused.code == 2
    assert "named by their lines" in refused.err
    paired = adjudge("compare", "first", "second", "--different-texts", "--json").json
    assert (paired["n_items"], paired["n_content_differs"]) == (N, 0)


def test_recorded_replies_may_name_lines() -> None:
    items("items.jsonl")
    lines = [json.dumps({"item": n + 1, "text": f"Fine. Score: {1 + n % 5}"}) + "\n" for n in range(N)]
    Path("replies.jsonl").write_text("".join(lines))
    arguments = ("-p", "geval/score", "--criterion", "Helpful?", "-m", "replay:replies.jsonl", "--run", "r")
    assert adjudge("run", "items.jsonl", *arguments).code == 0
    assert [row["score"] for row in adjudge("export", "r").rows] == [1 + n % 5 for n in range(N)]


def test_pair_matches_outputs_without_ids_by_everything_but_the_response() -> None:
    items("a.jsonl")
    items("b.jsonl", word="new", step=-1)
    done = adjudge("pair", "a.jsonl", "b.jsonl", "-o", "pairs.jsonl")
    assert done.code == 0, done.err
    pairs = [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]
    assert len(pairs) == N
    assert all(pair["response_a"].split()[-1] == pair["response_b"].split()[-1] for pair in pairs)
