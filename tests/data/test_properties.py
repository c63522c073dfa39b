"""Properties of the readers: nothing is changed on the way in, and nothing but a `DataError` comes out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adjudge.data import RESERVED, ItemFile, read_examples, read_rubric
from adjudge.errors import DataError
from thorough import tries

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
HARD_TEXTS = TEXTS | st.sampled_from(
    [
        '="1"',
        "+1",
        "-0",
        "@x",
        'a"b',
        "a\r\nb",
        "\u202eabc\u2066",
        "\u2028",
        "\ufeff",
        "{{x}}",
        "😀",
        "\\u0000",
    ]
)
NAMES = TEXTS.filter(lambda name: name not in RESERVED)
ROWS = st.lists(st.dictionaries(NAMES, HARD_TEXTS, max_size=5), min_size=1, max_size=8)


def written(name: str, data: bytes) -> list[dict[str, object]] | None:
    """The fields of all items of a file with these bytes; none where it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        file = ItemFile(path)
        try:
            count = file.check()
        except DataError:
            return None
        items = [dict(item.fields) for item in file]
        assert len(items) == count
        return items


@given(ROWS, st.booleans(), st.booleans())
def test_texts_come_back_from_jsonl_unchanged(rows, ascii_only, packed):
    data = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows).encode()
    assert written("x.jsonl.gz" if packed else "x.jsonl", gzip.compress(data) if packed else data) == rows
    assert written("x.json", json.dumps(rows, ensure_ascii=ascii_only, indent=1).encode()) == rows


@given(ROWS, st.sampled_from(["utf-16", "utf-16-le", "utf-16-be", "utf-32"]))
def test_texts_come_back_from_other_encodings_unchanged(rows, encoding):
    data = "".join(json.dumps({"name": "x", **row}) + "\n" for row in rows).encode(encoding)
    assert written("x.jsonl", data) == [{"name": "x", **row} for row in rows]


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.data(), st.booleans())
def test_texts_come_back_from_csv_unchanged(header, data, tabs):
    # A lone first column name "" with an empty cell would be a blank line; a mark at the start is a mark.
    rows = data.draw(
        st.lists(st.lists(HARD_TEXTS, min_size=len(header), max_size=len(header)), min_size=1, max_size=6)
    )
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter="\t" if tabs else ",")
    writer.writerow(["first", *header] if "first" not in header else header)
    writer.writerows([["1", *row] if "first" not in header else row for row in rows])
    expected = [{name: cell for name, cell in zip(header, row, strict=True) if cell} for row in rows]
    if "first" not in header:
        expected = [{"first": "1", **fields} for fields in expected]
    assert written("x.tsv" if tabs else "x.csv", out.getvalue().encode()) == expected


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | HARD_TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS.filter(lambda key: key != "role"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, st.dictionaries(TEXTS, VALUES, max_size=4) | NUMBERS, max_size=4))
def test_objects_and_numbers_come_back_as_their_json(row):
    (fields,) = written("x.jsonl", json.dumps(row).encode()) or [None]
    assert fields == {name: json.dumps(value, ensure_ascii=False) for name, value in row.items()}


PIECES = st.sampled_from(
    [
        b'{"id": 1}',
        b'{"x": "',
        b"\n",
        b"\r",
        b'"',
        b",",
        b"\\u",
        b"\\ud800",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\0",
        b"[",
        b"]",
        b"}",
        b":",
        b"NaN",
        b"id,x\n",
        b"PAR1",
        b"\x1f\x8b",
        b"\xe9",
        b"-0",
        b"1e999",
    ]
)
BYTES = st.binary(max_size=200) | st.lists(PIECES | st.binary(max_size=4), max_size=20).map(b"".join)


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("packed", [False, True])
@settings(max_examples=tries(60))
@given(data=BYTES)
@example(data=b"[" * 20_000)
@example(data=b'{"x": ' * 20_000)
def test_any_bytes_give_items_or_a_data_error(suffix, packed, data):
    written(f"x{suffix}.gz" if packed else f"x{suffix}", gzip.compress(data) if packed else data)
    if packed:
        written(f"x{suffix}.gz", data)


RUBRIC_PIECES = st.sampled_from(
    [
        b"criterion = ",
        b'"x"',
        b"[levels]\n",
        b"1 = ",
        b"0.5 = ",
        b"best = ",
        b"5",
        b"nan",
        b"\n",
        b"{",
        b"}",
        b'"criteria": ',
        b'"score1_description": ',
        b",",
        b"[names]\n",
        b"\xe9",
        b"[",
        b"1",
        b'"2" = "x"\n',
    ]
)


@pytest.mark.parametrize("name", ["x.toml", "x.json"])
@settings(max_examples=tries(150))
@given(data=BYTES | st.lists(RUBRIC_PIECES, max_size=25).map(b"".join))
@example(data=b"a = " + b"[" * 20_000)
@example(data=b"a" + b".a" * 2_000 + b" = 1")
def test_any_bytes_give_a_rubric_or_a_data_error(name, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            rubric = read_rubric(path)
        except DataError:
            return
        assert rubric.scale.status_of(rubric.scale.low) == "ok"


@given(data=BYTES)
def test_any_bytes_give_examples_or_a_data_error(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        path.write_bytes(data)
        try:
            read_examples(path, ["x"])
        except DataError:
            return
