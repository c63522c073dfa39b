"""Gemini's batch mode, on its OpenAI-compatible endpoint and with Google's Files API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar
from urllib.parse import urlencode, urlsplit

import msgspec

from ..http_errors import Fault
from .base import BATCHES_A_PAGE, MOST_PAGES, UPLOAD_SECONDS, RemoteBatch, decoded_object, moment
from .openai_batches import OpenAIBatches


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
        value = decoded_object(
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
        return file["name"], str(moment(file.get("createTime")))

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
        for _ in range(MOST_PAGES):
            query = {"pageSize": str(BATCHES_A_PAGE), **({"pageToken": token} if token else {})}
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
            created=moment(about.get("createTime")),
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
