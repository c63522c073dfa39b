"""A candidate's scores through a calibration map: each item by a map that was fitted without its label.

On the search part five folds of groups map each other; the locked part is mapped by what the whole search
part fits. Choices, classes and unbounded scores have no map.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from ...data.judge_answers import JudgeAnswer
from ...records import Scale
from ...score_map import ScoreCurve
from ..calibrate import LEAST_LABELS, Shares, fitted_curve
from .split import Split

_N_FOLDS = 5


class Mapped(NamedTuple):
    """The mapped answers of a candidate, and the map that the search part fits."""

    answers: list[JudgeAnswer]
    curve: ScoreCurve


class _Row(NamedTuple):
    """One labelled item of the search part, as shares of the scale."""

    score: float
    label: float
    fold: int


def calibrated_answers(
    rows: Sequence[JudgeAnswer],
    people: Mapping[str, float | str],
    split: Split,
    scale: Scale | None,
    criterion: str,
) -> Mapped | None:
    """The answers of one candidate, mapped; none where its scores or the labels do not allow it."""
    if scale is None or scale.low is None or scale.high is None:
        return None
    low, width = scale.low, scale.high - scale.low
    search = set(split.search)
    known: dict[str, _Row] = {}
    for row in rows:
        label = people[row.item]
        if row.item in search and isinstance(row.answer, float | int) and isinstance(label, float | int):
            known[row.item] = _Row((row.answer - low) / width, (label - low) / width, _fold_of(row))
    if len(known) < LEAST_LABELS or any(len({row[at] for row in known.values()}) < 2 for at in (0, 1)):
        return None
    name = rows[0].judge
    n_labels = len(known)

    def curve_of(fitting: Sequence[_Row]) -> ScoreCurve:
        shares = Shares([row.score for row in fitting], [row.label for row in fitting], [])
        return fitted_curve(name, criterion, shares, n_labels)

    whole = curve_of(list(known.values()))
    of_fold = {
        fold: curve_of([row for row in known.values() if row.fold != fold] or list(known.values()))
        for fold in range(_N_FOLDS)
    }
    answers = []
    for row in rows:
        answer = row.answer
        if isinstance(answer, float | int):
            curve = of_fold[_fold_of(row)] if row.item in search else whole
            answer = low + width * curve.share((answer - low) / width)
        answers.append(structs.replace(row, judge=f"{name}, calibrated", answer=answer))
    return Mapped(answers, whole)


def _fold_of(row: JudgeAnswer) -> int:
    unit = row.item if row.group is None else f"group\0{row.group}"
    return hashlib.sha256(unit.encode("utf-8", "surrogatepass")).digest()[0] % _N_FOLDS
