"""Traces of a platform as items: fetched as they are, and read by the readers of `data/traces/`."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

import msgspec

from ..data import Traces, read_traces
from ..errors import DataError
from .langfuse import LangfuseSource
from .langsmith import LangsmithSource
from .mlflow import MlflowSource
from .phoenix import PhoenixSource
from .query import Query
from .score import Record

SOURCES = {
    "mlflow": "mlflow:EXPERIMENT",
    "phoenix": "phoenix:PROJECT",
    "langfuse": "langfuse:",
    "langsmith": "langsmith:PROJECT",
}


class TraceSource(Protocol):
    """Where traces come from."""

    form: str
    """the format of the records, one of `data/traces/`"""

    def records(self, query: Query) -> AsyncIterator[list[Record]]:
        """Complete traces, newest first, in batches."""
        ...

    async def close(self) -> None: ...


def open_source(text: str) -> TraceSource:
    """The source of NAME:ADDRESS."""
    name, sign, address = text.partition(":")
    if sign:
        match name:
            case "mlflow":
                return MlflowSource(address)
            case "phoenix":
                return PhoenixSource(address)
            case "langfuse":
                return LangfuseSource(address)
            case "langsmith":
                return LangsmithSource(address)
    forms = [*SOURCES.values(), "https://HOST RUN"]
    raise DataError(f"'{text:.200}' is no source of traces. Sources are {', '.join(forms)}.")


async def pull_traces(
    source: TraceSource,
    query: Query,
    *,
    skip_bad: bool = False,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Traces:
    """The traces as rows of an items file; all are read before the first row."""
    n = 0
    with tempfile.TemporaryDirectory(prefix="adjudge-") as folder:
        path = Path(folder) / "traces.jsonl"
        with path.open("wb") as file:
            async for batch in source.records(query):
                n += len(batch)
                file.write(b"".join(msgspec.json.encode(record) + b"\n" for record in batch))
                on_progress(n)
        if not n:
            raise DataError("no trace fits. Check the name, --since and --filter.")
        return read_traces(path, source.form, skip_bad=skip_bad)
