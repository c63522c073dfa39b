"""Prompts written with the tokens of chat templates, and plain templates with roles."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.parse import parse
from adjudge.protocols import load_protocol
from adjudge.protocols.check import check_protocols
from adjudge.protocols.importing import import_document
from adjudge.records import Protocol

SYSTEM = "You compare poems."
USER = (
    'Which poem is better?\n\n# Poem (a):\n{poem_1}\n\n# Poem (b):\n{poem_2}\n\nAnswer "Output '
    '(a)" or "Output (b)".'
)


def imported(tmp_path: Path, name: str, text: str) -> Protocol:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    [folder] = import_document(path, tmp_path / "to").folders
    return load_protocol(folder)


@pytest.mark.parametrize(
    "text",
    [
        f"<|im_start|>system\n{SYSTEM}\n<|im_end|>\n<|im_start|>user\n{USER}\n<|im_end|>",
        f"<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\n{SYSTEM}<|eot_id|>"
        f"<|start_header_id|>user<|end_header_id|>\n\n{USER}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        f"<s>[INST] <<SYS>>\n{SYSTEM}\n<</SYS>>\n\n{USER} [/INST]",
        f"<|system|>\n{SYSTEM}</s>\n<|user|>\n{USER}</s>\n<|assistant|>\n",
    ],
    ids=["chatml", "headers", "inst", "tokens"],
)
def test_the_tokens_of_a_chat_template_become_messages(tmp_path: Path, text: str) -> None:
    protocol = imported(tmp_path, "duel.txt", text)
    assert protocol.system_text == SYSTEM
    assert protocol.user_text == USER.replace("{poem_1}", "{{poem_1}}").replace("{poem_2}", "{{poem_2}}")
    assert protocol.task == "compare"
    assert parse(protocol, "Output (b)").choice == "b"


def test_a_human_turn_is_the_whole_prompt(tmp_path: Path) -> None:
    protocol = imported(tmp_path, "duel.txt", f"\n\nHuman: {USER}\n\nAssistant:")
    assert protocol.user_text.startswith("Which poem is better?")
    assert protocol.user_text.endswith('"Output (b)".')


def test_roles_on_lines_of_a_template(tmp_path: Path) -> None:
    text = (
        "---\nname: Wit of a poem\n---\n# system:\nYou read poems.\n\n# user:\nRate the wit of "
        "{{poem}}, 1 to 5.\nstars:\n"
    )
    protocol = imported(tmp_path, "wit.prompty", text)
    assert protocol.system_text == "You read poems."
    assert protocol.user_text == "Rate the wit of {{poem}}, 1 to 5.\nstars:"
    assert parse(protocol, "4").scores[0].value == 4


def test_template_logic_is_a_problem_of_the_check(tmp_path: Path) -> None:
    text = "Rate the wit of {{poem}}, 1 to 5.\n{% if hint %}Hint: {{hint}}{% endif %}\nscore:"
    imported(tmp_path, "wit.jinja2", text)
    assert "template-logic" in {finding.name for finding in check_protocols([tmp_path / "to" / "wit"])}
