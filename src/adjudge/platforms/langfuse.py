"""Langfuse: traces as their observations, and scores by its public API.

Langfuse 4 gives observations alone (`v2/observations`), Langfuse 3 traces with theirs (`traces`); each
answers 404 at the other's address. A score has the id that is sent, so writing it again replaces it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote

from ..errors import DataError
from .client import Address, Params, PlatformClient, Refused, address_of, basic
from .query import Query
from .score import DIGEST, PlatformScore, Record

FORM = "langfuse"
_PAGE, _AT_ONCE, _IDS, _MOST_OBSERVATIONS = 50, 4, 50, 1000
_OBSERVATIONS, _TRACES = "/api/public/v2/observations", "/api/public/traces"
_FIELDS = "core,basic,io,model,trace_context"
_COLUMNS = {"name": "traceName"}
"""Parameters of Langfuse 3 that are columns of another name in Langfuse 4."""


def langfuse_address() -> Address:
    """The server of LANGFUSE_HOST, by default Langfuse's own, with the two keys of a project."""
    headers = basic("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
    if not headers:
        raise DataError("langfuse: set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, the keys of the project.")
    variables = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
    return address_of("langfuse", variables, "https://cloud.langfuse.com", headers)


class LangfuseSource:
    """The traces of the project that the keys belong to."""

    form = FORM

    def __init__(self, _project: str) -> None:
        self._client = PlatformClient(langfuse_address())

    async def close(self) -> None:
        await self._client.close()

    async def records(self, query: Query) -> AsyncIterator[list[Record]]:
        """Complete traces, newest first. A filter is a query, name=chat&tags=prod, or conditions in JSON."""
        conditions = _conditions(query)
        try:
            first = await self._roots(conditions, "")
        except Refused as refusal:
            if refusal.status not in (404, 501):
                raise
            async for traces in self._traces(query):
                yield traces
            return
        async for traces in self._observed(query, conditions, first):
            yield traces

    async def _observed(
        self, query: Query, conditions: Sequence[Record], page: Record
    ) -> AsyncIterator[list[Record]]:
        """All observations of each trace, of Langfuse 4."""
        left, known = query.limit, set[str]()
        while True:
            roots = list(dict.fromkeys(one["traceId"] for one in page["data"] if one.get("traceId")))
            ids = [root for root in roots if root not in known][:left]
            known |= set(ids)
            for start in range(0, len(ids), _AT_ONCE):
                traces = await asyncio.gather(*map(self._observations, ids[start : start + _AT_ONCE]))
                yield [observation for trace in traces for observation in trace]
            left = None if left is None else left - len(ids)
            cursor = (page.get("meta") or {}).get("cursor") or ""
            if not cursor or left == 0:
                return
            page = await self._roots(conditions, cursor)

    async def _roots(self, conditions: Sequence[Record], cursor: str) -> Record:
        root = {"type": "boolean", "column": "isRootObservation", "operator": "=", "value": True}
        chosen = json.dumps([root, *conditions])
        params: Params = [("fields", "core"), ("limit", _PAGE), ("filter", chosen)]
        page: Record = await self._client.get(_OBSERVATIONS, [*params, *_at(cursor)])
        return page

    async def _observations(self, trace: str) -> list[Record]:
        found: list[Record] = []
        cursor = ""
        while True:
            params: Params = [("fields", _FIELDS), ("limit", _MOST_OBSERVATIONS), ("traceId", trace)]
            page = await self._client.get(_OBSERVATIONS, [*params, *_at(cursor)])
            found += page["data"]
            cursor = (page.get("meta") or {}).get("cursor") or ""
            if not cursor:
                return found

    async def _traces(self, query: Query) -> AsyncIterator[list[Record]]:
        """Traces with their observations, of Langfuse 3."""
        left, number = query.limit, 1
        more = parse_qsl(query.filter)
        if query.filter.lstrip().startswith("["):
            raise DataError("--filter: this server is Langfuse 3. Give pairs such as name=chat&tags=prod.")
        more += [("fromTimestamp", query.since_text)] if query.since is not None else []
        while left is None or left > 0:
            # The size of a page stays the same, because pages are numbered.
            paging: list[tuple[str, str | int]] = [("page", number), ("limit", _PAGE)]
            params = [*paging, ("orderBy", "timestamp.desc"), *more]
            page = await self._client.get(_TRACES, params)
            ids = [one["id"] for one in page["data"]][:left]
            for start in range(0, len(ids), _AT_ONCE):
                yield list(await asyncio.gather(*map(self._trace, ids[start : start + _AT_ONCE])))
            left = None if left is None else left - len(ids)
            if number >= page.get("meta", {}).get("totalPages", 0) or not ids:
                return
            number += 1

    async def _trace(self, trace: str) -> Record:
        found: Record = await self._client.get(f"{_TRACES}/{quote(trace, safe='')}")
        return found


def _at(cursor: str) -> Params:
    return [("cursor", cursor)] if cursor else []


def _conditions(query: Query) -> list[Record]:
    """The conditions of a filter, in the form of Langfuse 4."""
    conditions: list[Record] = []
    if query.since is not None:
        since = {"type": "datetime", "column": "startTime", "operator": ">=", "value": query.since_text}
        conditions.append(since)
    if query.filter.lstrip().startswith("["):
        return [*conditions, *_given(query.filter)]
    pairs = parse_qsl(query.filter)
    if query.filter and not pairs:
        raise _not_a_filter(query.filter)
    for name, value in pairs:
        if name == "tags":
            tagged = {"type": "arrayOptions", "column": "tags", "operator": "all of", "value": [value]}
            conditions.append(tagged)
        else:
            column = _COLUMNS.get(name, name)
            conditions.append({"type": "string", "column": column, "operator": "=", "value": value})
    return conditions


def _given(text: str) -> list[Record]:
    try:
        given: list[Record] = json.loads(text)
    except ValueError as fault:
        raise _not_a_filter(text) from fault
    return given


def _not_a_filter(text: str) -> DataError:
    return DataError(
        f"--filter {text}: for Langfuse, give pairs such as name=chat&tags=prod, or a JSON list of its "
        "conditions."
    )


class LangfuseTarget:
    """Scores of traces."""

    def __init__(self, _project: str) -> None:
        self._client = PlatformClient(langfuse_address())

    async def close(self) -> None:
        await self._client.close()

    async def present(self, scores: Sequence[PlatformScore]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for start in range(0, len(scores), _IDS):
            ids = ",".join(score.id for score in scores[start : start + _IDS])
            for score in await self._scores(ids):
                found[score["id"]] = (score.get("metadata") or {}).get(DIGEST, "")
        return found

    async def _scores(self, ids: str) -> list[Any]:
        """Scores by their ids; from servers before version 5 by the older address."""
        try:
            page = await self._client.get(
                "/api/public/v3/scores", [("id", ids), ("fields", "details"), ("limit", 100)]
            )
        except Refused as refusal:
            if refusal.status != 404:
                raise
            page = await self._client.get("/api/public/v2/scores", [("scoreIds", ids), ("limit", 100)])
        return list(page["data"])

    async def write(self, scores: Sequence[PlatformScore]) -> None:
        for start in range(0, len(scores), _AT_ONCE):
            await asyncio.gather(
                *(
                    self._client.post("/api/public/scores", langfuse_score(score), is_repeatable=True)
                    for score in scores[start : start + _AT_ONCE]
                )
            )


def langfuse_score(score: PlatformScore) -> Record:
    """A score in Langfuse's form. A failure is categorical, so no mean counts it."""
    body: Record = {
        "id": score.id, "traceId": score.trace, "name": score.name, "comment": score.explanation,
        "metadata": score.metadata,
    }  # fmt: skip
    if score.error:
        return {**body, "dataType": "CATEGORICAL", "value": f"error: {score.error}"}
    is_number = not isinstance(score.value, str)
    return {**body, "dataType": "NUMERIC" if is_number else "CATEGORICAL", "value": score.value}
