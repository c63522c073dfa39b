"""The same judgment through every door is one record: a command, both functions, a judge, a service and a
test ask the same call, find each other's replies and read the same score."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import adjudge
from adjudge.results.stored_results import results
from adjudge.store import open_store
from fakeserver import Answer, FakeServer, Request, chat
from running import EXAMPLES, model_at
from running import adjudge as command
from served import Served

FIELDS = {"instruction": "Answer the customer.", "response": "We are sorry; a new one is on its way."}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sampled": {"samples": 3, "seed": 7},
    "without follow-ups": {"reask": 0, "max_tokens": 300, "temperature": 0.5},
}
REPLIES: dict[str, Callable[[int], str]] = {
    "a score": lambda _: "Feedback: it helps. [RESULT] 4",
    "a score after a follow-up": lambda n: "A hard case." if n == 0 else "[RESULT] 3",
    "a failure": lambda _: "What a lovely day",
}


class Host:
    """A judge over HTTP whose reply depends on how far the conversation is."""

    def __init__(self, reply: Callable[[int], str]) -> None:
        self._reply = reply

    def answer(self, request: Request) -> Answer:
        messages = json.loads(request.body)["messages"]
        return chat(self._reply(sum(message["role"] == "assistant" for message in messages)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tact.toml").write_bytes((EXAMPLES / "tact.toml").read_bytes())
    (tmp_path / "items.jsonl").write_text(json.dumps({"id": "x", **FIELDS}) + "\n", encoding="utf-8")
    return tmp_path


JUDGE: dict[str, Any] = {"rubric": "tact.toml", "store": "adjudge.db"}


def by_command(model: str, options: dict[str, Any]) -> None:
    flags = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    given = ("-p", "prometheus/direct", "--rubric", "tact.toml", "-m", model, "--run", "command", "-q")
    assert command("run", "items.jsonl", *given, *flags).code in (0, 4)


def by_run(model: str, options: dict[str, Any]) -> None:
    adjudge.run("items.jsonl", "prometheus/direct", model, run="run", **JUDGE, **options)


def by_run_async(model: str, options: dict[str, Any]) -> None:
    rows = [{"id": "y", **FIELDS}]
    asyncio.run(adjudge.run_async(rows, "prometheus/direct", model, run="async", **JUDGE, **options))


def by_judge(model: str, options: dict[str, Any]) -> None:
    with adjudge.Judge("prometheus/direct", model, **JUDGE, **options) as judge:
        verdict = judge(**FIELDS)
        assert asyncio.run(judge.ask(FIELDS)).score == verdict.score
        assert judge.many([FIELDS])[0].score == verdict.score


def by_service(model: str, options: dict[str, Any]) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    run = f'[runs.tact]\nprotocol = "prometheus/direct"\nrubric = "tact.toml"\nmodels = ["{model}"]\n'
    served = Served(Path.cwd(), "--log", run_file=run + "\n".join(lines), ADJUDGE_TRUST_RUN_FILE="1")
    try:
        status, _ = served.post("/score", {"model": "tact", "items": [FIELDS]})
        assert status == 200
    finally:
        served.stop()


def by_test(model: str, options: dict[str, Any]) -> None:
    call = f"judge('prometheus/direct', {FIELDS!r}, rubric='tact.toml', **{options!r})"
    Path("test_tact.py").write_text(f"def test_tact(judge):\n    {call}\n", encoding="utf-8")
    flags = ("-q", "-p", "no:cacheprovider", "--adjudge-store", "adjudge.db", "--adjudge-model", model)
    words = [sys.executable, "-m", "pytest", "test_tact.py", *flags]
    done = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stdout + done.stderr


DOORS = (by_command, by_run, by_run_async, by_judge, by_service, by_test)


@pytest.mark.parametrize(
    ("reply", "settings", "first"),
    [
        ("a score", "plain", 0),
        ("a score after a follow-up", "sampled", 1),
        ("a failure", "without follow-ups", 2),
        ("a score after a follow-up", "plain", 3),
        ("a score", "without follow-ups", 4),
        ("a failure", "sampled", 5),
    ],
)
def test_each_door_finds_what_another_has_asked(folder: Path, reply: str, settings: str, first: int) -> None:
    doors, options = DOORS[first:] + DOORS[:first], OPTIONS[settings]
    with FakeServer(Host(REPLIES[reply]).answer) as server:
        model = model_at(server)
        doors[0](model, options)
        asked = server.n_requests
        assert asked
        for door in doors[1:]:
            door(model, options)
            assert server.n_requests == asked, f"{door.__name__} asked again after {doors[0].__name__}"
    with open_store(folder / "adjudge.db", write=False) as store:
        read = {run.name: list(results(store, run)) for run in store.runs()}
        keys = {run.name: sorted({asked.call.key for asked in store.asked(run)}) for run in store.runs()}
    assert len(read) == len(DOORS)
    assert len({tuple(found) for found in keys.values()}) == 1
    records = set()
    for found in read.values():
        (result,) = found
        record = msgspec.structs.replace(result, item="")
        records.add(msgspec.json.encode(record))
    assert len(records) == 1, records
