"""LangSmith: the runs of a project as traces, and scores as feedback.

Feedback has the id that is sent, so creating it again replaces it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from ..errors import DataError
from .client import Address, PlatformClient, address_of
from .query import Query
from .score import DIGEST, SCORE_ID, PlatformScore, Record

FORM = "langsmith"
_PAGE, _AT_ONCE, _IDS = 100, 4, 50


def langsmith_address() -> Address:
    """The server of LANGSMITH_ENDPOINT, by default LangSmith's own, with its key."""
    import os

    key = os.environ.get("LANGSMITH_API_KEY", "").strip()
    if not key:
        raise DataError("langsmith: set LANGSMITH_API_KEY.")
    return address_of(
        "langsmith", ("LANGSMITH_ENDPOINT",), "https://api.smith.langchain.com", {"x-api-key": key}
    )


async def _query(client: PlatformClient, body: Record) -> AsyncIterator[list[Any]]:
    """The pages of a query of runs."""
    body = {**body, "limit": _PAGE}
    while True:
        page = await client.post("/runs/query", body, is_repeatable=True)
        runs = (page or {}).get("runs") or []
        if runs:
            yield runs
        cursor = ((page or {}).get("cursors") or {}).get("next")
        if not cursor or not runs:
            return
        body["cursor"] = cursor


class LangsmithSource:
    """The traces of a project."""

    form = FORM

    def __init__(self, project: str) -> None:
        if not project:
            raise DataError("langsmith: name the project: langsmith:PROJECT.")
        self._project, self._client = project, PlatformClient(langsmith_address())

    async def close(self) -> None:
        await self._client.close()

    async def records(self, query: Query) -> AsyncIterator[list[Record]]:
        """All runs of complete traces, newest first. A filter is one of LangSmith's: eq(name, "chat")."""
        sessions = await self._client.get("/sessions", [("name", self._project), ("limit", 1)])
        if not sessions:
            raise DataError(f"langsmith:{self._project}: there is no project of this name. Check the name.")
        body: Record = {"session": [sessions[0]["id"]], "is_root": True, "order": "desc"}
        body |= {"start_time": query.since_text} if query.since is not None else {}
        body |= {"filter": query.filter} if query.filter else {}
        left = query.limit
        async for page in _query(self._client, body):
            roots = page[:left]
            for start in range(0, len(roots), _AT_ONCE):
                traces = await asyncio.gather(*map(self._trace, roots[start : start + _AT_ONCE]))
                yield [run for trace in traces for run in trace]
            left = None if left is None else left - len(roots)
            if left == 0:
                return

    async def _trace(self, root: Record) -> list[Record]:
        runs = [run async for page in _query(self._client, {"trace": root["trace_id"]}) for run in page]
        return runs or [root]


class LangsmithTarget:
    """Scores as feedback on the root run of a trace, whose id is that of the trace."""

    def __init__(self, _project: str) -> None:
        self._client = PlatformClient(langsmith_address())

    async def close(self) -> None:
        await self._client.close()

    async def present(self, scores: Sequence[PlatformScore]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        runs = list(dict.fromkeys(score.trace for score in scores))
        for start in range(0, len(runs), _IDS):
            part, offset = [("run", run) for run in runs[start : start + _IDS]], 0
            while True:
                page = await self._client.get("/feedback", [*part, ("limit", 100), ("offset", offset)])
                for feedback in page or ():
                    extra = feedback.get("extra") or {}
                    if SCORE_ID in extra:
                        found[extra[SCORE_ID]] = extra.get(DIGEST, "")
                if len(page or ()) < _PAGE:
                    break
                offset += _PAGE
        return found

    async def write(self, scores: Sequence[PlatformScore]) -> None:
        for start in range(0, len(scores), _AT_ONCE):
            await asyncio.gather(
                *(
                    self._client.post("/feedback", feedback_of(score), is_repeatable=True)
                    for score in scores[start : start + _AT_ONCE]
                )
            )


def feedback_of(score: PlatformScore) -> Record:
    """A score in LangSmith's form. A failure is marked as an error and has no score."""
    body: Record = {
        "id": score.id, "run_id": score.trace, "trace_id": score.trace, "key": score.name,
        "comment": score.explanation, "extra": score.metadata,
        "feedback_source": {"type": "model", "metadata": {"model": score.model}},
    }  # fmt: skip
    if score.error:
        return {**body, "error": True, "value": f"error: {score.error}"}
    return {**body, "value" if isinstance(score.value, str) else "score": score.value}
