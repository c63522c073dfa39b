"""The results of a run as scores for a platform."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import structs

from ..analysis.trust.single_score import ScoreIntervals
from ..errors import DataError
from ..records import Result
from ..results.stored_results import results
from ..store import RunRow, Store
from .score import DIGEST, SCORE_ID, PlatformScore

_IDS = uuid.UUID("8e0d3a53-6f0f-4c8b-9f5e-3d1f0f3c7a52")
"""The namespace of our score ids."""


def scores_of_run(
    store: Store, run: RunRow, intervals: ScoreIntervals, *, trace_field: str = "", card: str = ""
) -> Iterator[PlatformScore]:
    """A score for each result. Its trace is the item's id, or the text of one of the item's fields."""
    judges = {entry["spec"]: _digest(entry) for entry in run.manifest["models"]}
    traces = _traces(store, run, trace_field) if trace_field else {}
    for result in results(store, run):
        about = {"adjudge.judge_digest": judges.get(result.model, ""), "adjudge.run": run.name}
        about |= {"adjudge.card": card} if card else {}
        trace = traces.get(result.item, result.item)
        yield _score(result, run.identity, trace, about | _interval(result, intervals))


def _traces(store: Store, run: RunRow, field: str) -> dict[str, str]:
    traces = {item.id: str(item.fields.get(field) or "") for item in store.items(run)}
    without = [item for item, trace in traces.items() if not trace]
    if without:
        raise DataError(
            f"--trace-field {field}: {len(without)} items of {run.name} lack it, the first is "
            f"'{without[0]:.80}'. Name a field that all have, or leave it out to use their ids."
        )
    return traces


def _score(result: Result, identity: str, trace: str, about: Mapping[str, str]) -> PlatformScore:
    key = (identity, result.item, result.protocol, result.criterion, result.subject or "", result.model)
    value: float | str | None = result.label or result.choice or result.value
    error = "" if value is not None else "nothing_to_score"
    error = error if result.status == "ok" else result.status
    more = {
        "adjudge.item": result.item,
        "adjudge.protocol": result.protocol,
        "adjudge.model": result.model,
        "adjudge.status": result.status,
        "adjudge.how": result.how or "",
        "adjudge.estimator": result.estimator or "",
        "adjudge.samples": str(result.n_samples),
        "adjudge.n_failed": str(result.n_failed),
        "adjudge.normalized": "" if result.normalized is None else f"{result.normalized:.6g}",
        "adjudge.confidence": "" if result.confidence is None else f"{result.confidence:.6g}",
        "adjudge.flags": " ".join(result.flags),
    }
    score = PlatformScore(
        id=str(uuid.uuid5(_IDS, "\x1f".join(key))),
        digest="",
        trace=trace,
        name=result.criterion if result.subject is None else f"{result.criterion}.{result.subject}",
        value=None if error else value,
        explanation=result.explanation or "",
        error=error,
        model=result.model,
        metadata={name: text for name, text in {**more, **about}.items() if text},
    )
    digest = _digest(msgspec.to_builtins(score))
    metadata = {SCORE_ID: score.id, DIGEST: digest, **score.metadata}
    return structs.replace(score, digest=digest, metadata=metadata)


def _interval(result: Result, intervals: ScoreIntervals) -> dict[str, str]:
    interval = intervals.get((result.protocol, result.criterion, result.model))
    ends = None if interval is None or result.value is None else interval.around(result.value)
    return {} if ends is None else {"adjudge.low": f"{ends[0]:.6g}", "adjudge.high": f"{ends[1]:.6g}"}


def _digest(value: Any) -> str:
    return hashlib.blake2b(msgspec.json.encode(value, order="sorted"), digest_size=8).hexdigest()
