"""The batch APIs of providers: many calls at half the price, answered within a day. What is common to all of
them."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any, ClassVar, Literal
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from ..http_errors import Fault, Response, printable_start
from ..remote import RemoteModel

UPLOAD_SECONDS = 3600.0
"""For one upload or download."""


BATCHES_A_PAGE = 100


MOST_PAGES = 100
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
    r"enqueued|token_limit_exceeded|queue|in[ _-]progress batches|batch(?:es)?"
    r" .{0,40}limit|limit.{0,60}batch|resource[ _]?exhausted",
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
        del name, path
        return Fault("bad_reply", f"{self.title} takes the lines with the batch, and no files")

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
        return decoded_object(await self.model.send(method, url, body=sent, **options))

    async def _pages(self, url: str, cursor: str, mark: str) -> AsyncIterator[RemoteBatch | Fault]:
        """The batches of a list in pages, down to the mark."""
        after = ""
        for _ in range(MOST_PAGES):
            query = {"limit": str(BATCHES_A_PAGE), **({cursor: after} if after else {})}
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


def decoded_object(response: Response | Fault) -> dict[str, Any] | Fault:
    if isinstance(response, Fault):
        return response
    try:
        value = json.loads(response.body or b"{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return Fault(
            "bad_reply",
            f"the answer is not JSON: {printable_start(response.body)}",
            True,
            status=response.status,
        )
    return value


def count_of(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def moment(value: Any) -> float:
    """A moment in RFC 3339 as Unix time; 0 where it is not one."""
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return 0.0


def lines_in(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file of results, one at a time."""
    for line in file:
        if stripped := line.strip():
            yield stripped
