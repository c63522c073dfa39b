"""The same typed question in other forms: every form is on one scale, and an audit compares them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.parse.decision import judgment_of
from adjudge.probes import audit_items, load_probes, split_id
from adjudge.protocols import load_protocol, with_digest
from adjudge.records import Item, Protocol, QuestionForm
from adjudge.render import questions_of
from fakedecisions import decision
from fakeserver import Answer, FakeServer, Request, as_json
from running import EXAMPLES, adjudge, write_rows

TWO = 'name = "kind"\ncriterion = "Is it kind?"\n[levels]\n0 = "unkind"\n1 = "kind"\n'


def protocols(tmp_path: Path) -> dict[str, Protocol]:
    rubric = tmp_path / "kind.toml"
    rubric.write_text(TWO)
    return {
        "levels": load_protocol("prometheus/direct", rubric=EXAMPLES / "tact.toml"),
        "two": load_protocol("geval/score", rubric=rubric),
        "pair": load_protocol("pairwise/helpful"),
    }


def by_meaning(protocol: Protocol, chance: float) -> str:
    """The answers of a judge that knows what each option means: `chance` for the best, the rest for the
    worst."""
    answers: list[dict[str, Any]] = []
    for question in questions_of(protocol):
        worths = [
            option.value if option.choice is None else {"a": 1.0, "tie": 0.5, "b": 0.0}[option.choice]
            for option in question.options
        ]
        known = [worth for worth in worths if worth is not None]
        shares = [
            chance if worth == max(known) else 1 - chance if worth == min(known) else 0.0 for worth in worths
        ]
        answer: dict[str, Any] = {"type": question.type, "name": question.name}
        if question.type == "predicate":
            answer["probability"] = shares[1]
        else:
            key = "label" if question.type == "score" else "value"
            answer["probabilities"] = [
                {key: option.label, "probability": share}
                for option, share in zip(question.options, shares, strict=True)
            ]
        answers.append(answer)
    return json.dumps(answers)


@pytest.mark.parametrize("name", ["levels", "two", "pair"])
@pytest.mark.parametrize("form", ["yes-no", "choice", "levels", "reversed", "renamed"])
def test_a_judge_that_knows_the_meanings_gives_one_score_in_every_form(
    tmp_path: Path, name: str, form: QuestionForm
) -> None:
    usual = protocols(tmp_path)[name]
    other = with_digest(usual, question_form=form)
    for chance in (0.0, 0.3, 0.9, 1.0):
        first, second = (
            judgment_of(questions_of(protocol), by_meaning(protocol, chance)) for protocol in (usual, other)
        )
        assert [score.status for score in second.scores] == [score.status for score in first.scores]
        for score, same in zip(first.scores, second.scores, strict=True):
            assert same.value == pytest.approx(score.value)
        assert second.choice == first.choice


def test_each_form_changes_what_is_asked_and_only_that(tmp_path: Path) -> None:
    known = protocols(tmp_path)
    forms = {
        name: {
            form: [(q.type, [option.label for option in q.options]) for q in
            questions_of(with_digest(protocol, question_form=form))]
            for form in ("yes-no", "choice", "levels", "reversed", "renamed")
        }
        for name, protocol in known.items()
    }  # fmt: skip
    assert forms["levels"]["yes-no"] == [("predicate", ["1", "5"])]
    assert forms["levels"]["choice"] == [("choice", ["1", "2", "3", "4", "5"])]
    assert forms["levels"]["reversed"] == [("choice", ["5", "4", "3", "2", "1"])]
    assert forms["levels"]["renamed"] == [("score", ["A", "B", "C", "D", "E"])]
    assert forms["two"]["levels"] == [("score", ["0", "1"])]
    assert forms["two"]["reversed"] == [("predicate", ["1", "0"])]
    assert forms["pair"]["reversed"][0][1] == [*reversed(forms["pair"]["choice"][0][1])]
    assert forms["pair"]["renamed"][0][1][0] == "1"
    assert forms["pair"]["yes-no"][0][0] == "predicate"


def test_forms_are_for_typed_questions_and_the_list_of_levels_for_prompts() -> None:
    protocol = load_protocol("prometheus/direct", rubric=EXAMPLES / "tact.toml")
    items = [Item(f"i{k}", {"instruction": "Say no.", "response": f"No {k}."}) for k in range(3)]
    probes = load_probes(["form", "order"])
    typed = audit_items(items, protocol, "m", probes, asks_questions=True)
    assert set(typed.protocols) == {"form/yes-no", "form/choice", "form/reversed", "form/renamed"}
    assert typed.controls == {"form/reversed": "form/choice"}
    assert set(typed.skipped) == {"form/levels", "order"}
    written = audit_items(items, protocol, "m", probes)
    assert set(written.protocols) == {"order"}
    assert {split_id(item.id)[1] for item in written.items} == {"none", "repeat", "order"}


def believes(body: dict[str, Any]) -> Callable[[str, int], list[float]]:
    """A judge that is calibrated when it is asked for yes or no, and too sure when it chooses."""
    (question,) = body["questions"]
    match = re.search(r"answer (\d+)\.", body["input"])
    assert match is not None
    chance = (int(match[1]) % 10) / 10 + 0.05
    if question["type"] == "choice":
        chance = 1.0 if chance > 0.5 else 0.0

    def shares(_: str, n_options: int) -> list[float]:
        assert n_options == 2
        named = [one.get("value") for one in question.get("choices", ())]
        is_turned = named == ["1", "0"] or "True means: 0" in question["instructions"]
        return [chance, 1 - chance] if is_turned else [1 - chance, chance]

    return shares


def test_an_audit_shows_shift_changes_and_calibration_of_each_form(tmp_path: Path) -> None:
    n_items = 100
    rubric = tmp_path / "kind.toml"
    rubric.write_text(TWO)
    items = write_rows(
        tmp_path / "i.jsonl",
        ({"id": f"i{k}", "task": "t", "response": f"answer {k}."} for k in range(n_items)),
    )
    labels = write_rows(
        tmp_path / "l.jsonl",
        (
            {"item": f"i{k}", "criterion": "kind", "rater": "r", "value": int(k // 10 < k % 10 + 0.5)}
            for k in range(n_items)
        ),
    )

    def plan(request: Request) -> Answer:
        return as_json(decision(request.json, believes(request.json)))

    store = ("--store", tmp_path / "s.db")
    with FakeServer(plan) as server:
        flags = ("-p", "geval/score", "--rubric", rubric, "-m", f"j=decisions+{server.url}/v1#judge")
        done = adjudge("audit", items, *flags, "--probes", "form", "--run", "r", "--labels", labels, *store)
    assert done.code == 0, done.err
    assert "calibration error" in done.out
    found = adjudge("audit", "r", "--labels", labels, "--json", *store).json
    part = found["judges"]["j"]["criteria"]["kind"]
    assert set(part["probes"]) == {"form/choice", "form/levels", "form/reversed", "form/renamed"}
    assert part["calibration"]["none"]["value"] < 0.1
    assert part["calibration"]["form/choice"]["low"] > 0.1
    assert part["calibration"]["form/reversed"]["value"] == part["calibration"]["none"]["value"]
    assert part["probes"]["form/choice"]["flips"]["value"] > 0.3
    assert part["probes"]["form/choice"]["verdict"] == "moves"
    assert part["probes"]["form/reversed"]["flips"]["value"] == 0.0


def test_labels_without_forms_are_an_error(tmp_path: Path) -> None:
    items = write_rows(tmp_path / "i.jsonl", [{"id": "a", "task": "t", "response": "r"}])
    labels = write_rows(tmp_path / "l.jsonl", [{"item": "a", "criterion": "score", "rater": "r", "value": 4}])
    flags = ("-p", "geval/score", "--criterion", "Kind?", "-m", "fake:text=Score: 4", "--probes", "tone")
    refused = adjudge("audit", items, *flags, "--labels", labels, "--store", tmp_path / "s.db")
    assert refused.code == 2
    assert "--probes form" in refused.err


def test_labels_of_another_criterion_are_an_error_and_forms_are_no_criteria(tmp_path: Path) -> None:
    rubric = tmp_path / "kind.toml"
    rubric.write_text(TWO)
    items = write_rows(tmp_path / "i.jsonl", [{"id": "a", "task": "t", "response": "answer 1."}])
    labels = write_rows(tmp_path / "l.jsonl", [{"item": "a", "criterion": "kint", "rater": "r", "value": 1}])
    with FakeServer(lambda request: as_json(decision(request.json))) as server:
        flags = ("-p", "geval/score", "--rubric", rubric, "-m", f"decisions+{server.url}/v1#judge")
        refused = adjudge(
            "audit", items, *flags, "--probes", "form", "--labels", labels, "--store", tmp_path / "s.db"
        )
    assert refused.code == 2
    assert "The labels are about 'kint'; the judge's criteria are kind." in refused.err
    assert "--together" not in refused.err
