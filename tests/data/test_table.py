"""Files as they come from other programs: encodings, gzip, CSV, JSON lists, Parquet."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.data import ItemFile, Problems, Table, WrittenNumber
from adjudge.errors import DataError

TWO = '{"id": "a", "x": "é\u2028 한"}\n{"id": "b", "x": "😀"}\n'


def fields(path: Path) -> list[dict[str, object]]:
    file = ItemFile(path)
    assert file.check() == len(list(file))
    return [dict(item.fields) for item in file]


def problem(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        ItemFile(path).check()
    return str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_unicode_encoding_is_recognised(tmp_path, encoding, packed):
    data = TWO.replace("\n", "\r\n").encode(encoding)
    path = tmp_path / ("items.jsonl.gz" if packed else "items.jsonl")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert fields(path) == [{"x": "é\u2028 한"}, {"x": "😀"}]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised_in_chinese(tmp_path, encoding):
    text = "一个一言一行，一心一意。" * 30  # 一 is U+4E00: a NUL on the other side
    path = tmp_path / "items.csv"
    path.write_bytes(f"id,文章\n1,{text}\n".encode(encoding))
    assert fields(path) == [{"文章": text}]
    path.write_bytes(f"文章,title,response\n{text[:12]},about,short\n".encode(encoding))
    assert fields(path) == [{"文章": text[:12], "title": "about", "response": "short"}]


def test_utf_16_is_decoded_across_blocks(tmp_path):
    lines = [json.dumps({"x": f"{n} 한국어 😀 text"}, ensure_ascii=False) for n in range(20_000)]
    path = tmp_path / "items.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-16"))
    assert [row["x"] for row in fields(path)] == [f"{n} 한국어 😀 text" for n in range(20_000)]


def test_a_line_longer_than_a_block_is_one_line(tmp_path):
    texts = ["a" * 1_000_000, "b", "c" * 600_000]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(json.dumps({"x": text}) for text in texts))
    assert [row["x"] for row in fields(path)] == texts


@pytest.mark.parametrize("name", ["items.jsonl", "items.csv", "items.json"])
def test_latin_1_is_an_error_that_names_the_byte_and_the_line(tmp_path, name):
    path = tmp_path / name
    start = {"items.csv": "x\n", "items.json": '[{"x":\n'}.get(name, '{"x": "y"}\n')
    path.write_bytes((start + '{"x": "été"}').encode("latin-1"))
    assert "line 2: not UTF-8 (byte 0xe9 at column 8). Save the file as UTF-8" in problem(path)


def test_damaged_utf_16_is_an_error(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(TWO.encode("utf-16") + b"\x00\xd8\x41\x00")
    assert "not valid UTF-16" in problem(path)


def test_nul_bytes_in_utf_8_are_not_taken_for_utf_16(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'{"x": "a\0b"}\n')
    assert "line 1: NUL character at column 9" in problem(path)


def test_a_damaged_gzip_file_is_an_error_beside_the_problems_before_it(tmp_path):
    path = tmp_path / "items.jsonl.gz"
    whole = gzip.compress(b'{"id": ""}\n' + b"".join(b'{"x": "%d"}\n' % n for n in range(200_000)))
    path.write_bytes(whole[: len(whole) // 2])
    text = problem(path)
    assert "gzip data is damaged" in text
    assert "line 1: field 'id' is empty" in text
    path.write_bytes(whole[:200] + b"\0" * 50 + whole[250:])
    assert "gzip data is damaged" in problem(path)


def test_gzip_and_its_suffix_must_go_together(tmp_path):
    path = tmp_path / "items.jsonl.gz"
    path.write_text("{}")
    assert "items.jsonl.gz: not gzip data" in problem(path)
    path = tmp_path / "items.jsonl"
    path.write_bytes(gzip.compress(b"{}"))
    assert "Give it a name that ends in .gz" in problem(path)


def test_a_path_that_cannot_be_read_is_an_error(tmp_path):
    assert problem(tmp_path / "none.jsonl").endswith(
        "none.jsonl: there is no such file. Check the name and the folder."
    )
    for name in ("folder", "folder.jsonl", "folder.parquet"):
        (tmp_path / name).mkdir()
        assert "a folder, not a file" in problem(tmp_path / name)
    assert "cannot be read" in problem(Path("nul\0.jsonl"))
    (tmp_path / "items.docx").touch()
    assert ".jsonl, .ndjson, .json, .csv, .tsv, .parquet, .xlsx" in problem(tmp_path / "items.docx")


def test_a_file_that_may_not_be_read_is_an_error(tmp_path, monkeypatch):
    def refuse(*_args: object, **_options: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    assert "permission denied. Check its permissions." in problem(tmp_path / "items.jsonl")


def test_csv_cells_may_hold_quotes_separators_and_line_ends(tmp_path):
    path = tmp_path / "items.csv"
    path.write_bytes(b'id,x,y\r\n1,"a ""b"", c\r\nd",\r\n\r\n2,=1+1,plain\r\n')
    assert fields(path) == [{"x": 'a "b", c\r\nd'}, {"x": "=1+1", "y": "plain"}]
    assert [item.line for item in ItemFile(path)] == [2, 5]


def test_the_line_of_a_csv_row_is_the_one_at_which_it_starts(tmp_path):
    path = tmp_path / "items.tsv"
    path.write_text('x\ty\n"1\n2"\ta,b\n3\t\n')
    assert [(item.line, dict(item.fields)) for item in ItemFile(path)] == [
        (2, {"x": "1\n2", "y": "a,b"}),
        (4, {"x": "3"}),
    ]


def test_bad_csv_rows_are_listed_with_their_lines(tmp_path):
    path = tmp_path / "items.csv"
    path.write_bytes(b'id,x\n1,a,b\n2\n3,"q"q\n4,"\n\xe9"\n5,a\rb\n6,\0\n7,fine\n7,again\n')
    said = [
        "line 2: 3 cells where the header has 2.",
        "line 3: 1 cell where the header has 2.",
        "line 4: quotes are not closed properly",
        "line 5: in line 6: not UTF-8 (byte 0xe9 at column 1)",
        "line 7: a carriage return outside quotes",
        "line 8: NUL character at column 3",
        "line 10: id '7' is already used on line 9",
    ]
    *lines, remark = problem(path).splitlines()[1:]
    assert "--skip-bad" in remark
    assert len(lines) == len(said)
    assert all(line.strip().startswith(start) for line, start in zip(lines, said, strict=True))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"id,x,y,x,id\n", "line 1: the header names 'id', 'x' more than once"),
        (b"id;x;x\n1;2;3\n", "line 1: the header names 'x' more than once"),
        (b"id;x\n1;2\n3;4;5\n", "line 3: 3 cells where the header has 2"),
        (b"id,\xe9\n", "line 1: not UTF-8 (byte 0xe9 at column 4)"),
        (b'id,"x\n1,2\n', "line 1: a quote that opens in this row is never closed"),
        (b'id,x\n1,2\n2,"open\n3,4\n', "line 3: a quote that opens in this row is never closed"),
        (b"id,x\n", "no items"),
        (b"\n\nid,x\n1\n", "line 4: 1 cell where the header has 2"),
    ],
)
def test_a_csv_file_that_cannot_be_read_on_is_an_error(tmp_path, data, said):
    path = tmp_path / "items.csv"
    path.write_bytes(data)
    assert said in problem(path)


def test_rows_that_an_open_quote_swallows_are_never_left_out_as_one_bad_row(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('id,x\n1,2\n2,"open\n3,4\n4,5\n')
    with pytest.raises(DataError, match="line 3: a quote that opens in this row is never closed"):
        ItemFile(path).check(skip_bad=True)


def test_a_long_csv_cell_is_read_and_one_beyond_the_limit_refused(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(f"x,y\n{'a' * 1_000_000},1\n")
    assert len(str(fields(path)[0]["x"])) == 1_000_000
    path.write_text(f"x,y\n{'a' * 10_000_001},1\n2,3\n")
    assert "line 2: field 'x' has 10.0 MB (10000001 bytes); the limit is 10 MB" in problem(path)
    assert ItemFile(path).check(skip_bad=True) == 1


def test_a_json_file_holds_a_list_of_objects(tmp_path):
    path = tmp_path / "items.json"
    path.write_text('\n[ {"x": 4.50},\n {"id": "b", "x": [1, 2.0]} ]\n')
    assert [(item.line, dict(item.fields)) for item in ItemFile(path)] == [
        (1, {"x": "4.50"}),
        (2, {"x": ("1", "2.0")}),
    ]
    path.write_text('[{"id": "a"}, 3, {"x": NaN}, {"id": "a"}]')
    lines = problem(path).splitlines()
    assert lines[1].startswith("  record 2: a number, not an object.")
    assert lines[2].startswith("  record 3: NaN is not JSON.")
    assert lines[3].startswith("  record 4: id 'a' is already used on record 1.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"x": 1}', "not a list. A .json file must hold a list"),
        ('[{"x": 1},\n', "line 2 column 1: not JSON"),
        ('[{"x": 1}\n {', "line 2 column 2: expected a comma or the closing bracket"),
        ('[{"x": 1}] []', "line 1 column 12: text after the list's end"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "no items"),
    ],
)
def test_a_json_file_that_is_no_list_is_an_error(tmp_path, text, said):
    path = tmp_path / "items.json"
    path.write_text(text)
    assert said in problem(path)


def test_parquet_values_become_what_json_would_give(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "items [1].parquet"
    rows = {"id": [1, 2], "x": ["é", None], "n": [4.5, 2.0], "b": [True, None], "l": [["a", "b"], []],
            "m": [[{"role": "user", "content": "hi"}], None]}  # fmt: skip
    polars.DataFrame(rows).write_parquet(path)
    first, second = ItemFile(path)
    assert (first.id, first.fields["x"], first.fields["n"], first.fields["b"], first.fields["l"]) == (
        "1",
        "é",
        "4.5",
        "true",
        ("a", "b"),
    )
    assert first.fields["m"][0].content == "hi"
    assert second.fields == {"n": "2.0", "l": ()}
    packed = tmp_path / "items.parquet.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(ItemFile(packed)) == [first, second]


def test_parquet_streams_in_slices_and_numbers_its_records(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "items.parquet"
    polars.DataFrame({"x": [str(n) for n in range(12_345)]}).write_parquet(path, row_group_size=1000)
    file = ItemFile(path)
    assert file.check() == 12_345
    assert [item.line for item in file] == [n + 1 for n in range(12_345)]
    assert file.item(12_345).fields == {"x": "12344"}


def test_bad_parquet_values_are_listed_with_their_records(tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "items.parquet"
    polars.DataFrame(
        {"id": ["a", "b", "c", "a"], "x": [float("nan"), 1.0, 2.0, 3.0], "y": ["", "a\0", "", ""]}
    ).write_parquet(path)
    lines = problem(path).splitlines()[1:]
    assert [line.split(".")[0].strip() for line in lines[:2]] == [
        "record 1: field 'x' is nan",
        "record 2: NUL character in field 'y'",
    ]
    polars.DataFrame({"x": [b"bytes"]}).write_parquet(path)
    assert "record 1: field 'x' holds bytes" in problem(path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"PAR1" + data[40:],
        lambda data: data[:-6],
        lambda _: b"no parquet",
        lambda data: data[:4] + b"\xff" * (len(data) - 8) + b"PAR1",
    ],
)
def test_a_damaged_parquet_file_is_an_error(tmp_path, damage):
    polars = pytest.importorskip("polars")
    path = tmp_path / "items.parquet"
    polars.DataFrame({"x": ["a" * 50, "b"]}).write_parquet(path)
    path.write_bytes(damage(path.read_bytes()))
    assert "arquet" in problem(path)


def test_parquet_without_polars_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    (tmp_path / "items.parquet").write_bytes(b"PAR1")
    assert "pip install 'adjudge[data]'" in problem(tmp_path / "items.parquet")


def test_polars_is_imported_only_for_parquet():
    code = "import adjudge.data, sys; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_table_gives_rows_to_readers_of_other_things(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text('{"item": "a", "value": 4.0}\n{\n{"item": "b", "value": 3}\n')
    table = Table(path)
    problems = Problems(table)
    rows = list(table.rows(problems.add))
    assert rows == [(1, {"item": "a", "value": "4.0"}), (3, {"item": "b", "value": 3})]
    assert isinstance(rows[0][1]["value"], WrittenNumber)
    problems.add(3, "later.")
    problems.add(0, "about the file.")
    assert [text.split(":")[0] for text in problems.texts()] == ["about the file.", "line 2", "line 3"]
    assert str(problems.error()).startswith(f"{path}: 3 problems\n  about the file.")
