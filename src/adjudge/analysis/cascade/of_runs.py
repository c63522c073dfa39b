"""A cascade calibrated on runs of the same items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from msgspec import structs

from ...data.judge_answers import JudgeAnswer
from ...errors import DataError
from ...records import Label
from ...results.manifest import protocols_of
from ...store import RunRow, Store
from .answers import CONFIDENCES, Confidence, answers_of_run, criterion_of_runs, known_confidences
from .cascade import Cascade
from .cascade_file import CascadeFile, StageFile
from .thresholds import calibrated_cascade

_MOST_ALTERNATIVES = 4


def cascade_of_runs(
    store: Store,
    runs: Sequence[RunRow],
    labels: Sequence[Label],
    *,
    agree: float,
    risk: float,
    within: float | None,
    criterion: str | None,
) -> tuple[Cascade, CascadeFile]:
    """The best of the alternatives, and its file."""
    for row in runs:
        if (n_judges := len(row.manifest["models"])) > 1:
            raise DataError(f"Run {row.name} has {n_judges} judges. A stage of a cascade is a run of one.")
    name = criterion_of_runs(store, runs, criterion)
    _check_scales(store, runs, name)
    by_run: dict[str, dict[Confidence, list[JudgeAnswer]]] = {}
    for row in runs:
        by_kind = {kind: answers_of_run(store, row, name, kind) for kind in CONFIDENCES}
        by_run[row.name] = {kind: by_kind[kind] for kind in known_confidences(by_kind)}
    for run, kinds in by_run.items():
        if not kinds:
            raise DataError(
                f"Run {run} shows no confidence. Run it with --samples 3 or more, with --estimator "
                "probability, or with a protocol whose reply states its confidence."
            )
    alternatives = list(product(*by_run.values()))[:_MOST_ALTERNATIVES]
    mine = [label for label in labels if label.criterion in (name, "choice", "")]
    tried: list[tuple[Cascade, tuple[Confidence, ...]]] = []
    for kinds_of_runs in alternatives:
        answers = [row for run, kind in zip(by_run, kinds_of_runs, strict=True) for row in by_run[run][kind]]
        share = risk / len(alternatives)
        found = calibrated_cascade(answers, mine, list(by_run), agree=agree, risk=share, within=within)
        tried.append((found, kinds_of_runs))
    best, kinds_chosen = max(tried, key=lambda entry: entry[0].decided.value or 0.0)
    notes = best.notes
    if len(alternatives) > 1:
        notes = (
            *notes,
            f"{len(alternatives)} combinations of confidence were compared, each at {risk:g} / "
            f"{len(alternatives)} of the risk.",
        )
    cascade = structs.replace(best, risk=risk, notes=notes)
    stages = tuple(
        StageFile(run.name, _models(run), ", ".join(run.protocol_refs), kind, stage.threshold)
        for run, kind, stage in zip(runs, kinds_chosen, cascade.stages, strict=True)
    )
    return cascade, CascadeFile(agree, risk, name, cascade.n_labels, stages, within)


def _check_scales(store: Store, runs: Sequence[RunRow], criterion: str) -> None:
    """An error where two judges score on different scales: labels and --within are on one."""
    scales: dict[str, str] = {}
    for run in runs:
        scale = next(
            p.criteria[criterion] for p in protocols_of(store, run).values() if criterion in p.criteria
        )
        if scale is not None:
            scales[run.name] = f"{scale.low:g} to {scale.high:g}" if scale.limits else "no ends"
    if len(set(scales.values())) > 1:
        listed = ", ".join(f"{name}: {scale}" for name, scale in scales.items())
        raise DataError(
            f"The runs score {criterion} on different scales ({listed}). Run the judges of a cascade with "
            "protocols of one scale."
        )


def _models(run: RunRow) -> str:
    return ", ".join(str(model["spec"]) for model in run.manifest["models"])
