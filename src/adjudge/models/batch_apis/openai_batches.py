"""OpenAI's Batch API, also on Azure."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from ..http_errors import Fault
from .base import (
    UPLOAD_SECONDS,
    BatchApi,
    Phase,
    RemoteBatch,
    ResultLine,
    count_of,
    decoded_object,
    is_queue_full,
)


class _Answer(Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"")


class _Error(Struct):
    code: str | None = None
    message: str | None = None


class _Line(Struct):
    """A line of OpenAI's results."""

    custom_id: str
    response: _Answer | None = None
    error: _Error | None = None


_line = msgspec.json.Decoder(_Line).decode


_OPENAI_PHASES: dict[str, Phase] = {
    "completed": "ended", "expired": "ended", "cancelled": "ended", "failed": "failed",
}  # fmt: skip


class OpenAIBatches(BatchApi):
    """OpenAI's Batch API."""

    title = "OpenAI's Batch API"
    endpoint: ClassVar[str] = "/v1/chat/completions"
    keeps_name: ClassVar[bool] = True
    """whether a batch has metadata, which hold our name"""

    def _url(self, path: str) -> str:
        return f"{self.model.endpoint}{path}"

    def line(self, custom_id: str, body: bytes) -> bytes:
        url = json.dumps(self.endpoint)
        return b'{"custom_id":"%b","method":"POST","url":%b,"body":%b}' % (
            custom_id.encode(), url.encode(), body,
        )  # fmt: skip

    async def upload(self, name: str, path: Path) -> tuple[str, str] | Fault:
        boundary = f"adjudge-{name}"
        head = (
            f"--{boundary}\r\nContent-Disposition: form-data;"
            f' name="purpose"\r\n\r\nbatch\r\n--{boundary}\r\nContent-Disposition: form-data; name="file";'
            f' filename="adjudge-{name}.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n'
        )
        response = await self.model.send(
            "POST",
            self._url("/files"),
            headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
            seconds=UPLOAD_SECONDS,
            file=(head.encode(), path, f"\r\n--{boundary}--\r\n".encode()),
        )
        value = decoded_object(response)
        if isinstance(value, Fault):
            return value
        file = value.get("id")
        if not isinstance(file, str) or not file:
            return Fault("bad_reply", "the upload was answered without the id of a file", True)
        return file, str(count_of(value.get("created_at")))

    async def create(self, name: str, source: str | Path) -> RemoteBatch | Fault:
        body: dict[str, Any] = {
            "input_file_id": source,
            "endpoint": self.endpoint,
            "completion_window": "24h",
        }
        if self.keeps_name:
            body["metadata"] = {"adjudge": name}
        return self._batch(await self._json("POST", self._url("/batches"), body))

    async def retrieve(self, remote: str) -> RemoteBatch | Fault:
        return self._batch(await self._json("GET", self._url(f"/batches/{quote(remote, safe='')}")))

    def listed(self, mark: str) -> AsyncIterator[RemoteBatch | Fault]:
        return self._pages(self._url("/batches"), "after", mark)

    async def download(self, output: str, sink: IO[bytes]) -> Fault | None:
        url = self._url(f"/files/{quote(output, safe='')}/content")
        response = await self.model.send("GET", url, seconds=UPLOAD_SECONDS, sink=sink)
        return response if isinstance(response, Fault) else None

    async def cancel(self, remote: str) -> Fault | None:
        value = await self._json("POST", self._url(f"/batches/{quote(remote, safe='')}/cancel"))
        return value if isinstance(value, Fault) else None

    def _read(self, value: Mapping[str, Any]) -> RemoteBatch:
        counts = value.get("request_counts") or {}
        metadata = value.get("metadata")
        state = str(value.get("status") or "")
        errors = (value.get("errors") or {}).get("data") or []
        message = " ".join(
            f"{error.get('code') or ''} {error.get('message') or ''}".strip() for error in errors[:3]
        )
        phase = _OPENAI_PHASES.get(state, "open")
        return RemoteBatch(
            str(value.get("id") or ""),
            phase,
            state,
            count_of(counts.get("completed")),
            count_of(counts.get("failed")),
            count_of(counts.get("total")) or None,
            tuple(
                file
                for name in ("output_file_id", "error_file_id")
                if isinstance(file := value.get(name), str) and file
            ),
            (
                (str(metadata.get("adjudge", "")) if isinstance(metadata, dict) else "")
                if self.keeps_name
                else None
            ),
            str(value.get("input_file_id") or "") or None,
            float(count_of(value.get("created_at"))),
            message[:500],
            phase == "failed" and is_queue_full(message),
        )

    def read_line(self, line: bytes) -> ResultLine | None:
        try:
            row = _line(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _leniently(line)
        if row.response is not None and row.response.status_code:
            return ResultLine(row.custom_id, row.response.status_code, bytes(row.response.body))
        error = row.error or _Error()
        return ResultLine(row.custom_id, 0, b"", f"{error.code or ''} {error.message or ''}".strip())


def _leniently(line: bytes) -> ResultLine | None:
    """A line that the strict decoder refuses: infinite log-probabilities, half a character."""
    try:
        row = json.loads(line)
        answer = row.get("response") or {}
        if not isinstance(row["custom_id"], str):
            return None  # ours are texts
        return ResultLine(
            row["custom_id"], int(answer.get("status_code") or 0), json.dumps(answer.get("body")).encode()
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


class AzureBatches(OpenAIBatches):
    """OpenAI's Batch API on Azure: files and batches belong to the resource, not to a deployment."""

    title = "Azure OpenAI's Batch API"
    endpoint: ClassVar[str] = "/chat/completions"

    def _url(self, path: str) -> str:
        base, _, _ = self.model.endpoint.partition("/deployments/")
        return f"{base}{path}{self.model.query}"
