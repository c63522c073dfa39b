"""Small files that would fill the memory: refused, or read in parts, before anything large is allocated."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from adjudge.data import ItemFile, Table, encoding, table
from adjudge.data.encoding import BrokenFileError
from adjudge.data.parquet_bounds import check_parquet
from adjudge.errors import DataError

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>id</t></is></c></row>'


def workbook(path: Path, sheet: str, strings: str = "", **more: str) -> Path:
    """An Excel file with a sheet, shared texts and further parts."""
    relations = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(
            [("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml")], 1
        )
    )
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{relations}</Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        **more,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    problems: list[str] = []
    rows = [row for _, row in Table(path).rows(lambda _, text: problems.append(text))]
    assert not problems, problems
    return rows


def bad_rows(path: Path) -> list[str]:
    problems: list[str] = []
    assert list(Table(path).rows(lambda _, text: problems.append(text))) == []
    return problems


def refusal(path: Path) -> str:
    with pytest.raises(BrokenFileError) as caught:
        rows_of(path)
    return str(caught.value)


def test_a_workbook_with_shared_texts_is_read(tmp_path: Path) -> None:
    shared = HEAD + '<row r="2"><c r="A2" t="s"><v>1</v></c></row>'
    path = workbook(tmp_path / "a.xlsx", shared, "<si><t>no</t></si><si><r><t>yes</t></r></si>")
    assert rows_of(path) == [{"id": "yes"}]


@pytest.mark.parametrize(
    "sheet",
    [
        HEAD + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        HEAD + "<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>",
        HEAD + '<row r="1048576"><c><v>1</v></c><c r="$XFD$2"><v>1</v></c></row>',
        HEAD + '<x:row xmlns:x="http://x" r="1048576"><x:c r="xfd1048576"/></x:row>',
    ],
)
def test_cells_that_are_far_apart_are_refused(tmp_path: Path, sheet: str) -> None:
    assert "cells, counted with the empty ones" in refusal(workbook(tmp_path / "far.xlsx", sheet))


@pytest.mark.parametrize(
    "sheet",
    [
        HEAD + '<row r="99999999999"><c r="ZZZZZZ99999999999"><v>1</v></c></row>',
        HEAD + '<row r="1048577"><c><v>1</v></c></row>',
        HEAD + '<row r="2"><c r="XFE2"><v>1</v></c></row>',
        HEAD + '<row r="0"><c><v>1</v></c></row>',
        HEAD + '<row r="-1"><c><v>1</v></c></row>',
        HEAD + '<row><c r="A0"><v>1</v></c></row>',
        HEAD + '<row><c r="7"><v>1</v></c></row>',
    ],
)
def test_cells_where_no_sheet_has_any_are_refused(tmp_path: Path, sheet: str) -> None:
    assert "no sheet has a" in refusal(workbook(tmp_path / "nowhere.xlsx", sheet))


def test_a_panic_of_the_reader_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panics(*_: Any, **__: Any) -> None:
        raise PanicException("capacity overflow")

    monkeypatch.setattr(pl, "read_excel", panics)
    assert "capacity overflow" in refusal(workbook(tmp_path / "panic.xlsx", HEAD))


def test_a_text_that_is_shown_in_many_cells_is_counted_for_each(tmp_path: Path) -> None:
    sheet = HEAD + '<row><c t="s"><v>0</v></c></row>' * 500
    strings = f"<si><t>{'a' * 1_000_000}</t></si>"
    path = workbook(tmp_path / "many.xlsx", sheet, strings)
    assert path.stat().st_size < 10_000
    assert "500 MB of text" in refusal(path)
    hidden = workbook(tmp_path / "hidden.xlsx", f"<si/>{sheet}", strings)
    assert "500 MB of text" in refusal(hidden)


@pytest.mark.slow
def test_the_parts_of_a_workbook_are_counted_as_they_come_out(tmp_path: Path) -> None:
    path = workbook(tmp_path / "bomb.xlsx", HEAD, **{"xl/more.xml": f"<a>{' ' * 201_000_000}</a>"})
    assert "more than 200 MB" in refusal(path)
    # The same with a declared size of 10 bytes, in the list of parts and before the part itself.
    data = bytearray(path.read_bytes())
    size = struct.pack("<I", 201_000_007)
    assert data.count(size) == 2
    path.write_bytes(data.replace(size, struct.pack("<I", 10)))
    assert "more than 200 MB" in refusal(path)


@pytest.mark.parametrize(
    ("sheet", "reason"),
    [
        ('<y:row r="1048576"><c r="XFD1048576"/></y:row>', "not well-formed"),
        ("<row></c>", "not well-formed"),
    ],
)
def test_a_sheet_that_is_not_well_formed_is_refused(tmp_path: Path, sheet: str, reason: str) -> None:
    assert reason in refusal(workbook(tmp_path / "bad.xlsx", HEAD + sheet))


def test_a_part_in_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "odd.xlsx", HEAD, **{"xl/more.xml": "<?xml version='1.0' encoding='ETF-8'?><a/>"}
    )
    assert rows_of(path) == []
    sheet = f"<worksheet xmlns='{MAIN}'><sheetData>{HEAD}</sheetData></worksheet>"
    sheet = f"<?xml version='1.0' encoding='ETF-8'?>{sheet}"
    odd = workbook(tmp_path / "sheet.xlsx", HEAD, **{"xl/worksheets/sheet1.xml": sheet})
    assert "not well-formed" in refusal(odd)


def test_other_formats_and_document_types_are_refused(tmp_path: Path) -> None:
    for name in ("content.xml", "xl/workbook.bin"):
        assert "another format" in refusal(workbook(tmp_path / "other.xlsx", HEAD, **{name: "<a/>"}))
    entity = '<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'
    assert "document type" in refusal(workbook(tmp_path / "type.xlsx", HEAD, **{"xl/a.xml": entity}))


def test_a_text_that_many_records_share_is_not_copied_for_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shared.parquet"
    pl.DataFrame({"id": list(range(300)), "response": ["a" * 1_000_000] * 300}).write_parquet(path)
    assert path.stat().st_size < 10_000
    slices: list[int] = []
    whole = pl.DataFrame.iter_rows

    def counted(frame: pl.DataFrame, **options: Any) -> Any:
        slices.append(len(frame))
        return whole(frame, **options)

    monkeypatch.setattr(pl.DataFrame, "iter_rows", counted)
    assert sum(1 for _ in Table(path).rows(lambda *_: None)) == 300
    assert max(slices) <= 16


@pytest.mark.parametrize(
    "value",
    [
        ["a" * 100, "b"], {"role": "user", "content": "a" * 100}, [{"role": "user", "content": None}],
        [["a"], []],
        b"abc", None, 3, 2.5, True, [], {"a": ["b"]},
    ],
)  # fmt: skip
def test_records_of_every_shape_have_a_size(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "shape.parquet"
    pl.DataFrame({"id": ["1", "2"], "value": [value, value], "text": ["x", None]}).write_parquet(path)
    problems: list[str] = []
    rows = list(Table(path).rows(lambda _, text: problems.append(text)))
    assert len(rows) + len(problems) == 2
    assert bool(problems) is isinstance(value, bytes)


def test_a_record_that_is_far_too_large_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    pl.DataFrame({f"c{k}": ["a" * 1_000_000, "b"] for k in range(100)}).write_parquet(path)
    problems: list[tuple[int, str]] = []
    rows = list(Table(path).rows(lambda number, text: problems.append((number, text))))
    assert [number for number, _ in rows] == [2]
    ((number, text),) = problems
    assert number == 1
    assert "100 MB in one record" in text


@pytest.mark.parametrize("compression", ["zstd", "gzip", "snappy", "lz4", "uncompressed"])
def test_ordinary_parquet_files_pass(tmp_path: Path, compression: Any) -> None:
    path = tmp_path / "plain.parquet"
    frame = pl.DataFrame(
        {"id": [str(k) for k in range(3000)], "x": [[k] for k in range(3000)], "y": ["z"] * 3000}
    )
    frame.write_parquet(path, compression=compression, row_group_size=700)
    with path.open("rb") as source:
        check_parquet(path, source)
    assert len(rows_of(path)) == 3000


def test_a_page_that_holds_far_more_than_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.parquet"
    pl.DataFrame({"id": ["a" * 70_000_000]}).write_parquet(path, compression="zstd")
    assert path.stat().st_size < 10_000
    assert "70,000,0" in refusal(path)


def test_a_damaged_list_of_pages_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "damaged.parquet"
    pl.DataFrame({"id": ["1", "2"], "response": ["a", "b"]}).write_parquet(path)
    data = path.read_bytes()
    for at in range(4, len(data)):
        broken = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        with contextlib.suppress(BrokenFileError):
            check_parquet(path, io.BytesIO(broken))


def test_a_table_of_very_many_columns_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{k}" for k in range(200_000)) + "\n")
    assert "line 1: the header names 200,000 columns" in refusal(path)
    wide = tmp_path / "wide.parquet"
    pl.DataFrame({f"c{k}": [1] for k in range(10_001)}).write_parquet(wide)
    assert "10,001 columns" in refusal(wide)
    for name, form in (("wide.jsonl", "{}\n"), ("wide.json", "[{}]")):
        (tmp_path / name).write_text(form.format(json.dumps({f"c{k}": "x" for k in range(200_000)})))
        assert bad_rows(tmp_path / name) == ["200,000 fields; the limit is 10,000. Keep those that are used."]


@pytest.mark.parametrize(
    ("name", "head", "line"),
    [
        ("a.jsonl.gz", b"", b"\n"),
        ("a.jsonl.gz", b'{"id": "1"}\n', b"\r\n"),
        ("a.jsonl.gz", b"", b" \t\n"),
        ("a.csv.gz", b"", b"\n"),
        ("a.csv.gz", b"id,task\n1,x\n", b"\n"),
        ("a.csv.gz", b"id,task\n1,x\n", b"\r\n"),
    ],
)
def test_a_file_of_empty_lines_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, head: bytes, line: bytes
) -> None:
    """A few kilobytes of gzip hold millions of them."""
    monkeypatch.setattr(encoding, "_MOST_BLANK", 10_000)
    path = tmp_path / name
    whole = gzip.compress(head + line * 3_000_000)
    path.write_bytes(whole[: len(whole) // 2])  # so that reading to the end would be another error
    with pytest.raises(BrokenFileError, match="lines are empty"):
        list(Table(path).rows(lambda _, _text: None))


def test_empty_lines_between_many_rows_are_no_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "_MOST_BLANK", 10)
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1"}\n\n\n\n' * 1000, encoding="utf-8")
    assert len(rows_of(path)) == 1000


def test_bad_lines_without_end_are_not_all_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_PROBLEMS", 100)
    path = tmp_path / "a.jsonl"
    path.write_text("x\n" * 5000, encoding="utf-8")
    for skip_bad in (False, True):
        with pytest.raises(DataError, match=r"stopped at line 101: more than 100 problems"):
            ItemFile(path).check(skip_bad=skip_bad)
