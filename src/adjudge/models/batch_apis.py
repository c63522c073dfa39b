"""The batch APIs of providers: many calls at half the price, answered within a day.

Wire formats only: how lines are written, how a batch is created, found, followed and cancelled, and how its results are
read. Bodies of requests and replies are those of single calls, and come from the model. Nothing is retried here: a
request whose answer is lost may have created a batch, and only the caller knows what is on record.

    OpenAI      a file of lines, uploaded; results in two files, answers and errors; our name is in the metadata
    Azure       the same, with other addresses
    Gemini      OpenAI's lines and batches, on Google's endpoint for them. It has no files: they go through Google's Files
                API. A batch is recognised by its file, since it has no metadata. Google's native form would need bodies
                that differ from those of single calls.
    Anthropic   the requests are the body of the one request that creates the batch. A batch has no metadata: which one is
                ours is known for certain only from its results, whose ids begin with our name.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, ClassVar, Literal
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from .http_errors import Fault, Response, shown
from .remote import BatchForm, RemoteModel

UPLOAD_SECONDS = 3600.0
"""For one upload or download."""

_PAGE = 100
_MOST_PAGES = 100
"""Of a list of batches, before the search for one is given up."""

Phase = Literal["open", "ended", "failed"]


class RemoteBatch(Struct, frozen=True):
    """A batch as the provider describes it."""

    id: str
    phase: Phase
    """`failed`: refused as a whole, no line was asked"""
    state: str
    """the provider's own word"""
    n_done: int = 0
    n_failed: int = 0
    n_calls: int | None = None
    outputs: tuple[str, ...] = ()
    """where its results are"""
    name: str | None = None
    """our own name of it; none where the provider does not keep it"""
    file: str | None = None
    """the file that it was made from; none where the provider does not say"""
    created: float = 0.0
    message: str = ""
    is_queue_full: bool = False
    """refused because too much of earlier batches is waiting: it may be created again later"""


class ResultLine(Struct, frozen=True):
    """One line of the results of a batch."""

    custom_id: str
    status: int = 0
    """as of a response; 0: the line was not asked"""
    body: bytes = b""
    message: str = ""
    """why it was not asked"""


_QUEUE_FULL = re.compile(
    r"enqueued|token_limit_exceeded|queue|in[ _-]progress batches|batch(?:es)? .{0,40}limit|limit.{0,60}batch|resource[ _]?exhausted",
    re.IGNORECASE,
)


def is_queue_full(message: str) -> bool:
    """Whether a refusal says that too much of earlier batches is waiting."""
    return _QUEUE_FULL.search(message) is not None


class BatchApi(ABC):
    """One provider's batch API, with the key, address and connections of a model."""

    title: ClassVar[str]
    most_lines: int = 50_000
    most_bytes: int = 200_000_000
    opening: ClassVar[bytes] = b""
    separator: ClassVar[bytes] = b"\n"
    closing: ClassVar[bytes] = b"\n"
    has_files: ClassVar[bool] = True
    """whether lines are uploaded before the batch is created"""
    quota_is_queue: ClassVar[bool] = False
    """whether the message for a used-up quota is also that for a full queue"""

    def __init__(self, model: RemoteModel) -> None:
        self.model = model

    @abstractmethod
    def line(self, custom_id: str, body: bytes) -> bytes:
        """A call as a line, without what separates it from the next one."""

    async def upload(self, name: str, path: Path) -> tuple[str, str] | Fault:
        """Upload the lines in a file; its id, and a mark before which no batch of it exists."""
        raise NotImplementedError

    async def newest(self) -> str | Fault:
        """A mark: what is older is not the batch that is created next."""
        return ""

    @abstractmethod
    async def create(self, name: str, source: str | Path) -> RemoteBatch | Fault:
        """Create a batch from an uploaded file, or where there is no upload from the lines in a file."""

    @abstractmethod
    async def retrieve(self, remote: str) -> RemoteBatch | Fault:
        """The batch of an id."""

    @abstractmethod
    def listed(self, mark: str) -> AsyncIterator[RemoteBatch | Fault]:
        """All batches since a mark, newest first; ends with a fault where the list cannot be read."""

    @abstractmethod
    async def download(self, output: str, sink: IO[bytes]) -> Fault | None:
        """Write one of a batch's results to a file."""

    @abstractmethod
    def read_line(self, line: bytes) -> ResultLine | None:
        """A line of results; none where it is not one."""

    @abstractmethod
    async def cancel(self, remote: str) -> Fault | None:
        """Ask the provider to stop; what is answered by then stays."""

    # Requests

    async def _json(self, method: str, url: str, body: Any = None, **options: Any) -> dict[str, Any] | Fault:
        sent = b"" if body is None else msgspec.json.encode(body)
        return _decoded(await self.model.send(method, url, body=sent, **options))

    async def _pages(self, url: str, cursor: str, mark: str) -> AsyncIterator[RemoteBatch | Fault]:
        """The batches of a list in pages, down to the mark."""
        after = ""
        for _ in range(_MOST_PAGES):
            query = {"limit": str(_PAGE), **({cursor: after} if after else {})}
            sign = "&" if "?" in url else "?"
            page = await self._json("GET", f"{url}{sign}{urlencode(query)}")
            if isinstance(page, Fault):
                yield page
                return
            batches = [self._read(entry) for entry in page.get("data") or ()]
            for batch in batches:
                if self._is_older(batch, mark):
                    return
                yield batch
            if not page.get("has_more") or not batches:
                return
            after = batches[-1].id

    def _batch(self, value: dict[str, Any] | Fault) -> RemoteBatch | Fault:
        """The batch in an answer."""
        if isinstance(value, Fault):
            return value
        if not isinstance(value.get("id"), str) or not value["id"]:
            return Fault("bad_reply", "the answer names no batch", True)
        return self._read(value)

    @abstractmethod
    def _read(self, value: Mapping[str, Any]) -> RemoteBatch:
        """A batch in a response."""

    def _is_older(self, batch: RemoteBatch, mark: str) -> bool:
        # A minute, in case two of the provider's clocks differ.
        return bool(mark) and 0 < batch.created < float(mark) - 60


def _decoded(response: Response | Fault) -> dict[str, Any] | Fault:
    if isinstance(response, Fault):
        return response
    try:
        value = json.loads(response.body or b"{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return Fault(
            "bad_reply", f"the answer is not JSON: {shown(response.body)}", True, status=response.status
        )
    return value


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


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
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="adjudge-{name}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        response = await self.model.send(
            "POST",
            self._url("/files"),
            headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
            seconds=UPLOAD_SECONDS,
            file=(head.encode(), path, f"\r\n--{boundary}--\r\n".encode()),
        )
        value = _decoded(response)
        if isinstance(value, Fault):
            return value
        file = value.get("id")
        if not isinstance(file, str) or not file:
            return Fault("bad_reply", "the upload was answered without the id of a file", True)
        return file, str(_count(value.get("created_at")))

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
            _count(counts.get("completed")),
            _count(counts.get("failed")),
            _count(counts.get("total")) or None,
            tuple(
                file
                for name in ("output_file_id", "error_file_id")
                if isinstance(file := value.get(name), str) and file
            ),
            (str(metadata.get("adjudge", "")) if isinstance(metadata, dict) else "")
            if self.keeps_name
            else None,
            str(value.get("input_file_id") or "") or None,
            float(_count(value.get("created_at"))),
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


class GeminiBatches(OpenAIBatches):
    """Gemini's batch mode, on its OpenAI-compatible endpoint and with Google's Files API."""

    title = "Gemini's batch mode"
    keeps_name: ClassVar[bool] = False
    quota_is_queue: ClassVar[bool] = True
    key_header: ClassVar[str] = "x-goog-api-key"

    def _native(self, path: str, before: str = "") -> str:
        """An address of Google's own API beside the OpenAI-compatible one."""
        parts = urlsplit(self.model.endpoint.removesuffix("/openai"))
        return f"{parts.scheme}://{parts.netloc}{before}{parts.path}{path}"

    async def upload(self, name: str, path: Path) -> tuple[str, str] | Fault:
        started = await self.model.send(
            "POST",
            self._native("/files", "/upload"),
            key_header=self.key_header,
            headers={
                "X-Goog-Upload-Protocol": "resumable",
                "X-Goog-Upload-Command": "start",
                "X-Goog-Upload-Header-Content-Length": str(path.stat().st_size),
                "X-Goog-Upload-Header-Content-Type": "application/jsonl",
            },
            body=msgspec.json.encode({"file": {"displayName": f"adjudge-{name}"}}),
        )
        if isinstance(started, Fault):
            return started
        address = started.headers.get("x-goog-upload-url", "")
        if not address:
            return Fault("bad_reply", "the upload was answered without an address", True)
        value = _decoded(
            await self.model.send(
                "POST",
                address,
                key_header=self.key_header,
                headers={"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"},
                seconds=UPLOAD_SECONDS,
                file=(path,),
            )
        )
        if isinstance(value, Fault):
            return value
        file = value.get("file")
        if not isinstance(file, dict) or not isinstance(file.get("name"), str):
            return Fault("bad_reply", "the upload was answered without the name of a file", True)
        return file["name"], str(_moment(file.get("createTime")))

    async def retrieve(self, remote: str) -> RemoteBatch | Fault:
        # Google's ids begin with the name of the collection.
        path = f"/batches/{remote.removeprefix('batches/')}"
        batch = self._batch(await self._json("GET", self._url(path)))
        if not isinstance(batch, Fault) or batch.status != 404:
            return batch
        value = await self._json("GET", self._native(path), key_header=self.key_header)
        return value if isinstance(value, Fault) else self._read_native(value)

    async def listed(self, mark: str) -> AsyncIterator[RemoteBatch | Fault]:
        token = ""
        for _ in range(_MOST_PAGES):
            query = {"pageSize": str(_PAGE), **({"pageToken": token} if token else {})}
            page = await self._json(
                "GET", f"{self._native('/batches')}?{urlencode(query)}", key_header=self.key_header
            )
            if isinstance(page, Fault):
                yield page
                return
            for entry in page.get("operations") or ():
                batch = self._read_native(entry)
                if not self._is_older(batch, mark):
                    yield batch
            token = str(page.get("nextPageToken") or "")
            if not token:
                return

    def _read_native(self, value: Mapping[str, Any]) -> RemoteBatch:
        about = value.get("metadata") or {}
        state = str(about.get("state") or "").replace("JOB_STATE_", "").replace("BATCH_STATE_", "").lower()
        is_ended = state in ("succeeded", "partially_succeeded", "cancelled", "expired")
        stats = about.get("batchStats") or {}
        results = (about.get("output") or {}).get("responsesFile")
        return RemoteBatch(
            str(value.get("name") or ""),
            "ended" if is_ended else "failed" if state == "failed" else "open",
            state,
            n_calls=int(stats.get("requestCount") or 0) or None,
            outputs=(results,) if isinstance(results, str) else (),
            file=str((about.get("inputConfig") or {}).get("fileName") or "") or None,
            created=_moment(about.get("createTime")),
        )

    async def download(self, output: str, sink: IO[bytes]) -> Fault | None:
        name = output if output.startswith("files/") else f"files/{output}"
        for before in ("", "/download"):  # Google's SDK and its documentation use different addresses
            url = f"{self._native(f'/{name}:download', before)}?alt=media"
            response = await self.model.send(
                "GET", url, key_header=self.key_header, seconds=UPLOAD_SECONDS, sink=sink
            )
            if not isinstance(response, Fault) or response.status != 404:
                break
        return response if isinstance(response, Fault) else None

    async def cancel(self, remote: str) -> Fault | None:
        url = self._native(f"/batches/{remote.removeprefix('batches/')}:cancel")
        value = await self._json("POST", url, {}, key_header=self.key_header)
        return value if isinstance(value, Fault) else None


def _moment(value: Any) -> float:
    """A moment in RFC 3339 as Unix time; 0 where it is not one."""
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return 0.0


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
            _decoded(await self.model.send("POST", self._url(), seconds=UPLOAD_SECONDS, file=file))
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
        n_failed = sum(_count(counts.get(name)) for name in ("errored", "canceled", "expired"))
        n_calls = n_failed + _count(counts.get("processing")) + _count(counts.get("succeeded"))
        return RemoteBatch(
            str(value.get("id") or ""),
            "ended" if state == "ended" else "open",
            state,
            _count(counts.get("succeeded")),
            n_failed,
            n_calls or None,
            (str(value.get("id")),) if value.get("results_url") else (),
            created=_moment(value.get("created_at")),
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


FORMS: dict[BatchForm, type[BatchApi]] = {
    "openai": OpenAIBatches, "azure": AzureBatches, "gemini": GeminiBatches, "anthropic": AnthropicBatches,
}  # fmt: skip


def lines_in(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file of results, one at a time."""
    for line in file:
        if stripped := line.strip():
            yield stripped
