"""The examples of `docs/linting.md` do what the page says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjudge.protocols.suspicions import NAMES, RULES, Prompt
from adjudge.records import Answer, Language, Protocol, Scale
from adjudge.render import slots_of

PAGE = (Path(__file__).parents[2] / "docs" / "linting.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### ([\w-]+)\n(.*?)(?=^#{2,3} |\Z)", PAGE, re.MULTILINE | re.DOTALL))
EXAMPLES = [
    pytest.param(rule, kind, text, id=f"{rule} {kind}")
    for rule, section in SECTIONS.items()
    for kind, text in re.findall(r"^```(fires|quiet)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
]


def test_the_page_explains_every_rule() -> None:
    assert set(SECTIONS) == set(NAMES)
    assert {(param.values[0], param.values[1]) for param in EXAMPLES} == {
        (rule, kind) for rule in RULES for kind in ("fires", "quiet")
    }


@pytest.mark.parametrize(("rule", "kind", "text"), EXAMPLES)
def test_an_example_of_the_page_does_what_is_said(rule: str, kind: str, text: str) -> None:
    is_pair = "{{response_b}}" in text
    scale = None if rule == "labels-not-blind" else Scale(1, 5, 5, 1)
    protocol = Protocol(
        id="own/letter",
        digest="",
        title="",
        task="compare" if is_pair else "score",
        language=Language("en", "en"),
        inputs=tuple(dict.fromkeys(slots_of(text))),
        optional=(),
        criteria={"letter": scale},
        system_text="",
        user_text=text,
        answer=Answer("json", score="score") if '{"score"' in text else Answer("label", labels=("Score",)),
        source="",
    )
    assert bool(list(RULES[rule](Prompt(protocol)))) is (kind == "fires")
