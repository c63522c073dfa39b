"""The overhead of `adjudge serve`: 200 callers at once, 200 requests a second, a judge that answers at once.

    python bench/serve.py [--seconds 10] [--rate 200] [--callers 200] [--log] [--client]

Three processes: the service, a bare starlette application that decodes the same request and answers with a
constant, and this one, which sends to both by turns: their times are comparable only so. Requests start at
fixed times, whether earlier ones are answered or not, and a latency counts from that time; each request
judges another text, so nothing is a cache hit. The overhead is the p95 of the service less that of the bare
application; with `--limit MS` a larger one exits with 1. With `--client` the callers have the token of an
invited client, which is looked up in the store at each request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import aiohttp

ROOT = Path(__file__).parents[1]
TOKEN = "bench-token"
BARE = """
import json, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

ANSWER = json.dumps({"model": "tact", "answers": [{"type": "score", "name": "tact", "score": 3.0}]}).encode()

async def decide(request):
    json.loads(await request.body())
    return Response(ANSWER, media_type="application/json")

app = Starlette(routes=[Route("/v1/decisions", decide, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
"""
RUN_FILE = """
[runs.tact]
judge = [{ protocol = "prometheus/direct", rubric = "tact.toml" }]
models = ["fake:text=Feedback: kind. [RESULT] 4"]
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Servers(NamedTuple):
    processes: list[subprocess.Popen[str]]
    addresses: dict[str, str]
    token: str


def started(folder: Path, *, is_logged: bool, is_shared: bool) -> Servers:
    """The two servers, with their addresses and the token of the callers."""
    (folder / "tact.toml").write_text((ROOT / "examples" / "tact.toml").read_text())
    (folder / "adjudge.toml").write_text(RUN_FILE)
    ports = {"bare": free_port(), "serve": free_port()}
    adjudge = Path(sys.executable).parent / "adjudge"
    serve = [str(adjudge), "serve", "tact", "--port", str(ports["serve"]), *(["--log"] if is_logged else [])]
    serve += ["--share", "--host", "127.0.0.1", "--client", "bench"] if is_shared else []
    environment = {**os.environ, "ADJUDGE_SERVE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    bare = subprocess.Popen([sys.executable, "-c", BARE, str(ports["bare"])], cwd=folder, text=True)
    server = subprocess.Popen(serve, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    token = TOKEN
    for line in server.stdout:
        if line.startswith("Press"):
            break
        name, _, secret = line.strip().partition("  ")
        token = secret if name == "bench" else token
    for port in ports.values():
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
    addresses = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    return Servers([bare, server], addresses, token)


def body(number: int) -> bytes:
    levels = [{"label": str(level)} for level in range(1, 6)]
    question = {"name": "tact", "type": "score", "levels": levels}
    given = {"task": "Say hello.", "response": f"Hello there, caller number {number}."}
    return json.dumps({"model": "tact", "input": given, "questions": [question]}).encode()


async def load(
    address: str, token: str, first: int, *, rate: float, seconds: float, callers: int
) -> list[float]:
    """The latency of each request in seconds, from the time at which it was due."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=callers)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def one(number: int, due: float) -> float:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            async with session.post(f"{address}/v1/decisions", data=body(number)) as answer:
                found = await answer.json()
            assert answer.status == 200, found
            assert found["answers"][0]["type"] == "score", found
            return time.perf_counter() - due

        # All callers at once, so that each has its connection before times are taken.
        await asyncio.gather(*(one(first + n, time.perf_counter()) for n in range(callers)))
        start = time.perf_counter() + 0.5
        n = int(rate * seconds)
        return await asyncio.gather(*(one(first + callers + k, start + k / rate) for k in range(n)))


def shown(name: str, latencies: list[float]) -> str:
    cuts = statistics.quantiles(latencies, n=100)
    p50, p95, p99 = (1000 * cuts[place - 1] for place in (50, 95, 99))
    return f"{name:6} n {len(latencies):6}  p50 {p50:7.1f} ms  p95 {p95:7.1f} ms  p99 {p99:7.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--callers", type=int, default=200)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--client", action="store_true")
    parser.add_argument("--limit", type=float, help="the largest overhead at p95, in milliseconds")
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {options.rate:g} requests/s, {options.callers} callers")
    latencies: dict[str, list[float]] = {"bare": [], "serve": []}
    with tempfile.TemporaryDirectory() as name:
        servers = started(Path(name), is_logged=options.log, is_shared=options.client)
        try:
            first = 0
            for _ in range(options.turns):
                for which, address in servers.addresses.items():
                    latencies[which] += asyncio.run(
                        load(
                            address,
                            servers.token,
                            first,
                            rate=options.rate,
                            seconds=options.seconds,
                            callers=options.callers,
                        )
                    )
                    first += 10_000_000
        finally:
            for server in servers.processes:
                server.terminate()
                server.wait()
    for which, values in latencies.items():
        print(shown(which, values))
    p95 = {which: 1000 * statistics.quantiles(values, n=100)[94] for which, values in latencies.items()}
    overhead = p95["serve"] - p95["bare"]
    print(f"overhead at p95: {overhead:.1f} ms")
    if options.limit is not None and overhead > options.limit:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
