"""Labels that belong: on their scale, about this run, and in the store for every command and page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from adjudge import Label, open_run
from adjudge.errors import DataError
from adjudge.store import open_store
from running import DIRECT, Outcome, adjudge, answers, score_of, write_rows

N = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of twenty items whose ids are in the file."""
    items = answers(tmp_path / "items.jsonl", N)
    replies = write_rows(
        tmp_path / "replies.jsonl",
        [{"item": f"i{k}", "text": f"Well. [RESULT] {score_of(k)}"} for k in range(1, N + 1)],
    )
    done = adjudge(
        "run", items, *DIRECT, "-m", f"replay:{replies}", "--run", "one", "--store", tmp_path / "s.db", "-q"
    )
    assert done.code == 0, done.err
    return tmp_path


def label_file(
    folder: Path, values: Sequence[float], criterion: str = "tact", name: str = "labels.csv"
) -> Path:
    rows = [f"i{k},{criterion},ann,{value:g}" for k, value in enumerate(values, 1)]
    path = folder / name
    path.write_text("\n".join(["item,criterion,rater,value", *rows]) + "\n", encoding="utf-8")
    return path


def people() -> list[float]:
    """Labels that follow the judge, now and then a point away."""
    return [min(5, max(1, score_of(k) + (k % 7 == 0))) for k in range(1, N + 1)]


def on(folder: Path, *arguments: str | Path) -> Outcome:
    return adjudge(*arguments, "--store", folder / "s.db")


def stored(folder: Path) -> list[Label]:
    with open_store(folder / "s.db", write=False) as store:
        return store.labels(store.run("one"))


def test_labels_off_the_scale_are_errors_with_their_lines(folder: Path) -> None:
    values = people()
    values[4] = values[11] = 9
    labels = label_file(folder, values)
    commands = (
        ("trust", "one", "--labels", labels),
        ("labels", "add", "one", labels),
        ("gate", "one", "--min", "tact=1", "--labels", labels),
        ("export", "one", "--labels", labels),
        ("report", "one", "--labels", labels, "--html", folder / "r.html"),
    )
    for command in commands:
        done = on(folder, *command)
        assert done.code == 2, command
        assert "line 6: value 9 is off the scale 1 to 5 of 'tact'. Correct it." in done.err
        assert "line 13: value 9" in done.err
        assert "--label-scale LOW,HIGH" in done.err
    assert stored(folder) == []


def test_a_value_between_two_steps_is_a_label(folder: Path) -> None:
    assert on(folder, "trust", "one", "--labels", label_file(folder, [2.5] * N)).code == 0


def test_labels_of_a_list_are_checked_too(folder: Path) -> None:
    run = open_run("one", folder / "s.db")
    with pytest.raises(DataError, match=r"label 2 \(item 'i2'\): value 40 is off the scale 1 to 5"):
        run.trust([Label("i1", "tact", "ann", 4.0), Label("i2", "tact", "ann", 40.0)])
    with pytest.raises(DataError, match="Did you mean 'tact'"):
        run.trust([Label("i1", "tackt", "ann", 4.0)])


def test_labels_on_another_scale_need_its_name(folder: Path) -> None:
    on_hundred = label_file(folder, [(value - 1) * 25 for value in people()], name="hundred.csv")
    same = on(folder, "trust", "one", "--labels", label_file(folder, people()), "--json").json["criteria"][
        "tact"
    ]
    asked = ("trust", "one", "--labels", on_hundred)
    assert on(folder, *asked).code == 2
    done = on(folder, *asked, "--label-scale", "0,100", "--json").json
    card = done["criteria"]["tact"]
    assert card["scale"]["high"] == 100
    for statistic in ("spearman", "exact", "kappa", "alpha"):
        assert card["item"][statistic]["value"] == pytest.approx(same["item"][statistic]["value"], abs=1e-9)
    assert card["bias"]["value"] == pytest.approx(25 * same["bias"]["value"])
    for end in ("value", "low", "high"):
        mean = same["corrected"]["odd"]
        assert card["corrected"]["odd"][end] == pytest.approx((mean[end] - 1) * 25, abs=1e-6)
    assert any("0 to 100" in note for note in done["notes"])
    off = on(folder, *asked, "--label-scale", "0,50")
    assert off.code == 2
    assert "off the scale 0 to 50" in off.err


def test_added_labels_reach_every_command(folder: Path) -> None:
    labels = label_file(folder, people())
    done = on(folder, "labels", "add", "one", labels)
    assert done.code == 0, done.err
    assert f"Added {N} labels to run one" in done.out
    given = on(folder, "trust", "one", "--labels", labels, "--json").json["criteria"]["tact"]
    step = given["recommendation"]["next"]
    assert step.endswith(f"--labels {labels}")
    # The next step names the labels where they are.
    given["recommendation"]["next"] = step.replace(str(labels), "store")
    assert on(folder, "trust", "one", "--json").json["criteria"]["tact"] == given
    assert on(folder, "gate", "one", "--min", "tact=1", "--labels", "store").code in (0, 3)
    assert "agrees with people" in on(folder, "report", "one").out
    assert on(folder, "export", "one").rows == on(folder, "export", "one", "--labels", labels).rows
    assert all(label.text_hash is not None for label in stored(folder))


def test_adding_a_file_twice_changes_nothing(folder: Path) -> None:
    labels = label_file(folder, people())
    on(folder, "labels", "add", "one", labels)
    before = stored(folder)
    again = on(folder, "labels", "add", "one", labels, "--json").json
    assert (again["n_added"], again["n_unchanged"]) == (0, N)
    assert stored(folder) == before


def test_another_value_of_the_same_rater_is_replaced_only_where_the_user_says_so(folder: Path) -> None:
    on(folder, "labels", "add", "one", label_file(folder, people()))
    before = stored(folder)
    changed = label_file(folder, [1, *people()[1:]], name="changed.csv")
    done = on(folder, "labels", "add", "one", changed)
    assert done.code == 2
    assert "rater 'ann' gave item 'i1' on 'tact' 2; the file says 1." in done.err
    assert stored(folder) == before
    assert on(folder, "labels", "add", "one", changed, "--replace", "--json").json["n_replaced"] == 1
    assert {label.item: label.value for label in stored(folder)}["i1"] == 1


def test_labels_on_another_scale_are_stored_on_the_judges(folder: Path) -> None:
    hundred = label_file(folder, [(value - 1) * 25 for value in people()], name="hundred.csv")
    assert on(folder, "labels", "add", "one", hundred).code == 2
    assert on(folder, "labels", "add", "one", hundred, "--label-scale", "0,100").code == 0
    assert [label.value for label in stored(folder)] == people()


def test_labels_of_other_items_and_criteria_are_counted(folder: Path) -> None:
    labels = label_file(folder, people())
    with labels.open("a", encoding="utf-8") as file:
        file.write("nowhere,tact,ann,3\ni1,wit,ann,3\n")
    done = on(folder, "labels", "add", "one", labels)
    assert done.code == 0
    assert "2 not used" in done.out
    assert "'nowhere'" in done.err
    assert "'wit'" in done.err


def test_labels_that_name_lines_do_not_match_hashed_ids_and_that_is_an_error(tmp_path: Path) -> None:
    rows = [{"instruction": "Say a number.", "response": f"answer {k}."} for k in range(3)]
    items = write_rows(tmp_path / "items.jsonl", rows)
    on(tmp_path, "run", items, *DIRECT, "-m", "fake:text=[RESULT] 4", "--run", "one", "-q")
    labels = tmp_path / "labels.csv"
    labels.write_text("item,criterion,rater,value\n1,tact,ann,4\n2,tact,ann,4\n", encoding="utf-8")
    for command in (("trust", "one", "--labels", labels), ("labels", "add", "one", labels)):
        done = on(tmp_path, *command)
        assert done.code == 2
        assert "labels name lines" in done.err


LABEL_READERS = (
    ("trust", "one", "--labels"),
    ("gate", "one", "--min", "tact=1", "--labels"),
    ("export", "one", "--labels"),
    ("report", "one", "--html", "r.html", "--labels"),
    ("compare", "one", "one", "--labels"),
    ("calibrate", "one", "-o", "map.toml", "--labels"),
    ("view", "one", "--export", "pages", "--labels"),
    ("labels", "add", "one"),
)


@pytest.mark.parametrize("command", LABEL_READERS, ids=" ".join)
def test_labels_of_which_none_belongs_to_the_run_are_an_error(
    folder: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    misspelt = label_file(folder, people(), criterion="tacd", name="misspelt.csv")
    done = on(folder, *command, misspelt)
    assert done.code == 2
    assert "'tacd'" in done.err or "of tacd are not used" in done.err
    elsewhere = folder / "elsewhere.csv"
    elsewhere.write_text("item,criterion,rater,value\nx1,tact,ann,4\nx2,tact,ann,3\n", encoding="utf-8")
    done = on(folder, *command, elsewhere)
    assert done.code == 2
    assert "x1" in done.err
    assert not [path for path in ("r.html", "map.toml", "pages") if Path(path).exists()]


def test_a_gate_names_the_labels_of_a_criterion_that_was_not_judged(folder: Path) -> None:
    labels = label_file(folder, people())
    with labels.open("a", encoding="utf-8") as file:
        file.write("i1,wit,ann,3\n")
    done = on(folder, "gate", "one", "--min", "tact=1", "--labels", labels, "--json")
    assert any("of wit is not used" in note for note in done.json["notes"])
