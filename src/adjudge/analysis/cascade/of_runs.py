"""A cascade calibrated on runs of the same items, and the file that `run --cascade` reads.

Several kinds of confidence are alternatives: each is calibrated at its share of the risk, so that choosing the one that
decides most keeps the promise.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from msgspec import Struct, ValidationError, convert, structs

from ...data import read_small_text
from ...errors import DataError
from ...records import Label
from ...store import RunRow, Store
from .cascade import Cascade
from .from_runs import CONFIDENCES, Confidence, answers_of_run, criterion_of_runs, known_confidences
from .thresholds import calibrated

_MOST_ALTERNATIVES = 4


class StageFile(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One judge as a cascade file names it: the run that it was calibrated on, and when it decides."""

    run: str
    model: str
    protocol: str
    confidence: Confidence
    threshold: float | None = None


class CascadeFile(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What `adjudge cascade -o` writes."""

    agree: float
    risk: float
    criterion: str
    n_labels: int
    stages: tuple[StageFile, ...]
    within: float | None = None


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
            kind: answers for kind in CONFIDENCES if known_confidences(answers := answers_of_run(store, run, name, kind))
        }
        for run in runs
    }  # fmt: skip
    for run, kinds in by_run.items():
        if not kinds:
            raise DataError(
                f"Run {run} shows no confidence. Run it with --samples 3 or more, with --estimator probability, or with a protocol "
                "whose reply states its confidence."
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
        notes = (*notes, f"{len(alternatives)} combinations of confidence were compared, each at {risk:g} / {len(alternatives)} of the risk.")  # fmt: skip
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


def text_of_file(file: CascadeFile) -> str:
    """The file with unrounded thresholds; a stage without a threshold never decides."""
    lines = _lines(structs.asdict(file))
    for stage in file.stages:
        lines += ["", "[[stages]]", *_lines(structs.asdict(stage))]
    return "\n".join(lines) + "\n"


def _lines(settings: Mapping[str, Any]) -> list[str]:
    # JSON's strings and numbers are TOML's as well.
    return [
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in settings.items()
        if value is not None and not isinstance(value, tuple)
    ]


def read_cascade(path: Path) -> CascadeFile:
    """A cascade file; an error that names what is wrong with it."""
    try:
        return convert(tomllib.loads(read_small_text(path)), CascadeFile)
    except (tomllib.TOMLDecodeError, ValidationError) as wrong:
        raise DataError(
            f"{path}: {wrong}. Write it again: adjudge cascade RUN… --labels FILE -o {path}."
        ) from wrong
