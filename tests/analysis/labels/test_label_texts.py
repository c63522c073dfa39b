"""Labels stay with their texts: ids of items without one, the hash of the judged text, and who is paired with
whom."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import pytest

from adjudge import Run, compare
from adjudge.analysis.labels.in_store import labels_in_store
from adjudge.data import read_labels
from adjudge.engine import Progress
from adjudge.records import Label
from adjudge.store import N_WITHOUT_ID, open_store, rows
from adjudge.web.labelling.session import open_session
from running import Outcome, adjudge
from webclient import Browser

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


def test_labels_may_have_the_text_under_the_name_that_the_items_have() -> None:
    rows = [{"key": f"q{n}", "ask": f"Question {n}", "out": f"The old answer {n}."} for n in range(N)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged("items.jsonl", "first", "--map", "id=key", "--map", "task=ask", "--map", "response=out")
    labels = [
        {"item": row["key"], "criterion": "score", "rater": "ann", "out": row["out"] if n % 3 else "Earlier."}
        for n, row in enumerate(rows)
    ]
    write_labels("labels.csv", labels, ("item", "criterion", "rater", "value", "out"))
    said = "4 of 12 labels are of another text"
    assert said in adjudge("trust", "first", "--labels", "labels.csv").out
    assert said in adjudge("gate", "first", "--min", "score=1", "--labels", "labels.csv").out
    assert said in adjudge("export", "first", "-o", "out.csv", "--labels", "labels.csv").err
    assert said in adjudge("labels", "add", "first", "labels.csv").err


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


def test_every_page_and_export_counts_stored_labels_of_another_text() -> None:
    items("items.jsonl", id="q0")
    rows = [
        dict(json.loads(line), id=f"q{n}")
        for n, line in enumerate(Path("items.jsonl").read_text().splitlines())
    ]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged("items.jsonl", "one")
    with open_store("adjudge.db") as store:
        labels = [
            Label(f"q{n}", "score", "ann", 1.0 + n % 5, text_hash="t0" if n < 5 else None) for n in range(N)
        ]
        store.put_labels(labels, store.run("one"))
    said = "5 of 12 labels are of another text"
    for command in (("export",), ("report",), ("report", "--html", "r.html")):
        assert said in adjudge(command[0], "one", *command[1:]).err or command[-1] == "r.html"
    assert said in Path("r.html").read_text()
    browser = Browser(Path("adjudge.db"))
    assert said in browser.get("/run?run=one").text
    assert "1 human label is of another text" in browser.get("/item?run=one&n=0").text
    assert "another text" not in browser.get("/item?run=one&n=7").text


def two_versions() -> None:
    """Runs `first` and `second` of the same ids; five of twelve responses differ."""
    for run, n_changed in (("first", 0), ("second", 5)):
        changed = [f"{'Now the' if n < n_changed else 'The'} answer {n}." for n in range(N)]
        lines = [{"id": f"q{n}", "task": f"Question {n}", "response": text} for n, text in enumerate(changed)]
        Path("items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        judged("items.jsonl", run)


@pytest.mark.parametrize("columns", [NAMED, ("item", "criterion", "rater", "value", "response")])
def test_a_continued_draw_takes_no_value_of_another_text_along(columns: tuple[str, ...]) -> None:
    two_versions()
    write_labels("labels.csv", sampled("first", "draw.csv"), columns)
    done = adjudge("sample", "second", "--more", "1", "--labels", "labels.csv", "-o", "more.csv")
    assert "5 values of labels.csv are of another text" in done.err
    with open("more.csv", newline="") as file:
        values = {row["item"]: row["value"] for row in csv.DictReader(file)}
    assert {item for item, value in values.items() if not value} == {f"q{n}" for n in range(5)}


def test_a_comparison_counts_labels_of_another_text() -> None:
    two_versions()
    judged("items.jsonl", "third", "--samples", "2")
    write_labels("labels.csv", sampled("first", "draw.csv"), NAMED)
    said = "5 of 12 labels are of another text"
    for labels in (["--labels", "labels.csv"], []):
        shown = adjudge("compare", "second", "third", "--json", *labels).json["notes"]
        assert any(said in note for note in shown) == bool(labels)
    runs = [Run(name, "adjudge.db", "done", Progress()) for name in ("second", "third")]
    assert any(said in note for note in compare(*runs, labels="labels.csv").notes)
    with open_store("adjudge.db") as store:
        store.put_labels(read_labels("labels.csv").labels, store.run("second"))
    assert any(said in note for note in compare(*runs).notes)
    assert said in Browser(Path("adjudge.db")).get("/compare?with=second&with=third").text


def test_a_report_counts_labels_of_another_text_once() -> None:
    two_versions()
    write_labels("labels.csv", sampled("first", "draw.csv"), NAMED)
    with open_store("adjudge.db") as store:
        store.put_labels(read_labels("labels.csv").labels, store.run("second"))
    assert "the given labels replace them" not in adjudge("report", "second").out


def test_annotate_asks_again_for_an_item_whose_text_has_changed() -> None:
    two_versions()
    write_labels("labels.csv", sampled("first", "draw.csv"), NAMED)
    with open_store("adjudge.db") as store:
        store.put_labels(read_labels("labels.csv").labels, store.run("second"))
    rater = read_labels("labels.csv").labels[0].rater
    with open_session("adjudge.db", "second", n=N) as session:
        assert session.seen_by(rater).progress().n_done == N - 5
        for _ in range(5):
            key = session.seen_by(rater).next_key()
            assert key is not None
            session.give(rater, key, 0, 3)
        assert session.seen_by(rater).next_key() is None
    assert "another text" not in adjudge("report", "second").err


def labelled(run: str, values: str = "labels.csv") -> None:
    write_labels(values, sampled(run, "draw.csv"), NAMED)
    assert adjudge("labels", "add", run, values).code == 0


def test_every_run_of_the_same_texts_has_the_labels_of_the_store() -> None:
    items("items.jsonl")
    judged("items.jsonl", "first")
    labelled("first")
    judged("items.jsonl", "second", "--seed", "1")
    first, second = (adjudge("trust", run, "--json").json["criteria"]["score"] for run in ("first", "second"))
    assert first["n_labelled"] == second["n_labelled"] == N
    assert "human label" not in adjudge("report", "second").out
    assert adjudge("gate", "second", "--min", "score=1", "--labels", "store", "--json").json["is_corrected"]
    both = adjudge("trust", "first", "--versus", "second", "--json").json
    assert {card["n_labelled"] for card in both["criteria"].values()} == {N}
    # Who labels the second run is not shown the labels of the first one.
    with open_store(Path("adjudge.db"), write=False) as store:
        assert not store.labels(store.run("second"))


def test_labels_are_shared_by_text_and_by_scale() -> None:
    items("items.jsonl", id="only one")
    rows = [
        dict(json.loads(line), id=f"q{n}")
        for n, line in enumerate(Path("items.jsonl").read_text().splitlines())
    ]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged("items.jsonl", "first")
    labelled("first")
    changed = [dict(row, response=f"Now {row['response']}") if n < 5 else row for n, row in enumerate(rows)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    judged("items.jsonl", "of changed texts")
    card = adjudge("trust", "of changed texts", "--json").json
    assert card["criteria"]["score"]["n_labelled"] == N - 5
    levels = "".join(f'{level} = "Level {level}."\n' for level in range(1, 7))
    Path("six.toml").write_text(f'name = "score"\ncriterion = "Helpful?"\n[levels]\n{levels}')
    arguments = (
        "-p",
        "geval/score",
        "--rubric",
        "six.toml",
        "-m",
        "fake:script=script.jsonl",
        "--run",
        "six",
    )
    assert adjudge("run", "items.jsonl", *arguments).code == 0
    assert "six has no labels" in adjudge("trust", "six").err


def test_the_label_of_a_run_comes_before_that_of_another_run() -> None:
    items("items.jsonl")
    judged("items.jsonl", "first")
    labelled("first")
    judged("items.jsonl", "second", "--seed", "1")
    with open("labels.csv", newline="") as file:
        rows = [dict(row, value="5") for row in csv.DictReader(file)][:3]
    with open("own.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert adjudge("labels", "add", "second", "own.csv").code == 0
    with open_store(Path("adjudge.db"), write=False) as store:
        found = labels_in_store(store, store.run("second"))
    assert len(found) == N
    assert [label.value for label in found[:3]] == [5, 5, 5]


@pytest.mark.parametrize(
    "command",
    [
        ("trust", "second"),
        ("gate", "second", "--min", "score=1"),
        ("calibrate", "second", "-o", "map.toml"),
        ("cascade", "second", "--agree", "0.8"),
        ("tune", "second", "--samples", "1,2"),
        ("labels", "add", "second"),
        ("labels", "add", "second", "labels.csv", "--map", "labels.value=points"),
        ("trust", "second", "--map", "labels.value=points"),
    ],
)
@pytest.mark.parametrize("n_changed", [N, N - 1])
def test_every_command_says_that_labels_are_of_another_text(command: tuple[str, ...], n_changed: int) -> None:
    """Also where it can do nothing with those that are left."""
    for run, n_other in (("first", 0), ("second", n_changed)):
        changed = [f"{'Now the' if n < n_other else 'The'} answer {n}." for n in range(N)]
        lines = [{"id": f"q{n}", "task": f"Question {n}", "response": text} for n, text in enumerate(changed)]
        Path("items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        judged("items.jsonl", run, "--samples", "2")
    write_labels("labels.csv", sampled("first", "draw.csv"), NAMED)
    if "--map" in command:
        text = Path("labels.csv").read_text()
        Path("labels.csv").write_text(text.replace("value", "points", 1))
    given = ["labels.csv"] if command[:2] == ("labels", "add") else ["--labels", "labels.csv"]
    done = adjudge(*command, *(given if "labels.csv" not in command else []))
    said = f"{n_changed} of {N} labels are of another text"
    assert said in done.out + done.err
    if n_changed == N:
        assert done.code == 2
