"""Judgments in steps under SIGKILL, and end to end on real replies with a scripted judge."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

import adjudge
from adjudge.models.fake import FakeModel
from adjudge.records import Call
from adjudge.store import open_store
from fakeserver import Answer, FakeServer, Request, chat
from running import ended, model_at, prompt_of, started, write_rows

KILLS = 100
ITEMS = 12
CLAIMS = 4
CONCURRENCY = 4
LATENCY = 0.02
NEEDED = ITEMS * (1 + CLAIMS)


def judge(request: Request) -> Answer:
    """Lists the claims of each item, and supports those with an even number."""
    prompt = prompt_of(request)
    if "List the factual claims" in prompt:
        item = re.findall(r"Text (\d+)\.", prompt)[-1]
        return chat("\n".join(f"{n}. Claim {n} of text {item}." for n in range(1, CLAIMS + 1)))
    number = int(re.findall(r"Claim (\d+) of text", prompt)[-1])
    verdict = "supported" if number % 2 == 0 else "not supported"
    return chat(json.dumps({"reason": "r", "evidence": [], "verdict": verdict}))


class Story(NamedTuple):
    """What happened to one run until it was done."""

    exports: tuple[str, str]
    n_kills: int
    lost: list[int]
    n_requests: int
    most_asked: int


def n_stored(store: Path) -> int:
    if not store.exists() or not store.stat().st_size:
        return 0
    with open_store(store, write=False) as opened:
        return sum(opened.totals(run).replies for run in opened.runs())


def story(folder: Path, seed: int, n_kills: int) -> Story:
    """Run, kill at a random moment, start again, and so on until the run is done."""
    dice = Random(seed)
    folder.mkdir()
    rows = [{"id": str(n), "response": f"Text {n}.", "source": f"Source {n}."} for n in range(ITEMS)]
    items, store = write_rows(folder / "items.jsonl", rows), folder / "adjudge.db"
    lost: list[int] = []
    with FakeServer(judge, latency=LATENCY) as server:
        command = [
            "run", items, "-p", "claims/supported", "-m", model_at(server), "--store", store,
            "--concurrency", str(CONCURRENCY), "-q",
        ]  # fmt: skip
        while len(lost) < n_kills:
            n_before = server.n_requests
            process = started(*command)
            while server.n_requests == n_before and process.poll() is None:
                time.sleep(0.002)
            time.sleep(dice.uniform(0, 0.25))
            if process.poll() is not None:
                assert ended(process).code == 0
                break
            process.kill()
            process.communicate()
            time.sleep(2 * LATENCY)  # what was under way to the server arrives
            lost.append(server.n_requests - n_stored(store) - sum(lost))
        last = ended(started(*command))
        assert last.code == 0, last.err
        exports = [
            ended(started("export", "last", *flags, "--store", store)) for flags in ((), ("--elements",))
        ]
        assert all(export.code == 0 for export in exports)
        bodies = Counter(request.body for request in server.requests)
        texts = tuple(export.out.replace(server.url, "HOST") for export in exports)
        return Story((texts[0], texts[1]), len(lost), lost, server.n_requests, max(bodies.values()))


def check(history: Story, expected: Story) -> None:
    assert history.exports == expected.exports
    assert all(0 <= n_lost <= CONCURRENCY for n_lost in history.lost), history.lost
    # No element is asked twice but those whose reply was under way when the process was killed.
    assert history.n_requests == NEEDED + sum(history.lost)


@pytest.mark.slow
def test_100_kills_of_runs_in_steps_cost_at_most_the_calls_in_flight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = story(tmp_path / "undisturbed", 0, n_kills=0)
    assert (expected.n_requests, expected.most_asked) == (NEEDED, 1)
    assert len(expected.exports[1].splitlines()) == ITEMS * CLAIMS
    seeds = count(1)
    stories: list[Story] = []
    with ThreadPoolExecutor(2) as pool:
        while sum(history.n_kills for history in stories) < KILLS:
            pair = [next(seeds), next(seeds)]
            stories += pool.map(lambda seed: story(tmp_path / str(seed), seed, n_kills=4), pair)
    for finished in stories:
        check(finished, expected)
    n_kills = sum(history.n_kills for history in stories)
    n_lost = sum(sum(history.lost) for history in stories)
    with capsys.disabled():
        print(
            f"\n{n_kills} kills of {len(stories)} runs in steps: every export as undisturbed, "
            f"{n_lost} calls asked again"
        )


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]{4,}", text.lower()))


def scripted(call: Call) -> str:
    """Splits at sentences; supports a claim most of whose longer words stand in the passages."""
    prompt = call.messages[-1].content
    if call.kind == "extract":
        answer = re.findall(r"<response[^>]*>\n(.*)\n</response", prompt, re.S)[-1]
        claims = [part.strip() for part in re.split(r"(?<=[.!?])\s+", answer) if words(part)]
        return json.dumps(claims)
    passages = re.findall(r"<context[^>]*>\n(.*)\n</context", prompt, re.S)[-1]
    claim = re.findall(r"<element[^>]*>\n(.*)\n</element", prompt, re.S)[-1]
    share = len(words(claim) & words(passages)) / max(1, len(words(claim)))
    label = "supported" if share > 0.6 else "not supported"
    return json.dumps({"reason": f"{share:.2f}", "passage": "", "evidence": [], "verdict": label})


@pytest.mark.slow
def test_real_answers_are_judged_end_to_end_and_agree_with_people_better_than_chance(
    real_rows: Callable[[str], list[dict[str, Any]]], shared: Path, tmp_path: Path
) -> None:
    rows = real_rows("faithful")
    expected = json.loads((shared / "data" / "EXPECTED.json").read_text(encoding="utf-8"))["faithful"]
    assert Counter(row["human"] for row in rows) == expected["labels"]
    items = [
        {"id": row["item"], "system": row["system"], "group": row["group"], "task": row["question"],
        "response": row["response"], "context": [row["source"]]}
        for row in rows
    ]  # fmt: skip
    run = adjudge.run(items, "rag/faithfulness", FakeModel(scripted), store=tmp_path / "s.db", run="f")
    results = run.results()
    assert len(results) == expected["n"]
    assert not [result for result in results if result.status != "ok"]
    labels = [
        {"item": row["item"], "criterion": "faithfulness", "rater": "people",
        "value": float(row["human"] == "attributable")}
        for row in rows
    ]  # fmt: skip
    file = write_rows(tmp_path / "labels.jsonl", labels)
    outcome = ended(started("trust", "f", "--labels", file, "--store", tmp_path / "s.db", "--json"))
    assert outcome.code == 0, outcome.err
    pearson = outcome.json["criteria"]["faithfulness"]["item"]["pearson"]
    n_scored = sum(result.value is not None for result in results)
    assert pearson["n"] == n_scored
    assert pearson["low"] > 0
    again = FakeModel(scripted)
    adjudge.run(items, "rag/faithfulness", again, store=tmp_path / "s.db", run="f")
    assert again.n_asked == 0
