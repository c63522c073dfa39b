"""A judge that its provider ends: said by `models test`, when a run starts, in its report and at the gate."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import pytest

from adjudge.models.prices import without_date
from adjudge.models.retirement import Ending, ending_models, published_end
from fakeserver import Answer, FakeServer, Request, as_json, chat, error
from running import EXAMPLES, adjudge

ROOT = Path(__file__).parents[2]
TODAY = datetime.datetime.now(datetime.UTC).date()
LAST_DAY = (TODAY + datetime.timedelta(days=57)).isoformat()
SECONDS = int(datetime.datetime.fromisoformat(f"{LAST_DAY}T12:00:00+00:00").timestamp())

NAMES_IN_DOCS = {
    "claude-fable-5-1",
    "claude-haiku-5-5",
    "claude-opus-4-6",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-sonnet-4-5",
    "claude-sonnet-5",
    "claude-sonnet-5-5",
    "gemini-2.5-flash-lite",
    "gemini-3.5-flash",
    "gpt-5.4",
    "gpt-5.4-mini",
    "gpt-5.5",
    "gpt-6-luna",
    "gpt-6-sol",
}
"""Every model of a provider that README, docs, examples, prices and commands name: offered on 2026-11-18, and
not announced to end."""
EXAMPLES_WITH_MODELS = {".toml", ".py", ".md", ".yml", ".ipynb"}
_NAME = re.compile(
    r"\b(?:gpt|claude|gemini|o[134])-\d[\w.-]*\w|\bclaude-[a-z]+-\d[\w.-]*\w|\bchatgpt-\w[\w.-]*\w"
)


def host(request: Request) -> Answer:
    if "/models/" in request.path:
        return as_json({"id": "gpt-6-luna", "object": "model", "shutdown_date": LAST_DAY})
    return chat("So. [RESULT] 4")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-of-this-test")
    rows = [{"id": str(k), "instruction": "Greet.", "response": f"Hello {k}"} for k in range(3)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


RUN = ("run", "items.jsonl", "-p", "prometheus/direct", "--rubric", EXAMPLES / "tact.toml", "--run", "r")


def test_the_provider_s_list_is_asked_and_the_end_is_said_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(host) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        tested = adjudge("models", "test", "openai:gpt-6-luna")
        as_values = adjudge("models", "test", "openai:gpt-6-luna", "--json").json
        done = adjudge(*RUN, "-m", "openai:gpt-6-luna")
        assert [r.path for r in server.requests if "/models/" in r.path] == ["/v1/models/gpt-6-luna"] * 3
    sentence = f"The judge openai:gpt-6-luna ends in 57 days, on {LAST_DAY}"
    assert sentence in tested.err
    assert as_values["ends"]["date"] == LAST_DAY
    assert sentence in done.err
    warnings = adjudge("report", "r", "--json").json["warnings"]
    assert [w["text"].startswith(sentence) for w in warnings if w["kind"] == "judge_ends"] == [True]
    assert sentence in " ".join(adjudge("gate", "r", "--min", "tact=1", "--json").json["notes"])


@pytest.mark.parametrize(
    "answer", [error(404, "no"), as_json({"shutdown_date": None}), as_json([1]), Answer(200, b"<html>")]
)
def test_a_list_that_does_not_say_is_no_error(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    with FakeServer(lambda request: answer if "/models/" in request.path else host(request)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = adjudge(*RUN, "-m", "openai:gpt-6-luna")
    assert done.code == 0, done.err
    assert "ends in" not in done.err


@pytest.mark.parametrize("day", [LAST_DAY, f"{LAST_DAY}T00:00:00Z", SECONDS])
def test_the_list_of_models_is_asked_where_a_model_s_own_entry_does_not_say(
    monkeypatch: pytest.MonkeyPatch, day: object
) -> None:
    def listing(request: Request) -> Answer:
        if "/models/" in request.path:
            return error(404, "no such path")
        if request.path.endswith("/models"):
            others = [{"id": "another", "shutdown_date": "2020-01-01"}, "no entry"]
            return as_json({"object": "list", "data": [*others, {"id": "gpt-6-luna", "shutdown_date": day}]})
        return host(request)

    with FakeServer(listing) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        tested = adjudge("models", "test", "openai:gpt-6-luna", "--json").json
    assert tested["ends"]["date"] == LAST_DAY


def test_other_servers_are_not_asked_for_a_list() -> None:
    with FakeServer(host) as server:
        assert adjudge(*RUN, "-m", f"{server.url}/v1#m").code == 0
        assert {request.path for request in server.requests} == {"/v1/chat/completions"}


def test_a_published_end_holds_for_dated_versions_and_counts_days() -> None:
    assert published_end("openai", "gpt-5-2025-08-07") == published_end("openai", "gpt-5")
    ending = Ending("2026-12-11", "https://example.org")
    assert "ends in 23 days" in ending.text("m", datetime.date(2026, 11, 18))
    assert "ends in 1 day," in ending.text("m", datetime.date(2026, 12, 10))
    assert "has ended on 2026-12-11" in ending.text("m", datetime.date(2026, 12, 12))


def test_docs_examples_and_prices_name_only_models_that_are_offered() -> None:
    paths = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "decisions"),
        *(ROOT / "skills").rglob("*.md"),
        *(path for path in (ROOT / "examples").rglob("*") if path.suffix in EXAMPLES_WITH_MODELS),
        *(ROOT / "src/adjudge/demo").rglob("*.jsonl"),
        ROOT / "src/adjudge/models/prices.toml",
        ROOT / "src/adjudge/cli/init.py",
    ]
    named = {name for path in paths for name in _NAME.findall(path.read_text(encoding="utf-8"))}
    ended = {name for provider in ("openai", "gemini", "anthropic") for name in ending_models(provider)}
    assert named - NAMES_IN_DOCS == set()
    assert {name for name in NAMES_IN_DOCS if without_date(name) in ended} == set()
