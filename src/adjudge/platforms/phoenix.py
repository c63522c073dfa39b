"""Phoenix: traces of a project, and scores as annotations of the root span (`/v1/span_annotations`).

An annotation is known by its name, its span and its identifier, which is the id of the score: writing it
again replaces it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from urllib.parse import quote

from ..errors import DataError
from .client import Address, PlatformClient, Refused, address_of, bearer
from .query import Query
from .score import DIGEST, SCORE_ID, PlatformScore, Record

FORM = "otel"
_PAGE, _BATCH, _SPANS = 100, 20, 1000


def phoenix_address() -> Address:
    """The server of PHOENIX_COLLECTOR_ENDPOINT, by default on this machine."""
    variables = ("PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_BASE_URL")
    return address_of("phoenix", variables, "http://localhost:6006", bearer("PHOENIX_API_KEY"))


class _Project:
    """The requests that both directions need."""

    def __init__(self, project: str) -> None:
        self.client = PlatformClient(phoenix_address())
        self.name = project or "default"
        self.path = f"/v1/projects/{quote(self.name, safe='')}"

    async def close(self) -> None:
        await self.client.close()

    async def spans(self, traces: Sequence[str], *, only_roots: bool = False) -> list[Record]:
        """The spans of traces, page by page."""
        spans: list[Record] = []
        cursor = ""
        while True:
            params: list[tuple[str, str | int]] = [
                ("limit", _SPANS),
                *(("trace_id", trace) for trace in traces),
            ]
            params += [("parent_id", "null")] if only_roots else []
            params += [("cursor", cursor)] if cursor else []
            page = await self.client.get(f"{self.path}/spans", params)
            spans += page["data"]
            cursor = page.get("next_cursor") or ""
            if not cursor:
                return spans


class PhoenixSource(_Project):
    """The traces of a project."""

    form = FORM

    async def records(self, query: Query) -> AsyncIterator[list[Record]]:
        """The spans of complete traces, newest first, in batches."""
        left, cursor = query.limit, ""
        while left is None or left > 0:
            params: list[tuple[str, str | int]] = [("limit", _PAGE if left is None else min(_PAGE, left))]
            params += [("start_time", query.since_text)] if query.since is not None else []
            params += [("filter", query.filter)] if query.filter else []
            params += [("cursor", cursor)] if cursor else []
            try:
                page = await self.client.get(f"{self.path}/traces", params)
            except Refused as refusal:
                if refusal.status == 404:
                    raise DataError(
                        f"phoenix:{self.name}: the server has no project of this name, or is older than "
                        "version 13. Check the name."
                    ) from refusal
                raise
            ids = [one["trace_id"] for one in page["data"]]
            for start in range(0, len(ids), _BATCH):
                yield await self.spans(ids[start : start + _BATCH])
            left = None if left is None else left - len(ids)
            cursor = page.get("next_cursor") or ""
            if not cursor:
                return


class PhoenixTarget(_Project):
    """Scores as annotations of the root spans of traces."""

    def __init__(self, project: str) -> None:
        super().__init__(project)
        self._roots: dict[str, str] = {}

    async def present(self, scores: Sequence[PlatformScore]) -> dict[str, str | None]:
        unknown = list(dict.fromkeys(score.trace for score in scores if score.trace not in self._roots))
        for start in range(0, len(unknown), _BATCH):
            for span in await self.spans(unknown[start : start + _BATCH], only_roots=True):
                self._roots.setdefault(span["context"]["trace_id"], span["context"]["span_id"])
        found: dict[str, str | None] = {score.id: None for score in scores if score.trace not in self._roots}
        known = [score for score in scores if score.trace in self._roots]
        for start in range(0, len(known), _BATCH):
            params = [("limit", _SPANS)]
            part = [("identifier", score.id) for score in known[start : start + _BATCH]]
            page = await self.client.get(f"{self.path}/span_annotations", [*params, *part])
            for annotation in page["data"]:
                metadata = annotation.get("metadata") or {}
                found[metadata.get(SCORE_ID, annotation["identifier"])] = metadata.get(DIGEST, "")
        return found

    async def write(self, scores: Sequence[PlatformScore]) -> None:
        body = {"data": [annotation_of(score, self._roots[score.trace]) for score in scores]}
        await self.client.post("/v1/span_annotations", body, params=[("sync", "true")], is_repeatable=True)


def annotation_of(score: PlatformScore, span: str) -> Record:
    """A score in Phoenix' form. A failure has a label that says so, and no score."""
    result: Record = {"explanation": score.explanation}
    if score.error:
        result["label"] = f"error: {score.error}"
    elif isinstance(score.value, str):
        result["label"] = score.value
    else:
        result["score"] = score.value
    return {
        "span_id": span, "name": score.name, "annotator_kind": "LLM", "result": result,
        "identifier": score.id, "metadata": score.metadata,
    }  # fmt: skip
