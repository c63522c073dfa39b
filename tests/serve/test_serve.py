"""`adjudge serve` as its callers see it: both formats, batches, tokens, failures, and what a kill leaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import adjudge
from running import EXAMPLES

RUN_FILE = """
[runs.tact]
protocol = "prometheus/direct"
rubric = "tact.toml"
models = ["fake:text=Feedback: It is kind. [RESULT] 4"]
[runs.broken]
protocol = "prometheus/direct"
rubric = "tact.toml"
models = ["fake:text=What a day."]
reask = 0
[runs.pair]
protocol = "prometheus/pairwise"
rubric = "tact.toml"
order = "given"
models = ["fake:text=[RESULT] B"]
"""
LEVELS = [{"label": str(k)} for k in range(1, 6)]


class Served:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *flags: str) -> None:
        shutil.copy(EXAMPLES / "tact.toml", folder)
        (folder / "adjudge.toml").write_text(RUN_FILE, encoding="utf-8")
        words = [sys.executable, "-c", "from adjudge.cli import main; main()", "serve", *flags]
        environment = {**os.environ, "ADJUDGE_SERVE_TOKEN": "secret", "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split(" at ")[1].strip().removesuffix("/v1")

    def post(self, path: str, body: object, token: str = "secret") -> tuple[int, Any]:
        headers = {
            "content-type": "application/json",
            **({"authorization": f"Bearer {token}"} if token else {}),
        }
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("serve"))
    yield server
    server.stop()


def test_a_criterion_is_asked_by_its_name_in_both_formats(served: Served) -> None:
    question = {"type": "score", "name": "tact", "instructions": "?", "levels": LEVELS}
    status, body = served.post("/v1/decisions", {"model": "tact", "input": "Hello.", "questions": [question]})
    assert status == 200
    (answer,) = body["answers"]
    assert (answer["score"], answer["calibrated"]) == (3, False)
    assert [level["probability"] for level in answer["probabilities"]] == [0, 0, 0, 1, 0]
    state = {"instruction": "Greet.", "response": "Hello."}
    asked = {
        "tact": {"type": "score", "criteria": list("abcde")},
        "is_kind": {"type": "noul", "instructions": "Kind?"},
    }
    status, body = served.post("/v1/systemone", {"model": "tact", "state": state, "questions": asked})
    assert body["answers"]["tact"]["probabilities"] == {"0": 0, "1": 0, "2": 0, "3": 1, "4": 0}
    # 4 is on no scale of a yes/no question: an error, never a number.
    assert body["errors"]["is_kind"]["status"] == "out_of_range"


def test_a_choice_between_two_responses(served: Served) -> None:
    asked = {"tact": {"type": "choice", "criteria": {"a": None, "b": None}}}
    state = {"instruction": "i", "response_a": "x", "response_b": "y"}
    _, body = served.post("/v1/systemone", {"model": "pair", "state": state, "questions": asked})
    assert body["answers"]["tact"]["choice"] == "b"


def test_a_failure_is_an_error_of_its_question(served: Served) -> None:
    question = {"type": "predicate", "name": "tact", "instructions": "?"}
    status, body = served.post("/v1/decisions", {"model": "broken", "input": "Hi.", "questions": [question]})
    assert status == 200
    assert body["answers"][0]["type"] == "refusal"
    assert body["answers"][0]["error"]["status"] == "unparsed"
    assert "probability" not in body["answers"][0]
    _, body = served.post(
        "/v1/systemone", {"model": "broken", "state": "Hi.", "questions": {"tact": {"type": "noul"}}}
    )
    assert body["answers"] == {}


def test_a_batch_of_scores(served: Served) -> None:
    items = [{"task": "t", "response": "a"}, "b", {"task": "t", "response": "a"}]
    _, body = served.post("/score", {"model": "tact", "items": items})
    assert [score["score"] for score in body["scores"]] == [4, 4, 4]
    _, body = served.post("/score", {"model": "broken", "items": ["x"]})
    assert (body["scores"][0]["score"], body["n_failed"]) == (None, 1)


def test_without_a_token_a_caller_gets_nothing(served: Served) -> None:
    body = {"model": "tact", "items": ["x"]}
    for path in ("/score", "/v1/decisions", "/v1/systemone"):
        for token in ("", "wrong"):
            status, answer = served.post(path, body, token)
            assert status == 401
            assert set(answer) == {"error"}
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{served.url}/metrics")


def test_mistakes_are_explained(served: Served) -> None:
    assert served.post("/score", {"model": "none", "items": ["x"]})[0] == 404
    assert (
        served.post("/v1/decisions", {"model": "tact", "input": "x", "questions": [{"type": "odd"}]})[0]
        == 400
    )
    assert served.post("/score", ["x"])[0] == 400


def test_many_callers_at_once_and_the_metrics(served: Served) -> None:
    async def call(session: aiohttp.ClientSession, k: int) -> float:
        body = {"model": "tact", "items": [f"text number {k % 150}"]}
        async with session.post(f"{served.url}/score", json=body) as answer:
            return float((await answer.json())["scores"][0]["score"])

    async def all_of_them() -> list[float]:
        headers = {"authorization": "Bearer secret"}
        connector = aiohttp.TCPConnector(limit=200)
        async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
            return await asyncio.gather(*(call(session, k) for k in range(200)))

    assert set(asyncio.run(all_of_them())) == {4.0}
    request = urllib.request.Request(f"{served.url}/metrics", headers={"authorization": "Bearer secret"})
    text = urllib.request.urlopen(request).read().decode()
    assert 'adjudge_questions_total{model="tact",outcome="answered"}' in text


def test_a_kill_loses_no_logged_request(tmp_path: Path) -> None:
    server = Served(tmp_path, "tact", "--log")
    for k in range(12):
        assert server.post("/score", {"model": "tact", "items": [f"text {k}"]})[0] == 200
    server.stop(signal.SIGKILL)
    results = adjudge.open_run("serve/tact", tmp_path / "adjudge.db").results()
    assert [result.value for result in results] == [4] * 12
    again = Served(tmp_path, "tact", "--log")
    assert again.post("/score", {"model": "tact", "items": ["text 3", "text 12"]})[1]["n_failed"] == 0
    again.stop()
    assert len(adjudge.open_run("serve/tact", tmp_path / "adjudge.db").results()) == 13


def test_the_sdk_of_openai_reads_the_answers(served: Served) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key="secret", base_url=f"{served.url}/v1")
    question = {"type": "score", "name": "tact", "instructions": "?", "levels": LEVELS}
    decision = client.decisions.create(model="tact", input="Hello.", questions=[question])
    assert decision.answers[0].score == 3


def test_the_sdk_of_typesafe_reads_the_answers(served: Served) -> None:
    sdk = pytest.importorskip("typesafe_sdk")
    with contextlib.closing(sdk.TypeSafeClient(api_key="secret", base_url=served.url)) as client:
        asked = {
            "tact": sdk.Score(criteria=["a", "b", "c", "d", "e"]),
            "other": sdk.Noul(instructions="Kind?"),
        }
        answered = client.system_one(state="Hello.", questions=asked, model="tact")
    assert answered.answers["tact"].score == 3
    assert "other" not in answered.answers
