"""Examples for a run of several protocols, one of which has no place for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import adjudge
from adjudge.engine.judges import judges_of
from adjudge.engine.request import Request
from adjudge.errors import ProtocolError

EXAMPLES = Path(__file__).parents[2] / "examples"
WITH = "commentary-zh/structure"
WITHOUT = "gptscore-ko/fluency"


def test_examples_go_to_the_protocols_that_take_them() -> None:
    request = Request(
        items=[], protocol=[WITH, WITHOUT, "commentary-zh/language"], model="fake:text=1", examples="e.jsonl"
    )
    assert [judge.examples for judge in judges_of(request)] == ["e.jsonl", None, "e.jsonl"]


def test_a_judge_of_the_run_file_keeps_its_own_examples() -> None:
    judges = [
        {"protocol": WITH, "examples": "mine.jsonl"},
        {"protocol": WITHOUT},
        {"protocol": "commentary-zh/thesis"},
    ]
    request = Request(items=[], judge=judges, model="fake:text=1", examples="e.jsonl")
    assert [judge.examples for judge in judges_of(request)] == ["mine.jsonl", None, "e.jsonl"]


def test_examples_that_no_protocol_takes_are_refused(tmp_path: Path) -> None:
    items = [
        json.loads(line) for line in (EXAMPLES / "commentary.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    with pytest.raises(ProtocolError, match="has no slot for --examples"):
        adjudge.run(
            items=[{**item, "source_text": "s", "generated_response": "r", "summary": "s"} for item in items],
            protocol=[WITHOUT, "gptscore-ko/coherence"], model="fake:text=4",
            examples=EXAMPLES / "commentary.examples.jsonl", store=tmp_path / "s.db",
        )  # fmt: skip


def test_all_criteria_of_the_imported_commentary_run_with_one_file_of_examples(
    shared: Path, tmp_path: Path
) -> None:
    from adjudge.protocols.importing import import_document

    [document] = (shared / "seeds").glob("003*")
    imported = import_document(document, tmp_path / "imported")
    example = (EXAMPLES / "commentary.examples.jsonl").read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "one.jsonl").write_text(example + "\n", encoding="utf-8")
    run = adjudge.run(
        items=EXAMPLES / "commentary.jsonl", protocol=list(imported.folders), model="fake:text=8",
        examples=tmp_path / "one.jsonl", store=tmp_path / "s.db",
    )  # fmt: skip
    assert run.status == "done"
    assert len({row.criterion for row in run.results()}) == 5
