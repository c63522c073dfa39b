"""A call is paid for once, in all runs and processes; only a call with a reply counts as paid."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from adjudge.engine.call_keys import with_key
from adjudge.models import Form, Parameters, parse_model
from adjudge.records import Call, Image, Message
from fakeserver import Answer, FakeServer, Request, as_json, chat, error, limited
from running import (
    DIRECT,
    EXAMPLES,
    adjudge,
    answers,
    asked_once,
    by_number,
    ended,
    model_at,
    number_in,
    read_rows,
    score_of,
    started,
    write_rows,
)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return answers(tmp_path / "items.jsonl", 6)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "adjudge.db"


@pytest.mark.slow
def test_two_processes_on_one_run_ask_each_call_once(tmp_path: Path, store: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 270)
    with FakeServer(by_number, latency=0.02) as server:
        command = [
            "run",
            items,
            *DIRECT,
            "-m",
            model_at(server),
            "--store",
            store,
            "--json",
            "--concurrency",
            "32",
        ]
        processes = [started(*command), started(*command)]
        outcomes = [ended(process) for process in processes]
        assert [outcome.code for outcome in outcomes] == [0, 0], outcomes
        assert server.n_requests == 270
        assert asked_once(server)
    assert [len(outcome.json["systems"]) for outcome in outcomes] == [2, 2]
    rows = adjudge("export", "last", "--store", store).rows
    assert [row["score"] for row in rows] == [score_of(k) for k in range(1, 271)]
    assert len(adjudge("runs", "--store", store, "--json").json) == 1


def test_two_runs_share_the_calls_that_they_have_in_common(items: Path, store: Path, tmp_path: Path) -> None:
    with FakeServer(by_number) as server:
        command = [*DIRECT, "-m", model_at(server), "--store", store]
        adjudge("run", items, *command, "--run", "one")
        adjudge("run", answers(tmp_path / "more.jsonl", 9), *command, "--run", "two")
        assert server.n_requests == 9
        report = adjudge("report", "two", "--store", store, "--json").json
    assert (report["n_calls"], report["n_cached"]) == (9, 6)


def test_a_changed_item_is_asked_anew_and_the_others_are_not(items: Path, store: Path) -> None:
    with FakeServer(by_number) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store]
        adjudge(*command)
        rows = read_rows(items)
        rows[2]["response"] = "answer 99."
        write_rows(items, rows)
        assert adjudge(*command).code == 0
        assert server.n_requests == 7
        assert number_in(server.requests[-1]) == 99
    exported = adjudge("export", "last", "--store", store).rows
    assert exported[2]["score"] == score_of(99)
    assert len(adjudge("runs", "--store", store, "--json").json) == 2, "the old run stays what it was"


def test_a_changed_prompt_is_asked_anew(items: Path, store: Path, tmp_path: Path) -> None:
    rubric = tmp_path / "tact.toml"
    text = (EXAMPLES / "tact.toml").read_text(encoding="utf-8")
    rubric.write_text(text, encoding="utf-8")
    with FakeServer(by_number) as server:
        command = ["run", items, "-p", "prometheus/direct", "--rubric", rubric, "-m", model_at(server)]
        command += ["--store", store]
        adjudge(*command)
        rubric.write_text(text.replace("Takes the matter over", "Takes it over"), encoding="utf-8")
        assert adjudge(*command).code == 0
        assert server.n_requests == 12
        rubric.write_text(text, encoding="utf-8")
        adjudge(*command)
        assert server.n_requests == 12, "back to the first prompt: it is known"


def test_items_with_the_same_prompt_are_one_call(store: Path, tmp_path: Path) -> None:
    row = {"instruction": "x", "response": "answer 3."}
    items = write_rows(tmp_path / "items.jsonl", [{"id": f"i{k}", **row} for k in range(5)])
    with FakeServer(by_number, latency=0.05) as server:
        assert adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store).code == 0
        assert server.n_requests == 1
    assert [row["score"] for row in adjudge("export", "last", "--store", store).rows] == [score_of(3)] * 5


def test_an_error_is_counted_in_the_run_and_asked_again_by_the_next(items: Path, store: Path) -> None:
    """The host refuses item 2 for good, and then takes it: nothing of the refusal was kept as a reply."""
    refusing = True

    def plan(request: Request) -> Answer:
        return error(400, "cannot do that") if refusing and number_in(request) == 2 else by_number(request)

    with FakeServer(plan) as server:
        command = ["run", items, *DIRECT, "-m", model_at(server), "--store", store, "--json"]
        first = adjudge(*command)
        assert (first.code, server.n_requests) == (0, 6)
        row = adjudge("export", "last", "--store", store).rows[1]
        assert (row["status"], row["score"], row["n_failed"]) == ("no_reply", None, 1)
        assert first.json["systems"]["even"]["tact"]["failures"] == {"no_reply": 1}
        refusing = False
        second = adjudge(*command)
        assert server.n_requests == 7
    assert second.json["systems"]["even"]["tact"]["failures"] == {}
    assert adjudge("export", "last", "--store", store).rows[1]["score"] == score_of(2)


def test_a_host_that_goes_wrong_now_and_then_costs_retries_and_no_judgment(items: Path, store: Path) -> None:
    seen: Counter[int] = Counter()

    def plan(request: Request) -> Answer:
        number = number_in(request)
        seen[number] += 1
        if seen[number] == 1 and number in (1, 4):
            return limited() if number == 1 else error(503)
        return by_number(request)

    with FakeServer(plan) as server:
        run = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store)
        assert (run.code, server.n_requests) == (0, 8)
    assert {row["status"] for row in adjudge("export", "last", "--store", store).rows} == {"ok"}


def test_a_model_that_changes_in_the_middle_of_a_run_is_reported(items: Path, store: Path) -> None:
    def plan(request: Request) -> Answer:
        body = json.loads(by_number(request).body)
        return as_json({**body, "model": "judge-1" if number_in(request) < 4 else "judge-2"})

    with FakeServer(plan) as server:
        report = adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store, "--json").json
    assert "model_changed" in {warning["kind"] for warning in report["warnings"]}
    assert report["models"][model_at(server)]["names"] == {"judge-1": 3, "judge-2": 3}


def test_the_same_model_on_another_host_is_another_judge(items: Path, store: Path) -> None:
    with FakeServer(by_number) as first, FakeServer(default=chat("[RESULT] 1")) as second:
        for server in (first, second):
            adjudge("run", items, *DIRECT, "-m", model_at(server), "--store", store)
            assert server.n_requests == 6
    assert {row["score"] for row in adjudge("export", "last", "--store", store).rows} == {1.0}
    assert len(adjudge("runs", "--store", store, "--json").json) == 2


def test_a_result_does_not_depend_on_concurrency(tmp_path: Path) -> None:
    items = answers(tmp_path / "items.jsonl", 30)
    exports = []
    with FakeServer(by_number) as server:
        for concurrency in ("1", "7", "64"):
            store = tmp_path / f"{concurrency}.db"
            adjudge(
                "run", items, *DIRECT, "-m", model_at(server), "--store", store, "--concurrency", concurrency
            )
            assert server.most_in_flight <= int(concurrency)
            exports.append(adjudge("export", "last", "--store", store).out)
    assert exports[0] == exports[1] == exports[2]


SENT = {
    "temperature": 0.5, "max_tokens": 7, "top_logprobs": 5, "schema": {"type": "object"}, "seed": 3,
    "reasoning_effort": "low", "thinking_tokens": 64,
}  # fmt: skip
"""each parameter of a request that a host gets, with another value than the default"""

NOT_SENT = {"timeout_seconds": 3.0, "is_cut_off": lambda _: True, "more_room": True}


def test_a_call_is_another_one_with_any_parameter_that_its_host_gets() -> None:
    assert set(Parameters.__struct_fields__) == {*SENT, *NOT_SENT, "form"}
    model = parse_model("fake:text=4")
    call = Call("", "i", "p", ("c",), model.name, (Message("user", "How good?"),))

    def key(**parameters: Any) -> str:
        return with_key(call, model, Parameters(**parameters)).key

    keys = [key(), *(key(**{name: value}) for name, value in SENT.items())]
    assert len(set(keys)) == len(keys)
    assert {key(**{name: value}) for name, value in NOT_SENT.items()} == {key()}
    forms = [Form(values, "<score>", "</score>") for values in (("1", "2"), ("1", "1.5", "2"))]
    assert {key(form=form) for form in forms} == {key()}
    model.is_local = True  # only a model in the process is held to a form
    assert len({key(), *(key(form=form) for form in forms)}) == 3


def test_a_call_is_known_by_what_is_sent_and_a_recorded_one_by_its_item() -> None:
    model = parse_model("fake:text=4")
    image = Image("image/png", "a" * 64, 10)
    base = Call("", "i", "p", ("c",), model.name, (Message("user", "How good?", (image,)),))

    def key(**changed: Any) -> str:
        return with_key(structs.replace(base, **changed), model, Parameters()).key

    sent = [
        {"messages": (Message("user", "How bad?", (image,)),)},
        {"messages": (Message("system", "How good?", (image,)),)},
        {"messages": (Message("user", "How good?", (structs.replace(image, sha256="b" * 64),)),)},
        {"messages": (Message("user", "How good?"),)},
        {"kind": "reask"},
        {"sample": 1},
        {"target": "a text"},
    ]
    of_the_item = [{"item": "j"}, {"criteria": ("d",)}, {"order": "ba"}, {"line": 3}, {"line": 4}]
    assert len({key(), *(key(**changed) for changed in sent)}) == len(sent) + 1
    assert {key(**changed) for changed in of_the_item} == {key()}
    resized = (Message("user", "How good?", (structs.replace(image, size=99),)),)
    assert key(messages=resized) == key()  # the hash identifies an image
    model.is_recorded = True
    assert len({key(), *(key(**changed) for changed in of_the_item)}) == len(of_the_item) + 1
