"""Anthropic's Message Batches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from ..http_errors import Fault
from .base import UPLOAD_SECONDS, BatchApi, RemoteBatch, ResultLine, count_of, decoded_object, moment

_STATUS_OF = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
"""Anthropic's types of error → the status that a single call would have."""


class _Result(Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"")
    error: Any = None


class _AnthropicLine(Struct):
    custom_id: str
    result: _Result


_anthropic_line = msgspec.json.Decoder(_AnthropicLine).decode


class AnthropicBatches(BatchApi):
    """Anthropic's Message Batches."""

    title = "Anthropic's Message Batches"
    most_lines = 100_000
    most_bytes = 256_000_000
    opening: ClassVar[bytes] = b'{"requests":['
    separator: ClassVar[bytes] = b",\n"
    closing: ClassVar[bytes] = b"]}"
    has_files: ClassVar[bool] = False

    def _url(self, path: str = "") -> str:
        return f"{self.model.endpoint}/v1/messages/batches{path}"

    def line(self, custom_id: str, body: bytes) -> bytes:
        return b'{"custom_id":"%b","params":%b}' % (custom_id.encode(), body)

    async def newest(self) -> str | Fault:
        page = await self._json("GET", self._url("?limit=1"))
        if isinstance(page, Fault):
            return page
        entries = page.get("data") or [{}]
        return str(entries[0].get("id") or "")

    async def create(self, name: str, source: str | Path) -> RemoteBatch | Fault:  # noqa: ARG002  it is in each line
        file = (Path(source),)
        return self._batch(
            decoded_object(await self.model.send("POST", self._url(), seconds=UPLOAD_SECONDS, file=file))
        )

    async def retrieve(self, remote: str) -> RemoteBatch | Fault:
        return self._batch(await self._json("GET", self._url(f"/{quote(remote, safe='')}")))

    def listed(self, mark: str) -> AsyncIterator[RemoteBatch | Fault]:
        return self._pages(self._url(), "after_id", mark)

    async def download(self, output: str, sink: IO[bytes]) -> Fault | None:
        # The results have their place below the batch: the key goes to no address that a response names.
        url = self._url(f"/{quote(output, safe='')}/results")
        response = await self.model.send("GET", url, seconds=UPLOAD_SECONDS, sink=sink)
        return response if isinstance(response, Fault) else None

    async def cancel(self, remote: str) -> Fault | None:
        value = await self._json("POST", self._url(f"/{quote(remote, safe='')}/cancel"))
        return value if isinstance(value, Fault) else None

    def _read(self, value: Mapping[str, Any]) -> RemoteBatch:
        counts = value.get("request_counts") or {}
        state = str(value.get("processing_status") or "")
        n_failed = sum(count_of(counts.get(name)) for name in ("errored", "canceled", "expired"))
        n_calls = n_failed + count_of(counts.get("processing")) + count_of(counts.get("succeeded"))
        return RemoteBatch(
            str(value.get("id") or ""),
            "ended" if state == "ended" else "open",
            state,
            count_of(counts.get("succeeded")),
            n_failed,
            n_calls or None,
            (str(value.get("id")),) if value.get("results_url") else (),
            created=moment(value.get("created_at")),
        )

    def _is_older(self, batch: RemoteBatch, mark: str) -> bool:
        return batch.id == mark

    def read_line(self, line: bytes) -> ResultLine | None:
        try:
            row = _anthropic_line(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        result = row.result
        if result.type == "succeeded":
            return ResultLine(row.custom_id, 200, bytes(result.message))
        if result.type != "errored":
            return ResultLine(row.custom_id, 0, b"", f"the line is {result.type}")
        error: dict[str, Any] = result.error if isinstance(result.error, dict) else {}
        inner: Any = error.get("error")
        inner = inner if isinstance(inner, dict) else error
        status = _STATUS_OF.get(str(inner.get("type")), 500)
        return ResultLine(row.custom_id, status, msgspec.json.encode({"error": inner}))
