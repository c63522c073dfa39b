"""What Adjudge costs beside the calls themselves: CPU and rate of `adjudge run` next to a bare aiohttp loop.

The bare loop only posts ready-made prompts (`session.post(url, json=…)`) and decodes the answers
(`await response.json()`): it renders nothing, reads no score and stores nothing. Both talk to the same fake
server in a separate process, alternately, in one run of this program. Start-up is taken out by the
difference of two sizes. All CPU figures are user plus system time of the client's process with all its
threads.

    python bench/overhead.py [--small 500] [--large 3000] [--rounds 3] [--quick]

Prints one table: what, measured, the bare loop beside it, ratio, target. Exits with 1 where a target is
missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

ADJUDGE = str(Path(sys.executable).with_name("adjudge"))
PROTOCOL = "prometheus/direct"
RUBRIC = """criterion = "Does the response answer the question with facts that hold, in steps to follow?"
[levels]
1 = "It does not answer the question, or what it says is wrong."
2 = "It touches the question, but most of what it says is wrong or missing."
3 = "It answers a part of the question; the rest is vague."
4 = "It answers the question, with one slip or one gap."
5 = "It answers the question in full, and nothing in it is wrong."
"""
WORDS = (
    "the reader needs a reason before a result and every step of the method has its own cost in time "
    "when water boils at a lower pressure the valve opens and a small amount of steam leaves the pot "
    "sources differ on the year but agree on the place where the first engine of this kind was built"
).split()


def sentence(dice: random.Random, size: int) -> str:
    """So many characters of words, not the same twice."""
    words = dice.choices(WORDS, k=size // 4)
    return " ".join(words)[:size].strip() + "."


# -- what is judged, and what the fake judge says


def write_items(path: Path, n: int) -> None:
    """Items that make prompts of about 2 KB with the rubric and the protocol's own text."""
    dice = random.Random(n)
    with path.open("w", encoding="utf-8") as file:
        for number in range(n):
            row = {
                "id": f"item-{number}",
                "system": f"system-{number % 3}",
                "instruction": sentence(dice, 150),
                "response": f"{number}: {sentence(dice, 400)}",
            }
            file.write(json.dumps(row) + "\n")


def replies(n: int = 64) -> list[str]:
    """Replies of about 300 characters, as this protocol asks for them."""
    dice = random.Random(1)
    return [f"Feedback: {sentence(dice, 280)} [RESULT] {dice.randint(1, 5)}" for _ in range(n)]


def write_bodies(path: Path, items: Path, rubric: Path) -> None:
    """The bodies that `adjudge run` would post for these items, one a line."""
    from adjudge.data import ItemFile
    from adjudge.protocols import load_protocol
    from adjudge.render import render

    protocol = load_protocol(PROTOCOL, rubric=rubric)
    with path.open("w", encoding="utf-8") as file:
        for item in ItemFile(items):
            messages = [
                {"role": message.role, "content": message.content}
                for message in render(protocol, item).messages
            ]
            file.write(json.dumps({"model": "judge", "messages": messages, "temperature": 0.0}) + "\n")


def serve(latency: float) -> None:
    """The fake server, until standard input is closed."""
    from fakeserver import FakeServer, chat

    answers = [chat(text) for text in replies()]
    with FakeServer(lambda _: answers[server.n_requests % len(answers)], latency=latency, keep=0) as server:
        print(server.url, flush=True)
        sys.stdin.read()


@contextmanager
def server(latency: float) -> Iterator[str]:
    """A fake server in a separate process; its address."""
    command = [sys.executable, __file__, "--serve", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


# -- the bare loop


async def bare(url: str, bodies: Path, concurrency: int) -> None:
    """Post every prompt and decode every answer; prints how long that took."""
    import aiohttp

    payloads = [json.loads(line) for line in bodies.read_bytes().splitlines()]
    rest = iter(payloads)
    n_read = 0

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal n_read
        for payload in rest:
            async with session.post(f"{url}/v1/chat/completions", json=payload) as response:
                n_read += bool((await response.json())["choices"][0]["message"]["content"])

    started = time.perf_counter()
    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(work(session) for _ in range(concurrency)))
    assert n_read == len(payloads)
    print(time.perf_counter() - started)


# -- measuring


class Cost(NamedTuple):
    """What one process took."""

    cpu: float
    seconds: float
    out: str


def measured(command: list[str], cwd: Path) -> Cost:
    """Run a command to its end; its CPU time, threads and all."""
    started = time.perf_counter()
    with open(cwd / "out.txt", "w+", encoding="utf-8") as out:
        process = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        out.seek(0)
        text = out.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{text[-3000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, seconds, text)


class Bench:
    """A folder with items of several sizes, and the two clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rubric = folder / "rubric.toml"
        self.rubric.write_text(RUBRIC, encoding="utf-8")
        self._stores = 0

    def prepare(self, *sizes: int) -> None:
        for n in set(sizes):
            write_items(self.folder / f"items-{n}.jsonl", n)
            write_bodies(self.folder / f"bodies-{n}.jsonl", self.folder / f"items-{n}.jsonl", self.rubric)

    def adjudge(self, url: str, n: int, concurrency: int, *, fresh: bool = True) -> Cost:
        """`adjudge run` on a separate store, or once more on the one before."""
        self._stores += fresh
        return measured(
            [
                ADJUDGE, "run", f"items-{n}.jsonl", "-p", PROTOCOL, "--rubric", "rubric.toml",
                "-m", f"{url}/v1#judge", "--concurrency", str(concurrency), "--store",
                f"store-{self._stores}.db", "--json",
            ],
            self.folder,
        )  # fmt: skip

    def bare(self, url: str, n: int, concurrency: int) -> Cost:
        return measured(
            [
                sys.executable,
                __file__,
                "--bare",
                url,
                str(self.folder / f"bodies-{n}.jsonl"),
                str(concurrency),
            ],
            self.folder,
        )

    def run_seconds(self) -> float:
        """How long the last run took from its start to its end, by its own clock, without start-up and
        report."""
        from adjudge.store import open_store

        with open_store(self.folder / f"store-{self._stores}.db", write=False) as store:
            return store.run().seconds


def per_thousand(small: list[float], large: list[float], n_small: int, n_large: int) -> float:
    """Seconds of CPU for 1,000 more; the least of each size, because what else runs on a machine only
    adds."""
    return (min(large) - min(small)) / (n_large - n_small) * 1000


class Line(NamedTuple):
    what: str
    ours: str
    bare: str
    ratio: str
    target: str
    is_met: bool


def cpu_line(bench: Bench, n_small: int, n_large: int, rounds: int, concurrency: int) -> list[Line]:
    """CPU for each judgment, and for the same command a second time."""
    ours: dict[int, list[float]] = {n_small: [], n_large: []}
    theirs: dict[int, list[float]] = {n_small: [], n_large: []}
    again: dict[int, list[float]] = {n_small: [], n_large: []}
    with server(0.0) as url:
        for _ in range(rounds):
            for n in (n_small, n_large):
                theirs[n].append(bench.bare(url, n, concurrency).cpu)
                ours[n].append(bench.adjudge(url, n, concurrency).cpu)
                again[n].append(bench.adjudge(url, n, concurrency, fresh=False).cpu)
    mine, base, second = (
        per_thousand(times[n_small], times[n_large], n_small, n_large) for times in (ours, theirs, again)
    )
    return [
        Line(
            "CPU per 1,000 judgments", f"{mine:.3f} s", f"{base:.3f} s", f"{mine / base:.2f}", "<= 2.0",
            mine <= 2.0 * base
        ),
        Line("the same command again, CPU per 1,000", f"{second:.3f} s", "", "", "<= 0.15 s", second <= 0.15),
    ]  # fmt: skip


def rate_line(
    bench: Bench, n_small: int, n_large: int, rounds: int, latency: float, concurrency: int
) -> Line:
    """Judgments a second once a run is under way: the difference of two sizes leaves the start out on both
    sides."""
    ours: dict[int, list[float]] = {n_small: [], n_large: []}
    theirs: dict[int, list[float]] = {n_small: [], n_large: []}
    with server(latency) as url:
        for _ in range(rounds):
            for n in (n_small, n_large):
                theirs[n].append(float(bench.bare(url, n, concurrency).out))
                bench.adjudge(url, n, concurrency)
                ours[n].append(bench.run_seconds())
    mine, base = (
        (n_large - n_small) / (min(times[n_large]) - min(times[n_small])) for times in (ours, theirs)
    )
    return Line(
        f"rate at {latency * 1000:.0f} ms, {concurrency} in flight",
        f"{mine:.0f}/s",
        f"{base:.0f}/s",
        f"{mine / base:.2f}",
        ">= 0.85",
        mine >= 0.85 * base,
    )


def linear_line(bench: Bench, n: int, concurrency: int) -> Line:
    """Whether the second time costs in proportion: the slope from n to 3 n beside that from 3 n to 9 n."""
    cpu = []
    with server(0.0) as url:
        for size in (n, 3 * n, 9 * n):
            bench.adjudge(url, size, concurrency)
            cpu.append(min(bench.adjudge(url, size, concurrency, fresh=False).cpu for _ in range(3)))
    first, second = (cpu[1] - cpu[0]) / (2 * n) * 1000, (cpu[2] - cpu[1]) / (6 * n) * 1000
    return Line(
        f"again, slope {n}-{3 * n} and {3 * n}-{9 * n}",
        f"{second:.3f} s",
        f"{first:.3f} s",
        f"{second / first:.2f}",
        "linear: <= 1.3",
        second <= 1.3 * first or second <= 0.15,
    )


def help_line(bench: Bench, rounds: int) -> Line:
    command = [ADJUDGE, "--help"]
    cpu = min(measured(command, bench.folder).cpu for _ in range(max(3, rounds)))
    return Line("adjudge --help, CPU", f"{cpu:.2f} s", "", "", "<= 0.4 s", cpu <= 0.4)


def print_table(lines: list[Line]) -> None:
    head = ("", "adjudge", "bare loop", "ratio", "target", "")
    rows = [head, *((*line[:5], "" if line.is_met else "MISSED") for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        cells = [
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--small", type=int, default=500)
    parser.add_argument("--large", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=64, help="in flight where CPU is measured")
    parser.add_argument(
        "--quick", action="store_true", help="one round, smaller sizes, no check of linearity"
    )
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--bare", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve)
    elif given.bare is not None:
        url, bodies, concurrency = given.bare
        asyncio.run(bare(url, Path(bodies), int(concurrency)))
    else:
        raise SystemExit(compare(given))


def compare(given: Any) -> int:
    small, large, rounds = (200, 1200, 1) if given.quick else (given.small, given.large, given.rounds)
    with tempfile.TemporaryDirectory(prefix="adjudge-bench-") as name:
        bench = Bench(Path(name))
        bench.prepare(small, large, 3 * large, *(() if given.quick else (1000, 3000, 9000)))
        lines = cpu_line(bench, small, large, rounds, given.concurrency)
        lines.append(rate_line(bench, large, 3 * large, rounds, 0.05, 256))
        if not given.quick:
            lines.append(linear_line(bench, 1000, given.concurrency))
        lines.append(help_line(bench, rounds))
    print_table(lines)
    return 0 if all(line.is_met for line in lines) else 1


if __name__ == "__main__":
    main()
