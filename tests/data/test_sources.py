"""Tables from everywhere: semicolons, Excel, the Hugging Face hub, standard input, nested fields, frames."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.data import ItemFile, Table, addresses, local_file, read_labels, read_scores, rows_of_frame
from adjudge.errors import DataError
from adjudge.records import Item

ROWS = [
    {"id": "1", "task": "Add.", "response": "4"},
    {"id": "2", "task": "Name it.", "response": 'Paris, "here"'},
]


def items_of(path: str | Path, renames: dict[str, str] | None = None) -> list[tuple[str, dict[str, Any]]]:
    file = ItemFile(path, renames)
    file.check()
    return [(item.id, dict(item.fields)) for item in file]


def expected() -> list[tuple[str, dict[str, Any]]]:
    return [(row["id"], {"task": row["task"], "response": row["response"]}) for row in ROWS]


def as_csv(separator: str) -> bytes:
    lines = [separator.join(("id", "task", "response"))]
    lines += [separator.join('"' + value.replace('"', '""') + '"' for value in row.values()) for row in ROWS]
    return "\n".join(lines).encode() + b"\n"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_file_may_have_semicolons_or_tabs(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "items.csv"
    path.write_bytes(as_csv(separator))
    assert items_of(path) == expected()


def test_a_comma_in_the_header_decides_against_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("id,a;b\n1,2\n")
    assert items_of(path) == [("1", {"a;b": "2"})]


def test_an_excel_file_is_read_from_its_first_sheet(tmp_path: Path) -> None:
    path = tmp_path / "items.xlsx"
    path.write_bytes(
        workbook([["id", "task", "response", "n"], ["1", "Add.", "4", 2.5], ["2", "Name it.", "Paris", None]])
    )
    assert items_of(path) == [
        ("1", {"task": "Add.", "response": "4", "n": "2.5"}), ("2", {"task": "Name it.",
        "response": "Paris"}),
    ]  # fmt: skip


def test_what_is_no_excel_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "items.xlsx"
    path.write_text("id,task\n")
    with pytest.raises(DataError, match=r"items\.xlsx: not an Excel file"):
        items_of(path)


@pytest.mark.parametrize(
    ("name", "reader"),
    [("data/train-00000.parquet", "scan_parquet"), ("train.csv", "scan_csv"), ("train.jsonl", "scan_ndjson")],
)
def test_an_address_on_the_hub_reaches_polars(
    monkeypatch: pytest.MonkeyPatch, name: str, reader: str
) -> None:
    asked = []
    scan_file = getattr(pl, reader)

    def scan(address: str | Path, **settings: Any) -> pl.LazyFrame:
        if not str(address).startswith("hf:"):
            return scan_file(address, **settings)
        asked.append(address)
        return pl.LazyFrame(ROWS)

    monkeypatch.setattr(pl, reader, scan)
    monkeypatch.setattr(addresses, "_COPIES", {})
    address = f"hf://datasets/some/{name}"
    assert items_of(address) == expected()
    assert items_of(Path(address)) == expected(), "a path has lost one of the two slashes"
    assert asked == [address], "it is downloaded once"


def test_a_table_that_the_hub_does_not_have_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def scan(_: str) -> pl.LazyFrame:
        raise OSError("404")

    monkeypatch.setattr(pl, "scan_parquet", scan)
    monkeypatch.setattr(addresses, "_COPIES", {})
    with pytest.raises(DataError, match=r"hf://datasets/some/x\.parquet.*404.*HF_TOKEN"):
        local_file("hf://datasets/some/x.parquet")


def parquet() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        (b"".join(json.dumps(row).encode() + b"\n" for row in ROWS), ".jsonl"),
        (json.dumps(ROWS).encode(), ".json"),
        (as_csv(","), ".csv"),
        (as_csv(";"), ".csv"),
        (as_csv("\t"), ".tsv"),
        (gzip.compress(as_csv(","), mtime=0), ".csv.gz"),
        (json.dumps(ROWS).encode("utf-16"), ".json"),
        (parquet(), ".parquet"),
    ],
)  # fmt: skip
def test_standard_input_is_read_by_its_content(
    monkeypatch: pytest.MonkeyPatch, data: bytes, suffix: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    monkeypatch.setattr(addresses, "_COPIES", {})
    assert items_of("-") == expected()
    assert "".join(Table("-").path.suffixes) == suffix


NESTED = {
    "id": "1", "inputs": {"question": "Add."}, "outputs": {"answer": "4", "all": [{"text": "four"}]},
    "a.b": "flat",
}  # fmt: skip


def test_a_field_inside_others_is_found_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(NESTED) + "\n")
    renames = {
        "task": "inputs.question",
        "response": "outputs.answer",
        "first": "outputs.all.0.text",
        "flat": "a.b",
    }
    [(_, fields)] = items_of(path, renames)
    assert {name: fields[name] for name in renames} == {
        "task": "Add.", "response": "4", "first": "four", "flat": "flat",
    }  # fmt: skip
    assert "inputs" in fields, "a field that another is taken from stays"


def test_a_field_may_be_replaced_by_a_part_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"id": "1", "response": {"text": "4"}}\n')
    assert items_of(path, {"response": "response.text"}) == [("1", {"response": "4"})]


def test_a_path_that_no_item_has_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(NESTED) + "\n")
    with pytest.raises(DataError, match=r"map response=outputs\.text: no item has a field 'outputs\.text'"):
        items_of(path, {"response": "outputs.text"})


def test_frames_become_rows_with_plain_values() -> None:
    import datetime

    import pandas as pd

    values = {
        "id": [1, 2],
        "score": [0.5, None],
        "tags": [["a"], []],
        "day": [datetime.date(2026, 1, 2), None],
    }
    rows = [
        {"id": 1, "score": 0.5, "tags": ["a"], "day": "2026-01-02"}, {"id": 2, "score": None, "tags": [],
        "day": None},
    ]  # fmt: skip
    assert list(rows_of_frame(pl.DataFrame(values)) or ()) == rows
    assert list(rows_of_frame(pl.LazyFrame(values)) or ()) == rows
    assert list(rows_of_frame(pd.DataFrame(values)) or ()) == rows
    assert rows_of_frame(ROWS) is None
    assert rows_of_frame([Item("1", {})]) is None


def test_labels_need_no_criterion_and_no_rater(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,value\n1,4\n2,5\n")
    labels = read_labels(path).labels
    assert [(label.item, label.criterion, label.rater, label.value) for label in labels] == [
        ("1", "", "rater", 4.0), ("2", "", "rater", 5.0),
    ]  # fmt: skip
    path.write_text("item,value\n1,4\n1,5\n")
    with pytest.raises(DataError, match="name the raters in a column 'rater'"):
        read_labels(path)


def test_a_misspelt_column_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,critereon,value\n1,tact,4\n")
    with pytest.raises(DataError, match="Rename 'critereon' to 'criterion'"):
        read_labels(path)


def test_an_empty_criterion_is_a_mistake_where_there_is_a_column_for_it(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(
        '{"item": 1, "criterion": "tact", "value": 4}\n{"item": 2, "criterion": "", "value": 4}\n'
    )
    with pytest.raises(DataError, match="line 2: 'criterion' is empty"):
        read_labels(path)


def test_columns_of_labels_and_scores_can_be_mapped(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("question_id,rating\n1,4\n")
    renames = {"item": "question_id", "value": "rating"}
    [label] = read_labels(path, renames).labels
    assert (label.item, label.value) == ("1", 4.0)
    [result] = read_scores(path, renames).results
    assert (result.item, result.criterion, result.value) == ("1", "score", 4.0)
    with pytest.raises(DataError, match="map value=ratting: no row has a column 'ratting'"):
        read_labels(path, {"item": "question_id", "value": "ratting"})


def workbook(rows: list[list[Any]]) -> bytes:
    """The smallest Excel file with these rows: no package that writes one is needed."""
    import zipfile
    from xml.sax.saxutils import escape

    def cell(value: Any, place: str) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f'<c r="{place}"><v>{value}</v></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    body = "".join(
        f'<row r="{n}">'
        + "".join(cell(value, f"{chr(65 + at)}{n}") for at, value in enumerate(row))
        + "</row>"
        for n, row in enumerate(rows, 1)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
                               f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',  # noqa: E501
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
                       f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="a" sheetId="1" '
                           f'r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
                                      f'Type="{office}/worksheet" '
                                      f'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{body}</sheetData></worksheet>',
    }  # fmt: skip
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return buffer.getvalue()
