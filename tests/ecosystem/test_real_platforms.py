"""Traces in, scores out, with a real MLflow server and a real Phoenix server on the loopback address.

Each is skipped where its package is not installed (`make ecosystem`).
"""

from __future__ import annotations

import gc
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.models.fake import FakeModel
from running import EXAMPLES
from running import adjudge as command

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]

N = 200
BIN = Path(sys.executable).parent


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def ask(url: str, body: Any = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def serving(arguments: list[str], url: str, folder: Path, **environment: str) -> Iterator[str]:
    """A server until the tests end; its output is in a file."""
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            arguments, cwd=folder, stdout=log, stderr=log, env={**os.environ, **environment},
            start_new_session=True,
        )  # fmt: skip
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(url, timeout=5).close()
                    break
                except OSError:
                    assert server.poll() is None, (folder / "log").read_text()[-2000:]
                    time.sleep(0.5)
            yield url
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


@pytest.fixture(scope="module")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    mlflow = pytest.importorskip("mlflow")
    folder, port = tmp_path_factory.mktemp("mlflow"), free_port()
    arguments = [
        str(BIN / "mlflow"), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder}/m.db", "--default-artifact-root", f"{folder}/artifacts",
    ]  # fmt: skip
    for url in serving(arguments, f"http://127.0.0.1:{port}", folder):
        mlflow.set_tracking_uri(url)
        mlflow.set_experiment("desk")
        for number in range(N):
            traced(mlflow, number)
            time.sleep(0.002)  # MLflow orders traces by the millisecond
        mlflow.flush_trace_async_logging()
        yield url


def traced(mlflow: Any, number: int) -> None:
    """A trace of an agent that retrieves, uses a tool and asks a model, made by MLflow itself."""
    from mlflow.entities import Document, SpanType

    with mlflow.start_span("desk", span_type=SpanType.AGENT) as root:
        root.set_inputs({"question": f"Question {number}?"})
        mlflow.update_current_trace(metadata={"mlflow.trace.session": f"s{number // 4}"})
        with mlflow.start_span("search", span_type=SpanType.RETRIEVER) as span:
            span.set_inputs({"query": f"q{number}"})
            span.set_outputs([Document(page_content=f"passage {number}", metadata={})])
        with mlflow.start_span("weather", span_type=SpanType.TOOL) as span:
            span.set_inputs({"city": "Oslo"})
            span.set_outputs(f"rain {number}")
        with mlflow.start_span("llm", span_type=SpanType.CHAT_MODEL) as span:
            span.set_inputs({"messages": [{"role": "user", "content": f"Question {number}?"}]})
            said = {"role": "assistant", "content": f"Answer {number}."}
            span.set_outputs({"choices": [{"message": said}]})
        root.set_outputs(f"Answer {number}.")


@pytest.fixture(scope="module")
def phoenix_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("phoenix")
    folder, port = tmp_path_factory.mktemp("phoenix"), free_port()
    environment = {
        "PHOENIX_WORKING_DIR": str(folder), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()), "PHOENIX_TELEMETRY_ENABLED": "false",
    }  # fmt: skip
    arguments = [str(BIN / "phoenix"), "serve"]
    for url in serving(arguments, f"http://127.0.0.1:{port}", folder, **environment):
        ask(f"{url}/v1/projects", {"name": "desk"})
        for start in range(0, N, 20):
            spans = [span for number in range(start, start + 20) for span in spans_of(number)]
            ask(f"{url}/v1/projects/desk/spans", {"data": spans})
        roots = f"{url}/v1/projects/desk/spans?limit=1000&name=desk"
        until(lambda roots=roots: len(ask(roots)["data"]) == N)
        yield url


def until(is_done: Callable[[], bool]) -> None:
    for _ in range(240):
        if is_done():
            return
        time.sleep(0.5)
    raise AssertionError("it did not happen")


def spans_of(number: int) -> list[dict[str, Any]]:
    """The same trace in OpenInference's attributes."""
    trace, root = f"{number + 1:032x}", f"{(number + 1) * 16:016x}"
    message = "llm.input_messages.0.message"
    answer = "llm.output_messages.0.message"
    parts: list[tuple[str, str, dict[str, str]]] = [
        ("desk", "AGENT", {"input.value": f"Question {number}?", "output.value": f"Answer {number}."}),
        ("search", "RETRIEVER", {"retrieval.documents.0.document.content": f"passage {number}"}),
        ("weather", "TOOL", {"input.value": '{"city": "Oslo"}', "output.value": f"rain {number}"}),
        ("llm", "LLM", {
            f"{message}.role": "user", f"{message}.content": f"Question {number}?",
            f"{answer}.role": "assistant", f"{answer}.content": f"Answer {number}.",
        }),
    ]  # fmt: skip
    minute, second = divmod(number, 60)
    return [
        {
            "name": name, "span_kind": kind, "parent_id": root if place else None, "attributes": attributes,
            "context": {"trace_id": trace, "span_id": f"{(number + 1) * 16 + place:016x}"},
            "status_code": "OK",
            "start_time": f"2026-11-18T10:{minute:02}:{second:02}.{place}+00:00",
            "end_time": f"2026-11-18T10:{minute:02}:{second:02}.9+00:00",
        }
        for place, (name, kind, attributes) in enumerate(parts)
    ]  # fmt: skip


def reply(text: str) -> str:
    """A score by the number of the answer; of each twentieth none can be read."""
    number = int(text.split("Answer ")[1].split(".")[0])
    return "What a day." if number % 20 == 7 else f"Because of {number}. [RESULT] {number % 5 + 1}"


def judged(items: Path, store: Path) -> list[dict[str, Any]]:
    """The items judged, and the rows of their export."""
    model = FakeModel(lambda call: reply("\n".join(message.content for message in call.messages)))
    rubric = EXAMPLES / "tact.toml"
    adjudge.run(items, "prometheus/direct", model, rubric=rubric, store=store, run="r", reask=0)
    return command("export", "r", "--store", store, "--format", "jsonl").rows


def pulled(source: str, folder: Path) -> Path:
    items = folder / "items.jsonl"
    done = command("pull", source, "-o", items)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in items.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == N == len({row["id"] for row in rows})
    for row in rows:
        number = row["task"].removeprefix("Question ").removesuffix("?")
        assert row["response"] == f"Answer {number}."
        assert row["context"] == [f"passage {number}"]
        assert {turn["role"] for turn in row["conversation"]} == {"user", "assistant", "tool"}
        assert any(turn["content"] == f"rain {number}" for turn in row["conversation"])
    return items


def check_queries(source: str, all_of_them: str, none_of_them: str) -> None:
    """The newest N, since a time, and by a filter of the platform."""
    newest = [f"Question {number}?" for number in range(N - 7, N)]
    assert sorted(row["task"] for row in command("pull", source, "--limit", "7").rows) == newest
    for flags in (("--since", "2026-01-01"), ("--filter", all_of_them)):
        assert len(command("pull", source, *flags).rows) == N
    for flags in (("--since", "2099-01-01"), ("--filter", none_of_them)):
        done = command("pull", source, *flags)
        assert (done.code, "no trace fits" in done.err) == (2, True)


def push_killed(target: str, store: Path) -> None:
    """A push that is killed after its first scores are written."""
    push = subprocess.Popen(
        [str(BIN / "adjudge"), "push", "r", target, "--store", str(store)],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert push.stderr is not None
    while b"80 scores" not in push.stderr.readline():
        assert push.poll() is None
    push.kill()
    push.wait()
    push.stderr.close()


def check_push(target: str, folder: Path, written: Callable[[], list[dict[str, Any]]]) -> None:
    """Kill, push, push again: every score of the export is there once, and the last push writes none."""
    store = folder / "s.db"
    rows = judged(pulled(target, folder), store)
    assert sum(row["status"] != "ok" for row in rows) == N // 20
    dry = command("push", "r", target, "--store", store, "--dry-run", "--json").json
    assert (dry["written"], len(written())) == (N, 0)
    push_killed(target, store)
    n_before = len(written())
    assert 0 < n_before < N
    second = command("push", "r", target, "--store", store, "--json").json
    assert second["written"] == N - n_before
    expected = sorted((row["item"], row["score"], row["explanation"] or "", row["status"]) for row in rows)
    there = written()
    assert len({one["score_id"] for one in there}) == len(there) == N
    assert (
        sorted((one["trace"], one["score"], one["explanation"], one["status"]) for one in there) == expected
    )
    third = command("push", "r", target, "--store", store, "--json").json
    assert (third["written"], third["replaced"], third["unchanged"]) == (0, 0, N)
    assert written() == there
    changed = command("push", "r", target, "--store", store, "--card", "https://cards/1", "--json").json
    assert (changed["written"], changed["replaced"]) == (0, N)
    assert len(written()) == N
    assert {one["card"] for one in written()} == {"https://cards/1"}


def test_mlflow(mlflow_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_server)
    mlflow.set_tracking_uri(mlflow_server)

    def written() -> list[dict[str, Any]]:
        """The assessments as MLflow's own client reads them."""
        traces = mlflow.search_traces(
            locations=[mlflow.get_experiment_by_name("desk").experiment_id],
            return_type="list",
            max_results=500,
        )
        return [
            {
                "trace": trace.info.trace_id, "score": one.feedback.value,
                "explanation": one.rationale or "", "status": one.metadata["adjudge.status"],
                "score_id": one.metadata["adjudge.score_id"], "card": one.metadata.get("adjudge.card"),
                "error": one.feedback.error and one.feedback.error.error_code,
            }
            for trace in traces
            for one in trace.info.assessments
        ]  # fmt: skip

    check_queries("mlflow:desk", "trace.status = 'OK'", "trace.status = 'ERROR'")
    check_push("mlflow:desk", tmp_path, written)
    assert sorted({one["error"] for one in written()}, key=str) == [None, "unparsed"]


def test_phoenix(phoenix_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", phoenix_server)

    def written() -> list[dict[str, Any]]:
        ids = [f"{(number + 1) * 16:016x}" for number in range(N)]
        project = f"{phoenix_server}/v1/projects/desk/span_annotations"
        found = [
            one
            for start in range(0, N, 50)
            for one in ask(
                f"{project}?limit=1000&" + "&".join(f"span_ids={i}" for i in ids[start : start + 50])
            )["data"]
        ]
        return [
            {
                "trace": f"{int(one['span_id'], 16) // 16:032x}", "score": one["result"]["score"],
                "explanation": one["result"]["explanation"] or "",
                "status": one["metadata"]["adjudge.status"], "score_id": one["identifier"],
                "card": one["metadata"].get("adjudge.card"),
            }
            for one in found
        ]  # fmt: skip

    check_queries("phoenix:desk", "latency_ms < 5000", "latency_ms > 5000")
    check_push("phoenix:desk", tmp_path, written)


@pytest.mark.parametrize("form", ["json", "eval"])
def test_inspect(form: str, tmp_path: Path) -> None:
    """A log that Inspect wrote, and the scores as `read_eval_log` reads them."""
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import includes
    from inspect_ai.solver import solver

    @solver
    def recorded() -> Any:
        async def solve(state: Any, generate: Any) -> Any:  # noqa: ARG001  no model is asked
            state.output = ModelOutput.from_content("recorded", state.metadata["answer"])
            return state

        return solve

    samples = [Sample(input=f"Question {k}?", metadata={"answer": f"Answer {k}."}) for k in range(20)]
    task = inspect_ai.Task(dataset=samples, solver=recorded(), scorer=includes())
    (made,) = inspect_ai.eval(
        task, model="mockllm/model", log_dir=str(tmp_path), log_format=form, epochs=2, display="none"
    )
    gc.collect()  # streams that Inspect leaves open warn here, where warnings of tools are ignored
    log, store = tmp_path / Path(made.location).name, tmp_path / "s.db"
    items = tmp_path / "items.jsonl"
    assert command("traces", log, "-o", items).code == 0
    rows = judged(items, store)
    push = ("push", "r", f"inspect:{log}", "--store", store, "--json")
    assert [command(*push).json["written"] for _ in range(2)] == [len(rows), 0] == [40, 0]
    found = {}
    for sample in read_eval_log(str(log)).samples:
        name = str(sample.id) if sample.epoch == 1 else f"{sample.id} ({sample.epoch})"
        assert set(sample.scores) == {"includes", "tact"}
        score = sample.scores["tact"]
        found[name] = (None if math.isnan(score.value) else score.value, score.metadata["adjudge.status"])
    assert found == {row["item"]: (row["score"], row["status"]) for row in rows}
    assert [name for name in os.listdir(tmp_path) if name.startswith(".adjudge")] == []
