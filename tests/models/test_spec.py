"""What may be written after -m, and the judges that are none."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import AuthError, BudgetReached, DataError, ModelError
from adjudge.models import FakeModel, Line, Model, Parameters, parse_model
from adjudge.records import Call, Message, Reply, TokenLogprob, TopToken


def call(text: str = "Judge this.", **more: Any) -> Call:
    return Call(
        "k",
        "item-1",
        "p@1",
        ("clarity",),
        "m",
        (Message("system", "You judge."), Message("user", text)),
        **more,
    )


def ask(model: Model, *texts: str, params: Parameters | None = None) -> list[Reply]:
    async def run() -> list[Reply]:
        return [await model.ask(call(text), params or Parameters()) for text in texts]

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("spec", "name", "endpoint"),
    [
        ("openai:gpt-x", "openai:gpt-x", "https://api.openai.com/v1"),
        ("anthropic:claude-x", "anthropic:claude-x", "https://api.anthropic.com"),
        (
            "http://localhost:8000/v1#org/model:7b#q4",
            "http://localhost:8000/v1#org/model:7b#q4",
            "http://localhost:8000/v1",
        ),
        ("https://h.example/v1/#m", "https://h.example/v1#m", "https://h.example/v1"),
        ("http://h.example/v1/chat/completions#m", "http://h.example/v1#m", "http://h.example/v1"),
    ],
)
def test_a_spec_of_a_host_is_its_name_and_address(spec: str, name: str, endpoint: str) -> None:
    model = parse_model(spec)
    assert (model.name, model.endpoint) == (name, endpoint)
    assert (model.needs_network, model.is_fake) == (True, False)


def test_a_base_url_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:99/v1/")
    assert parse_model("openai:x").endpoint == "http://127.0.0.1:99/v1"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("opnai:gpt-x", "Did you mean openai:gpt-x?"),
        ("gpt-x", "Did you mean openai:gpt-x?"),
        ("localhost:8000/v1#m", "Did you mean http://localhost:8000/v1#m?"),
        ("judge.internal/v1#m", "Did you mean http://judge.internal/v1#m?"),
        ("gpt-y", "models/NAME FIREWORKS_API_KEY"),
        ("claude-x", "Did you mean anthropic:claude-x?"),
        ("htp://localhost/v1#m", "Did you mean http://localhost/v1#m?"),
        ("fake:txt=4", "fake:text=TEXT"),
        ("openai:", "openai:NAME"),
        ("", "is not a model"),
        ("replay:", "replay:FILE"),
        ("http://localhost:8000/v1", "Write it after a #: http://localhost:8000/v1#NAME"),
        ("http://#m", "not a server address"),
        ("http://host:port/v1#m", "not a server address"),
        ("http://h o/v1#m", "not a server address"),
        ("local:", "local:FILE.gguf"),
        ("lokal", "is not a model"),
    ],
)
def test_a_spec_that_names_no_model_is_reported_with_what_to_write(spec: str, words: str) -> None:
    with pytest.raises(ModelError) as raised:
        parse_model(spec)
    assert words in str(raised.value)


@pytest.mark.parametrize("spec", ["http://me:hunter2@h.example/v1#m", "http://h.example/v1?key=hunter2#m"])
def test_a_secret_in_an_address_is_refused_and_not_repeated(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="--key-env") as raised:
        parse_model(spec)
    assert "hunter2" not in str(raised.value)
    monkeypatch.setenv("OPENAI_BASE_URL", spec.partition("#")[0])
    with pytest.raises(ModelError, match=r"OPENAI_BASE_URL of h\.example") as raised:
        parse_model("openai:m")
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("price", [(-1.0, 1.0), (1.0, float("nan")), (float("inf"), 1.0)])
def test_a_price_that_is_no_price_is_refused(price: tuple[float, float]) -> None:
    with pytest.raises(ModelError, match="USD per million tokens"):
        parse_model("fake:text=4", price=price)


def test_importing_the_models_and_reading_a_spec_loads_no_http_library() -> None:
    code = (
        "import sys; from adjudge.models import parse_model; parse_model('http://h/v1#m'); "
        "print([m for m in ('aiohttp', 'yarl', 'polars') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_fake_says_the_same_to_everything_and_that_it_is_one() -> None:
    model = parse_model("fake:text=Good. [RESULT] 4", price=(1000.0, 1000.0))
    assert (model.is_fake, model.needs_network, model.name) == (True, False, "fake:text=Good. [RESULT] 4")
    replies = ask(model, "one", "two words")
    assert [reply.text for reply in replies] == ["Good. [RESULT] 4"] * 2
    assert replies[0].model_name == "fake"
    assert (replies[1].tokens_in, replies[1].tokens_out) == (4, 3)
    assert replies[1].cost_usd == pytest.approx(7 * 1000 / 1e6)


def test_a_fake_without_log_probabilities_refuses_to_give_them() -> None:
    with pytest.raises(ModelError, match="returns no log-probabilities"):
        parse_model("fake:text=4").check(Parameters(top_logprobs=5))


def test_a_script_is_played_by_match_and_then_in_order(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    rows: list[dict[str, Any]] = [
        {"text": "first"},
        {"match": "cat", "text": "miaow"},
        {"match": "cat", "text": "purr"},
        {"text": "second", "reasoning": "hmm", "finish": "length"},
        {"match": "bird", "error": "timeout"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = parse_model(f"fake:script={path}")
    replies = ask(model, "a cat", "x", "a cat", "bird", "y", "cat", "z", "You")
    assert [reply.text for reply in replies] == ["miaow", "first", "purr", "", "second", "purr", "", ""]
    kinds = [reply.error.kind if reply.error else None for reply in replies]
    assert kinds == [None, None, None, "timeout", None, None, "missing", "missing"]
    assert (replies[4].reasoning, replies[4].finish) == ("hmm", "length")
    assert isinstance(model, FakeModel)
    assert [each.messages[-1].content for each in model.asked][:2] == ["a cat", "x"]
    assert model.n_asked == 8


def test_a_script_can_stop_a_run_and_take_its_time(tmp_path: Path) -> None:
    with pytest.raises(AuthError):
        ask(FakeModel([Line(error="auth")]), "x")
    with pytest.raises(BudgetReached):
        ask(FakeModel([Line(error="quota")]), "x")
    path = tmp_path / "script.jsonl"
    path.write_text(
        '{"text": "4", "seconds": 0.2, "logprobs": [{"token": "4", "logprob": -0.1, "top": [{"token": "5", '
        '"logprob": -2.5}]}]}'
    )
    ended = []

    async def asked(name: str) -> Reply:
        reply = await parse_model(name).ask(
            call("x"), Parameters(top_logprobs=1 if "script" in name else None)
        )
        ended.append(name)
        return reply

    async def both() -> list[Reply]:
        return await asyncio.gather(asked(f"fake:script={path}"), asked("fake:text=4"))

    reply, _ = asyncio.run(both())
    assert ended == ["fake:text=4", f"fake:script={path}"]
    assert reply.logprobs == (TokenLogprob("4", -0.1, (TopToken("5", -2.5),)),)


def test_a_fake_can_be_a_function_of_the_call() -> None:
    model = FakeModel(lambda call: f"{len(call.messages)} messages")
    assert ask(model, "x")[0].text == "2 messages"


def test_all_problems_of_a_script_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    lines = [
        '{"text": "fine"}',
        "{}",
        '{"error": "tired"}',
        '{"text": "x", "after": 3}',
        "[]",
        '{"text": "x", "seconds": "soon"}',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError) as raised:
        parse_model(f"fake:script={path}")
    message_lines = str(raised.value).splitlines()
    assert message_lines[0] == f"{path}: 5 problems"
    assert [line.split(":")[0].strip() for line in message_lines[1:]] == [
        f"line {number}" for number in (2, 3, 4, 5, 6)
    ]
