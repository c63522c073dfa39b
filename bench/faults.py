"""A run against a host that goes wrong: is anything lost or scored wrongly, and how much longer does it take?

The host answers 5 % of all requests with 429 (half of them with Retry-After: 1), 5 % with 500, 2 % with
garbage, and leaves 1 % without an answer. Every item has a separate score, so a reply that ends up at
another item shows.

    python bench/faults.py [--items 1000] [--concurrency 64] [--latency 0.05] [--seed 1]

What the waits make necessary is counted from what the host saw, for the unluckiest of all calls:

- until its first request: the time during which the host had asked for silence (the union of the stretches
  that its Retry-After headers name: the wait holds for everybody behind the same key), and the requests that
  came before, at the latency and concurrency of this run;
- then what its own attempts and waits took until its last request. One without an answer takes as long as the
  client has patience; no client can know sooner.

Exits with 1 where anything is lost, wrong, or slower than 1.5 times that.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fakeserver import Answer, FakeServer, Request, chat, cut_json, error, hang, html, limited  # noqa: E402

ADJUDGE = str(Path(sys.executable).with_name("adjudge"))
SHARES = {"limited": 0.05, "failing": 0.05, "garbage": 0.02, "hanging": 0.01}
RETRY_AFTER = 1.0
_NUMBER = re.compile(rb"answer (\d+)\.")


def score_of(number: int) -> int:
    return number * 7 % 5 + 1


class Event(NamedTuple):
    """One request as the host saw it."""

    seconds: float
    number: int
    kind: str
    wait: float


class FaultyHost:
    """Decides by dice what becomes of each request, and remembers it."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self.events: list[Event] = []

    def __call__(self, request: Request) -> Answer:
        match = _NUMBER.search(request.body)
        assert match is not None, "a prompt without its item"
        number = int(match[1])
        kind, at = "ok", self._dice.random()
        for name, share in SHARES.items():
            if at < share:
                kind = name
                break
            at -= share
        says_when = kind == "limited" and self._dice.random() < 0.5
        wait = RETRY_AFTER if says_when else 0.0
        self.events.append(Event(request.seconds, number, kind, wait))
        return self._answer(kind, number, f"{RETRY_AFTER:.0f}" if says_when else None)

    def _answer(self, kind: str, number: int, retry_after: str | None) -> Answer:
        if kind == "limited":
            return limited(retry_after)
        if kind == "failing":
            return error(500)
        if kind == "garbage":
            return self._dice.choice((html(), cut_json(), Answer(200, b"\xff\xfe garbage")))
        if kind == "hanging":
            return hang()
        return chat(f"Feedback: number {number}. [RESULT] {score_of(number)}")


class Trial(NamedTuple):
    """What came of one run."""

    n_items: int
    n_lost: int
    n_wrong: int
    n_requests: int
    faults: dict[str, int]
    seconds: float
    silence: float
    """how long the host had asked for silence, all in all"""
    necessary: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.necessary


def union(stretches: list[tuple[float, float]]) -> float:
    """How long all stretches last together, overlaps counted once."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(stretches):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def pauses(events: list[Event], latency: float) -> list[tuple[float, float]]:
    """When the host had asked for silence: from each answer that says so, for as long as it says."""
    return [(e.seconds + latency, e.seconds + latency + e.wait) for e in events if e.wait]


def necessary(events: list[Event], latency: float, concurrency: int) -> float:
    """The time that the waits make necessary; see the module's text."""
    silent = pauses(events, latency)
    last = {event.number: event.seconds for event in events}
    longest = 0.0
    seen: set[int] = set()
    for n_before, event in enumerate(events):
        if event.number in seen:
            continue
        seen.add(event.number)
        before = union([(start, min(stop, event.seconds)) for start, stop in silent if start < event.seconds])
        earliest = last[event.number] - event.seconds + latency
        longest = max(longest, before + n_before * latency / concurrency + earliest)
    return longest


def trial(folder: Path, n: int, *, concurrency: int, latency: float, seed: int) -> Trial:
    """Judge `n` items on a faulty host, and look at what is in the store."""
    from adjudge.store import open_store

    items, store = folder / "items.jsonl", folder / "adjudge.db"
    with items.open("w", encoding="utf-8") as file:
        for number in range(n):
            row = {"id": f"i{number}", "instruction": "Say a number.", "response": f"answer {number}."}
            file.write(json.dumps(row) + "\n")
    host = FaultyHost(seed)
    with FakeServer(host, latency=latency, keep=0) as server:
        command = [
            ADJUDGE, "run", str(items), "-p", "prometheus/direct", "--rubric",
            str(ROOT / "examples" / "tact.toml"),
            "-m", f"{server.url}/v1#judge", "--store", str(store), "--concurrency", str(concurrency), "-q",
            "--json",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"adjudge run ended with {done.returncode}:\n{done.stderr}")
    export = subprocess.run(
        [ADJUDGE, "export", "last", "--store", str(store)], capture_output=True, text=True, check=True
    )
    rows = {row["item"]: row for row in map(json.loads, export.stdout.splitlines())}
    with open_store(store, write=False) as opened:
        seconds = opened.run().seconds
    scored = [number for number in range(n) if rows.get(f"i{number}", {}).get("status") == "ok"]
    return Trial(
        n_items=n,
        n_lost=n - len(scored),
        n_wrong=sum(rows[f"i{number}"]["score"] != score_of(number) for number in scored),
        n_requests=len(host.events),
        faults={name: sum(event.kind == name for event in host.events) for name in SHARES},
        seconds=seconds,
        silence=union(pauses(host.events, latency)),
        necessary=necessary(host.events, latency, concurrency),
    )


def described(outcome: Trial) -> str:
    faults = ", ".join(f"{count} {name}" for name, count in outcome.faults.items())
    return (
        f"{outcome.n_items} items, {outcome.n_requests} requests ({faults}): {outcome.n_lost} lost,"
        f" {outcome.n_wrong} wrong\n{outcome.seconds:.1f} s; necessary {outcome.necessary:.1f} s (silence"
        f" asked for: {outcome.silence:.1f} s); ratio {outcome.ratio:.2f}, target <= 1.5"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="adjudge-faults-") as folder:
        outcome = trial(
            Path(folder),
            given.items,
            concurrency=given.concurrency,
            latency=given.latency,
            seed=given.seed,
        )
    print(described(outcome))
    print(f"with start-up, report and export: {time.perf_counter() - started:.1f} s")
    sys.exit(0 if not outcome.n_lost and not outcome.n_wrong and outcome.ratio <= 1.5 else 1)


if __name__ == "__main__":
    main()
