"""A chat model with log-probabilities answers typed questions, with the mass that the options caught."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from fakeserver import Answer, FakeServer, Request, chat, token
from running import EXAMPLES, adjudge

RUBRIC = ("-p", "prometheus/direct", "--rubric", EXAMPLES / "tact.toml", "--estimator", "decision")


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.jsonl"
    rows = [{"id": str(k), "instruction": "Greet.", "response": f"Hello {k}"} for k in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def letters(**shares: float) -> dict[str, object]:
    """Log-probabilities of a reply that begins with a line feed, and then has the likeliest letter."""
    tops = {name.replace("_", " "): math.log(share) for name, share in shares.items()}
    best = max(tops, key=lambda name: tops[name])
    return {"content": [token("\n", 0.0), token(best, tops[best], **tops)]}


def test_the_value_is_the_expected_level_and_the_mass_is_kept(items: Path, tmp_path: Path) -> None:
    asked: list[Request] = []

    def plan(request: Request) -> Answer:
        asked.append(request)
        return chat("D", logprobs=letters(A=0.02, B=0.04, C=0.04, D=0.5, _D=0.2, The=0.1))

    with FakeServer(plan) as server:
        done = adjudge(
            "run", items, *RUBRIC, "-m", f"{server.url}/v1#m", "--run", "r", "--store", tmp_path / "s.db"
        )
        assert done.code == 0, done.err
    rows = adjudge("export", "r", "--format", "jsonl", "--store", tmp_path / "s.db").rows
    caught = 0.02 + 0.04 + 0.04 + 0.7
    expected = (1 * 0.02 + 2 * 0.04 + 3 * 0.04 + 4 * 0.7) / caught
    assert [row["score"] for row in rows] == [pytest.approx(expected)] * 3
    assert {row["estimator"] for row in rows} == {"decision"}
    body = asked[-1].json
    assert body["top_logprobs"] == 20
    text = body["messages"][0]["content"]
    assert "<response>\nHello" in text
    assert "A: 1 (" in text
    assert text.endswith("Answer with one letter (A, B, C, D, E) and nothing else.")
    reread = adjudge("reread", "r", "--store", tmp_path / "s.db")
    assert reread.code == 0, reread.err
    assert adjudge("export", "r", "--format", "jsonl", "--store", tmp_path / "s.db").rows == rows


def test_options_that_catch_little_give_no_score(items: Path, tmp_path: Path) -> None:
    with FakeServer(lambda _: chat("The", logprobs=letters(A=0.1, The=0.8))) as server:
        adjudge("run", items, *RUBRIC, "-m", f"{server.url}/v1#m", "--run", "r", "--store", tmp_path / "s.db")
    rows = adjudge("export", "r", "--format", "jsonl", "--store", tmp_path / "s.db").rows
    assert [row["status"] for row in rows] == ["unparsed"] * 3
    assert "caught only 10%" in rows[0]["notes"]["not_read"]


def test_a_model_without_log_probabilities_is_refused_before_the_run(items: Path, tmp_path: Path) -> None:
    with FakeServer(lambda _: chat("A")) as server:
        done = adjudge("run", items, *RUBRIC, "-m", f"{server.url}/v1#m", "--store", tmp_path / "s.db")
    assert done.code == 2
    assert "--estimator decision needs" in done.err


def test_more_options_than_log_probabilities_are_refused(tmp_path: Path) -> None:
    rubric = tmp_path / "long.toml"
    levels = "".join(f'{k} = "Level {k}."\n' for k in range(25))
    rubric.write_text(f'criterion = "Kind?"\n[levels]\n{levels}', encoding="utf-8")
    path = tmp_path / "items.jsonl"
    path.write_text('{"instruction": "Greet.", "response": "Hello"}\n', encoding="utf-8")
    done = adjudge(
        "run", path, "-p", "prometheus/direct", "--rubric", rubric, "--estimator", "decision",
        "-m", "http://127.0.0.1:9/v1#m", "--store", tmp_path / "s.db",
    )  # fmt: skip
    assert done.code == 2
    assert "has 25 options" in done.err
