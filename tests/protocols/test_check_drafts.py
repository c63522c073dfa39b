"""`protocols check` on imported drafts: what the settings cannot read is a problem, and no draft passes
that shows nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import adjudge
from adjudge.errors import ProtocolError
from adjudge.protocols.check import check_protocols
from adjudge.protocols.importing import import_document


def problems(tmp_path: Path, prompt: str) -> set[str]:
    path = tmp_path / "p.md"
    path.write_text(f"```\n{prompt}\n```\n", encoding="utf-8")
    folders = import_document(path, tmp_path / "to").folders
    return {finding.name for finding in check_protocols(folders) if finding.kind == "problem"}


def test_an_example_that_the_settings_do_not_read(tmp_path: Path) -> None:
    problems(
        tmp_path,
        'Rate {poem} from 1 to 5; a higher score is better. Reply in JSON: {"why": "…", "rating": N}',
    )
    settings = tmp_path / "to" / "prompt" / "protocol.toml"
    changed = settings.read_text(encoding="utf-8").replace('score = "rating"', 'score = "mark"')
    settings.write_text(changed, encoding="utf-8")
    [finding] = check_protocols([tmp_path / "to"])
    assert finding.name == "example-not-read"
    assert '"rating"' in finding.message


def test_every_answer_is_read_and_not_only_the_first(tmp_path: Path) -> None:
    prompt = "Which of {poem_a} and {poem_b} is better? Reply <choice>A</choice> or <choice>B</choice>."
    assert problems(tmp_path, prompt) == set()
    settings = tmp_path / "to" / "prompt" / "protocol.toml"
    # Names that differ in their case alone cannot be told apart between tags.
    with settings.open("a", encoding="utf-8") as file:
        file.write('choices = { a = "m", b = "M" }\n')
    [finding] = check_protocols([tmp_path / "to"])
    assert finding.name == "example-not-read"


def test_a_number_off_the_scale_in_the_example_is_a_place_to_fill(tmp_path: Path) -> None:
    prompt = (
        "Rate {poem} from 1 to 5; 5 is best. Reply in JSON: "
        '{{"rhyme": {{"score": 0}}, "metre": {{"score": 0}}}}'
    )
    assert problems(tmp_path, prompt) == set()


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("Which of {poem_a} and {poem_b} is better?", "format-unknown"),
        ("Rate {poem} from 1 to 5; higher is better.\n{output_format}", "format-unknown"),
        (
            "Rate {poem} from 1 to 5; higher is better. Return a dictionary with the skill names as keys.",
            "several-scores",
        ),
        (
            "Rate {answer_1}, {answer_2} and {answer_more} from 1 to 10, higher is better. The first line "
            "holds only the scores, separated by a space.",
            "several-responses",
        ),
        (
            "Rate {poem} from 1 to 5; higher is better. {% for x in y %}…{% endfor %} <score>S</score>",
            "template-logic",
        ),
    ],
)
def test_a_draft_that_cannot_be_right_does_not_pass(tmp_path: Path, prompt: str, name: str) -> None:
    assert name in problems(tmp_path, prompt)


def test_template_logic_is_never_sent(tmp_path: Path) -> None:
    problems(tmp_path, "Rate {poem} from 1 to 5; higher is better. {% if x %}X{% endif %} <score>S</score>")
    with pytest.raises(ProtocolError, match="template logic"):
        adjudge.run(
            [{"poem": "x"}], tmp_path / "to" / "prompt", "fake:text=<score>3</score>", store=tmp_path / "s.db"
        )
