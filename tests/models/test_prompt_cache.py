"""Prompts that begin alike: what is marked for a provider to keep, what it costs, and what a report says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.models.prompt_cache import LEAST_CHARACTERS, PromptCache
from adjudge.records import Call
from fakeserver import Answer, FakeServer, Request, as_json, chat
from running import EXAMPLES, adjudge

LONG = "Judge with care. " * 300
RUN = ("run", "items.jsonl", "-p", "long", "--run", "r", "--concurrency", "1", "--price", "10,10")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-of-this-test")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-of-this-test")
    rows = [{"id": str(k), "response": f"Hello {k}"} for k in range(5)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("long").mkdir()
    Path("long/protocol.toml").write_text(
        'title = "Long"\ntask = "score"\nlanguage = { prompt = "en", reply = "en" }\nsource = "a test"\n'
        'inputs = ["response"]\n[[criteria]]\nname = "tact"\n'
        "scale = { low = 1, high = 5, step = 1, best = 5 }\n"
        '[answer]\nreader = "tag"\ntag = "score"\n',
        encoding="utf-8",
    )
    Path("long/user.md").write_text(LONG + "\n{{response}}\n\nEnd with <score>3</score>.\n", encoding="utf-8")


def blocks(request: Request) -> list[dict[str, Any]]:
    content = request.json["messages"][0]["content"]
    return content if isinstance(content, list) else []


def anthropic(request: Request) -> Answer:
    """A host that writes what is marked, and finds it from then on."""
    kept = 1200 if any("cache_control" in block for block in blocks(request)) else 0
    anthropic.n += kept > 0  # type: ignore[attr-defined]
    is_first = anthropic.n == 1  # type: ignore[attr-defined]
    usage = {
        "input_tokens": 1230 - kept,
        "output_tokens": 10,
        "cache_creation_input_tokens": kept if is_first else 0,
        "cache_read_input_tokens": 0 if is_first else kept,
    }
    return as_json(
        {"content": [{"type": "text", "text": "<score>4</score>"}], "model": "c", "stop_reason": "end_turn",
        "usage": usage}
    )  # fmt: skip


def test_anthropic_keeps_what_all_calls_begin_with_and_reads_cost_a_tenth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    anthropic.n = 0  # type: ignore[attr-defined]
    with FakeServer(anthropic) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        done = adjudge(*RUN, "-m", "anthropic:claude-haiku-5-5")
        assert done.code == 0, done.err
    marked = [blocks(request) for request in server.requests]
    assert [bool(parts) for parts in marked] == [False, True, True, True, True]
    assert {parts[0]["text"] for parts in marked[1:]} == {marked[1][0]["text"]}
    assert marked[1][0]["cache_control"] == {"type": "ephemeral"}
    first = server.requests[0].json["messages"][0]["content"]
    assert "".join(part["text"] for part in marked[1]) == first.replace("Hello 0", "Hello 1")
    report = adjudge("report", "r", "--json").json
    assert report["tokens_in"] == 5 * 1230
    full = 5 * 1240 * 10 / 1e6
    saved = (3 * 1200 * 0.9 - 1200 * 0.25) * 10 / 1e6
    assert report["cost_usd"] == pytest.approx(full - saved)
    assert report["cached_tokens"] == 3600
    assert report["cache_saved_usd"] == pytest.approx(saved)
    text = adjudge("report", "r", "--full").out
    assert "3,600 from the provider's prompt cache" in text
    assert "saved by the prompt cache" in text


def test_openai_gets_one_key_for_prompts_that_begin_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    def host(request: Request) -> Answer:
        if "/models/" in request.path:
            return as_json({"shutdown_date": None})
        body = json.loads(chat("<score>4</score>").body)
        body["usage"] = {"prompt_tokens": 1230, "completion_tokens": 10, "total_tokens": 1240,
                         "prompt_tokens_details": {"cached_tokens": 1024}}  # fmt: skip
        return as_json(body)

    with FakeServer(host) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = adjudge(*RUN, "-m", "openai:gpt-6-luna")
        assert done.code == 0, done.err
        asked = [request.json for request in server.requests if request.path.endswith("completions")]
        assert len({body.get("prompt_cache_key") for body in asked[1:]}) == 1
        assert asked[1]["prompt_cache_key"]
        other = adjudge(*RUN, "-m", f"{server.url}/v1#m", "--store", "other.db")
        assert other.code == 0, other.err
    assert "prompt_cache_key" not in server.requests[-1].json
    report = adjudge("report", "r", "--json").json
    assert report["cost_usd"] == pytest.approx(5 * (1240 - 1024 * 0.9) * 10 / 1e6)


def test_short_prompts_are_sent_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    anthropic.n = 0  # type: ignore[attr-defined]
    rows = [{"instruction": "Greet.", "response": f"Hello {k}"} for k in range(4)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with FakeServer(anthropic) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        rubric = ("--rubric", EXAMPLES / "tact.toml")
        adjudge("run", "items.jsonl", "-p", "prometheus/direct", *rubric, "-m", "anthropic:claude-haiku-5-5")
    assert not any("cache_control" in json.dumps(request.json) for request in server.requests)


def test_one_call_writes_while_the_others_go_unmarked_and_useless_marks_end() -> None:
    now = 0.0
    cache = PromptCache(lambda: now)
    call = Call("k", "i", "p@1", ("tact",), "m", ())
    beginning = "x" * LEAST_CHARACTERS
    assert cache.shared(call, f"{beginning} one") == 0
    assert cache.shared(call, f"{beginning} two") == LEAST_CHARACTERS + 1
    assert cache.may_mark(call)
    assert not cache.may_mark(call)
    cache.note(call, 0, 1200)
    assert cache.may_mark(call)
    now = 500.0  # the host has forgotten it
    assert cache.may_mark(call)
    assert not cache.may_mark(call)
    for _ in range(3):
        cache.note(call, 0, 0)
        now += 100
        cache.may_mark(call)
    assert not cache.may_mark(call)


def test_samples_of_one_item_do_not_make_its_text_a_shared_beginning() -> None:
    cache = PromptCache()
    call = Call("k", "i", "p@1", ("tact",), "m", ())
    prompt = "x" * (2 * LEAST_CHARACTERS)
    assert [cache.shared(call, prompt) for _ in range(3)] == [0, 0, 0]
