"""A cascade over HTTP: a thousand items, killed and resumed, at the price that its calibration named."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from fakeserver import Answer, FakeServer, Request, as_json, chat
from running import EXAMPLES, adjudge, started

RUBRIC = ("-p", "prometheus/direct", "--rubric", EXAMPLES / "tact.toml")
N_LABELLED, N_NEW, CONCURRENCY, SAMPLES = 300, 1000, 16, 3
COST_PER_CALL = {"cheap": 30e-6, "dear": 300e-6}

pytestmark = pytest.mark.slow


def kind_of(k: int) -> str:
    return "doubtful" if k % 10 == 0 else "hard" if k % 3 == 0 else "easy"


def score_of(k: int) -> int:
    return 4 if k % 7 else 2


class Judges:
    """Two judges: on what one is not sure of, its samples differ."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, int], int] = {}

    def __call__(self, request: Request) -> Answer:
        model, text = request.json["model"], request.json["messages"][-1]["content"]
        found = re.search(r"number (\d+) ends", text)
        assert found is not None
        k = int(found[1])
        sample = self.asked[model, k] = self.asked.get((model, k), 0) + 1
        is_sure = kind_of(k) in {"cheap": ("easy",), "dear": ("easy", "hard")}[model]
        reply = chat(f"So. [RESULT] {score_of(k) if is_sure else (1, 3, 5)[sample % 3]}")
        return as_json(json.loads(reply.body) | {"model": model})


def items(path: Path, first: int, n: int) -> Path:
    rows = [
        {"id": f"i{k}", "instruction": "Greet.", "response": f"{kind_of(k)} answer number {k} ends"}
        for k in range(first, first + n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_killed_cascade_resumes_and_costs_what_was_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judges = Judges()
    with FakeServer(judges, latency=0.002) as server:
        models = {name: f"{server.url}/v1#{name}" for name in ("cheap", "dear")}
        prices = {"cheap": "1,2", "dear": "10,20"}
        items(tmp_path / "items.jsonl", 0, N_LABELLED)
        for name, model in models.items():
            done = adjudge(
                "run", "items.jsonl", *RUBRIC, "-m", model, "--price", prices[name], "--samples",
                str(SAMPLES), "--run", name, "--quiet",
            )  # fmt: skip
            assert done.code == 0, done.err
        labels = "".join(f"i{k},tact,r,{score_of(k)}\n" for k in range(N_LABELLED))
        (tmp_path / "labels.csv").write_text(f"item,criterion,rater,value\n{labels}", encoding="utf-8")
        calibrated = adjudge(
            "cascade", "cheap", "dear", "--labels", "labels.csv", "--agree", "0.9", "--within", "0.5",
            "-o", "cascade.toml", "--json",
        )  # fmt: skip
        assert calibrated.code == 0, calibrated.err
        items(tmp_path / "new.jsonl", N_LABELLED, N_NEW)
        command = [
            "run", "new.jsonl", "--cascade", "cascade.toml", "--run", "night", "--concurrency",
            str(CONCURRENCY), "--quiet", "--json",
        ]  # fmt: skip
        for name, model in models.items():
            command += ["--price", f"{model}={prices[name]}"]
        begin, kills = server.n_requests, (200, 1500, 3100)
        for n in kills:
            process = started(*command)
            while server.n_requests < begin + n and process.poll() is None:
                time.sleep(0.005)
            process.kill()
            process.communicate()
        done = adjudge(*command)
        n_asked = server.n_requests - begin
    assert done.code == 0, done.err
    stages = {stage["judge"]: stage for stage in done.json["stages"]}
    n_calls = SAMPLES * sum(stage["reached"] for stage in stages.values())
    # A killed process loses replies that it had not reported; nothing that was stored is asked again.
    assert n_calls <= n_asked < 1.3 * n_calls
    decided = {decision["item"]: decision for decision in done.json["decisions"]}
    assert len(decided) == N_NEW
    assert {kind_of(int(item[1:])) for item in done.json["to_people"]} <= {"doubtful"}
    for name, stage in stages.items():
        assert stage["cost_usd"] == pytest.approx(stage["reached"] * SAMPLES * COST_PER_CALL[name])
    paid = sum(stage["cost_usd"] for stage in stages.values())
    assert paid == pytest.approx(calibrated.json["price_per_1000"], rel=0.1)
    assert paid < 0.6 * calibrated.json["alone_price_per_1000"]
    rows = adjudge("export", "night", "--format", "jsonl").rows
    assert [row["item"] for row in rows] == [f"i{k}" for k in range(N_LABELLED, N_LABELLED + N_NEW)]
    warnings = {warning["kind"] for warning in adjudge("report", "night", "--json").json["warnings"]}
    assert "model_changed" not in warnings
    assert adjudge("doctor").code == 0
