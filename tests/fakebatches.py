"""The batch APIs of OpenAI, Azure, Gemini and Anthropic on one fake host, and their single calls.

    with FakeBatches() as host:
        host.environment()       # what to set so that openai:, azure:, gemini: and anthropic: go there

A batch is answered when it was looked at `polls` times. What becomes of a line is decided by `outcome`, and
what a judge says depends on its prompt alone, so that a batch and a single call give the same reply. `lose`
and `fail` break requests: an answer that is lost after its request was carried out, or an error in place of
it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from fakeserver import Answer, FakeServer, Request, as_json, chat, closed, error, message

Outcome = Callable[[str, dict[str, Any], int], str]
"""What becomes of a line, by its key, its body and how often it was in a batch before: ok, error, limited,
refused, too_long, expired, missing, cut, or twice.
"""


def text_for(body: dict[str, Any]) -> str:
    """What the judge says to a prompt."""
    prompt = json.dumps(body["messages"][-1]["content"], ensure_ascii=False).encode()
    return f"It reads well.\n<score>{1 + hashlib.sha256(prompt).digest()[0] % 5}</score>"


@dataclass
class Batch:
    id: str
    form: str
    keys: list[str]
    bodies: list[dict[str, Any]]
    name: str | None = None
    file: str | None = None
    polls: int = 0
    state: str = "validating"
    outputs: dict[str, str] = field(default_factory=dict)
    created: int = 0
    error: str = ""


class FakeBatches:
    """The host; `batches` are those that were created, `asked`
    how often each call was answered, `live` single calls.
    """

    def __init__(
        self,
        *,
        polls: int = 0,
        outcome: Outcome | None = None,
        ends_as: str = "completed",
        queue: int | None = None,
        seed: int = 0,
        port: int = 0,
    ) -> None:
        self.polls, self.outcome, self.ends_as, self.queue = polls, outcome, ends_as, queue
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, bytes] = {}
        self.asked: Counter[str] = Counter()
        self.live: list[dict[str, Any]] = []
        self.lose: Callable[[str], bool] = lambda _step: False
        self.fail: Callable[[str], Answer | None] = lambda _step: None
        self.steps: list[str] = []
        """what was asked of it, in order: upload, create, retrieve, list, download, cancel or call"""
        self.largest_upload = 0
        self.dice = random.Random(seed)
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.server = FakeServer(self._answer, keep=200, port=port)

    def __enter__(self) -> FakeBatches:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.__exit__()

    @property
    def url(self) -> str:
        return self.server.url

    def environment(self) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": "sk-openai-0123456789abcdef",
            "ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-anthropic-0123456789abcdef",
            "GEMINI_BASE_URL": f"{self.url}/v1beta/openai", "GEMINI_API_KEY": "gemini-key-0123456789abcdef",
            "AZURE_OPENAI_ENDPOINT": self.url, "AZURE_OPENAI_API_KEY": "azure-key-0123456789abcdef",
        }  # fmt: skip

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            step, work = self._route(request)
            self.steps.append(step)
            if (fault := self.fail(step)) is not None:
                return fault
            answer = work()
            return closed() if self.lose(step) else answer

    # Addresses

    def _route(self, request: Request) -> tuple[str, Callable[[], Answer]]:
        path = unquote(urlsplit(request.path).path)
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        is_get = request.method == "GET"
        if path.endswith("/chat/completions") or path == "/v1/messages":
            return "call", lambda: self._call(request)
        if path == "/v1/messages/batches":
            if is_get:
                return "list", lambda: self._list("anthropic", query)
            return "create", lambda: self._create_anthropic(request)
        if found := re.fullmatch(r"/v1/messages/batches/([^/]+)(/\w+)?", path):
            return self._one(found[1], found[2] or "")
        if path == "/upload/v1beta/files":
            address = f"{self.url}/upload/v1beta/files?upload_id=1"
            if request.headers.get("x-goog-upload-command") == "start":
                return "upload", lambda: as_json({}).with_headers(x_goog_upload_url=address)
            return "upload", lambda: self._store_file(request.body, "gemini")
        if found := re.fullmatch(r"(?:/download)?/v1beta/(files/[^:]+):download", path):
            return "download", lambda: self._download(found[1])
        if path == "/v1beta/batches":
            return "list", self._list_google
        if found := re.fullmatch(r"/v1beta/batches/([^:]+):cancel", path):
            return self._one(f"batches/{found[1]}", "/cancel")
        root = re.match(r"/(v1beta/openai|v1|openai)/", path)
        rest = path[root.end() - 1 :] if root else path
        form = {"v1beta/openai": "gemini", "openai": "azure"}.get(root[1] if root else "", "openai")
        if rest == "/files" and form != "gemini":
            return "upload", lambda: self._store_file(_part(request), form)
        if rest == "/batches":
            if is_get:
                return "list", lambda: self._list(form, query)
            return "create", lambda: self._create(form, request)
        if found := re.fullmatch(r"/files/([^/]+)/content", rest):
            return "download", lambda: self._download(found[1])
        if found := re.fullmatch(r"/batches/([^/]+)(/cancel)?", rest):
            prefix = "batches/" if form == "gemini" else ""
            return self._one(prefix + found[1], found[2] or "")
        return "unknown", lambda: error(404, f"there is nothing at {path}")

    def _one(self, batch: str, verb: str) -> tuple[str, Callable[[], Answer]]:
        if verb == "/cancel":
            return "cancel", lambda: self._cancel(batch)
        if verb == "/results":
            return "download", lambda: self._download(self.batches[batch].outputs.get("output", ""))
        return "retrieve", lambda: self._retrieve(batch)

    # Files

    def _store_file(self, body: bytes, form: str) -> Answer:
        self.largest_upload = max(self.largest_upload, len(body))
        name = f"files/in-{len(self.files)}" if form == "gemini" else f"file-in-{len(self.files)}"
        self.files[name] = body
        if form == "gemini":
            return as_json({"file": {"name": name, "createTime": "2026-01-01T00:00:00Z"}}).with_headers(
                x_goog_upload_status="final"
            )
        return as_json({"id": name, "object": "file", "purpose": "batch", "created_at": 1_800_000_000})

    def _download(self, name: str) -> Answer:
        if name not in self.files:
            return error(404, f"No such File object: {name}")
        return Answer(200, self.files[name], {"content-type": "application/octet-stream"})

    # Batches

    def _create(self, form: str, request: Request) -> Answer:
        body = request.json
        file = body["input_file_id"]
        if file not in self.files:
            return error(400, f"Cannot find file {file}")
        rows = [json.loads(line) for line in self.files[file].splitlines()]
        metadata = body.get("metadata") or {}
        batch = self._new(form, [row["custom_id"] for row in rows], [row["body"] for row in rows])
        batch.name, batch.file = metadata.get("adjudge"), file
        if self._is_too_much():
            batch.state = "failed"
            batch.error = f"Enqueued token limit reached for judge. Limit: {self.queue} enqueued tokens."
        return as_json(self._shown(batch))

    def _create_anthropic(self, request: Request) -> Answer:
        self.largest_upload = max(self.largest_upload, len(request.body))
        rows = request.json["requests"]
        waiting = sum(len(one.keys) for one in self.batches.values() if one.state == "in_progress")
        if self.queue is not None and waiting + len(rows) > self.queue:
            return as_json(
                {
                    "type": "error",
                    "error": {
                        "type": "rate_limit_error",
                        "message": "The processing queue of your Message Batches is full",
                    },
                },
                429,
            )
        batch = self._new("anthropic", [row["custom_id"] for row in rows], [row["params"] for row in rows])
        batch.state = "in_progress"
        return as_json(self._shown(batch))

    def _new(self, form: str, ids: list[str], bodies: list[dict[str, Any]]) -> Batch:
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids)
        number = len(self.batches)
        name = {"gemini": f"batches/b{number}", "anthropic": f"msgbatch_{number}"}.get(
            form, f"batch_{number}"
        )
        batch = self.batches[name] = Batch(name, form, ids, bodies, created=1_800_000_000 + number)
        return batch

    def _is_too_much(self) -> bool:
        waiting = sum(
            len(one.keys) for one in self.batches.values() if one.state in ("validating", "in_progress")
        )
        return self.queue is not None and waiting > self.queue

    def _retrieve(self, name: str) -> Answer:
        batch = self.batches.get(name)
        if batch is None:
            return error(404, f"No batch found with id '{name}'")
        self._go_on(batch)
        return as_json(self._shown(batch))

    def _go_on(self, batch: Batch) -> None:
        """Time passes whenever a batch is looked at."""
        if batch.state in ("validating", "in_progress", "cancelling", "canceling"):
            batch.polls += 1
            if batch.polls > self.polls or batch.state.startswith("cancel"):
                self._finish(batch)
            else:
                batch.state = "in_progress"

    def _cancel(self, name: str) -> Answer:
        batch = self.batches[name]
        batch.state = "canceling" if batch.form == "anthropic" else "cancelling"
        return as_json(self._shown(batch))

    def _finish(self, batch: Batch) -> None:
        is_cancelled = batch.state.startswith("cancel")
        answers, errors = [], []
        for custom_id, body in zip(batch.keys, batch.bodies, strict=True):
            key = custom_id.partition("_")[2]
            how = self.outcome(key, body, self._tries[key]) if self.outcome is not None else "ok"
            how = "expired" if is_cancelled else how
            self._tries[key] += 1
            line = _line(batch.form, custom_id, body, how)
            self.asked[key] += how in ("ok", "cut", "twice")
            if line is not None:
                (answers if how in ("ok", "cut", "twice") else errors).append(line)
            if line is not None and how == "twice":
                answers.append(line)
        if batch.form == "anthropic":
            answers, errors = answers + errors, []
        self.dice.shuffle(answers)
        answers.append(_line(batch.form, "someone-elses_0123", {"messages": [{"content": "?"}]}, "ok") or b"")
        for name, lines in (("output", answers), ("error", errors)):
            if lines:
                file = f"file-{name}-{batch.id.replace('/', '-')}"
                file = f"files/{file}" if batch.form == "gemini" else file
                self.files[file] = b"\n".join(lines) + b"\n"
                batch.outputs[name] = file
        batch.state = "ended" if batch.form == "anthropic" else "cancelled" if is_cancelled else self.ends_as

    def _shown(self, batch: Batch) -> dict[str, Any]:
        n_errors = self.files.get(batch.outputs.get("error", ""), b"").count(b"\n")
        if batch.form == "anthropic":
            is_ended = batch.state == "ended"
            n = len(batch.keys)
            counts = {
                "processing": 0 if is_ended else n,
                "succeeded": n if is_ended else 0,
                "errored": 0,
                "canceled": 0,
                "expired": 0,
            }
            return {
                "id": batch.id, "type": "message_batch", "processing_status": batch.state,
                "request_counts": counts,
                "created_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-02T00:00:00Z", "ended_at": None,
                "results_url": f"https://elsewhere.example/{batch.id}" if is_ended else None,
            }  # fmt: skip
        shown = {
            "id": batch.id, "object": "batch", "endpoint": "/v1/chat/completions",
            "input_file_id": batch.file,
            "completion_window": "24h", "status": batch.state, "created_at": batch.created,
            "output_file_id": batch.outputs.get("output"), "error_file_id": batch.outputs.get("error"),
            "errors": {"object": "list", "data": [{"code": "token_limit_exceeded",
            "message": batch.error}]} if batch.error else None,
            "request_counts": {"total": len(batch.keys),
            "completed": len(batch.keys) - n_errors if batch.outputs else 0, "failed": n_errors},
        }  # fmt: skip
        return (
            shown
            if batch.form == "gemini"
            else {**shown, "metadata": {"adjudge": batch.name} if batch.name else None}
        )

    def _list(self, form: str, query: dict[str, str]) -> Answer:
        found = [batch for batch in reversed(self.batches.values()) if batch.form == form]
        after = query.get("after") or query.get("after_id")
        if after:
            found = found[[batch.id for batch in found].index(after) + 1 :]
        page = found[: int(query.get("limit", "20"))]
        if len(page) < 100 and query.get("limit") != "1":
            for batch in page:
                self._go_on(batch)
        return as_json(
            {
                "data": [self._shown(batch) for batch in page],
                "has_more": len(found) > len(page),
                "last_id": page[-1].id if page else None,
            }
        )

    def _list_google(self) -> Answer:
        operations = [
            {
                "name": batch.id,
                "metadata": {
                    "state": f"BATCH_STATE_{_GOOGLE.get(batch.state, batch.state).upper()}",
                    "inputConfig": {"fileName": batch.file},
                    "createTime": "2026-01-01T00:00:00Z",
                },
            }
            for batch in reversed(self.batches.values())
            if batch.form == "gemini"
        ]
        return as_json({"operations": operations})

    # Single calls

    def _call(self, request: Request) -> Answer:
        body = request.json
        self.live.append(body)
        if request.path.startswith("/v1/messages"):
            return message({"type": "text", "text": text_for(body)})
        return chat(text_for(body))


_GOOGLE = {
    "completed": "succeeded",
    "validating": "pending",
    "in_progress": "running",
    "cancelling": "running",
}


def _part(request: Request) -> bytes:
    """The file in a multipart body."""
    boundary = request.headers["content-type"].partition("boundary=")[2].encode()
    for part in request.body.split(b"--" + boundary):
        head, _, content = part.partition(b"\r\n\r\n")
        if b'name="file"' in head:
            return content.removesuffix(b"\r\n")
    raise AssertionError("no file was sent")


def _line(form: str, custom_id: str, body: dict[str, Any], how: str) -> bytes | None:
    if how == "missing":
        return None
    if form == "anthropic":
        return _anthropic_line(custom_id, body, how)
    row: dict[str, Any] = {
        "id": f"batch_req_{custom_id}",
        "custom_id": custom_id,
        "response": None,
        "error": None,
    }
    if how in ("ok", "twice"):
        row["response"] = {
            "status_code": 200,
            "request_id": "r",
            "body": json.loads(chat(text_for(body)).body),
        }
    elif how == "cut":
        row["response"] = {
            "status_code": 200,
            "request_id": "r",
            "body": json.loads(chat("It reads", finish="length").body),
        }
    elif how == "expired":
        row["error"] = {
            "code": "batch_expired",
            "message": "This request could not be executed before the completion window expired.",
        }
    else:
        status, text = {
            "error": (500, "The server had an error"),
            "limited": (429, "Rate limit reached"),
            "refused": (400, "Unsupported parameter: 'temperature' is not supported with this model."),
            "too_long": (400, "This model's maximum context length is 8 tokens"),
        }[how]
        row["response"] = {"status_code": status, "request_id": "r", "body": {"error": {"message": text}}}
    return json.dumps(row).encode()


def _anthropic_line(custom_id: str, body: dict[str, Any], how: str) -> bytes:
    if how in ("ok", "twice", "cut"):
        stop = "max_tokens" if how == "cut" else "end_turn"
        text = "It reads" if how == "cut" else text_for(body)
        result = {
            "type": "succeeded",
            "message": json.loads(message({"type": "text", "text": text}, stop=stop).body),
        }
    elif how == "expired":
        result = {"type": "expired"}
    else:
        kind, text = {
            "error": ("api_error", "Internal server error"),
            "limited": ("rate_limit_error", "Rate limited"),
            "refused": ("invalid_request_error", "temperature is not supported with this model"),
            "too_long": ("invalid_request_error", "prompt is too long: 9 tokens"),
        }[how]
        result = {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": text}}}
    return json.dumps({"custom_id": custom_id, "result": result}).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description="A fake host with batch APIs.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--polls", type=int, default=2, help="how often a batch is looked at before it ends")
    given = parser.parse_args()
    with FakeBatches(polls=given.polls, port=given.port) as host:
        for name, value in host.environment().items():
            print(f"export {name}={value}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
