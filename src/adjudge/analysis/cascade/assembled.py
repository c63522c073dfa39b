"""The run that a cascade ends in: its manifest, the judgments of each stage in it, and labels of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import structs

from ...records import Label
from ...store import RunPart, RunRow
from .cascade_file import CascadeFile
from .decisions import CascadeDecision

TO_PEOPLE = "to_people"
"""The flag of items that no judge decided; those of a stage have `decided_by_1`, `decided_by_2` and so on."""


class _Stage(Protocol):
    @property
    def judge(self) -> str: ...


def cascade_name(file: CascadeFile) -> str:
    """What results and reports call the judges of a cascade together."""
    return " → ".join(stage.run for stage in file.stages if stage.threshold is not None)


def assembled_manifest(runs: Sequence[RunRow], file: CascadeFile) -> dict[str, Any]:
    """The manifest of the run: that of the first stage, with the protocols of all, and one judge."""
    first = runs[0].manifest
    protocols = {(p["id"], p["digest"]): p for run in runs for p in run.manifest["protocols"]}
    models = [model for run in runs for model in run.manifest["models"]]
    judge = {
        "spec": cascade_name(file),
        "identity": [[stage.run, stage.protocol, stage.threshold] for stage in file.stages],
        "is_fake": any(model["is_fake"] for model in models),
    }
    return {**first, "protocols": list(protocols.values()), "models": [judge]}


def stage_parts(
    runs: Sequence[RunRow], stages: Sequence[_Stage], decisions: Mapping[str, CascadeDecision]
) -> list[RunPart]:
    """What each stage gives: the judgments of the items that it decided, and the last one of those left."""
    parts = []
    for number, (run, stage) in enumerate(zip(runs, stages, strict=True), 1):
        flags = {
            item: f"decided_by_{number}"
            for item, decision in decisions.items()
            if decision.judge == stage.judge
        }
        if number == len(runs):
            flags |= {item: TO_PEOPLE for item, decision in decisions.items() if decision.to_people}
        parts.append(RunPart(run.id, flags))
    return parts


def labels_of_people(checked: Sequence[Label], people: Sequence[Label], check_share: float) -> list[Label]:
    """The labels that stand for all items: of the checked share, and of the items that people decide.

    Without checked items the labels say nothing of what the judges decided, and correct no mean.
    """
    if not checked or not check_share:
        return []
    return [
        *(structs.replace(label, probability=check_share) for label in checked),
        *(structs.replace(label, probability=1.0) for label in people),
    ]
