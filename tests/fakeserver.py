"""A judge's host that speaks real HTTP and can go wrong in every way that hosts do.

    with FakeServer([limited(retry_after="1"), chat("4")]) as server:
        parse_model(f"{server.url}/v1#judge")

Written on sockets, not on a web framework, because most faults are bytes that no framework would
send. Answers are played in order, then `default` is given; or a function of the request decides.
From the command line it answers every call, with a share of faults if asked:

    python tests/fakeserver.py --port 8123 --latency 0.05 --limited 0.05 --failing 0.05 --garbage 0.02
    --hanging 0.01
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

Wire = Literal["whole", "hang", "half", "reset", "drip", "close"]
"""How an answer's bytes are sent: whole; never; half of them and then silence, a reset, or a slow drip; or
not at all, with the connection closed.
"""


@dataclass(frozen=True)
class Request:
    """What came in. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    seconds: float
    """when it came, on the monotonic clock"""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What goes out."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    wire: Wire = "whole"
    latency: float | None = None

    def after(self, seconds: float) -> Answer:
        return replace(self, latency=seconds)

    def with_headers(self, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, json.dumps(value).encode()).with_headers(**headers)


def chat(text: str | None = "4", *, finish: str = "stop", logprobs: Any = None, **message: Any) -> Answer:
    """A chat completion."""
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, **message},
        "logprobs": logprobs,
    }
    return as_json(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "judge-1",
            "system_fingerprint": "fp_1",
            "choices": [choice],
            "usage": {
                "prompt_tokens": 20,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 8},
            },
        }
    )


def token(text: str, logprob: float, **top: float) -> dict[str, Any]:
    """One token of OpenAI's log-probabilities."""
    alternatives = [{"token": name, "logprob": value, "bytes": None} for name, value in top.items()]
    return {"token": text, "logprob": logprob, "bytes": None, "top_logprobs": alternatives}


def message(*blocks: dict[str, Any], stop: str = "end_turn") -> Answer:
    """A message of Anthropic's."""
    return as_json(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-judge-1",
            "content": list(blocks),
            "stop_reason": stop,
            "usage": {"input_tokens": 12, "cache_read_input_tokens": 8, "output_tokens": 5},
        }
    )


def error(
    status: int, text: str = "went wrong", *, code: str | None = None, param: str | None = None
) -> Answer:
    return as_json(
        {"error": {"message": text, "type": "invalid_request_error", "code": code, "param": param}}, status
    )


def limited(retry_after: str | None = None) -> Answer:
    answer = error(429, "Rate limit reached", code="rate_limit_exceeded")
    return answer if retry_after is None else answer.with_headers(retry_after=retry_after)


def quota() -> Answer:
    return error(429, "You exceeded your current quota", code="insufficient_quota")


def html(status: int = 200) -> Answer:
    page = b"<!DOCTYPE html><html><title>Sign in</title><body>Please sign in to the proxy</body></html>"
    return Answer(status, page, {"content-type": "text/html"})


def redirect(to: str, status: int = 302) -> Answer:
    return Answer(status, b"", {"location": to})


def cut_json() -> Answer:
    """Half of the JSON, with a content length that fits it."""
    return Answer(200, chat().body[:60])


def broken_gzip() -> Answer:
    packed = gzip.compress(chat("4" * 1000).body)
    return Answer(200, packed[:20] + b"\xff" * 20 + packed[40:], {"content-encoding": "gzip"})


def bomb(megabytes: int) -> Answer:
    """A small body that unpacks to a large one."""
    return Answer(200, gzip.compress(b" " * (megabytes * 1_000_000)), {"content-encoding": "gzip"})


def events(*pieces: str, finish: str | None = "stop", usage: Any = None, is_done: bool = True) -> Answer:
    """A chat completion as a stream of server-sent events."""
    chunks: list[dict[str, Any]] = [
        {"model": "judge-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}}]}
        for piece in pieces
    ]
    if finish is not None:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage is not None:
        chunks.append({"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"] * is_done
    return Answer(200, "".join(lines).encode(), {"content-type": "text/event-stream"})


def hang() -> Answer:
    return Answer(wire="hang")


def half() -> Answer:
    """Half a body, then nothing."""
    return replace(chat(), wire="half")


def reset() -> Answer:
    """Half a body, then the connection is reset."""
    return replace(chat(), wire="reset")


def drip() -> Answer:
    """Half a body, then a byte now and then."""
    return replace(chat(), wire="drip")


def closed() -> Answer:
    """The connection is closed without an answer."""
    return Answer(wire="close")


def longer_than_sent() -> Answer:
    """A content length beyond what comes, and then the end of the connection."""
    return chat().with_headers(content_length="100000", connection="close")


Plan = Iterable[Answer] | Callable[[Request], Answer]


class ServerThread:
    """A server in a thread of its own, from `with` on until its end."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def serve(self) -> None:
        """Answer until told to stop."""
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await self._start()
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _start(self) -> asyncio.Server:
        raise NotImplementedError


class FakeServer(ServerThread):
    """The server, in a thread of its own. `requests` holds what came in; `most_in_flight` is the peak.

    With `closes_reused` it reads a second request on the same connection and closes without an answer.
    From request number `hold_from` on, nothing is answered until `release` is called: a test that stops a run
    in the middle is then sure to find it there.
    """

    def __init__(
        self,
        plan: Plan = (),
        *,
        default: Answer | None = None,
        latency: float = 0.0,
        keep: int | None = None,
        port: int = 0,
        capacity: int | None = None,
        hold_from: int | None = None,
        tls: ssl.SSLContext | None = None,
        closes_reused: bool = False,
    ) -> None:
        self._decide = plan if callable(plan) else None
        self._queue = deque() if callable(plan) else deque(plan)
        self._default = default or chat()
        self._latency = latency
        self._tls, self._closes_reused = tls, closes_reused
        self._capacity = capacity
        self.requests: deque[Request] = deque(maxlen=keep)
        self.n_requests = self.n_answered = 0
        self.hold_from = hold_from
        self.in_flight = self.most_in_flight = 0
        self.n_connections = self.open_connections = self.n_closed = 0
        super().__init__(port)

    def release(self) -> None:
        """Answer all that was held back, and hold back no more."""
        self.hold_from = None
        self._loop.call_soon_threadsafe(self._released.set)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    async def _start(self) -> asyncio.Server:
        self._released = asyncio.Event()
        return await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, backlog=1024, limit=1 << 26, ssl=self._tls
        )

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        self.open_connections += 1
        n_served = 0
        try:
            while (request := await _read(reader)) is not None:
                n_served += 1
                if self._closes_reused and n_served > 1:
                    self.n_closed += 1
                    break
                if not await self._serve_one(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()

    async def _serve_one(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; whether the connection goes on."""
        self.n_requests += 1
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            answer = self._answer_to(request)
            latency = self._latency if answer.latency is None else answer.latency
            if self.hold_from is not None and self.n_requests >= self.hold_from:
                self._released.clear()
                await self._released.wait()
            if latency:
                await asyncio.sleep(latency)
            goes_on = await _write(answer, reader, writer)
            self.n_answered += 1
            return goes_on
        finally:
            self.in_flight -= 1

    def _answer_to(self, request: Request) -> Answer:
        if self._capacity is not None and self.in_flight > self._capacity:
            return limited().after(0.001)
        if self._decide is not None:
            return self._decide(request)
        return self._queue.popleft() if self._queue else self._default


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body, time.monotonic())


async def _write(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    if answer.wire == "hang":
        await reader.read()  # until the other side goes
        return False
    if answer.wire == "close":
        return False
    headers = {"content-type": "application/json", "content-length": str(len(answer.body)), **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in headers.items())]
    data = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + answer.body
    if answer.wire == "whole":
        writer.write(data)
        await writer.drain()
        return headers.get("connection") != "close"
    middle = len(data) - len(answer.body) // 2
    writer.write(data[:middle])
    await writer.drain()
    if answer.wire == "reset":
        await asyncio.sleep(0.02)
        # Closing a socket that lingers for no time at all sends a reset.
        linger = b"\1\0\0\0\0\0\0\0"
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        return False
    while answer.wire == "drip":
        await asyncio.sleep(0.02)
        writer.write(b" ")
        await writer.drain()
    await reader.read()
    return False


def faulty(shares: dict[str, float], seed: int = 0, text: str = "4") -> Callable[[Request], Answer]:
    """A plan that goes wrong at random: shares of limited, failing, garbage and hanging answers."""
    dice = random.Random(seed)
    kinds: dict[str, Callable[[], Answer]] = {
        "limited": lambda: limited(dice.choice((None, "1"))),
        "failing": lambda: error(500),
        "garbage": lambda: dice.choice((html(), cut_json(), Answer(200, b"\xff\xfe garbage"))),
        "hanging": hang,
    }
    good = chat(text)

    def plan(_: Request) -> Answer:
        at = dice.random()
        for name, share in shares.items():
            if at < share:
                return kinds[name]()
            at -= share
        return good

    return plan


def main() -> None:
    parser = argparse.ArgumentParser(description="A fake host of judges.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds")
    parser.add_argument("--text", default="4")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--capacity", type=int, help="more calls at once than this are answered with 429")
    for name in ("limited", "failing", "garbage", "hanging"):
        parser.add_argument(f"--{name}", type=float, default=0.0, help="share of answers")
    given = parser.parse_args()
    shares = {name: getattr(given, name) for name in ("limited", "failing", "garbage", "hanging")}
    plan: Plan = faulty(shares, given.seed, given.text) if any(shares.values()) else ()
    server = FakeServer(
        plan,
        default=chat(given.text),
        latency=given.latency,
        keep=0,
        port=given.port,
        capacity=given.capacity,
    )
    with server:
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
