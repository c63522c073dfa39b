"""`adjudge serve` as its callers see it: both formats, batches, tokens, failures, and what a kill leaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

import adjudge
from adjudge.results.manifest import protocols_of
from adjudge.score_map import ScoreCurve, ScoreMap, written_score_map
from adjudge.store import open_store
from running import EXAMPLES
from running import adjudge as command
from served import Served

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


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("serve"), run_file=RUN_FILE)
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


def test_cut_slow_and_hostile_requests_keep_nobody_out_and_print_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server = Served(tmp_path, run_file=RUN_FILE)
    place = urlsplit(server.url)
    head = f"POST /score HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
    allowed = f"{head}Authorization: Bearer secret\r\n"
    with contextlib.ExitStack() as opened:

        def send(text: str) -> socket.socket:
            connection = socket.create_connection((place.hostname or "", place.port or 0), timeout=20)
            opened.enter_context(connection)
            connection.sendall(text.encode())
            return connection

        for _ in range(5):
            send(f'{allowed}Content-Length: 100\r\n\r\n{{"model"').close()
            send(f"{head}Content-Length: 100\r\n\r\n").close()
        for _ in range(600):
            send(f"{head}Content-Length: 100\r\n")
        with contextlib.suppress(OSError):
            flooding = send(head)
            for _ in range(2_000):
                flooding.sendall(b"X-A: " + b"a" * 8_000 + b"\r\n")
            raise AssertionError("16 MB of headers were taken")
        for deep in ('{"a":' * 100_000, "[" * 100_000):
            answer = send(f"{allowed}Content-Length: {len(deep)}\r\n\r\n{deep}").recv(1_000)
            assert answer.startswith(b"HTTP/1.1 400")
        status, scored = server.post("/score", {"model": "tact", "items": ["x"]})
        assert (status, scored["scores"][0]["score"]) == (200, 4)
    server.stop()
    assert "Traceback" not in capfd.readouterr().err


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


def test_the_metrics_are_in_the_format_of_prometheus(served: Served) -> None:
    served.post("/score", {"model": "tact", "items": ["x"]})
    kind, lines = served.metrics()
    assert kind.startswith("text/plain; version=0.0.4")
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE ")}
    assert {line.split()[2] for line in lines if line.startswith("# HELP ")} == typed
    sample = re.compile(r'([a-z_]+)(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? [0-9.e+-]+')
    found = [sample.fullmatch(line) for line in lines if not line.startswith("#")]
    assert {match[1] for match in found if match} == typed
    assert all(found)


def test_a_stop_answers_what_is_under_way_and_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "slow.jsonl").write_text('{"text": "[RESULT] 4", "seconds": 2}\n' * 9)
    (tmp_path / "tmp").mkdir()
    slow = RUN_FILE.split("[runs.broken]")[0].replace(
        "fake:text=Feedback: It is kind. [RESULT] 4", "fake:script=slow.jsonl"
    )
    server = Served(tmp_path, run_file=slow, TMPDIR=str(tmp_path / "tmp"))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(server.post, "/score", {"model": "tact", "items": ["x"]})
        while server.metrics()[1][-1] != "adjudge_requests_under_way 1":
            time.sleep(0.05)
        server.process.send_signal(signal.SIGTERM)
        assert asked.result()[1]["scores"][0]["score"] == 4
    server.process.communicate(timeout=30)
    assert server.process.returncode == 0
    assert not list((tmp_path / "tmp").iterdir())


def test_each_client_has_a_token_that_ends_when_it_is_revoked(tmp_path: Path) -> None:
    shared = ("--share", "--host", "127.0.0.1")
    server = Served(tmp_path, *shared, "--client", "ci", "--client", "trainer", run_file=RUN_FILE)
    try:
        asked = ("/score", {"model": "tact", "items": ["x"]})
        for _ in range(12):
            assert server.post(*asked, token="w" * 43)[0] in (401, 429)
        # A wrong token of another program on the same machine locks no caller out.
        assert {server.post(*asked, token=server.tokens[name])[0] for name in ("ci", "trainer")} == {200}
        store = ("--store", str(tmp_path / "adjudge.db"))
        assert command("serve", "--revoke", "ci", *store).code == 0
        assert [server.post(*asked, token=server.tokens[name])[0] for name in ("ci", "trainer")] == [429, 200]
    finally:
        server.stop()


@pytest.mark.slow
def test_a_kill_loses_no_logged_request(tmp_path: Path) -> None:
    server = Served(tmp_path, "tact", "--log", run_file=RUN_FILE)
    for k in range(12):
        assert server.post("/score", {"model": "tact", "items": [f"text {k}"]})[0] == 200
    server.stop(signal.SIGKILL)
    results = adjudge.open_run("serve/tact", tmp_path / "adjudge.db").results()
    assert [result.value for result in results] == [4] * 12
    again = Served(tmp_path, "tact", "--log", run_file=RUN_FILE)
    assert again.post("/score", {"model": "tact", "items": ["text 3", "text 12"]})[1]["n_failed"] == 0
    again.stop()
    assert len(adjudge.open_run("serve/tact", tmp_path / "adjudge.db").results()) == 13


def test_a_judge_that_has_changed_gets_a_log_of_its_own(tmp_path: Path) -> None:
    def scores(run_file: str) -> list[float]:
        server = Served(tmp_path, "tact", "--log", run_file=run_file)
        body = server.post("/score", {"model": "tact", "items": ["text"]})[1]
        server.stop()
        return [one["score"] for one in body["scores"]]

    changed = [RUN_FILE.replace("[RESULT] 4", f"[RESULT] {score}") for score in (4, 3, 3, 5)]
    assert [scores(one) for one in changed] == [[4], [3], [3], [5]]
    logs = {
        row["run"]: row["items"] for row in command("runs", "--store", tmp_path / "adjudge.db", "--json").json
    }
    assert logs == {"serve/tact": 1, "serve/tact-2": 1, "serve/tact-3": 1}
    values = [adjudge.open_run(run, tmp_path / "adjudge.db").results()[0].value for run in sorted(logs)]
    assert values == [5, 4, 3]


CASCADE = """
agree = 0.9
risk = 0.1
criterion = "tact"
n_labels = 100
within = 0.5

[[stages]]
run = "cheap"
model = "fake"
protocol = "PROTOCOL"
confidence = "margin"
threshold = -0.5

[[stages]]
run = "dear"
model = "fake"
protocol = "PROTOCOL"
confidence = "margin"
threshold = -0.5
"""


def test_a_cascade_asks_the_dear_judge_where_the_cheap_one_is_unsure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scores = {"cheap": {"easy": "444", "hard": "135", "odd": "135"},
              "dear": {"easy": "222", "hard": "555", "odd": "135"}}  # fmt: skip
    for name, kinds in scores.items():
        rows = [{"match": kind, "text": f"[RESULT] {k}"} for kind, three in kinds.items() for k in three]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        adjudge.run(
            [{"task": "t", "response": "easy"}], "prometheus/direct", f"fake:script={name}.jsonl", run=name,
            rubric=EXAMPLES / "tact.toml", samples=3, concurrency=1, store="adjudge.db",
        )  # fmt: skip
    with open_store("adjudge.db", write=False) as store:
        (protocol,) = protocols_of(store, store.run("cheap"))
    (tmp_path / "night.toml").write_text(CASCADE.replace("PROTOCOL", protocol), encoding="utf-8")
    server = Served(tmp_path, "--cascade", "night.toml", run_file=RUN_FILE)
    try:
        items = [{"task": "t", "response": text} for text in ("easy", "hard", "odd", "easy")]
        _, body = server.post("/score", {"model": "night", "items": items})
        assert [one["score"] for one in body["scores"]] == [4, 5, None, 4]
        assert (body["scores"][2]["status"], body["n_failed"]) == ("to_people", 1)
        asked = {"tact": {"type": "score", "criteria": list("abcde")}, "other": {"type": "noul"}}
        _, body = server.post("/v1/systemone", {"model": "night", "state": items[1], "questions": asked})
        assert body["answers"]["tact"]["score"] == 4
        assert body["errors"]["other"]["status"] == "no_such_criterion"
        _, body = server.post("/v1/systemone", {"model": "night", "state": items[2], "questions": asked})
        assert (body["answers"], body["errors"]["tact"]["status"]) == ({}, "to_people")
        assert server.post("/score", {"model": "night.1", "items": items})[0] == 404
    finally:
        server.stop()


def test_a_judge_with_a_map_of_scores_answers_from_it(tmp_path: Path) -> None:
    """Where the judge says 4, people say 3.25: three quarters of the mass are on 3, the rest on 4."""
    judge = "fake:text=Feedback: It is kind. [RESULT] 4"
    curve = ScoreCurve(judge, "tact", "isotonic", 50, x=(0.0, 0.75, 1.0), y=(0.0, 0.5625, 1.0))
    (tmp_path / "map.toml").write_text(written_score_map(ScoreMap((curve,))), encoding="utf-8")
    mapped = RUN_FILE.split("[runs.broken]")[0] + 'map_scores = "map.toml"\n'
    server = Served(tmp_path, run_file=mapped)
    try:
        asked = {"tact": {"type": "score", "criteria": list("abcde")}}
        _, body = server.post("/v1/systemone", {"model": "tact", "state": "Hello.", "questions": asked})
        answer = body["answers"]["tact"]
        assert (answer["calibrated"], answer["score"]) == (True, 2.25)
        assert answer["probabilities"] == {"0": 0, "1": 0, "2": 0.75, "3": 0.25, "4": 0}
    finally:
        server.stop()


def test_a_spent_budget_is_an_error_of_each_question_and_never_a_number(tmp_path: Path) -> None:
    priced = """
[runs.paid]
protocol = "prometheus/direct"
rubric = "tact.toml"
models = ["fake:text=Kind. [RESULT] 4"]
price = [1000, 1000]
budget = 0.05
"""
    server = Served(tmp_path, run_file=priced)
    try:
        given = [{"name": "tact", "type": "score", "levels": LEVELS}]
        outcomes = [
            server.post("/v1/decisions", {"model": "paid", "input": f"Hello {k}!", "questions": given})
            for k in range(4)
        ]
        assert [status for status, _ in outcomes] == [200] * 4
        answers = [body["answers"][0] for _, body in outcomes]
        assert answers[0]["type"] == "score"
        assert answers[-1]["type"] == "refusal"
        assert answers[-1]["error"]["status"] == "budget_reached"
        assert "score" not in answers[-1]
        # What was judged before costs nothing, so it is still answered.
        items = ["Hello again!", "Hello 0!"]
        _, body = server.post("/score", {"model": "paid", "items": items})
        assert [(one["score"], one["status"]) for one in body["scores"]] == [
            (None, "budget_reached"),
            (4, "ok"),
        ]
        # A question of a caller's own is paid from the same budget.
        asked = [{"name": "other", "instructions": "Is it clear?", "type": "score", "levels": LEVELS}]
        _, body = server.post("/v1/decisions", {"model": "paid", "input": "Hello 0!", "questions": asked})
        assert body["answers"][0]["error"]["status"] == "budget_reached"
    finally:
        server.stop()
