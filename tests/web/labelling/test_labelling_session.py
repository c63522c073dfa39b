"""What a rater is asked and what an answer means: scales and
their keys, sides, names, and one sitting of labelling.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from adjudge.data import read_labels
from adjudge.errors import AdjudgeError, DataError
from adjudge.protocols import load_protocol
from adjudge.records import Item, Label, Scale
from adjudge.store import open_store
from adjudge.web.labelling.labels_file import export_labels, labels_csv
from adjudge.web.labelling.questions import (
    LabelQuestion,
    Sheet,
    ShownQuestion,
    answer_of,
    asked_of,
    field_columns,
    keyed_levels,
    label_questions,
    left_subject,
    value_of,
)
from adjudge.web.labelling.rater_name import rater_name
from adjudge.web.labelling.session import Session, open_session
from running import DIRECT, EXAMPLES, adjudge, write_rows

N = 30


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of thirty items by two systems, twenty of one
    and ten of the other, whose texts hold neither name.
    """
    tmp_path = tmp_path_factory.mktemp("judged")
    items = [
        {
            "id": f"{'long' if k % 3 else 'short'}-{k}", "system": "long" if k % 3 else "short",
            "instruction": "Say a number.", "response": f"answer {k}", "judge_score": f"secret {k % 5 + 1}",
        }
        for k in range(N)
    ]  # fmt: skip
    write_rows(tmp_path / "items.jsonl", items)
    replies = [{"item": item["id"], "text": f"Well. [RESULT] {k % 5 + 1}"} for k, item in enumerate(items)]
    write_rows(tmp_path / "replies.jsonl", replies)
    done = adjudge(
        "run", tmp_path / "items.jsonl", *DIRECT, "-m", f"replay:{tmp_path / 'replies.jsonl'}", "--run",
        "one",
        "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    return tmp_path / "s.db"


@pytest.fixture
def store(judged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(judged, tmp_path / "s.db"))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    done = adjudge(
        "run", EXAMPLES / "advice.jsonl", "-p", "geval/compare", "-m",
        f"replay:{EXAMPLES / 'advice.replies.jsonl'}",
        "--run", "pairs", "--store", tmp_path / "p.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    return tmp_path / "p.db"


def label_all(session: Session, rater: str, value: object = 4, most: int = 1000) -> int:
    """Answer one open question after the other; how many."""
    n_given = 0
    while n_given < most and (key := session.seen_by(rater).next_key()) is not None:
        turn = session.seen_by(rater).turn(key)
        number = turn.answers.index(None)
        session.give(rater, key, number, "left" if turn.asked[number].question.is_choice else value)
        n_given += 1
    return n_given


# Scales


def test_a_scale_of_single_digits_has_a_key_for_each_level() -> None:
    levels = keyed_levels(Scale(1, 5, best=5, step=1, names={1: "bad"}, levels={5: "Takes the matter over."}))
    assert [level.key for level in levels] == ["1", "2", "3", "4", "5"]
    assert (levels[0].name, levels[4].text) == ("bad", "Takes the matter over.")
    assert [level.key for level in keyed_levels(Scale(0, 9, best=9, step=1))] == list("0123456789")


@pytest.mark.parametrize(
    ("scale", "shown"),
    [
        (Scale(0, 10, best=10, step=1), [str(value) for value in range(11)]),
        (Scale(-1, 1, best=1, step=1), ["-1", "0", "1"]),
        (Scale(1, 3, best=3, step=0.5), ["1", "1.5", "2", "2.5", "3"]),
        (Scale(0, 1, best=1, step=0.1), ["0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9",
        "1"]),
        (Scale(0, 100, best=100, step=1), []),
        (Scale(0, 1, best=1), []),
    ],
)  # fmt: skip
def test_a_wider_scale_is_typed_and_no_digit_is_a_level(scale: Scale, shown: list[str]) -> None:
    levels = keyed_levels(scale)
    assert [level.shown for level in levels] == shown
    assert not any(level.key for level in levels)
    # Whatever is offered can be given.
    for level in levels:
        assert scale.status_of(level.value) == "ok"


@given(st.one_of(st.floats(), st.integers(), st.text(), st.none(), st.booleans(), st.lists(st.integers())))
def test_a_value_off_the_scale_is_refused(value: object) -> None:
    asked = ShownQuestion(LabelQuestion("tact", None, Scale(1, 5, best=5, step=1), (), 0), None)
    if not isinstance(value, bool) and isinstance(value, int | float) and value in (1, 2, 3, 4, 5):
        assert value_of(asked, value, "a") == value
    else:
        with pytest.raises(DataError):
            value_of(asked, value, "a")


# Pairs


def test_a_choice_is_kept_in_the_items_own_frame() -> None:
    asked = ShownQuestion(LabelQuestion("overall", None, None, (), 0), None)
    assert [value_of(asked, given, "a") for given in ("left", "right", "tie")] == ["a", "b", "tie"]
    assert [value_of(asked, given, "b") for given in ("left", "right", "tie")] == ["b", "a", "tie"]
    for left in ("a", "b"):
        for side in ("left", "right", "tie"):
            assert answer_of(asked, value_of(asked, side, left), left) == side
    for wrong in ("a", "b", "", None, 1):
        with pytest.raises(DataError, match="tie"):
            value_of(asked, wrong, "a")


def test_sides_are_shuffled_evenly_and_stay_where_they_are() -> None:
    sides = [left_subject(0, "ann", f"i{k}") for k in range(2000)]
    assert sides == [left_subject(0, "ann", f"i{k}") for k in range(2000)]
    # Four standard deviations of 2,000 fair coins.
    assert abs(sides.count("a") - 1000) < 4 * (2000 * 0.25) ** 0.5
    same = sum(left_subject(0, "ben", f"i{k}") == side for k, side in enumerate(sides))
    assert abs(same - 1000) < 4 * (2000 * 0.25) ** 0.5


def test_fields_with_a_twin_are_shown_side_by_side() -> None:
    fields = {"task": "t", "response_a": "A", "response_b": "B", "note_a": "alone"}
    sheet = Sheet("k", Item("i", fields), tuple(fields), 1.0)  # type: ignore[arg-type]
    assert field_columns(sheet, "a") == (["task", "note_a"], [("response", "response_a", "response_b")])
    assert field_columns(sheet, "b") == (["task", "note_a"], [("response", "response_b", "response_a")])


def test_of_two_responses_the_left_one_is_asked_about_first() -> None:
    scale = Scale(1, 5, best=5, step=1)
    questions = [
        LabelQuestion("clarity", "a", scale, (), 0),
        LabelQuestion("clarity", "b", scale, (), 0),
        LabelQuestion("overall", None, None, (), 0),
    ]
    asked = asked_of(questions, "b")
    assert [(call.question.criterion, call.side, call.question.subject) for call in asked] == [
        ("clarity", "left", "b"),
        ("clarity", "right", "a"),
        ("overall", None, None),
    ]


# Names of raters


@pytest.mark.parametrize(
    "name", ["Ann", "김 지수", "李雷", "O'Neil", "ann@example.org", "<script>alert(1)</script>"]
)
def test_a_name_is_kept_as_it_is(name: str) -> None:
    assert rater_name(f"  {name} ") == name


@pytest.mark.parametrize(
    "name",
    ["", "  ", None, 3, "a\nb", "a\x00", "a\u202eb", "=1+1", "@x", "-x", "\uff1d1", "x" * 61, "\ud800"],
)
def test_a_reserved_name_is_refused(name: object) -> None:
    with pytest.raises(DataError):
        rater_name(name)


# A sitting


def test_the_items_are_those_of_sample_with_their_probabilities(store: Path) -> None:
    drawn = adjudge("sample", "one", "-n", "10", "--by", "system", "--seed", "7", "--store", store)
    rows = list(csv.DictReader(io.StringIO(drawn.out)))
    with open_session(store, "one", 10, 7) as session:
        assert [sheet.item.id for sheet in session.sheets] == [row["item"] for row in rows]
        assert [sheet.probability for sheet in session.sheets] == [float(row["probability"]) for row in rows]
        systems = [sheet.item.system for sheet in session.sheets]
    assert (systems.count("long"), systems.count("short")) == (5, 5)


def test_a_rater_is_shown_only_what_the_judge_was_shown(store: Path) -> None:
    with open_session(store, "one", 5) as session:
        assert {sheet.fields for sheet in session.sheets} == {("instruction", "response")}
        assert all("short" not in sheet.key and "long" not in sheet.key for sheet in session.sheets)


def test_trust_reads_what_was_labelled_without_a_file(store: Path) -> None:
    with open_session(store, "last", 12) as session:
        for sheet in session.sheets:
            number = int(str(sheet.item.fields["response"]).split()[1])
            session.give("ann", sheet.key, 0, number % 5 + 1)
        assert session.seen_by("ann").next_key() is None
        assert session.seen_by("ann").progress().n_done == 12
    card = adjudge("trust", "one", "--json", "--store", store).json
    item = card["criteria"]["tact"]["item"]
    assert item["pearson"]["n"] == 12
    assert item["pearson"]["value"] == pytest.approx(1.0)


def test_a_second_answer_takes_the_place_of_the_first(store: Path) -> None:
    with open_session(store, "one", 3) as session:
        key = session.sheets[0].key
        for value in (2, 5, 5, 4):
            session.give("ann", key, 0, value)
        session.give("ben", key, 0, 1)
        assert session.seen_by("ann").turn(key).answers == (4,)
    with open_store(store, write=False) as opened:
        labels = opened.labels(opened.run("one"))
    assert [(label.rater, label.value, label.origin) for label in labels] == [
        ("ann", 4, "annotate"),
        ("ben", 1, "annotate"),
    ]


def test_undo_takes_back_the_last_label_and_then_the_one_before(store: Path) -> None:
    with open_session(store, "one", 4) as session:
        label_all(session, "ann", 3, most=3)
        session.give("ben", session.sheets[0].key, 0, 5)
        assert [session.undo("ann") for _ in range(4)] == [
            *(sheet.key for sheet in session.sheets[2::-1]),
            None,
        ]
        assert session.seen_by("ann").progress().n_labels == 0
        assert session.seen_by("ben").progress().n_labels == 1


def test_undo_goes_on_after_a_restart(store: Path) -> None:
    with open_session(store, "one", 4) as session:
        label_all(session, "ann", 3, most=2)
        second = session.sheets[1].key
    with open_session(store, "one", 4) as session:
        assert session.undo("ann") == second
        assert session.seen_by("ann").next_key() == second


def test_skipped_items_come_back_when_they_are_called_for(store: Path) -> None:
    with open_session(store, "one", 3) as session:
        first = session.sheets[0].key
        session.skip("ann", first)
        assert session.seen_by("ann").next_key() == session.sheets[1].key
        assert session.seen_by("ben").next_key() == first
        assert label_all(session, "ann") == 2
        progress = session.seen_by("ann").progress()
        assert (progress.n_done, progress.n_skipped) == (2, 1)
        session.recall("ann")
        assert session.seen_by("ann").next_key() == first
    with open_session(store, "one", 3) as session:
        assert session.seen_by("ann").next_key() == first


def test_two_raters_on_two_servers_share_a_store(store: Path) -> None:
    with open_session(store, "one", 6) as ann, open_session(store, "one", 6) as ben:
        for turn in range(6):
            ann.give("ann", ann.sheets[turn].key, 0, 2)
            ben.give("ben", ben.sheets[turn].key, 0, 4)
        assert ann.seen_by("ben").progress().n_done == ben.seen_by("ann").progress().n_done == 6
    with open_store(store, write=False) as opened:
        assert len(opened.labels(opened.run("one"))) == 12


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_threads_that_come_and_go_leave_no_file_open(store: Path) -> None:
    with open_session(store, "one", 3) as session:
        key = session.sheets[0].key
        session.give("ann", key, 0, 3)
        n_before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            thread = threading.Thread(
                target=lambda: (session.seen_by("ann").turn(key), session.give("ann", key, 0, 4))
            )
            thread.start()
            thread.join()
        assert len(os.listdir("/proc/self/fd")) <= n_before + 2


def test_a_pair_is_asked_by_every_criterion_for_both_sides_and_for_the_better_one(pairs: Path) -> None:
    with open_session(pairs, "pairs") as session:
        key = session.sheets[0].key
        turn = session.seen_by("ann").turn(key)
        assert [call.side for call in turn.asked] == ["left", "right"] * 6 + [None]
        assert label_all(session, "ann", 4) == 26
    with open_store(pairs, write=False) as opened:
        labels = opened.labels(opened.run("pairs"))
    chosen = {label.item: label.value for label in labels if isinstance(label.value, str)}
    assert chosen == {label.item: left_subject(0, "ann", label.item) for label in labels}


def test_only_the_named_criteria_are_asked(pairs: Path) -> None:
    with open_session(pairs, "pairs", criteria=["clarity"]) as session:
        assert {question.criterion for question in session.questions} == {"clarity"}
    with pytest.raises(DataError, match=r"clarty.*accuracy, completeness"):
        open_session(pairs, "pairs", criteria=["clarty"])


def test_people_rate_from_one_to_five_where_the_judge_gives_log_probabilities() -> None:
    (question,) = label_questions([("fluency", None)], [load_protocol("gptscore/fluency")])
    assert [level.key for level in question.levels] == ["1", "2", "3", "4", "5"]
    assert question.note


def test_a_criterion_with_two_scales_in_one_run_says_which_one_is_meant() -> None:
    protocol, other = load_protocol("opinion-summary/fluency"), load_protocol("gptscore-ko/fluency")
    wide = structs.replace(other, criteria={"fluency": Scale(0, 10, best=10, step=1)})
    assert label_questions([("fluency", None)], [protocol, other])[0].note == ""
    (question,) = label_questions([("fluency", None)], [protocol, wide])
    assert "opinion-summary/fluency" in question.note


def test_labels_are_exported_as_a_file_that_trust_reads(store: Path, tmp_path: Path) -> None:
    with open_session(store, "one", 5) as session:
        label_all(session, "ann", 3)
    path = tmp_path / "labels.csv"
    done = adjudge("annotate", "one", "--export", path, "--store", store)
    assert done.code == 0
    assert all(word in done.err for word in ("5", str(path)))
    with open_store(store, write=False) as opened:
        kept = opened.labels(opened.run("one"))
    assert [(label.item, label.value, label.probability) for label in read_labels(path).labels] == [
        (label.item, label.value, label.probability) for label in kept
    ]
    again = adjudge("annotate", "one", "--export", path, "--store", store)
    assert again.code == 2
    assert "labels.csv" in again.err


def test_cells_of_an_export_come_back_as_they_were(tmp_path: Path) -> None:
    labels = [
        Label('a,"b\r\nc",d', "tact", "ann", 2.5, None, 0.25),
        Label("| a |", "tact", "<script>", "tie", "a", None),
    ]
    path = tmp_path / "labels.csv"
    path.write_text(labels_csv(labels), encoding="utf-8", newline="")
    assert [(label.item, label.rater, label.value, label.subject) for label in read_labels(path).labels] == [
        ('a,"b\r\nc",d', "ann", 2.5, None),
        ("| a |", "<script>", "tie", "a"),
    ]


def test_what_cannot_be_labelled_is_a_mistake(store: Path, tmp_path: Path) -> None:
    for arguments, named in [
        (("annotate", "none", "--store", store), "none"),
        (("annotate", "one", "--store", tmp_path / "no.db"), "no.db"),
        (("annotate", "one", "--rater", "=x", "--store", store), "="),
        (("annotate", "one", "--export", tmp_path / "x.csv", "--store", store), "one"),
        (("annotate", "one", "--criterion", "x", "--store", store), "tact"),
    ]:
        done = adjudge(*arguments, "--no-browser")
        assert done.code == 2, done.out
        assert named in done.err
        assert "Traceback" not in done.err
    assert not (tmp_path / "no.db").exists()
    with pytest.raises(AdjudgeError, match="one"):
        export_labels(store, "one", tmp_path / "x.csv")
