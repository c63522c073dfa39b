"""Prompts in TypeScript: template strings, not whole files."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.errors import AdjudgeError
from adjudge.protocols import load_protocol
from adjudge.protocols.importing import import_document
from adjudge.records import Protocol


def imported(tmp_path: Path, text: str) -> dict[str, Protocol]:
    path = tmp_path / "judges.ts"
    path.write_text(text, encoding="utf-8")
    return {
        Path(folder).name: load_protocol(folder) for folder in import_document(path, tmp_path / "to").folders
    }


def test_a_template_string_is_a_prompt_and_the_code_around_it_is_not(tmp_path: Path) -> None:
    source = """
// A judge of `wit`.
export const WIT_PROMPT = `Rate the wit of a poem from 1 to 5.

<poem>
{poem}
</poem>
Reply as <score>SCORE</score>. Write \\`no\\` code.`;

export function tonePrompt(poem: string, notes: string[]): string {
  return `Rate the tone of the poem from 1 to 5: ${poem}
Notes: ${JSON.stringify(notes)}
Reply as <score>SCORE</score>.`;
}
"""
    found = imported(tmp_path, source)
    assert found["wit"].user_text.startswith("Rate the wit of a poem")
    assert "Write `no` code." in found["wit"].user_text
    assert found["wit"].inputs == ("poem",)
    assert found["toneprompt"].inputs == ("poem", "notes")


def test_messages_of_one_list_go_together(tmp_path: Path) -> None:
    source = """
const A = JSON.stringify([
  { role: 'system', content: dedent`You grade poems.
      Reply in JSON: {"reason": "...", "score": 3}, from 1 to 5.` },
  { role: 'user', content: 'Grade the poem:\\n{{ poem }}' },
]);
"""
    [protocol] = imported(tmp_path, source).values()
    assert protocol.system_text.startswith("You grade poems.\nReply in JSON")
    assert protocol.user_text == "Grade the poem:\n{{poem}}"
    assert protocol.answer.score == "score"


def test_nested_templates_without_end_are_no_prompt(tmp_path: Path) -> None:
    for text in ("`${" * 20_000, "`${`" * 20_000, "[{(" * 20_000):
        with pytest.raises(AdjudgeError):
            imported(tmp_path, text)
