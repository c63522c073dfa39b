"""SIGKILL at 200 points of submitting and collecting batches: no
batch is created twice, nothing is lost, nothing is asked twice.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adjudge.store import open_store
from fakebatches import FakeBatches

MODELS = ("openai:gpt-4.1-mini", "anthropic:claude-haiku-4-5", "gemini:gemini-2.5-flash", "azure:judge")
ITEMS = 40
KILLS = 200
STEPS = ("upload", "create", "retrieve", "download")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def processes() -> Any:
    """Processes that start at once: what they import is there already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["adjudge.cli.run", "adjudge.engine.batching", "adjudge.models.http_client", "fakebatches"]
    )
    return context


def command(arguments: list[str], environment: dict[str, str], most_lines: int, report: str = "") -> None:
    """`adjudge` in a process of its own, with short waits and small batches."""
    from adjudge.cli import main
    from adjudge.engine import batching
    from adjudge.models.batch_apis import anthropic_batches, base

    os.environ.update(environment)
    batching.SETTLE_SECONDS, batching.BACKOFF_SECONDS = 0.1, 0.02
    batching.POLL_SECONDS, batching.LONGEST_POLL_SECONDS = 0.02, 0.05
    if most_lines:
        for api in (base.BatchApi, anthropic_batches.AnthropicBatches):
            api.most_lines = most_lines
    sys.argv = ["adjudge", *arguments]
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    if report:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        Path(report).write_text(json.dumps({"code": code, "peak_mb": peak / 1024}))
    os._exit(code)


def items_at(path: Path, n: int) -> Path:
    with path.open("w") as file:
        for number in range(n):
            row = {"id": f"i{number}", "summary": f"A fine pen, number {number}.", "reviews": "Writes."}
            file.write(json.dumps(row) + "\n")
    return path


def scores(store: Path) -> list[float | None]:
    from adjudge.results.stored_results import results

    with open_store(store, write=False) as opened:
        return [result.value for result in results(opened, opened.run())]


def story(folder: Path, processes: Any, model: str, seed: int, n_kills: int) -> Counter[str]:
    """Run, kill while the host carries out a request, start
    again, and so on until the run is done; the kills by step.
    """
    dice = Random(seed)
    folder.mkdir()
    items, store = items_at(folder / "items.jsonl", ITEMS), folder / "s.db"
    arguments = [
        "run", str(items), "-p", "opinion-summary/fluency", "-m", model, "--store", str(store), "--batch",
        "--wait", "-q",
    ]  # fmt: skip
    killed: Counter[str] = Counter()
    with FakeBatches(polls=1, seed=seed) as host:
        host.server._latency = 0.015  # an answer comes a while after its request was carried out
        host.lose = lambda _: dice.random() < 0.05
        environment = host.environment()
        while sum(killed.values()) < n_kills:
            step, n_before = dice.choice(STEPS), len(host.steps)
            process = processes.Process(target=command, args=(arguments, environment, 8))
            process.start()
            while process.is_alive() and step not in host.steps[n_before:]:
                time.sleep(0.001)
            time.sleep(dice.uniform(0, 0.03))
            if process.is_alive():
                process.kill()
                killed[step] += 1
            process.join()
            if process.exitcode == 0:
                break
        last = processes.Process(target=command, args=(arguments, environment, 8))
        last.start()
        last.join()
        assert last.exitcode == 0
        submitted = Counter(
            custom_id.partition("_")[2] for batch in host.batches.values() for custom_id in batch.keys
        )
        assert len(submitted) == ITEMS
        assert set(submitted.values()) == {1}, "a call is in two batches"
        assert set(host.asked.values()) == {1}
        assert host.live == []
    assert len(scores(store)) == ITEMS
    assert None not in scores(store)
    return killed


def test_200_kills_create_no_batch_twice_and_lose_nothing(
    tmp_path: Path, processes: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    killed: Counter[str] = Counter()

    def stories(model: str) -> Iterator[Counter[str]]:
        n_killed, seed = 0, 0
        while n_killed < KILLS // len(MODELS):
            seed += 1
            history = story(
                tmp_path / f"{model.partition(':')[0]}-{seed}", processes, model, seed, n_kills=10
            )
            n_killed += sum(history.values())
            yield history

    with ThreadPoolExecutor(2) as pool:
        for histories in pool.map(lambda model: list(stories(model)), MODELS):
            for history in histories:
                killed += history
    assert sum(killed.values()) >= KILLS
    assert set(killed) == set(STEPS)
    with capsys.disabled():
        print(f"\n{sum(killed.values())} kills: {dict(killed)}")


@pytest.mark.parametrize(("model", "parts"), [(MODELS[0], [50_000, 10_000]), (MODELS[1], [60_000])])
def test_60_000_calls_are_split_right_in_bounded_memory(
    tmp_path: Path, processes: Any, model: str, parts: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    peaks = {}
    for n in (6_000, 60_000):
        items, store, report = (
            items_at(tmp_path / f"{n}.jsonl", n),
            tmp_path / f"{n}.db",
            tmp_path / f"{n}.json",
        )
        with FakeBatches(
            outcome=lambda key, _, tries: "error" if int(key[:4], 16) % 10 == 0 and tries == 0 else "ok"
        ) as host:
            arguments = [
                "run", str(items), "-p", "opinion-summary/fluency", "-m", model, "--store", str(store),
                "--batch", "--wait", "-q", "--json",
            ]  # fmt: skip
            process = processes.Process(target=command, args=(arguments, host.environment(), 0, str(report)))
            process.start()
            process.join()
            sizes = [len(batch.keys) for batch in host.batches.values()]
            assert set(host.asked.values()) == {1}
            assert len(host.asked) == n
            assert host.live == []
        ended = json.loads(report.read_text())
        assert ended["code"] == 0
        peaks[n] = ended["peak_mb"]
    # The last batch is that of the tenth that met an error.
    assert sizes[: len(parts)] == parts
    assert 5_000 < sum(sizes[len(parts) :]) < 7_000
    with capsys.disabled():
        print(
            f"\n{model}: batches of {sizes}, {peaks[6_000]:.0f} MB for 6,000 calls, "
            f"{peaks[60_000]:.0f} MB for 60,000"
        )
    assert peaks[60_000] < peaks[6_000] + 80
