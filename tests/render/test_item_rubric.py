"""A rubric that each item brings along, in the columns of Prometheus' data sets."""

from __future__ import annotations

import pytest

from adjudge.errors import DataError
from adjudge.protocols import load_protocol
from adjudge.records import Item
from adjudge.render import render

LEVELS = {f"orig_score{level}_description": f"level {level} of tact" for level in range(1, 6)}
FIELDS = {"instruction": "Say no.", "response": "No, thank you.", "orig_criteria": "Is it tactful?", **LEVELS}


def sent(protocol_id: str, fields: dict[str, str]) -> str:
    return render(load_protocol(protocol_id), Item("1", fields)).messages[-1].content


def test_each_item_is_judged_by_its_own_rubric() -> None:
    first = sent("prometheus/direct", FIELDS)
    second = sent("prometheus/direct", {**FIELDS, "orig_criteria": "Is it short?"})
    assert "Is it tactful?\nScore 1: level 1 of tact\n" in first
    assert "Score 5: level 5 of tact" in first
    assert "Is it short?\nScore 1:" in second
    assert "tactful" not in second


def test_the_names_without_the_prefix_are_taken_too() -> None:
    bare = {name.removeprefix("orig_"): text for name, text in FIELDS.items()}
    assert "Is it tactful?\nScore 1: level 1 of tact\n" in sent("prometheus/direct", bare)


def test_a_pair_needs_the_criterion_alone() -> None:
    fields = {
        "instruction": "Say no.",
        "response_a": "No.",
        "response_b": "No, thank you.",
        "orig_criteria": "Tact?",
    }
    assert "Tact?" in sent("prometheus/pairwise", fields)


def test_the_columns_of_the_data_set_fill_the_inputs_and_its_whole_prompt_does_not() -> None:
    fields = {
        **LEVELS, "orig_criteria": "Is it tactful?", "orig_instruction": "Say no.",
        "orig_response": "No, thank you.",
        "instruction": "###Task Description: the whole prompt",
    }  # fmt: skip
    text = sent("prometheus/direct", fields)
    assert "Say no." in text
    assert "No, thank you." in text
    assert "the whole prompt" not in text


def test_a_level_off_the_scale_is_refused_with_what_to_do() -> None:
    fields = {**FIELDS, "orig_score7_description": "beyond"}
    with pytest.raises(DataError, match=r"describes level 7.*--rubric FILE"):
        sent("prometheus/direct", fields)


def test_a_rubric_file_wins_over_the_columns(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "short.toml"
    path.write_text('criterion = "Is it short?"\n[levels]\n1 = "long"\n2 = "short"\n', encoding="utf-8")
    protocol = load_protocol("prometheus/direct", rubric=path)
    text = render(protocol, Item("1", FIELDS)).messages[-1].content  # type: ignore[arg-type]
    assert "Is it short?\nScore 1: long\nScore 2: short" in text
    assert "tactful" not in text


def test_a_missing_rubric_says_both_ways_to_give_one() -> None:
    with pytest.raises(DataError, match=r"--rubric FILE.*orig_criteria"):
        sent("prometheus/direct", {"instruction": "Say no.", "response": "No."})
