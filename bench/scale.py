"""What a very large run would take, by a simulation of its queue: calls, tokens, store, hours, and what
limits each way of asking.

First a short run with a fake judge measures what one judgment costs on this machine: CPU of the process and
bytes of the store. Then the queue of each way is simulated call by call: calls in flight, the time that each
takes at a server, rate limits, and the one process that renders, parses and stores. The rate in the second
half of the simulated calls is extended to the whole run.

    python bench/scale.py [--judgments 100000000] [--simulated 40000]

The speeds of servers and the limits of providers below are assumptions, in one table: change them to yours.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from overhead import PROTOCOL, RUBRIC, write_items

TOKENS_IN, TOKENS_OUT = 600, 80
"""A prompt of 2,400 characters and a reply of 300."""

SPREAD = 0.4
"""Of the logarithm of the time that a call takes."""


class Way(NamedTuple):
    """One way of asking: hosts that answer, and what limits them."""

    name: str
    hosts: int
    seconds: float
    """median time of one call at a host that is not busy"""
    at_once: int
    """calls that one host works on at a time; more wait there"""
    in_flight: int
    """calls in flight for each host: --concurrency"""
    rpm: float = math.inf
    tpm: float = math.inf
    processes: int = 1
    """runs in shards, each with a share of the hosts"""


WAYS = (
    Way("provider, 10,000 RPM and 10 M TPM", 1, 1.5, 10_000, 512, rpm=10_000, tpm=10e6),
    Way("provider, 30,000 RPM and 150 M TPM", 1, 1.5, 10_000, 1024, rpm=30_000, tpm=150e6),
    Way("vLLM, 8 replicas of a small model", 8, 2.0, 128, 192),
    Way("vLLM, 64 replicas", 64, 2.0, 128, 192),
    Way("vLLM, 256 replicas, one process", 256, 2.0, 128, 192),
    Way("vLLM, 256 replicas, 4 shards", 256, 2.0, 128, 192, processes=4),
    Way("Ray, 1,000 cores, the embedded model", 1000, 0.25, 1, 4),
)


class Measured(NamedTuple):
    """What one judgment costs on this machine."""

    cpu_seconds: float
    store_bytes: float


def measured(n_small: int = 500, n_large: int = 4000) -> Measured:
    """The difference of two sizes: start-up is left out."""
    costs = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rubric.toml").write_text(RUBRIC, encoding="utf-8")
        for n in (n_small, n_large):
            write_items(folder / "items.jsonl", n)
            reply = "Feedback: " + "it says what is asked for, in order. " * 8 + "[RESULT] 4"
            command = [
                sys.executable, "-c", "from adjudge.cli import main; main()", "run", "items.jsonl", "-p",
                PROTOCOL,
                "--rubric", "rubric.toml", "-m", f"fake:text={reply}", "--store", f"{n}.db", "-q", "--json",
            ]  # fmt: skip
            with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            costs[n] = (usage.ru_utime + usage.ru_stime, (folder / f"{n}.db").stat().st_size)
    small, large = costs[n_small], costs[n_large]
    cpu, size = ((after - before) / (n_large - n_small) for before, after in zip(small, large, strict=True))
    return Measured(cpu, size)


class Outcome(NamedTuple):
    per_second: float
    limited_by: str


def simulate(way: Way, cost: Measured, n_calls: int) -> Outcome:
    """Calls of one of the processes of a way, one after the other through limits, hosts and the process
    itself."""
    dice = random.Random(1)
    n_hosts = max(1, way.hosts // way.processes)
    room = n_hosts * way.in_flight
    n_calls = max(n_calls, 4 * room)
    # Each host is a number of places; a call takes the place that is free first.
    places = [0.0] * (n_hosts * way.at_once if way.at_once < 10_000 else 0)
    interval = max(60 / way.rpm, 60 * (TOKENS_IN + TOKENS_OUT) / way.tpm) * way.processes
    answered: list[float] = []
    sent_at = process_free = busy_places = 0.0
    done: list[float] = []

    def send(now: float) -> None:
        nonlocal sent_at, busy_places
        sent_at = max(now, sent_at + interval)
        seconds = way.seconds * dice.lognormvariate(0, SPREAD)
        start = sent_at
        if places:
            start = max(start, heapq.heappop(places))
            heapq.heappush(places, start + seconds)
            busy_places += seconds
        heapq.heappush(answered, start + seconds)

    for _ in range(room):
        send(0.0)
    while len(done) < n_calls:
        # Rendering, sending, parsing and storing share the CPU of one process, in the order of the answers.
        process_free = max(process_free, heapq.heappop(answered)) + cost.cpu_seconds
        done.append(process_free)
        send(process_free)
    half = n_calls // 2
    rate = (n_calls - 1 - half) / (done[-1] - done[half])
    use = {
        "one process": rate * cost.cpu_seconds,
        "the hosts": busy_places / (done[-1] * len(places)) if places else 0.0,
        "the rate limit": rate * interval,
        "calls in flight": rate * way.seconds * math.exp(SPREAD**2 / 2) / room if not places else 0.0,
    }
    return Outcome(rate * way.processes, max(use, key=lambda name: use[name]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--judgments", type=int, default=100_000_000)
    parser.add_argument("--simulated", type=int, default=40_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    n, cost = given.judgments, measured()
    results = {way.name: simulate(way, cost, given.simulated) for way in WAYS}
    if given.json:
        print(
            json.dumps(
                {"measured": cost._asdict(), "ways": {name: one._asdict() for name, one in results.items()}}
            )
        )
        return
    print(
        f"measured here: {cost.cpu_seconds * 1e3:.2f} ms of CPU and {cost.store_bytes:,.0f} bytes of store a"
        " judgment"
    )
    print(
        f"{n:,} judgments, one call each: {n * TOKENS_IN / 1e9:,.0f} G tokens in, {n * TOKENS_OUT / 1e9:,.0f}"
        " G out;"
    )
    print(
        f"  {n * cost.store_bytes / 1e9:,.0f} GB of store, {n * cost.cpu_seconds / 3600:,.1f} h of CPU in one"
        " process"
    )
    print(f"{'':40}{'a second':>10}{'hours':>9}   limited by")
    for name, one in results.items():
        hours = n / one.per_second / 3600
        print(f"{name:40}{one.per_second:>10,.0f}{hours:>9,.1f}   {one.limited_by}")


if __name__ == "__main__":
    main()
