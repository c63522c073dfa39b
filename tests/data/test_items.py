"""Items as users write them: what is taken, what is refused, and in which words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from adjudge.data import FIELD_LIMIT, RESERVED, ItemFile
from adjudge.data.item_ids import is_content_id
from adjudge.errors import DataError
from adjudge.records import Item, Message


@pytest.fixture
def write(tmp_path: Path):
    """Writes lines (objects as JSON) to items.jsonl and gives its path."""

    def writer(*lines: object, name: str = "items.jsonl") -> Path:
        path = tmp_path / name
        path.write_text(
            "".join((x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)) + "\n" for x in lines),
            "utf-8",
        )
        return path

    return writer


def items_of(path: Path, **options: object) -> list[Item]:
    file = ItemFile(path, **options)  # type: ignore[arg-type]
    items = list(file) if file.check() else []
    assert len(items) == file.check()
    return items


def problem_of(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        ItemFile(path, **options).check()  # type: ignore[arg-type]
    return str(caught.value)


def test_reserved_keys_describe_the_item_and_all_others_are_fields(write):
    path = write({"id": "x", "system": "s", "group": "g", "summary": "text", "extra": "more"})
    assert items_of(path) == [Item("x", {"summary": "text", "extra": "more"}, "s", group="g", line=1)]


def test_a_pair_has_two_systems(write):
    (item,) = items_of(
        write({"id": 1, "system_a": "m", "system_b": "n", "response_a": "x", "response_b": "y"})
    )
    assert (item.system_a, item.system_b, item.system) == ("m", "n", "all")
    assert set(item.fields) == {"response_a", "response_b"}


def test_a_missing_id_is_a_hash_of_the_content_and_a_missing_system_is_all(write):
    items = items_of(write({"x": "1"}, "", {"x": "2", "id": None, "system": None, "group": None}))
    assert [(item.system, item.group, item.line, item.has_id) for item in items] == [
        ("all", None, 1, False),
        ("all", None, 3, False),
    ]
    assert all(is_content_id(item.id) for item in items)
    assert items[0].id != items[1].id


ROWS = [{"x": "1", "system": "s"}, {"x": "1", "system": "t"}, {"x": "1", "y": "z"}, {"x": ["a", 1]}]


@pytest.mark.parametrize("rows", [ROWS[::-1], [dict(reversed(row.items())) for row in ROWS]])
def test_the_id_of_the_content_does_not_depend_on_where_a_row_stands(write, rows):
    ids = [item.id for item in items_of(write(*ROWS))]
    assert len(set(ids)) == len(ROWS)
    assert sorted(item.id for item in items_of(write(*rows))) == sorted(ids)


def test_the_id_of_the_content_is_the_same_in_csv_and_with_a_map(write, tmp_path):
    (item,) = items_of(write({"answer": "yes", "n": 4.50, "note": "", "group": "g"}))
    path = tmp_path / "items.csv"
    path.write_text("n,answer,note,extra\n4.5,yes,,\n")
    for file in (ItemFile(path), ItemFile(path, {"response": "answer"})):
        assert [other.id for other in file] == [item.id]


def test_identical_rows_without_an_id_are_numbered(write):
    rows = [{"x": "1"}, {"x": "2"}, {"x": "1", "group": "other"}, {"x": "1"}]
    first, other, second, third = (item.id for item in items_of(write(*rows)))
    assert [second, third] == [f"{first}-2", f"{first}-3"]
    assert is_content_id(other)


def test_no_two_items_get_the_same_id(write):
    (item,) = items_of(write({"x": "1"}))
    assert "is already used on line 1" in problem_of(write({"x": "1"}, {"x": "2", "id": item.id}))
    rows = [{"x": "1"}, {"x": "1"}, {"x": "2", "id": f"{item.id}-2"}]
    assert "line 3: id" in problem_of(write(*rows))
    assert "line 3: id" in problem_of(write(rows[2], *rows[:2]))


@pytest.mark.parametrize(
    "written", ["4.50", "1E5", "1e999", "-0", "-0.0", "0", "123456789012345678901234567890", "9" * 5000]
)
def test_numbers_stay_as_they_are_written(write, written):
    (item,) = items_of(write(f'{{"x": {written}, "list": [{written}], "object": {{"n": {written}}}}}'))
    assert item.fields == {"x": written, "list": (written,), "object": f'{{"n": {written}}}'}
    assert all(type(value) is str for value in (item.fields["x"], *item.fields["list"]))


def test_numbers_are_taken_as_ids_systems_and_groups(write):
    (item,) = items_of(write('{"id": 7.10, "system": 3, "group": 2, "x": "y"}'))
    assert (item.id, item.system, item.group) == ("7.10", "3", "2")


def test_truth_values_null_objects_and_lists_become_text(write):
    (item,) = items_of(
        write({"t": True, "f": False, "n": None, "o": {"é": [1, "z"]}, "l": ["a", 2, None, {"k": 1}, True]})
    )
    assert item.fields == {
        "t": "true",
        "f": "false",
        "o": '{"é": [1, "z"]}',
        "l": ("a", "2", '{"k": 1}', "true"),
    }


def test_a_list_of_messages_is_a_transcript(write):
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": parts}]
    (item,) = items_of(write({"chat": turns}))
    assert item.fields == {"chat": (Message("user", "hi"), Message("assistant", "one two"))}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]},
            "part of type 'input_audio'",
        ),
        ({"role": "assistant", "content": None}, "no text as content"),
        ({"role": "assistant", "content": "", "tool_calls": [{"id": 1}]}, "a tool call without a name"),
        ({"role": "", "content": "x"}, "no role"),
    ],
)
def test_a_message_that_would_lose_something_is_refused(write, message, said):
    text = problem_of(write({"x": "fine"}, {"chat": [{"role": "user", "content": "hi"}, message]}))
    assert "line 2: message 2 of field 'chat'" in text
    assert said in text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "", "x": "y"}', "field 'id' is empty. Give each item a unique id, or leave 'id' out"),
        ('{"id": "  "}', "field 'id' is empty"),
        ('{"id": ["a"]}', "field 'id' is a list. Give a text or a number."),
        ('{"id": {}}', "field 'id' is an object"),
        ('{"id": true}', "field 'id' is true or false"),
        ('{"system": ""}', "field 'system' is empty"),
        ('{"group": []}', "field 'group' is a list"),
        ('{"system": "s", "system_a": "t"}', "both 'system' and 'system_a' are given"),
        ('{"x": "y"', "not JSON (expecting ',' delimiter at column 10). Each line must be one JSON object"),
        ('{"x": y}', "not JSON (expecting value at column 7)"),
        ('{"x": "y', "not JSON (unterminated string at column 7)"),
        ('{"x": 1} {"x": 2}', "not JSON (extra data at column 10)"),
        ("[1, 2]", "a list, not an object. Each line must be one JSON object"),
        ('"x"', "a text, not an object"),
        ("17", "a number, not an object"),
        ("null", "null, not an object"),
        ('{"x": 1, "x": 1}', "key 'x' is given twice"),
        ('{"x": 1, "\\u0078": 2}', "key 'x' is given twice"),
        ('{"x" :1, "x":2}', "key 'x' is given twice"),
        ('{"o": {"x": 1, "x": 2}}', "key 'x' is given twice"),
        ('{"x": "a\\u0000"}', "NUL character (\\u0000) at column 9. Remove it."),
        ('{"x": "a\0"}', "NUL character at column 9"),
        ('{"x": "a\\ud800"}', "lone surrogate \\ud800 at column 9"),
        ('{"x": "\\udc00\\ud800"}', "lone surrogate \\udc00 at column 8"),
        ('{"x": "\\ud83d\\ude00\\uD83D."}', "lone surrogate \\uD83D at column 20"),
        ('{"x": NaN}', "NaN is not JSON. Write null"),
        ('{"x": [-Infinity]}', "-Infinity is not JSON"),
        ('{"x": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_with_its_reason(write, line, said):
    text = problem_of(write({"x": "good"}, line, {"x": "good"}))
    assert text.splitlines()[0].endswith("items.jsonl: 1 problem")
    assert f"  line 2: {said}" in text


@pytest.mark.parametrize("name", ["items.jsonl", "items.json"])
def test_nesting_is_refused_at_every_depth_that_one_step_of_the_reading_cannot_take(write, name):
    for depth in [*range(950, 1010, 3), 2_000, 20_000]:
        line = '{"x": ' + "[" * depth + "]" * depth + "}"
        path = write(line if name == "items.jsonl" else f"[{line}]", name=name)
        assert "nested too deeply" in problem_of(path)


def test_escapes_that_only_look_bad_are_taken(write):
    (item,) = items_of(write(r'{"x": "\\u0000 \\ud800 \ud83d\ude00 \\", "y": "a\": b"}'))
    assert item.fields == {"x": "\\u0000 \\ud800 😀 \\", "y": 'a": b'}


def test_all_problems_come_in_one_error_in_the_order_of_the_file(write):
    text = problem_of(
        write({"id": "a"}, {"id": ""}, "{", {"id": "a"}, "[]"),
        check=lambda _: ["summary is missing. Add it."],
    )
    assert [line.split(":")[0].strip() for line in text.splitlines()[1:]] == [
        "line 1",
        "line 2",
        "line 3",
        "line 4",
        "line 4",
        "line 5",
    ]
    assert text.splitlines()[0].endswith("6 problems")
    assert "line 1: summary is missing. Add it." in text


def test_repeated_ids_name_both_lines_also_where_the_lines_are_identical(write):
    text = problem_of(write({"id": "a", "x": "1"}, {"id": "b"}, {"id": "a", "x": "1"}, {"id": "a", "x": "2"}))
    assert "line 3: id 'a' is already used on line 1" in text
    assert "line 4: id 'a' is already used on line 1" in text
    assert "2 problems" in text


def test_a_number_and_a_text_are_the_same_id(write):
    assert "line 2: id '1' is already used on line 1" in problem_of(write({"id": 1}, {"id": "1"}))


def test_different_ids_with_the_same_hash_are_different(write, monkeypatch):
    monkeypatch.setattr("adjudge.data.item_ids.hash", lambda _: 7, raising=False)
    assert len(items_of(write({"id": "a"}, {"id": "b"}, {"id": "c"}))) == 3
    assert "1 problem\n" in problem_of(write({"id": "a"}, {"id": "b"}, {"id": "a"}))


def test_a_field_over_the_limit_is_refused_with_its_size(write):
    assert len(items_of(write({"x": "é" * (FIELD_LIMIT // 2)}))) == 1
    text = problem_of(write({"x": "small"}, {"long": "é" * (FIELD_LIMIT // 2) + "x"}))
    assert "line 2: field 'long' has 10.0 MB (10000001 bytes); the limit is 10 MB" in text


@pytest.mark.slow
def test_a_line_beyond_all_limits_is_refused_and_the_next_one_read(write):
    text = problem_of(write({"x": "y" * 65_000_000}, {"id": ""}))
    assert "line 1: longer than 64 MB" in text
    assert "line 2: field 'id' is empty" in text


def test_bad_lines_can_be_left_out_and_are_listed(write):
    path = write({"id": "a"}, "{", {"id": "a"}, {"id": "b"}, {"id": "c", "x": "bad"}, {"id": "c"})
    file = ItemFile(path, check=lambda item: ["x is bad."] if "x" in item.fields else [])
    assert file.check(skip_bad=True) == 3
    assert [item.line for item in file] == [1, 4, 6]
    assert [text.split(":")[0] for text in file.bad()] == ["line 2", "line 3", "line 5"]


def test_the_bad_lines_can_be_asked_for_at_once(write):
    file = ItemFile(write({"id": "a"}, "{"))
    assert len(file.bad()) == 1
    assert [item.id for item in file] == ["a"]
    assert ItemFile(write({"id": "a"})).bad() == ()


def test_leaving_bad_lines_out_must_leave_an_item(write):
    with pytest.raises(DataError, match=r": 2 problems\n(.*\n)+No line can be used"):
        ItemFile(write("{", "}")).check(skip_bad=True)


@pytest.mark.parametrize("name", ["items.jsonl", "items.csv", "items.json"])
def test_an_empty_file_is_an_error(write, name):
    assert "no items" in problem_of(write(name=name))
    assert "no items" in problem_of(write("", "", name=name))


def test_unchecked_iteration_stops_at_the_first_bad_line(write):
    stream = iter(ItemFile(write({"id": "a"}, "{", {"id": "b"})))
    assert next(stream).id == "a"
    with pytest.raises(DataError, match=r"items.jsonl: line 2: not JSON"):
        next(stream)


def test_a_line_that_turned_bad_after_the_check_is_not_left_out_in_silence(write):
    file = ItemFile(write({"id": "a"}, "{"))
    file.check(skip_bad=True)
    write("{", "{")
    with pytest.raises(DataError, match="line 1"):
        list(file)


def test_a_field_is_taken_under_the_name_of_an_input(write):
    (item,) = items_of(
        write({"output": "text", "b": "1", "c": "2"}), renames={"response": "output", "b": "c", "c": "b"}
    )
    assert item.fields == {"response": "text", "b": "2", "c": "1"}


def test_a_field_may_be_absent_where_another_item_has_it(write):
    items = items_of(write({"output": "text"}, {"x": "y"}), renames={"response": "output"})
    assert [item.fields for item in items] == [{"response": "text"}, {"x": "y"}]


def test_a_renamed_field_that_no_item_has_is_an_error_even_where_bad_lines_are_left_out(write):
    path = write({"output": "text"}, "{")
    assert "map response=ouptut: no item has a field 'ouptut'. Did you mean 'output'?" in problem_of(
        path, renames={"response": "ouptut"}
    )
    assert "The fields are: output." in problem_of(path, renames={"response": "zzz"})
    with pytest.raises(DataError, match="no item has"):
        ItemFile(path, {"response": "zzz"}).check(skip_bad=True)


def test_a_renaming_may_give_the_reserved_keys(write):
    path = write({"item_id": "a", "doc": "d", "model": "m", "output": "y"})
    renames = {"id": "item_id", "group": "doc", "system": "model", "response": "output"}
    (item,) = ItemFile(path, renames)
    assert (item.id, item.group, item.system, item.fields["response"]) == ("a", "d", "m", "y")


def test_a_field_that_names_the_group_may_be_an_input_too(write):
    (item,) = ItemFile(write({"question": "Why?", "answer": "So."}), {"group": "question"})
    assert (item.group, item.fields) == ("Why?", {"question": "Why?", "answer": "So."})


def test_one_problem_of_many_lines_is_reported_once(write):
    text = problem_of(write(*[{"x": "1"}] * 9), check=lambda _item: ["field 'response' is missing. Add it."])
    counted, problem, remark = text.splitlines()
    assert counted.endswith("1 problem")
    assert problem == "  lines 1, 2, 3, … (9 lines): field 'response' is missing. Add it."
    assert remark.startswith("No line can be used.")


def test_a_renaming_from_no_field_is_said_where_every_line_lacks_the_input(write):
    text = problem_of(
        write(*[{"answer": "1"}] * 9),
        renames={"response": "anser"},
        check=lambda item: [] if "response" in item.fields else ["field 'response' is missing."],
    )
    assert "map response=anser: no item has a field 'anser'. Did you mean 'answer'?" in text


def test_a_renaming_is_not_blamed_where_no_line_could_be_read(write):
    assert "map" not in problem_of(write("{", "}"), renames={"response": "output"})


def test_a_renaming_may_not_replace_a_field(write):
    path = write({"id": "a", "response": "x", "output": "y"})
    assert "line 1: map response=output: the item has a field 'response' too" in problem_of(
        path, renames={"response": "output"}
    )


def test_one_item_is_found_by_its_line(write):
    file = ItemFile(write({"id": "a"}, "", {"id": "b"}, "{"))
    assert file.item(3).id == "b"
    for number, said in (
        (0, "line 0: there is no item"),
        (2, "line 2: there is no item"),
        (4, "line 4: not JSON"),
        (9, "line 9: there is no such item. The last one is number 4."),
    ):
        with pytest.raises(DataError, match=said):
            file.item(number)


def test_one_item_of_a_csv_file_is_found_by_its_record(write):
    file = ItemFile(write("id,x", 'a,"two\nlines"', "short", "b,1", name="items.csv"))
    assert (file.item(1).id, file.item(3).id) == ("a", "b")
    with pytest.raises(DataError, match="record 2: 1 cell where the header has 2"):
        file.item(2)
    with pytest.raises(DataError, match=r"record 4: there is no such item\. The last one is number 3\."):
        file.item(4)


def test_real_files_of_items_read_as_they_are(shared):
    paths = sorted((shared / "data").glob("*.items.jsonl.gz"))
    assert len(paths) > 5
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        file = ItemFile(path)
        assert file.check() == len(rows)
        for row, item in zip(rows, file, strict=True):
            texts = {
                key: value for key, value in row.items() if isinstance(value, str) and key not in RESERVED
            }
            assert {key: item.fields[key] for key in texts} == texts
            assert item.system == row.get("system", "all")
