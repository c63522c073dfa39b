"""MLflow: traces of an experiment, and scores as assessments (what `mlflow.log_feedback` writes).

The REST API of MLflow 3: `traces/search`, `traces/batchGet`, `traces/ID/assessments`. An assessment gets its
id from the server, so a score is found again by the id in its metadata.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import quote

from ..errors import DataError
from .client import Address, PlatformClient, Refused, address_of, basic, bearer
from .query import Query
from .score import DIGEST, SCORE_ID, PlatformScore, Record

FORM = "mlflow"
_API = "/api/3.0/mlflow/traces"
_PAGE, _BATCH, _WRITES = 100, 10, 8


def mlflow_address() -> Address:
    """The server of MLFLOW_TRACKING_URI, with its token or name and password."""
    key = bearer("MLFLOW_TRACKING_TOKEN") or basic("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")
    return address_of("mlflow", ("MLFLOW_TRACKING_URI",), "", key)


class MlflowSource:
    """The traces of an experiment."""

    form = FORM

    def __init__(self, experiment: str) -> None:
        if not experiment:
            raise DataError("mlflow: name the experiment: mlflow:EXPERIMENT.")
        self._experiment, self._client = experiment, PlatformClient(mlflow_address())

    async def close(self) -> None:
        await self._client.close()

    async def records(self, query: Query) -> AsyncIterator[list[Record]]:
        """Complete traces, newest first, in batches."""
        experiment = await self._experiment_id()
        left = query.limit
        token = ""
        while left is None or left > 0:
            page = await self._client.post(
                f"{_API}/search", self._search(experiment, query, left, token), is_repeatable=True
            )
            ids = [one["trace_id"] for one in page.get("traces", ())]
            for start in range(0, len(ids), _BATCH):
                yield await self._traces(ids[start : start + _BATCH])
            left = None if left is None else left - len(ids)
            token = page.get("next_page_token") or ""
            if not token or not ids:
                return

    async def _experiment_id(self) -> str:
        if self._experiment.isdecimal():
            return self._experiment
        path = "/api/2.0/mlflow/experiments/get-by-name"
        try:
            answer = await self._client.get(path, [("experiment_name", self._experiment)])
        except Refused as refusal:
            if refusal.status == 404:
                raise DataError(
                    f"mlflow:{self._experiment}: the server has no experiment of this name. Check the name."
                ) from refusal
            raise
        return str(answer["experiment"]["experiment_id"])

    def _search(self, experiment: str, query: Query, left: int | None, token: str) -> Record:
        conditions = [query.filter] if query.filter else []
        if query.since is not None:
            conditions.append(f"trace.timestamp_ms >= {int(query.since.timestamp() * 1000)}")
        location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
        body: Record = {
            "locations": [location], "max_results": _PAGE if left is None else min(_PAGE, left),
            "order_by": ["timestamp_ms DESC"],
        }  # fmt: skip
        body |= {"filter": " AND ".join(conditions)} if conditions else {}
        return body | ({"page_token": token} if token else {})

    async def _traces(self, ids: Sequence[str]) -> list[Record]:
        """Traces as `trace.to_dict()` writes them, in the order given."""
        answer = await self._client.get(f"{_API}/batchGet", [("trace_ids", one) for one in ids])
        traces = {one["trace_info"]["trace_id"]: one for one in answer.get("traces", ())}
        return [
            {"info": traces[one]["trace_info"], "data": {"spans": traces[one].get("spans", [])}}
            for one in ids
            if one in traces
        ]


class MlflowTarget:
    """Scores as assessments of traces. The experiment is not needed: a trace has one id on a server."""

    def __init__(self, _experiment: str) -> None:
        self._client = PlatformClient(mlflow_address())
        self._assessments: dict[str, str] = {}
        """id of a score → id of its assessment"""

    async def close(self) -> None:
        await self._client.close()

    async def present(self, scores: Sequence[PlatformScore]) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        ids = list(dict.fromkeys(score.trace for score in scores))
        infos: dict[str, Any] = {}
        for start in range(0, len(ids), _PAGE):
            body = {"trace_ids": ids[start : start + _PAGE]}
            answer = await self._client.post(f"{_API}/batchGetInfos", body, is_repeatable=True)
            infos |= {one["trace_id"]: one for one in answer.get("trace_infos", ())}
        for info in infos.values():
            for assessment in info.get("assessments", ()):
                metadata = assessment.get("metadata", {})
                if assessment.get("valid", True) and SCORE_ID in metadata:
                    found[metadata[SCORE_ID]] = metadata.get(DIGEST, "")
                    self._assessments[metadata[SCORE_ID]] = assessment["assessment_id"]
        return found | {score.id: None for score in scores if score.trace not in infos}

    async def write(self, scores: Sequence[PlatformScore]) -> None:
        for start in range(0, len(scores), _WRITES):
            await asyncio.gather(*(self._put(score) for score in scores[start : start + _WRITES]))

    async def _put(self, score: PlatformScore) -> None:
        path = f"{_API}/{quote(score.trace, safe='')}/assessments"
        body = assessment_of(score)
        if (known := self._assessments.get(score.id)) is None:
            # It is sent once: an answer that is lost is looked up by `present` in the next push.
            await self._client.post(path, {"assessment": body})
            return
        mask = "feedback,rationale,metadata"
        update = {"assessment": {**body, "assessment_id": known}, "update_mask": mask}
        await self._client.ask("PATCH", f"{path}/{quote(known, safe='')}", (), update, is_repeatable=True)


def assessment_of(score: PlatformScore) -> Record:
    """A score in MLflow's form. A failure has an error in place of a value."""
    feedback: Record = {"value": score.value}
    if score.error:
        feedback = {"error": {"error_code": score.error, "error_message": f"no score: {score.error}"}}
    return {
        "assessment_name": score.name,
        "trace_id": score.trace,
        "source": {"source_type": "LLM_JUDGE", "source_id": score.model},
        "feedback": feedback,
        "rationale": score.explanation,
        "metadata": score.metadata,
    }
