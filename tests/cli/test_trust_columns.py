"""Columns of `trust`: those of the scores and of the labels apart, and a file without the column that all is
about."""

from __future__ import annotations

from pathlib import Path

import pytest

from running import adjudge


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    scores, labels = tmp_path / "scores.csv", tmp_path / "labels.csv"
    scores.write_text("item,judge_score,value\n" + "".join(f"q{n},{n % 5 + 1},0\n" for n in range(12)))
    labels.write_text("item,rating,value\n" + "".join(f"q{n},{n % 5 + 1},9\n" for n in range(12)))
    return scores, labels


def trust(files: tuple[Path, Path], *maps: str) -> object:
    scores, labels = files
    flags = [part for one in maps for part in ("--map", one)]
    return adjudge("trust", "--scores", scores, "--labels", labels, "--json", *flags)


def test_columns_of_scores_and_labels_are_mapped_apart(files: tuple[Path, Path]) -> None:
    for path in files:
        path.write_text(path.read_text().replace(",value\n", ",note\n"))
    done = trust(files, "scores.value=judge_score", "labels.value=rating")
    assert done.code == 0, done.err
    assert done.json["criteria"]["score"]["item"]["pearson"]["value"] == pytest.approx(1.0)


def test_a_column_of_one_file_does_not_need_to_be_in_the_other(files: tuple[Path, Path]) -> None:
    scores, labels = files
    scores.write_text(scores.read_text().replace("judge_score,value", "value,note"))
    labels.write_text(labels.read_text().replace(",value\n", ",note\n"))
    done = trust(files, "labels.value=rating")
    assert done.code == 0, done.err
    shared = trust(files, "value=rating")
    assert shared.code == 2
    assert "no row has a column 'rating'" in shared.err
    assert "--map labels.value=rating" in shared.err


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ("people.value=rating", "write labels.value=rating or scores.value=rating"),
        ("labels.value=stars", "no row has a column 'stars'"),
    ],
)
def test_a_wrong_rename_says_what_to_write(files: tuple[Path, Path], rename: str, said: str) -> None:
    done = trust(files, rename)
    assert done.code == 2
    assert said in done.err


def test_scores_of_a_run_have_no_columns(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("item,value\nq1,1\n")
    done = adjudge("trust", "r", "--labels", labels, "--map", "scores.value=x", "--store", tmp_path / "a.db")
    assert done.code == 2


def test_scores_without_values_are_an_error_that_names_the_columns(files: tuple[Path, Path]) -> None:
    scores, _ = files
    scores.write_text("item,rating,comment\nq1,3,good\nq2,4,fine\n")
    done = trust(files)
    assert done.code == 2
    assert "no row has a value. The columns are: item, rating, comment. Name" in done.err
    assert "--map scores.value=COLUMN" in done.err
    assert "failed" not in done.err


def test_labels_without_values_are_an_error_that_names_the_columns(files: tuple[Path, Path]) -> None:
    _, labels = files
    labels.write_text("item,rating,comment\nq1,3,good\nq2,4,fine\n")
    done = trust(files)
    assert done.code == 2
    assert "The columns are: item, rating, comment. Fill in the column 'value'" in done.err


@pytest.mark.parametrize(
    ("command", "header", "said"),
    [
        (("audit", "--scores"), "item,probe,rating\nq1,none,3\nq1,verbose,4\n",
        "no row has a value. The columns are: item, probe, rating"),
        (("audit", "--scores"), "item,order,winner\nq1,ab,a\nq1,ba,b\n", "no row has a choice. The columns "
                                                                         "are: item, order, winner"),
        (("cascade", "--judges", "a,b", "--agree", "0.9", "--risk", "0.1", "--labels", "LABELS", "--scores"),
         "item,who,value\nq1,a,3\nq1,b,4\n", "Rename the column that holds it to 'judge'."),
        (("cascade", "--judges", "a,b", "--agree", "0.9", "--risk", "0.1", "--labels", "LABELS", "--scores"),
         "item,judge,rating\nq1,a,3\nq1,b,4\n", "no row has an answer. The columns are: item, judge, rating"),
        (("tune", "--start", "a", "--labels", "LABELS", "--scores"),
         "item,candidate,rating\nq1,a,3\nq1,b,4\n", "no row has an answer. The columns are: item, candidate, "
                                                    "rating"),
    ],
)  # fmt: skip
def test_every_file_of_scores_without_values_names_its_columns(
    command: tuple[str, ...], header: str, said: str, tmp_path: Path
) -> None:
    path, labels = tmp_path / "made.csv", tmp_path / "labels.csv"
    path.write_text(header)
    labels.write_text("item,value\nq1,3\n")
    done = adjudge(*(labels if part == "LABELS" else part for part in command), path)
    assert done.code == 2
    assert said in done.err
