"""`--together`: all criteria of a run in one call, for chat judges and decision models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.protocols import load_protocol, together
from fakedecisions import decision
from fakeserver import Answer, FakeServer, Request, as_json, chat
from running import EXAMPLES, adjudge, answers

CRITERIA = ("--criterion", "kind=Is it kind?", "--criterion", "brief=Is it brief?")


def replies(request: Request) -> Answer:
    if not request.path.endswith("/chat/completions"):
        return as_json(decision(request.json))
    text = request.json["messages"][-1]["content"]
    if "answer 3." in text:  # one criterion is forgotten
        return chat(json.dumps({"kind": {"reasons": "…", "score": 4}}))
    return chat(
        json.dumps({"kind": {"reasons": "It greets.", "score": 4}, "brief": {"reasons": "…", "score": 2}})
    )


@pytest.mark.parametrize("wire", ["", "decisions+", "systemone+"])
def test_an_item_takes_one_call_and_each_criterion_has_a_score(tmp_path: Path, wire: str) -> None:
    items = answers(tmp_path / "i.jsonl", 6)
    with FakeServer(replies) as server:
        flags = (*CRITERIA, "--together", "--reask", "0", "-m", f"j={wire}{server.url}/v1#j")
        done = adjudge("run", items, *flags, "--run", "r", "--store", tmp_path / "s.db")
        assert done.code == 0, done.err
        assert server.n_requests == 6
        sent = server.requests[-1].json
    if not wire:
        prompt = sent["messages"][-1]["content"]
        assert "## kind\nIs it kind?\nScale: 1 to 5, whole numbers." in prompt
        assert prompt.index("## brief") < prompt.index("<response>")
        assert set(sent["response_format"]["json_schema"]["schema"]["properties"]) == {"kind", "brief"}
    else:
        assert len(sent["questions"]) == 2
        assert "Is it brief?" in json.dumps(sent["questions"])
        assert "Grade the response" not in json.dumps(sent)
    rows = adjudge("export", "r", "--format", "jsonl", "--store", tmp_path / "s.db").rows
    assert {row["criterion"] for row in rows} == {"kind", "brief"}
    failed = [(row["item"], row["criterion"]) for row in rows if row["status"] != "ok"]
    assert failed == ([] if wire else [("i3", "brief")])
    if not wire:
        assert {row["score"] for row in rows if row["criterion"] == "kind"} == {4.0}
        assert next(row["explanation"] for row in rows) == "It greets."


def test_runs_alone_and_together_are_compared_by_criterion(tmp_path: Path) -> None:
    items = answers(tmp_path / "i.jsonl", 6)

    def plan(request: Request) -> Answer:
        if "## kind" in request.json["messages"][-1]["content"]:
            return replies(request)
        return chat("Fine.\nScore: 4")

    store = ("--store", tmp_path / "s.db")
    with FakeServer(plan) as server:
        for run, flags in (("alone", ()), ("together", ("--together",))):
            done = adjudge(
                "run", items, *CRITERIA, *flags, "-m", f"j={server.url}/v1#j", "--run", run, *store
            )
            assert done.code == 0, done.err
        # Two calls an item alone, one together, and a follow-up for the criterion that was forgotten.
        assert server.n_requests == 12 + 6 + 1
    found = adjudge("compare", "alone", "together", "--json", *store).json
    assert set(found["criteria"]) == {"kind", "brief"}
    resumed = adjudge(
        "run", items, *CRITERIA, "--together", "-m", f"j={server.url}/v1#j", "--run", "together", *store
    )
    assert resumed.code == 0, resumed.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("-p", "prometheus/direct", "--rubric", str(EXAMPLES / "tact.toml")), "has its own prompt"),
        (("-p", "geval/together"), "--criterion NAME=TEXT"),
        (("--criterion", "a.b=Kind?", "--criterion", "c=Brief?"), "has a dot"),
    ],
)
def test_what_cannot_be_asked_together_is_an_error(
    tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    items = answers(tmp_path / "i.jsonl", 2)
    refused = adjudge("run", items, *flags, "--together", "-m", "fake:text=x", "--store", tmp_path / "s.db")
    assert refused.code == 2
    assert words in refused.err


def test_rubrics_keep_their_levels_and_every_change_changes_the_digest() -> None:
    tact = load_protocol("geval/score", rubric=EXAMPLES / "tact.toml")
    kind = load_protocol("geval/score", criterion="Is it kind?", name="kind")
    other = load_protocol("geval/score", criterion="Is it very kind?", name="kind")
    both = together([tact, kind])
    assert set(both.criteria) == {"tact", "kind"}
    assert both.criteria["tact"] == tact.criteria["tact"]
    assert len({both.digest, together([tact, other]).digest, together([tact]).digest}) == 3
