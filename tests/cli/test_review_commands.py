"""Reviews and notes on the command line: what `export`, `trust`, `runs` and `runs merge` make of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from adjudge.records import Label, Note, Review
from adjudge.store import open_store
from running import adjudge, answers

RUBRIC = (
    'name = "tact"\ncriterion = "Is it tactful?"\n[levels]\n1 = "a"\n2 = "b"\n3 = "c"\n4 = "d"\n5 = "e"\n'
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A run of twelve items with labels, two reviews, and a note."""
    items = answers(tmp_path / "items.jsonl", 12)
    path = tmp_path / "s.db"
    rubric = tmp_path / "tact.toml"
    rubric.write_text(RUBRIC)
    direct = ["-p", "prometheus/direct", "--rubric", rubric]
    done = adjudge(
        "run", items, *direct, "-m", "fake:text=Good. [RESULT] 4", "-q", "--run", "tact", "--store", path
    )
    assert done.code == 0, done.err
    with open_store(path) as store:
        run = store.run()
        store.put_labels([Label(f"i{k}", "tact", "ann", float(1 + k % 5)) for k in range(1, 13)], run)
        about = ("prometheus/direct", "tact", "fake", "eva")
        store.put_review(run, Review("i1", *about, "judge", None, 4.0, 2.0, "people", "=1+1 says why"))
        store.put_review(run, Review("i2", *about, "unclear", None, 4.0, 3.0, "people"))
        store.put_note(run, Note("i3", "eva", "look again", ("odd", "长")))
        store.put_note(run, Note("i3", "max", "", ("odd",)))
    return path


def test_reviews_are_exported_in_the_format_of_the_suffix(store: Path, tmp_path: Path) -> None:
    for name in ("reviews.jsonl", "reviews.csv", "reviews.parquet"):
        done = adjudge("export", "tact", "--reviews", "-o", tmp_path / name, "--store", store)
        assert done.code == 0, done.err
    first, second = adjudge("export", "--reviews", "--store", store).rows
    assert (first["item"], first["verdict"], first["judge"], first["people"]) == ("i1", "judge", "4", "2")
    assert (second["reviewer"], second["verdict"], second["note"]) == ("eva", "unclear", "")
    assert first["made"].startswith("20")
    with (tmp_path / "reviews.csv").open(newline="") as file:
        (row, _) = csv.DictReader(file)
    assert row["note"] == "'=1+1 says why"
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(tmp_path / "reviews.parquet")["verdict"].to_list() == ["judge", "unclear"]


def test_a_run_without_reviews_says_how_to_make_some(store: Path) -> None:
    with open_store(store) as opened:
        for review in opened.reviews(opened.run()):
            opened.delete_review(opened.run(), review)
    done = adjudge("export", "--reviews", "--store", store)
    assert (done.code, done.out) == (2, "")
    assert "tact has no reviews" in done.err
    assert "adjudge view tact" in done.err


def test_results_have_tags_and_notes_only_where_there_are_some(store: Path) -> None:
    rows = {row["item"]: row for row in adjudge("export", "--store", store).rows}
    assert (rows["i3"]["tags"], rows["i3"]["notes"]) == (["odd", "长"], {"people": "eva: look again"})
    assert (rows["i4"]["tags"], rows["i4"]["notes"]) == ([], {})
    with open_store(store) as opened:
        for author in ("eva", "max"):
            opened.put_note(opened.run(), Note("i3", author))
    assert "tags" not in adjudge("export", "--store", store).rows[0]


def test_trust_and_the_list_of_runs_say_that_labels_were_reviewed(store: Path) -> None:
    done = adjudge("trust", "tact", "--store", store)
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert "2 of 12 labels were reviewed: 1 changed to the judge's answer, 1 left out" in text
    card = adjudge("trust", "tact", "--json", "--store", store).json["criteria"]["tact"]
    assert (card["reviews"]["n_reviewed"], card["reviews"]["n_changed"], card["reviews"]["n_unclear"]) == (
        2,
        1,
        1,
    )
    assert adjudge("runs", "--json", "--store", store).json[0]["reviews"] == 2
    assert "reviews" in adjudge("runs", "--store", store).out


def test_reviews_and_notes_are_merged_once_and_those_of_the_store_are_kept(
    store: Path, tmp_path: Path
) -> None:
    into = tmp_path / "into.db"
    assert adjudge("runs", "merge", store, "--store", into).code == 0
    with open_store(store) as opened:
        run = opened.run()
        about = ("prometheus/direct", "tact", "fake", "eva")
        opened.put_review(run, Review("i1", *about, "people", None, 4.0, 2.0))
        opened.put_review(run, Review("i5", *about, "both", None, 4.0, 1.0))
        opened.put_note(run, Note("i3", "eva", "changed"))
    (file,) = adjudge("runs", "merge", store, "--store", into, "--json").json["files"]
    (merged,) = file["runs"]
    assert (merged["reviews"], merged["differing_reviews"]) == (1, 1)
    assert (merged["notes"], merged["differing_notes"]) == (0, 1)
    again = adjudge("runs", "merge", store, "--store", into)
    assert "1 review has another value in the store, which was kept." in again.out
    with open_store(into, write=False) as opened:
        verdicts = {review.item: review.verdict for review in opened.reviews(opened.run())}
        assert verdicts == {"i1": "judge", "i2": "unclear", "i5": "both"}
        assert [note.text for note in opened.notes(opened.run())] == ["look again", ""]
    assert adjudge("doctor", "--store", into).code == 0


def test_a_deleted_run_takes_its_reviews_and_notes_along_and_says_so(store: Path) -> None:
    done = adjudge("runs", "delete", "tact", "--yes", "--store", store)
    assert done.out.strip() == "Deleted tact with 2 reviews and 2 notes"
    assert adjudge("doctor", "--store", store).code == 0
