"""A cascade calibrated on runs of the same items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from msgspec import structs

from ...errors import DataError
from ...records import Label
from ...store import RunRow, Store
from .answers import CONFIDENCES, Confidence, answers_of_run, criterion_of_runs, known_confidences
from .cascade import Cascade
from .cascade_file import CascadeFile, StageFile
from .thresholds import calibrated

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
    name = criterion_of_runs(store, runs, criterion)
    by_run = {
        run.name: {
            kind: answers
            for kind in CONFIDENCES
            if known_confidences(answers := answers_of_run(store, run, name, kind))
        }
        for run in runs
    }
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
        found = calibrated(answers, mine, list(by_run), agree=agree, risk=share, within=within)
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
        StageFile(run.name, _models(run), _protocols(run), kind, stage.threshold)
        for run, kind, stage in zip(runs, kinds_chosen, cascade.stages, strict=True)
    )
    return cascade, CascadeFile(agree, risk, name, cascade.n_labels, stages, within)


def _models(run: RunRow) -> str:
    return ", ".join(str(model["spec"]) for model in run.manifest["models"])


def _protocols(run: RunRow) -> str:
    return ", ".join(f"{protocol['id']}@{protocol['digest']}" for protocol in run.manifest["protocols"])
