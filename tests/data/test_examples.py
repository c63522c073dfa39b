"""Examples that a judge is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.data import read_examples
from adjudge.errors import DataError
from adjudge.records import Example, Message

GOOD = {"instruction": "Write.", "response": "Text", "judgment": "8\nGood.", "kind": "positive"}


@pytest.fixture
def write(tmp_path: Path):
    def writer(*rows: object, name: str = "examples.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return path

    return writer


def test_examples_have_the_inputs_a_judgment_and_a_kind(write):
    chat = [{"role": "user", "content": "hi"}]
    path = write(
        GOOD, {**GOOD, "kind": "negative", "instruction": chat, "n": 4.50, "id": "x", "source": None}
    )
    first, second = read_examples(path, ["instruction", "response"])
    assert first == Example({"instruction": "Write.", "response": "Text"}, "8\nGood.", "positive")
    assert second.kind == "negative"
    assert second.fields == {"instruction": (Message("user", "hi"),), "response": "Text", "n": "4.5"}


def test_examples_may_be_a_csv_file(write):
    path = write("response,judgment,kind", "a,b,negative", name="examples.csv")
    assert read_examples(path, ["response"]) == (Example({"response": "a"}, "b", "negative"),)


def test_all_problems_of_all_examples_come_at_once(write):
    path = write(
        {"respnse": "x", "judgment": " ", "kind": "Positive"},
        "{",
        {**GOOD, "instruction": None, "judgment": 4.5},
        {**GOOD, "kind": 1},
    )
    with pytest.raises(DataError) as caught:
        read_examples(path, ["instruction", "response"])
    said = [
        "line 1: field 'instruction' is missing. Add it",
        "line 1: field 'response' is missing. Rename 'respnse' if that is the field.",
        "line 1: field 'judgment' is missing or no text",
        "line 1: field 'kind' is 'Positive'. Write \"positive\" or \"negative\".",
        "line 2: not JSON",
        "line 3: field 'instruction' is missing",
        "line 3: field 'judgment' is missing or no text",
        "line 4: field 'kind' is '1'.",
    ]
    lines = [line.strip() for line in str(caught.value).splitlines()[1:]]
    assert len(lines) == len(said)
    assert all(line.startswith(start) for line, start in zip(lines, said, strict=True))


def test_a_field_that_cannot_be_shown_is_a_problem(write):
    path = write({**GOOD, "response": [{"role": "user", "content": [{"type": "image"}]}]})
    with pytest.raises(DataError, match="line 1: message 1 of field 'response' has an image without data"):
        read_examples(path, ["response"])


def test_a_file_without_examples_is_an_error(write, tmp_path):
    with pytest.raises(DataError, match="no examples"):
        read_examples(write(), ["x"])
    with pytest.raises(DataError, match="there is no such file"):
        read_examples(tmp_path / "none.jsonl", ["x"])
