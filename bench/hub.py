"""How long the pages of a team's hub take while fifty people label and ten CI jobs push.

    python bench/hub.py [--people 50] [--jobs 10] [--items 300] [--seconds 30] [--pause 2]

Two servers on one store, as docs/team.md sets them up: `adjudge annotate --share` for the raters, and
`adjudge view --share` for the members, whose jobs push at once. The jobs have the lowest priority: in a team
they run on other machines. Each person gets the next item, labels it after a pause and goes on. At the end
every label that was confirmed and every run that was pushed must be in the store. The target is a p95 of a
page below 300 ms; a miss, or anything lost, exits with 1.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from adjudge import run
from adjudge.models.fake import FakeModel
from adjudge.store import open_store

ROOT = Path(__file__).parents[1]
ADJUDGE = str(Path(sys.executable).parent / "adjudge")
TARGET_MS = 300


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return str(probe.getsockname()[1])


def judged(store: Path, name: str, n: int) -> None:
    rows = [{"id": f"i{k}", "task": "Say hello.", "response": f"Hello from {name} {k}."} for k in range(n)]
    rubric = ROOT / "examples" / "tact.toml"
    run(rows, "prometheus/direct", FakeModel("Kind. [RESULT] 4"), rubric=rubric, store=store, run=name)


def started(store: Path, *words: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """A shared server, with what it printed for each name."""
    command = [ADJUDGE, *words, "--share", "--host", "127.0.0.1", "--port", free_port(), "--no-browser"]
    server = subprocess.Popen(
        [*command, "--store", str(store)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert server.stdout is not None
    given = {}
    for line in server.stdout:
        name, _, words_of = line.strip().partition("  ")
        if line.startswith("Press"):
            break
        given[name] = words_of.rpartition(" ")[2]
        if line.startswith("http"):
            given["url"] = line.strip().partition("/?")[0].partition("/annotate")[0]
    return server, given


async def label(link: str, until: float, pause: float, pages: list[float], posts: list[float]) -> int:
    """One person at work; how many labels were confirmed."""
    parts = urlsplit(link)
    origin, n = f"{parts.scheme}://{parts.netloc}", 0
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        headers = {"Origin": origin}
        async with session.post(f"{origin}/invited", json={"token": parts.fragment}, headers=headers) as got:
            assert got.status == 200, await got.text()
        while time.monotonic() < until:
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            start = time.perf_counter()
            async with session.get(f"{origin}/annotate/item") as got:
                page = await got.text()
            pages.append(time.perf_counter() - start)
            key = re.search(r'data-item="([0-9a-f]+)"', page)
            csrf = re.search(r'name="csrf" content="([^"]+)"', page)
            if key is None or csrf is None:
                return n
            body = {"item": key[1], "question": 0, "value": 3}
            start = time.perf_counter()
            sent = {**headers, "X-Adjudge-CSRF": csrf[1]}
            async with session.post(f"{origin}/annotate/label", json=body, headers=sent) as got:
                assert got.status == 200, await got.text()
            posts.append(time.perf_counter() - start)
            n += 1
    return n


async def push(store: Path, name: str, hub: str, token: str) -> int:
    job = await asyncio.create_subprocess_exec(
        "nice", "-n", "19", ADJUDGE, "push", name, hub, "--store", str(store),
        env={**os.environ, "ADJUDGE_HUB_TOKEN": token}, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    return await job.wait()


async def measured(links: list[str], jobs: list[tuple[Path, str]], hub: dict[str, str], options: Any) -> Any:
    pages: list[float] = []
    posts: list[float] = []
    until = time.monotonic() + options.seconds
    people = [label(link, until, options.pause, pages, posts) for link in links]
    pushes = [push(store, name, hub["url"], hub["ci"]) for store, name in jobs]
    done = await asyncio.gather(*people, *pushes)
    return pages, posts, sum(done[: len(people)]), done[len(people) :]


def main() -> None:
    parser = argparse.ArgumentParser()
    for flag, default in (("people", 50), ("jobs", 10), ("items", 300), ("seconds", 30), ("pause", 2.0)):
        parser.add_argument(f"--{flag}", type=type(default), default=default)
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(folder) / "team.db"
        judged(shared, "one", options.items)
        jobs = [(Path(folder) / f"{k}.db", f"job{k}") for k in range(options.jobs)]
        for store, name in jobs:
            judged(store, name, options.items)
        names = [f"rater{k}" for k in range(options.people)]
        servers = [
            started(shared, "annotate", "one", *(word for name in names for word in ("--rater", name)))
        ]
        servers.append(started(shared, "view", "--member", "ci"))
        (annotate, links), (view, hub) = servers
        try:
            wanted = [links[name] for name in names]
            pages, posts, n_labels, codes = asyncio.run(measured(wanted, jobs, hub, options))
        finally:
            for server in (annotate, view):
                server.terminate()
                server.communicate()
        with closing(sqlite3.connect(shared)) as connection:
            (kept,) = connection.execute("SELECT count(*) FROM labels").fetchone()
        with open_store(shared, write=False) as store:
            runs = {one.name for one in store.runs()}
    p95 = {}
    for what, taken in (("pages", pages), ("labels", posts)):
        cuts = statistics.quantiles(taken, n=100)
        p95[what] = 1000 * cuts[94]
        print(f"{what:7} n {len(taken):5}  p50 {1000 * cuts[49]:5.0f} ms  p95 {p95[what]:5.0f} ms")
    n_pushed, n_runs = codes.count(0), len(runs) - 1
    print(f"labels confirmed {n_labels}, kept {kept}; runs pushed {n_pushed} of {len(jobs)}, kept {n_runs}")
    is_lost = kept < n_labels or n_runs < n_pushed or any(codes)
    raise SystemExit(1 if is_lost or p95["pages"] > TARGET_MS else 0)


if __name__ == "__main__":
    main()
