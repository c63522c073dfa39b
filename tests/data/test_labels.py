"""Labels of people, and scores made elsewhere."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.data import ItemFile, hash_of_row, read_labels, read_scores, text_hash_on
from adjudge.errors import AdjudgeError, DataError
from adjudge.protocols import load_protocol


def write(folder: Path, text: str, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_labels_are_read_with_what_they_need_and_no_more(tmp_path: Path) -> None:
    text = (
        "item,criterion,rater,value,probability,response\n1,tact,ann,4,0.5,Hello\n1,tact,bob,3.5,0.5,"
        "Hello\n2,tact,ann,,0.5,Hi\n3,better,ann,tie,,x\n"
    )
    label_file = read_labels(write(tmp_path, text))
    assert [(label.item, label.rater, label.value, label.probability) for label in label_file.labels] == [
        ("1", "ann", 4.0, 0.5),
        ("1", "bob", 3.5, 0.5),
        ("3", "ann", "tie", None),
    ]
    assert label_file.n_empty == 1


def test_all_problems_of_a_label_file_come_at_once(tmp_path: Path) -> None:
    text = (
        "item,criterion,rater,value,probability\n1,tact,ann,good,\n1,tact,,4,\n2,tact,ann,4,7\n3,tact,"
        "ann,1_0,\n4,tact,ann,4,\n4,tact,ann,5,\n"
    )
    with pytest.raises(DataError) as error:
        read_labels(write(tmp_path, text))
    message = str(error.value)
    for part in (
        "line 2: value 'good'",
        "line 3: 'rater' is empty",
        "line 4: probability '7'",
        "line 5: value '1_0'",
        "line 7: rater 'ann' has already labelled item '4' on 'tact' (line 6)",
    ):
        assert part in message, message


def test_a_missing_column_is_said_once_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"column 'rater' is missing; .* Rename 'raters' to 'rater'") as error:
        read_labels(write(tmp_path, "item,criterion,raters,value\n1,tact,ann,4\n2,tact,ann,4\n"))
    assert "1 problem" in str(error.value)


def test_missing_columns_are_reported_with_those_found_and_those_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read_labels(write(tmp_path, "id,criterion,text\n1,tact,4\n"))
    assert str(error.value).endswith(
        "1 problem\n  column 'item' is missing; found: id, criterion, text; needed: item, criterion, rater, "
        "value. "
        "Name the column that holds it with --map item=COLUMN."
    )


def test_an_unfilled_label_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Fill in the column 'value'"):
        read_labels(write(tmp_path, "item,criterion,rater,value\n1,tact,ann,\n"))


def test_scores_made_elsewhere_become_results_and_an_empty_one_a_failure(tmp_path: Path) -> None:
    rows = (
        '{"item": 1, "system": "x", "criterion": "tact", "value": 4, "group": "g"}\n{"item": 2, '
        '"criterion": "tact", "value": null}\n{"item": 3, "criterion": "better", "value": "a"}\n'
    )
    first, second, third = read_scores(write(tmp_path, rows, "scores.jsonl")).results
    assert (first.item, first.system, first.group, first.value, first.status) == ("1", "x", "g", 4.0, "ok")
    assert (second.system, second.value, second.status, second.n_failed) == ("all", None, "unparsed", 1)
    assert (third.value, third.choice) == (None, "a")


@given(st.binary(max_size=300))
def test_any_file_gives_labels_or_an_error_that_says_why(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    path.write_bytes(b"item,criterion,rater,value\n" + content)
    for read in (read_labels, read_scores):
        with suppress(AdjudgeError):
            assert read(path)


def test_an_empty_cell_in_the_first_row_is_no_missing_column(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: 'rater' is empty"):
        read_labels(write(tmp_path, "item,criterion,rater,value\n1,tact,,4\n2,tact,ann,4\n"))


@pytest.mark.parametrize(
    "text",
    [
        "item, criterion, rater, value\n1, tact, ann, 4\n2, tact, ann, 5\n",
        "item;criterion;rater;value\n1;tact;ann;4\n2;tact;ann;5\n",
        "value,rater,criterion,note,item\n4,ann ,tact ,,1\n5,ann,tact,,2\n",
        "\ufeffitem,criterion,rater,value\r\n1,tact,ann,4\r\n2,tact,ann,5\r\n",
    ],
)
def test_a_table_is_read_as_people_write_it(tmp_path: Path, text: str) -> None:
    plain = read_labels(write(tmp_path, "item,criterion,rater,value\n1,tact,ann,4\n2,tact,ann,5\n"))
    assert read_labels(write(tmp_path, text, "other.csv")).labels == plain.labels


def test_a_column_that_is_empty_in_every_row_is_as_if_it_were_missing(tmp_path: Path) -> None:
    empty = read_labels(write(tmp_path, "item,criterion,rater,value\n1,,,4\n2,,,5\n"))
    missing = read_labels(write(tmp_path, "item,value\n1,4\n2,5\n", "short.csv"))
    assert empty.labels == missing.labels


def test_a_space_that_belongs_to_the_text_stays(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("id,task,response\n1, a, b\n", encoding="utf-8")
    (item,) = ItemFile(path)
    assert dict(item.fields) == {"task": " a", "response": " b"}


def test_a_conversation_in_json_has_the_hash_of_its_item(tmp_path: Path) -> None:
    text = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]'
    (tmp_path / "items.jsonl").write_text(json.dumps({"id": "q", "conversation": text}))
    (item,) = ItemFile(tmp_path / "items.jsonl")
    protocol = load_protocol("dialogue/goal")
    (criterion,) = protocol.criteria
    found = hash_of_row(criterion, {"conversation": text}, [protocol])
    assert found is not None
    assert found == text_hash_on(criterion, [protocol], item.fields)
