"""Batches: one more way to ask. The same keys, store, readers and
export as single calls; nothing lost and nothing asked twice.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.engine import Watcher, batching, cancel_batches
from adjudge.errors import BudgetReached, HostDown, ModelError, StoreError
from adjudge.models.batch_apis import anthropic_batches, base
from adjudge.store import open_store
from fakebatches import FakeBatches
from fakeserver import closed, error, quota

MODELS = ("openai:gpt-4.1-mini", "anthropic:claude-haiku-4-5", "gemini:gemini-2.5-flash", "azure:judge")
EACH = [*MODELS[:2], *(pytest.param(model, marks=pytest.mark.slow) for model in MODELS[2:])]
"""All four, two of them with the proofs only."""
PROTOCOL = "opinion-summary/fluency"
PRICE = (1.0, 2.0)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (
        ("SETTLE_SECONDS", 0.01), ("POLL_SECONDS", 0.01), ("LONGEST_POLL_SECONDS", 0.02),
        ("BACKOFF_SECONDS", 0.01),
    ):  # fmt: skip
        monkeypatch.setattr(batching, name, seconds)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FakeBatches]]:
    """A host that all four providers are at."""
    hosts: list[FakeBatches] = []

    def started(**options: Any) -> FakeBatches:
        host = FakeBatches(**options).__enter__()
        hosts.append(host)
        for name, value in host.environment().items():
            monkeypatch.setenv(name, value)
        return host

    yield started
    for host in hosts:
        host.__exit__()


def items(n: int) -> list[dict[str, str]]:
    return [
        {
            "id": f"i{number}",
            "summary": f"A fine pen, number {number}.",
            "reviews": "Writes.",
            "system": f"s{number % 2}",
        }
        for number in range(n)
    ]


def judge(store: Path, model: Any = MODELS[0], n: int = 12, **options: Any) -> adjudge.Run:
    options = {"batch": True, "price": PRICE, **options}
    return adjudge.run(items(n), PROTOCOL, model, run="judged", store=store, **options)


def exported(store: Path) -> bytes:
    from adjudge.results.export import export_row
    from adjudge.results.stored_results import results

    with open_store(store, write=False) as opened:
        rows = [export_row(result) for result in results(opened, opened.run("judged"))]
    return json.dumps(rows, sort_keys=True).encode()


def states(store: Path) -> list[str]:
    with open_store(store, write=False) as opened:
        return [row.state for row in opened.batches()]


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_is_submitted_then_collected_and_exports_what_single_calls_export(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str
) -> None:
    host = start(polls=1)
    store = tmp_path / "batch.db"
    run = judge(store, model)
    assert (run.status, run.progress.in_batches, states(store)) == ("submitted", 12, ["open"])
    assert judge(store, model).status == "submitted"  # looked at once: not answered yet
    run = judge(store, model)
    assert (run.status, run.progress.done, run.progress.failed) == ("done", 12, 0)
    assert len(host.batches) == 1
    assert host.live == []
    assert set(host.asked.values()) == {1}
    judge(tmp_path / "live.db", model, batch=False)
    assert exported(store) == exported(tmp_path / "live.db")
    with open_store(store, write=False) as batch, open_store(tmp_path / "live.db", write=False) as live:
        paid, full = (one.totals(one.run("judged")).cost_usd for one in (batch, live))
    assert paid == pytest.approx(full / 2)
    before = len(host.steps)
    assert judge(store, model).progress.cached == 12
    assert len(host.steps) == before


@pytest.mark.parametrize("model", EACH)
def test_the_body_in_a_batch_is_the_body_of_the_single_call(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str
) -> None:
    host = start()
    options = {"max_tokens": 300, "temperature": 0.5, "seed": 7}
    judge(tmp_path / "batch.db", model, n=3, wait=True, **options)
    judge(tmp_path / "live.db", model, n=3, batch=False, **options)
    (batch,) = host.batches.values()
    order = {json.dumps(body, sort_keys=True) for body in batch.bodies}
    assert order == {json.dumps(body, sort_keys=True) for body in host.live}


def test_waiting_follows_the_batch_until_it_is_answered(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start(polls=3)
    seen: list[str] = []

    class Watched(Watcher):
        def batched(self, batches: Any) -> None:
            seen.extend(row.provider_state for row in batches)

    run = judge(tmp_path / "s.db", wait=True, watcher=Watched())
    assert run.status == "done"
    assert {"validating", "in_progress", "completed"} <= set(seen)
    assert host.steps.count("retrieve") == 4
    assert states(tmp_path / "s.db") == ["closed"]


# Lines that are not answered


@pytest.mark.parametrize("model", EACH)
@pytest.mark.parametrize(
    "how",
    ["error", "expired", *(pytest.param(how, marks=pytest.mark.slow) for how in ("limited", "missing"))],
)
def test_a_tenth_of_the_lines_without_an_answer_is_asked_again_alone(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str, how: str
) -> None:
    host = start(outcome=lambda key, _, tries: how if int(key[:8], 16) % 4 == 0 and tries == 0 else "ok")
    run = judge(tmp_path / "s.db", model, n=40, wait=True)
    assert (run.status, run.progress.done, run.progress.failed) == ("done", 40, 0)
    first, second = host.batches.values()
    keys = [custom_id.partition("_")[2] for custom_id in second.keys]
    assert sorted(keys) == sorted(
        key for key in (one.partition("_")[2] for one in first.keys) if int(key[:8], 16) % 4 == 0
    )
    assert 0 < len(keys) < 40
    assert host.live == []
    assert set(host.asked.values()) == {1}


def test_a_line_that_two_batches_do_not_answer_becomes_a_single_call(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start(outcome=lambda key, *_: "expired" if int(key[:8], 16) % 4 == 0 else "ok", ends_as="expired")
    run = judge(tmp_path / "s.db", n=40, wait=True)
    assert (run.status, run.progress.failed) == ("done", 0)
    assert len(host.batches) == 2
    assert len(host.live) == len(list(host.batches.values())[1].keys)


def test_an_error_that_asking_again_does_not_mend_is_a_failure_of_the_run(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start(polls=1, outcome=lambda key, *_: "too_long" if int(key[:8], 16) % 4 == 0 else "ok")
    store = tmp_path / "s.db"
    run = judge(store, n=40, wait=True)
    assert run.status == "done"
    assert 0 < run.progress.failed < 40
    assert len(host.batches) == 1
    with open_store(store, write=False) as opened:
        assert set(opened.totals(opened.run()).failed) == {"too_long"}
    # The next start of the run asks them again, as it does with single calls.
    again = judge(store, n=40)
    assert again.status == "submitted"
    assert again.progress.in_batches == run.progress.failed


def test_a_parameter_that_the_model_refuses_is_left_out_of_the_next_batch(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start(outcome=lambda _, body, __: "refused" if "temperature" in body else "ok")
    run = judge(tmp_path / "s.db", wait=True)
    assert (run.status, run.progress.failed) == ("done", 0)
    first, second = host.batches.values()
    assert all("temperature" in body for body in first.bodies)
    assert not any("temperature" in body for body in second.bodies)
    assert any("temperature" in text for text in run.adjustments)


@pytest.mark.parametrize("model", EACH)
def test_a_reply_that_is_cut_off_is_asked_again_with_a_larger_limit(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str
) -> None:
    host = start(outcome=lambda *_: "cut")
    store = tmp_path / "s.db"
    run = judge(store, model, n=2, max_tokens=100, more_room=True, wait=True)
    assert (run.status, run.progress.failed) == ("done", 0)
    assert [body["max_tokens"] for body in host.live] == [4096, 4096]
    with open_store(store, write=False) as opened:
        totals = opened.totals(opened.run())
    # The first reply at the price of a batch, the second at the full price.
    from_cache = 0 if model.startswith("gemini") else 8
    one = ((20 - 0.9 * from_cache) * PRICE[0] + 5 * PRICE[1]) / 1e6
    assert totals.cost_usd == pytest.approx(2 * 1.5 * one)


def test_results_that_are_not_there_any_more_are_asked_again(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start()
    host.fail = lambda step: (
        error(404, "No such File object") if step == "download" and len(host.batches) == 1 else None
    )
    run = judge(tmp_path / "s.db", wait=True)
    assert (run.status, run.progress.failed, len(host.batches)) == ("done", 0, 2)


def test_a_batch_that_was_deleted_at_the_provider_is_asked_again(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start()
    assert judge(tmp_path / "s.db").status == "submitted"
    host.batches.clear()
    assert judge(tmp_path / "s.db", wait=True).status == "done"


def test_duplicate_and_unknown_lines_change_nothing(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start(outcome=lambda *_: "twice")
    run = judge(tmp_path / "s.db", wait=True)
    assert (run.status, run.progress.done, run.progress.failed) == ("done", 12, 0)
    assert len(host.batches) == 1


# Answers that are lost, and hosts that fail


@pytest.mark.parametrize("model", EACH)
@pytest.mark.parametrize("step", ["upload", "create", "retrieve", "list", "download"])
@pytest.mark.parametrize("how", ["lost", "500"])
def test_a_lost_answer_or_an_error_creates_no_batch_twice(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str, step: str, how: str
) -> None:
    host = start(polls=1)
    broken = Counter[str]()

    def breaks(asked: str) -> bool:
        # The list is read only where a creation was not answered.
        if asked != step and not (step == "list" and asked == "create"):
            return False
        broken[asked] += 1
        return broken[asked] <= 2

    if how == "lost":
        host.lose = breaks
    else:
        host.fail = lambda asked: error(500) if breaks(asked) else None
    run = judge(tmp_path / "s.db", model, wait=True)
    assert (run.status, run.progress.done, run.progress.failed) == ("done", 12, 0)
    assert len(host.batches) == 1
    assert set(host.asked.values()) == {1}


@pytest.mark.parametrize("model", EACH)
def test_a_batch_whose_creation_was_not_answered_is_found_by_the_next_start(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str
) -> None:
    host = start(polls=2)
    store = tmp_path / "s.db"
    host.lose = lambda step: step == "create"
    host.fail = lambda step: error(503) if step == "list" and host.batches else None
    with pytest.raises(HostDown):  # as if the process had been killed while it waited for the answer
        judge(store, model, patience=0)
    assert states(store) == ["creating"]
    assert len(host.batches) == 1
    host.lose, host.fail = (lambda _: False), (lambda _: None)
    assert judge(store, model, wait=True).status == "done"
    assert len(host.batches) == 1
    assert set(host.asked.values()) == {1}


def test_another_batch_of_the_same_size_is_not_taken_for_ours(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start(polls=1)
    model = "anthropic:claude-haiku-4-5"
    judge(tmp_path / "other.db", model)
    host.fail = lambda step: closed() if step == "create" and host.steps.count("create") < 4 else None
    run = judge(tmp_path / "s.db", model, wait=True)
    assert run.status == "done"
    assert len(host.batches) == 2
    assert judge(tmp_path / "other.db", model, wait=True).status == "done"
    assert set(host.asked.values()) == {2}  # once for each of the two stores


def test_a_batch_that_the_provider_refuses_as_a_whole_is_an_error_and_frees_its_calls(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start()
    host.fail = lambda step: error(400, "Invalid model for batch") if step == "create" else None
    with pytest.raises(
        ModelError, match=r"refused a batch of 12 calls[\s\S]*Invalid model for batch[\s\S]*--batch"
    ):
        judge(tmp_path / "s.db")
    host.fail = lambda _: None
    assert judge(tmp_path / "s.db", wait=True).status == "done"


def test_a_host_without_a_batch_api_is_named(start: Callable[..., FakeBatches], tmp_path: Path) -> None:
    host = start()
    host.fail = lambda step: error(404, "Not Found") if step == "upload" else None
    with pytest.raises(ModelError, match="batch"):
        judge(tmp_path / "s.db")


# Limits


@pytest.mark.parametrize("model", EACH)
def test_calls_are_split_by_lines_and_by_bytes(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = start()
    for api in (base.BatchApi, anthropic_batches.AnthropicBatches):
        monkeypatch.setattr(api, "most_lines", 5)
    assert judge(tmp_path / "lines.db", model, wait=True).status == "done"
    assert [len(batch.keys) for batch in host.batches.values()] == [5, 5, 2]
    for api in (base.BatchApi, anthropic_batches.AnthropicBatches):
        monkeypatch.setattr(api, "most_lines", 1000)
        monkeypatch.setattr(api, "most_bytes", 9000)
    host.batches.clear()
    host.largest_upload = 0
    assert judge(tmp_path / "bytes.db", model, wait=True).status == "done"
    assert len(host.batches) > 1
    assert host.largest_upload <= 9000


@pytest.mark.parametrize("model", [MODELS[0], MODELS[1]])
def test_a_full_queue_is_filled_part_after_part(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = start(polls=2, queue=8)
    for api in (base.BatchApi, anthropic_batches.AnthropicBatches):
        monkeypatch.setattr(api, "most_lines", 4)
    store = tmp_path / "s.db"
    run = judge(store, model, n=20)
    assert run.status == "submitted"
    run = judge(store, model, n=20, wait=True)
    assert (run.status, run.progress.done, run.progress.failed) == ("done", 20, 0)
    assert set(host.asked.values()) == {1}


def test_a_batch_that_is_too_large_for_the_queue_is_split(
    start: Callable[..., FakeBatches], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "LEAST_LINES", 2)
    host = start(queue=5)
    run = judge(tmp_path / "s.db", n=12, wait=True)
    assert (run.status, run.progress.failed) == ("done", 0)
    assert set(host.asked.values()) == {1}
    assert max(len(batch.keys) for batch in host.batches.values() if batch.outputs) <= 5


@pytest.mark.parametrize("model", EACH)
def test_a_quota_that_is_used_up_stops_the_run(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str
) -> None:
    host = start()
    host.fail = lambda step: quota() if step == "create" else None
    with pytest.raises(BudgetReached, match="quota"):
        judge(tmp_path / "s.db", model, wait=True)
    host.fail = lambda _: None
    assert judge(tmp_path / "s.db", model, wait=True).status == "done"
    assert len(host.batches) == 1


def test_a_budget_counts_when_calls_are_submitted(start: Callable[..., FakeBatches], tmp_path: Path) -> None:
    host = start()
    with pytest.raises(BudgetReached, match="reserved for batches"):
        judge(tmp_path / "s.db", n=50, budget=0.02, max_tokens=500)
    (batch,) = host.batches.values()
    assert 0 < len(batch.keys) < 50
    sent = sum(len(json.dumps(body)) for body in batch.bodies)
    assert (sent * 0.25 * PRICE[0] + len(batch.keys) * 250 * PRICE[1]) / 1e6 < 0.025
    assert states(tmp_path / "s.db") == ["open"]


# Who may ask


def test_calls_in_an_open_batch_are_asked_by_nobody_else(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start(polls=100)
    store = tmp_path / "s.db"
    judge(store)
    run = judge(store, batch=False)  # the same run, without --batch
    assert (run.status, run.progress.in_batches) == ("submitted", 12)
    other = adjudge.run(items(14), PROTOCOL, MODELS[0], run="other", store=store, price=PRICE)
    assert (other.status, other.progress.done, other.progress.in_batches) == ("submitted", 2, 12)
    assert len(host.live) == 2
    host.polls = 0
    assert judge(store, batch=False).status == "done"
    assert adjudge.run(items(14), PROTOCOL, MODELS[0], run="other", store=store, price=PRICE).status == "done"
    assert len(host.live) == 2


def test_two_starts_at_once_create_no_batch_twice(start: Callable[..., FakeBatches], tmp_path: Path) -> None:
    host = start(polls=2)

    async def both() -> list[adjudge.Run]:
        wanted = [
            adjudge.run_async(
                items(40), PROTOCOL, MODELS[0], run="judged", store=tmp_path / "s.db", batch=True, wait=True
            )
            for _ in range(2)
        ]
        return await asyncio.gather(*wanted)

    runs = asyncio.run(both())
    assert {run.status for run in runs} == {"done"}
    assert set(host.asked.values()) == {1}
    assert sum(len(batch.keys) for batch in host.batches.values()) == 40


def test_models_with_and_without_batches_share_a_run(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start()
    models = {
        "cheap": {"model": MODELS[0], "batch": True, "price": PRICE},
        "live": {"model": f"{host.url}/v1#judge", "price": PRICE},
    }
    store = tmp_path / "s.db"
    run = judge(store, models, batch=False, price=None)
    assert (run.status, run.progress.done, run.progress.in_batches) == ("submitted", 12, 12)
    run = judge(store, models, batch=False, price=None)
    assert (run.status, run.progress.done, run.progress.failed) == ("done", 24, 0)
    assert len(host.live) == 12


@pytest.mark.parametrize(
    "model", ["fake:text=4", "http://127.0.0.1:9/v1#judge", "vllm:judge", "mistral:large"]
)
def test_a_model_without_a_batch_api_is_an_error_before_anything_is_sent(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "x" * 20)
    with pytest.raises(ModelError, match=r"--batch: Adjudge knows no batch API for [\s\S]*openai:NAME"):
        judge(tmp_path / "s.db", model, price=None)
    assert not (tmp_path / "s.db").exists()


def test_a_protocol_of_likelihoods_is_not_asked_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x" * 20)
    with pytest.raises(ModelError, match="likelihoods"):
        adjudge.run(
            [{"source_text": "a", "generated_response": "b"}],
            "gptscore/fluency",
            MODELS[0],
            store=tmp_path / "s.db",
            batch=True,
        )


@pytest.mark.parametrize("model", EACH)
def test_no_key_is_in_the_store_and_keys_go_to_their_host_only(
    start: Callable[..., FakeBatches], tmp_path: Path, model: str
) -> None:
    host = start()
    judge(tmp_path / "s.db", model, wait=True)
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for name, value in host.environment().items():
        if name.endswith("KEY"):
            assert value.encode() not in kept
    sent = {request.path.partition("?")[0]: request.headers for request in host.server.requests}
    assert all(any("0123456789abcdef" in value for value in headers.values()) for headers in sent.values())


# The store


def test_a_run_with_a_batch_at_the_provider_is_not_deleted(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    start(polls=1)
    store = tmp_path / "s.db"
    judge(store)
    with open_store(store) as opened, pytest.raises(StoreError, match="adjudge runs cancel judged"):
        opened.delete_run("judged")
    assert judge(store, wait=True).status == "done"
    with open_store(store) as opened:
        opened.delete_run("judged")
        assert opened.batches() == []


def test_an_open_batch_is_collected_from_a_merged_and_from_a_repaired_store(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    from adjudge.results.merge import merge_stores
    from adjudge.store.repair import examine, repair

    host = start(polls=100)
    judge(tmp_path / "a.db", n=8)
    assert examine(tmp_path / "a.db") == []
    merge_stores(tmp_path / "b.db", [tmp_path / "a.db"])
    repair(tmp_path / "a.db", tmp_path / "c.db")
    host.polls = 0
    for name in ("b.db", "c.db"):
        assert judge(tmp_path / name, n=8).status == "done"
        assert examine(tmp_path / name) == []
    # What was collected elsewhere meanwhile is settled by merging again.
    judge(tmp_path / "a.db", n=8)
    merge_stores(tmp_path / "d.db", [tmp_path / "a.db"])
    merge_stores(tmp_path / "d.db", [tmp_path / "b.db"])
    assert exported(tmp_path / "d.db") == exported(tmp_path / "a.db") == exported(tmp_path / "c.db")
    assert states(tmp_path / "d.db") == ["closed"]
    assert len(host.batches) == 1
    assert host.live == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE batches SET remote = 'batch_9'",
        "UPDATE batch_calls SET outcome = 'lost'",
        "DELETE FROM batch_calls WHERE call = 3",
    ],
)
def test_damage_to_a_batch_is_found(
    start: Callable[..., FakeBatches], tmp_path: Path, statement: str
) -> None:
    from adjudge.store.repair import examine

    start()
    judge(tmp_path / "s.db")
    connection = sqlite3.connect(tmp_path / "s.db")
    with connection:
        connection.execute(statement)
    connection.close()
    assert next(part.what for part in examine(tmp_path / "s.db")).startswith("batch")


def test_a_dry_run_shows_the_batches_and_their_price(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    from adjudge.engine import Request
    from adjudge.engine.dry_run import dry_run

    host = start()
    options: dict[str, Any] = {"store": tmp_path / "s.db", "price": PRICE, "max_tokens": 100}
    live = dry_run(Request(items(12), PROTOCOL, MODELS[0], **options))
    batch = dry_run(Request(items(12), PROTOCOL, MODELS[0], batch=True, **options))
    (estimate,) = batch.batches
    assert (estimate.calls, estimate.parts) == (12, 1)
    assert live.cost_usd is not None
    assert batch.cost_usd == pytest.approx(live.cost_usd / 2)
    assert estimate.cost_usd is not None
    assert estimate.cost_usd > batch.cost_usd
    assert host.steps == []


def test_a_cancelled_batch_gives_what_it_has_and_the_rest_is_asked_again(
    start: Callable[..., FakeBatches], tmp_path: Path
) -> None:
    host = start(polls=5)
    store = tmp_path / "s.db"
    judge(store)
    with open_store(store) as opened:
        assert asyncio.run(cancel_batches.cancel_all(opened, opened.run("judged"))) == (1, [])
    host.polls = 0
    run = judge(store)
    assert run.status == "submitted"  # a new batch
    assert judge(store).status == "done"
    assert len(host.batches) == 2
