"""Traces of platforms as items, and scores back to them: against the shapes of their APIs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from fakeplatform import FakePlatform

from adjudge.errors import DataError
from adjudge.platforms.query import since_of
from fakeserver import Answer, FakeServer, as_json
from running import EXAMPLES, adjudge, write_rows

MADE = Path(__file__).parents[1] / "data" / "traces" / "made"
VARIABLES = (
    "MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD",
    "PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_BASE_URL", "PHOENIX_API_KEY", "LANGFUSE_HOST", "LANGFUSE_BASE_URL",
    "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LANGSMITH_ENDPOINT", "LANGSMITH_API_KEY",
    "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def trace(number: int) -> dict[str, Any]:
    """A trace in Langfuse's form, and the same one as runs of LangSmith."""
    name = f"t{number:03}"
    question, answer = f"Question {number}?", f"Answer {number}."
    observation = {
        "id": f"o{number}", "traceId": name, "type": "GENERATION", "startTime": "2026-11-18T10:00:00Z",
        "input": [{"role": "user", "content": question}], "output": {"role": "assistant", "content": answer},
    }  # fmt: skip
    runs = [
        {"id": name, "trace_id": name, "run_type": "chain", "name": "desk", "inputs": {"question": question},
         "outputs": {"answer": answer}},
        {"id": f"{name}-r", "trace_id": name, "parent_run_id": name, "run_type": "retriever",
         "inputs": {"query": question}, "outputs": {"documents": [{"page_content": f"passage {number}"}]}},
    ]  # fmt: skip
    return {
        "id": name, "name": "desk" if number % 2 else "other", "input": question, "output": answer,
        "sessionId": f"s{number // 4}", "observations": [observation], "runs": runs,
    }  # fmt: skip


@pytest.fixture
def platform() -> Iterator[tuple[FakePlatform, FakeServer]]:
    fake = FakePlatform([trace(number) for number in range(120)])
    with fake.server() as server:
        yield fake, server


@pytest.fixture
def langfuse(platform: Any, monkeypatch: pytest.MonkeyPatch) -> FakePlatform:
    fake, server = platform
    monkeypatch.setenv("LANGFUSE_HOST", server.url)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-secret-7291")
    return fake  # type: ignore[no-any-return]


@pytest.fixture
def langsmith(platform: Any, monkeypatch: pytest.MonkeyPatch) -> FakePlatform:
    fake, server = platform
    monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
    monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2_secret_7291")
    return fake  # type: ignore[no-any-return]


# -- traces in


@pytest.mark.parametrize("version", [3, 4])
def test_traces_of_langfuse_are_items_page_by_page(
    tmp_path: Path, langfuse: FakePlatform, version: int
) -> None:
    langfuse.langfuse = version
    done = adjudge("pull", "langfuse:", "-o", tmp_path / "items.jsonl", "--json")
    assert done.json == {"source": "langfuse:", "items": 120, "skipped": 0}
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"t{number:03}" for number in reversed(range(120))]
    assert (rows[0]["task"], rows[0]["response"], rows[0]["group"]) == ("Question 119?", "Answer 119.", "s29")
    assert adjudge("pull", "langfuse:", "--limit", "3").rows == rows[:3]
    chosen = adjudge("pull", "langfuse:", "--filter", "name=desk").rows
    assert [row["id"] for row in chosen] == [row["id"] for row in rows if int(row["id"][1:]) % 2]
    assert [turn["content"] for turn in rows[0]["conversation"]] == ["Question 119?", "Answer 119."]


def test_a_filter_of_langfuse_is_pairs_or_its_conditions(langfuse: FakePlatform) -> None:
    condition = {"type": "string", "column": "traceName", "operator": "=", "value": "desk"}
    assert len(adjudge("pull", "langfuse:", "--filter", json.dumps([condition])).rows) == 60
    pulled = ("pull", "langfuse:", "--limit", "1")
    adjudge(*pulled, "--since", "2026-11-01", "--filter", "tags=prod&userId=ann")
    (query,) = [
        dict(parse_qsl(urlsplit(request.path).query))
        for request in langfuse.requests
        if "userId" in request.path
    ]
    asked = [(one["column"], one["operator"], one["value"]) for one in json.loads(query["filter"])]
    assert asked == [
        ("isRootObservation", "=", True), ("startTime", ">=", "2026-11-01T00:00:00+00:00"),
        ("tags", "all of", ["prod"]), ("userId", "=", "ann"),
    ]  # fmt: skip
    unknown = adjudge(*pulled, "--filter", "nothing")
    assert (unknown.code, "a JSON list of its conditions" in unknown.err) == (2, True)


@pytest.mark.usefixtures("langsmith")
def test_traces_of_langsmith_are_items_with_their_passages(tmp_path: Path) -> None:
    done = adjudge("pull", "langsmith:desk", "-o", tmp_path / "items.jsonl", "--limit", "103")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"t{number:03}" for number in range(119, 16, -1)]
    assert rows[0]["context"] == ["passage 119"]
    unknown = adjudge("pull", "langsmith:nothing")
    assert (unknown.code, "no project of this name" in unknown.err) == (2, True)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("mlflow:desk", "MLFLOW_TRACKING_URI"),
        ("langfuse:", "LANGFUSE_PUBLIC_KEY"),
        ("langsmith:desk", "LANGSMITH_API_KEY"),
        ("mlflow:", "name the experiment"),
        ("nothing:x", "no source of traces"),
        ("desk", "no source of traces"),
    ],
)
def test_what_is_missing_for_a_source_is_said(source: str, said: str) -> None:
    done = adjudge("pull", source)
    assert (done.code, said in done.err) == (2, True), done.err


def test_since_is_a_time_or_an_age() -> None:
    now = datetime(2026, 11, 18, 12, tzinfo=UTC)
    assert since_of("24h", now) == datetime(2026, 11, 17, 12, tzinfo=UTC)
    assert since_of("2w", now) == datetime(2026, 11, 4, 12, tzinfo=UTC)
    assert since_of("2026-11-01") == datetime(2026, 11, 1, tzinfo=UTC)
    assert since_of("2026-11-01T08:00+02:00") == datetime(2026, 11, 1, 6, tzinfo=UTC)
    with pytest.raises(DataError, match="--since yesterday"):
        since_of("yesterday")


# -- scores out


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A run over six traces: five scores and a failure."""
    rows = [{"id": f"t{k:03}", "task": "Q?", "response": f"Answer {k}."} for k in range(6)]
    items = write_rows(tmp_path / "i.jsonl", rows)
    script = [{"item": f"t{k:03}", "text": f"Because. [RESULT] {k % 5 + 1}"} for k in range(5)]
    replies = write_rows(tmp_path / "r.jsonl", [*script, {"item": "t005", "text": "What a day."}])
    done = adjudge(
        "run", items, "-p", "prometheus/direct", "-m", f"replay:{replies}",
        "--rubric", EXAMPLES / "tact.toml", "--run", "r", "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 0, done.err
    return tmp_path / "s.db"


def pushed(store: Path, target: str, *flags: str) -> dict[str, Any]:
    done = adjudge("push", "r", target, "--store", store, "--json", *flags)
    assert done.code == 0, done.err
    counts: dict[str, Any] = done.json
    return counts


def check_idempotent(store: Path, target: str, fake: FakePlatform) -> None:
    """Nothing on a dry run, six scores on a push, none on the second, all replaced after a change."""
    assert pushed(store, target, "--dry-run")["written"] == 6
    assert fake.writes == 0
    first = pushed(store, target)
    assert (first["written"], first["errors"], len(fake.scores)) == (6, 1, 6)
    second = pushed(store, target)
    assert (second["written"], second["replaced"], second["unchanged"], fake.writes) == (0, 0, 6, 6)
    third = pushed(store, target, "--card", "https://cards/1")
    assert (third["written"], third["replaced"], len(fake.scores)) == (0, 6, 6)


def test_scores_go_to_langfuse_once_and_failures_are_not_numbers(store: Path, langfuse: FakePlatform) -> None:
    check_idempotent(store, "langfuse:", langfuse)
    by_trace = {score["traceId"]: score for score in langfuse.scores.values()}
    assert {name: score["value"] for name, score in by_trace.items()} == {
        "t000": 1.0, "t001": 2.0, "t002": 3.0, "t003": 4.0, "t004": 5.0, "t005": "error: unparsed",
    }  # fmt: skip
    assert {score["dataType"] for score in by_trace.values()} == {"NUMERIC", "CATEGORICAL"}
    metadata = by_trace["t001"]["metadata"]
    assert metadata["adjudge.status"] == "ok"
    assert metadata["adjudge.how"] == "strict"
    assert metadata["adjudge.protocol"].startswith("prometheus/direct@")
    assert metadata["adjudge.card"] == "https://cards/1"
    assert metadata["adjudge.judge_digest"]
    assert by_trace["t001"]["comment"] == "Because."


def test_scores_go_to_langsmith_once_and_failures_are_errors(store: Path, langsmith: FakePlatform) -> None:
    check_idempotent(store, "langsmith:desk", langsmith)
    by_run = {feedback["run_id"]: feedback for feedback in langsmith.scores.values()}
    assert [by_run[f"t{k:03}"].get("score") for k in range(6)] == [1.0, 2.0, 3.0, 4.0, 5.0, None]
    assert by_run["t005"]["error"] is True
    assert "error" not in by_run["t000"]


def test_labels_give_each_score_its_interval(store: Path, langfuse: FakePlatform, tmp_path: Path) -> None:
    rows = [{"id": f"t{k:03}", "task": "Q?", "response": f"Answer {k}."} for k in range(40)]
    items = write_rows(tmp_path / "more.jsonl", rows)
    script = [{"item": row["id"], "text": f"[RESULT] {k % 5 + 1}"} for k, row in enumerate(rows)]
    replies = write_rows(tmp_path / "more.replies.jsonl", script)
    adjudge(
        "run", items, "-p", "prometheus/direct", "-m", f"replay:{replies}",
        "--rubric", EXAMPLES / "tact.toml", "--run", "more", "--store", store,
    )  # fmt: skip
    labels = tmp_path / "labels.csv"
    values = [f"t{k:03},tact,ann,{min(5, max(1, k % 5 + 1 + (k % 7 == 0)))}" for k in range(40)]
    labels.write_text("\n".join(["item,criterion,rater,value", *values]) + "\n")
    done = adjudge("push", "more", "langfuse:", "--store", store, "--labels", labels, "--json")
    assert done.json["written"] == 40, done.err
    metadata = next(iter(langfuse.scores.values()))["metadata"]
    assert float(metadata["adjudge.low"]) <= float(metadata["adjudge.high"])


@pytest.mark.parametrize("signal", ["logs", "spans"])
def test_scores_are_events_of_opentelemetry(
    store: Path, signal: str, platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, server = platform
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
    assert pushed(store, f"otlp:{signal}")["written"] == 6
    ((path, body),) = fake.sent
    assert path == ("/v1/logs" if signal == "logs" else "/v1/traces")
    if signal == "logs":
        records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        assert {record["eventName"] for record in records} == {"gen_ai.evaluation.result"}
    else:
        spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert len({span["spanId"] for span in spans}) == 6
        records = [event for span in spans for event in span["events"]]
        assert {record["name"] for record in records} == {"gen_ai.evaluation.result"}
    first, *_, last = [{one["key"]: one["value"] for one in record["attributes"]} for record in records]
    assert first["gen_ai.evaluation.name"] == {"stringValue": "tact"}
    assert first["gen_ai.evaluation.score.value"] == {"doubleValue": 1.0}
    assert first["gen_ai.evaluation.explanation"] == {"stringValue": "Because."}
    assert last["error.type"] == {"stringValue": "unparsed"}
    assert "gen_ai.evaluation.score.value" not in last
    again = pushed(store, f"otlp:{signal}")
    assert (again["written"], again["unchanged"], len(fake.sent)) == (0, 6, 1)


def test_scores_go_into_a_log_of_inspect_beside_other_scorers(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    shutil.copy(MADE / "inspect.json", log)
    before = json.loads(log.read_text())
    adjudge(
        "run", log, "--traces", "inspect", "-p", "prometheus/direct-reference",
            "-m", "fake:text=Kind. [RESULT] 4",
        "--rubric", EXAMPLES / "tact.toml", "--run", "r", "--store", tmp_path / "s.db",
    )  # fmt: skip
    store = tmp_path / "s.db"
    assert pushed(store, f"inspect:{log}")["written"] == len(before["samples"])
    after = json.loads(log.read_text())
    for old, new in zip(before["samples"], after["samples"], strict=True):
        assert new["scores"].pop("tact")["value"] == 4.0
        assert new["scores"] == old["scores"]
    assert pushed(store, f"inspect:{log}")["unchanged"] == len(before["samples"])
    wrong = adjudge("push", "r", f"inspect:{MADE / 'inspect.eval'}", "--store", store)
    assert (wrong.code, "inspect log convert" in wrong.err) == (2, True)


# -- which trace, and what goes wrong


def test_a_field_of_the_items_can_name_the_trace(tmp_path: Path, langfuse: FakePlatform) -> None:
    items = write_rows(tmp_path / "i.jsonl", [{"id": "x", "task": "Q", "response": "A", "trace": "t007"}])
    run = ("run", items, "-p", "prometheus/direct", "-m", "fake:text=[RESULT] 4", "--run", "r")
    adjudge(*run, "--rubric", EXAMPLES / "tact.toml", "--store", tmp_path / "s.db")
    assert pushed(tmp_path / "s.db", "langfuse:", "--trace-field", "trace")["written"] == 1
    assert [score["traceId"] for score in langfuse.scores.values()] == ["t007"]
    missing = adjudge("push", "r", "langfuse:", "--trace-field", "nope", "--store", tmp_path / "s.db")
    assert (missing.code, "--trace-field nope" in missing.err) == (2, True)


def test_a_key_goes_to_its_own_host_only_and_is_never_shown(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A redirect is not followed, a refusal does not repeat the key, and no key travels over plain http."""
    with FakeServer(lambda _: as_json({})) as other:
        elsewhere = Answer(307).with_headers(location=other.url)
        with FakeServer(lambda _: elsewhere) as server:
            monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
            monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2_secret_7291")
            done = adjudge("pull", "langsmith:desk")
        assert (done.code, "Redirects are not followed" in done.err) == (2, True)
        assert not other.requests
    with FakeServer(lambda r: as_json({"detail": f"bad key {r.headers['x-api-key']}"}, 401)) as server:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
        done = adjudge("push", "r", "langsmith:desk", "--store", store)
    assert done.code == 2
    assert "Check the key" in done.err
    assert "lsv2_secret_7291" not in done.err
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://example.com")
    done = adjudge("pull", "langsmith:desk")
    assert (done.code, "not sent over plain http" in done.err) == (2, True)


def test_a_busy_platform_is_asked_again(store: Path, langfuse: FakePlatform) -> None:
    answer, n = langfuse.answer, iter(range(1000))
    langfuse_busy = as_json({"message": "slow down"}, 429, retry_after="0")

    def busy(request: Any) -> Answer:
        return langfuse_busy if next(n) % 3 == 0 else answer(request)

    langfuse.answer = busy  # type: ignore[method-assign]
    assert pushed(store, "langfuse:")["written"] == 6
    assert len(langfuse.scores) == 6


def test_no_trace_of_any_item_is_an_error(tmp_path: Path, store: Path) -> None:
    log = tmp_path / "log.json"
    shutil.copy(MADE / "inspect.json", log)
    done = adjudge("push", "r", f"inspect:{log}", "--store", store)
    assert done.code == 2
    assert "has no trace of any of the 6 items" in done.err


def test_an_unknown_target_lists_the_targets(store: Path) -> None:
    done = adjudge("push", "r", "nothing:x", "--store", store)
    assert done.code == 2
    assert "phoenix:PROJECT" in done.err
