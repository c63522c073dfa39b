"""Each rule against its table of prompts in `tests/suspicions`: those that must fire and those that must
not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adjudge.protocols.suspicions import NAMES, RULES, Prompt, suspicions_of, unlike_siblings
from adjudge.records import Answer, Language, Protocol, Scale
from adjudge.render import slots_of

TABLES = Path(__file__).parent / "suspicions"


def cases(name: str) -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = tomllib.loads((TABLES / f"{name}.toml").read_text(encoding="utf-8"))["case"]
    return table


def scale_of(given: dict[str, Any] | str | None) -> Scale | None:
    if given == "none":
        return None
    settings: dict[str, Any] = {"low": 1, "high": 5, "best": 5, "step": 1}
    if isinstance(given, dict):
        settings = dict(given)
    settings["levels"] = {float(level): text for level, text in settings.get("levels", {}).items()}
    return msgspec.convert({"low": None, "high": None, **settings}, Scale)


def protocol_of(case: dict[str, Any], rule: str) -> Protocol:
    is_pair = rule == "labels-not-blind"
    scale = scale_of("none" if is_pair else case.get("scale"))
    fields = tuple(dict.fromkeys(case.get("alias", {}).get(slot, slot) for slot in slots_of(case["user"])))
    return Protocol(
        id=f"own/{case.get('id', 'quality')}",
        digest="",
        title="",
        task=case.get("task", "compare" if is_pair else "score"),
        language=Language("en", "en"),
        inputs=fields,
        optional=(),
        criteria=dict.fromkeys(case.get("criteria", ["quality"]), scale),
        system_text=case.get("system", ""),
        user_text=case["user"],
        answer=msgspec.convert(case.get("answer", {"reader": "label", "labels": ["Score"]}), Answer),
        source="",
        fence=case.get("fence", False),
        alias=case.get("alias", {}),
    )


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_fires_on_what_it_is_for_and_on_nothing_else(rule: str) -> None:
    wrong = []
    for case in cases(rule):
        messages = [suspicion.message for suspicion in RULES[rule](Prompt(protocol_of(case, rule)))]
        if bool(messages) is not case["fires"]:
            wrong.append((case["name"], messages))
    assert not wrong


@pytest.mark.parametrize("rule", RULES)
def test_a_suspicion_points_at_a_place_and_says_what_to_do(rule: str) -> None:
    for case in cases(rule):
        prompt = Prompt(protocol_of(case, rule))
        for suspicion in RULES[rule](prompt):
            assert suspicion.start is None or 0 <= suspicion.start <= len(prompt.words), case["name"]
            assert suspicion.message.endswith("."), case["name"]
            assert suspicion.todo.endswith("."), case["name"]
            assert "\n" not in suspicion.message, case["name"]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_cases_of_both_kinds(rule: str) -> None:
    fires = [case["fires"] for case in cases(rule)]
    assert fires.count(True) >= 3
    assert fires.count(False) >= 3


@pytest.mark.parametrize("case", cases("unlike-siblings"), ids=lambda case: str(case["name"]))
def test_a_family_shows_who_stands_apart(case: dict[str, Any]) -> None:
    prompts = [
        Prompt(
            protocol_of(
                {"id": name, "criteria": [name], "user": f"{text}\n{case['shared']}"}, "unlike-siblings"
            )
        )
        for name, text in zip(case["names"], case["prompts"], strict=True)
    ]
    apart = [prompts.index(prompt) for prompt, _, _ in unlike_siblings(prompts)]
    assert apart == case["unlike"]


def test_a_scale_of_its_own_makes_a_protocol_unlike_its_siblings() -> None:
    text = "Judge fairly and briefly.\n{{response}}"
    scales: list[dict[str, Any]] = [{"low": 1, "high": 5, "best": 5}] * 4 + [
        {"low": 0, "high": 10, "best": 10}
    ]
    prompts = [
        Prompt(protocol_of({"id": str(number), "user": text, "scale": scale}, "unlike-siblings"))
        for number, scale in enumerate(scales)
    ]
    [(prompt, name, suspicion)] = unlike_siblings(prompts)
    assert (prompt, name) == (prompts[4], "unlike-siblings")
    assert "scale" in suspicion.message


def test_a_place_in_the_system_text_differs_from_one_in_the_user_text() -> None:
    case = {
        "system": "Be fair.\nUse the form <score>4</score>.",
        "user": "{{response}}",
        "answer": {"reader": "tag", "tag": "score"},
    }
    prompt = Prompt(protocol_of(case, "example-is-answer"))
    [(name, suspicion)] = suspicions_of(prompt)
    assert name == "example-is-answer"
    assert prompt.place(suspicion.start or 0) == ("system.md", 2)
    assert prompt.place(prompt.user_start) == ("user.md", 1)


def test_the_names_are_those_of_the_contract() -> None:
    assert set(NAMES) == {
        "direction", "one-score-two-responses", "confidence-without-field", "labels-not-blind",
        "asked-not-in-format",
        "reference-mismatch", "examples-promised", "unlike-siblings", "example-is-answer",
        "unanchored-levels",
    }  # fmt: skip
