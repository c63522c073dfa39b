"""The rows and columns of an export: results, and the elements that steps have checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..records import PART_KINDS, Result
from ..store import RunRow, Store

EXPORT_COLUMNS: dict[str, type] = {
    "item": str,
    "system": str,
    "group": str,
    "protocol": str,
    "criterion": str,
    "subject": str,
    "model": str,
    "score": float,
    "normalized": float,
    "status": str,
    "how": str,
    "estimator": str,
    "samples": int,
    "n_failed": int,
    "choice": str,
    "confidence": float,
    "explanation": str,
    "system_a": str,
    "system_b": str,
    "flags": list,
    "evidence": tuple,
    "notes": dict,
    "reply": int,
}
"""The columns of an export, in their order, each with its type."""


def export_row(result: Result) -> dict[str, Any]:
    """A result under the names of the export format."""
    return {
        "item": result.item,
        "system": result.system,
        "group": result.group,
        "protocol": result.protocol,
        "criterion": result.criterion,
        "subject": result.subject,
        "model": result.model,
        "score": None if result.label is not None else result.value,
        "normalized": result.normalized,
        "status": result.status,
        "how": result.how,
        "estimator": result.estimator,
        "samples": result.n_samples,
        "n_failed": result.n_failed,
        "choice": result.label or result.choice,
        "confidence": result.confidence,
        "explanation": result.explanation,
        "system_a": result.system_a,
        "system_b": result.system_b,
        "flags": list(result.flags),
        "evidence": [{"quote": quote.quote, "grounded": quote.grounded} for quote in result.evidence],
        "notes": dict(result.notes),
        "reply": result.reply,
    }


ELEMENT_COLUMNS: dict[str, type] = {
    "item": str,
    "system": str,
    "group": str,
    "protocol": str,
    "criterion": str,
    "model": str,
    "sample": int,
    "element": int,
    "text": str,
    "start": int,
    "end": int,
    "verdict": str,
    "score": float,
    "status": str,
    "how": str,
    "evidence": list,
    "grounded": float,
    "passage": int,
    "explanation": str,
}
"""The columns of an export of elements, in their order, each with its type."""


def element_rows(store: Store, run: RunRow) -> Iterator[dict[str, Any]]:
    """What the steps of a run's protocols have checked, one row
    for each element and criterion, in the order of the items.
    """
    for judged in store.judgments(run):
        if judged.judgment is None or judged.item is None or judged.about.kind in PART_KINDS:
            continue
        for element in judged.judgment.checked:
            for score in element.scores:
                yield {
                    "item": judged.item.id,
                    "system": judged.item.system,
                    "group": judged.item.group,
                    "protocol": judged.about.protocol,
                    "criterion": score.criterion,
                    "model": judged.about.model,
                    "sample": judged.about.sample,
                    "element": element.number,
                    "text": element.text,
                    "start": element.span[0] if element.span else None,
                    "end": element.span[1] if element.span else None,
                    "verdict": score.label,
                    "score": score.value,
                    "status": score.status,
                    "how": score.how,
                    "evidence": list(score.evidence),
                    "grounded": score.grounded,
                    "passage": element.passage,
                    "explanation": score.explanation or "",
                }
