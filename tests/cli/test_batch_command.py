"""`adjudge run --batch`, `adjudge runs` and `adjudge runs cancel`, as a user sees them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge.engine import batching
from fakebatches import FakeBatches
from running import adjudge


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBatches]:
    for name in ("SETTLE_SECONDS", "POLL_SECONDS", "LONGEST_POLL_SECONDS", "BACKOFF_SECONDS"):
        monkeypatch.setattr(batching, name, 0.01)
    with FakeBatches(polls=1) as host:
        for name, value in host.environment().items():
            monkeypatch.setenv(name, value)
        yield host


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"i{n}", "summary": f"A fine pen, number {n}.", "reviews": "Writes."} for n in range(6)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [
        "run",
        "items.jsonl",
        "-p",
        "opinion-summary/fluency",
        "-m",
        "openai:gpt-6-luna",
        "--run",
        "pens",
    ]


def test_a_batch_is_submitted_shown_and_collected(host: FakeBatches, command: list[str]) -> None:
    first = adjudge(*command, "--batch")
    assert first.code == 6
    assert "Submitted run pens: batches: 1 validating; 0 of 6 calls answered." in first.out
    assert "run the same command later, or now with --wait:\n  adjudge run items.jsonl" in first.out
    assert "are sent one by one, at full price" in first.err
    listed = adjudge("runs")
    assert "submitted" in listed.out
    assert "batch_0" in listed.out
    (row,) = adjudge("runs", "--json").json
    assert row["status"] == "submitted"
    (batch,) = row["batches"]
    assert (batch["batch"], batch["state"], batch["calls"], batch["answered"]) == ("batch_0", "open", 6, 0)
    waiting = adjudge(*command, "--batch", "--json")
    assert (waiting.code, waiting.json["status"]) == (6, "submitted")
    assert waiting.json["batches"][0]["provider_state"] == "in_progress"
    last = adjudge(*command, "--batch")
    assert last.code == 0
    assert "6 calls" in adjudge("report", "--full").out
    assert adjudge("runs", "--json").json[0]["batches"][0]["state"] == "closed"
    assert "batch_0" not in adjudge("runs").out
    assert host.live == []


def test_waiting_prints_the_states_and_then_the_report(host: FakeBatches, command: list[str]) -> None:
    done = adjudge(*command, "--batch", "--wait")
    assert done.code == 0
    assert "batches: 1 in progress; 0 of 6 calls answered" in done.err
    assert "fluency" in done.out
    assert len(host.batches) == 1


def test_a_host_that_a_strangers_store_names_is_not_asked_to_cancel(
    host: FakeBatches, command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", os.environ["OPENAI_BASE_URL"].removesuffix("/v1"))
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "canary-111111111111")
    command[command.index("openai:gpt-6-luna")] = "azure:theirs/deployment"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "theirs"))
    assert adjudge(*command, "--batch").code == 6
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "mine"))
    refused = adjudge("runs", "cancel", "pens")
    assert refused.code == 2
    assert "call http" in refused.err
    assert "--trust-run-file" in refused.err
    assert host.batches["batch_0"].state != "cancelling"
    adjudge("runs", "cancel", "pens", "--trust-run-file")
    assert host.batches["batch_0"].state == "cancelling"


def test_open_batches_are_cancelled_by_a_command(host: FakeBatches, command: list[str]) -> None:
    adjudge(*command, "--batch")
    refused = adjudge("runs", "delete", "pens", "--yes")
    assert refused.code == 2
    assert "adjudge runs cancel pens" in refused.err
    done = adjudge("runs", "cancel", "pens")
    assert (done.code, done.out) == (0, "Cancelled 1 of 1 open batches of pens\n")
    assert host.batches["batch_0"].state == "cancelling"
    assert adjudge(*command).code == 0  # what was not answered, as single calls
    assert len(host.live) == 6


def test_a_dry_run_names_batches_and_the_most_they_cost(host: FakeBatches, command: list[str]) -> None:
    shown = adjudge(*command, "--batch", "--dry-run", "--max-tokens", "100")
    assert shown.code == 0
    assert "openai:gpt-6-luna: 6 calls in 1 batch" in shown.out
    assert "at most $0.00" in shown.out
    assert host.steps == []


def test_the_run_file_sets_batches_for_one_model(host: FakeBatches, command: list[str]) -> None:
    Path("adjudge.toml").write_text(
        f"""[models.cheap]
model = "openai:gpt-6-luna"
batch = true
[models.here]
model = "{host.url}/v1#judge"
[runs.both]
items = "items.jsonl"
protocol = "opinion-summary/fluency"
models = ["cheap", "here"]
"""
    )
    assert adjudge("run", "both", "--trust-run-file").code == 6
    assert len(host.live) == 6
    assert "Not all judges have answered: calls are in open batches." in adjudge("report", "both").out
    assert adjudge("run", "both", "--wait", "--trust-run-file").code == 0
    assert len(host.live) == 6
    assert command  # the items


def test_a_model_without_a_batch_api_is_a_users_mistake(command: list[str]) -> None:
    refused = adjudge("run", "items.jsonl", "-p", "opinion-summary/fluency", "-m", "fake:text=4", "--batch")
    assert refused.code == 2
    assert "Adjudge knows no batch API for fake:text=4" in refused.err
    assert command
