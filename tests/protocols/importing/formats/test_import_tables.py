"""Prompts in JSON lines, JSON and YAML, as tools keep them: our own wording in their formats."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import AdjudgeError
from adjudge.parse import parse
from adjudge.protocols import load_protocol
from adjudge.protocols.check import check_protocols
from adjudge.protocols.importing import import_document
from adjudge.records import Protocol


def imported(tmp_path: Path, name: str, text: str) -> dict[str, Protocol]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return {
        Path(folder).name: load_protocol(folder) for folder in import_document(path, tmp_path / "to").folders
    }


def settings(tmp_path: Path, name: str) -> dict[str, Any]:
    return tomllib.loads((tmp_path / "to" / name / "protocol.toml").read_text(encoding="utf-8"))


def problems(tmp_path: Path, name: str) -> list[str]:
    return [
        finding.name for finding in check_protocols([tmp_path / "to" / name]) if finding.kind == "problem"
    ]


def test_each_record_of_json_lines_keeps_its_own_system_text(tmp_path: Path) -> None:
    pair = {
        "name": "duel",
        "system_prompt": 'Judge two poems. End with "[[A]]" if the first is better, "[[B]]" if the '
        'second is, "[[C]]" for a tie.',
        "prompt_template": "[Theme]\n{theme}\n\n[Poem A]\n{answer_a}\n\n[Poem B]\n{answer_b}",
    }
    single = {
        "name": "solo",
        "system_prompt": "You read poems.",
        "prompt_template": "Rate the poem on a scale of 1 to 10, like this: "
        '"[[rating]]".\n\n{theme}\n\n{answer}',
    }
    found = imported(tmp_path, "judges.jsonl", "\n".join(json.dumps(record) for record in (pair, single)))
    assert found["duel"].system_text == pair["system_prompt"]
    assert found["solo"].system_text == single["system_prompt"]
    assert found["duel"].task == "compare"
    assert found["duel"].answer.choices == {"a": "A", "b": "B", "tie": "C"}
    assert parse(found["duel"], "It scans better. [[B]]").choice == "b"
    assert parse(found["solo"], "Lovely. [[8]]").scores[0].value == 8


def test_choice_scores_become_options_with_their_values(tmp_path: Path) -> None:
    text = """
prompt: |-
  Does the sign {{sign}} say what the catalogue says?
  {{{catalogue}}}
  (A) It says less.
  (B) It says the same.
  (C) It contradicts it.
choice_scores:
  "A": 0.5
  "B": 1.0
  "C": 0
"""
    protocol = imported(tmp_path, "sign.yaml", text)["sign"]
    assert protocol.answer.options == {"A": 0.5, "B": 1.0, "C": 0}
    assert protocol.inputs == ("sign", "catalogue")
    [scale] = protocol.criteria.values()
    assert scale is not None
    assert (scale.low, scale.high, scale.best) == (0, 1, 1)
    assert parse(protocol, "It leaves out the year.\n\nA").scores[0].value == 0.5


def test_messages_with_choices_and_a_direction(tmp_path: Path) -> None:
    text = """
name: rudeness
optimization_direction: minimize
messages:
  - role: system
    content: You watch the tone of replies.
  - role: user
    content: |-
      <reply>
      {{reply}}
      </reply>
      Is the reply rude or civil?
choices:
  rude: 1.0
  civil: 0.0
"""
    protocol = imported(tmp_path, "tone.yaml", text)["rudeness"]
    assert protocol.system_text == "You watch the tone of replies."
    [(name, scale)] = protocol.criteria.items()
    assert name == "rudeness"
    assert scale is not None
    assert scale.best == 0
    assert problems(tmp_path, "rudeness") == []


def test_letters_without_values_become_classes(tmp_path: Path) -> None:
    text = (
        "kind:\n  prompt: |-\n    Which kind of poem is {poem}? Select one of the following "
        "options.\n  choice_strings: ABC\n"
    )
    protocol = imported(tmp_path, "kind.yaml", text)["kind"]
    [scale] = protocol.criteria.values()
    assert scale is not None
    assert scale.best == "none"
    assert scale.names == {0: "A", 1: "B", 2: "C"}


def test_default_texts_of_the_file_fill_their_placeholders(tmp_path: Path) -> None:
    record = {
        "prompt_template": "{task}\n{poem}",
        "defaults": {"task": "Score the poem from 1 to 5, and reply as <score>SCORE</score>."},
    }
    [protocol] = imported(tmp_path, "p.json", json.dumps([record])).values()
    assert protocol.user_text == "Score the poem from 1 to 5, and reply as <score>SCORE</score>.\n{{poem}}"
    assert protocol.inputs == ("poem",)


def test_messages_written_as_a_text_of_json(tmp_path: Path) -> None:
    messages = [
        {
            "role": "system",
            "content": "Reply in JSON: {reason: string, score: number}. Scores go from 0 to 1.",
        },
        {"role": "user", "content": "Score the poem: {{ poem }}"},
    ]
    text = f"rubricPrompt: |\n  {json.dumps(messages)}\n"
    [protocol] = imported(tmp_path, "config.yaml", text).values()
    assert protocol.answer.reader == "json"
    assert protocol.answer.score == "score"
    assert protocol.system_text == messages[0]["content"]


def test_a_prompt_may_stand_alone_in_a_list_beside_its_system_text(tmp_path: Path) -> None:
    text = (
        'system_prompt: "Judge two poems. End with [[A>B]], [[A=B]] or [[B>A]]."\n'
        'prompt_template: ["<|A|>\\n{answer_1}\\n<|B|>\\n{answer_2}"]\n'
    )
    [protocol] = imported(tmp_path, "judge.yaml", text).values()
    assert protocol.system_text.startswith("Judge two poems.")
    assert protocol.user_text == "<|A|>\n{{answer_1}}\n<|B|>\n{{answer_2}}"
    assert protocol.task == "compare"


def test_yes_and_no_of_yaml_are_words(tmp_path: Path) -> None:
    text = "prompt: Is {{joke}} funny?\nchoice_scores:\n  Yes: 1\n  No: 0\n"
    [protocol] = imported(tmp_path, "joke.yml", text).values()
    assert protocol.answer.options == {"Yes": 1, "No": 0}


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]\n",
        "a: " + "[" * 2000 + "]" * 2000 + "\n",
        "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]),
        "!!python/object/apply:os.system ['echo no']\n",
    ],
    ids=["loop", "deep", "aliases", "tag"],
)
def test_hostile_yaml_ends_well(tmp_path: Path, text: str) -> None:
    with pytest.raises(AdjudgeError):
        imported(tmp_path, "hostile.yaml", text)
